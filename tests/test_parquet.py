"""Tables larger than memory: read in parts, drawn in parts, and the same as in one piece."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from knockoffs import GaussianKnockoffs, KnockoffWarning
from knockoffs.archives import TableFileError
from knockoffs.cli import main
from knockoffs.files import read_frame
from knockoffs.generators import base
from knockoffs.parquet import ParquetTable, write_batches

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
def test_batches_are_the_table_in_order(tmp_path_factory: pytest.TempPathFactory, rows, files, size):
    frame = table(rows)
    folder = folder_of(frame, tmp_path_factory.mktemp("table") / "folder", min(files, rows))
    batches = list(ParquetTable(folder).batches(size))
    pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), frame, check_categorical=False)
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
    """A row's knockoff depends on the row, its position and the seed, not on how the rows are read."""
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
    with pytest.warns(KnockoffWarning, match=r"has 500 rows, of which 50 are looked at, drawn at random"):
        some = read_frame(str(path), max_rows=50, random_state=3)
    assert len(some) == 50
    assert some.a.isin(read_frame(str(path)).a).all()
    assert len(read_frame(str(path), max_rows=500)) == 500  # all of them, so that there is nothing to say
    with pytest.warns(KnockoffWarning, match="has 500 rows, of which 50"):
        in_parts = read_frame(str(folder_of(frame, tmp_path / "folder", 2)), max_rows=50, random_state=3)
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
    with pytest.raises(TableFileError, match=r"broken\.parquet is not a complete Parquet file .*copy it again"):
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
