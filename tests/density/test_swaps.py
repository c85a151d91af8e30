"""Laws of swaps and of the ways to choose them."""

import pytest
import torch
from hypothesis import given, settings, strategies as st

from knockoffs.density.stages import swap_loss
from knockoffs.density.starts import LinearConditionals, start_density
from knockoffs.density.swaps import SWAPS, GumbelSwaps, UniformSwaps, WorstSwaps, swap

law = settings(max_examples=25, deadline=None, derandomize=True, database=None)
tables = st.integers(0, 2**32 - 1).map(lambda seed: _tables(seed))


def _tables(seed):
    generator = torch.Generator().manual_seed(seed)
    x, x_tilde, coins = torch.randn(3, 4, 5, generator=generator, dtype=torch.float64).unbind()
    return 10 * x, 10 * x_tilde, (coins > 0).double()


def assert_same(first, second):
    torch.testing.assert_close(first, second, rtol=0, atol=1e-13)


@law
@given(tables)
def test_swapping_twice_changes_nothing(case):
    x, x_tilde, mask = case
    again = swap(*swap(x, x_tilde, mask), mask)
    assert_same(again[0], x)
    assert_same(again[1], x_tilde)


@law
@given(tables)
def test_swap_exchanges_where_the_mask_is_one_and_only_there(case):
    x, x_tilde, mask = case
    u, u_tilde = swap(x, x_tilde, mask)
    assert_same(u, torch.where(mask == 1, x_tilde, x))
    assert_same(u_tilde, torch.where(mask == 1, x, x_tilde))
    assert torch.equal(
        torch.stack(swap(x, x_tilde, torch.zeros_like(x))), torch.stack([x, x_tilde])
    )
    assert_same(torch.stack(swap(x, x_tilde, torch.ones_like(x))), torch.stack([x_tilde, x]))


@law
@given(tables)
def test_complementary_swaps_make_a_full_exchange(case):
    x, x_tilde, mask = case
    u, u_tilde = swap(*swap(x, x_tilde, mask), 1 - mask)
    assert_same(torch.stack([u, u_tilde]), torch.stack([x_tilde, x]))


def _binary_share(mask):
    return ((mask == 0) | (mask == 1)).double().mean().item()


@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("kind", SWAPS)
def test_masks_are_binary(kind, temperature):
    generator = torch.Generator().manual_seed(0)
    assert _binary_share(SWAPS[kind](50)(400, generator=generator, temperature=temperature)) == 1


def test_uniform_masks_are_fair_coins():
    mask = UniformSwaps(50)(2000, generator=torch.Generator().manual_seed(0))
    assert _binary_share(mask) == 1
    standard_error = 0.5 / 2000**0.5
    assert (mask.mean(0) - UniformSwaps(50).probability()).abs().max() < 4.5 * standard_error


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_gumbel_masks_have_the_stated_probability(temperature):
    swaps = GumbelSwaps(4)
    with torch.no_grad():
        swaps.logits.copy_(torch.tensor([-3.0, -0.5, 1.0, 2.5]))
    mask = swaps(
        20_000, generator=torch.Generator().manual_seed(1), temperature=temperature
    ).detach()
    probability = swaps.probability()
    standard_error = (probability * (1 - probability) / 20_000).sqrt()
    assert ((mask.mean(0) - probability).abs() < 4 * standard_error).all()


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_gradient_in_the_logits_is_that_of_the_relaxation(temperature):
    swaps = GumbelSwaps(3).double()
    with torch.no_grad():
        swaps.logits.copy_(torch.tensor([-1.0, 0.0, 2.0]))
    cotangent = torch.randn(100, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mask = swaps(100, generator=torch.Generator().manual_seed(1), temperature=temperature)
    (gradient,) = torch.autograd.grad((cotangent * mask).sum(), swaps.logits)
    uniform = torch.rand(100, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def relaxed(logits):
        return (cotangent * torch.sigmoid((logits + torch.logit(uniform)) / temperature)).sum()

    step = 1e-6 * torch.eye(3, dtype=torch.float64)
    logits = swaps.logits.detach()
    expected = torch.stack([(relaxed(logits + h) - relaxed(logits - h)) / 2e-6 for h in step])
    torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-6)
    assert (gradient != 0).all()


def independent_columns(scale, *, context):
    """Columns independent of each other and of the context, N(0, scale²) each."""
    features = len(scale)
    slope, intercept = torch.zeros(1, features, context + features), torch.zeros(1, features)
    start = LinearConditionals(slope, intercept, scale[None], slope, intercept, slope, intercept)
    return start_density(
        start, components=1, hidden=(4,), generator=torch.Generator()
    ).requires_grad_(False)


def climb(kind, *, broken_scale, broken, features, steps, seed):
    """Logits after gradient ascent on the swap loss of knockoffs that are exact in all columns but
    one.
    """
    generator = torch.Generator().manual_seed(seed)
    scale = torch.ones(features)
    scale[broken] = broken_scale
    q_joint = independent_columns(torch.ones(features), context=0)
    q_knockoff = independent_columns(scale, context=features)
    swaps = kind(features)
    optimiser = torch.optim.Adam(swaps.parameters(), lr=0.02, maximize=True)
    for _ in range(steps):
        x, noise = torch.randn(2, 256, features, generator=generator)
        mask = swaps(256, generator=generator)
        optimiser.zero_grad()
        swap_loss(q_joint, q_knockoff, x, scale * noise, mask).mean().backward()
        optimiser.step()
    return swaps.logits.detach()


@pytest.mark.parametrize("broken_scale", [0.5, 2.0])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("kind", "steps"), [(GumbelSwaps, 60), (WorstSwaps, 60), (WorstSwaps, 400)]
)
def test_maximising_finds_the_broken_coordinate(kind, broken_scale, seed, steps):
    logits = climb(kind, broken_scale=broken_scale, broken=2, features=5, steps=steps, seed=seed)
    others = logits[[0, 1, 3, 4]]
    assert logits[2] > 0.5
    assert logits[2] > others.max()


def test_maximising_leaves_sound_coordinates_near_a_fair_coin():
    """Whether they are swapped makes no difference to the loss,
    so nothing should drive their logits away.

    The paper's straight-through gradient does drive them away in the long run; that is why there is
    `WorstSwaps`.
    """
    logits = climb(WorstSwaps, broken_scale=2.0, broken=2, features=5, steps=400, seed=0)
    assert logits[[0, 1, 3, 4]].abs().max() < 0.5 * logits[2]


def test_the_worst_swaps_gradient_is_the_difference_between_swapped_and_not():
    """Exactly so for a loss that is quadratic in the mask, at any probability."""
    swaps = WorstSwaps(1).double()
    with torch.no_grad():
        swaps.logits.fill_(1.0)
    mask = swaps(200_000, generator=torch.Generator().manual_seed(0))
    (3 * mask - 2 * mask.square()).mean().backward()  # 0 where not swapped, 1 where swapped
    probability = torch.sigmoid(torch.tensor(1.0))
    assert swaps.logits.grad.item() == pytest.approx(
        (probability * (1 - probability)).item(), rel=0.01
    )


def test_worst_swaps_go_on_learning_at_the_edge() -> None:
    swaps = WorstSwaps(2)
    with torch.no_grad():
        swaps.logits.copy_(torch.tensor([-4.0, 4.0]))
    mask = swaps(1000, generator=torch.Generator().manual_seed(0))
    mask.sum().backward()
    assert (swaps.logits.grad > 0).all()
    assert ((mask.mean(0) - torch.tensor([0.1, 0.9])).abs() < 0.05).all()
