"""A feature given all the others: closed forms, sums to one, exchangeable draws, and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import kstest, norm

from knockoffs import DDLK, JointDensity
from knockoffs.datasets import AutoregressiveGaussian, AutoregressiveMixture
from knockoffs.density.density import AutoregressiveDensity
from knockoffs.density.grids import GridDensity, _fine, refined_density
from knockoffs.runtime.model_files import ModelFileError

pytestmark = pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")

LAW = AutoregressiveGaussian(features=5, rho=0.6, mean=2.0)


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return LAW.sample(600, random_state=0)


@pytest.fixture(scope="module")
def linear(x: np.ndarray) -> JointDensity:
    """The linear-Gaussian start of the density, whose conditionals have a closed form."""
    return JointDensity(scale="standard", components=1, hidden=(4,), epochs=0, random_state=0).fit(
        x
    )


@pytest.fixture(scope="module")
def mixed() -> pd.DataFrame:
    z = AutoregressiveGaussian(features=5, rho=0.6).sample(400, random_state=1)
    frame = pd.DataFrame(
        {
            "a": z[:, 0],
            "visits": np.rint(2 + z[:, 1]),
            "sex": np.where(z[:, 2] > 0.3, "f", "m"),
            "site": np.array(["north", "south", "east"])[np.digitize(z[:, 3], [-0.5, 0.5])],
            "marker": np.exp(z[:, 4]),
        }
    )
    frame.loc[np.random.default_rng(0).random(400) < 0.2, "marker"] = np.nan
    return frame


@pytest.fixture(scope="module")
def mixed_density(mixed: pd.DataFrame) -> JointDensity:
    return JointDensity(hidden=(8,), epochs=2, random_state=0).fit(mixed)


def gaussian_moments(model: JointDensity) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of a density that is linear and Gaussian, by many draws."""
    drawn = model.sample(200_000, random_state=5)
    return drawn.mean(0), np.cov(drawn.T)


@pytest.mark.parametrize("feature", range(5))
def test_the_conditional_of_a_gaussian_density_has_the_closed_form(
    x: np.ndarray, linear: JointDensity, feature: int
) -> None:
    mean, covariance = gaussian_moments(linear)
    precision = np.linalg.inv(covariance)
    deviation = precision[feature, feature] ** -0.5
    centre = x[:, feature] - (x - mean) @ precision[:, feature] / precision[feature, feature]
    conditional = linear.conditional(x, feature)
    assert (
        np.abs(conditional.log_prob() - norm.logpdf(x[:, feature], centre, deviation)).max() < 0.08
    )
    drawn = (conditional.sample(200, random_state=1) - centre) / deviation
    assert drawn.mean() == pytest.approx(0, abs=0.02)
    assert drawn.std() == pytest.approx(1, abs=0.02)
    assert (conditional.effective_sample_size > 2).all()


def test_draws_follow_the_density_that_was_learned(x: np.ndarray) -> None:
    """Of rows of the density itself the redrawn column is distributed as the column:
    a step of a Gibbs sampler.
    """
    model = JointDensity(hidden=(8,), epochs=3, random_state=0).fit(x)
    rows = model.sample(2000, random_state=3)
    for feature in range(5):
        conditional = model.conditional(rows, feature, random_state=1)
        redrawn = conditional.sample(1, random_state=2)[0]
        # the probability integral transform of the rows under their own conditional is uniform
        below = (conditional.sample(99, random_state=4) < rows[:, feature]).mean(0)
        assert (
            kstest(below + np.random.default_rng(0).uniform(-0.005, 0.005, 2000), "uniform").pvalue
            > 0.001
        )
        for other in set(range(5)) - {feature}:
            ours, theirs = (
                np.corrcoef(c, rows[:, other])[0, 1] for c in (redrawn, rows[:, feature])
            )
            assert ours == pytest.approx(theirs, abs=0.08)


def test_the_grid_agrees_with_a_fine_one_where_densities_are_narrow_or_have_two_modes() -> None:
    centre = torch.tensor([[0.3], [-1.7], [0.0]], dtype=torch.float64)
    width = torch.tensor([[0.02], [0.5], [0.1]], dtype=torch.float64)

    def likelihood(z: torch.Tensor) -> torch.Tensor:
        return -0.5 * ((z - centre) / width) ** 2

    def prior(z: torch.Tensor) -> torch.Tensor:
        return torch.logaddexp(-0.5 * (z + 0.2) ** 2 / 0.01, -0.5 * (z - 0.2) ** 2 / 0.01)

    nodes = torch.linspace(-4, 4, 11, dtype=torch.float64).expand(3, -1).contiguous()
    found, used = refined_density(likelihood, prior, nodes, 12)
    assert used.shape == (3, 11 + 3 * 12)
    fine = torch.linspace(-4, 4, 80_001, dtype=torch.float64).expand(3, -1).contiguous()
    truth = GridDensity.of(fine, likelihood(fine) + prior(fine))
    places = truth.quantile(
        torch.linspace(0.01, 0.99, 50, dtype=torch.float64).expand(3, -1).contiguous()
    )
    assert (found.cdf(places) - truth.cdf(places)).abs().max() < 0.01


@pytest.mark.parametrize("gap", [0.0, 1e-8, 4e-8, 1e-6, 2e-4])
def test_nodes_that_nearly_coincide_do_no_harm(gap: float) -> None:
    """A likelihood in single precision, whose rounding error is large beside so small a
    distance.
    """
    nodes = torch.tensor(
        [-4.0, -2.5, -1.0, -1.0 + gap, -1.0 + 2 * gap, 0.5, 2.0, 4.0], dtype=torch.float64
    )
    values = (-0.7 * (nodes - 0.3) ** 2).float().double()
    values[3] += 5e-7  # a rounding error
    points, cubic = _fine(nodes.unsqueeze(0), values.unsqueeze(0))
    assert (cubic + 0.7 * (points - 0.3) ** 2).abs().max() < 2e-3


def test_later_columns_see_new_values_as_if_the_row_had_them() -> None:
    generator = torch.Generator().manual_seed(0)
    density = AutoregressiveDensity(6, components=2, hidden=(5,), generator=generator)
    y = torch.randn(7, 6, generator=generator)
    candidates = torch.randn(7, 3, 2, generator=generator)
    after = density.depending(1, 2)
    assert after.tolist() == [3, 4, 5]
    with torch.no_grad():
        found = density.log_prob_after(y, 1, candidates, after)
        for k in range(3):
            changed = y.clone()
            changed[:, 1:3] = candidates[:, k]
            torch.testing.assert_close(found[:, k], density(changed).log_prob(changed)[:, 3:])
        own = density.conditional_of(4, y).log_prob(y[:, 4:5])[:, 0]
        torch.testing.assert_close(own, density(y).log_prob(y)[:, 4])


@pytest.mark.parametrize("feature", ["visits", "sex", "site"])
def test_probabilities_of_all_values_sum_to_one(
    mixed: pd.DataFrame, mixed_density: JointDensity, feature: str
) -> None:
    j = mixed.columns.get_loc(feature)
    conditional = mixed_density.conditional(mixed, j)
    values = mixed_density.schema_[j].values
    shares = np.stack([conditional.probability(value) for value in values])
    np.testing.assert_allclose(shares.sum(0), 1, atol=1e-6)
    assert (shares >= 0).all()
    np.testing.assert_array_equal(conditional.probability(77.0), 0)
    drawn = conditional.sample(400, random_state=1)
    for value, share in zip(values, shares, strict=True):
        assert np.abs((drawn == value).mean(0) - share).max() < 6 * 0.5 / np.sqrt(400)
    own = np.select(
        [mixed_density._read(mixed).codes[:, j] == value for value in values], list(shares)
    )
    np.testing.assert_allclose(np.exp(conditional.log_prob()), own, atol=1e-9)


def test_missing_cells_are_drawn_with_their_probability(
    mixed: pd.DataFrame, mixed_density: JointDensity
) -> None:
    conditional = mixed_density.conditional(mixed, 4)
    share = conditional.probability(np.nan)
    drawn = conditional.sample(400, random_state=1)
    assert np.abs(np.isnan(drawn).mean(0) - share).max() < 6 * 0.5 / np.sqrt(400)
    assert np.isnan(drawn).mean() == pytest.approx(mixed["marker"].isna().mean(), abs=0.06)
    missing = mixed["marker"].isna().to_numpy()
    np.testing.assert_allclose(np.exp(conditional.log_prob()), np.where(missing, share, 1 - share))
    assert np.nanmin(drawn) > 0  # values that have been seen, or lie between such


def test_what_is_determined_by_others_has_no_conditional(x: np.ndarray) -> None:
    table = np.column_stack([x, x[:, 0], np.ones(len(x))])
    model = JointDensity(hidden=(4,), epochs=0, random_state=0).fit(table)
    conditionals = model.conditionals(table)
    np.testing.assert_array_equal(conditionals.free, [False, True, True, True, True, False, False])
    with pytest.raises(ValueError, match="feature=6 is constant, a duplicate, or determined"):
        model.conditional(table, 6)
    with pytest.raises(ValueError, match="feature=7 is not valid"):
        model.conditional(table, 7)


def test_a_copied_column_is_drawn_close_to_itself() -> None:
    """Where others all but determine a feature its conditional is narrow, and the grid finds it."""
    x = LAW.sample(600, random_state=0)
    x = np.column_stack([x, x[:, 0] + 0.02 * np.random.default_rng(0).standard_normal(600)])
    model = JointDensity(scale="standard", hidden=(8,), epochs=5, random_state=0).fit(x)
    x[0, [0, -1]] = 30.0  # also in a row that is far from all others
    drawn = model.conditional(x, 0).sample(50, random_state=0)
    assert np.std(drawn[:, 1:] - x[1:, 0]) < 0.06
    assert np.abs(drawn[:, 0] - 30).max() < 3


def test_a_density_from_a_file_is_the_same(
    tmp_path: Path, mixed: pd.DataFrame, mixed_density: JointDensity
) -> None:
    mixed_density.save(tmp_path / "density")
    again = JointDensity.load(tmp_path / "density")
    assert again.get_params() == mixed_density.get_params()
    np.testing.assert_array_equal(again.score_samples(mixed), mixed_density.score_samples(mixed))
    np.testing.assert_array_equal(again.sample(20), mixed_density.sample(20))
    for feature in range(5):
        ours, theirs = (
            d.conditional(mixed, feature).sample(3, random_state=1) for d in (again, mixed_density)
        )
        np.testing.assert_array_equal(ours, theirs)
    assert [h.held_out for h in again.history_] == [h.held_out for h in mixed_density.history_]
    with pytest.raises(ModelFileError, match="holds a JointDensity model, not DDLK"):
        DDLK.load(tmp_path / "density")


def test_ddlk_shares_its_density(mixed: pd.DataFrame) -> None:
    generator = DDLK(hidden=(8,), joint_epochs=1, knockoff_epochs=0, random_state=0).fit(mixed)
    density = generator.joint_density()
    np.testing.assert_array_equal(density.score_samples(mixed), generator.joint_log_prob(mixed))
    alone = JointDensity(hidden=(8,), epochs=1, random_state=0).fit(mixed)
    assert density.get_params() == alone.get_params()
    ours, theirs = (d.conditional(mixed, 1).sample(3, random_state=1) for d in (density, alone))
    np.testing.assert_array_equal(ours, theirs)


def test_draws_keep_relations_between_columns() -> None:
    """Who does not smoke smokes no cigarettes: no draw of either column breaks that."""
    rng = np.random.default_rng(0)
    smoker = rng.random(300) < 0.4
    table = pd.DataFrame(
        {
            "smoker": np.where(smoker, "yes", "no"),
            "cigarettes": np.where(smoker, rng.integers(1, 30, 300), 0),
            "age": rng.normal(size=300),
        }
    )
    model = JointDensity(hidden=(4,), epochs=1, random_state=0).fit(table)
    conditionals = model.conditionals(table)
    assert conditionals.free[1]
    drawn = conditionals.of(1).sample(30, random_state=1)
    np.testing.assert_array_equal(drawn == 0, np.broadcast_to(~smoker, drawn.shape))
    np.testing.assert_allclose(conditionals.of(1).probability(0.0), ~smoker)
    assert not conditionals.free[0]


def test_a_truncated_file_is_refused(tmp_path: Path, linear: JointDensity) -> None:
    linear.save(tmp_path / "density")
    whole = (tmp_path / "density").read_bytes()
    (tmp_path / "density").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError, match="not a complete knockoffs model file"):
        JointDensity.load(tmp_path / "density")


def test_the_grid_agrees_with_the_density_in_narrow_clusters() -> None:
    """Clusters far apart: a draw stays in the cluster of its row,
    and has the spread that the density gives it.
    """
    x = AutoregressiveMixture(features=6).sample(300, random_state=0)
    model = JointDensity(hidden=(8,), epochs=2, random_state=0).fit(x)
    for feature in (0, 3):
        drawn = model.conditional(x, feature).sample(200, random_state=1)
        assert np.abs(drawn - x[:, feature]).max() < 12  # clusters are 20 apart
        for row in range(0, 300, 30):
            places = x[row, feature] + np.linspace(-8, 8, 801)
            rows = np.repeat(x[[row]], 801, axis=0)
            rows[:, feature] = places
            log_density = model.score_samples(rows)
            density = np.exp(log_density - log_density.max())
            mean = (density * places).sum() / density.sum()
            deviation = np.sqrt((density * (places - mean) ** 2).sum() / density.sum())
            assert drawn[:, row].mean() == pytest.approx(mean, abs=5 * deviation / np.sqrt(200))
            assert drawn[:, row].std() == pytest.approx(deviation, rel=0.25)
