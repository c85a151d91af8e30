"""The stacked engine agrees with the plain one-network-per-column loop on the same weights."""

import torch

from benchmarks.reference import PlainDensity, swap_step
from knockoffs.density.density import AutoregressiveDensity, Noise
from knockoffs.density.stages import swap_loss
from knockoffs.density.swaps import GumbelSwaps


def pair(context: int, seed: int) -> tuple[AutoregressiveDensity, PlainDensity]:
    generator = torch.Generator().manual_seed(seed)
    stacked = AutoregressiveDensity(
        5, components=5, hidden=(50, 50, 50), generator=generator, context=context
    ).double()
    plain = PlainDensity(5, context=context).double()
    plain.copy_from(stacked)
    return stacked, plain


def test_densities_draws_and_losses_are_the_same() -> None:
    (q_joint, plain_joint), (q_knockoff, plain_knockoff) = pair(0, 0), pair(5, 1)
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(20, 5, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(plain_joint.log_prob(x), q_joint.log_prob(x))
    noise = Noise.draw(20, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    torch.testing.assert_close(
        plain_knockoff.rsample(noise, x), q_knockoff.rsample_with_log_prob(noise, x)[0]
    )

    swaps = GumbelSwaps(5).double()
    plain_loss = swap_step(plain_joint, plain_knockoff, swaps, x, torch.Generator().manual_seed(3))
    generator = torch.Generator().manual_seed(3)
    noise = Noise.draw(20, 5, generator=generator, dtype=torch.float64)
    x_tilde = q_knockoff.rsample_with_log_prob(noise, x)[0]
    loss = swap_loss(
        q_joint, q_knockoff, x, x_tilde, swaps(20, generator=generator), entropy=0.1
    ).mean()
    torch.testing.assert_close(plain_loss, loss)

    (by_bias,) = torch.autograd.grad(loss, q_knockoff.mlp.layers[-1].bias, retain_graph=True)
    plain_by_bias = torch.autograd.grad(
        plain_loss, [c.last.bias for c in plain_knockoff.conditionals]
    )
    torch.testing.assert_close(torch.stack(plain_by_bias), by_bias[:, :, 0])
