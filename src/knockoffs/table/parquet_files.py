"""The Parquet files of a table as one dataset: which files count, and one type for each column."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs

from knockoffs.schema.words import listing
from knockoffs.table.file_formats import TableFileError, reason, require_different

FORMAT = ds.ParquetFileFormat(page_checksum_verification=True)  # where there are checksums
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # how folders name a missing value
# neither codes such as 035 nor more digits than 64 bits hold
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)\.\d+")


def dataset_of(path: Path) -> ds.FileSystemDataset:
    """Return the table in a Parquet file, or in a folder of such files with the same columns.

    The files of a folder are read in the order of their names. Names that begin with a dot or an
    underscore, as those of other programs' unfinished files do, are left out, and folders such as
    `site=3` are columns.
    """
    if not path.is_dir():
        return _as_one([FORMAT.make_fragment(str(path), pa.fs.LocalFileSystem())], {}, str(path))
    hidden = re.compile(r"(^|/)[._]")
    found = [file for file in sorted(path.rglob("*.parquet")) if file.is_file()]
    files = [file for file in found if not hidden.search(file.relative_to(path).as_posix())]
    if not files:
        raise TableFileError(
            f"{path} is a folder without files that end in .parquet. Pass one file, or a folder "
            f"of these."
        )
    own = _schema(FORMAT.make_fragment(str(files[0]), pa.fs.LocalFileSystem()), str(path)).names
    folders = {key: value for key, value in _folder_columns(files, path).items() if key not in own}
    parted = ds.dataset(
        [str(file) for file in files],
        schema=pa.schema([]),  # whose types are found out below
        format=FORMAT,
        partitioning=ds.HivePartitioning(pa.schema(folders)),
        partition_base_dir=str(path),
    )
    return _as_one(parted.get_fragments(), folders, str(path))


def dataset_in_memory(content: bytes, name: str) -> ds.FileSystemDataset:
    """Return the table in the content of a Parquet file.

    The content is copied to memory of Arrow: a read that fails leaves threads behind, and the last
    of them would let go of memory of Python when that is about to end, which aborts the process.
    """
    copy = pa.BufferOutputStream()
    copy.write(content)
    return _as_one([FORMAT.make_fragment(copy.getvalue())], {}, name)


def _folder_columns(files: list[Path], folder: Path) -> dict[str, pa.DataType]:
    """Return the columns that folders such as `site=3` stand for."""
    levels = [dict(_keys(file.relative_to(folder).parent)) for file in files]
    for file, own in zip(files, levels, strict=True):
        if own.keys() != levels[0].keys():  # its rows would lack these cells
            raise TableFileError(
                f"{folder}: {file} is not in folders of {_quoted(own.keys() ^ levels[0].keys())} "
                f"as the other "
                "files are. Pass a folder whose files are at the same level."
            )
    return {key: _type_of({own[key] for own in levels} - {NO_VALUE}) for key in levels[0]}


def _keys(folder: Path) -> Iterable[tuple[str, str]]:
    return (
        (key, value)
        for key, equals, value in (part.partition("=") for part in folder.parts)
        if equals
    )


def _type_of(values: set[str]) -> pa.DataType:
    if all(map(_WHOLE.fullmatch, values)):
        return pa.int64()
    return (
        pa.float64()
        if all(_WHOLE.fullmatch(v) or _NUMBER.fullmatch(v) for v in values)
        else pa.string()
    )


def _as_one(
    parts: Iterable[ds.ParquetFileFragment], folders: dict[str, pa.DataType], name: str
) -> ds.FileSystemDataset:
    """Put files together, each column with a type that holds the cells of all files."""
    fragments = list(parts)
    schemas = [(_label(part, name), _schema(part, name)) for part in fragments]
    first = schemas[0][1]
    require_different(first.names, name)
    types = dict(zip(first.names, first.types, strict=True))
    for label, own in schemas[1:]:
        if own.names != first.names and sorted(own.names) != sorted(first.names):
            # cells of columns that a file lacks would count as missing
            raise TableFileError(
                f"{name}: {label} differs from the first file in its columns: "
                f"{_quoted({*own.names} ^ {*first.names})}. Pass a folder whose files have the "
                f"same columns."
            )
        for field in own:
            if field.type != types[field.name]:
                types[field.name] = _common(types[field.name], field, label)
    changed = {field.name for field in first if types[field.name] != field.type}
    metadata = first.metadata if len(fragments) == 1 else _metadata(first, changed, schemas[0][0])
    both = pa.schema([*types.items(), *folders.items()], metadata)
    return ds.FileSystemDataset(fragments, both, FORMAT)


def _schema(part: ds.ParquetFileFragment, name: str) -> pa.Schema:
    try:
        return part.physical_schema
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableFileError(
            f"{_label(part, name)} is not a complete Parquet file ({reason(error)}). Write or "
            f"copy it again."
        ) from None


def _label(part: ds.ParquetFileFragment, name: str) -> str:
    return name if part.buffer is not None else part.path


def _common(known: pa.DataType, field: pa.Field, label: str) -> pa.DataType:
    """Return the type for cells of one type and of another; categories beside text are text."""
    types = [known, field.type]
    if sum(map(pa.types.is_dictionary, types)) == 1 and pa.null() not in types:
        types = [one.value_type if pa.types.is_dictionary(one) else one for one in types]
    alone = [pa.schema([(field.name, one)]) for one in types]
    try:
        return pa.unify_schemas(alone, promote_options="permissive").field(0).type
    except pa.ArrowException:
        raise TableFileError(
            f"{label}: column {field.name!r} has type {field.type}, but {known} in files before "
            f"it. Write all "
            "files with one type."
        ) from None


def _metadata(schema: pa.Schema, changed: set[str], label: str) -> dict[bytes, bytes] | None:
    """Return what pandas has written beside the first file, as far as it holds for all.

    Row names that are no column number the rows of one file, and a column that has another type now
    is no longer of the type that pandas had for it.
    """
    if schema.metadata is None or b"pandas" not in schema.metadata:
        return schema.metadata
    try:
        said = json.loads(schema.metadata[b"pandas"])
        said["index_columns"] = [
            column for column in said["index_columns"] if isinstance(column, str)
        ]
        said["columns"] = [
            column for column in said["columns"] if column.get("field_name") not in changed
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TableFileError(
            f"{label} is not a complete Parquet file ({reason(error)}). Write or copy it again."
        ) from None
    return {**schema.metadata, b"pandas": json.dumps(said).encode()}


def _quoted(names: Iterable[str]) -> str:
    return listing([repr(column) for column in sorted(names)])
