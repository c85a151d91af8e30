"""Tables in, numbers inside, tables of the same kind out: a table is read and checked once, at the door."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import torch
from sklearn.utils import _safe_indexing, check_array

from knockoffs.arrays import Array, Indices
from knockoffs.cells import (
    NUMERIC,
    Cells,
    Levels,
    UnreadableColumnError,
    array_cells,
    array_column,
    frame_cells,
    frame_column,
    labels_of,
    pandas_cells,
    pandas_column,
)
from knockoffs.checks import check_choice
from knockoffs.schema import CHOICES, Kind, Schema, describe_columns
from knockoffs.words import column_name, listing

FREE_TEXT = 0.5  # share of different texts among the cells from which on a column is no category
FEW_LEVELS = 20  # so many levels are never too many


@dataclass(frozen=True, eq=False)
class Table:
    """A table as numbers, one column per feature, with what is needed to write tables like it.

    Attributes
    ----------
    codes : array of shape (rows, features)
        A quantity as it is, a level by its number, nan for a missing cell.
    names : list of str or None
        Column names, None for an array.
    levels : sequence of tuple or None
        Per column its levels, None where the cells are numbers.
    kinds : mapping of int to str
        Kinds of columns that are given: by the user, or by the type of the column.
    """

    codes: Array
    names: list[str] | None
    levels: tuple[Levels | None, ...]
    kinds: Mapping[int, Kind]
    _like: Any  # the table that was read
    _rows: Indices | None = None  # which of its rows these are; None for all

    @property
    def like(self) -> Any:
        """The table that was read, which has the names and types of the columns."""
        return self._like

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.shape[0], self.codes.shape[1]

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def schema(self) -> Schema:
        names = [f"x{j}" for j in range(self.shape[1])] if self.names is None else self.names
        return describe_columns(self.codes, names, self.levels, self.kinds)

    def rows(self, index: Indices) -> Table:
        """Some rows, by their numbers."""
        index = np.asarray(index)
        kept = index if self._rows is None else self._rows[index]
        return replace(self, codes=self.codes[index], _rows=kept)

    def with_codes(self, codes: Array) -> Table:
        """A table with the columns, rows and types of this one, and other cells."""
        return replace(self, codes=codes)

    def with_levels(self, levels: Sequence[Levels | None]) -> Table:
        """The same table with levels numbered in this order; those that are not among them come after."""
        if tuple(levels) == self.levels:
            return self
        codes, merged = self.codes.copy(), []
        for j, (own, other) in enumerate(zip(self.levels, levels, strict=True)):
            known = (
                None if own is None or other is None else (*other, *(level for level in own if level not in other))
            )
            if known is not None and own is not None:
                number = np.array([*(known.index(level) for level in own), np.nan])
                codes[:, j] = number[np.where(np.isnan(codes[:, j]), -1, codes[:, j]).astype(np.intp)]
            merged.append(own if known is None else known)
        return replace(self, codes=codes, levels=tuple(merged))

    def to_native(self) -> Any:
        """A table of the kind that was read, with its columns, types and index."""
        like = self._like if self._rows is None else _safe_indexing(self._like, self._rows)
        frame = nw.from_native(like, eager_only=True, pass_through=True)
        columns = [np.ascontiguousarray(column) for column in self.codes.T]
        if not isinstance(frame, nw.DataFrame):
            return self._to_array(getattr(like, "dtype", None))
        if frame.implementation.is_pandas():  # by its own types, of which narwhals keeps only the kind
            table = like.copy()
            for j, (codes, levels) in enumerate(zip(columns, self.levels, strict=True)):
                table.isetitem(j, pandas_column(like.iloc[:, j], codes, levels))
            return table
        written = [
            frame_column(frame.get_column(name), codes, levels)
            for name, codes, levels in zip(frame.columns, columns, self.levels, strict=True)
        ]
        return frame.with_columns(*written).to_native()

    def _to_array(self, dtype: Any) -> Any:
        if all(levels is None for levels in self.levels):
            return self.codes.astype(dtype) if array_column(dtype, self.codes) else self.codes
        columns = [
            codes.astype(object) if levels is None else labels_of(codes, levels)
            for codes, levels in zip(self.codes.T, self.levels, strict=True)
        ]
        return np.stack(columns, axis=1)


def read_table(X: Any, *, who: str, kinds: Mapping[Any, Kind] | None = None) -> Table:
    """Read a table; a `Table` is passed through.

    Raises one error that names all columns that cannot be read: free text, dates, infinite numbers, cells of
    several types.
    """
    if isinstance(X, Table):
        return X
    _require_different_names(X, who)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    names = list(frame.columns) if isinstance(frame, nw.DataFrame) else None
    codes, levels, given = [], [], {}
    problems = _Problems(names)
    for j, read in enumerate(_column_readers(X, frame, who)):
        try:
            cells = read()
        except UnreadableColumnError as error:
            problems.add(str(error), j)
            cells = Cells(np.zeros(0))
        else:
            problems.look_at(cells, j)
        codes.append(cells.codes)
        levels.append(cells.levels)
        if cells.levels is not None:
            given[j] = "ordinal" if cells.ordered else "nominal"
    problems.raise_if_any(who)
    rows = len(frame) if isinstance(frame, nw.DataFrame) else len(X)
    numbers = np.stack(codes, axis=1) if codes else np.empty((rows, 0))
    table = Table(numbers, names, tuple(levels), given, X)
    return table if not kinds else replace(table, kinds=given | _asked_for(kinds, table, who))


def infer_schema(X: Any, *, kinds: Mapping[Any, Kind] | None = None) -> Schema:
    """Find out what each column of a table holds, by its type and values.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        pandas, polars, pyarrow or an array.
    kinds : dict of column names (or numbers) to kinds, default=None
        Kinds of columns that are known better than they can be inferred, such as `{"ward": "nominal"}` for
        categories that are coded by numbers.

    Returns
    -------
    Schema
    """
    return read_table(X, who="infer_schema", kinds=kinds).schema


def _column_readers(X: Any, frame: Any, who: str) -> Iterator[Any]:
    """Functions that read one column each."""
    if not isinstance(frame, nw.DataFrame):
        values = check_array(
            as_numpy(X),
            dtype=None,
            ensure_all_finite=False,
            ensure_min_samples=0,
            ensure_min_features=0,
            input_name="X",
            estimator=who,
        )
        yield from (lambda j=j: array_cells(values[:, j]) for j in range(values.shape[1]))
    elif frame.implementation.is_pandas():
        yield from (lambda j=j: pandas_cells(X.iloc[:, j]) for j in range(X.shape[1]))
    else:
        yield from (lambda name=name: frame_cells(frame.get_column(name)) for name in frame.columns)


class _Problems:
    """What is wrong with the columns of a table, gathered so that one error tells it all."""

    def __init__(self, names: list[str] | None) -> None:
        self._names = names
        self._found: dict[str, list[str]] = {}

    def add(self, problem: str, j: int, detail: str = "") -> None:
        self._found.setdefault(problem, []).append(column_name(self._names, j) + detail)

    def look_at(self, cells: Cells, j: int) -> None:
        infinite = int(np.isinf(cells.codes).sum())
        if infinite:
            self.add(
                "infinite values. Replace them by finite numbers or by missing cells, or drop the rows that hold "
                "them",
                j,
                f" ({infinite})",
            )
        if cells.levels is not None:
            rows = int((~np.isnan(cells.codes)).sum())
            different = len(np.unique(cells.codes[~np.isnan(cells.codes)]))
            if different > max(FEW_LEVELS, FREE_TEXT * rows):
                self.add(_about_text(cells, different, rows), j)

    def raise_if_any(self, who: str) -> None:
        said = [f"{listing(columns)}: {problem}." for problem, columns in self._found.items()]
        if said:
            raise ValueError(f"{who}: X cannot be used as it is. " + " ".join(said))


def _about_text(cells: Cells, different: int, rows: int) -> str:
    said = f"text with {different} different values in {rows} cells, as free text, names and identifiers have"
    texts = [str(level) for level in cells.levels or ()]
    numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").notna().to_numpy()
    if numbers.mean() > 0.5:  # a number column with a mark for missing cells, or decimal commas
        others = listing([repr(text) for text, is_number in zip(texts, numbers, strict=True) if not is_number])
        return f"{said}, but most are numbers. Replace what is no number ({others}) by missing cells, and convert"
    return f"{said}. Drop it, or derive categories or numbers from it"


def _asked_for(kinds: Mapping[Any, Kind], table: Table, who: str) -> dict[int, Kind]:
    """The kinds that a user gives by name or number of a column."""
    asked: dict[int, Kind] = {}
    for key, kind in kinds.items():
        check_choice(f"kinds[{key!r}]", kind, CHOICES)
        if table.names is not None and key in table.names:
            j = table.names.index(key)
        elif isinstance(key, (int, np.integer)) and 0 <= key < table.shape[1]:
            j = int(key)
        else:
            raise ValueError(f"{who}: kinds names {key!r}, which is no column of X. Pass names of its columns.")
        if table.levels[j] is not None and kind in ("continuous", "semicontinuous"):
            raise ValueError(
                f"{who}: kinds asks for {kind!r}, but {column_name(table.names, j)} holds text or categories. "
                'Pass "nominal" or "ordinal", or convert the column to numbers.'
            )
        different = len(np.unique(table.codes[~np.isnan(table.codes[:, j]), j]))
        if kind == "binary" and different > 2:
            raise ValueError(
                f"{who}: kinds asks for 'binary', but {column_name(table.names, j)} has {different} values. Pass "
                '"nominal" or "ordinal".'
            )
        asked[j] = kind
    return asked


def _require_different_names(X: Any, who: str) -> None:
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):  # only pandas takes a name twice
        return
    twice = sorted(repr(name) for name, count in Counter(X.columns).items() if count > 1)
    if twice:
        raise ValueError(f"{who}: X has several columns named {listing(twice)}. Give each its own name.")


def as_numpy(values: Any) -> Any:
    """Tensors and masked arrays as plain arrays, masked cells as missing ones; anything else as it is."""
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu()
        return (values.float() if values.dtype == torch.bfloat16 else values).numpy()
    if np.ma.is_masked(values):
        kind = np.float64 if values.dtype.kind in NUMERIC else object
        return np.ma.filled(values.astype(kind), np.nan)
    return values


def group_labels(groups: Any, *, rows: int, who: str) -> Indices:
    """The group of each row as a number from 0 on."""
    labels = np.asarray(as_numpy(groups))
    if labels.shape != (rows,):
        entries = f"{len(labels)} entries" if labels.ndim == 1 else f"shape {labels.shape}"
        raise ValueError(f"{who}: groups has {entries}; pass one for each of the {rows} rows.")
    missing = np.asarray(pd.isna(labels))
    if missing.any():
        raise ValueError(
            f"{who}: labels are missing in groups ({missing.sum()}). Fill them in or drop those rows."
        )
    return np.asarray(pd.factorize(labels)[0])  # by first appearance, so that the names of groups do not matter
