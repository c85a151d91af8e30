"""Parts of one sort, such as generators, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, ClassVar, Protocol, TypeVar


class Named(Protocol):
    """A class of parts, which declares its names."""

    name: ClassVar[str]
    variants: ClassVar[Mapping[str, Mapping[str, Any]]]


Part = TypeVar("Part", bound=type[Named])


class Registry(Mapping[str, Callable[..., Any]]):
    """Parts of one sort by name: the selector, the command line and model files look here.

    A part is a class that declares its `name`, and in `variants` further names with the settings
    that each stands for. Parts of this package are listed by the places where they are, and are
    imported when they are asked for: some need torch, and help must not wait for it. Parts of
    others are added by `register`, or by an entry point of the group `knockoffs.<sort>s` of an
    installed package, which the command line finds as well.
    """

    def __init__(
        self, sort: str, places: Mapping[str, str], *, default: str, reserved: str | None = None
    ) -> None:
        self.default = default
        self._sort, self._own, self._reserved = sort, dict(places), reserved
        self._registered: dict[str, Any] = {}

    def register(self, part: Part) -> Part:
        """Add a class under the names that it declares; usable as a decorator."""
        names = (part.name, *part.variants)
        for name in names:
            known = self._registered.get(name)
            # a class that is defined again, as in a notebook, takes the place of the former
            again = known is not None and _place(known) == _place(part)
            if name == self._reserved or (name in self and not again):
                raise ValueError(
                    f"{part.__name__}: the name {name!r} belongs to another {self._sort}. "
                    f"Declare a name that is none of {', '.join(self)}."
                )
        self._registered |= dict.fromkeys(names, part)
        return part

    def __getitem__(self, name: str) -> Callable[..., Any]:
        part = self._registered[name] if name in self._registered else _load(self._places[name])
        settings = part.variants.get(name)
        return partial(part, **settings) if settings else part

    def __iter__(self) -> Iterator[str]:
        return iter({**self._places, **self._registered})

    def __len__(self) -> int:
        return len({*self._places, *self._registered})

    def __contains__(self, name: object) -> bool:
        return name in self._registered or name in self._places

    def of_class(self, kind: str) -> Any | None:
        """Return the class of this name, as model files have it; None where there is none."""
        for part in self._registered.values():
            if part.__name__ == kind:
                return part
        found = (place for place in self._places.values() if place.rpartition(":")[2] == kind)
        place = next(found, None)
        return None if place is None else _load(place)

    @cached_property
    def _places(self) -> dict[str, str]:
        """Places of our parts, and of those that installed packages announce."""
        announced = entry_points(group=f"knockoffs.{self._sort}s")
        return {own.name: own.value for own in announced if own.name != self._reserved} | self._own


def by_name(part: Any, known: Registry) -> Any:
    """Return a new part for a known name and for None, and anything else, such as "auto", as it
    is.
    """
    name = known.default if part is None else part
    return known[name]() if isinstance(name, str) and name in known else part


def _load(place: str) -> Any:
    module, _, kind = place.partition(":")
    return vars(import_module(module))[kind]


def _place(part: Any) -> str:
    return f"{part.__module__}:{part.__qualname__}"
