"""Bad input: every message names the column or parameter, and the remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import save_file
from sklearn.exceptions import NotFittedError

from knockoffs import DDLK, GaussianKnockoffs, KnockoffWarning
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.runtime.model_files import FORMAT, VERSION, ModelFileError, write_model

from .tiny import TINY

Make = Callable[..., DDLK]
X = AutoregressiveGaussian(features=4).sample(120, random_state=0)
X.flags.writeable = False
FRAME = pd.DataFrame(X, columns=list("abcd"))


@pytest.fixture(scope="module")
def fitted(fast_ddlk: Make) -> DDLK:
    return fast_ddlk().fit(FRAME)


def with_cell(value: float, row: int = 5) -> pd.DataFrame:
    table = FRAME.copy()
    table.loc[row, "c"] = value
    return table


def with_column(values: Any, name: str = "c") -> pd.DataFrame:
    return FRAME.assign(**{name: values})


BAD_TABLES = {
    "free text": (
        with_column([f"note {i}" for i in range(120)]),
        r"DDLK: .*column 'c': 120 different texts",
    ),
    "date": (
        with_column(pd.date_range("2020", periods=120)),
        r"column 'c': has type datetime.*days since a date",
    ),
    "+inf": (with_cell(np.inf), r"column 'c' \(1\): infinite values\. Replace them"),
    "-inf": (with_cell(-np.inf), r"column 'c' \(1\): infinite values\. Replace them"),
    "text and numbers": (
        with_column(["x", 2.0] * 60),
        r"column 'c': holds cells of several types \(float, str\)",
    ),
}


@pytest.mark.parametrize(("table", "said"), BAD_TABLES.values(), ids=BAD_TABLES.keys())
def test_bad_cells_are_named_in_fitting_and_in_sampling(
    fast_ddlk: Make, fitted: DDLK, table: pd.DataFrame, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        fast_ddlk().fit(table)
    with pytest.raises(ValueError, match=said):
        fitted.sample(table)


def test_infinite_cells_are_counted_column_by_column(fast_ddlk: Make) -> None:
    table = FRAME.copy()
    table.loc[:2, "a"] = np.inf
    table.loc[7, "d"] = -np.inf
    with pytest.raises(ValueError, match=r"column 'a' \(3\), column 'd' \(1\): infinite"):
        fast_ddlk().fit(table)


TOO_SMALL = {
    "9 rows": (X[:9], r"X has 9 rows \(n_samples=9\); at least 10 are needed.*Collect more rows"),
    "no rows": (X[:0], r"X has 0 rows \(n_samples=0\); at least 10"),
    "nothing": (pd.DataFrame(), r"X has 0 rows \(n_samples=0\); at least 10"),
    "one column": (
        X[:, :1],
        r"1 column \(n_features=1\).*at least 2 are needed\. Add the other features",
    ),
    "no columns": (X[:, :0], r"0 columns.*at least 2 are needed"),
    "one dimension": (X[:, 0], r"Expected 2D array, got 1D array"),
    "three dimensions": (X[None], r"dim 3.*dim <= 2"),
    "series": (FRAME["a"], r"2-dimensional.*Pass a DataFrame"),
}


@pytest.mark.parametrize(("table", "said"), TOO_SMALL.values(), ids=TOO_SMALL.keys())
def test_tables_without_enough_in_them(fast_ddlk: Make, table: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fast_ddlk().fit(table)


@pytest.mark.parametrize("shape", [(10, 2), (10, 40), (11, 5)], ids=str)
def test_the_least_that_is_allowed_is_enough_and_warned_of(
    fast_ddlk: Make, shape: tuple[int, int]
) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    with pytest.warns(KnockoffWarning, match=f"only {shape[0]} rows"):
        drawn = fast_ddlk().fit(x).sample(x)
    assert np.isfinite(drawn).all()
    assert (drawn != x).all()


def test_a_constant_column_is_warned_of_and_kept(fast_ddlk: Make) -> None:
    table = with_column(3.5)
    with pytest.warns(KnockoffWarning, match=r"column 'c': constant.*never selected"):
        generator = fast_ddlk().fit(table)
    drawn = generator.sample(table)
    assert (drawn["c"] == 3.5).all()
    assert (drawn[["a", "b", "d"]] != table[["a", "b", "d"]]).to_numpy().all()


def test_duplicate_columns_are_warned_of_and_copied(fast_ddlk: Make) -> None:
    table = with_column(X[:, 0])
    with pytest.warns(
        KnockoffWarning, match=r"column 'c' \(same as column 'a'\): duplicates.*Keep one of each"
    ):
        generator = fast_ddlk().fit(table)
    drawn = generator.sample(table)
    pd.testing.assert_frame_equal(drawn[["a", "c"]], table[["a", "c"]])
    assert (drawn[["b", "d"]] != table[["b", "d"]]).to_numpy().all()


def test_only_constant_columns(fast_ddlk: Make) -> None:
    said = r"4 columns.*of which 0 vary and differ; at least 2 are needed"
    with pytest.warns(KnockoffWarning, match="constant"), pytest.raises(ValueError, match=said):
        fast_ddlk().fit(np.ones((50, 4)))


def test_only_copies_of_one_column(fast_ddlk: Make) -> None:
    said = r"3 columns.*of which 1 varies and differs; at least 2 are needed"
    with pytest.warns(KnockoffWarning, match="duplicates"), pytest.raises(ValueError, match=said):
        fast_ddlk().fit(X[:, [0, 0, 0]])


@pytest.mark.parametrize("value", [1e30, -1e30])
def test_one_absurd_value_is_named(fast_ddlk: Make, value: float) -> None:
    said = rf"column 'c' has a value {re.escape(f'{value:g}')}, while nine tenths.*clip that value"
    with pytest.raises(ValueError, match=said):
        fast_ddlk().fit(with_cell(value))


def test_one_large_value_is_borne(fast_ddlk: Make) -> None:
    drawn = fast_ddlk().fit(with_cell(1e4)).sample(FRAME)
    assert np.isfinite(drawn.to_numpy()).all()
    assert drawn.drop(columns="c").corrwith(FRAME).drop("c").min() > 0


def test_a_column_that_is_large_throughout_is_as_good_as_any(fast_ddlk: Make) -> None:
    table = with_column(X[:, 2] * 2.0**100)
    drawn, usual = (fast_ddlk().fit(t).sample(t)["c"] for t in (table, FRAME))
    np.testing.assert_allclose(drawn / 2.0**100, usual, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e300, 1e-300])
@pytest.mark.parametrize("kind", TINY)
def test_columns_whose_squares_are_no_numbers_are_named(kind: str, unit: float) -> None:
    said = (
        r"column 'b' \(-\S+ to \S+\), column 'c' \(.*\): the squares of such numbers.* Take a "
        r"unit in which"
    )
    with pytest.raises(ValueError, match=said):
        TINY[kind]().fit(
            with_column(FRAME["c"].mask(FRAME["a"] > 1) * unit).assign(b=FRAME["b"] * unit)
        )


def test_columns_with_few_values_are_named_in_a_warning_where_they_must_keep_their_units() -> None:
    table = with_column(X[:, 2]).assign(d=X[:, 3] > 0)
    with pytest.warns(
        KnockoffWarning, match=r"column 'd': fewer than 10 distinct values.*too little"
    ):
        GaussianKnockoffs(covariance=np.cov(table.to_numpy(dtype=float).T)).fit(table)
    GaussianKnockoffs().fit(table)  # modelled by latents, so there is nothing to warn of


@pytest.mark.filterwarnings("ignore:.*distinct values:knockoffs.KnockoffWarning")
def test_whole_numbers_and_booleans_are_welcome(fast_ddlk: Make) -> None:
    table = with_column(np.rint(3 * X[:, 2]).astype(np.int64)).assign(d=X[:, 3] > 0)
    drawn = fast_ddlk().fit(table).sample(table)
    assert drawn.dtypes.tolist() == table.dtypes.tolist()
    assert set(drawn["c"]) <= set(table["c"])


def test_object_arrays_of_numbers_are_numbers(fast_ddlk: Make) -> None:
    expected = fast_ddlk().fit(X).sample(X)
    table = X.astype(object)
    np.testing.assert_array_equal(fast_ddlk().fit(table).sample(table), expected)


def test_object_arrays_with_text_are_refused_with_the_place(fast_ddlk: Make) -> None:
    table = X.astype(object)
    table[3, 2] = "x"
    with pytest.raises(ValueError, match=r"DDLK.*column 'x2'"):
        fast_ddlk().fit(table)


@pytest.mark.parametrize("dtype", ["datetime64[s]", "timedelta64[s]"])
def test_arrays_of_dates_are_refused(fast_ddlk: Make, dtype: str) -> None:
    with pytest.raises(ValueError, match=r"DDLK.*(only numbers|numeric)"):
        fast_ddlk().fit((X * 1e6).astype(dtype))


WRONG_COLUMNS = {
    "unseen": (FRAME.assign(e=1.0), r"Feature names unseen at fit time:\n- e"),
    "missing": (FRAME[list("abd")], r"Feature names seen at fit time, yet now missing:\n- c"),
    "renamed": (
        FRAME.rename(columns={"c": "z"}),
        r"unseen at fit time:\n- z(.|\n)*now missing:\n- c",
    ),
    "reordered": (FRAME[list("bacd")], r"must be in the same order as they were in fit"),
}


@pytest.mark.parametrize(("table", "said"), WRONG_COLUMNS.values(), ids=WRONG_COLUMNS.keys())
def test_other_columns_than_in_the_fit(fitted: DDLK, table: pd.DataFrame, said: str) -> None:
    for method in (
        fitted.sample,
        fitted.joint_log_prob,
        fitted.swap_divergence,
        lambda t: fitted.log_prob(t, FRAME),
    ):
        with pytest.raises(ValueError, match=said):
            method(table)


@pytest.mark.parametrize("columns", [3, 5])
def test_other_number_of_columns_than_in_the_fit(fast_ddlk: Make, columns: int) -> None:
    generator = fast_ddlk().fit(X)
    with pytest.raises(
        ValueError, match=rf"X has {columns} features, but DDLK is expecting 4 features"
    ):
        generator.sample(np.ones((50, columns)))


def test_log_prob_wants_as_many_knockoffs_as_rows(fitted: DDLK) -> None:
    with pytest.raises(ValueError, match=r"X_tilde.*119.*120|120.*X_tilde.*119"):
        fitted.log_prob(FRAME, FRAME[:-1])


@pytest.mark.parametrize("n_draws", [0, -1, 1.5])
def test_the_number_of_draws(fitted: DDLK, n_draws: Any) -> None:
    with pytest.raises(
        ValueError, match=r"n_draws=.* is not valid: pass a whole number of at least 1"
    ):
        fitted.sample(FRAME, n_draws=n_draws)


@pytest.mark.parametrize("random_state", [-1, "a", 1.5])
def test_the_seed(fast_ddlk: Make, fitted: DDLK, random_state: Any) -> None:
    said = r"random_state=.* is not valid: pass a non-negative integer"
    with pytest.raises(ValueError, match=said):
        fast_ddlk(random_state=random_state).fit(FRAME)
    with pytest.raises(ValueError, match=said):
        fitted.sample(FRAME, random_state=random_state)


def test_an_unknown_device(fast_ddlk: Make) -> None:
    with pytest.raises(ValueError, match=r"device='tpu' is not valid: pass 'auto', 'cpu', 'cuda'"):
        fast_ddlk(device="tpu").fit(FRAME)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_a_device_that_is_not_there(fast_ddlk: Make) -> None:
    with pytest.raises(
        ValueError, match=r"device='cuda', but this machine has no CUDA.*Pass device='cpu'"
    ):
        fast_ddlk(device="cuda").fit(FRAME)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("start", "liner"),
        ("scale", "log"),
        ("swaps", "gumble"),
        ("components", 0),
        ("hidden", ()),
        ("batch_size", 0),
        ("joint_epochs", -1),
        ("validation_fraction", 0.0),
        ("validation_fraction", 1.0),
        ("joint_learning_rate", -1.0),
    ],
)
def test_settings_that_make_no_sense_are_named(fast_ddlk: Make, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name}="):
        fast_ddlk(**{name: value}).fit(FRAME)


@pytest.fixture
def saved(fitted: DDLK, tmp_path: Path) -> Path:
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_model_file(saved: Path, share: float) -> None:
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(
        ModelFileError, match=r"model'.*not a complete knockoffs model file.*save the model again"
    ):
        DDLK.load(saved)


def test_a_model_file_of_another_program(tmp_path: Path) -> None:
    save_file({"w": np.ones(3)}, tmp_path / "foreign")
    with pytest.raises(ModelFileError, match=r"foreign'.*of another program, not of knockoffs"):
        DDLK.load(tmp_path / "foreign")


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "table.csv")
    with pytest.raises(ModelFileError, match=r"table\.csv'.*not a complete knockoffs model file"):
        DDLK.load(tmp_path / "table.csv")


@pytest.mark.parametrize("name", ["nothing", "."], ids=["missing", "folder"])
def test_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        ModelFileError, match=r"is not a file\. Pass the path that \.save\(\) wrote"
    ):
        DDLK.load(tmp_path / name)


def test_a_model_file_of_another_version(tmp_path: Path) -> None:
    metadata = {"format": FORMAT, "version": str(VERSION + 1), "kind": "DDLK", "header": "{}"}
    save_file({"w": np.ones(3)}, tmp_path / "newer", metadata=metadata)
    with pytest.raises(
        ModelFileError, match=rf"format version {VERSION + 1}.*Install the knockoffs that wrote"
    ):
        DDLK.load(tmp_path / "newer")


def test_a_model_file_of_another_generator(tmp_path: Path) -> None:
    write_model(tmp_path / "other", "OtherKnockoffs", {}, {"w": np.ones(3)})
    with pytest.raises(
        ModelFileError, match=r"holds a OtherKnockoffs model, not DDLK: use OtherKnockoffs\.load"
    ):
        DDLK.load(tmp_path / "other")


def test_a_model_file_with_parts_missing(tmp_path: Path) -> None:
    write_model(tmp_path / "hollow", "DDLK", {}, {"w": np.ones(3)})
    with pytest.raises(ModelFileError, match="hollow"):
        DDLK.load(tmp_path / "hollow")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_a_model_saved_on_a_machine_with_cuda_loads_on_one_without(
    fast_ddlk: Make, fitted: DDLK, tmp_path: Path
) -> None:
    generator = fast_ddlk().fit(FRAME).set_params(device="cuda")
    generator.save(tmp_path / "model")
    pd.testing.assert_frame_equal(DDLK.load(tmp_path / "model").sample(FRAME), fitted.sample(FRAME))


def test_saving_into_a_missing_folder_leaves_nothing(fitted: DDLK, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        fitted.save(tmp_path / "nowhere" / "model")
    assert list(tmp_path.iterdir()) == []


# -- discrete columns that are not whole numbers
# --------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*distinct values:knockoffs.KnockoffWarning")
@pytest.mark.parametrize(
    "column",
    [
        pytest.param(np.where(X[:, 2] > 0, 0.7, -1.3), id="standardised yes/no"),
        pytest.param(np.round(37 + X[:, 2], 1), id="one decimal"),
    ],
)
def test_knockoffs_of_tied_columns_are_values_seen(fast_ddlk: Make, column: np.ndarray) -> None:
    table = with_column(column)
    drawn = fast_ddlk().fit(table).sample(table)
    assert set(drawn.iloc[:, 2]) <= set(table.iloc[:, 2])


def test_zeros_among_continuous_values_are_a_value_of_their_own(fast_ddlk: Make) -> None:
    table = with_column(np.maximum(X[:, 2], 0))
    column, drawn = (t.iloc[:, 2].to_numpy() for t in (table, fast_ddlk().fit(table).sample(table)))
    share = np.mean(column == 0)
    assert np.mean(drawn == 0) == pytest.approx(
        share, abs=4 * np.sqrt(share * (1 - share) / len(column))
    )
    assert drawn.min() == 0
    # other values are not drawn from those seen alone
    assert np.isin(drawn[drawn > 0], column).mean() < 0.5


def test_reordered_columns_with_numbers_for_names(fast_ddlk: Make) -> None:
    table = pd.DataFrame(X)
    model = fast_ddlk().fit(table)
    with pytest.raises(ValueError, match="not those of the fit, in their order"):
        model.sample(table[table.columns[::-1]])


def test_a_failed_second_fit_leaves_no_half_fitted_model(fast_ddlk: Make) -> None:
    model = fast_ddlk().fit(FRAME)
    with pytest.raises(ValueError, match="infinite values"):
        model.fit(FRAME.mask(FRAME > 2, np.inf))
    with pytest.raises(NotFittedError):
        model.sample(FRAME)


def test_too_large_a_share_of_held_out_rows_is_named(fast_ddlk: Make) -> None:
    with pytest.raises(ValueError, match=r"validation_fraction=0.95 leaves .* rows for training"):
        fast_ddlk(validation_fraction=0.95).fit(FRAME)


def test_numbers_that_do_not_fit_the_sampled_tables_type_are_not_cut(fast_ddlk: Make) -> None:
    model = fast_ddlk().fit(X)
    assert model.sample(np.rint(X).astype(np.int64)).dtype == np.float64


def test_a_misspelt_setting_at_loading(fitted: DDLK, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"entropi.* is not valid"):
        DDLK.load(tmp_path / "model", entropi=1)
