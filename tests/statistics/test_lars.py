"""Cross-validated lassos along LARS paths: what scikit-learn finds, and what a lasso has to be."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LassoLarsCV
from sklearn.model_selection import KFold

from knockoffs.datasets import AutoregressiveGaussian, linear_response
from knockoffs.runtime.arrays import Array
from knockoffs.statistics import lasso
from knockoffs.statistics.lasso import lars_lasso


def problem(rows: int, columns: int, rho: float) -> tuple[Array, Array, list[tuple[Array, Array]]]:
    x = AutoregressiveGaussian(columns, rho=rho).sample(rows, random_state=0)
    x = (x - x.mean(0)) / x.std(0)
    y, _ = linear_response(x, amplitude=10, random_state=0)
    return x, y, [*KFold(5, shuffle=True, random_state=0).split(x)]


@pytest.mark.parametrize(
    ("rows", "columns", "rho"), [(200, 30, 0.5), (400, 100, 0.9), (60, 150, 0.5)]
)
def test_it_finds_what_the_whole_paths_find(rows: int, columns: int, rho: float) -> None:
    x, y, cv = problem(rows, columns, rho)
    whole = LassoLarsCV(cv=cv, max_iter=1000).fit(x, y).coef_
    found = lars_lasso(x, y, cv)
    np.testing.assert_allclose(found, whole, atol=0.02 * np.abs(whole).max())


def test_paths_that_end_early_lead_to_the_same_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, cv = problem(400, 100, 0.5)
    whole = lars_lasso(x, y, cv)
    monkeypatch.setattr(lasso, "FIRST_STEPS", 20)
    np.testing.assert_allclose(lars_lasso(x, y, cv), whole, atol=0.02 * np.abs(whole).max())


def test_coefficients_meet_the_conditions_of_a_lasso() -> None:
    """All columns in use have the same covariance with the residual, all others at most that."""
    x, y, cv = problem(300, 60, 0.5)
    found = lars_lasso(x, y, cv)
    residual = y - y.mean() - (x - x.mean(0)) @ found
    covariance = (x - x.mean(0)).T @ residual / len(x)
    used = found != 0
    assert 0 < used.sum() < 60
    penalty = np.abs(covariance[used]).max()
    np.testing.assert_allclose(covariance[used], penalty * np.sign(found[used]), rtol=1e-6)
    assert (np.abs(covariance[~used]) <= penalty * (1 + 1e-9)).all()


def test_a_response_without_variance_has_no_coefficients() -> None:
    x, _, cv = problem(50, 5, 0.5)
    assert (lars_lasso(x, np.full(50, 3.0), cv) == 0).all()
