"""DDLK: its knockoffs are knockoffs, and its densities are densities in the units of the data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.stats import multivariate_normal
from sklearn.exceptions import NotFittedError

from knockoffs import DDLK, KnockoffWarning
from knockoffs.datasets import AutoregressiveGaussian, AutoregressiveMixture, ClaytonCopula
from knockoffs.generators.gaussian import knockoff_gaps, knockoff_law

Make = Callable[..., DDLK]


# -- on Gaussian rows, where everything is known
# ------------------------------------------------------------


def test_no_swap_is_visible_on_held_out_rows(
    gaussian_law: AutoregressiveGaussian, gaussian_model: DDLK
) -> None:
    divergence = gaussian_model.swap_divergence(gaussian_law.sample(2000, random_state=2))
    assert 0 < divergence.standard_error < 0.02
    assert abs(divergence.value) < 0.02 + 4 * divergence.standard_error


def test_swap_divergence_sees_bad_knockoffs(
    gaussian_law: AutoregressiveGaussian, gaussian_model: DDLK
) -> None:
    """With q_joint of dependent columns and q_knockoff of independent ones, swaps show."""
    independent = AutoregressiveGaussian(features=8, rho=0.0, mean=1.0)
    bad = DDLK(hidden=(8,), joint_epochs=1, knockoff_epochs=0, random_state=0).fit(
        independent.sample(600, 1)
    )
    bad._joint = gaussian_model._joint
    assert bad.swap_divergence(gaussian_law.sample(1000, random_state=2)).value > 1


def test_swap_divergence_is_reproducible_and_its_error_honest(
    gaussian_law: AutoregressiveGaussian, gaussian_model: DDLK
) -> None:
    x = gaussian_law.sample(500, random_state=2)
    assert gaussian_model.swap_divergence(x) == gaussian_model.swap_divergence(x, random_state=0)
    runs = [
        gaussian_model.swap_divergence(
            gaussian_law.sample(500, random_state=seed), random_state=seed
        )
        for seed in range(30)
    ]
    spread = np.std([run.value for run in runs])
    claimed = np.mean([run.standard_error for run in runs])
    assert 0.6 < spread / claimed < 1.6


def test_the_joint_covariance_is_that_of_knockoffs(
    gaussian_law: AutoregressiveGaussian, gaussian_model: DDLK
) -> None:
    rows, fitted_rows = 20000, 600
    x = gaussian_law.sample(rows, random_state=2)
    joint = np.cov(np.hstack([x, gaussian_model.sample(x, random_state=3)]).T)
    sigma = gaussian_law.covariance
    off = sigma - np.diag(knockoff_gaps(sigma))
    # of these rows, and of the rows of the fit
    error = np.sqrt(2 / rows) + np.sqrt(2 / fitted_rows)
    np.testing.assert_allclose(joint, np.block([[sigma, off], [off, sigma]]), atol=2.5 * error)


def test_knockoffs_have_the_mean_and_shape_of_the_data(
    gaussian_law: AutoregressiveGaussian, gaussian_model: DDLK
) -> None:
    x = gaussian_law.sample(20000, random_state=2)
    drawn = gaussian_model.sample(x, random_state=3)
    np.testing.assert_allclose(drawn.mean(0), 1, atol=4 / np.sqrt(600))
    levels = [0.01, 0.1, 0.5, 0.9, 0.99]
    np.testing.assert_allclose(
        np.quantile(drawn, levels, axis=0), np.quantile(x, levels, axis=0), atol=0.3
    )


def test_joint_log_prob_is_close_to_the_true_density(
    gaussian_law: AutoregressiveGaussian, gaussian_model: DDLK
) -> None:
    x = gaussian_law.sample(5000, random_state=2)
    assert 0 < (gaussian_law.log_prob(x) - gaussian_model.joint_log_prob(x)).mean() < 0.2


def test_log_prob_is_close_to_the_law_of_exact_knockoffs(
    gaussian_law: AutoregressiveGaussian, gaussian_model: DDLK
) -> None:
    x = gaussian_law.sample(5000, random_state=2)
    x_tilde = gaussian_law.knockoffs(x, random_state=3)
    pull, spread = knockoff_law(gaussian_law.covariance, knockoff_gaps(gaussian_law.covariance))
    residual = x_tilde - (x - (x - gaussian_law.mean) @ pull.T)
    exact = multivariate_normal.logpdf(residual, np.zeros(8), spread)
    assert 0 < (exact - gaussian_model.log_prob(x, x_tilde)).mean() < 0.25


def test_samples_follow_log_prob(
    gaussian_law: AutoregressiveGaussian, gaussian_model: DDLK
) -> None:
    """E exp(log q(shifted) - log q(drawn)) = 1 for draws from q, whatever the shift."""
    x = gaussian_law.sample(20000, random_state=2)
    drawn = gaussian_model.sample(x, random_state=3)
    shift = 0.1 * np.array([1, -1, 1, 1, -1, 1, -1, 1])
    ratio = np.exp(gaussian_model.log_prob(x, drawn + shift) - gaussian_model.log_prob(x, drawn))
    assert 0.05 < ratio.std() < 5
    assert ratio.mean() == pytest.approx(1, abs=4.5 * ratio.std() / np.sqrt(len(x)))


# -- densities are densities
# --------------------------------------------------------------------------------

TWO_COLUMNS = {
    "gaussian": (AutoregressiveGaussian(features=2, rho=0.8, mean=3.0), "standard"),
    "gaussian scores": (AutoregressiveGaussian(features=2, rho=0.8, mean=3.0), "normal"),
    "mixture": (
        AutoregressiveMixture(features=2, weights=(0.4, 0.6), means=(0.0, 6.0), rhos=(0.6, 0.2)),
        "auto",
    ),
    "clayton": (ClaytonCopula(features=2), "normal"),
    "clayton standardised": (ClaytonCopula(features=2), "standard"),
}


@pytest.fixture(scope="module", params=TWO_COLUMNS)
def two_columns(request: pytest.FixtureRequest, fast_ddlk: Make) -> tuple[DDLK, bool]:
    """A model of two columns, and whether its columns are positive."""
    law, scale = TWO_COLUMNS[request.param]
    model = fast_ddlk(joint_epochs=5, knockoff_epochs=2, scale=scale).fit(
        law.sample(300, random_state=0)
    )
    return model, isinstance(law, ClaytonCopula) and scale == "normal"


def integral(log_prob: Callable[[np.ndarray], np.ndarray], positive: bool) -> float:
    """Of a density of two columns; for positive ones most points of the grid lie near zero,
    on both sides.
    """
    t = np.linspace(-17, 18, 601) if positive else np.linspace(-12, 20, 601)
    x, slope = (1e-6 * np.sinh(t), 1e-6 * np.cosh(t)) if positive else (t, np.ones_like(t))
    points = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(log_prob(points)).reshape(len(t), len(t)) * np.outer(slope, slope)
    return simpson(simpson(density, x=t), x=t)


def test_the_joint_density_integrates_to_one(two_columns: tuple[DDLK, bool]) -> None:
    model, positive = two_columns
    assert integral(model.joint_log_prob, positive) == pytest.approx(1, abs=0.005)


def test_the_knockoff_density_integrates_to_one(two_columns: tuple[DDLK, bool]) -> None:
    model, positive = two_columns
    row = np.array([0.5, 1.5])
    total = integral(
        lambda points: model.log_prob(np.broadcast_to(row, points.shape), points), positive
    )
    assert total == pytest.approx(1, abs=0.005)


@pytest.mark.parametrize("scale", ["standard", "normal", "auto"])
def test_densities_are_in_the_units_of_the_data(fast_ddlk: Make, scale: str) -> None:
    """Powers of two are exact, so only the Jacobian may change."""
    x = ClaytonCopula(features=3).sample(200, random_state=0)
    unit = np.array([1.0, 2.0**7, 2.0**-30])
    plain, scaled = fast_ddlk(scale=scale).fit(x), fast_ddlk(scale=scale).fit(x * unit)
    x_tilde = plain.sample(x)
    np.testing.assert_allclose(scaled.sample(x * unit), x_tilde * unit, rtol=1e-9)
    np.testing.assert_allclose(
        scaled.joint_log_prob(x * unit),
        plain.joint_log_prob(x) - np.log(unit).sum(),
        rtol=1e-9,
        atol=1e-9,
    )
    np.testing.assert_allclose(
        scaled.log_prob(x * unit, x_tilde * unit),
        plain.log_prob(x, x_tilde) - np.log(unit).sum(),
        rtol=1e-9,
        atol=1e-9,
    )
    assert scaled.swap_divergence(x * unit) == pytest.approx(plain.swap_divergence(x), rel=1e-6)


# -- other shapes of data
# -----------------------------------------------------------------------------------


def test_positive_columns_have_positive_knockoffs_on_the_normal_scale(fast_ddlk: Make) -> None:
    """But for a few just below zero, where the data leave open that their support goes on."""
    law = ClaytonCopula(features=4)
    drawn = (
        fast_ddlk(scale="normal")
        .fit(law.sample(400, random_state=0))
        .sample(law.sample(5000, random_state=1))
    )
    assert (drawn < 0).mean() < 0.002
    assert drawn.min() > -0.05
    np.testing.assert_allclose(drawn.mean(0), 1, atol=0.2)


def test_two_clusters_get_a_clustered_start(fast_ddlk: Make) -> None:
    """A row far from the other cluster has its knockoff in its own, and nothing lies between."""
    law = AutoregressiveMixture(features=4, weights=(0.3, 0.7), means=(-6.0, 6.0), rhos=(0.8, 0.2))
    model = fast_ddlk().fit(law.sample(500, random_state=0))
    x = law.sample(4000, random_state=1)
    drawn = model.sample(x, random_state=2)
    cluster = x.mean(1) > 0
    np.testing.assert_array_equal(drawn > 0, np.repeat(cluster[:, None], 4, axis=1))
    assert (np.abs(drawn) < 2).mean() < 0.002
    for part, rho in zip((drawn[~cluster], drawn[cluster]), law.rhos, strict=True):
        exact = AutoregressiveGaussian(features=4, rho=rho).covariance
        np.testing.assert_allclose(np.cov(part.T), exact, atol=0.35)


def test_columns_that_are_sums_of_others(fast_ddlk: Make) -> None:
    """But for a little noise: exact sums are copied (`test_dependence.py`)."""
    x = AutoregressiveGaussian(features=4).sample(300, random_state=0)
    table = np.column_stack([x[:, :3], x[:, :3].sum(1) + 1e-3 * x[:, 3]])
    with pytest.warns(KnockoffWarning, match=r"column 'x3': a linear combination of other columns"):
        model = fast_ddlk().fit(table)
    drawn = model.sample(table)
    assert np.isfinite(drawn).all()
    assert np.std(drawn[:, 3] - drawn[:, :3].sum(1)) < 0.3 * table[:, 3].std()


def test_yes_and_no_columns_keep_their_dependence() -> None:
    """cov(x_i, x̃_j) = cov(x̃_i, x̃_j) = cov(x_i, x_j) also where columns take few values."""
    rng = np.random.default_rng(0)

    def rows(count: int) -> np.ndarray:
        z = rng.multivariate_normal(
            np.zeros(3), [[1, 0.7, 0.5], [0.7, 1, 0.7], [0.5, 0.7, 1]], size=count
        )
        return np.column_stack([z[:, 0] > 0, z[:, 1] > 0, z[:, 2]]).astype(np.float64)

    model = DDLK(hidden=(16,), random_state=0).fit(rows(1500))
    x = rows(8000)
    correlation = np.corrcoef(x.T, model.sample(x, random_state=1).T)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        for block in (correlation[:3, 3:], correlation[:3, 3:].T, correlation[3:, 3:]):
            assert block[i, j] == pytest.approx(correlation[i, j], abs=0.1)


def test_heavy_tails_stay_finite(fast_ddlk: Make) -> None:
    x = np.random.default_rng(0).standard_t(df=1.5, size=(300, 3))
    model = fast_ddlk().fit(x)
    assert np.isfinite(model.sample(x)).all()
    assert np.isfinite(model.joint_log_prob(x)).all()


# -- settings and what is learned
# ---------------------------------------------------------------------------


def test_the_papers_settings_are_those_of_its_appendix() -> None:
    paper = DDLK.paper()
    assert paper.components == 5
    assert paper.hidden == (50, 50, 50)
    assert (paper.joint_learning_rate, paper.knockoff_learning_rate, paper.swap_learning_rate) == (
        5e-4,
        1e-3,
        1e-2,
    )
    assert (paper.joint_epochs, paper.knockoff_epochs) == (50, 250)
    assert paper.swaps == "gumbel"
    assert paper.start == "random"
    assert DDLK.paper(knockoff_epochs=3, device="cpu").knockoff_epochs == 3


@pytest.mark.parametrize("seed", range(3))
def test_the_papers_settings_work(gaussian_law: AutoregressiveGaussian, seed: int) -> None:
    """A few epochs of them on ordinary rows: the losses fall and the knockoffs are numbers."""
    x = gaussian_law.sample(600, random_state=1)
    model = DDLK.paper(joint_epochs=4, knockoff_epochs=4, random_state=seed).fit(x)
    assert np.isfinite(model.sample(x)).all()
    for history in model.history_:
        assert min(history.held_out[1:]) < history.held_out[0]


def test_history_tells_of_every_epoch_of_every_phase(gaussian_model: DDLK) -> None:
    stages = [history.stage.split()[0] for history in gaussian_model.history_]
    assert set(stages) == {"q_joint", "q_knockoff"}
    assert stages == sorted(stages)  # the first stage comes first
    assert len({history.stage for history in gaussian_model.history_}) == len(stages)
    most = {"q_joint": gaussian_model.joint_epochs, "q_knockoff": gaussian_model.knockoff_epochs}
    for stage, history in zip(stages, gaussian_model.history_, strict=True):
        assert 2 <= len(history.train) == len(history.held_out) <= most[stage] + 1
        assert np.isnan(history.train[0])  # nothing was trained before the first epoch
        assert np.isfinite(history.train[1:]).all()
        assert np.isfinite(history.held_out).all()
        assert history.best_epoch == int(np.argmin(history.held_out))
        assert len(history.held_out) - 1 - history.best_epoch <= gaussian_model.patience


def test_the_worst_swap_is_a_probability_for_each_column(gaussian_model: DDLK) -> None:
    probability = gaussian_model.swap_probability_
    assert probability.shape == (8,)
    assert ((probability > 0) & (probability < 1)).all()
    assert len(np.unique(probability)) > 1  # β has moved


def test_uniform_swaps_learn_no_swap(fast_ddlk: Make, gaussian_law: AutoregressiveGaussian) -> None:
    model = fast_ddlk(swaps="uniform").fit(gaussian_law.sample(100, random_state=1))
    assert (model.swap_probability_ == 0.5).all()


def test_more_entropy_moves_knockoffs_away(gaussian_law: AutoregressiveGaussian) -> None:
    x = gaussian_law.sample(400, random_state=1)
    likeness = []
    for entropy in (0.0, 3.0):
        model = DDLK(hidden=(8,), entropy=entropy, knockoff_epochs=10, random_state=0).fit(x)
        drawn = model.sample(x, random_state=1)
        likeness.append(
            np.mean([np.corrcoef(a, b)[0, 1] for a, b in zip(x.T, drawn.T, strict=True)])
        )
    assert likeness[1] < likeness[0] - 0.05


@pytest.mark.parametrize("method", ["log_prob", "joint_log_prob", "swap_divergence"])
def test_nothing_works_before_the_fit(method: str) -> None:
    tables = [np.zeros((5, 3))] * (2 if method == "log_prob" else 1)
    with pytest.raises(NotFittedError):
        getattr(DDLK(), method)(*tables)


@pytest.mark.parametrize("progress", [True, False])
def test_progress_goes_to_standard_error_and_only_when_asked_for(
    fast_ddlk: Make,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    progress: bool,
) -> None:
    x = AutoregressiveGaussian(features=3).sample(60, random_state=0)
    monkeypatch.setattr("knockoffs.runtime.progress.FIRST_LINE", 0.0)  # at once
    fast_ddlk(progress=progress).fit(x).sample(x)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert ("q_joint" in shown.err) == ("q_knockoff" in shown.err) == progress
    assert progress or shown.err == ""


def test_luck_on_few_held_out_rows_does_not_speak_for_clusters() -> None:
    """Independent normals have no clusters, and knockoffs that keep to one would be tied to their
    originals.
    """
    own = []
    for seed in range(4):
        x = np.random.default_rng(seed).normal(size=(600, 3))
        drawn = DDLK(hidden=(8,), knockoff_epochs=0, random_state=seed).fit(x[:300]).sample(x[300:])
        own += [abs(np.corrcoef(x[300:, j], drawn[:, j])[0, 1]) for j in range(3)]
    assert np.mean(own) < 0.12
