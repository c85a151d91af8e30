"""Ridge regression against scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from knockoffs.density.ridge import PENALTIES, fit_ridge, fit_ridges


@pytest.mark.parametrize("features", [5, 60, 200])
def test_it_is_the_best_of_the_penalties_on_held_out_rows(features: int) -> None:
    rng = np.random.default_rng(features)
    x = rng.normal(size=(100, features)) + rng.normal(size=(100, 1)) + 3
    y = x[:, :3] @ rng.normal(size=(3, 2)) + rng.normal(size=(100, 2)) - 7
    held_out = rng.random(100) < 0.3
    fits = [Ridge(alpha=p * (~held_out).sum()).fit(x[~held_out], y[~held_out]) for p in PENALTIES]
    losses = [((fit.predict(x[held_out]) - y[held_out]) ** 2).sum(1).mean() for fit in fits]
    best = fits[int(np.argmin(losses))]
    found = fit_ridge(*map(torch.as_tensor, (x, y, held_out)))
    assert found.loss == pytest.approx(min(losses))
    np.testing.assert_allclose(found.line.slope, best.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found.line.intercept, best.intercept_, rtol=1e-5)


@pytest.mark.parametrize("features", [5, 200])
def test_further_tables_have_the_penalty_of_the_first(features: int) -> None:
    rng = np.random.default_rng(features)
    tables = [torch.as_tensor(rng.normal(size=(100, features))) for _ in range(3)]
    y = tables[0][:, :2] + torch.as_tensor(rng.normal(size=(100, 2)))
    held_out = torch.as_tensor(rng.random(100) < 0.3)
    first, *others = fit_ridges(tables, y, held_out)
    assert first[0] is tables[0]
    assert first[1].penalty == fit_ridge(tables[0], y, held_out).penalty
    for table, found in others:
        by_hand = Ridge(alpha=first[1].penalty * int((~held_out).sum())).fit(
            table[~held_out], y[~held_out]
        )
        np.testing.assert_allclose(found.line.slope, by_hand.coef_, rtol=1e-5, atol=1e-8)
        loss = np.square(by_hand.predict(table[held_out]) - y[held_out].numpy()).sum(1).mean()
        assert found.loss == pytest.approx(loss)


def test_copies_of_a_column_share_its_slope() -> None:
    """Gram matrices without full rank do no harm."""
    x = torch.randn(50, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64).repeat(
        1, 4
    )
    found = fit_ridge(x, 2 * x[:, :1], torch.arange(50) < 10)
    torch.testing.assert_close(
        found.line.slope, torch.full((1, 4), 0.5, dtype=torch.float64), rtol=1e-4, atol=0
    )
