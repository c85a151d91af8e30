"""The phases of a selection, by name and with their shares of the time."""

from __future__ import annotations

from typing import Any

from knockoffs.check.examine import CHECK
from knockoffs.generators.base import is_ready
from knockoffs.generators.gaussian import GaussianKnockoffs
from knockoffs.runtime.progress import Phase
from knockoffs.selection.parts import is_auto
from knockoffs.statistics import SumStatistic
from knockoffs.statistics.crossfit import CrossFitted

LEARN = "learning the distribution"
CHOOSE = "choosing the statistic"
COMPARE = "comparing with knockoffs"
DESCRIBE = "describing the effects"


def selection_phases(generator: Any, statistic: Any, *, checks: bool, n_draws: int) -> list[Phase]:
    """Return the phases of a selection; weights are rough, as measured with the defaults on some real tables."""
    quick = is_ready(generator) or isinstance(generator, GaussianKnockoffs)
    slow_statistic = is_auto(statistic) or isinstance(statistic, (CrossFitted, SumStatistic))
    phases = [Phase(LEARN, 0.5 if quick else 12.0, stages=1 if quick else 4)]
    if is_auto(statistic):
        phases.append(Phase(CHOOSE, 3.0))
    phases.append(Phase(COMPARE, (6.0 if slow_statistic else 1.0) * n_draws, stages=n_draws))
    if checks:
        phases.append(Phase(CHECK, 3.0, stages=2))
    return [*phases, Phase(DESCRIBE, 0.3)]
