"""What a selector takes as generator and statistic, and the phases of its work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from knockoffs.check.examine import CHECK
from knockoffs.generators.base import is_generator, is_ready
from knockoffs.generators.gaussian import GaussianKnockoffs
from knockoffs.generators.hierarchical import HierarchicalKnockoffs
from knockoffs.generators.registry import DEFAULT, GENERATORS
from knockoffs.runtime.progress import Phase
from knockoffs.selection.statistic_choice import AUTO
from knockoffs.statistics import SumStatistic
from knockoffs.statistics.base import Statistic
from knockoffs.statistics.crossfit import CrossFitted
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.registry import STATISTICS


def check_parts(generator: Any, statistic: Any) -> None:
    """Refuse a generator or a statistic that is none, and a statistic whose settings are not valid.

    Torch is imported on the way where they need it, so that its threads can be counted and limited
    from the start.
    """
    _check_part("generator", generator, "sample", GENERATORS)
    _check_part("statistic", statistic, "compute", [AUTO, *STATISTICS])
    if is_auto(statistic) and callable(generator) and not is_generator(generator):
        raise ValueError(
            "statistic='auto' needs knockoffs of its own, but the generator is a function. Pass a "
            "generator, or "
            "name the statistic."
        )
    inner = generator.generator if isinstance(generator, HierarchicalKnockoffs) else generator
    by_name(DEFAULT if inner is None else inner, GENERATORS)
    default = statistic is None or is_auto(statistic)
    used = HoldoutStatistic() if default else by_name(statistic, STATISTICS)
    if isinstance(used, Statistic):
        used.check_settings()


def _check_part(name: str, value: Any, method: str, words: Iterable[str]) -> None:
    known = value in words if isinstance(value, str) else value is None or callable(value)
    if isinstance(value, type) or not (known or hasattr(value, method)):
        raise ValueError(
            f"{name}={value!r} is not valid: pass an object with a {method!r} method, a function, "
            f"None, or one of "
            f"{', '.join(map(repr, words))}."
        )


def is_auto(statistic: Any) -> bool:
    """Return whether the statistic is to be chosen."""
    return isinstance(statistic, str) and statistic == AUTO


def by_name(part: Any, known: Mapping[str, Callable[[], Any]]) -> Any:
    """Return what a known name stands for, and anything else, such as "auto", as it is."""
    return known[part]() if isinstance(part, str) and part in known else part


LEARN = "learning the distribution"
CHOOSE = "choosing the statistic"
COMPARE = "comparing with knockoffs"
DESCRIBE = "describing the effects"


def selection_phases(generator: Any, statistic: Any, *, checks: bool, n_draws: int) -> list[Phase]:
    """Return the phases of a selection; weights are rough,
    as measured with the defaults on some real tables.
    """
    quick = is_ready(generator) or isinstance(generator, GaussianKnockoffs)
    slow_statistic = is_auto(statistic) or isinstance(statistic, (CrossFitted, SumStatistic))
    phases = [Phase(LEARN, 0.5 if quick else 12.0, stages=1 if quick else 4)]
    if is_auto(statistic):
        phases.append(Phase(CHOOSE, 3.0))
    phases.append(Phase(COMPARE, (6.0 if slow_statistic else 1.0) * n_draws, stages=n_draws))
    if checks:
        phases.append(Phase(CHECK, 3.0, stages=2))
    return [*phases, Phase(DESCRIBE, 0.3)]
