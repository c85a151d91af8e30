"""Tables larger than memory: read in parts, drawn in parts, and the same as in one piece."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st

from knockoffs import GaussianKnockoffs, KnockoffWarning
from knockoffs.cli import main
from knockoffs.generators import base
from knockoffs.table.file_formats import TableFileError
from knockoffs.table.files import read_frame
from knockoffs.table.parquet import ParquetTable, write_batches

COLUMNS = ["a", "b", "c"]


def table(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=COLUMNS)
    return frame.assign(c=pd.Categorical(rng.choice(["x", "y"], rows)), b=frame.a + frame.b)


def folder_of(frame: pd.DataFrame, folder: Path, files: int) -> Path:
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), files)):
        frame.iloc[rows].to_parquet(folder / f"part-{number:03}.parquet", index=False)
    return folder


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(rows=st.integers(1, 60), files=st.integers(1, 5), size=st.integers(1, 70))
def test_batches_are_the_table_in_order(
    tmp_path_factory: pytest.TempPathFactory, rows, files, size
):
    frame = table(rows)
    folder = folder_of(frame, tmp_path_factory.mktemp("table") / "folder", min(files, rows))
    batches = list(ParquetTable(folder).batches(size))
    pd.testing.assert_frame_equal(
        pd.concat(batches, ignore_index=True), frame, check_categorical=False
    )
    assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)


def test_rows_are_drawn_at_random_without_repeats_and_in_order(tmp_path):
    frame = table(1000)
    source = ParquetTable(folder_of(frame, tmp_path / "folder", 7))
    drawn = source.read(100, random_state=0)
    places = frame.reset_index().merge(drawn, on=["a"])["index"].to_numpy()
    assert len(drawn) == 100
    assert (np.diff(places) > 0).all()
    assert places.mean() == pytest.approx(500, abs=4 * 1000 / np.sqrt(12 * 100))
    pd.testing.assert_frame_equal(drawn, source.read(100, random_state=0))
    assert not drawn.a.equals(source.read(100, random_state=1).a)
    assert len(source.read()) == len(source.read(5000)) == 1000


def test_knockoffs_in_parts_are_those_of_the_table(tmp_path, monkeypatch):
    """A row's knockoff depends on the row, its position and the seed,
    not on how the rows are read.
    """
    monkeypatch.setattr(base, "ROWS_AT_A_TIME", 64)
    frame = table(300)
    model = GaussianKnockoffs(random_state=0).fit(frame)
    whole = model.sample(frame)
    source = ParquetTable(folder_of(frame, tmp_path / "folder", 4))
    rows = write_batches(model.sample_batches(source.batches(64)), tmp_path / "knockoffs.parquet")
    written = pd.read_parquet(tmp_path / "knockoffs.parquet")
    assert rows == 300
    pd.testing.assert_frame_equal(written, whole, check_categorical=False)
    pd.testing.assert_frame_equal(model.sample(frame.head(100)), whole.head(100))
    # Rows that are alike but stand in different parts have different knockoffs.
    twice = model.sample(pd.concat([frame.head(64)] * 2, ignore_index=True))
    assert (twice.a[:64].to_numpy() != twice.a[64:].to_numpy()).all()


def test_the_command_line_streams_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "ROWS_AT_A_TIME", 64)
    frame = table(300)
    folder, out = folder_of(frame, tmp_path / "folder", 3), tmp_path / "knockoffs.parquet"
    arguments = ["sample", str(folder), "--generator", "gaussian", "--out", str(out), "--quiet"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    expected = GaussianKnockoffs(random_state=0).fit(frame).sample(frame)
    pd.testing.assert_frame_equal(pd.read_parquet(out), expected, check_categorical=False)
    assert pq.ParquetFile(out).num_row_groups == 5
    assert CliRunner().invoke(main, [*arguments, "--max-rows", "100"]).exit_code == 0
    assert len(pd.read_parquet(out)) == 300
    refused = CliRunner().invoke(main, [*arguments[:-3], "--out", "knockoffs.csv"])
    assert refused.exit_code != 0
    assert ".parquet" in refused.output


def test_a_table_with_many_rows_is_drawn_from(tmp_path):
    frame = table(500)
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    with pytest.warns(
        KnockoffWarning, match=r"has 500 rows, of which 50 are looked at, drawn at random"
    ):
        some = read_frame(str(path), max_rows=50, random_state=3)
    assert len(some) == 50
    assert some.a.isin(read_frame(str(path)).a).all()
    # all of them, so that there is nothing to say
    assert len(read_frame(str(path), max_rows=500)) == 500
    with pytest.warns(KnockoffWarning, match="has 500 rows, of which 50"):
        in_parts = read_frame(
            str(folder_of(frame, tmp_path / "folder", 2)), max_rows=50, random_state=3
        )
    assert in_parts.a.tolist() == some.a.tolist()


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "knockoffs.parquet"
    write_batches([table(10)], path)
    before = path.read_bytes()

    def broken():
        yield table(10, seed=1)
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="broke"):
        write_batches(broken(), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["knockoffs.parquet"]


def test_bad_folders_and_columns_are_named(tmp_path):
    with pytest.raises(TableFileError, match=r"is a folder without files that end in \.parquet"):
        ParquetTable(tmp_path)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(
        TableFileError, match=r"broken\.parquet is not a complete Parquet file .*copy it again"
    ):
        ParquetTable(tmp_path)
    folder = folder_of(table(10), tmp_path / "folder", 2)
    with pytest.raises(TableFileError, match=r"'d'.*a, b, c"):
        ParquetTable(folder, columns=["a", "d"])


def test_files_of_a_folder_have_the_same_columns(tmp_path: Path) -> None:
    """Columns that a file lacks would be read as missing cells."""
    pd.DataFrame({"a": [1.0], "b": [2.0]}).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({"b": [2.0], "a": [1.0]}).to_parquet(tmp_path / "2.parquet")
    assert ParquetTable(tmp_path).rows == 2  # in any order
    pd.DataFrame({"a": [1.0], "c": [2.0]}).to_parquet(tmp_path / "3.parquet")
    with pytest.raises(TableFileError, match=r"3\.parquet differs .*: 'b', 'c'\. Pass a folder"):
        ParquetTable(tmp_path)


# folders of other programs


def put(table: pa.Table | pd.DataFrame, *path: str | Path) -> None:
    place = Path(*path)
    place.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, place) if isinstance(table, pa.Table) else table.to_parquet(place)


def column(*parts: object, folder: Path) -> Path:
    """A folder of one file for each part of a column."""
    for number, cells in enumerate(parts):
        put(
            pa.table({"x": cells, "n": pa.nulls(len(cells), pa.int8())}),
            folder,
            f"{number}.parquet",
        )
    return folder


def test_hidden_and_unfinished_files_are_no_data(tmp_path: Path) -> None:
    put(pa.table({"x": [1, 2]}), tmp_path, "a", "1.parquet")
    for name in (
        "_temporary/0/1.parquet",
        ".ipynb_checkpoints/1.parquet",
        "a/_1.parquet",
        "a/.1.parquet",
    ):
        put(pa.table({"x": [3, 4]}), tmp_path, name)
    (tmp_path / "folder.parquet").mkdir()
    assert ParquetTable(tmp_path).read().x.tolist() == [1, 2]


def test_folders_with_a_value_are_columns(tmp_path: Path) -> None:
    """Also where the table is read in parts, and where folders above it have a value."""
    values = {"site": [3, 12], "ward": ["a b", None], "code": ["035", "401"], "dose": [0.5, 2.0]}
    places = [("3", "a%20b", "035", "0.5"), ("12", "__HIVE_DEFAULT_PARTITION__", "401", "2")]
    root = tmp_path / "year=2020" / "table"
    for number, place in enumerate(places):
        levels = [f"{name}={value}" for name, value in zip(values, place, strict=True)]
        put(pa.table({"x": [number, number + 10]}), root, *levels, "part.parquet")
    found = ParquetTable(root)
    assert found.columns == ["x", *values]
    frame = read_frame(str(root)).sort_values("x", ignore_index=True)
    assert frame.x.tolist() == [0, 1, 10, 11]
    for name, cells in values.items():
        assert frame[name].astype(object).where(frame[name].notna(), None).tolist() == cells * 2
    assert pd.concat(found.batches(3)).site.tolist() == found.read().site.tolist()
    assert ParquetTable(root, columns=["site"]).read().site.tolist() == found.read().site.tolist()
    put(pa.table({"x": [5]}), root, "site=3", "part.parquet")
    with pytest.raises(
        TableFileError, match=r"part\.parquet is not in folders of 'code', 'dose', 'ward'"
    ):
        ParquetTable(root)


def test_a_column_of_the_files_counts_more_than_a_folder_of_its_name(tmp_path: Path) -> None:
    put(pa.table({"x": [1.5], "site": ["three"]}), tmp_path, "site=3", "1.parquet")
    assert ParquetTable(tmp_path).read().to_dict("list") == {"x": [1.5], "site": ["three"]}


@pytest.mark.parametrize(
    ("first", "second", "types"),
    [
        ([True, False], [2, 3], "int64, but bool"),
        ([1, 2], ["a", "2"], "string, but int64"),
        ([0.5], [True], "bool, but double"),
    ],
)
def test_columns_of_different_types_are_refused_by_file_and_column(
    tmp_path: Path, first: list[object], second: list[object], types: str
) -> None:
    folder = column(pa.array(first), pa.array(second), folder=tmp_path)
    with pytest.raises(
        TableFileError, match=rf"1\.parquet: column 'x' has type {types} in files before it\. Write"
    ):
        ParquetTable(folder)


@pytest.mark.parametrize(
    "parts",
    [
        ([1, 2], [2.5, None]),
        ([None, None], [2.5, 1.5]),
        ([None, None], ["a", None]),
        ([None, None], [True, None]),
        (pa.array([1], pa.int8()), pa.array([2**40], pa.int64())),
        (pa.array(["a", "b"]).dictionary_encode(), ["b", "c"]),
        (pa.nulls(2), pa.array(["b", "c"]).dictionary_encode()),
        (pa.array(["c", "b"]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()),
    ],
    ids=[
        "whole, float",
        "empty, float",
        "empty, text",
        "empty, booleans",
        "int8, int64",
        "levels, text",
        "empty, levels",
        "levels, others",
    ],
)
def test_a_type_holds_the_cells_of_all_files(
    tmp_path: Path, parts: tuple[list[object], list[object]]
) -> None:
    """In either order of the files, and in parts."""
    for number, ordered in enumerate((parts, parts[::-1])):
        folder = column(*map(pa.array, ordered), folder=tmp_path / str(number))
        expected = [cell for part in ordered for cell in pa.array(part).to_pylist()]
        for frames in ([ParquetTable(folder).read()], ParquetTable(folder).batches(3)):
            cells = [
                cell
                for frame in frames
                for cell in frame.x.astype(object).where(frame.x.notna(), None)
            ]
            assert cells == expected


def test_types_of_pandas_give_way_where_files_differ(tmp_path: Path) -> None:
    put(
        pd.DataFrame({"x": pd.array([1, None], "Int32"), "y": pd.array([1, None], "Int32")}),
        tmp_path,
        "1.parquet",
    )
    put(pd.DataFrame({"x": [2.5, 3.0], "y": pd.array([5, None], "Int32")}), tmp_path, "2.parquet")
    found = ParquetTable(tmp_path).read()
    np.testing.assert_array_equal(found.x, [1, np.nan, 2.5, 3])
    assert found.y.dtype == "Int32"


def test_what_no_common_type_holds_is_refused_by_file_and_column(tmp_path: Path) -> None:
    folder = column(pa.array([0.5]), pa.array([2**60 + 1]), folder=tmp_path)
    for read in (ParquetTable(folder).read, lambda: list(ParquetTable(folder).batches(10))):
        with pytest.raises(
            TableFileError, match=r"1\.parquet: column 'x' cannot be read as double .*range"
        ):
            read()


def damaged(path: Path) -> None:
    """Change a byte of a page."""
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 6)), columns=list("abcdef"))
    content = pa.BufferOutputStream()
    options = {"write_page_checksum": True, "compression": "none", "use_dictionary": False}
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), content, **options)
    changed = bytearray(content.getvalue())
    changed[len(changed) // 3] ^= 0xFF
    path.write_bytes(changed)


def test_checksums_of_pages_are_verified(tmp_path: Path) -> None:
    folder = folder_of(table(10), tmp_path / "folder", 1)
    damaged(tmp_path / "file.parquet")
    with pytest.raises(
        TableFileError, match=r"file\.parquet: column 'c' cannot be read .*checksum.* copy"
    ):
        read_frame(str(tmp_path / "file.parquet"))
    (folder / "part-000.parquet").rename(folder / "0.parquet")
    table(10).assign(d=0.0, e=0.0, f=0.0, c=0.5).to_parquet(folder / "0.parquet")
    damaged(folder / "1.parquet")
    for read in (ParquetTable(folder).read, lambda: list(ParquetTable(folder).batches(500))):
        with pytest.raises(
            TableFileError, match=r"1\.parquet: column 'c' cannot be read .*checksum"
        ):
            read()


def test_row_names_of_a_folder_are_kept(tmp_path: Path) -> None:
    """Whether it is read as a whole, in parts or some rows of it, and in the knockoffs."""
    frame = table(60).set_axis([f"p{j}" for j in range(60)])
    (tmp_path / "folder").mkdir()
    for number in range(3):
        put(frame[number * 20 : number * 20 + 20], tmp_path, "folder", f"{number}.parquet")
    source = ParquetTable(tmp_path / "folder")
    assert source.columns == COLUMNS
    assert source.read().index.tolist() == [*frame.index]
    assert [name for part in source.batches(7) for name in part.index] == [*frame.index]
    some = source.read(10, random_state=0)
    pd.testing.assert_frame_equal(some, frame.loc[some.index], check_categorical=False)
    out = tmp_path / "knockoffs.parquet"
    arguments = [
        "sample",
        str(tmp_path / "folder"),
        "--generator",
        "gaussian",
        "--out",
        str(out),
        "--quiet",
    ]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    assert pd.read_parquet(out).index.tolist() == [*frame.index]


def test_numbers_of_rows_are_no_row_names(tmp_path: Path) -> None:
    """Pandas numbers the rows of each file anew."""
    folder = tmp_path / "folder"
    for number in range(2):
        put(table(4).set_axis(range(10, 14)), folder, f"{number}.parquet")
    assert ParquetTable(folder).read().index.tolist() == [*range(8)]
    assert [part.index.tolist() for part in ParquetTable(folder).batches(4)] == [[0, 1, 2, 3]] * 2


@pytest.mark.parametrize(
    "first", [pa.nulls(70), pa.nulls(70, pa.string())], ids=["no type", "no cells"]
)
def test_a_column_that_is_empty_at_first_is_written(
    tmp_path: Path, monkeypatch, first: pa.Array
) -> None:
    """Its type is known from the other files, before the first of its cells comes."""
    monkeypatch.setattr(base, "ROWS_AT_A_TIME", 64)
    rng = np.random.default_rng(0)
    for number, text in enumerate((first, pa.array(rng.choice(["f", "m"], 70)))):
        put(
            pa.table({"a": rng.normal(size=70), "b": rng.normal(size=70), "sex": text}),
            tmp_path,
            f"{number}.parquet",
        )
    out = tmp_path.parent / f"{tmp_path.name}-out.parquet"
    arguments = ["sample", str(tmp_path), "--generator", "gaussian", "--out", str(out), "--quiet"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert set(pd.read_parquet(out).sex.dropna()) == {"f", "m"}


def test_categories_may_come_later(tmp_path: Path) -> None:
    parts = [
        pd.DataFrame({"x": pd.Categorical([f"{j % most}" for j in range(300)])})
        for most in (2, 300)
    ]
    assert write_batches(parts, tmp_path / "x.parquet") == 600
    assert pd.read_parquet(tmp_path / "x.parquet").x.nunique() == 300


def test_types_that_change_are_refused_by_column(tmp_path: Path) -> None:
    parts = [pd.DataFrame({"a": [1.0], "x": [1]}), pd.DataFrame({"a": [1.0], "x": ["one"]})]
    with pytest.raises(
        ValueError, match=r"x\.parquet' cannot be written: the types of 'x' \((large_)?string\)"
    ):
        write_batches(parts, tmp_path / "x.parquet")
    assert not [*tmp_path.iterdir()]


def test_ordered_categories_keep_their_order(tmp_path: Path) -> None:
    """Pandas puts those that come in a later file behind all others."""
    orders = [["low", "high"], ["low", "mid", "high"], ["mid"]]
    for number, levels in enumerate(orders):
        put(
            pd.DataFrame({"x": pd.Categorical(levels, levels, ordered=True)}),
            tmp_path,
            f"{number}.parquet",
        )
    found = ParquetTable(tmp_path).read().x
    assert found.cat.ordered
    assert found.cat.categories.tolist() == ["low", "mid", "high"]
    assert found.tolist() == ["low", "high", "low", "mid", "high", "mid"]
    put(
        pd.DataFrame({"x": pd.Categorical(["low"], ["mid", "low"], ordered=True)}),
        tmp_path,
        "3.parquet",
    )
    with pytest.raises(
        TableFileError, match=r"column 'x' has the ordered categories 'mid', 'low' in one"
    ):
        ParquetTable(tmp_path).read()


def test_names_are_text_in_each_part(tmp_path: Path) -> None:
    put(pd.DataFrame({7: [1, 2], 8: [3, 4]}), tmp_path, "1.parquet")
    assert [frame.columns.tolist() for frame in ParquetTable(tmp_path).batches(1)] == [
        ["7", "8"]
    ] * 2
