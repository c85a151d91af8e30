"""Tables in Parquet, a file or a folder of files, also larger than memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from knockoffs.runtime.arrays import LARGEST_WHOLE
from knockoffs.runtime.outputs import replaced
from knockoffs.runtime.randomness import RandomState, random_generator
from knockoffs.schema.words import counted, listing
from knockoffs.table.file_formats import TableFileError, reason
from knockoffs.table.parquet_files import dataset_in_memory, dataset_of

_WITH_GAPS = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}


class ParquetTable:
    """A table in a Parquet file, or in a folder of such files with the same columns,
    in the order of their names.

    In a folder, names that begin with a dot or an underscore are left out, and folders such as
    `site=3` are columns. Row names that pandas has written are those of the tables that are read.

    Parameters
    ----------
    path : str or path
        The file or the folder.
    columns : sequence of str, default=None
        The columns to read; None for all.

    Attributes
    ----------
    rows : int
        Number of rows.
    columns : list of str
        The columns that are read.
    schema : pyarrow.Schema
        Types of all columns, and of row names.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, columns: Sequence[str] | None = None
    ) -> None:
        self._take(dataset_of(Path(path)), os.fspath(path), columns)

    @classmethod
    def from_bytes(cls, content: bytes, name: str) -> Self:
        """Return the table in the content of a Parquet file; errors call it by this name."""
        table = cls.__new__(cls)
        table._take(dataset_in_memory(content, name), name, None)
        return table

    def _take(
        self, dataset: ds.FileSystemDataset, name: str, columns: Sequence[str] | None
    ) -> None:
        self._dataset, self._name = dataset, name
        self.schema: pa.Schema = dataset.schema
        self.rows: int = dataset.count_rows()
        self._row_names = _row_names(self.schema)
        known = [column for column in self.schema.names if column not in self._row_names]
        if self.rows == 0:
            shape = f"0 rows and {counted(len(known), 'column')}"
            raise TableFileError(f"{name} has {shape}. Pass a table with data.")
        self.columns = list(known if columns is None else columns)
        unknown = [repr(column) for column in self.columns if column not in known]
        if unknown:
            raise TableFileError(
                f"{name} has no column {listing(unknown)}; there are {listing([*known])}."
            )

    def batches(self, size: int) -> Iterator[pd.DataFrame]:
        """Yield the rows in order, `size` at a time; the last table may have fewer."""
        waiting: list[pa.RecordBatch] = []
        lacking = size
        for batch in self._scanned(size):
            rest = batch
            while len(rest) >= lacking:
                yield self._frame([*waiting, rest.slice(0, lacking)])
                rest, waiting, lacking = rest.slice(lacking), [], size
            waiting.append(rest)
            lacking -= len(rest)
        if lacking < size:
            yield self._frame(waiting)

    def read(self, most: int | None = None, *, random_state: RandomState = None) -> pd.DataFrame:
        """Return all rows, or `most` of them, drawn at random, where there are more;
        they keep their order.
        """
        if most is None or self.rows <= most:
            return self._frame(list(self._scanned()))
        chosen = np.sort(random_generator(random_state).choice(self.rows, most, replace=False))
        parts, start = [], 0
        for batch in self._scanned():
            first, last = np.searchsorted(chosen, [start, start + len(batch)])
            if last > first:
                parts.append(batch.take(pa.array(chosen[first:last] - start)))
            start += len(batch)
        return self._frame(parts)

    def _scanned(self, size: int = 2**17) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._dataset.to_batches(
                columns=[*self.columns, *self._row_names], batch_size=size
            )
        except (pa.ArrowException, OSError) as error:
            raise self._named(error) from None

    def _named(self, error: Exception) -> TableFileError:
        """Return an error that names the file and the column that cannot be read."""
        for part in self._dataset.get_fragments():
            for column in [*self.columns, *self._row_names]:
                try:
                    for _ in part.to_batches(schema=self.schema, columns=[column]):
                        pass
                except (pa.ArrowException, OSError) as found:
                    place = self._name if part.buffer is not None else part.path
                    return TableFileError(
                        f"{place}: column {column!r} cannot be read as "
                        f"{self.schema.field(column).type} "
                        f"({reason(found)}). Write or copy the file again."
                    )
        return TableFileError(
            f"{self._name} cannot be read ({reason(error)}). Write or copy it again."
        )

    def _frame(self, batches: list[pa.RecordBatch]) -> pd.DataFrame:
        try:
            return _frame(batches)
        except MemoryError:
            raise
        except _OrderError as error:
            raise TableFileError(f"{self._name}: {error}") from None
        # pandas raises errors of many types where its part of the metadata is damaged
        except Exception as error:
            raise TableFileError(
                f"{self._name} is not a complete Parquet file ({reason(error)}). Write or copy it "
                f"again."
            ) from None


def _row_names(schema: pa.Schema) -> list[str]:
    """Return the columns that hold row names; pandas also describes those that only number the
    rows.
    """
    try:
        said = (schema.pandas_metadata or {}).get("index_columns", [])
        return [column for column in said if isinstance(column, str) and column in schema.names]
    # damaged: the error comes where the table is made
    except (ValueError, TypeError, AttributeError):
        return []


def _frame(batches: list[pa.RecordBatch]) -> pd.DataFrame:
    """Make a table of all batches, whose memory is given back at once:
    the list is empty afterwards.
    """
    table = pa.Table.from_batches(batches)
    batches.clear()
    for j, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and field.type.ordered:
            table = table.set_column(j, field.name, _in_one_order(table.column(j), field.name))
    long = [name for name in table.column_names if _long(table[name])]
    exact = {name: table[name].to_pandas(types_mapper=_WITH_GAPS.get) for name in long}
    frame = table.to_pandas(split_blocks=True, self_destruct=True)
    del table
    pa.default_memory_pool().release_unused()
    frame.columns = frame.columns.map(str)
    for name in exact.keys() & {*frame.columns}:  # others are row names
        frame[name] = exact[name].array
    return frame


class _OrderError(ValueError):
    """Ordered categories whose orders contradict each other."""


def _in_one_order(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return ordered categories in an order that holds for all files:
    pandas appends those that come later.
    """
    orders = list(dict.fromkeys(tuple(chunk.dictionary.to_pylist()) for chunk in column.chunks))
    if len(orders) <= 1:
        return column
    levels = max(orders, key=len)
    for own in orders:
        if [level for level in levels if level in own] != list(own):
            raise _OrderError(
                f"column {name!r} has the ordered categories {listing([*map(repr, own)])} in one "
                f"file and "
                f"{listing([*map(repr, levels)])} in another. Write all files with the same ones."
            )
    known = pa.array(levels, column.type.value_type)
    places = pc.call_function("index_in", [column.cast(known.type)], pc.SetLookupOptions(known))
    parts = [pa.DictionaryArray.from_arrays(chunk, known, ordered=True) for chunk in places.chunks]
    return pa.chunked_array(parts)


def _long(column: pa.ChunkedArray) -> bool:
    """Return whether pandas would round whole numbers beside missing cells,
    which it holds as floats.
    """
    if column.type not in _WITH_GAPS or not column.null_count:
        return False
    ends = pc.call_function("min_max", [column]).as_py()
    return any(abs(end or 0) > LARGEST_WHOLE for end in ends.values())


def write_batches(
    frames: Iterable[pd.DataFrame], path: str | os.PathLike[str], *, schema: pa.Schema | None = None
) -> int:
    """Write tables one after the other to a Parquet file, which is complete or as it was;
    return the rows.

    Parameters
    ----------
    frames : iterable of DataFrame
        Tables with the same columns.
    path : str or path
        The file.
    schema : pyarrow.Schema, default=None
        Types of columns without any cell in the first table, such as those of the `ParquetTable`
        that the rows come from.
    """
    rows = 0
    writer: pq.ParquetWriter | None = None
    with replaced(path) as temporary:
        try:
            for frame in frames:
                table = pa.Table.from_pandas(
                    frame, preserve_index=not isinstance(frame.index, pd.RangeIndex)
                )
                if writer is None:
                    writer = pq.ParquetWriter(temporary, _types_of(table.schema, schema))
                writer.write_table(_cast(table, writer.schema, path))
                rows += len(frame)
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise ValueError(
                f"there are no rows to write to {os.fspath(path)!r}. Pass at least one table."
            )
    return rows


def _types_of(found: pa.Schema, known: pa.Schema | None) -> pa.Schema:
    """Return types that also hold the cells of later tables, which may have more categories."""
    for j, field in enumerate(found):
        if pa.types.is_dictionary(field.type):
            wide = pa.dictionary(pa.int32(), field.type.value_type, field.type.ordered)
            found = found.set(j, field.with_type(wide))
        elif pa.types.is_null(field.type) and known is not None and field.name in known.names:
            found = found.set(j, field.with_type(known.field(field.name).type))
    return found


def _cast(table: pa.Table, schema: pa.Schema, path: str | os.PathLike[str]) -> pa.Table:
    try:
        return table.cast(schema)
    except (pa.ArrowException, ValueError) as error:
        other = [
            f"{one.name!r} ({one.type})"
            for one in table.schema
            if one.type != schema.field(one.name).type
        ]
        raise ValueError(
            f"{os.fspath(path)!r} cannot be written: the types of {listing(other)} are not those "
            f"of the first "
            f"rows ({reason(error)}). Pass tables with the same types."
        ) from None
