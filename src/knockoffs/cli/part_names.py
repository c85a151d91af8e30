"""Options whose values are names of parts, of this package and of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from knockoffs.generators.registry import GENERATORS
from knockoffs.statistics.registry import AUTO, STATISTICS


class PartName(click.ParamType):
    """One of the names of parts at the time of the call, when those of others are known too."""

    name = "choice"

    def __init__(self, names: Callable[[], Sequence[str]]) -> None:
        self._names = names

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the names as help shows them."""
        return f"[{'|'.join(self._names())}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a name that is one of them; anything else is wrong usage."""
        return click.Choice(self._names()).convert(value, param, ctx)


class GeneratorName(click.ParamType):
    """The name of a generator, or a model file."""

    name = "text"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the names as help shows them."""
        return "|".join([*GENERATORS, "FILE"])


STATISTIC_NAME = PartName(lambda: [*STATISTICS])
STATISTIC_NAME_OR_AUTO = PartName(lambda: [AUTO, *STATISTICS])
