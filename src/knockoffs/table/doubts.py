"""Columns of a table that may not mean what they say: spellings of one level,
marks of missing cells, identifiers.

Each rule is silent where a sound table could look the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.stats import spearmanr

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.schema.kinds import KINDS
from knockoffs.schema.words import column_name, counted, listing
from knockoffs.table.table import Table

RARE = 1e-3  # how improbable it is that measurements look like an identifier
LEAST_CELLS = 3  # a number stands for missing cells only where it repeats
FAR = 2  # times the range of the other values
GAP = 5  # times the usual step from one value to the next
MORE = 3  # times as frequent as the value next to it
MANY_VALUES = 10  # so many values above zero make a single negative one conspicuous
FEW_GROUPS = 20  # a name such as "site_id" with so few values is that of categories
# of rows with the same value of a column, by which it is known what else they have in common
PAIRS = 500
LEAST_PAIRS = 30  # of them, in which a cell of the other column is there
AGREE = 0.98  # share of these pairs
BY_CHANCE = 0.7  # at most so many of any two rows agree
OR_NOMINAL = " If it is a code without an order, say so (kinds=, --kind COL=nominal)."
# rank correlation from which on a column is a step function of another one, such as an age group
ORDERED = 0.7
LEAST_COMMON = 2  # columns; one may be a coarser code of the same thing

_DIGITS = range(1, 7)
NUMBER_MARKS = frozenset(
    {-1.0, -7.0, -8.0, -9.0, 9.0}
    | {sign * float(digit * k) for k in _DIGITS if k > 1 for sign in (-1, 1) for digit in "789"}
    | {
        sign * float("9" * (k - 1) + digit)
        for k in _DIGITS
        if k > 1
        for sign in (-1, 1)
        for digit in "78"
    }
)
_WORDS = ("unknown", "missing", "not known", "not available")
_ABBREVIATIONS = ("na", "n/a", "nan", "null", "n/k", "#n/a", "<na>")
TEXT_MARKS = frozenset(
    {"", "?", ".", "./."}  # the last one in files of genotypes
    | {
        spelling
        for word in _WORDS
        for spelling in (word, word.upper(), word.capitalize(), word.title())
    }
    | {spelling for word in _ABBREVIATIONS for spelling in (word, word.upper())}  # "Na" is sodium
    | {"NaN", "Null"}
)
ANSWERS = {"yes": "yes", "y": "yes", "true": "yes", "no": "no", "n": "no", "false": "no"}
ALLELES = re.compile(r"(\w)\1")  # "AA", "Aa" and "aa" are genotypes
IDENTIFIER = re.compile(r"(?i:(?:^|[\W_])(?:id|identifier|mrn|uuid|guid))$|[a-z](?:ID|Id)$")
NAMES_ROWS = re.compile(
    rf"{IDENTIFIER.pattern}|(?i:^(?:patient|subject|participant|person|proband|individual)$)"
)


def doubts(table: Table, target: Array | None = None) -> str | None:
    """Return one message on all columns that may not mean what they say, with remedies;
    None where there are none.

    * Levels that differ only by capitals or blanks, such as "Male", "male " and "MALE"; "yes"
      beside "Y".
    * Texts that stand for missing cells, such as "?" and "unknown", among other levels.
    * Numbers that stand for missing cells, such as 999 and -1: they repeat, and lie further from
      all other values than twice the range of these, or are the only negative one among many
      values, apart from the lowest of these or much more frequent than it.
    * Identifiers: whole numbers, all different, that number the rows or have the name of an
      identifier; and columns with the name of an identifier whose values repeat, as those of
      patients who were seen several times.
    * Codes of groups, whatever their name: many values that repeat, and rows with the same one
      agree in several other columns, as the rows of a patient do in sex and date of birth.
    * Columns of polars with both kinds of missing cells, null and NaN, which become one.

    Parameters
    ----------
    table : Table
        The features.
    target : array of shape (rows,), default=None
        The target as numbers, which may hold such marks as well.

    Returns
    -------
    str or None
    """
    rules = (
        _about_spellings(table),
        _about_marks(table, target),
        _about_identifiers(table),
        _about_nulls(table),
    )
    said = [sentence for rule in rules for sentence in rule]
    return "Some columns may not mean what they say. " + " ".join(said) if said else None


def _about_spellings(table: Table) -> Iterator[str]:
    spelt = [
        f"{column_name(table.names, j)}: {listing([repr(label) for label in same])}"
        for j in table.categories
        for same in spellings(_texts(table, j))
    ]
    if spelt:
        yield (
            f"{'; '.join(_cut(spelt))}: spellings of one level, which count as different levels. "
            f"Write each in "
            "one way (such as X[COL].str.strip().str.lower() in pandas)."
        )


def _texts(table: Table, j: int) -> list[str]:
    """The levels of column j that occur and are text."""
    return [label for label in table.schema[j].labels() if isinstance(label, str)]


def spellings(labels: Sequence[str]) -> list[list[str]]:
    """Return the labels that seem to be one level, in lists.

    They differ only by capitals or blanks, or are ways to say yes and no in a column that says
    nothing else.
    """
    plain = {
        label: " ".join(label.split()).casefold()
        for label in labels
        if label.strip() not in TEXT_MARKS
    }
    if set(plain.values()) <= set(ANSWERS):
        plain = {label: ANSWERS[text] for label, text in plain.items()}
    same: dict[str, list[str]] = {}
    for label, text in plain.items():
        same.setdefault(text, []).append(label)
    return [group for text, group in same.items() if len(group) > 1 and not ALLELES.fullmatch(text)]


def _columns_of_levels(table: Table) -> set[int]:
    """Return the columns that are read as levels without an order."""
    return {j for j, kind in table.kinds.items() if KINDS[kind].of_levels}


def _about_marks(table: Table, target: Array | None) -> Iterator[str]:
    of_levels = _columns_of_levels(table)
    found = []
    for j, levels in enumerate(table.levels):
        number = levels is None and j not in of_levels
        said = _marks_among_numbers(table.codes[:, j]) if number else _marks_among_levels(table, j)
        if said:
            found.append(f"{column_name(table.names, j)}: {said}")
    if found:
        yield (
            f"{'; '.join(_cut(found))}: read as they stand, but seem to mean that a cell is "
            f"missing. If so, "
            "replace them by missing cells (X[COL].mask(X[COL] == VALUE) in pandas, --na-value "
            "COL=VALUE at the "
            "command line)."
        )
    if target is not None and (said := _marks_among_numbers(target)):
        yield (
            f"The target y: {said}: read as a number, but seems to mark a missing one. If so, "
            f"drop these rows."
        )


def _marks_among_levels(table: Table, j: int) -> str:
    texts, levels = _texts(table, j), table.levels[j] or ()
    marks = [text for text in texts if text.strip() in TEXT_MARKS]
    counts = [int((table.codes[:, j] == levels.index(mark)).sum()) for mark in marks]
    return _with_counts([repr(mark) for mark in marks], counts) if len(marks) < len(texts) else ""


def _marks_among_numbers(column: Array) -> str:
    marks, counts = number_marks(column)
    return _with_counts([f"{mark:g}" for mark in marks], counts.tolist())


def number_marks(column: Array) -> tuple[Array, Indices]:
    """Return the numbers of a column that seem to stand for missing cells,
    and how often each occurs.
    """
    none = np.zeros(0), np.zeros(0, dtype=np.intp)
    present = column[~np.isnan(column)]
    if not len(present) or not {float(present.min()), float(present.max())} & NUMBER_MARKS:
        return none
    values, counts = np.unique(present, return_counts=True)
    is_mark = np.array([value in NUMBER_MARKS for value in values.tolist()])
    others = values[~is_mark]
    if len(others) < 2:
        return none
    low, high = others[0], others[-1]
    far = np.maximum(low - values, values - high) > FAR * (high - low)
    # 9 after 1, 2, 3 means that there is no answer; 1, 3, 9 are doses
    if not np.all(np.diff(others) == 1):
        far &= values != 9
    # A tail that just reaches below zero does so in small steps, and becomes rarer on the way.
    stands_out = (low - values >= GAP * np.median(np.diff(others))) | (
        counts > MORE * counts[~is_mark][0]
    )
    negative = (values < 0) & (low >= 0) & (len(others) >= MANY_VALUES) & stands_out
    chosen = is_mark & (counts >= LEAST_CELLS) & (far | negative)
    return values[chosen], counts[chosen]


def _about_identifiers(table: Table) -> Iterator[str]:
    numbers = [j for j, levels in enumerate(table.levels) if levels is None]
    numbering = {numbers[k] for k in identifiers(table.codes[:, numbers])}
    running, named, repeated = [], [], []
    for j, column in enumerate(table.schema):
        name = column_name(table.names, j)
        if j in numbering:
            running.append(name)
        elif (
            table.names is not None
            and IDENTIFIER.search(column.name)
            and _all_different(table.codes[:, j])
        ):
            named.append(name)
        elif (
            table.names is not None
            and _repeats(table.codes[:, j])
            and NAMES_ROWS.search(column.name)
        ):
            repeated.append(name)
    known = {*running, *named, *repeated}
    for j, common in group_codes(table.codes):
        name, others = column_name(table.names, j), [column_name(table.names, k) for k in common]
        if name not in known:
            quantity = table.levels[j] is None and j not in _columns_of_levels(table)
            yield (
                f"{name}: rows with the same value also agree in {listing(others, 3)}, as those "
                f"of one patient, "
                "family or place do. If they belong together, pass it as groups= to "
                "KnockoffSelector.fit instead "
                f"of as a feature (`knockoffs select --groups`).{OR_NOMINAL if quantity else ''}"
            )
    if running:
        yield (
            f"{listing(running)}: a different whole number in every row, with few numbers left "
            f"out or in the "
            "order of the rows, as identifiers have. Drop it if it is an identifier (--drop at "
            "the command line)."
        )
    if named:
        yield (
            f"{listing(named)}: looks like an identifier, by its name and because no value occurs "
            f"twice. Drop it "
            "(--drop at the command line)."
        )
    if repeated:
        yield (
            f"{listing(repeated)}: looks like an identifier whose values repeat. If rows with the "
            f"same value "
            "belong together, such as visits of a patient, pass it as groups= to "
            "KnockoffSelector.fit instead of "
            "as a feature (`knockoffs select --groups`); otherwise drop it (--drop)."
        )


def _repeats(column: Array) -> bool:
    """Return whether there are too many values for categories,
    and most of them occur several times.
    """
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    return len(values) > FEW_GROUPS and bool(np.mean(counts > 1) > 0.5)


def group_codes(codes: Array) -> list[tuple[int, list[int]]]:
    """Return the columns whose values seem to stand for groups of rows,
    with those that a group has in common.

    Two rows with the same value agree in several other columns, which hardly any two rows do
    otherwise. Columns that rise or fall with the values do not count: a birth year or an age group
    also follows from the age. Cells that are missing in both rows do not count either: rows of one
    study lack the same columns.
    """
    found = []
    for j in (j for j, column in enumerate(codes.T) if _repeats(column) and _are_codes(column)):
        known = np.flatnonzero(~np.isnan(codes[:, j]))
        order = known[np.argsort(codes[known, j], kind="stable")]
        same = np.flatnonzero(np.diff(codes[order, j]) == 0)
        some = same[np.linspace(0, len(same) - 1, min(PAIRS, len(same))).astype(np.intp)]
        one, other = codes[order[some]], codes[order[some + 1]]
        pairs = (~np.isnan(one) | ~np.isnan(other)).sum(0)
        agree = (one == other).sum(0)
        common = [
            k
            for k in np.flatnonzero((pairs >= LEAST_PAIRS) & (agree >= AGREE * pairs)).tolist()
            if k != j
            and _agree_by_chance(codes[known, k]) <= BY_CHANCE
            and not _rises_or_falls(codes[:, j], codes[:, k])
        ]
        if len(common) >= LEAST_COMMON:
            found.append((j, common))
    return found


def _agree_by_chance(column: Array) -> float:
    """Return the share of any two rows that agree in a column,
    of those that do not both lack it.
    """
    counts = np.unique(column[~np.isnan(column)], return_counts=True)[1] / max(len(column), 1)
    present = 1 - (1 - counts.sum()) ** 2
    return float(np.square(counts).sum() / present) if present > 0 else 1.0


def _are_codes(column: Array) -> bool:
    present = column[~np.isnan(column)]
    return bool(np.all(present == np.rint(present)))


def _rises_or_falls(code: Array, other: Array) -> bool:
    known = ~np.isnan(code) & ~np.isnan(other)
    if not other[known].size or np.ptp(other[known]) == 0:
        return False
    return bool(abs(spearmanr(code[known], other[known]).statistic) > ORDERED)


def _all_different(column: Array) -> bool:
    present = column[~np.isnan(column)]
    return (
        _are_codes(column) and len(present) > FEW_GROUPS and len(np.unique(present)) == len(present)
    )


def identifiers(values: Array) -> Indices:
    """Return the columns that number the rows; missing cells do not count.

    Their numbers are all whole, all different, and either in the order of the rows or with so few
    numbers left out that independent measurements on that scale would almost certainly repeat one.
    """
    found = [_numbers_the_rows(column[~np.isnan(column)]) for column in values.T]
    return np.flatnonzero(found)


def _numbers_the_rows(column: Array) -> bool:
    rows = len(column)
    if rows < 2 or not np.all(column == np.rint(column)) or np.abs(column).max() >= 2**53:
        return False
    in_order = np.unique(column).astype(np.int64)
    if len(in_order) < rows:
        return False
    steps = np.diff(column)
    if (steps > 0).all() or (steps < 0).all():
        return True
    unit = np.gcd.reduce(np.diff(in_order))  # 1000, 2000, 3000 number rows as 1, 2, 3 do
    scale = int((in_order[-1] - in_order[0]) // unit) + 1
    # The largest probability that independent draws on a scale of that many numbers are all
    # different.
    log_probability = np.log1p(-np.arange(rows) / scale).sum()
    return bool(log_probability < math.log(RARE))


def _about_nulls(table: Table) -> Iterator[str]:
    frame: Any = nw.from_native(table.like, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or not frame.implementation.is_polars():
        return
    both = [
        column_name(table.names, j)
        for j, series in enumerate(frame.iter_columns())
        if series.dtype.is_float() and series.null_count() and series.is_nan().any()
    ]
    if both:
        yield (
            f"{listing(both)}: holds null and NaN, which are both read as missing; knockoffs have "
            f"null for both. "
            "Fill one of them in if they differ (fill_nan, fill_null)."
        )


def _with_counts(shown: Sequence[str], counts: Sequence[int]) -> str:
    return listing(
        [f"{mark} ({counted(count, 'cell')})" for mark, count in zip(shown, counts, strict=True)]
    )


def _cut(items: list[str], most: int = 5) -> list[str]:
    return items[:most] + ([f"and {len(items) - most} more"] if len(items) > most else [])
