"""What a selector takes as generator and statistic: an object, a function, a name, or None."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from knockoffs.generators.base import is_generator
from knockoffs.generators.hierarchical import HierarchicalKnockoffs
from knockoffs.generators.registry import DEFAULT, GENERATORS
from knockoffs.selection.statistic_choice import AUTO
from knockoffs.statistics.base import Statistic
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.registry import STATISTICS


def check_parts(generator: Any, statistic: Any) -> None:
    """Refuse a generator or a statistic that is none, and a statistic whose settings are not valid.

    Torch is imported on the way where they need it, so that its threads can be counted and limited from the start.
    """
    _check_part("generator", generator, "sample", GENERATORS)
    _check_part("statistic", statistic, "compute", [AUTO, *STATISTICS])
    if is_auto(statistic) and callable(generator) and not is_generator(generator):
        raise ValueError(
            "statistic='auto' needs knockoffs of its own, but the generator is a function. Pass a generator, or "
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
            f"{name}={value!r} is not valid: pass an object with a {method!r} method, a function, None, or one of "
            f"{', '.join(map(repr, words))}."
        )


def is_auto(statistic: Any) -> bool:
    """Return whether the statistic is to be chosen."""
    return isinstance(statistic, str) and statistic == AUTO


def by_name(part: Any, known: Mapping[str, Callable[[], Any]]) -> Any:
    """Return what a known name stands for, and anything else, such as "auto", as it is."""
    return known[part]() if isinstance(part, str) and part in known else part
