"""All kinds of targets, by the name that users give in `task`."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knockoffs.targets.base import Target

AUTO = "auto"
TaskChoice = str  # AUTO, or a name in TARGETS


class Targets(UserDict[str, Any]):
    """Subclasses of `Target`, or where they are: each is imported when asked for,
    so that the command line can list the names at once.
    """

    def __getitem__(self, key: str) -> type[Target]:
        place = self.data[key]
        if not isinstance(place, str):
            return place
        module, _, name = place.partition(":")
        return getattr(import_module(f"knockoffs.targets.{module}"), name)


TARGETS = Targets(
    {
        "regression": "quantity:Quantity",
        "classification": "classes:Classes",
        "count": "counts:Counts",
        "survival": "survival:Survival",
    }
)


def task_names() -> tuple[str, ...]:
    """Return what may be passed as `task`."""
    return AUTO, *TARGETS
