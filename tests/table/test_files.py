"""Tables from and to files: what was written comes back,
and a file that holds no table is named.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import stat
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from knockoffs import infer_schema
from knockoffs.runtime import memory
from knockoffs.runtime.cautions import KnockoffWarning
from knockoffs.table.files import TableFileError, read_frame, without_mark, write_frame

FRAME = pd.DataFrame(
    {"age": [30, 41, 52], "dose, in mg": [0.1, 1e-300, -2.5e17], "smoker": [True, False, True]}
)
Read = Callable[..., pd.DataFrame]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads these bytes from a file whose name says nothing of what is in it."""

    def from_bytes(content: bytes, **options: str) -> pd.DataFrame:
        path = tmp_path / "table"
        path.write_bytes(content)
        return read_frame(str(path), **options)

    return from_bytes


def text(frame: pd.DataFrame = FRAME, separator: str = ",") -> bytes:
    return frame.to_csv(index=False, sep=separator).encode()


def parquet(frame: pd.DataFrame = FRAME) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


def zstandard(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


COMPRESSIONS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard,
    "zip": lambda content: zipped(table=content),
}


# reading


@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_the_delimiter_is_found_out(read: Read, separator: str) -> None:
    pd.testing.assert_frame_equal(read(text(separator=separator)), FRAME)


@pytest.mark.parametrize("compress", COMPRESSIONS.values(), ids=COMPRESSIONS.keys())
@pytest.mark.parametrize("content", [text(), parquet()], ids=["text", "parquet"])
def test_compression_is_known_by_content(
    read: Read, content: bytes, compress: Callable[[bytes], bytes]
) -> None:
    pd.testing.assert_frame_equal(read(compress(content)), FRAME)


def test_a_zip_may_hold_a_folder(read: Read) -> None:
    pd.testing.assert_frame_equal(
        read(zipped(**{"folder/": b"", "folder/table.csv": text()})), FRAME
    )


def test_a_delimiter_that_is_given_wins(read: Read) -> None:
    assert read(b"a:b;c:d\n1:2;3:4\n", delimiter=":").columns.tolist() == ["a", "b;c", "d"]
    assert read(b"a b\n1 2\n", delimiter=" ").to_dict("list") == {"a": [1], "b": [2]}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["unix", "windows", "old mac"])
@pytest.mark.parametrize(
    "start", [b"", b"\xef\xbb\xbf", b"\n\n"], ids=["plain", "BOM", "blank lines"]
)
def test_marks_of_other_systems_do_not_matter(read: Read, line_end: bytes, start: bytes) -> None:
    pd.testing.assert_frame_equal(read((start + text()).replace(b"\n", line_end)), FRAME)


def test_quoted_names_and_cells_may_hold_the_delimiter_and_quotes(read: Read) -> None:
    frame = read(b'"a, ""b""","c;d|e",f\n"1,5",2,3\n')
    assert frame.columns.tolist() == ['a, "b"', "c;d|e", "f"]
    assert frame.iloc[0].tolist() == ["1,5", 2, 3]


def test_a_quoted_name_may_hold_a_line_break(read: Read) -> None:
    frame = read(b'"dose\nin mg",age\n1,2\n')
    assert frame.columns.tolist() == ["dose\nin mg", "age"]
    assert frame.to_numpy().tolist() == [[1, 2]]


def test_names_may_hold_more_marks_than_there_are_delimiters(read: Read) -> None:
    """As gene|id names do: the lines below the first show which mark separates cells."""
    frame = read(b"TP53|7157,MYC|4609,age;y|n\n1.5,2,3\n4,5,6\n")
    assert frame.columns.tolist() == ["TP53|7157", "MYC|4609", "age;y|n"]
    assert frame.to_numpy().tolist() == [[1.5, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_a_wide_table_is_read(read: Read, separator: str) -> None:
    """15,000 names are longer than the longest cell that Python's csv module takes (131,072
    characters).
    """
    wide = pd.DataFrame(np.arange(30_000).reshape(2, 15_000)).add_prefix("expression ")
    pd.testing.assert_frame_equal(read(text(wide, separator)), wide)


def test_a_first_column_without_a_name_holds_row_names(read: Read) -> None:
    frame = read(b",a,b\nfirst,1,2\nsecond,3,4\n")
    assert frame.index.tolist() == ["first", "second"]
    assert frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_names_are_text(read: Read) -> None:
    assert read(b"1,2\n3,4\n").columns.tolist() == ["1", "2"]
    assert read(parquet(pd.DataFrame({7: [1], 8: [2]}))).columns.tolist() == ["7", "8"]


@pytest.mark.parametrize(
    "content", [text(), parquet(), gzip.compress(text())], ids=["text", "parquet", "gz"]
)
def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    pd.testing.assert_frame_equal(read_frame("-"), FRAME)


def test_standard_input_is_named_in_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(TableFileError, match=r"^standard input is empty"):
        read_frame("-")


# columns of other types

MIXED = b"""id,sex,ward,smoker,dose,grade
1,f,surgery,True,0.5,1
2,m,,False,NA,2
3,,"medicine, general",,1.5,
4,f,NA,True,,3
"""


def test_text_booleans_and_empty_cells_come_through(read: Read) -> None:
    frame = read(MIXED)
    assert frame["sex"].tolist()[::3] == ["f", "f"]
    assert frame["smoker"].tolist()[::3] == [True, True]
    assert frame["ward"].tolist()[2] == "medicine, general"
    assert frame.isna().sum().to_dict() == {
        "id": 0,
        "sex": 1,
        "ward": 2,
        "smoker": 1,
        "dose": 2,
        "grade": 1,
    }
    assert [column.kind for column in infer_schema(frame)] == [
        *("ordinal", "binary", "binary", "binary", "binary", "ordinal")
    ]


def test_dates_in_text_files_are_refused_by_whoever_reads_the_table(read: Read) -> None:
    frame = read(b"seen,age\n2020-01-31,1\n2020-02-01,2\n2020-01-31,3\n")
    with pytest.raises(
        ValueError, match=r"column 'seen': dates as text.*--kind at the command line"
    ):
        infer_schema(frame)


TYPED = pd.DataFrame(
    {
        "size": pd.Categorical(["s", None, "l"], categories=["s", "m", "l"], ordered=True),
        "ward": pd.Categorical(["a", "b", None]),
        "text": pd.Series(["x", None, "y"], dtype="str"),
        "smoker": pd.Series([True, None, False], dtype="boolean"),
        "count": pd.Series([1, None, 3], dtype="Int64"),
        "short": np.array([1, 2, 3], dtype=np.int8),
        "weight": np.array([0.5, np.nan, 2], dtype=np.float32),
    }
)


def test_parquet_keeps_all_types(tmp_path: Path) -> None:
    write_frame(TYPED, tmp_path / "table.parquet")
    back = read_frame(str(tmp_path / "table.parquet"))
    pd.testing.assert_frame_equal(back, TYPED)
    assert infer_schema(back) == infer_schema(TYPED)


@pytest.mark.parametrize("name", ["table.csv", "table.tsv"])
def test_text_files_keep_levels_numbers_and_gaps(tmp_path: Path, name: str) -> None:
    write_frame(TYPED, tmp_path / name)
    back = read_frame(str(tmp_path / name))
    np.testing.assert_array_equal(back.isna(), TYPED.isna())
    for column in TYPED.columns:
        present = TYPED[column].notna()
        assert back.loc[present, column].tolist() == TYPED.loc[present, column].tolist()


def test_parquet_of_other_programs_has_categories(read: Read) -> None:
    """Dictionaries of Arrow, as polars writes them, without the marks of pandas."""
    table = pa.table(
        {
            "d": pa.array(["a", None, "b"]).dictionary_encode(),
            "b": [True, None, False],
            "n": [1, 2, 3],
        }
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    frame = read(buffer.getvalue())
    assert isinstance(frame["d"].dtype, pd.CategoricalDtype)
    assert [(column.kind, column.levels) for column in infer_schema(frame)] == [
        ("binary", ("a", "b")),
        ("binary", (False, True)),
        ("ordinal", None),
    ]


# files that hold no table


def with_the_encrypted_flag(archive: bytes) -> bytes:
    content = bytearray(archive)
    content[6] |= 1
    content[content.find(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def parquet_with_a_name_twice() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"]), buffer)
    return buffer.getvalue()


LONG = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=list("abc"))
BAD = {
    "empty": (b"", r"is empty\. Pass a table with column names"),
    "white space": (b" \n\n\t\n", r"is empty\. Pass"),
    "BOM alone": (b"\xef\xbb\xbf", r"is empty\. Pass"),
    "empty gzip": (gzip.compress(b""), r"is empty\. Pass"),
    "names alone": (b"a,b\n", r"has 0 rows and 2 columns\. Pass a table with data"),
    "Parquet without rows": (
        parquet(FRAME[:0]),
        r"has 0 rows and 3 columns\. Pass a table with data",
    ),
    "not UTF-8": (
        "é,b\n1,2\n".encode("latin-1"),
        r"not text in UTF-8 \(byte 0xe9 at position 0\)\. Save it as",
    ),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16")[:-1], r"not text in UTF-16 .*Save it as UTF-8"),
    "columns without names": (
        b"a,,b,,\n1,2,3,,4\n",
        r"columns without a name \(number 2, 5\)\. Name them",
    ),
    "lines above the names": (
        b"Exported\n\na,b\n1,2\n",
        r"single column, 'Exported'.*lines above the one",
    ),
    "one column": (
        b"a b\n1 2\n",
        r"has a single column, 'a b', when split at ','\. Pass the right delimiter",
    ),
    "name twice": (
        b"a,b,a,b,c\n1,2,3,4,5\n",
        r"several columns named 'a', 'b'\. Give each its own name",
    ),
    "Parquet name twice": (
        parquet_with_a_name_twice(),
        r"several columns named 'a'\. Give each its own name",
    ),
    "open quote": (b'a,b\n1,"2\n3,4\n', r"is not a table split at ','"),
    "several in a zip": (
        zipped(a=b"a,b\n1,2\n", b=b"a,b\n1,2\n"),
        r"holds 2 files\. Unpack it and pass one",
    ),
    "zip with a password": (
        with_the_encrypted_flag(zipped(a=text())),
        r"table.*(encrypted|password)",
    ),
    "zip of a folder": (zipped(**{"folder/": b""}), r"holds 0 files\. Unpack it"),
    "truncated Parquet": (parquet()[:-20], r"is not a complete Parquet file .*copy it again"),
    "head of Parquet": (b"PAR1", r"is not a complete Parquet file .*copy it again"),
    "more cells later": (b"a,b\n1,2\n3,4,5\n", r"is not a table split at ','.*line 3"),
}


@pytest.mark.parametrize(("content", "said"), BAD.values(), ids=BAD.keys())
def test_what_holds_no_table_is_refused_with_the_files_name_and_a_remedy(
    read: Read, content: bytes, said: str
) -> None:
    with pytest.raises(TableFileError, match=rf"table.*{said}"):
        read(content)


@pytest.mark.parametrize("compress", COMPRESSIONS.values(), ids=COMPRESSIONS.keys())
@pytest.mark.parametrize("keep", [0.3, 0.7, -1])
def test_a_truncated_archive_is_refused(
    read: Read, compress: Callable[[bytes], bytes], keep: float
) -> None:
    whole = compress(text(LONG))
    with pytest.raises(TableFileError, match=r"damaged or truncated archive .*Copy it again"):
        read(whole[: keep if keep == -1 else int(keep * len(whole))])


def test_a_damaged_archive_is_refused(read: Read) -> None:
    whole = bytearray(gzip.compress(text(LONG)))
    whole[len(whole) // 2] ^= 0xFF
    with pytest.raises(TableFileError, match=r"damaged or truncated archive .*Copy it again"):
        read(bytes(whole))


def test_a_parquet_that_no_memory_holds_is_refused(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of one value takes the same few bytes, whatever the number of rows."""
    content = parquet(pd.DataFrame({"a": np.zeros(1_000_000), "b": 1.0}))
    assert len(content) < 50_000
    monkeypatch.setattr(os, "sysconf", lambda _: 2_000)  # a page and their number: 4 MB
    with pytest.raises(
        TableFileError, match=r"1,000,000 rows and 2 columns.* 16\.0 MB.* 4\.0 MB of memory"
    ):
        read(content)


def test_the_memory_of_a_container_counts(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "limit").write_text("4000000")
    monkeypatch.setattr(memory, "_CGROUP_LIMITS", (tmp_path / "limit",))
    with pytest.raises(TableFileError, match=r"16\.0 MB.* 4\.0 MB of memory"):
        read(parquet(pd.DataFrame({"a": np.zeros(1_000_000), "b": 1.0})))


def test_a_name_twice_among_many_is_found_in_a_moment(read: Read) -> None:
    names = [*(f"c{j}" for j in range(100_000)), "c5"]
    begun = time.monotonic()
    with pytest.raises(TableFileError, match=r"several columns named 'c5'\."):
        read(",".join(names).encode() + b"\n" + b",".join([b"1"] * len(names)))
    assert time.monotonic() - begun < 10  # minutes, where names are compared in pairs


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(TableFileError, match=r"no\.csv does not exist\. Check the path"):
        read_frame(str(tmp_path / "no.csv"))
    with pytest.raises(
        TableFileError, match=r"is a folder without files that end in \.parquet\. Pass one file"
    ):
        read_frame(str(tmp_path))
    (tmp_path / "file").write_bytes(text())
    with pytest.raises(TableFileError, match=r"table\.csv cannot be read: Not a directory"):
        read_frame(str(tmp_path / "file" / "table.csv"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(text())
    path.chmod(0)
    with pytest.raises(TableFileError, match=r"table\.csv may not be read"):
        read_frame(str(path))


MORE_CELLS = {
    "numbers in order": b"a,b\n0,1.5,2.5\n1,3.5,4.5\n2,5.5,6.5\n",
    "any numbers": b"a,b\n7,1.5,2.5\n3,3.5,4.5\n5,5.5,6.5\n",
    "texts": b"a,b\nfirst,1.5,2.5\nsecond,3.5,4.5\n",
    "two more": b"a,b\n0,0,1.5,2.5\n1,1,3.5,4.5\n",
    "first line alone": b"a,b\n0,1.5,2.5\n3.5,4.5\n",
    "beside row names": b",a,b\nfirst,1.5,2.5,3\nsecond,3.5,4.5,3\n",
    "beside row numbers": b",a,b\n0,1.5,2.5,3\n1,3.5,4.5,3\n",
}


@pytest.mark.parametrize("content", MORE_CELLS.values(), ids=MORE_CELLS.keys())
def test_more_cells_than_names_do_not_shift_the_columns(read: Read, content: bytes) -> None:
    with pytest.raises(TableFileError, match=r"table.*(more cells|split at)"):
        read(content)


def test_delimiters_at_the_ends_of_lines_do_not_shift_the_columns(read: Read) -> None:
    try:
        frame = read(b"a,b\n1,2,\n3,4,\n")
    except TableFileError:
        return
    assert frame[["a", "b"]].to_numpy().tolist() == [[1, 2], [3, 4]]


def test_fewer_cells_than_names_are_missing_at_the_end(read: Read) -> None:
    frame = read(b"a,b,c\n1,2,3\n4,5\n6\n")
    np.testing.assert_array_equal(frame, [[1, 2, 3], [4, 5, np.nan], [6, np.nan, np.nan]])


# writing

NAMES = [
    "table.csv",
    "table.tsv",
    "table.parquet",
    "table.csv.gz",
    "table.tsv.gz",
    "table.parquet.gz",
]


@pytest.mark.parametrize("name", [*NAMES, "table", "table.gz"])
def test_what_was_written_comes_back(tmp_path: Path, name: str) -> None:
    write_frame(FRAME, tmp_path / name)
    pd.testing.assert_frame_equal(read_frame(str(tmp_path / name)), FRAME)


@pytest.mark.parametrize("name", NAMES)
def test_the_suffix_says_what_is_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_frame(FRAME, path)
    content = path.read_bytes()
    assert content.startswith(b"\x1f\x8b") == name.endswith(".gz")
    content = gzip.decompress(content) if name.endswith(".gz") else content
    if ".parquet" in name:
        assert content == parquet()
    else:
        assert content == text(separator="\t" if ".tsv" in name else ",")


@pytest.mark.parametrize("name", NAMES)
def test_the_same_table_gives_the_same_bytes(tmp_path: Path, name: str) -> None:
    first, second = tmp_path / f"a.{name}", tmp_path / f"b.{name}"
    write_frame(FRAME, first)
    write_frame(FRAME, second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_row_names_come_back(tmp_path: Path, name: str) -> None:
    frame = FRAME.set_axis(["first", "second", "third"])
    write_frame(frame, tmp_path / name)
    back = read_frame(str(tmp_path / name))
    assert back.index.tolist() == ["first", "second", "third"]
    assert back.to_dict("list") == frame.to_dict("list")


@pytest.mark.parametrize("name", ["table.xlsx", "table.json", "table.csv.zip", "table.txt"])
def test_an_unknown_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TableFileError, match=r"table.*ends in \.csv, \.tsv or \.parquet"):
        write_frame(FRAME, tmp_path / name)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", NAMES)
def test_a_write_that_fails_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b"old")

    def no_space(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(OSError, match="no space left"):
        write_frame(FRAME, path)
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_bytes() == b"old"


def test_formulas_are_escaped_where_asked(tmp_path: Path) -> None:
    """In names and texts of files that spreadsheets open as text; numbers, and Parquet,
    stay what they are.
    """
    frame = pd.DataFrame(
        {
            "=a": ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "x", "'x"],
            "b": -1.5,
            "c": [None, *"=bcdefg"],
        }
    )
    write_frame(frame, tmp_path / "t.csv", escape_formulas=True)
    back = pd.read_csv(tmp_path / "t.csv")
    assert back["'=a"].tolist() == ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "'\rx", "x", "'x"]
    assert back["b"].tolist() == [-1.5] * 8
    assert back["c"].fillna("").tolist() == ["", "'=", *"bcdefg"]
    write_frame(frame, tmp_path / "t.parquet", escape_formulas=True)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), frame, check_dtype=False)
    write_frame(frame, tmp_path / "plain.tsv")
    assert read_frame(str(tmp_path / "plain.tsv")).columns.tolist() == ["=a", "b", "c"]


def test_names_with_line_breaks_come_back(tmp_path: Path) -> None:
    frame = FRAME.set_axis(["a\rb", "c\nd", "e\r\nf"], axis=1)
    write_frame(frame, tmp_path / "t.csv")
    assert read_frame(str(tmp_path / "t.csv")).columns.tolist() == frame.columns.tolist()


def test_a_written_file_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    write_frame(FRAME, tmp_path / "table.csv")
    (tmp_path / "plain").touch()
    assert stat.S_IMODE((tmp_path / "table.csv").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "plain").stat().st_mode
    )


# any table

PRINTABLE = st.characters(exclude_categories=["C", "Z"])
MARKS = st.sampled_from(" ,;|\"'#<&")


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    """Tables of finite numbers under different names that are not blank."""
    names = draw(
        st.lists(
            st.text(PRINTABLE | MARKS, min_size=1, max_size=8).filter(str.strip)
            | st.text(MARKS, min_size=3, max_size=8).filter(str.strip),
            min_size=2,
            max_size=6,
            unique=True,
        )
    )
    row = st.lists(
        st.floats(allow_nan=False, allow_infinity=False), min_size=len(names), max_size=len(names)
    )
    return pd.DataFrame(draw(st.lists(row, min_size=1, max_size=5)), columns=names)


@pytest.mark.filterwarnings("ignore:.*has numbers in its first line")  # names may be anything
@pytest.mark.parametrize("name", ["table.csv", "table.tsv", "table.parquet"])
@settings(max_examples=100)
@given(frame=frames())
def test_any_table_comes_back_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory, name: str, frame: pd.DataFrame
) -> None:
    path = tmp_path_factory.getbasetemp() / name
    write_frame(frame, path)
    pd.testing.assert_frame_equal(read_frame(str(path)), frame, check_exact=True)


def test_decimal_commas(tmp_path: Path) -> None:
    """As spreadsheets write them where the comma is the decimal sign;
    the delimiter is then another.
    """
    frame = pd.DataFrame(
        {
            "dose": [0.5, 1.25, 1000.0, None],
            "weight": [70, 65, 80, 81],
            "name": ["a,b", "c", "d", "e"],
        }
    )
    for delimiter in (";", "\t"):
        frame.to_csv(tmp_path / "t.csv", index=False, sep=delimiter, decimal=",")
        pd.testing.assert_frame_equal(read_frame(str(tmp_path / "t.csv")), frame, check_dtype=False)
    # Commas that may mark thousands are not guessed at, and numbers with points are read as ever.
    for cells in (["1,234", "12,500", "999"], ["0,5", "x", "1,5"]):
        pd.DataFrame({"x": cells, "y": [1.5, 2.5, 3.5]}).to_csv(
            tmp_path / "t.csv", index=False, sep=";"
        )
        assert read_frame(str(tmp_path / "t.csv"))["x"].tolist() == cells
        assert read_frame(str(tmp_path / "t.csv"))["y"].tolist() == [1.5, 2.5, 3.5]


def test_decimal_commas_beside_marks_of_missing_cells(tmp_path: Path) -> None:
    """A table is the same with commas as with points:
    a mark of missing cells keeps no numbers from being read.
    """
    dose = [f"{value:.2f}" for value in np.arange(30) / 4]
    points = pd.DataFrame(
        {"dose": [*dose, "?"], "ldl": [*dose, "-99.9"], "name": ["a,b", *["c"] * 30]}
    )
    commas = points.assign(**{name: points[name].str.replace(".", ",") for name in ("dose", "ldl")})
    # also where no column holds numbers alone
    for names in (["dose", "ldl", "name"], ["dose", "name"]):
        tables = []
        for frame, far in ((points, "-99.9"), (commas, "-99,9")):
            frame[names].to_csv(tmp_path / "t.csv", index=False, sep=";")
            found = without_mark(read_frame(str(tmp_path / "t.csv")), "?", names)
            tables.append(without_mark(found, far, names))
        pd.testing.assert_frame_equal(*tables, check_exact=True)
        assert tables[0].isna().sum().tolist() == [1] * (len(names) - 1) + [0]
    # Where another column has points, commas beside a mark are no decimals.
    pd.DataFrame({"x": ["0,5", "?", "1,5"], "y": [1.5, 2.5, 3.5]}).to_csv(
        tmp_path / "t.csv", index=False, sep=";"
    )
    found = read_frame(str(tmp_path / "t.csv"))
    assert found["x"].tolist() == ["0,5", "?", "1,5"]
    assert found["y"].tolist() == [1.5, 2.5, 3.5]


def test_marks_become_missing_cells() -> None:
    frame = pd.DataFrame(
        {
            "n": [1.0, -999.0, 3.0],
            "k": [1, 2, -999],
            "t": ["a", " ? ", "-999"],
            "b": [True, False, True],
            "s": ["1", "-999.0", "2"],
            "c": pd.Categorical(["a", "?", "b"]),
        }
    )
    before = frame.copy()
    found = without_mark(frame, "-999", [*frame.columns])
    assert found.isna().sum().to_dict() == {"n": 1, "k": 1, "t": 1, "b": 0, "s": 0, "c": 0}
    found = without_mark(found, "?", [*frame.columns])
    assert found.isna().sum().to_dict() == {"n": 1, "k": 1, "t": 2, "b": 0, "s": 0, "c": 1}
    assert found["c"].cat.categories.tolist() == ["a", "b"]
    assert without_mark(frame, "-999.0", ["s"])["s"].tolist()[::2] == [1, 2]  # numbers again
    assert without_mark(frame, "1", ["b"]).equals(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_text_of_spreadsheets_in_utf_16(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes("größe\tb\n1\t2\n".encode("utf-16"))
    assert read_frame(str(tmp_path / "t.txt")).to_dict("list") == {"größe": [1], "b": [2]}


def test_empty_columns_without_names_are_left_out(tmp_path: Path) -> None:
    """Spreadsheets write them where somebody once had typed; the first may be that of row names."""
    (tmp_path / "t.csv").write_text(",a,,b,\nr,1,,2,\ns,3,,4,\n")
    expected = pd.DataFrame({"a": [1, 3], "b": [2, 4]}, index=["r", "s"])
    pd.testing.assert_frame_equal(read_frame(str(tmp_path / "t.csv")), expected)


def test_a_first_column_that_pandas_has_named_holds_row_names(tmp_path: Path) -> None:
    """It is what becomes of row names when a file is read and written again;
    no row number is a feature.
    """
    (tmp_path / "t.csv").write_text("Unnamed: 0,a,b\n7,1,2\n3,3,4\n4,5,6\n")
    frame = read_frame(str(tmp_path / "t.csv"))
    pd.testing.assert_frame_equal(
        frame, pd.DataFrame({"a": [1, 3, 5], "b": [2, 4, 6]}, index=[7, 3, 4]), check_names=False
    )
    write_frame(frame, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "t.csv").read_text()


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [("xlsx", "a spreadsheet program"), ("dta", "Stata"), ("RDS", "R"), ("sav", "SPSS")],
)
def test_files_of_other_programs_are_named(tmp_path: Path, suffix: str, kind: str) -> None:
    (tmp_path / f"t.{suffix}").write_bytes(b"PK\x03\x04")
    with pytest.raises(TableFileError, match=rf"is a file of {kind}\. Save the table as CSV"):
        read_frame(str(tmp_path / f"t.{suffix}"))


def test_numbers_instead_of_names_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0.5,1.5,7\n1,2,3\n")
    with pytest.warns(
        KnockoffWarning, match=r"has numbers in its first line.*Add a line of names above it"
    ):
        read_frame(str(tmp_path / "t.csv"))
    for names in ("0,1,2", "3,1,2", "400.5,401,y"):
        (tmp_path / "t.csv").write_text(f"{names}\n1,2,3\n")
        assert read_frame(str(tmp_path / "t.csv")).columns.tolist() == names.split(",")


def test_codes_with_leading_zeros_stay_text(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "zip": ["035", "401", None, "401"],
            "month": ["01", "12", "07", "12"],
            "share": [0.5, 0.25, 0.0, 1.0],
            "count": [0, 10, 7, 100],
            "": [None] * 4,
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    found = read_frame(str(tmp_path / "t.csv"))
    assert found["zip"].tolist()[::3] == ["035", "401"]
    assert found["zip"].isna().tolist() == [False, False, True, False]
    assert found["month"].tolist() == [1, 12, 7, 12]  # a quantity
    assert [found[name].dtype.kind for name in ("share", "count")] == ["f", "i"]
    write_frame(found, tmp_path / "again.csv")
    pd.testing.assert_frame_equal(read_frame(str(tmp_path / "again.csv")), found)
    as_target = read_frame(str(tmp_path / "t.csv"), numbers=["zip"])["zip"]
    assert as_target.dropna().tolist() == [35, 401, 401]
    assert without_mark(found, "401", ["zip"])["zip"].dropna().tolist() == ["035"]
    assert without_mark(found, "401", ["zip"], numbers=["zip"])["zip"].dropna().tolist() == [35]


def test_padded_numbers_and_other_lengths_are_numbers(read: Read) -> None:
    lines = "".join(f"{k:03},{'05' if k % 2 else '7'},{k}.0\n" for k in range(60))
    found = read(f"padded,lengths,x\n{lines}".encode())
    assert found.dtypes.map(lambda dtype: dtype.kind).tolist() == ["i", "i", "f"]
    assert found["padded"].tolist() == list(range(60))  # too many different ones for categories


# lines and rows

ROWS = [f"{j},red,{2 * j}" for j in range(200)]


def with_lines(changed: dict[int, str], end: str = "\n") -> bytes:
    """A table of 200 rows, some of them written in another way; line 2 is that of row 0."""
    rows = [changed.get(j, row) for j, row in enumerate(ROWS)]
    return (end.join(["id,colour,n", *rows]) + end).encode()


@pytest.mark.parametrize(
    "stray",
    [{9: '9,"red,18', 49: '49,"blue,98'}, {9: '"9,red,18', 49: '"49,blue,98'}],
    ids=["within", "first"],
)
def test_quotes_that_do_not_parse_are_refused_with_their_lines(
    read: Read, stray: dict[int, str]
) -> None:
    """They would make one row of 40."""
    with pytest.raises(
        TableFileError, match=r"table: .*begin on line 11 and end on line 51.*Remove the stray"
    ):
        read(with_lines(stray))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_quotes_that_join_lines_are_told(read: Read, end: str) -> None:
    said = (
        r"200 lines below the names, but 160 rows: quotes join lines 11 to 51 to one row\. Remove"
    )
    with pytest.warns(KnockoffWarning, match=said):
        assert len(read(with_lines({9: '9,"red,18', 49: '49,blue",98'}, end))) == 160
    with pytest.warns(
        KnockoffWarning,
        match=r"202 lines .* 200 rows: quotes join lines 11 to 12 .*\(2 cells in all",
    ):
        frame = read(with_lines({9: f'9,"red{end}""or"" blue",18', 11: f'11,"{end}",5'}, end))
    assert frame["colour"][9] == f'red{end}"or" blue'


@pytest.mark.parametrize(
    "row",
    ['9,"red, or ""blue""",18', '9,5" or 6",18', '9, "red",18', '9,"red" ,18', '"9","","18"'],
    ids=str,
)
@pytest.mark.filterwarnings("error")
def test_quotes_within_a_line_are_no_news(read: Read, row: str) -> None:
    assert len(read(with_lines({9: row, 199: row}))) == 200
    assert len(read(with_lines({9: row, 199: row})[:-1])) == 200


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["199,red", '199,"red, blue"', '199,"red\r\nblue"', "199"])
def test_a_file_that_is_cut_off_within_a_line_is_refused(
    read: Read, compress: Callable[[bytes], bytes], end: str, last: str
) -> None:
    cells, line = len(next(csv.reader([last]))), 201 + ("\r\n" in last)
    whole = with_lines({199: last}, end)
    with pytest.raises(
        TableFileError, match=rf"table ends within line {line}, which has {cells} of 3 cells"
    ):
        read(compress(whole.removesuffix(end.encode())))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_last_line_needs_no_end(read: Read, end: str) -> None:
    whole = with_lines({}, end)
    pd.testing.assert_frame_equal(read(whole.removesuffix(end.encode())), read(whole))
    # a name is empty, as its cells are
    assert read(b"a,b,\n1,2,\n3,4").to_numpy().tolist() == [[1, 2], [3, 4]]


# identifiers

IDENTIFIERS = 123_456_789_012_345_600 + np.arange(50)


def test_long_identifiers_beside_gaps_are_exact(read: Read) -> None:
    """Floats, which pandas makes of whole numbers beside gaps, hold 16 digits."""
    cells = [*map(str, IDENTIFIERS), ""]
    for mark, delimiter in (("", ","), ("NA", ";"), ("?", "\t")):
        lines = [delimiter.join((cell or mark, "1.5")) for cell in cells]
        frame = without_mark(
            read("\n".join([f"id{delimiter}x", *lines, ""]).encode()), "?", ["id", "x"]
        )
        assert frame["id"].tolist()[:-1] == IDENTIFIERS.tolist()
        assert frame["id"].isna().tolist() == [False] * 50 + [True]
        with pytest.raises(ValueError, match=r"column 'id': holds whole numbers beyond 2\*\*53"):
            infer_schema(frame)
    table = pa.table({"id": pa.array([*IDENTIFIERS.tolist(), None]), "x": 1.5 * np.arange(51)})
    pq.write_table(table, buffer := io.BytesIO())
    assert read(buffer.getvalue())["id"].tolist()[:-1] == IDENTIFIERS.tolist()


def test_long_numbers_that_floats_hold_and_longer_ones(read: Read) -> None:
    found = read(f"a,b,c,d\n{2**60},1e300,{10**20},{2**53 + 1}\n,,,0.5\n".encode())
    assert found["a"].tolist()[0] == 2**60
    assert [found[name].dtype.kind for name in "abd"] == ["f", "f", "f"]  # quantities
    assert str(found["c"].tolist()[0]) == str(10**20)
    marked = without_mark(read(f"a,b\n{10**20 + 1},1\n?,2\n".encode()), "?", ["a"])
    assert marked["a"].tolist()[0] == str(10**20 + 1)
