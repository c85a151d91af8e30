"""Networks see the columns that lines say nothing of,
and rows come with several draws of their latents.
"""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import ndtri

from knockoffs import DDLK, JointDensity
from knockoffs.density.starts import start_density
from knockoffs.generators.clusters import (
    ClusteredGaussian,
    joint_conditionals,
    knockoff_conditionals,
)
from knockoffs.generators.linear import Moments, fit_shrunk
from knockoffs.generators.rows import DRAWS, MOSTLY, FitRows, draw_rows, share_latent
from knockoffs.generators.views import silence_views, strongest_columns, view_joint, view_knockoffs

ROWS, COLUMNS = 800, 7


def numbers() -> np.ndarray:
    """Independent columns, but that the last follows the distance of column 2 from its middle."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, COLUMNS))
    x[:, -1] = 2 * np.abs(x[:, 2]) + rng.normal(size=ROWS)
    return (x - x.mean(0)) / x.std(0)


def linear(x: np.ndarray):
    return ClusteredGaussian.single(fit_shrunk(Moments.of(x)))


def v_shaped(rows: int, seed: int = 0) -> pd.DataFrame:
    """Ordinal and yes/no columns; `tested` is likely where `breaths` is far from its middle,
    and unlikely near.
    """
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rows, 4))
    far = np.abs(z[:, 0]) > ndtri(0.75)  # in half of the rows
    return pd.DataFrame(
        {
            "breaths": np.digitize(z[:, 0], ndtri(np.arange(1, 8) / 8)).astype(float),
            "other": np.digitize(z[:, 1], ndtri(np.arange(1, 5) / 5)).astype(float),
            "third": (z[:, 2] + 0.5 * z[:, 1] > 0).astype(float),
            "tested": (rng.random(rows) < np.where(far, 0.9, 0.1)).astype(float),
        }
    )


def share_tested(table: np.ndarray) -> tuple[float, float]:
    """How often `tested` where `breaths` is far from its middle, and near it."""
    far = np.isin(table[:, 0], [0, 1, 6, 7])
    return table[far, 3].mean(), table[~far, 3].mean()


def test_a_column_that_lines_do_not_see_is_chosen_first():
    x = numbers()
    slope, intercept = np.zeros((COLUMNS, COLUMNS)), np.zeros(COLUMNS)
    chosen = strongest_columns(x, slope, intercept, np.tri(COLUMNS, k=-1, dtype=bool))
    assert chosen[-1, 0] == 2
    assert (chosen[0] == -1).all()  # there is nothing before the first column
    assert all((own < j).all() for j, own in enumerate(chosen))


def test_views_keep_to_what_a_column_may_see():
    x = numbers()
    model, z = linear(x), torch.as_tensor(x)
    joint = view_joint(joint_conditionals(model), model, z).seen_slope.numpy()
    assert (np.triu(np.abs(joint).sum(0)) == 0).all()
    knockoff = view_knockoffs(knockoff_conditionals(model), model, z).seen_slope.numpy()
    new = np.abs(knockoff[len(knockoff_conditionals(model).seen_slope) :]).sum(0)
    assert (np.diag(new[:, :COLUMNS]) == 0).all()  # a view of the own x would be learned by heart
    assert (np.triu(new[:, COLUMNS:]) == 0).all()
    assert new[2, COLUMNS - 1] > 0
    assert new[COLUMNS - 1, COLUMNS + 2] > 0


@pytest.mark.parametrize("of_knockoffs", [False, True])
def test_silent_views_leave_the_density_as_it_was(of_knockoffs: bool):
    x = numbers()
    model, z = linear(x), torch.as_tensor(x, dtype=torch.float32)
    plain = knockoff_conditionals(model) if of_knockoffs else joint_conditionals(model)
    viewed = (view_knockoffs if of_knockoffs else view_joint)(plain, model, z)
    density = start_density(
        viewed, components=1, hidden=(8,), generator=torch.Generator().manual_seed(0)
    )
    silence_views(density, plain)
    context = (z.flip(0),) if of_knockoffs else ()
    with torch.no_grad():
        torch.testing.assert_close(
            density.log_prob(z, *context), plain.log_prob(z, *context), rtol=1e-4, atol=1e-3
        )
        # networks that speak
        density.mlp.layers[-1].weight.normal_(generator=torch.Generator().manual_seed(1))
        before = density.log_prob(z, *context)
        density.weight[:, len(plain.seen_slope) : len(viewed.seen_slope)] = 0.0
        assert torch.equal(density.log_prob(z, *context), before)


def test_every_draw_stands_for_the_same_cells_and_no_held_out_row_is_learned_from():
    model = JointDensity(epochs=0, random_state=0, device="cpu").fit(v_shaped(200))
    codes = v_shaped(200, seed=1).to_numpy()
    draws = draw_rows(model.encoding_, codes, np.random.default_rng(0))
    assert len(draws) == DRAWS
    assert len(np.unique(draws[:, 0, 0])) == DRAWS
    for draw in draws:
        np.testing.assert_array_equal(model.encoding_.decode(draw), codes)
    number = np.broadcast_to(np.arange(200.0)[:, None], (DRAWS, 200, 1))
    rows = FitRows.split(number, 0.25, np.random.default_rng(0))
    assert len(rows.held_out) == 50
    assert not np.isin(rows.drawn, rows.held_out).any()
    np.testing.assert_array_equal(rows.drawn, np.tile(rows.x, (DRAWS, 1)))


def test_only_tables_that_are_mostly_latent_get_several_draws_and_views():
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 3)))
    with_gaps = numbers.mask(np.random.default_rng(1).random(numbers.shape) < 0.2)
    settings = {
        "joint_epochs": 0,
        "knockoff_epochs": 0,
        "hidden": (4,),
        "device": "cpu",
        "random_state": 0,
    }
    for table, mostly in ((numbers, False), (with_gaps, False), (v_shaped(120), True)):
        model = DDLK(**settings).fit(table)
        assert (share_latent(model.encoding_, table.to_numpy()) >= MOSTLY) == mostly
        assert (model._knockoff.split.seen > 3) == mostly  # beside the three linear predictors
        assert (
            len(model._encode_for_fit(table.to_numpy(), np.random.default_rng(0))) > 1
        ) == mostly
    paper = DDLK.paper(**settings).fit(v_shaped(120))  # which knows neither
    assert paper._knockoff.first is None
    assert len(paper._encode_for_fit(v_shaped(120).to_numpy(), np.random.default_rng(0))) == 1


def test_knockoffs_keep_a_relation_that_has_no_line():
    held_out = v_shaped(2_000, seed=1)
    model = DDLK(device="cpu", random_state=0).fit(v_shaped(1_500))
    far, near = share_tested(model.joint_density().sample(4_000, random_state=0))
    assert far > 0.65  # 0.9 in the data; half of the rows would be the answer of a line
    assert near < 0.35
    knockoffs = model.sample(held_out)
    # the knockoff of one, the other as it is
    mixed = held_out.assign(tested=knockoffs["tested"]).to_numpy()
    for table in (knockoffs.to_numpy(), mixed):
        far, near = share_tested(table)
        assert far > 0.65
        assert near < 0.35
