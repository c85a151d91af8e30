"""Tables in Parquet, a file or a folder of files, also larger than memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from knockoffs.archives import TableFileError
from knockoffs.outputs import unfinished
from knockoffs.randomness import RandomState, random_generator
from knockoffs.words import listing


class ParquetTable:
    """A table in a Parquet file, or in a folder of such files with the same columns, in the order of their names.

    Parameters
    ----------
    path : str or path
        The file or the folder.
    columns : sequence of str, default=None
        The columns to read; None for all.
    """

    def __init__(self, path: str | os.PathLike[str], *, columns: Sequence[str] | None = None) -> None:
        name = os.fspath(path)
        files = sorted(map(str, Path(path).rglob("*.parquet"))) if Path(path).is_dir() else [name]
        if not files:
            raise TableFileError(
                f"{name} is a folder without files that end in .parquet. Pass one file, or a folder of these."
            )
        try:
            self._dataset = ds.dataset(files, format="parquet")
            self.rows: int = self._dataset.count_rows()
            parts = {part.path: part.physical_schema.names for part in self._dataset.get_fragments()}
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = (str(error).splitlines() or [""])[0] or type(error).__name__
            raise TableFileError(f"{name} is not a table in Parquet ({reason}). Write or copy it again.") from None
        if self.rows == 0:
            raise TableFileError(f"{name} holds no rows. Pass a table with data.")
        known = self._dataset.schema.names
        for part, found in parts.items():
            if set(found) != set(known):  # cells of columns that it lacks would count as missing
                other = listing([repr(column) for column in sorted(set(found) ^ set(known))])
                raise TableFileError(
                    f"{name}: {part} differs from the first file in its columns: {other}. Pass a folder "
                    "whose files have the same columns."
                )
        self.columns = list(known if columns is None else columns)
        unknown = [repr(column) for column in self.columns if column not in known]
        if unknown:
            raise TableFileError(f"{name} has no column {listing(unknown)}; there are {listing([*known])}.")

    def batches(self, size: int) -> Iterator[pd.DataFrame]:
        """Yield the rows in order, `size` at a time; the last table may have fewer."""
        waiting: list[pa.RecordBatch] = []
        count = 0
        for batch in self._dataset.to_batches(columns=self.columns, batch_size=size):
            rest = batch
            while count + len(rest) >= size:
                yield _frame([*waiting, rest.slice(0, size - count)])
                rest, waiting, count = rest.slice(size - count), [], 0
            if len(rest):
                waiting.append(rest)
                count += len(rest)
        if waiting:
            yield _frame(waiting)

    def read(self, most: int | None = None, *, random_state: RandomState = None) -> pd.DataFrame:
        """Return all rows, or `most` of them, drawn at random, where there are more; they keep their order."""
        if most is None or self.rows <= most:
            return _frame(list(self._dataset.to_batches(columns=self.columns)))
        chosen = np.sort(random_generator(random_state).choice(self.rows, most, replace=False))
        parts, start = [], 0
        for batch in self._dataset.to_batches(columns=self.columns):
            first, last = np.searchsorted(chosen, [start, start + len(batch)])
            if last > first:
                parts.append(batch.take(pa.array(chosen[first:last] - start)))
            start += len(batch)
        return _frame(parts)


def _frame(batches: list[pa.RecordBatch]) -> pd.DataFrame:
    """Make a table of all batches, whose memory is given back at once: the list is empty afterwards."""
    table = pa.Table.from_batches(batches)
    batches.clear()
    frame = table.to_pandas(split_blocks=True, self_destruct=True)
    del table
    pa.default_memory_pool().release_unused()
    return frame


def write_batches(frames: Iterable[pd.DataFrame], path: str | os.PathLike[str]) -> int:
    """Write tables one after the other to a Parquet file, which is complete or as it was; return the rows."""
    target = Path(os.path.realpath(path))
    temporary = unfinished(target)
    writer: pq.ParquetWriter | None = None
    rows = 0
    try:
        for frame in frames:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            if writer is None:
                writer = pq.ParquetWriter(temporary, table.schema)
            writer.write_table(table.cast(writer.schema))
            rows += len(frame)
        if writer is None:
            raise ValueError(f"there are no rows to write to {os.fspath(path)!r}. Pass at least one table.")
        writer.close()
        os.replace(temporary, target)
    finally:
        if writer is not None:
            writer.close()
        temporary.unlink(missing_ok=True)
    return rows
