"""What DDLK minimises: negative log-likelihood (stage 1) and swap divergence with entropy term (stage 2)."""

from __future__ import annotations

from torch import Tensor

from knockoffs.density.density import AutoregressiveDensity
from knockoffs.density.swaps import swap


def negative_log_likelihood(q_joint: AutoregressiveDensity, x: Tensor) -> Tensor:
    r"""$-\log \hat q_\text{joint}(x)$ per row."""
    return -q_joint.log_prob(x)


def swap_loss(
    q_joint: AutoregressiveDensity,
    q_knockoff: AutoregressiveDensity,
    x: Tensor,
    x_tilde: Tensor,
    mask: Tensor,
    entropy: float = 0.0,
    *,
    joint: Tensor | None = None,
    knockoff: Tensor | None = None,
) -> Tensor:
    r"""The integrand of the DDLK objective, per row, for the swap H that `mask` stands for.

    $\log \frac{\hat q_\text{joint}(x)\, \hat q_\text{knockoff}(\tilde x \mid x)^{1+\lambda}}
    {\hat q_\text{joint}(u)\, \hat q_\text{knockoff}(\tilde u \mid u)}$ with
    $[u, \tilde u] = [x, \tilde x]_{\text{swap}(H)}$ and λ = `entropy`. With λ = 0 its mean over
    draws is the Kullback-Leibler divergence implied by the swap property: 0 for exact knockoffs. `joint` and
    `knockoff` are $\log \hat q_\text{joint}(x)$ and $\log \hat q_\text{knockoff}(\tilde x \mid x)$ where they
    are known already.
    """
    u, u_tilde = swap(x, x_tilde, mask)
    joint = q_joint.log_prob(x) if joint is None else joint
    knockoff = q_knockoff.log_prob(x_tilde, x) if knockoff is None else knockoff
    swapped_joint, swapped_knockoff = q_joint.log_prob(u), q_knockoff.log_prob(u_tilde, u)
    return joint + (1 + entropy) * knockoff - swapped_joint - swapped_knockoff
