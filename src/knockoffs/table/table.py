"""Tables in, numbers inside, tables of the same kind out: a table is read and checked once,
at the door.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_array

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.checks import check_choice
from knockoffs.schema.kinds import Nominal, Ordinal, kind_choices
from knockoffs.schema.schema import (
    FeatureGroups,
    Schema,
    Units,
    describe_columns,
    read_feature_groups,
)
from knockoffs.schema.words import called, column_number, counted, listing
from knockoffs.table.problems import Problems
from knockoffs.table.read_cells import (
    NUMERIC,
    Cells,
    Levels,
    Precision,
    array_cells,
    frame_cells,
    pandas_cells,
)
from knockoffs.table.write_cells import (
    fits_array,
    frame_column,
    gap_like,
    labels_of,
    pandas_column,
    rounded,
)


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
    precisions : tuple of dtype, int or None
        What the numbers of a column are rounded to when they are written: short floats, or
        decimals.
    like : table
        The table that was read, which has the names and types of the columns.
    feature_groups : mapping of int to str
        The name of the group of features that a column belongs to, for those that are in one.
    """

    codes: Array
    names: list[str] | None
    levels: tuple[Levels | None, ...]
    kinds: Mapping[int, str]
    precisions: tuple[Precision, ...]
    like: Any
    _rows: Indices | None = None  # which of its rows these are; None for all
    feature_groups: Mapping[int, str] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.shape[0], self.codes.shape[1]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def categories(self) -> list[int]:
        """Numbers of the columns of text or categories, for tables like this one (`read_table`)."""
        return [j for j, levels in enumerate(self.levels) if levels is not None]

    @cached_property
    def schema(self) -> Schema:
        return describe_columns(
            self.codes, self._called, self.levels, self.kinds, self.feature_groups
        )

    @cached_property
    def units(self) -> Units:
        """Which columns are swapped as a whole; as in the schema, which takes longer."""
        return Units.of_groups(self._called, self.feature_groups)

    @property
    def _called(self) -> list[str]:
        return called(self.names, self.shape[1])

    def grouped(
        self,
        feature_groups: FeatureGroups,
        *,
        who: str,
        conditioned: Flags | None = None,
        target: Any = None,
    ) -> Table:
        """The same table with groups of features (`read_feature_groups`);
        with those that it has for None.
        """
        if feature_groups is None:
            return self
        found = read_feature_groups(
            feature_groups,
            self.names,
            self.shape[1],
            who=who,
            conditioned=conditioned,
            target=target,
        )
        return replace(self, feature_groups=found)

    def rows(self, index: Indices) -> Table:
        """Some rows, by their numbers."""
        index = np.asarray(index)
        kept = index if self._rows is None else self._rows[index]
        return replace(self, codes=self.codes[index], _rows=kept)

    def with_codes(self, codes: Array) -> Table:
        """A table with the columns, rows and types of this one, and other cells,
        rounded to these types.
        """
        if any(precision is not None for precision in self.precisions):
            columns = [
                rounded(column, own) for column, own in zip(codes.T, self.precisions, strict=True)
            ]
            codes = np.stack(columns, axis=1)
        return replace(self, codes=codes)

    def with_levels(self, levels: Sequence[Levels | None]) -> Table:
        """The same table with levels numbered in this order;
        those that are not among them come after.
        """
        if tuple(levels) == self.levels:
            return self
        codes, merged = self.codes.copy(), list(self.levels)
        for j, (own, other) in enumerate(zip(self.levels, levels, strict=True)):
            if own is None and np.isnan(codes[:, j]).all():
                merged[j] = other  # a text column without any text has no type
            if own is None or other is None or own == other:
                continue
            number = {level: k for k, level in enumerate(dict.fromkeys((*other, *own)))}
            moved = np.array([*(number[level] for level in own), np.nan])
            codes[:, j] = moved[np.where(np.isnan(codes[:, j]), -1, codes[:, j]).astype(np.intp)]
            merged[j] = tuple(number)
        return replace(self, codes=codes, levels=tuple(merged))

    def to_native(self) -> Any:
        """A table of the kind that was read, with its columns, types and index."""
        like = self.like if self._rows is None else _safe_indexing(self.like, self._rows)
        columns = [np.ascontiguousarray(column) for column in self.codes.T]
        # by its own types, of which narwhals keeps only the kind
        if isinstance(like, pd.DataFrame):
            table = like.copy()
            for j, (codes, levels) in enumerate(zip(columns, self.levels, strict=True)):
                written: Any = pandas_column(like.iloc[:, j], codes, levels)
                table.isetitem(j, written)
            return table
        frame = nw.from_native(like, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return self._to_array(like)
        others = [
            frame_column(frame.get_column(name), codes, levels)
            for name, codes, levels in zip(frame.columns, columns, self.levels, strict=True)
        ]
        return frame.with_columns(*others).to_native()

    def _to_array(self, like: Any) -> NDArray[Any]:
        if all(levels is None for levels in self.levels):
            dtype = getattr(like, "dtype", None)
            return self.codes.astype(dtype) if fits_array(self.codes, dtype) else self.codes
        cells = np.asarray(_as_array(like), dtype=object)
        columns = [
            codes.astype(object)
            if levels is None
            else labels_of(codes, levels, gap_like(cells[:, j]))
            for j, (codes, levels) in enumerate(zip(self.codes.T, self.levels, strict=True))
        ]
        return np.stack(columns, axis=1)


def read_table(
    X: Any, *, who: str, kinds: Mapping[Any, str] | None = None, categories: Collection[int] = ()
) -> Table:
    """Read a table; a `Table` is passed through.

    Raises one error that names all columns that cannot be read: free text, dates, infinite numbers,
    cells of several types, names that occur twice.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        pandas, polars, pyarrow, or whatever `np.asarray` makes an array.
    who : str
        Who reads the table; error messages begin with it.
    kinds : mapping of column names (or numbers) to kinds, default=None
        Kinds of columns that are known better than they can be inferred.
    categories : collection of int, default=()
        Numbers of columns whose text is known to be categories, however many there are in these
        rows.

    Returns
    -------
    Table
    """
    if isinstance(X, Table):
        asked = given_kinds(kinds, X.names, X.shape[1], who)
        return replace(X, kinds={**X.kinds, **asked}) if asked else X
    names, readers = _column_readers(X, who)
    asked = given_kinds(kinds, names, len(readers), who)
    problems = Problems(names, asked, categories)
    codes, levels, precisions, given = [], [], [], {}
    for j, read in enumerate(readers):
        cells = problems.read(read, j)
        codes.append(cells.codes)
        levels.append(cells.levels)
        precisions.append(cells.precision)
        if cells.levels is not None:
            given[j] = Ordinal.name if cells.ordered else Nominal.name
    problems.raise_if_any(who)
    numbers = np.stack(codes, axis=1) if codes else np.empty((len(X), 0))
    return Table(numbers, names, tuple(levels), given | asked, tuple(precisions), X)


def infer_schema(X: Any, *, kinds: Mapping[Any, str] | None = None) -> Schema:
    """Find out what each column of a table holds, by its type and values.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        pandas, polars, pyarrow or an array.
    kinds : dict of column names (or numbers) to kinds, default=None
        Kinds of columns that are known better than they can be inferred, such as `{"ward":
        "nominal"}` for categories that are coded by numbers.

    Returns
    -------
    Schema
        One `Column` per column of X.

    Examples
    --------
    >>> import pandas as pd
    >>> from knockoffs import infer_schema
    >>> table = pd.DataFrame({"age": [61, 47, 55, 58], "smoker": ["yes", "no", "no", None]})
    >>> [column.kind for column in infer_schema(table)]
    ['ordinal', 'binary']
    """
    table = read_table(X, who="infer_schema", kinds=kinds)
    if 0 in table.shape:
        rows, columns = table.shape
        raise ValueError(
            f"infer_schema: X has {counted(rows, 'row')} and {counted(columns, 'column')}. Pass a "
            f"table with data."
        )
    return table.schema


def _column_readers(X: Any, who: str) -> tuple[list[Any] | None, list[Callable[[], Cells]]]:
    """Names of the columns, None where there are none, and functions that read one column each."""
    # not through narwhals, which knows fewer types and refuses names that repeat
    if isinstance(X, pd.DataFrame):
        return X.columns.tolist(), [partial(pandas_cells, X.iloc[:, j]) for j in range(X.shape[1])]
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise ValueError(
            f"{who}: X has several columns of one name. Give each its own name."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        raise ValueError(f"{who}: X is a query that has not been run. Pass X.collect().")
    if isinstance(frame, nw.DataFrame):
        return list(frame.columns), [
            partial(frame_cells, frame.get_column(name)) for name in frame.columns
        ]
    values = check_array(
        _as_array(X),
        dtype=None,
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name="X",
        estimator=who,
    )
    return None, [partial(array_cells, column) for column in values.T]


def _as_array(X: Any) -> Any:
    """An array of a table without names; a list keeps its numbers and gaps,
    which numpy would turn into text.
    """
    if not isinstance(X, (list, tuple)):
        return as_numpy(X)
    plain = np.asarray(X)
    return np.asarray(X, dtype=object) if plain.dtype.kind == "U" else plain


def given_kinds(
    kinds: Mapping[Any, str] | None, names: list[str] | None, columns: int, who: str
) -> dict[int, str]:
    """Return the kinds that a user gives by name or number of a column, by the column's number."""
    asked: dict[int, str] = {}
    kinds = {} if kinds is None else kinds
    if not isinstance(kinds, Mapping):
        raise ValueError(
            f"{who}: kinds={kinds!r} is not valid: pass a dict of columns to kinds, such as "
            f"{{'ward': 'nominal'}}; the kinds are {', '.join(map(repr, kind_choices()))}."
        )
    for key, kind in kinds.items():
        check_choice(f"kinds[{key!r}]", kind, kind_choices())
        j = column_number(key, names, columns)
        if j is None:
            known = (
                f"one of {listing([repr(name) for name in names])}"
                if names
                else f"a number below {columns}"
            )
            raise ValueError(f"{who}: kinds names {key!r}, which is no column of X. Pass {known}.")
        asked[j] = kind
    return asked


def as_numpy(values: Any) -> Any:
    """Tensors and masked arrays as plain arrays, masked cells as missing ones;
    anything else as it is.
    """
    torch = sys.modules.get("torch")  # slow to import; without it there are no tensors
    if torch is not None and isinstance(values, torch.Tensor):
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
        entries = (
            counted(len(labels), "entry", "entries")
            if labels.ndim == 1
            else f"shape {labels.shape}"
        )
        raise ValueError(f"{who}: groups has {entries}; pass one for each of the {rows} rows.")
    missing = np.asarray(pd.isna(labels))
    if missing.any():
        raise ValueError(
            f"{who}: labels are missing in groups ({missing.sum()}). Fill them in or drop those "
            f"rows."
        )
    # by first appearance, so that the names of groups do not matter
    return np.asarray(pd.factorize(labels)[0])


def conditioned_columns(condition_on: Sequence[Any] | None, table: Table) -> Flags:
    """Return which columns are conditioned on."""
    features, names = table.shape[1], table.names
    conditioned = np.zeros(features, dtype=bool)
    columns = () if condition_on is None else condition_on
    if isinstance(columns, str) or not isinstance(columns, Collection):
        raise ValueError(f"condition_on={condition_on!r} is not valid: pass a list of columns.")
    for column in columns:
        j = column_number(column, table.names, features)
        if j is None:
            known = (
                listing([repr(name) for name in names])
                if names
                else f"numbers from 0 to {features - 1}"
            )
            raise ValueError(
                f"condition_on names {column!r}, which is no column of X: there are {known}."
            )
        conditioned[j] = True
    if features and conditioned.all():
        raise ValueError(
            "condition_on names all columns of X, so that none is left to test. Name fewer."
        )
    return conditioned


def keep_conditioned(table: Table, knockoffs: Table, conditioned: Flags) -> Table:
    """Return knockoffs with the columns to condition on as they are in the table.

    Knockoffs of all columns keep their distribution when any features are swapped, also once those
    of some columns are forgotten. So the others are knockoffs given these columns. A column that is
    its own knockoff has w = 0.
    """
    if not conditioned.any():
        return knockoffs
    drawn = knockoffs.with_levels(table.levels).codes
    return table.with_codes(np.where(conditioned, table.codes, drawn))
