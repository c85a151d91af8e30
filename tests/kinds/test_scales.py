"""Laws of the monotone per-column maps."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from knockoffs.kinds.scales import (
    BASES,
    Scale,
    _fit_normal_scores,
    _pad,
    normal_scale,
    standard_scale,
)

COLUMNS = {
    "normal": lambda z: z,
    "shifted": lambda z: 20 * z - 1e3,
    "two modes": lambda z: z + 4 * torch.sign(z),
    "heavy tails": lambda z: torch.sinh(2 * z),
    "exponential": lambda z: -torch.log(torch.special.ndtr(-z)),
    "large exponential": lambda z: -1e4 * torch.log(torch.special.ndtr(-z)),
    "lognormal": lambda z: z.exp(),
    "wide lognormal": lambda z: (2.5 * z).exp(),
    "positive, far from 0": lambda z: 100 + z,
    "rounded": lambda z: (2 * z).round() / 2,
}
POSITIVE = [
    "exponential",
    "large exponential",
    "lognormal",
    "wide lognormal",
    "positive, far from 0",
]


def table(names, rows=1000, seed=0):
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(rows, len(names), generator=generator, dtype=torch.float64)
    return torch.stack([COLUMNS[name](z[:, j]) for j, name in enumerate(names)], dim=1)


def fitted(kind, names=tuple(COLUMNS)):
    x = table(names)
    return standard_scale(x) if kind == "standard" else normal_scale(x)


@st.composite
def scales(draw):
    """One column with any base and a spline of any increasing form."""
    count = draw(st.integers(2, 6))

    def increasing(start):
        gaps = draw(st.lists(st.floats(0.05, 2), min_size=count - 1, max_size=count - 1))
        return torch.tensor([[start, *gaps]], dtype=torch.float64).cumsum(1)

    slopes = draw(st.lists(st.floats(0.1, 5), min_size=count, max_size=count))
    number = {
        name: draw(st.floats(low, high))
        for name, low, high in [("unit", 0.1, 10), ("spread", 0.3, 2)]
    }
    return Scale(
        base=torch.tensor([draw(st.integers(0, len(BASES) - 1))]),
        unit=torch.tensor([number["unit"]]).double(),
        floor=torch.tensor([draw(st.floats(1e-3, 1))]).double(),
        centre=torch.tensor([draw(st.floats(-1, 1))]).double(),
        spread=torch.tensor([number["spread"]]).double(),
        knots=increasing(draw(st.floats(-3, 0))),
        values=increasing(draw(st.floats(-3, 0))),
        slopes=torch.tensor([slopes], dtype=torch.float64),
        lowest=torch.tensor([-torch.inf]).double(),
    )


law = settings(max_examples=60, deadline=None, derandomize=True, database=None)
GRID = torch.linspace(-12, 12, 2401, dtype=torch.float64)[:, None]


@law
@given(scales())
def test_any_scale_is_increasing_with_an_inverse_and_the_stated_slope(scale):
    x = scale.inverse(GRID)
    assert (x.diff(dim=0) > 0).all()
    z, log_slope = scale.forward(x)
    torch.testing.assert_close(z, GRID, rtol=1e-7, atol=1e-7)
    # A difference across a knot or the floor lies between the slopes of its two sides.
    # small against the nearest bend, and in the tails, where x grows like an exponential, against x
    step = 1e-6 * torch.minimum(scale.inverse(GRID + 0.5) - x, (-log_slope).exp())
    (above, log_above), (below, log_below) = scale.forward(x + step), scale.forward(x - step)
    slope = ((above - below) / (2 * step)).log()
    assert (slope <= torch.maximum(log_above, log_below) + 1e-3).all()
    assert (slope >= torch.minimum(log_above, log_below) - 1e-3).all()
    smooth = (log_above - log_below).abs() < 1e-4
    assert smooth.double().mean() > 0.9
    assert (slope - log_slope)[smooth].abs().max() < 1e-3


@pytest.mark.parametrize("kind", ["standard", "normal"])
def test_values_come_back(kind):
    """Within the knots, beyond them, and far beyond all data."""
    scale = fitted(kind)
    x = table(tuple(COLUMNS), seed=2)
    back = scale.inverse(scale.forward(x)[0])
    torch.testing.assert_close(back, x, rtol=1e-9, atol=1e-9)
    far = 100 * x.abs().amax(0) * torch.tensor([[1.0], [1e-8]]).double()
    far = torch.cat([far, -far])
    torch.testing.assert_close(scale.inverse(scale.forward(far)[0]), far, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", ["standard", "normal"])
def test_scores_come_back(kind):
    scale = fitted(kind)
    z = torch.linspace(-9, 9, 1001, dtype=torch.float64)[:, None].expand(-1, len(COLUMNS))
    torch.testing.assert_close(scale.forward(scale.inverse(z))[0], z, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["standard", "normal"])
def test_fitted_maps_are_increasing(kind):
    scale = fitted(kind)
    ends = scale.inverse(torch.tensor([[-9.0], [9.0]]).double().expand(2, len(COLUMNS)))
    steps = torch.linspace(0, 1, 4001, dtype=torch.float64)[:, None]
    x = ends[0] + (ends[1] - ends[0]) * steps
    assert (scale.forward(x)[0].diff(dim=0) > 0).all()


@pytest.mark.parametrize("kind", ["standard", "normal"])
def test_log_slope_is_that_of_the_map(kind):
    # whose cliffs have no slope worth a difference
    names = [name for name in COLUMNS if name != "rounded"]
    scale = fitted(kind, tuple(names))
    x = scale.inverse(
        torch.linspace(-6, 6, 997, dtype=torch.float64)[:, None].expand(-1, len(names))
    )
    # Where log g' turns at a knot, the difference lies between its two sides, a hair apart.
    step = 1e-6 * (scale.inverse(scale.forward(x)[0] + 0.5) - x)
    (above, log_above), (below, log_below) = scale.forward(x + step), scale.forward(x - step)
    slope = ((above - below) / (2 * step)).log()
    smooth = (log_above - log_below).abs() < 1e-3
    assert smooth.double().mean() > 0.95
    assert (slope - scale.forward(x)[1])[smooth].abs().max() < 1e-3


def test_standard_scale_gives_mean_zero_and_deviation_one():
    x = table(tuple(COLUMNS))
    z, log_slope = standard_scale(x).forward(x)
    torch.testing.assert_close(z.mean(0), torch.zeros(len(COLUMNS)).double(), rtol=0, atol=1e-10)
    torch.testing.assert_close(z.std(0), torch.ones(len(COLUMNS)).double(), rtol=1e-10, atol=0)
    torch.testing.assert_close(log_slope, -x.std(0).log().expand_as(x), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["exponential", "lognormal", "wide lognormal"])
def test_normal_scale_makes_new_rows_normal(name):
    scale = normal_scale(table([name], rows=2000))
    z = scale.forward(table([name], rows=4000, seed=2))[0][:, 0]
    uniform = torch.special.ndtr(z).sort().values
    assert (uniform - torch.linspace(0, 1, 4000).double()).abs().max() < 0.04
    assert abs(z.mean().item()) < 0.08
    assert z.std().item() == pytest.approx(1, abs=0.08)
    assert abs(z.pow(3).mean().item()) < 0.5
    assert z.pow(4).mean().item() == pytest.approx(3, abs=0.9)
    assert z.abs().max() < 6


@pytest.mark.parametrize("name", ["exponential", "wide lognormal", "heavy tails", "two modes"])
def test_normal_scale_is_more_likely_than_the_standard_scale_where_columns_are_not_normal(name):
    x, new = table([name], rows=2000), table([name], rows=4000, seed=2)

    def log_likelihood(scale):
        z, log_slope = scale.forward(new)
        return (log_slope - 0.5 * z.square()).mean().item()

    assert log_likelihood(normal_scale(x)) > log_likelihood(standard_scale(x)) + 0.1


@pytest.mark.parametrize("rows", [300, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_positive_columns_stay_positive(rows, seed):
    """Draws are cut off at `lowest`, which lies between 0 and the data;
    the map crosses zero hardly ever.
    """
    x = table(POSITIVE, rows=rows, seed=seed)
    scale = normal_scale(x)
    curved = scale.base != 0
    assert curved[: POSITIVE.index("positive, far from 0")].all()
    assert (scale.lowest[curved] > 0).all()
    assert (scale.lowest < x.amin(0)).all()
    z = torch.linspace(-3, 3, 101, dtype=torch.float64)[:, None].expand(-1, len(POSITIVE))
    assert (scale.inverse(z) > 0).all()


def test_values_far_beyond_all_data_stay_finite():
    scale = fitted("normal")
    for z in (-1e5, -1e3, 1e3, 1e5):
        x = scale.inverse(torch.full((1, len(COLUMNS)), z).double())
        assert x.isfinite().all()


def test_one_zero_does_not_spoil_a_column():
    """It rules out the logarithm, but the column is no more normal than before."""
    x = table(["exponential"], rows=2000)
    x[0] = 0
    z = normal_scale(x).forward(table(["exponential"], rows=4000, seed=2))[0][:, 0]
    assert abs(z.pow(3).mean().item()) < 0.5


def test_each_column_is_mapped_as_if_it_were_alone():
    names = tuple(COLUMNS)
    x, new = table(names), table(names, seed=2)
    together = normal_scale(x).forward(new)
    for j in range(len(names)):
        alone = normal_scale(x[:, [j]]).forward(new[:, [j]])
        for part, whole in zip(alone, together, strict=True):
            torch.testing.assert_close(part[:, 0], whole[:, j], rtol=1e-9, atol=1e-9)


def test_padding_with_knots_changes_nothing():
    x = table(["heavy tails", "two modes"])
    (scale,) = _fit_normal_scores(x, BASES.index("identity"), (5,))
    padded = Scale(**_pad(scale, 15))
    points = torch.linspace(-50, 50, 2001, dtype=torch.float64)[:, None].expand(-1, 2)
    for before, after in zip(scale.forward(points), padded.forward(points), strict=True):
        torch.testing.assert_close(after, before, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(padded.inverse(points), scale.inverse(points), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rows", [20, 25])
def test_few_rows_still_give_an_increasing_map(rows):
    scale = normal_scale(table(["normal", "lognormal"], rows=rows))
    z = torch.linspace(-4, 4, 801, dtype=torch.float64)[:, None].expand(-1, 2)
    x = scale.inverse(z)
    assert (x.diff(dim=0) > 0).all()
    torch.testing.assert_close(scale.forward(x)[0], z, rtol=1e-6, atol=1e-6)


def test_tensors_make_the_same_scale_again():
    scale = fitted("normal")
    again = Scale(**scale.tensors())
    x = table(tuple(COLUMNS), seed=2)
    assert torch.equal(again.forward(x)[0], scale.forward(x)[0])


@pytest.mark.parametrize("kind", ["standard", "normal"])
def test_numpy_and_torch_give_the_same_scale(kind):
    """Models without networks use arrays, so that they need no torch."""
    x, new = (
        table(tuple(COLUMNS)),
        torch.cat([table(tuple(COLUMNS), seed=2), -GRID.expand(-1, len(COLUMNS))]),
    )
    make = standard_scale if kind == "standard" else normal_scale
    of_tensors, of_arrays = make(x), make(x.numpy())
    for name, part in of_tensors.tensors().items():
        np.testing.assert_allclose(
            of_arrays.tensors()[name], part.numpy(), rtol=1e-12, atol=1e-12, err_msg=name
        )
    for one, other in zip(of_tensors.forward(new), of_arrays.forward(new.numpy()), strict=True):
        np.testing.assert_allclose(other, one.numpy(), rtol=1e-10, atol=1e-10)
    z = torch.linspace(-9, 9, 1001, dtype=torch.float64)[:, None].expand(-1, len(COLUMNS))
    expected = of_tensors.inverse_of_draws(z).numpy()
    np.testing.assert_allclose(
        of_arrays.inverse_of_draws(z.numpy()), expected, rtol=1e-10, atol=1e-10
    )
