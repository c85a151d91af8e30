"""Networks that predict a response, one for each feature, trained side by side."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from knockoffs.engine.nn import StackedLinear
from knockoffs.engine.training import Schedule, train

Loss = Callable[[Tensor, Tensor], Tensor]  # outputs [networks, outputs, rows], y [rows] to losses [networks, rows]


def squared_error(outputs: Tensor, y: Tensor) -> Tensor:
    return (outputs[:, 0] - y).square()


def cross_entropy(outputs: Tensor, y: Tensor) -> Tensor:
    return functional.cross_entropy(
        outputs.transpose(0, 2), y.long()[:, None].expand(-1, len(outputs)), reduction="none"
    ).T


class ResponseNetworks(nn.Module):
    """`count` networks with one hidden layer; the inputs are those of all rows, alike for all networks."""

    def __init__(self, count: int, features: int, outputs: int, *, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.hidden = StackedLinear(count, features, width, generator=generator)
        self.last = StackedLinear(count, width, outputs, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs `[networks, outputs, rows]` for rows x."""
        return self.last(torch.relu(self._before(x)))

    def with_own_feature(self, x: Tensor, change: Tensor) -> Tensor:
        """Outputs for each feature j with x_j + change_j in the place of x_j, by network j (or the only one)."""
        weight, features = self.hidden.weight, x.shape[1]
        index = torch.arange(features)
        own = weight[index, :, index] if len(weight) > 1 else weight[0].T  # [d, width]: how x_j enters
        hidden = torch.relu(self._before(x) + own.unsqueeze(-1) * change.T.unsqueeze(1))
        bias, last = (w.expand(features, -1, -1) for w in (self.last.bias, self.last.weight))
        return torch.baddbmm(bias, last, hidden)

    def copies(self, count: int) -> ResponseNetworks:
        """`count` copies of a single network."""
        features, width, outputs = (
            self.hidden.weight.shape[2],
            self.hidden.weight.shape[1],
            self.last.weight.shape[1],
        )
        copied = ResponseNetworks(count, features, outputs, width=width, generator=torch.Generator())
        with torch.no_grad():
            for mine, theirs in zip(copied.parameters(), self.parameters(), strict=True):
                mine.copy_(theirs.expand_as(mine))
        return copied

    def _before(self, x: Tensor) -> Tensor:
        flat = self.hidden.weight.flatten(0, 1) @ x.T
        return flat.view(*self.hidden.weight.shape[:2], len(x)) + self.hidden.bias


def fit_response(
    networks: ResponseNetworks,
    x: Tensor,
    x_tilde: Tensor,
    y: Tensor,
    loss: Loss,
    *,
    mixture: float,
    schedule: Schedule,
    learning_rate: float,
    held_out: Tensor,
    generator: torch.Generator,
) -> None:
    """Fit in place. With `mixture` > 0 network j sees x̃_j for x_j in that share of the rows, anew each time.

    A single network sees every feature so mixed, each by its own coin: the start for the others to learn from, and
    like them it treats x_j and x̃_j alike. `held_out` flags the rows that are kept for early stopping.
    """
    optimiser = torch.optim.Adam(networks.parameters(), lr=learning_rate, fused=True)
    rows, kept = (~held_out).nonzero().squeeze(1), held_out.nonzero().squeeze(1)

    def outputs(index: Tensor, coins: Tensor | None) -> Tensor:
        if coins is None:
            return networks(x[index])
        change = coins * (x_tilde[index] - x[index])
        if len(networks.hidden.weight) == 1:
            return networks(x[index] + change)
        return networks.with_own_feature(x[index], change)

    def toss(count: int) -> Tensor | None:
        if mixture == 0:
            return None
        return (torch.rand(count, x.shape[1], generator=generator) < mixture).to(x.dtype)

    kept_coins = toss(len(kept))

    def step(batch: Tensor, share: float) -> float:
        index = rows[batch]
        value = loss(outputs(index, toss(len(index))), y[index]).mean(1).sum()
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        return value.item()

    @torch.no_grad()
    def validate() -> float:
        return loss(outputs(kept, kept_coins), y[kept]).mean().item()

    train(
        networks,
        stage="response networks",
        rows=len(rows),
        step=step,
        validate=validate,
        schedule=schedule,
        generator=generator,
    )


@torch.no_grad()
def swap_differences(
    networks: ResponseNetworks, base: Tensor, x: Tensor, x_tilde: Tensor, y: Tensor, loss: Loss
) -> Tensor:
    """For each row and feature, the loss with x̃_j in the place of base_j minus that with x_j; `[rows, d]`."""
    parts = []
    for rows in torch.arange(len(x)).split(max(1, 2**16 // x.shape[1])):
        with_x, with_knockoff = (
            loss(networks.with_own_feature(base[rows], table[rows] - base[rows]), y[rows])
            for table in (x, x_tilde)
        )
        parts.append((with_knockoff - with_x).T)
    return torch.cat(parts)
