"""Networks that predict a response, one for each block of features, trained side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from knockoffs.density.nn import StackedLinear
from knockoffs.density.ridge import Line
from knockoffs.density.training import Adam, Schedule, train

# outputs [networks, outputs, rows], y [rows] to losses [networks, rows]
Loss = Callable[[Tensor, Tensor], Tensor]

_TINY = 1e-12  # under a root, where its slope would be infinite


class ResponseNetworks(nn.Module):
    """A network for each block of columns: one hidden layer,
    and straight lines from the inputs to the outputs.

    All networks see all columns of the same rows, but network b may see the columns of its own
    block changed. Network b begins as `lines[b]`: its hidden units are random, but have no say yet.
    `unit` is the feature of each column, where features have several columns; all of these lie in
    one block.
    """

    unit: Tensor
    widths: Tensor
    own: Tensor
    is_own: Tensor
    network_of: Tensor

    def __init__(
        self,
        blocks: Sequence[Tensor],
        outputs: int,
        lines: Sequence[Line],
        *,
        width: int,
        unit: Tensor | None = None,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        columns = sum(map(len, blocks))
        self.width = width
        self.register_buffer("unit", torch.arange(columns) if unit is None else unit)
        # columns of each feature, counted here: a step that is captured as a graph cannot wait for
        # a count
        self.register_buffer("widths", self.unit.bincount())
        self.features = len(self.widths)
        # units of the hidden layer, then the straight lines
        self.first = StackedLinear(len(blocks), columns, width + outputs, generator=generator)
        self.last = StackedLinear(len(blocks), width, outputs, generator=generator)
        with torch.no_grad():
            self.last.weight.zero_()
            self.last.bias.zero_()
            for number, (slope, intercept) in enumerate(lines):
                self.first.weight[number, width:] = slope
                self.first.bias[number, width:, 0] = intercept
        # blocks are as long as the longest; what fills up the others is multiplied by 0
        self.register_buffer("own", nn.utils.rnn.pad_sequence(list(blocks), batch_first=True))
        ones = [torch.ones(len(block)) for block in blocks]
        self.register_buffer(
            "is_own", nn.utils.rnn.pad_sequence(ones, batch_first=True).unsqueeze(-1)
        )
        self.register_buffer("network_of", torch.empty(self.features, dtype=torch.long))
        for number, block in enumerate(blocks):
            self.network_of[self.unit[block]] = number

    def forward(self, x: Tensor, change: Tensor | None = None) -> Tensor:
        """Outputs `[networks, outputs, rows]` for rows x,
        each network with its own block's columns changed.
        """
        before = self._before(x)
        if change is not None:
            index = self.own.unsqueeze(1).expand(-1, self.first.weight.shape[1], -1)
            before = before + self.first.weight.gather(2, index) @ (
                change.T[self.own] * self.is_own
            )
        return self.last(torch.relu(before[:, : self.width])) + before[:, self.width :]

    def with_one_changed(self, x: Tensor, change: Tensor) -> Tensor:
        """Outputs `[features, outputs, rows]` with x_j + change_j for x_j,
        by the network of its block.
        """
        network = self.network_of
        slope = self.first.weight[
            network[self.unit], :, torch.arange(len(self.unit), device=x.device)
        ]
        before = self._add_to_features(
            self._before(x)[network], slope.unsqueeze(-1) * change.T.unsqueeze(1)
        )
        bias, last = self.last.bias[network], self.last.weight[network]
        return (
            torch.baddbmm(bias, last, torch.relu(before[:, : self.width])) + before[:, self.width :]
        )

    def use_of_features(self) -> Tensor:
        """How much each network makes of each feature, `[networks, features]`:
        the norm of all that leaves it.

        Times the root of its number of columns: the norm of noise grows like that, too.
        """
        squares = self.first.weight.square().sum(1)
        if len(self.unit) == self.features:
            return squares.add(_TINY).sqrt()
        together = self._add_to_features(
            squares.new_zeros(self.features, len(squares)), squares.T
        ).T
        return (together * self.widths).add(_TINY).sqrt()

    def _add_to_features(self, start: Tensor, values: Tensor) -> Tensor:
        """Add values of columns, `[columns, ...]`, to those of their features,
        in place where that may be.

        On a GPU `index_add_` adds in any order, so that the last bits of sums would differ from run
        to run; a product adds in the same order each time.
        """
        if len(self.unit) == self.features or start.device.type == "cpu":
            return start.index_add_(0, self.unit, values)
        member = torch.arange(self.features, device=start.device)[:, None] == self.unit
        return start + (member.to(values.dtype) @ values.flatten(1)).view_as(start)

    def _before(self, x: Tensor) -> Tensor:
        flat = self.first.weight.flatten(0, 1) @ x.T
        return flat.view(*self.first.weight.shape[:2], len(x)) + self.first.bias


def fit_response(
    networks: ResponseNetworks,
    x: Tensor,
    x_tilde: Tensor,
    y: Tensor,
    loss: Loss,
    *,
    mixture: float,
    penalty: float,
    schedule: Schedule,
    learning_rate: float,
    held_out: Tensor,
    generator: torch.Generator,
) -> None:
    """Fit in place. With `mixture` > 0 a network sees x̃_j for x_j of its block in that share of
    the rows.

    Coins are tossed anew each time, one for each feature, so x_j and x̃_j are treated alike.
    `penalty` is on the use of features, a group lasso: most features say nothing of y, and networks
    that use few predict far better. It falls with the held-out loss, as noise does with what is
    explained: else strong features hide the weaker ones. `held_out` flags the rows that are kept
    for early stopping.
    """
    optimiser = Adam(networks.parameters(), learning_rate)
    rows, kept = (~held_out).nonzero().squeeze(1), held_out.nonzero().squeeze(1)
    change = x_tilde - x

    def mixed(index: Tensor) -> Tensor | None:
        if mixture == 0:
            return None
        coins = (
            torch.rand(len(index), networks.features, generator=generator, device=x.device)
            < mixture
        )
        return (coins if networks.features == x.shape[1] else coins[:, networks.unit]) * change[
            index
        ]

    kept_change = mixed(kept)
    losses: list[float] = []
    # of the held-out loss at the start; a captured step reads it anew
    left = torch.ones((), device=x.device)

    def step(batch: Tensor, share: Tensor) -> Tensor:
        index = rows[batch]
        value = loss(networks(x[index], mixed(index)), y[index]).mean(1).sum()
        optimiser.minimise(value + left * penalty * networks.use_of_features().sum())
        return value.detach()

    @torch.no_grad()
    def validate() -> float:
        losses.append(loss(networks(x[kept], kept_change), y[kept]).mean().item())
        left.fill_(min(1.0, losses[-1] / losses[0]) if losses[0] > 0 else 1.0)
        return losses[-1]

    train(
        networks,
        stage="response networks",
        rows=len(rows),
        step=step,
        validate=validate,
        schedule=schedule,
        generator=generator,
        variant=lambda: None,
    )


@torch.no_grad()
def swap_differences(
    networks: ResponseNetworks, base: Tensor, x: Tensor, x_tilde: Tensor, y: Tensor, loss: Loss
) -> Tensor:
    """Return, per row and feature, the loss with x̃_j in the place of base_j minus that with x_j;
    `[rows, d]`.
    """
    parts = []
    for rows in torch.arange(len(x), device=x.device).split(max(1, 2**16 // x.shape[1])):
        with_x, with_knockoff = (
            loss(networks.with_one_changed(base[rows], table[rows] - base[rows]), y[rows])
            for table in (x, x_tilde)
        )
        parts.append((with_knockoff - with_x).T)
    return torch.cat(parts)


@torch.no_grad()
def predictions_by_others(
    networks: ResponseNetworks,
    base: Tensor,
    x: Tensor,
    orders: Sequence[Tensor],
    predicted: Callable[[Tensor], Tensor],
) -> Tensor:
    """Return, per row and feature, what all other features predict, `[rows, d, outputs]`.

    That is the mean prediction with the feature's value replaced by those of other rows: x in each
    of the `orders` of its rows. `predicted` says what outputs mean.
    """
    parts = []
    for rows in torch.arange(len(x), device=x.device).split(max(1, 2**16 // x.shape[1])):
        total = torch.zeros((), device=x.device)
        for order in orders:
            outputs = networks.with_one_changed(base[rows], x[order[rows]] - base[rows])
            total = total + predicted(outputs)
        parts.append(total.permute(2, 0, 1) / len(orders))
    return torch.cat(parts)
