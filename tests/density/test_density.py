"""Laws of the autoregressive density."""

import json
import math

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, logsumexp

from benchmarks.reference import reparameterised
from knockoffs.density.density import AutoregressiveDensity, Noise, Views
from knockoffs.density.gradients import solve_in_blocks, solve_in_rounds
from knockoffs.density.stages import negative_log_likelihood, swap_loss
from knockoffs.density.starts import LinearConditionals, start_density
from knockoffs.density.swaps import GumbelSwaps

VIEWS = [None, Views(seen=3, skipped=4)]


def random_density(features=4, *, context=0, views=None, components=2, hidden=(7, 6), seed=0):
    """In double precision, with random numbers in every weight and buffer,
    so that none can be left out.
    """
    generator = torch.Generator().manual_seed(seed)
    density = AutoregressiveDensity(
        features,
        components=components,
        hidden=hidden,
        generator=generator,
        context=context,
        views=views,
    ).double()
    with torch.no_grad():
        density.bias.normal_(generator=generator)
        density.routes.normal_(std=0.5, generator=generator)
        density.unit.uniform_(0.5, 1.5, generator=generator)
        # Log scales that follow the inputs steeply would make chains of wide columns that run to
        # infinity.
        density.routes[:, 2 * components :] *= 0.1
        density.mlp.layers[-1].weight[:, 2 * components :] *= 0.1
    return density


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def noise(rows, features, seed=0):
    return Noise.draw(
        rows, features, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def parameters_of(density, y, context):
    conditionals = density(y, context)
    return torch.stack([conditionals.log_weights, conditionals.means, conditionals.log_scales])


@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("context", [0, 3])
def test_conditional_sees_all_earlier_columns_and_no_others(views, context):
    density = random_density(4, context=context, views=views)
    y = normal(8, 4)
    c = normal(8, context, seed=1) if context else None
    # [parameter, row, column j, component, row, input k]
    by_y = torch.autograd.functional.jacobian(lambda y: parameters_of(density, y, c), y)
    strength = by_y.abs().amax(dim=(0, 1, 3, 4))
    later = torch.ones(4, 4).triu().bool()
    assert (strength[later] == 0).all()
    assert (strength[~later] > 0).all()
    if c is not None:
        by_context = torch.autograd.functional.jacobian(lambda c: parameters_of(density, y, c), c)
        assert (by_context.abs().amax(dim=(0, 1, 3, 4)) > 0).all()


def one_network_at_a_time(density, y, context):
    """log q(y | context) by plain loops over rows and columns."""
    weights = {name: value.numpy() for name, value in density.state_dict().items()}
    layers = len(density.mlp.layers)
    components = density.head.components
    log_prob = np.zeros(len(y))
    for row in range(len(y)):
        for j in range(density.features):
            allowed = np.concatenate([context[row] if context is not None else [], y[row, :j]])
            projected = weights["weight"][j, :, : len(allowed)] @ allowed + weights["bias"][j, :, 0]
            seen, skipped = projected[: density.split.seen], projected[density.split.seen :]
            if "first.weight" in weights:
                seen = (
                    weights["first.weight"][j] @ np.clip(seen, -5, 5)
                    + weights["first.bias"][j, :, 0]
                )
            for layer in range(layers):
                weight, bias = (
                    weights[f"mlp.{layer}.weight"][j],
                    weights[f"mlp.{layer}.bias"][j, :, 0],
                )
                seen = weight @ np.maximum(seen, 0) + bias
            logits, means, log_scales = (seen + skipped @ weights["routes"]).reshape(3, components)
            unit = weights["unit"][j, :, 0]
            means = means * unit
            log_scales = np.maximum(log_scales, math.log(density.head.smallest_scale)) + np.log(
                unit
            )
            t = (y[row, j] - means) / np.exp(log_scales)
            parts = log_softmax(logits) - t**2 / 2 - log_scales - 0.5 * math.log(2 * math.pi)
            log_prob[row] += logsumexp(parts)
    return log_prob


@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("context", [0, 3])
@pytest.mark.parametrize("hidden", [(5,), (7, 6, 5)])
def test_stacked_networks_equal_one_network_at_a_time(views, context, hidden):
    density = random_density(4, context=context, views=views, hidden=hidden)
    y = 4 * normal(6, 4)  # some projections beyond what the networks may see
    c = 4 * normal(6, context, seed=1) if context else None
    expected = one_network_at_a_time(density, y.numpy(), None if c is None else c.numpy())
    np.testing.assert_allclose(density.log_prob(y, c).detach().numpy(), expected, rtol=1e-11)


@pytest.mark.parametrize("views", VIEWS)
def test_a_row_does_not_depend_on_its_batch(views):
    density = random_density(4, context=3, views=views)
    y, c = normal(6, 4), normal(6, 3, seed=1)
    one_by_one = torch.cat([density.log_prob(y[i : i + 1], c[i : i + 1]) for i in range(6)])
    torch.testing.assert_close(density.log_prob(y, c), one_by_one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("context", [0, 2])
def test_total_density_integrates_to_one(views, context):
    density = random_density(2, context=context, views=views)
    with torch.no_grad():
        conditionals = density(torch.zeros(1, 2).double(), normal(1, context) if context else None)
        centre, reach = (
            float(conditionals.means[0, 0].mean()),
            12 * float(conditionals.log_scales[0, 0].exp().max()),
        )
        first = torch.linspace(centre - reach, centre + reach, 401, dtype=torch.float64)
        second = torch.linspace(-80, 80, 1601, dtype=torch.float64)
        grid = torch.cartesian_prod(first, second)
        log_prob = density.log_prob(
            grid, normal(1, context).expand(len(grid), -1) if context else None
        )
        total = torch.trapezoid(torch.trapezoid(log_prob.exp().view(401, 1601), second), first)
    assert total.item() == pytest.approx(1, abs=1e-5)


def test_no_component_collapses_onto_one_value():
    density = random_density(1, components=1)
    with torch.no_grad():
        density.mlp.layers[-1].bias[:, 2:] = -1e3  # log scales
        mode = density(torch.zeros(1, 1).double()).means[:, :, 0]
        at_mode, beside = (
            density.log_prob(mode),
            density.log_prob(mode + density.head.smallest_scale),
        )
    narrowest = math.log(density.head.smallest_scale * density.unit.item())
    assert at_mode.item() == pytest.approx(-narrowest - 0.5 * math.log(2 * math.pi))
    assert beside < at_mode


@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("context", [0, 3])
def test_draws_in_rounds_equal_draws_in_order(views, context):
    features = 12
    density = random_density(features, context=context, views=views)
    drawn = noise(600, features)  # more than are drawn together
    c = normal(600, context, seed=1) if context else None
    with torch.no_grad():
        in_order = density._sample_in_order(drawn, c)
        for check_every in (1, 8, 100):
            in_rounds = density._sample_in_rounds(drawn, c, check_every=check_every)
            torch.testing.assert_close(in_rounds, in_order, rtol=1e-10, atol=1e-10)
            assert torch.equal(density._sample_as_before(drawn, c), in_rounds)


def test_gradients_in_rounds_equal_gradients_in_order():
    """Both solve (I - J)ᵀ v = g with the strictly lower triangular J of slopes and weights."""
    count = 40  # more than are solved for together
    weight, slopes, gradient = (
        normal(count, 3, count),
        normal(count, 3, 20, seed=1),
        normal(count, 20, seed=2),
    )
    weight = 0.1 * weight * torch.ones(count, count).tril(-1).unsqueeze(1)
    in_order = solve_in_blocks(gradient, slopes, weight)
    jacobian = torch.einsum("jpn,jpi->nji", slopes, weight)
    identity = torch.eye(count, dtype=torch.float64)
    expected = torch.linalg.solve((identity - jacobian).mT, gradient.T.unsqueeze(-1)).squeeze(-1).T
    torch.testing.assert_close(in_order, expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(
        solve_in_rounds(gradient, slopes, weight, rounds=count - 1),
        in_order,
        rtol=1e-10,
        atol=1e-10,
    )


@pytest.mark.parametrize("views", VIEWS)
def test_draws_follow_the_density(views):
    """F_j(y_j | y_<j, c) of a draw is uniform and independent of the columns before it."""
    density = random_density(4, context=3, views=views)
    c = normal(1, 3).expand(5000, -1)
    with torch.no_grad():
        y = density.sample(noise(5000, 4), c)
        uniform = density(y, c).cdf(y)
    distance = (uniform.sort(0).values - torch.linspace(0, 1, 5000).double()[:, None]).abs().amax(0)
    assert (distance < 1.95 / 5000**0.5).all()  # Kolmogorov-Smirnov at 0.1 %
    correlation = torch.corrcoef(torch.special.ndtri(uniform).T) - torch.eye(4)
    assert correlation.abs().max() < 4 / 5000**0.5


@pytest.mark.parametrize("views", VIEWS)
def test_same_noise_same_draw_and_no_graph(views):
    density = random_density(4, context=3, views=views)
    c = normal(10, 3)
    first, second = density.sample(noise(10, 4), c), density.sample(noise(10, 4), c)
    assert torch.equal(first, second)
    assert not first.requires_grad
    assert torch.equal(density.rsample_with_log_prob(noise(10, 4), c)[0].detach(), first)
    assert not torch.equal(first, density.sample(noise(10, 4, seed=1), c))


def sequential_rsample(density, drawn, context):
    """Column after column, each with the gradient of its own mixture,
    the graph going through all of them.
    """
    rows, features = drawn.normal.shape
    columns = []
    for j in range(features):
        y = torch.stack([*columns, *[torch.zeros(rows).double()] * (features - j)], dim=1)
        conditionals = density(y, context)
        one = type(conditionals)(
            conditionals.log_weights[:, j], conditionals.means[:, j], conditionals.log_scales[:, j]
        )
        with torch.no_grad():
            value = one.pick(drawn.uniform[:, j], drawn.normal[:, j])
        s = reparameterised(one, value)
        columns.append(value + s - s.detach())
    return torch.stack(columns, dim=1)


def assert_same_gradients(loss_of, sampler_density, wanted):
    """`loss_of(rsample)` has the same gradients in `wanted` with the density's and with the
    sequential sampler.
    """
    quick = torch.autograd.grad(
        loss_of(lambda n, c: sampler_density.rsample_with_log_prob(n, c)[0]), wanted
    )
    slow = torch.autograd.grad(
        loss_of(lambda n, c: sequential_rsample(sampler_density, n, c)), wanted
    )
    for a, b in zip(quick, slow, strict=True):
        assert b.abs().max() > 0
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10 * b.abs().max().item())


@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("context", [0, 3])
def test_gradient_of_a_draw_is_that_of_the_sequential_sampler(views, context):
    density = random_density(5, context=context, views=views, components=3)
    c = normal(20, context, seed=1).requires_grad_() if context else None
    cotangent = normal(20, 5, seed=2)
    wanted = [*density.parameters(), *([] if c is None else [c])]
    assert_same_gradients(
        lambda rsample: (cotangent * rsample(noise(20, 5), c).sin()).sum(), density, wanted
    )


@pytest.mark.parametrize("views", VIEWS)
def test_gradient_of_the_swap_loss_is_that_of_the_sequential_sampler(views):
    q_joint = random_density(5, views=views, seed=1).requires_grad_(False)
    q_knockoff = random_density(5, context=5, views=views, seed=2)
    swaps = GumbelSwaps(5).double()
    x = normal(20, 5)

    def loss(rsample):
        x_tilde = rsample(noise(20, 5), x)
        mask = swaps(20, generator=torch.Generator().manual_seed(3))
        return swap_loss(q_joint, q_knockoff, x, x_tilde, mask, entropy=0.1).mean()

    assert_same_gradients(loss, q_knockoff, [*q_knockoff.parameters(), swaps.logits])


@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("hidden", [(5,), (7, 6, 5)])
def test_gradients_that_are_written_out_are_those_of_autograd(views, hidden):
    """Of the log-density alone, and of a draw together with its own log-density."""
    density = random_density(20, context=3, views=views, components=3, hidden=hidden)
    y, c, row = (
        (4 * normal(30, 20)).requires_grad_(),
        normal(30, 3, seed=1).requires_grad_(),
        normal(30, seed=2),
    )
    wanted = [*density.parameters(), y, c]
    quick = torch.autograd.grad((row * density.log_prob(y, c)).sum(), wanted)
    slow = torch.autograd.grad((row * density(y, c).log_prob(y).sum(-1)).sum(), wanted)
    for a, b in zip(quick, slow, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9 * b.abs().max().item())

    drawn, wanted = noise(30, 20), [*density.parameters(), c]
    x_tilde, log_prob = density.rsample_with_log_prob(drawn, c)
    quick = torch.autograd.grad((x_tilde.sin().sum(1) + row * log_prob).sum(), wanted)
    x_tilde = density.rsample_with_log_prob(drawn, c)[0]
    slow = torch.autograd.grad(
        (x_tilde.sin().sum(1) + row * density(x_tilde, c).log_prob(x_tilde).sum(-1)).sum(), wanted
    )
    for a, b in zip(quick, slow, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9 * b.abs().max().item())


def test_gradient_of_a_gaussian_draw_is_that_of_its_formula():
    """With one component y = mean + scale · noise in each column,
    which autograd can differentiate itself.
    """
    density = random_density(4, context=3, components=1, views=Views(seen=3, skipped=2))
    c, drawn, cotangent = normal(20, 3, seed=1), noise(20, 4), normal(20, 4, seed=2)
    columns = []
    for j in range(4):
        y = torch.stack([*columns, *[torch.zeros(20).double()] * (4 - j)], dim=1)
        conditionals = density(y, c)
        mean, scale = conditionals.means[:, j, 0], conditionals.log_scales[:, j, 0].exp()
        columns.append(mean + scale * drawn.normal[:, j])
    # The logits of a single component change nothing.
    wanted = list(density.parameters())
    expected = torch.autograd.grad((cotangent * torch.stack(columns, 1)).sum(), wanted)
    found = torch.autograd.grad(
        (cotangent * density.rsample_with_log_prob(drawn, c)[0]).sum(), wanted
    )
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10 * b.abs().max().item())


def train_a_little(density, x, context=None, steps=6):
    """Which entries of each parameter a few steps of Adam on the likelihood have moved."""
    before = {name: p.detach().clone() for name, p in density.named_parameters()}
    optimiser = torch.optim.Adam(density.parameters(), lr=1e-3)
    for _ in range(steps):
        optimiser.zero_grad()
        (-density.log_prob(x, context)).mean().backward()
        optimiser.step()
    return {name: p.detach() != before[name] for name, p in density.named_parameters()}


@pytest.mark.parametrize("views", VIEWS)
def test_training_moves_every_weight_that_is_not_masked(views):
    generator = torch.Generator().manual_seed(1)
    density = AutoregressiveDensity(
        4, components=2, hidden=(20, 20), generator=generator, context=3, views=views
    ).double()
    moved = train_a_little(density, normal(200, 4), normal(200, 3, seed=1))
    masked = (density.mask == 0).expand_as(density.weight)
    assert not moved["weight"][masked].any()
    # A unit that is off in all rows does not move, but most of every network does.
    assert moved.pop("weight")[~masked].double().mean() > 0.9
    for name, entries in moved.items():
        assert (entries.flatten(1).double().mean(1) > 0.5).all(), name


def test_training_moves_every_weight_of_a_linear_start():
    """The last layer begins at 0, so the layers before it stand still in the first step,
    and only then.
    """
    shape, generator = (1, 4, 7), torch.Generator().manual_seed(0)
    slope = 0.3 * torch.randn(shape, generator=generator)
    slope[..., 3:] = slope[..., 3:].tril(-1)
    ones = torch.ones(1, 4)
    start = LinearConditionals(slope, ones, ones, torch.zeros(shape), 0 * ones, slope, ones)
    density = start_density(start, components=3, hidden=(20, 20), generator=generator)
    x, context = normal(200, 4).float(), normal(200, 3, seed=1).float()
    moved = train_a_little(density, x, context, steps=1)
    assert not moved["first.weight"].any()
    assert moved["mlp.1.weight"].any()
    moved = train_a_little(density, x, context)
    masked = (density.mask == 0).expand_as(density.weight)
    assert not moved["weight"][masked].any()
    # Projection 1 is the logit that all components share: no matter what it says, they keep their
    # weights.
    assert moved.pop("weight")[:, [0, 2]][~masked[:, [0, 2]]].all()
    for name, entries in moved.items():
        assert entries.flatten(1).any(1).all() if name != "bias" else entries[:, [0, 2]].all(), name


@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("context", [0, 3])
def test_shape_and_weights_make_the_same_density_again(views, context):
    density = random_density(4, context=context, views=views, components=3, hidden=(7, 6, 5))
    shape = json.loads(json.dumps(density.shape()))
    again = AutoregressiveDensity.of_shape(shape).double()
    y, c = normal(6, 4), normal(6, context, seed=1) if context else None
    assert not torch.equal(again.log_prob(y, c), density.log_prob(y, c))
    again.load_state_dict(density.state_dict())
    assert again.shape() == density.shape()
    assert torch.equal(again.log_prob(y, c), density.log_prob(y, c))
    assert torch.equal(again.sample(noise(6, 4), c), density.sample(noise(6, 4), c))


def test_only_the_given_generator_is_used():
    before = torch.random.get_rng_state()
    first, second, other = (random_density(seed=seed) for seed in (0, 0, 1))
    drawn = first.sample(noise(5, 4))
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.equal(drawn, second.sample(noise(5, 4)))
    assert not torch.equal(drawn, other.sample(noise(5, 4)))


def test_likelihood_of_training_is_minus_the_log_density():
    density = random_density(3)
    y = normal(5, 3)
    expected = -one_network_at_a_time(density, y.numpy(), None)
    np.testing.assert_allclose(
        negative_log_likelihood(density, y).detach().numpy(), expected, rtol=1e-11
    )
