"""What is wrong with the columns of a table, gathered so that one error names it all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from knockoffs.runtime.arrays import Array, Flags
from knockoffs.schema.kinds import KINDS, Kind
from knockoffs.schema.words import column_name, listing
from knockoffs.table.read_cells import Cells, NoCellsError, UnreadableColumnError

FREE_TEXT = 0.5  # share of different texts among the cells from which on a column is no category
FEW_LEVELS = 20  # so many levels are never too many
MARKS = frozenset(
    {"na", "n/a", "nan", "nil", "null", "none", "unknown", "missing", "n/k", "not known"}
)
_DAY, _MONTH = (
    r"(?:0?[1-9]|[12]\d|3[01])",
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?",
)
DATE = re.compile(
    # either of them may be the month
    rf"(?:\d{{4}}([-/.])\d\d?\1\d\d?|{_DAY}([-/.]){_DAY}\2(?:\d{{4}}|\d\d)"
    rf"|{_DAY}[- ]?{_MONTH}[-, ]*\d{{2,4}}|{_MONTH} {_DAY},? \d{{4}})(?:[ T].*)?",
    re.IGNORECASE,
)

# Currency, per cent, marks of thousands, decimal commas, and limits of detection around digits.
SIGNED_NUMBER = re.compile(
    r"\s*[<>≤≥~]?=?\s*[-+(]?\s*[$€£¥]?\s*[-+]?\d[\d.,' ]*(?:[eE][-+]?\d+)?\s*[%$€£¥)]?\s*"
)

SQUARED = 1e150  # floats hold no squares of numbers beyond it, nor of differences below its inverse
INFINITE = (
    "infinite values. Replace them by finite numbers or by missing cells (--na-value inf at the "
    "command line), or "
    "drop the rows that hold them"
)
DATES = (
    "dates as text. Encode them as numbers (such as days since a date) or drop the column "
    "(--drop); dates "
    'that are categories are read with the kind "nominal" in kinds= (--kind at the command line)'
)


class UnusableColumnsError(ValueError):
    """Columns of a table cannot be used as they are; the message names all of them,
    and the remedies.

    `columns` are their numbers; none where the names of the columns are the problem.
    """

    def __init__(self, message: str, columns: Collection[int] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


class UnusableObjectsError(UnusableColumnsError, TypeError):
    """Columns among which some hold objects; scikit-learn asks for a TypeError there."""


class Problems:
    """Problems of the columns of a table, found while these are read.

    Parameters
    ----------
    names : list of str or None
        Column names, None for an array.
    asked : mapping of int to str
        Kinds that the user asks for, by number of the column.
    categories : collection of int, default=()
        Columns whose text is known to be categories.
    """

    def __init__(
        self, names: list[str] | None, asked: Mapping[int, str], categories: Collection[int] = ()
    ) -> None:
        self._categories = frozenset(categories)
        self._names = names
        self._asked = asked
        self._found: dict[str, list[str]] = {}
        self._columns: list[int] = []
        self._error: type[UnusableColumnsError] = UnusableColumnsError

    def read(self, read: Callable[[], Cells], j: int) -> Cells:
        """Read column j; what is wrong with it is kept for later."""
        try:
            cells = read()
        except UnreadableColumnError as error:
            if isinstance(error, NoCellsError):
                self._error = UnusableObjectsError
            self._add(str(error), j)
            return Cells(np.zeros(0))
        infinite = int(np.isinf(cells.codes).sum())
        if infinite:
            self._add(INFINITE, j, f" ({infinite})")
        kind = KINDS[self._asked[j]] if j in self._asked else None
        present = cells.codes[~np.isnan(cells.codes)]
        values = (
            _distinct(cells, present)
            if cells.levels is not None or kind is not None
            else present[:0]
        )
        problem = _about_asked(kind, cells, len(values))
        if problem is None and cells.levels is not None and j not in self._categories:
            problem = _about_levels(kind, cells, values, len(present))
        elif problem is None and _has_too_many_levels(kind, len(values), len(present)):
            problem = (
                f'kinds asks for "{self._asked[j]}", but there are {len(values)} different '
                f"values in {len(present)} cells. "
                'Pass "ordinal" or "continuous", or drop the column'
            )
        if problem is not None:
            self._add(problem, j)
        return cells

    def raise_if_any(self, who: str) -> None:
        said = [f"{listing(columns)}: {problem}." for problem, columns in self._found.items()]
        twice = [repr(name) for name, count in Counter(self._names or []).items() if count > 1]
        if twice:
            said.insert(
                0,
                f"There are several columns named {listing(sorted(twice))}. Give each its own "
                "name.",
            )
        if said:
            message = f"{who}: some columns cannot be used as they are. " + " ".join(said)
            raise self._error(message, [] if twice else sorted(set(self._columns)))

    def _add(self, problem: str, j: int, detail: str = "") -> None:
        self._columns.append(j)
        self._found.setdefault(problem, []).append(column_name(self._names, j) + detail)


def require_squares(codes: Array, names: list[str] | None, *, who: str) -> None:
    """Refuse columns whose numbers are so large, or so close to each other,
    that squares overflow or underflow.

    Variances and covariances of such columns would be infinite or zero.
    """
    low, high = np.fmin.reduce(codes), np.fmax.reduce(codes)  # nan where a column has no cells
    with np.errstate(over="ignore"):  # which is what is looked for
        extent = high - low
    beyond = (extent > 0) & (
        (np.maximum(np.abs(low), np.abs(high)) > SQUARED) | (extent < 1 / SQUARED)
    )
    if beyond.any():
        columns = np.flatnonzero(beyond).tolist()
        which = listing([f"{column_name(names, j)} ({low[j]:g} to {high[j]:g})" for j in columns])
        raise UnusableColumnsError(
            f"{who}: {which}: the squares of such numbers, or of their differences, are beyond "
            f"what a computer "
            f"holds. Take a unit in which numbers are below {SQUARED:g} and differ by more than "
            f"{1 / SQUARED:g} "
            "(X[COL] / X[COL].abs().max() in pandas), or replace such numbers by missing cells if "
            "they mark these "
            "(--na-value COL=VALUE at the command line).",
            columns,
        )


def _distinct(cells: Cells, present: Array) -> NDArray[Any]:
    if cells.levels is None:
        return np.unique(present)
    return np.flatnonzero(np.bincount(present.astype(np.intp), minlength=len(cells.levels)))


def too_many_levels(different: int, rows: int) -> bool:
    """Return whether there are more different texts than categories have,
    as in free text and names.
    """
    return different > max(FEW_LEVELS, FREE_TEXT * rows)


def _has_too_many_levels(kind: Kind | None, different: int, rows: int) -> bool:
    return kind is not None and kind.of_levels and too_many_levels(different, rows)


def _about_asked(kind: Kind | None, cells: Cells, different: int) -> str | None:
    """Say why the kind that the user asks for will not do."""
    if kind is None:
        return None
    if cells.is_text and kind.own_order:
        return (
            f'kinds asks for "{kind.name}", but text has no order of its own. Pass "nominal", or '
            "convert the column to "
            "an ordered category or to numbers"
        )
    if cells.levels is not None and not kind.discrete:
        return (
            f'kinds asks for "{kind.name}", but the column holds text or categories. '
            'Pass "nominal", or convert the column to numbers'
        )
    if kind.most_values is not None and different > kind.most_values:
        return (
            f'kinds asks for "{kind.name}", but there are {different} values. Pass "nominal" or '
            f"another kind"
        )
    return None


def _about_levels(kind: Kind | None, cells: Cells, values: NDArray[Any], rows: int) -> str | None:
    """Say why text or categories cannot be used: free text, dates,
    or numbers with a mark for missing ones.
    """
    texts = [str((cells.levels or ())[code]) for code in values.tolist()]
    if cells.is_text and kind is None:  # text that the user says to be a category is one
        if texts and all(map(DATE.fullmatch, texts)):
            return DATES
        odd = np.flatnonzero(pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").isna())
        if are_marks([texts[k] for k in odd], len(texts)):
            quoted = [f"{texts[k]!r} ({_where(cells.codes == values[k])})" for k in odd]
            return (
                f"numbers, but for {listing(quoted)}. Replace what is no number by missing cells, "
                f"and convert the "
                'column to numbers (pd.to_numeric(X[COL], errors="coerce") in pandas; --na-value '
                "VALUE at the "
                'command line does both). If these are codes, pass the kind "nominal" in kinds= '
                "(--kind), or drop "
                "the column (--drop)"
            )
        signs = [text for text in texts if not _is_mark(text)]
        if len(odd) and len(texts) > FEW_LEVELS and all(map(SIGNED_NUMBER.fullmatch, signs)):
            examples = listing([repr(texts[k]) for k in odd], 3)
            return (
                f"numbers with signs that keep them from being read ({examples}). "
                "Take out what is no digit (X[COL].str.replace in pandas), and convert the column "
                "to numbers"
            )
        if not len(odd) and too_many_levels(len(texts), rows):
            return (
                "numbers as text. Convert them to numbers (pd.to_numeric(X[COL]) in pandas), or "
                "drop the column "
                "if it is an identifier (--drop at the command line)"
            )
    if too_many_levels(len(texts), rows):
        return (
            f"{len(texts)} different texts or categories in {rows} cells, as free text, names and "
            f"identifiers "
            "have. Drop the column (--drop at the command line), or derive categories or numbers "
            "from it"
        )
    return None


def _where(cells: Flags) -> str:
    """Say how many cells there are, and where the first is."""
    count, row = int(cells.sum()), int(np.argmax(cells)) + 1
    return f"row {row}" if count == 1 else f"{count:,} cells, first in row {row}"


def are_marks(odd: Collection[str], different: int) -> bool:
    """Return whether texts that are no numbers, among so many different ones,
    stand for missing numbers.
    """
    return 0 < len(odd) < different / 2 and (different > FEW_LEVELS or all(map(_is_mark, odd)))


def _is_mark(text: str) -> bool:
    """Return whether a text among numbers stands for a missing one, such as "?" or "unknown"."""
    return text.strip().lower() in MARKS or not re.search(r"\w", text)
