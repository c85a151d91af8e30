"""Latent draws for discrete columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import kstest, norm, truncnorm

from knockoffs import GaussianKnockoffs, check_swap
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.kinds.encoding import TableEncoding
from knockoffs.kinds.fit_encoding import first_alike, fit_encoding
from knockoffs.kinds.latent import draw_latents, fit_correlation, truncated_normal
from knockoffs.kinds.units import continuous_intervals, discrete_intervals
from knockoffs.table.table import read_table

LAW = AutoregressiveGaussian(features=8, rho=0.6)
CUTS = {
    "two equal levels": lambda z: (z > 0).astype(float),
    "two levels, one rare": lambda z: (z > ndtri(0.88)).astype(float),
    "four levels": lambda z: np.digitize(z, ndtri([0.25, 0.5, 0.75])).astype(float),
    "zeros and a continuous part": lambda z: np.where(z < ndtri(0.4), 0.0, np.exp(z)),
}


def fitted(x: np.ndarray) -> TableEncoding:
    table = read_table(x, who="test")
    return fit_encoding(
        table.codes, table.schema, first_alike(table.codes), np.random.default_rng(0)
    )


@pytest.mark.parametrize(
    "bounds", [(-1.0, 0.5), (2.0, 2.5), (9.0, 12.0), (-40.0, -9.0), (-8.0, 8.0)]
)
def test_truncated_normal_numbers_have_their_distribution(bounds: tuple[float, float]) -> None:
    low, high = (np.full(4000, bound) for bound in bounds)
    drawn = truncated_normal(low, high, np.random.default_rng(0).random(4000))
    assert drawn.min() >= bounds[0] - 1e-9
    assert drawn.max() <= bounds[1] + 1e-9
    assert kstest(drawn, truncnorm(*bounds).cdf).pvalue > 0.001


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
def test_decoding_a_draw_gives_the_value_back(cut: object) -> None:
    x = cut(LAW.sample(400, random_state=0))
    x[:, 7] = np.random.default_rng(1).normal(size=400)
    encoding = fitted(x)
    encoded = encoding.encode(x, np.random.default_rng(1))
    np.testing.assert_array_equal(encoded[:, 7], x[:, 7])
    np.testing.assert_allclose(encoding.decode(encoded), x, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(encoding.decode(encoding.middles(x)), x, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
def test_latents_are_normal_with_the_correlation_that_was_cut(cut: object) -> None:
    x = cut(LAW.sample(4000, random_state=0))
    encoding = fitted(x)
    z = encoding.encode(x, np.random.default_rng(1))
    assert min(kstest(column, norm.cdf).pvalue for column in z.T) > 1e-3
    expected = 0.6 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    np.testing.assert_allclose(np.corrcoef(z.T), expected, atol=0.1)


def test_a_rows_latents_do_not_depend_on_other_rows() -> None:
    x = CUTS["four levels"](LAW.sample(300, random_state=0))
    encoding = fitted(x)
    whole, part = (encoding.encode(rows, np.random.default_rng(2)) for rows in (x, x[:40]))
    np.testing.assert_array_equal(whole[:40], part)


def test_probabilities_of_intervals_are_shares_of_rows() -> None:
    column = np.repeat([3.0, 5.0, 9.0], [10, 60, 30])
    intervals = discrete_intervals(column)
    drawn = intervals.decode(np.random.default_rng(0).standard_normal((20_000, 1)))
    for value, share in ((3.0, 0.1), (5.0, 0.6), (9.0, 0.3)):
        assert np.mean(drawn == value) == pytest.approx(share, abs=0.015)
    assert intervals.bounds(np.array([4.1]))[0].item() == pytest.approx(ndtri(0.1))  # its neighbour


def test_a_grid_has_no_continuous_part_and_rare_ties_are_no_atoms() -> None:
    rng = np.random.default_rng(0)
    inflated = np.where(rng.random(500) < 0.4, 0.0, rng.normal(10, 1, size=500))
    grid, zeros = fitted(np.column_stack([np.round(rng.normal(size=500), 1), inflated])).units
    assert grid.atom.all()
    np.testing.assert_array_equal(zeros.values[zeros.atom], [0.0])
    smooth = continuous_intervals(rng.normal(size=500))
    assert not smooth.atom.any()
    for bound in smooth.bounds(np.array([0.0])):
        np.testing.assert_allclose(ndtr(bound).item(), 0.5, atol=0.06)


@pytest.mark.parametrize("far", [-30.0, 30.0])
def test_draws_far_from_what_the_others_say_stay_inside_their_intervals(far: float) -> None:
    """A draw on a bound would be read as the neighbouring value."""
    correlation = np.array([[1.0, 0.999], [0.999, 1.0]])
    low, high = np.tile([-1.0, far], (50, 1)), np.tile([1.0, far], (50, 1))
    noise = np.random.default_rng(0).random((50, 13, 1))
    z = draw_latents(correlation, low, high, np.array([0]), noise)
    assert ((z[:, 0] > -1) & (z[:, 0] < 1)).all()


def test_one_internal_column_has_a_correlation_matrix() -> None:
    low, high = np.full((40, 1), -1.0), np.full((40, 1), 1.0)
    np.testing.assert_allclose(
        fit_correlation(low, high, np.array([0]), np.random.default_rng(0)), [[1.0]]
    )


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
def test_knockoffs_of_cut_columns_keep_correlations_and_pass_the_check(cut: object) -> None:
    x, fresh = cut(LAW.sample(3000, random_state=0)), cut(LAW.sample(3000, random_state=1))
    model = GaussianKnockoffs(random_state=0).fit(x)
    knockoffs = model.sample(fresh)
    correlation = np.corrcoef(fresh.T, knockoffs.T)
    neighbours = np.arange(7)
    kept = correlation[neighbours, neighbours + 1].mean()
    assert correlation[8 + neighbours, 9 + neighbours].mean() == pytest.approx(kept, rel=0.08)
    assert correlation[neighbours, 9 + neighbours].mean() == pytest.approx(kept, rel=0.08)
    assert check_swap((fresh[:800], knockoffs[:800]), random_state=0).validity != "fail"


def test_latents_survive_a_model_file(tmp_path: Path) -> None:
    x = CUTS["two levels, one rare"](LAW.sample(300, random_state=0))
    x[:, 6] = np.exp(np.random.default_rng(0).normal(size=300))  # a continuous column beside them
    x[:, 7] = np.round(10 * np.random.default_rng(1).random(300), 1)
    model = GaussianKnockoffs(random_state=0).fit(x)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        GaussianKnockoffs.load(tmp_path / "model").sample(x), model.sample(x)
    )
