"""What a selector takes as generator and statistic, and the phases of its work."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from knockoffs.check.examine import CHECK
from knockoffs.generators.any_generator import declared_by, is_generator, is_ready
from knockoffs.generators.registry import GENERATORS
from knockoffs.runtime.progress import Phase
from knockoffs.runtime.registry import by_name
from knockoffs.statistics.any_statistic import (
    declared_by as declared_by_statistic,
    is_auto,
    is_statistic,
)
from knockoffs.statistics.registry import AUTO, STATISTICS


def check_parts(generator: Any, statistic: Any) -> None:
    """Refuse a generator or a statistic that is none, and a statistic whose settings are not valid.

    Torch is imported on the way where they need it, so that its threads can be counted and limited
    from the start.
    """
    if not (is_generator(generator) or _is_known(generator, GENERATORS)):
        raise _not_valid("generator", generator, "sample", GENERATORS)
    statistics = [AUTO, *STATISTICS]
    if not (is_statistic(statistic) or _is_known(statistic, statistics)):
        raise _not_valid("statistic", statistic, "compute", statistics)
    if is_auto(statistic) and callable(generator) and not is_generator(generator):
        raise ValueError(
            "statistic='auto' needs knockoffs of its own, but the generator is a function. Pass a "
            "generator, or "
            "name the statistic."
        )
    declared_by(by_name(generator, GENERATORS)).of_rows()
    used = by_name(None if is_auto(statistic) else statistic, STATISTICS)
    declared_by_statistic(used).check_settings()


def _is_known(part: Any, names: Collection[str]) -> bool:
    """Return whether it is a name, a function or None; a class is no part, but its objects are."""
    if isinstance(part, str):
        return part in names
    return part is None or (callable(part) and not isinstance(part, type))


def _not_valid(name: str, value: Any, method: str, names: Collection[str]) -> ValueError:
    return ValueError(
        f"{name}={value!r} is not valid: pass an object with a {method!r} method, a function, "
        f"None, or one of {', '.join(map(repr, names))}."
    )


LEARN = "learning the distribution"
CHOOSE = "choosing the statistic"
COMPARE = "comparing with knockoffs"
DESCRIBE = "describing the effects"
READY, AUTO_COST = 0.5, 6.0  # what a fitted generator takes, and a statistic yet to be chosen


def selection_phases(generator: Any, statistic: Any, *, checks: bool, n_draws: int) -> list[Phase]:
    """Return the phases of a selection; weights are rough,
    as measured with the defaults on some real tables.
    """
    declared = declared_by(generator)
    cost, stages = (READY, 1) if is_ready(generator) else (declared.cost, declared.stages)
    of_statistic = AUTO_COST if is_auto(statistic) else declared_by_statistic(statistic).cost
    phases = [Phase(LEARN, cost, stages=stages)]
    if is_auto(statistic):
        phases.append(Phase(CHOOSE, 3.0))
    phases.append(Phase(COMPARE, of_statistic * n_draws, stages=n_draws))
    if checks:
        phases.append(Phase(CHECK, 3.0, stages=2))
    return [*phases, Phase(DESCRIBE, 0.3)]
