"""Laws of the univariate Gaussian mixture."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from scipy.optimize import brentq
from scipy.special import log_ndtr, log_softmax, logsumexp
from scipy.stats import kstest

from benchmarks.reference import reparameterised
from knockoffs.density.distributions import GaussianMixture

law = settings(max_examples=25, deadline=None, derandomize=True, database=None)


@st.composite
def raw_parameters(draw, *, reach=3.0, smallest_scale=0.05):
    """Logits, means and log scales `[3, K]` of one mixture."""
    count = draw(st.integers(1, 4))

    def column(low, high):
        return draw(st.lists(st.floats(low, high), min_size=count, max_size=count))

    return np.array(
        [column(-3, 3), column(-reach, reach), column(math.log(smallest_scale), math.log(3))]
    )


def mixture(raw):
    logits, means, log_scales = torch.as_tensor(raw)
    return GaussianMixture(torch.log_softmax(logits, -1), means, log_scales)


@law
@given(raw_parameters())
def test_density_integrates_to_one(raw):
    _, means, log_scales = raw
    reach = 12 * np.exp(log_scales)
    grid = torch.linspace(
        float((means - reach).min()), float((means + reach).max()), 20001, dtype=torch.float64
    )
    total = torch.trapezoid(mixture(raw).log_prob(grid).exp(), grid)
    assert total.item() == pytest.approx(1, abs=1e-9)


@law
@given(raw_parameters(), st.floats(-20, 20))
def test_cdf_has_the_density_as_its_derivative(raw, place):
    z = torch.tensor(place, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(mixture(raw).cdf(z), z)
    torch.testing.assert_close(
        slope, mixture(raw).log_prob(z.detach()).exp(), rtol=1e-9, atol=1e-300
    )


def quantile_slopes(raw, z, step=1e-6):
    """d z / d parameter by central differences of the quantile function, F(z) held fixed.

    Works with the logarithm of the smaller of F and 1 - F, so that it holds far out in both tails.
    """

    def log_area(raw, z, side):
        logits, means, log_scales = raw
        return logsumexp(log_softmax(logits) + log_ndtr(side * (z - means) * np.exp(-log_scales)))

    side = 1 if log_area(raw, z, 1) < log_area(raw, z, -1) else -1
    level = log_area(raw, z, side)

    def quantile(raw):
        return brentq(
            lambda q: log_area(raw, q, side) - level, z - 0.5, z + 0.5, xtol=1e-13, rtol=1e-14
        )

    slopes = np.empty_like(raw)
    for place in np.ndindex(raw.shape):
        nudge = np.zeros_like(raw)
        nudge[place] = step
        slopes[place] = (quantile(raw + nudge) - quantile(raw - nudge)) / (2 * step)
    return slopes


def sample_gradient(raw, z, dtype=torch.float64):
    raw = torch.tensor(raw, dtype=dtype, requires_grad=True)
    logits, means, log_scales = raw
    distribution = GaussianMixture(torch.log_softmax(logits, -1), means, log_scales)
    (gradient,) = torch.autograd.grad(
        reparameterised(distribution, torch.tensor(z, dtype=dtype)), raw
    )
    return gradient.double().numpy()


@law
@given(raw_parameters(reach=1.5, smallest_scale=0.7), st.floats(-6, 6))
def test_sample_gradient_is_that_of_the_quantile(raw, z):
    np.testing.assert_allclose(
        sample_gradient(raw, z), quantile_slopes(raw, z), rtol=1e-5, atol=1e-6
    )


THREE = np.array([[0.3, -0.5, 0.9], [-1.0, 0.2, 1.5], [-0.3, 0.1, -0.2]])


@pytest.mark.parametrize("z", [-60.0, -30.0, -15.0, -9.0, 9.0, 15.0, 30.0, 60.0])
def test_sample_gradient_is_that_of_the_quantile_far_out_in_both_tails(z):
    """8 to 70 standard deviations from every component, where 1 - F is 0 in double precision."""
    expected = quantile_slopes(THREE, z)
    np.testing.assert_allclose(sample_gradient(THREE, z), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        sample_gradient(THREE, z, torch.float32), expected, rtol=5e-3, atol=1e-4
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tails_stay_finite(dtype):
    raw = torch.tensor(
        np.stack([THREE[0], THREE[1], [-6.9, 0.1, 3.0]]), dtype=dtype, requires_grad=True
    )
    logits, means, log_scales = raw
    distribution = GaussianMixture(torch.log_softmax(logits, -1), means, log_scales)
    for z in (-1e4, 1e4):
        value = torch.tensor(z, dtype=dtype, requires_grad=True)
        log_prob = distribution.log_prob(value)
        assert log_prob.isfinite()
        for gradient in torch.autograd.grad(log_prob, (value, raw), retain_graph=True):
            assert gradient.isfinite().all()
        (gradient,) = torch.autograd.grad(
            reparameterised(distribution, value.detach()), raw, retain_graph=True
        )
        assert gradient.isfinite().all()
    # Farther out is less likely, by the amount the widest component says.
    width = math.exp(3.0)
    near, far = (distribution.log_prob(torch.tensor(z, dtype=dtype)).item() for z in (5e3, 1e4))
    assert far - near == pytest.approx((5e3**2 - 1e4**2) / (2 * width**2), rel=1e-2)


@pytest.mark.parametrize(
    "raw", [THREE, THREE[:, :1], np.array([[-4.0, 4.0], [-2.0, 2.0], [-3.0, 0.5]])]
)
def test_picks_follow_the_distribution(raw):
    generator = torch.Generator().manual_seed(0)
    noise = {"generator": generator, "dtype": torch.float64}
    rows = 20_000
    one = mixture(raw)
    many = GaussianMixture(
        *(part.expand(rows, -1) for part in (one.log_weights, one.means, one.log_scales))
    )
    picks = many.pick(torch.rand(rows, **noise), torch.randn(rows, **noise))
    p_value = kstest(picks.numpy(), lambda z: one.cdf(torch.as_tensor(z)).numpy()).pvalue
    assert p_value > 1e-3


@law
@given(raw_parameters(), st.integers(0, 2**32 - 1))
def test_pick_takes_the_component_in_which_the_uniform_number_falls(raw, seed):
    uniform = np.random.default_rng(seed).random()
    weights = np.exp(log_softmax(raw[0]))
    component = int(np.searchsorted(np.cumsum(weights)[:-1], uniform))
    picked = mixture(raw).pick(
        torch.tensor(uniform, dtype=torch.float64), torch.tensor(1.5, dtype=torch.float64)
    )
    assert picked.item() == pytest.approx(
        raw[1, component] + 1.5 * np.exp(raw[2, component]), rel=1e-12
    )
