"""What every generator promises. A new generator joins by one line in GENERATORS."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from knockoffs import (
    DDLK,
    AutoEncodingKnockoffs,
    DeepKnockoffs,
    GaussianKnockoffs,
    GaussianMixtureKnockoffs,
    HMMKnockoffs,
    KnockoffGAN,
    KnockoffWarning,
)
from knockoffs.generators.base import KnockoffGenerator
from knockoffs.runtime.randomness import random_generator

GENERATORS = [
    pytest.param(lambda: DDLK(hidden=(8,), joint_epochs=2, knockoff_epochs=1), id="DDLK"),
    pytest.param(GaussianKnockoffs, id="GaussianKnockoffs"),
    pytest.param(GaussianMixtureKnockoffs, id="GaussianMixtureKnockoffs"),
    pytest.param(lambda: DeepKnockoffs(hidden=(8,), epochs=3), id="DeepKnockoffs"),
    pytest.param(lambda: KnockoffGAN(hidden=8, epochs=40), id="KnockoffGAN"),
    pytest.param(
        lambda: AutoEncodingKnockoffs(latent=2, hidden=(8,), epochs=3, learning_rate=1e-2),
        id="AutoEncodingKnockoffs",
    ),
    pytest.param(lambda: HMMKnockoffs(states=2, iterations=5), id="HMMKnockoffs"),
]
WHOLE = ["visits", "smoker"]
CONTINUOUS = ["<b>", "weight in kg", "été"]

Make = Callable[..., KnockoffGenerator]

# The table of the contract has a yes/no column on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:.*distinct values:knockoffs.KnockoffWarning")


@pytest.fixture(scope="module", params=GENERATORS)
def make(request: pytest.FixtureRequest) -> Make:
    """Makes an unfitted generator with seed 0, or with the given parameters."""
    return lambda **params: request.param().set_params(**({"random_state": 0} | params))


@pytest.fixture
def values(mixed_frame: pd.DataFrame) -> np.ndarray:
    return mixed_frame.to_numpy(dtype=np.float64)


_FITTED: dict[type, KnockoffGenerator] = {}


@pytest.fixture
def fitted(make: Make, mixed_frame: pd.DataFrame) -> KnockoffGenerator:
    """Fitted once to the mixed frame; tests only draw from it."""
    kind = type(make())
    if kind not in _FITTED:
        _FITTED[kind] = make().fit(mixed_frame)
    return _FITTED[kind]


def numbers(table: pd.DataFrame) -> np.ndarray:
    return table.to_numpy(dtype=np.float64)


def assert_differ_everywhere(first: pd.DataFrame, second: pd.DataFrame) -> None:
    """Continuous columns differ in every row, save for a coincidence in single precision."""
    for name in CONTINUOUS:
        assert (first[name].to_numpy() != second[name].to_numpy()).mean() > 0.98


@pytest.mark.parametrize("rows", [1, 2, 37])
def test_a_rows_knockoff_does_not_depend_on_how_many_rows_follow(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame, rows: int
) -> None:
    whole, part = (numbers(fitted.sample(table)) for table in (mixed_frame, mixed_frame[:rows]))
    np.testing.assert_allclose(part, whole[:rows], rtol=1e-4, atol=1e-4)


def test_a_rows_knockoff_does_not_depend_on_what_the_other_rows_are(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame
) -> None:
    others = mixed_frame[37:].sample(frac=1, random_state=0)
    shuffled = pd.concat([mixed_frame[:37], others])
    before, after = (numbers(fitted.sample(table)) for table in (mixed_frame, shuffled))
    np.testing.assert_allclose(after[:37], before[:37], rtol=1e-4, atol=1e-4)
    assert not np.allclose(after[37:], before[37:])


def test_both_storeys_of_a_generator_draw_the_same(make: Make, values: np.ndarray) -> None:
    """The one on tables has nothing to add where columns are numbers that vary and differ."""
    z = values[:, :3] + np.random.default_rng(0).normal(size=(len(values), 3))
    above = make().fit(z).sample(z, random_state=4)
    below = make().fit_columns(z, names=["a", "b", "c"], units=None, random_state=0)
    np.testing.assert_array_equal(below.sample_columns(z, random_generator(4, stream=1)), above)
    with pytest.raises(NotFittedError):  # no table belongs to it
        below.sample(z)


def test_no_rows_in_no_rows_out(fitted: KnockoffGenerator, mixed_frame: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(fitted.sample(mixed_frame[:0]), mixed_frame[:0])


def test_the_same_seed_gives_the_same_bits(make: Make, mixed_frame: pd.DataFrame) -> None:
    first, second = (make(random_state=5).fit(mixed_frame).sample(mixed_frame) for _ in range(2))
    pd.testing.assert_frame_equal(first, second, check_exact=True)


def test_another_seed_gives_other_knockoffs(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame
) -> None:
    assert_differ_everywhere(*(fitted.sample(mixed_frame, random_state=seed) for seed in (1, 2)))


def test_sampling_falls_back_on_the_estimators_seed(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame
) -> None:
    own = fitted.sample(mixed_frame)
    pd.testing.assert_frame_equal(own, fitted.sample(mixed_frame, random_state=0))
    assert_differ_everywhere(own, fitted.sample(mixed_frame, random_state=1))


def test_a_random_generator_goes_on_from_call_to_call(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame
) -> None:
    def two_tables() -> list[pd.DataFrame]:
        rng = np.random.default_rng(8)
        return [fitted.sample(mixed_frame, random_state=rng) for _ in range(2)]

    first, second = two_tables()
    assert_differ_everywhere(first, second)
    for table, again in zip((first, second), two_tables(), strict=True):
        pd.testing.assert_frame_equal(table, again)


def test_draws_are_reproducible(fitted: KnockoffGenerator, mixed_frame: pd.DataFrame) -> None:
    draws, again = (fitted.sample(mixed_frame, n_draws=3, random_state=4) for _ in range(2))
    assert isinstance(draws, list)
    assert len(draws) == len(again) == 3
    for one, other in zip(draws, again, strict=True):
        pd.testing.assert_frame_equal(one, other)
    assert len(fitted.sample(mixed_frame, n_draws=1)) == 1


def test_draws_are_independent_given_the_rows(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame
) -> None:
    table = pd.concat([mixed_frame] * 25, ignore_index=True)
    draws = fitted.sample(table, n_draws=4, random_state=4)
    for name in CONTINUOUS[:2]:
        a, b, c, d = (draw[name].to_numpy(dtype=np.float64) for draw in draws)
        assert np.abs(a - b).min() > 0 or (a != b).mean() > 0.98
        # Whatever the law given x, differences of independent draws have mean 0 and are
        # uncorrelated.
        for first, second in ((a - b, c - d), (a - c, b - d), (a - d, b - c)):
            assert abs(np.corrcoef(first, second)[0, 1]) < 4.5 / np.sqrt(len(table))
        assert abs((a - b).mean()) < 4.5 * (a - b).std() / np.sqrt(len(table))


def test_rows_are_drawn_independently(fitted: KnockoffGenerator, mixed_frame: pd.DataFrame) -> None:
    """Equal rows get different knockoffs, and neighbours' are uncorrelated."""
    table = mixed_frame.iloc[np.zeros(4000, dtype=int)].reset_index(drop=True)
    drawn = fitted.sample(table, random_state=4)
    for name in CONTINUOUS[:2]:
        column = drawn[name].to_numpy(dtype=np.float64)
        assert len(np.unique(column)) > 0.9 * len(column)
        assert abs(np.corrcoef(column[:-1], column[1:])[0, 1]) < 4.5 / np.sqrt(len(column))


def test_the_callers_table_is_left_alone(
    make: Make, mixed_frame: pd.DataFrame, values: np.ndarray
) -> None:
    kept_frame, kept_values = mixed_frame.copy(deep=True), values.copy()
    make().fit(mixed_frame).sample(mixed_frame)
    make().fit(values).sample(values)
    pd.testing.assert_frame_equal(mixed_frame, kept_frame)
    np.testing.assert_array_equal(values, kept_values)


def test_tables_that_may_not_be_written_to_can_be_used(make: Make, values: np.ndarray) -> None:
    """As joblib hands them to its workers."""
    expected = make().fit(values).sample(values)
    frozen = np.asfortranarray(values)
    frozen.flags.writeable = False
    np.testing.assert_array_equal(make().fit(frozen).sample(frozen), expected)


def test_what_is_given_out_is_the_callers_to_change(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame
) -> None:
    first = fitted.sample(mixed_frame)
    kept = first.copy(deep=True)
    first.loc[:, "<b>"] = -99.0
    pd.testing.assert_frame_equal(fitted.sample(mixed_frame), kept)


def test_y_is_ignored(make: Make, fitted: KnockoffGenerator, mixed_frame: pd.DataFrame) -> None:
    other = make().fit(mixed_frame, ["any", "thing"])
    pd.testing.assert_frame_equal(other.sample(mixed_frame), fitted.sample(mixed_frame))


def test_global_random_numbers_are_not_touched(make: Make, mixed_frame: pd.DataFrame) -> None:
    def state() -> list[object]:
        legacy = np.random.get_state()  # noqa: NPY002 (it is what must not move)
        return [legacy[1].tolist(), legacy[2:], random.getstate(), torch.get_rng_state().tolist()]

    before = state()
    for random_state in (0, None):
        make(random_state=random_state).fit(mixed_frame).sample(mixed_frame, n_draws=2)
    assert state() == before


def test_global_random_numbers_do_not_matter(make: Make, mixed_frame: pd.DataFrame) -> None:
    tables = []
    for seed in (0, 1):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 (a caller may)
        torch.manual_seed(seed)
        tables.append(make().fit(mixed_frame).sample(mixed_frame))
    pd.testing.assert_frame_equal(*tables)


def test_pandas_in_pandas_out(fitted: KnockoffGenerator, mixed_frame: pd.DataFrame) -> None:
    drawn = fitted.sample(mixed_frame)
    assert type(drawn) is pd.DataFrame
    pd.testing.assert_index_equal(drawn.index, mixed_frame.index)
    pd.testing.assert_index_equal(drawn.columns, mixed_frame.columns)
    pd.testing.assert_series_equal(drawn.dtypes, mixed_frame.dtypes)
    assert_differ_everywhere(drawn, mixed_frame)


def test_polars_in_polars_out(
    make: Make, fitted: KnockoffGenerator, mixed_frame: pd.DataFrame
) -> None:
    table = pl.DataFrame({name: mixed_frame[name].to_numpy() for name in mixed_frame})
    drawn = make().fit(table).sample(table)
    assert type(drawn) is pl.DataFrame
    assert drawn.schema == table.schema
    expected = fitted.sample(mixed_frame)
    for name in mixed_frame:
        np.testing.assert_array_equal(drawn[name].to_numpy(), expected[name].to_numpy())


def test_arrays_in_arrays_out(
    make: Make, fitted: KnockoffGenerator, mixed_frame: pd.DataFrame, values: np.ndarray
) -> None:
    drawn = make().fit(values).sample(values)
    assert type(drawn) is np.ndarray
    assert drawn.dtype == np.float64
    expected = fitted.sample(mixed_frame)
    for j, (name, dtype) in enumerate(mixed_frame.dtypes.items()):
        np.testing.assert_array_equal(drawn[:, j].astype(dtype), expected[name].to_numpy())


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_arrays_keep_their_type(make: Make, values: np.ndarray, dtype: type) -> None:
    table = (values > values.mean(0) if dtype is np.bool_ else values * 3).astype(dtype)
    drawn = make().fit(table).sample(table)
    assert drawn.dtype == dtype
    assert (drawn != table).any()


def test_pandas_columns_named_by_number(make: Make, values: np.ndarray) -> None:
    table = pd.DataFrame(values)
    drawn = make().fit(table).sample(table)
    assert drawn.columns.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(drawn.to_numpy(), make().fit(values).sample(values))


def test_knockoffs_of_whole_numbers_are_values_seen_in_the_fit(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame
) -> None:
    odd = mixed_frame.assign(visits=np.arange(len(mixed_frame)) - 50)
    for table in (mixed_frame, odd):
        drawn = fitted.sample(table)
        assert set(drawn["visits"]) <= set(mixed_frame["visits"])
    drawn = fitted.sample(mixed_frame)
    assert drawn["visits"].nunique() > 4
    assert drawn["smoker"].dtype == np.bool_
    assert drawn["smoker"].nunique() == 2


def test_numbers_that_are_not_whole_are_not_drawn_from_those_seen(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame
) -> None:
    drawn = fitted.sample(mixed_frame)
    for name in CONTINUOUS:
        assert np.isin(drawn[name], mixed_frame[name]).mean() < 0.05


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize("power", [-60, 9])
def test_units_do_not_matter(make: Make, mixed_frame: pd.DataFrame, power: int, name: str) -> None:
    """Powers of two are exact in floating point, so the same bits come out in the other unit."""
    table = mixed_frame[CONTINUOUS].astype(np.float64)
    scaled = table.assign(**{name: table[name] * 2.0**power})
    expected, drawn = (make().fit(t).sample(t) for t in (table, scaled))
    pd.testing.assert_frame_equal(
        drawn.assign(**{name: drawn[name] / 2.0**power}), expected, rtol=1e-9
    )


def test_knockoffs_stay_finite_far_outside_the_fit(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame
) -> None:
    for scale in (-1e3, 1e3):
        far = mixed_frame.assign(
            **{"<b>": mixed_frame["<b>"] * scale, "été": mixed_frame["été"] * abs(scale)}
        )
        assert np.isfinite(numbers(fitted.sample(far))).all()


def test_special_columns_keep_their_place(make: Make, mixed_frame: pd.DataFrame) -> None:
    table = mixed_frame[CONTINUOUS].copy()
    table.insert(1, "constant", np.int64(7))
    table.insert(3, "twin", table["<b>"])
    with pytest.warns(KnockoffWarning) as caught:
        generator = make().fit(table)
    assert {warning.filename for warning in caught} == {__file__}
    drawn = generator.sample(table)
    pd.testing.assert_series_equal(drawn.dtypes, table.dtypes)
    assert (drawn["constant"] == 7).all()
    for name in ("<b>", "twin"):
        pd.testing.assert_series_equal(drawn[name], table[name])
    for name in ("weight in kg", "été"):
        assert (drawn[name] != table[name]).mean() > 0.98
        assert drawn[name].mean() == pytest.approx(
            table[name].mean(), abs=0.5 * float(table[name].std())
        )


def test_save_and_load_give_the_same_model(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame, tmp_path: Path
) -> None:
    expected = fitted.sample(mixed_frame, n_draws=2, random_state=3)
    for path in (tmp_path / "model", str(tmp_path / "model.safetensors")):
        assert fitted.save(path) is None
        loaded = type(fitted).load(path)
        assert type(loaded) is type(fitted)
        assert loaded.get_params() == fitted.get_params()
        assert loaded.n_features_in_ == fitted.n_features_in_
        assert loaded.feature_names_in_.tolist() == fitted.feature_names_in_.tolist()
        for one, other in zip(
            loaded.sample(mixed_frame, n_draws=2, random_state=3), expected, strict=True
        ):
            pd.testing.assert_frame_equal(one, other, check_exact=True)
    with pytest.raises(ValueError, match="feature names"):
        loaded.sample(mixed_frame.rename(columns={"visits": "other"}))


def test_save_and_load_keep_special_columns(make: Make, values: np.ndarray, tmp_path: Path) -> None:
    table = np.column_stack([values, np.full(len(values), -2.5), values[:, 0]])
    with pytest.warns(KnockoffWarning):
        generator = make().fit(table)
    generator.save(tmp_path / "model")
    loaded = type(generator).load(tmp_path / "model")
    assert not hasattr(loaded, "feature_names_in_")
    np.testing.assert_array_equal(loaded.sample(table), generator.sample(table))


def test_a_loaded_model_can_be_saved_again(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "first")
    type(fitted).load(tmp_path / "first").save(tmp_path / "second")
    again = type(fitted).load(tmp_path / "second")
    pd.testing.assert_frame_equal(again.sample(mixed_frame), fitted.sample(mixed_frame))


def test_a_model_that_drew_its_own_seed_can_be_saved(
    make: Make, mixed_frame: pd.DataFrame, tmp_path: Path
) -> None:
    for random_state in (None, np.random.default_rng(0), np.int64(4)):
        generator = make(random_state=random_state).fit(mixed_frame)
        generator.save(tmp_path / "model")
        loaded = type(generator).load(tmp_path / "model")
        pd.testing.assert_frame_equal(
            loaded.sample(mixed_frame, random_state=1),
            generator.sample(mixed_frame, random_state=1),
        )


def test_pickle_gives_the_same_model(fitted: KnockoffGenerator, mixed_frame: pd.DataFrame) -> None:
    """joblib needs it to send a generator to other processes."""
    copy = pickle.loads(pickle.dumps(fitted))
    pd.testing.assert_frame_equal(copy.sample(mixed_frame), fitted.sample(mixed_frame))


def test_clone_copies_the_parameters_and_nothing_learned(
    fitted: KnockoffGenerator, mixed_frame: pd.DataFrame
) -> None:
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        fresh.sample(mixed_frame)
    pd.testing.assert_frame_equal(
        fresh.fit(mixed_frame).sample(mixed_frame), fitted.sample(mixed_frame)
    )


def test_parameters_can_be_read_and_set(make: Make) -> None:
    generator = make()
    for name, value in generator.get_params().items():
        assert getattr(generator, name) is value
        marker = object()
        assert generator.set_params(**{name: marker}) is generator
        assert generator.get_params()[name] is marker
    with pytest.raises(ValueError, match="no_such_parameter"):
        generator.set_params(no_such_parameter=1)


def test_fitting_leaves_the_parameters_alone(make: Make, mixed_frame: pd.DataFrame) -> None:
    generator = make()
    before = generator.get_params()
    assert generator.fit(mixed_frame) is generator
    assert generator.get_params() == before


def test_nothing_works_before_the_fit(
    make: Make, mixed_frame: pd.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(NotFittedError):
        make().sample(mixed_frame)
    with pytest.raises(NotFittedError):
        make().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_fit_leaves_the_generator_unfitted(make: Make, mixed_frame: pd.DataFrame) -> None:
    generator = make()
    table = pd.DataFrame(np.ones((50, 3)), columns=list("abc"))
    with pytest.warns(KnockoffWarning), pytest.raises(ValueError, match="at least 2"):
        generator.fit(table)
    with pytest.raises(NotFittedError):
        generator.sample(table)


def test_features_are_counted_and_named(
    make: Make, fitted: KnockoffGenerator, mixed_frame: pd.DataFrame
) -> None:
    assert fitted.n_features_in_ == 5
    assert fitted.feature_names_in_.tolist() == list(mixed_frame.columns)
    unnamed = make().fit(mixed_frame.to_numpy(dtype=np.float64))
    assert unnamed.n_features_in_ == 5
    assert not hasattr(unnamed, "feature_names_in_")


def test_a_second_fit_forgets_the_first(
    make: Make, mixed_frame: pd.DataFrame, values: np.ndarray
) -> None:
    generator = make().fit(mixed_frame).fit(values[:, :3])
    assert generator.n_features_in_ == 3
    assert not hasattr(generator, "feature_names_in_")
    expected = make().fit(values[:, :3]).sample(values[:, :3])
    np.testing.assert_array_equal(generator.sample(values[:, :3]), expected)


def test_a_column_that_was_constant_in_the_fit_gets_a_copy(
    make: Make, mixed_frame: pd.DataFrame
) -> None:
    """Its law is unknown where it varies, and only a copy is valid then:
    it can never be selected.
    """
    with pytest.warns(KnockoffWarning, match="'flat': constant"):
        generator = make().fit(mixed_frame.assign(flat=1.0))
    varied = mixed_frame.assign(flat=np.arange(len(mixed_frame), dtype=float))
    assert (generator.sample(varied)["flat"] == varied["flat"]).all()
