"""Laws of the densities that training begins at."""

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm

from knockoffs.density.density import Noise
from knockoffs.density.starts import (
    LinearConditionals,
    network_weights,
    random_density,
    start_density,
)

D = 4


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(
        torch.get_default_dtype()
    )


def linear_conditionals(clusters, *, context, seed=0):
    """Random ones, with every coefficient that may differ from 0 in use."""

    def slopes(count, seed):
        slope = normal(count, D, context + D, seed=seed) / 2
        slope[..., context:] = slope[..., context:].tril(-1)
        return slope

    return LinearConditionals(
        slopes(clusters, seed),
        normal(clusters, D, seed=seed + 1),
        (normal(clusters, D, seed=seed + 2) / 2).exp(),
        slopes(clusters, seed + 3),
        normal(clusters, D, seed=seed + 4),
        slopes(2, seed + 5),
        normal(2, D, seed=seed + 6),
    )


def begin(start, components, hidden=(8, 6)):
    return start_density(
        start, components=components, hidden=hidden, generator=torch.Generator().manual_seed(0)
    )


def inputs(context, rows=200):
    return 2 * normal(rows, D, seed=10), normal(rows, context, seed=11) if context else None


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("context", [0, 3])
def test_linear_conditionals_are_what_they_say(context):
    """Their density by plain loops, from the formula alone."""
    start = linear_conditionals(3, context=context)
    y, c = inputs(context, rows=20)
    found = start.log_prob(y, c)
    for row in range(len(y)):
        given = y[row].numpy() if c is None else np.concatenate([c[row].numpy(), y[row].numpy()])
        expected = 0.0
        for j in range(D):
            mean = start.slope[:, j].numpy() @ given + start.intercept[:, j].numpy()
            logit = start.logit_slope[:, j].numpy() @ given + start.logit_intercept[:, j].numpy()
            expected += logsumexp(
                log_softmax(logit) + norm.logpdf(y[row, j], mean, start.scale[:, j].numpy())
            )
        assert found[row].item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("context", [0, 3])
@pytest.mark.parametrize(("clusters", "components"), [(1, 1), (2, 2), (3, 3), (2, 3), (3, 1)])
def test_with_one_component_a_cluster_the_density_is_exactly_its_start(
    context, clusters, components
):
    start = linear_conditionals(clusters, context=context)
    y, c = inputs(context)
    torch.testing.assert_close(
        begin(start, components).log_prob(y, c), start.log_prob(y, c), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("context", [0, 3])
def test_single_precision_is_enough(context):
    start = linear_conditionals(2, context=context)
    y, c = inputs(context)
    exact = start.log_prob(y.double(), None if c is None else c.double()).float()
    torch.testing.assert_close(begin(start, 2).log_prob(y, c), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("context", [0, 3])
@pytest.mark.parametrize(("clusters", "components"), [(1, 5), (2, 10), (1, 3)])
def test_several_components_a_cluster_are_close_to_its_start(context, clusters, components):
    """Within 1e-3 nats a column on average, on rows of the density itself."""
    start = linear_conditionals(clusters, context=context)
    density = begin(start, components)
    assert density.head.components == components
    c = normal(20_000, context, seed=11) if context else None
    noise = Noise.draw(20_000, D, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y = density.sample(noise, c)
    with torch.no_grad():
        difference = density.log_prob(y, c) - start.log_prob(y, c)
    assert abs(difference.mean().item()) < 1e-3 * D
    assert difference.abs().mean() < 1e-2 * D
    # The components are apart, so that training can tell them apart.
    means = density(y[:1], None if c is None else c[:1]).means[0].sort(-1).values
    assert (means.diff(dim=-1) > 1e-3).all()


def alike(weight):
    return torch.equal(weight, weight[:1].expand_as(weight))


def test_network_weights_and_projections_are_all_there_is():
    for density in (begin(linear_conditionals(2, context=3), 4), random_start()):
        parts = {id(p) for p in network_weights(density)}
        projections = {id(density.weight), id(density.bias)}
        assert not parts & projections
        assert parts | projections == {id(p) for p in density.parameters()}


LOW, HIGH = torch.tensor([-3.0, 0.0, 10.0]), torch.tensor([3.0, 1.0, 110.0])


def random_start(components=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return random_density(LOW, HIGH, components=components, hidden=(20, 20), generator=generator)


@pytest.mark.parametrize("components", [1, 2, 5])
def test_random_density_has_modes_evenly_spaced_over_the_support(components):
    """Nearly so for any inputs: the random networks begin almost silent."""
    with torch.no_grad():
        spaced = random_start(components)(normal(50, 3))
    width = (HIGH - LOW) / components
    expected = torch.stack([LOW + (k + 0.5) * width for k in range(components)], dim=-1)
    assert ((spaced.means - expected).abs() < 0.05 * width[:, None]).all()
    assert (spaced.log_scales - width.log()[:, None]).abs().max() < 0.05
    assert (spaced.log_weights.exp() - 1 / components).abs().max() < 0.05


def test_random_densities_cover_the_support():
    """Whatever the seed, draws of the first column fall all over its support and not far beyond
    it.
    """
    seeds, rows = 20, 500
    for seed in range(seeds):
        noise = Noise.draw(
            rows, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float32
        )
        first = (random_start(seed=seed).sample(noise)[:, 0] - LOW[0]) / (HIGH[0] - LOW[0])
        share = torch.histc(first, bins=4, min=0, max=1) / rows
        assert share.min() > 0.05
        assert share.sum() > 0.6


def test_start_says_the_same_for_any_weights_of_its_generator():
    """The networks are silent: their random weights do not show until the last layer has
    learned.
    """
    start = linear_conditionals(2, context=3)
    y, c = inputs(3)
    first, second = (
        start_density(
            start, components=4, hidden=(8, 6), generator=torch.Generator().manual_seed(seed)
        )
        for seed in (0, 1)
    )
    assert not torch.equal(first.first.weight, second.first.weight)
    assert torch.equal(first.log_prob(y, c), second.log_prob(y, c))


def test_narrow_conditionals_are_kept():
    """A column that is nearly a linear function of the others has a tiny scale."""
    start = linear_conditionals(1, context=0)
    narrow = LinearConditionals(
        start.slope,
        start.intercept,
        torch.tensor([[1.0, 1e-4, 1.0, 1e-2]]),
        start.logit_slope,
        start.logit_intercept,
        start.seen_slope,
        start.seen_intercept,
    )
    y = torch.zeros(1, D)
    scales = begin(narrow, 1)(y).log_scales[0, :, 0].exp()
    torch.testing.assert_close(scales, narrow.scale[0], rtol=1e-5, atol=0)
