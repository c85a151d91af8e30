"""What an experiment is, and the runs it consists of: data, no code that runs anything."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from knockoffs.runtime.arrays import Array, Flags

LEVELS = (0.05, 0.1, 0.2, 0.3)


class Target(NamedTuple):
    """What is to be explained, and which features do explain it (None where nobody knows)."""

    y: Array
    relevant: Flags | None = None


@dataclass(frozen=True, eq=False)
class Study:
    """A table and one or more targets; where they are known,
    the relevant features and exact knockoffs.

    Attributes
    ----------
    X : DataFrame
        The table.
    responses : dict of str to Target
        Targets by name; knockoffs do not know them, so one fit serves all.
    oracle : callable or None
        Returns exact knockoffs of X for a seed; None where these are not known.
    unit : sequence of str or None
        What a discovery counts as, for each feature: for mutations their position; None for the
        feature itself.
    groups : array-like of shape (rows,) or None
        One label per row, for rows that belong together.
    """

    X: pd.DataFrame
    responses: Mapping[str, Target]
    oracle: Callable[[int], Array] | None = None
    unit: Sequence[str] | None = None
    groups: Any = None


@dataclass(frozen=True)
class Variant:
    """One setting of an experiment; `make(seed, data)` builds its study,
    of real data from the folder `data`.

    Variants that share a `draw` get the same seeds, hence the same rows.
    """

    name: str
    make: Callable[[int, str | None], Study]
    oracle: bool = False
    draw: str = ""


@dataclass(frozen=True)
class Experiment:
    """Methods and statistics compared on some variants, replicated.

    Attributes
    ----------
    name, title, note : str
        The name at the command line, what is compared, and a remark on it.
    variants : tuple of Variant
        The settings.
    methods, statistics : tuple of str
        Their names.
    replicates : int
        How often each is repeated, with other data.
    levels : tuple of float
        The levels at which selections are compared.
    marks : dict of str to str
        Remarks on features.
    files : tuple of str
        What it reads from the folder of real data.
    predicts : float or None
        The level at which each run also says how many false discoveries to expect; None where it
        does not.
    """

    name: str
    title: str
    variants: tuple[Variant, ...]
    methods: tuple[str, ...]
    statistics: tuple[str, ...]
    replicates: int = 30
    levels: tuple[float, ...] = LEVELS
    note: str = ""
    marks: Mapping[str, str] = field(default_factory=dict, hash=False)
    files: tuple[str, ...] = ()
    predicts: float | None = None

    def runs(
        self, *, methods: Sequence[str] | None = None, replicates: int | None = None, first: int = 0
    ) -> Iterator[Run]:
        """All runs, one replicate after the other, so that what is there at any time is balanced.

        `first` is the number of the first replicate: others have other seeds, hence other data.
        """
        for replicate in range(
            first, first + (self.replicates if replicates is None else replicates)
        ):
            for variant in self.variants:
                for method in self.methods if methods is None else dict.fromkeys(methods):
                    if method != "oracle" or variant.oracle:
                        yield Run(self.name, variant.name, method, replicate)

    def variant(self, name: str) -> Variant:
        return next(variant for variant in self.variants if variant.name == name)

    def data_seed(self, run: Run) -> int:
        """All methods of a replicate get the same data."""
        return seed_of(self.name, self.variant(run.variant).draw or run.variant, run.replicate)


class Run(NamedTuple):
    """One method on one replicate of one variant, with a seed of its own."""

    experiment: str
    variant: str
    method: str
    replicate: int

    @property
    def seed(self) -> int:
        return seed_of(*self)

    def __str__(self) -> str:
        return f"{self.experiment}/{self.variant}/{self.method}/{self.replicate:03d}"


def seed_of(*names: Any) -> int:
    """A seed that depends on names alone, so that runs can be made in any order and on any machine.

    >>> seed_of("gaussian", 3) == seed_of("gaussian", 3) != seed_of("gaussian", 4)
    True
    """
    text = "/".join(map(str, names)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4]) >> 1
