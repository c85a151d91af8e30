r"""Each feature given all the others, under the density of the rows.

The density is one of internal columns z, of which some are latents that were drawn given the row.
What is drawn is z_j given z_-j: with $q(z) = \prod_k q(z_k \mid z_{<k})$ its density is
proportional to $q(z_j \mid z_{<j}) \prod_{k>j} q(z_k \mid z_{<k})$. If a row of z follows q, then
z_j and a new draw of it are exchangeable given z_-j. A row of x is a function of z, and x_j one of
z_j (and of classes of rows, which are kept): so x_j and its new draw are exchangeable given x_-j,
and what else z_-j holds, too. This is what a randomisation test needs; that latents of other
features were drawn with x_j in view does not matter, since they are conditioned on, and never
redrawn.

A feature with one internal column is integrated on a grid (`density/grids.py`). With several
columns (a value and whether it is missing, levels without an order) candidates are drawn from
$q(z_j \mid z_{<j})$ and the row's own z_j is put among them. Given that set, the row's own is
candidate c with a probability proportional to $w_c = \prod_{k>j} q(z_k \mid z_{<k})$ at c. New
draws take candidates with these probabilities, so they are exchangeable with the row's own exactly,
however few candidates matter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from knockoffs.density.density import AutoregressiveDensity, Noise
from knockoffs.density.distributions import GaussianMixture
from knockoffs.density.grids import GridDensity, refined_density
from knockoffs.density.hardware import in_chunks
from knockoffs.generators.rows import draw_noise
from knockoffs.kinds.encoder import FARTHEST
from knockoffs.kinds.encoding import FeatureCells, TableEncoding
from knockoffs.kinds.scales import Scale
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.checks import check_count
from knockoffs.runtime.randomness import RandomState, random_generator

SAMPLED = 2_048  # rows of the density that show where its columns lie
NODES = 9  # of the first look at a column, at quantiles of its distribution; two more lie outside
OUTSIDE = 2.5  # distance of these from the last quantiles, in standard deviations
MORE_NODES = 6  # in each of three rounds, where the probability is found
CANDIDATES = 128  # for features with several internal columns
# nats by which columns that are left out move the log-likelihood (root of the sum of squares)
NEGLIGIBLE = 0.05
LOOKED_AT = 256  # rows in which these are found
WORK = 2**21  # numbers per network layer that are in memory together


class TableConditionals:
    """The distributions of features given all the others, for the rows of a table.

    `JointDensity.conditionals` makes it. `free` flags the features that have such a distribution;
    the others are constant, duplicates, or determined by other features, so that their only
    possible new draw is a copy.
    """

    def __init__(
        self,
        scale: Scale[Tensor],
        density: AutoregressiveDensity,
        encoding: TableEncoding,
        codes: Array,
        rng: np.random.Generator,
    ) -> None:
        for_latents, for_nodes, for_candidates = rng.spawn(3)
        # A seed per feature: the same candidates whatever was asked for before.
        self._seeds = for_candidates.integers(2**62, size=len(encoding.units))
        self._scale, self._density, self.encoding, self._codes = scale, density, encoding, codes
        z, _ = scale.forward(torch.as_tensor(encoding.encode(codes, for_latents)))
        self._z = z.to(density.weight)
        self._nodes = _nodes(density, for_nodes)
        self._known = encoding.knows(codes)

    @property
    def device(self) -> torch.device:
        return self._z.device

    @property
    def free(self) -> Flags:
        return ~self.encoding.copied

    @torch.no_grad()
    def of(self, feature: int) -> FeatureConditional:
        """Return the distribution of a feature, by its number;
        raises a ValueError for one that is not `free`.
        """
        if not self.free[feature]:
            raise ValueError(
                f"feature={feature} is constant, a duplicate, or determined by other features: "
                f"given these it "
                "has one value. Drop it, or what determines it."
            )
        columns = np.flatnonzero(self.encoding.unit == feature)
        first, width = int(columns[0]), len(columns)
        cells = self._cells(feature, columns)
        if width == 1:
            return self._on_grid(first, cells)
        return self._among_candidates(
            first, width, cells, np.random.default_rng(self._seeds[feature])
        )

    def _cells(self, feature: int, columns: Indices) -> Cells:
        scale = self._scale.converted(lambda part: part[columns])
        return Cells(self.encoding.feature_cells(feature, self._codes, self._known), scale)

    def _after(self, first: int, candidates: Tensor, after: Tensor) -> Tensor:
        """The log-likelihood of later columns at each candidate, `[rows, candidates]`,
        some rows at a time.
        """
        if len(after) == 0:
            return candidates.new_zeros(candidates.shape[:2])
        rows = max(
            1, WORK * (256 if self._z.is_cuda else 1) // (50 * candidates.shape[1] * len(after))
        )
        parts = zip(self._z.split(rows), candidates.split(rows), strict=True)
        return torch.cat(
            [self._density.log_prob_after(z, first, c, after).sum(2) for z, c in parts]
        )

    def _moved(self, first: int, width: int) -> Tensor:
        """Later columns whose likelihood depends on a feature,
        but for those on which it has next to no effect.
        """
        after = self._density.depending(first, width)
        if len(after) == 0:
            return after
        some = self._z[:: max(1, len(self._z) // LOOKED_AT)]
        inner = self._nodes[1:-1, first : first + width]
        places = inner.expand(len(some), -1, -1)
        log_prob = self._density.log_prob_after(some, first, places, after)
        effect = (log_prob.amax(1) - log_prob.amin(1)).mean(0)
        smallest = effect.argsort()
        negligible = effect[smallest].square().cumsum(0) < NEGLIGIBLE**2
        return after[smallest[~negligible].sort().values]

    def _on_grid(self, column: int, cells: Cells) -> GridConditional:
        def parameters(z: Tensor) -> Tensor:
            own = self._density.conditional_of(column, z)
            return torch.cat([own.log_weights, own.means, own.log_scales], dim=2)

        mixture = GaussianMixture(*in_chunks(parameters, self._z).double().chunk(3, dim=2))
        nodes = self._nodes[:, column].double().expand(len(self._z), -1).clone()
        # A row that is far out in other columns may be so in this one: the outer nodes go with it.
        reach = (
            self._z[:, torch.arange(self._z.shape[1]) != column].abs().amax(1).double() + OUTSIDE
        )
        nodes[:, 0], nodes[:, -1] = (
            torch.minimum(nodes[:, 0], -reach),
            torch.maximum(nodes[:, -1], reach),
        )

        after = self._moved(column, 1)

        def later(places: Tensor) -> Tensor:
            return self._after(column, places.to(self._z).unsqueeze(-1), after).double()

        return GridConditional(cells, *refined_density(later, mixture.log_prob, nodes, MORE_NODES))

    def _among_candidates(
        self, first: int, width: int, cells: Cells, rng: np.random.Generator
    ) -> CandidateConditional:
        shape = (len(self._z), CANDIDATES, width)
        noise = Noise(
            *(
                torch.as_tensor(u).to(self._z)
                for u in (rng.random(shape), rng.standard_normal(shape))
            )
        )
        y = self._z.repeat_interleave(CANDIDATES, 0)
        for k in range(width):
            own = self._density.conditional_of(first + k, y)
            y[:, first + k] = own.pick(*(n[..., k].reshape(-1, 1) for n in noise))[:, 0]
        drawn = y[:, first : first + width].reshape(shape)
        candidates = torch.cat([self._z[:, None, first : first + width], drawn], dim=1)
        weights = torch.softmax(
            self._after(first, candidates, self._moved(first, width)).double(), dim=1
        )
        return CandidateConditional(cells, candidates, weights)


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one feature in some rows, and the way from internal columns,
    on the model's scale, to them.
    """

    feature: FeatureCells
    scale: Scale[Tensor]

    @property
    def own(self) -> Array:
        return self.feature.own

    def decode(self, z: Tensor) -> Array:
        """The cells of internal columns `[rows, draws, width]`;
        one that the fit has not seen stays as it is.
        """
        flat = z.reshape(-1, z.shape[2]).cpu().double()
        encoded = self.scale.inverse_of_draws(flat)
        return self.feature.decode(encoded.numpy().reshape(z.shape))

    def interval(self, values: Array) -> tuple[Tensor, Tensor, Tensor]:
        """Between which places of the only internal column values lie,
        and the log-slope of the scale there.

        The places are equal for a value of a continuous part, and nan where the row cannot have the
        value.
        """
        low, high = self.feature.bounds(values)
        (z_low, log_slope), (z_high, _) = (
            self.scale.forward(torch.as_tensor(e)[:, None]) for e in (low, high)
        )
        z_low[torch.as_tensor((low <= -FARTHEST) & (high > low))] = -torch.inf
        z_high[torch.as_tensor((high >= FARTHEST) & (high > low))] = torch.inf
        return z_low, z_high, log_slope


class FeatureConditional(ABC):
    """The distribution of one feature given all the others, for each row of a table.

    Cells are codes: numbers as they are, nan for a missing cell, and levels of text by their number
    in `schema_[feature].levels` of the density.

    Attributes
    ----------
    effective_sample_size : array of shape (rows,)
        How many of the places at which the density was evaluated share the probability. Where a
        feature has several internal columns (a nominal one, or one with missing cells) and this is
        near 1, new draws are nearly copies of the row's own cell: a test stays valid, and has
        little power.
    """

    effective_sample_size: Array

    def __init__(self, cells: Cells) -> None:
        self._cells = cells

    def sample(self, n_draws: int = 1, *, random_state: RandomState = None) -> Array:
        """New cells, `[n_draws, rows]`."""
        check_count("n_draws", n_draws)
        drawn = self._draw(n_draws, random_generator(random_state))
        return np.ascontiguousarray(self._cells.decode(drawn).T)

    def probability(self, value: float) -> Array:
        """The probability of a value (a level's number, nan for a missing cell), per row."""
        values = np.full(len(self._cells.own), value, dtype=np.float64)
        same = _same(self._cells.own, values).astype(np.float64)
        return np.where(self._cells.feature.fixed(), same, self._mass(values))

    def log_prob(self) -> Array:
        """The log-probability of each row's own cell.

        The log-density of a continuous quantity: in its own units, or in those of its normal scores
        where the table has discrete columns or missing cells in this feature. For a continuous
        quantity with missing cells it is the log-probability of being missing, or not.
        """
        with np.errstate(divide="ignore"):
            return np.where(self._cells.feature.fixed(), 0.0, self._log_prob())

    @abstractmethod
    def _draw(self, draws: int, rng: np.random.Generator) -> Tensor: ...

    @abstractmethod
    def _mass(self, values: Array) -> Array: ...

    @abstractmethod
    def _log_prob(self) -> Array: ...


class GridConditional(FeatureConditional):
    """A feature with one internal column, integrated on a grid."""

    def __init__(self, cells: Cells, density: GridDensity, nodes: Tensor) -> None:
        super().__init__(cells)
        self._density = density
        self.effective_sample_size = density.effective_nodes(nodes).cpu().numpy()

    def _draw(self, draws: int, rng: np.random.Generator) -> Tensor:
        share = torch.as_tensor(rng.random((len(self._cells.own), draws)))
        return self._density.quantile(share.to(self._density.points)).unsqueeze(-1)

    def _mass(self, values: Array) -> Array:
        low, high, _ = (ends.to(self._density.points) for ends in self._cells.interval(values))
        mass = (self._density.cdf(high) - self._density.cdf(low))[:, 0].cpu().numpy()
        return np.where(np.isnan(mass), 0.0, mass)

    def _log_prob(self) -> Array:
        place, _, log_slope = (
            ends.to(self._density.points) for ends in self._cells.interval(self._cells.own)
        )
        density = (self._density.log_prob(place) + log_slope)[:, 0].cpu().numpy()
        mass = self._mass(self._cells.own)
        return np.where(mass > 0, np.log(mass), density)


class CandidateConditional(FeatureConditional):
    """A feature with several internal columns, by weighted candidates,
    among them those of the row itself.
    """

    def __init__(self, cells: Cells, candidates: Tensor, weights: Tensor) -> None:
        super().__init__(cells)
        self._candidates, self._weights = candidates, weights
        self.effective_sample_size = (1 / weights.square().sum(1)).cpu().numpy()

    def _draw(self, draws: int, rng: np.random.Generator) -> Tensor:
        cumulative = self._weights.cumsum(1)
        share = (
            torch.as_tensor(rng.random((len(cumulative), draws))).to(cumulative)
            * cumulative[:, -1:]
        )
        chosen = torch.searchsorted(cumulative, share).clamp(max=cumulative.shape[1] - 1)
        return self._candidates.gather(
            1, chosen.unsqueeze(-1).expand(-1, -1, self._candidates.shape[2])
        )

    def _mass(self, values: Array) -> Array:
        found = self._cells.decode(self._candidates)
        return (self._weights.cpu().numpy() * _same(found, values[:, None])).sum(1)

    def _log_prob(self) -> Array:
        own = self._cells.own
        if not self._cells.feature.only_whether_missing():
            return np.log(self._mass(own))
        missing = self._mass(np.full(len(own), np.nan))
        return np.log(np.where(np.isnan(own), missing, 1 - missing))


def _same(cells: Array, others: Array) -> Flags:
    return (cells == others) | (np.isnan(cells) & np.isnan(others))


@torch.no_grad()
def _nodes(density: AutoregressiveDensity, rng: np.random.Generator) -> Tensor:
    """Places that cover each column, `[nodes, columns]`, by draws of the density:
    no row of the data has a say.
    """
    drawn = in_chunks(
        lambda *noise: density.sample(Noise(*noise)), *draw_noise(rng, SAMPLED, density)
    )
    share = torch.special.ndtr(torch.linspace(-3.0, 3.0, NODES, dtype=torch.float64)).to(drawn)
    nodes = torch.quantile(drawn, share, dim=0)
    reach = OUTSIDE * drawn.std(0)
    nodes = torch.cat([nodes[:1] - reach, nodes, nodes[-1:] + reach])
    least = 1e-6 * drawn.std(0) * torch.arange(len(nodes)).to(drawn)[:, None]  # places must differ
    return nodes + least
