"""Checks of arguments: errors that name the parameter, the value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any


def check_choice(name: str, value: Any, choices: Collection[Any]) -> None:
    """Require one of these values."""
    if value not in choices:
        raise ValueError(
            f"{name}={value!r} is not valid: pass one of {', '.join(map(repr, choices))}."
        )


def check_count(name: str, value: Any, *, least: int = 1, most: int | None = None) -> None:
    """Require a whole number from `least` to `most`,
    or without an upper bound where `most` is None.
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= int(value) <= (math.inf if most is None else most):
        allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}={value!r} is not valid: pass a whole number {allowed}.")


def check_jobs(name: str, value: Any, *, most: int | None = None) -> None:
    """Require a number of cores as joblib takes it: None, a whole number, or -1 and less,
    counted from all.
    """
    counted_from_all = (
        isinstance(value, Integral) and not isinstance(value, bool) and int(value) < 0
    )
    if value is None or counted_from_all:
        return
    try:
        check_count(name, value, most=most)
    except ValueError as error:
        raise ValueError(f"{str(error)[:-1]}, or -1 for all cores.") from None


def check_number(
    name: str, value: Any, *, least: float, below: float = math.inf, least_allowed: bool = True
) -> None:
    """A real number in [least, below), or in (least, below) where `least` itself is not allowed."""
    fine = isinstance(value, Real) and not isinstance(value, bool) and least <= float(value) < below
    if not fine or (value == least and not least_allowed):
        bound = f"{'at least' if least_allowed else 'above'} {least:g}"
        bound += f" and below {below:g}" if below < math.inf else ""
        raise ValueError(f"{name}={value!r} is not valid: pass a number {bound}.")


def check_fraction(name: str, value: Any) -> None:
    """Require a number above 0 and below 1."""
    check_number(name, value, least=0, below=1, least_allowed=False)


def check_widths(name: str, value: Any) -> None:
    """Require the widths of one hidden layer or more."""
    fine = isinstance(value, (tuple, list)) and len(value) > 0
    if not fine or not all(
        isinstance(w, Integral) and not isinstance(w, bool) and int(w) > 0 for w in value
    ):
        raise ValueError(
            f"{name}={value!r} is not valid: pass a tuple of layer widths such as (50,)."
        )
