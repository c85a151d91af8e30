"""Hidden Markov models with a distribution of their own at each place, and their fit by EM."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knockoffs.generators.markov import draw_states
from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.model_files import take_array

SMALLEST_SHARE = 1e-2  # of a column's variance, for the variance within a state
PSEUDO_COUNT = 0.1


@dataclass(frozen=True, eq=False)
class GaussianEmissions:
    """Cell j in state k is normal."""

    mean: Array  # [d, K]
    deviation: Array  # [d, K]

    def log_prob(self, x: Array) -> Array:
        z = (x[:, :, None] - self.mean) / self.deviation
        return -0.5 * z**2 - np.log(self.deviation) - 0.5 * np.log(2 * np.pi)

    def draw(self, states: Indices, rng: np.random.Generator) -> Array:
        place = np.arange(states.shape[1])
        return self.mean[place, states] + self.deviation[place, states] * rng.standard_normal(
            states.shape
        )

    def update(self, x: Array, chance: Array) -> GaussianEmissions:
        weight = chance.sum(0) + 1e-10
        centre = x.mean(0)  # squares of numbers far from 0 would lose the variance
        z = x - centre
        mean = np.einsum("nd,ndk->dk", z, chance) / weight
        variance = np.einsum("nd,ndk->dk", z**2, chance) / weight - mean**2
        deviation = np.sqrt(np.maximum(variance, SMALLEST_SHARE * x.var(0)[:, None]))
        return GaussianEmissions(centre[:, None] + mean, deviation)


@dataclass(frozen=True, eq=False)
class CategoricalEmissions:
    """Cell j in state k is code v with probability `chance[j, k, v]`."""

    chance: Array  # [d, K, V]

    def log_prob(self, x: Array) -> Array:
        codes = x.astype(np.intp)
        with np.errstate(divide="ignore"):
            return np.log(self.chance[np.arange(x.shape[1]), :, codes])

    def draw(self, states: Indices, rng: np.random.Generator) -> Array:
        uniform = rng.random(states.shape)
        places = [
            draw_states(self.chance[j][states[:, j]], uniform[:, j]) for j in range(states.shape[1])
        ]
        return np.stack(places, axis=1).astype(np.float64)

    def update(self, x: Array, chance: Array) -> CategoricalEmissions:
        counts = np.stack(
            [np.einsum("nd,ndk->dk", x == code, chance) for code in range(self.chance.shape[2])],
            axis=2,
        )
        counts = np.where(self.chance > 0, counts + PSEUDO_COUNT / counts.shape[2], 0.0)
        return CategoricalEmissions(counts / counts.sum(2, keepdims=True))


@dataclass(frozen=True, eq=False)
class HiddenMarkovModel:
    """Hidden states along the columns: distribution of the first, transitions between neighbours,
    emissions.
    """

    initial: Array  # [K]
    transitions: Array  # [d - 1, K, K]: from, to
    emissions: GaussianEmissions | CategoricalEmissions

    def require_distributions(self) -> None:
        """Raise an error for probabilities that do not add up to 1 and for standard deviations of 0
        or less.
        """
        probabilities = {"initial": self.initial, "transitions": self.transitions}
        if isinstance(self.emissions, CategoricalEmissions):
            probabilities["emissions.chance"] = self.emissions.chance
        elif not (self.emissions.deviation > 0).all():
            raise ValueError(
                "model: emissions.deviation must be above 0 at every place and in every state."
            )
        for name, array in probabilities.items():
            if not ((array >= 0).all() and np.allclose(array.sum(-1), 1, atol=1e-6)):
                raise ValueError(
                    f"model: the probabilities in {name} must be at least 0 and add up to 1."
                )

    def draw_states(self, x: Array, uniform: Array) -> Indices:
        """States of each row from their posterior: forward filtering, backward sampling."""
        forward, _ = _filter(self, self.emissions.log_prob(x))
        states = np.empty(x.shape, dtype=np.intp)
        last = x.shape[1] - 1
        for j in range(last, -1, -1):
            chance = forward[:, j]
            if j < last:
                chance = chance * self.transitions[j][:, states[:, j + 1]].T
            states[:, j] = draw_states(chance / chance.sum(1, keepdims=True), uniform[:, j])
        return states

    def log_prob(self, x: Array) -> Array:
        return _filter(self, self.emissions.log_prob(x))[1].sum(1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        emissions = {f"emissions.{name}": value for name, value in vars(self.emissions).items()}
        return {"initial": self.initial, "transitions": self.transitions, **emissions}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], *, places: int) -> HiddenMarkovModel:
        """Take the model that `arrays()` returned out of the arrays of a model file."""
        take = partial(take_array, arrays, kinds="iuf")
        initial = take("initial", (None,))
        states = len(initial)
        transitions = take("transitions", (places - 1, states, states))
        if "emissions.chance" in arrays:
            return cls(
                initial,
                transitions,
                CategoricalEmissions(take("emissions.chance", (places, states, None))),
            )
        mean, deviation = (
            take(f"emissions.{name}", (places, states)) for name in ("mean", "deviation")
        )
        return cls(initial, transitions, GaussianEmissions(mean, deviation))


class _Posterior(NamedTuple):
    states: Array  # [n, d, K]
    pairs: Array  # [d - 1, K, K], summed over rows
    log_prob: float


def fit_hmm(
    x: Array,
    states: int,
    values: int | None,
    *,
    iterations: int,
    rng: np.random.Generator,
    tol: float = 1e-5,
) -> tuple[HiddenMarkovModel, list[float]]:
    """EM from a start by quantiles of each column; categorical with `values` codes,
    or Gaussian for None.

    Returns the model and the mean log-likelihood per row after each iteration.
    """
    model = _start(x, states, values, rng)
    path: list[float] = []
    for _ in range(iterations):
        posterior = _posterior(model, x)
        path.append(posterior.log_prob)
        if len(path) > 1 and path[-1] - path[-2] < tol * abs(path[-2]):
            break
        pairs = posterior.pairs + PSEUDO_COUNT / states
        initial = posterior.states[:, 0].sum(0) + PSEUDO_COUNT
        model = HiddenMarkovModel(
            initial / initial.sum(),
            pairs / pairs.sum(2, keepdims=True),
            model.emissions.update(x, posterior.states),
        )
    return model, path


def _start(
    x: Array, states: int, values: int | None, rng: np.random.Generator
) -> HiddenMarkovModel:
    """Each column cut into as many quantile groups as there are states;
    transitions counted between neighbours.
    """
    # ties broken at random
    rank = (x + 1e-6 * x.std(0) * rng.standard_normal(x.shape)).argsort(0).argsort(0)
    group = rank * states // len(x)
    chance = 0.9 * (group[:, :, None] == np.arange(states)) + 0.1 / states
    pairs = np.einsum("ndk,ndl->dkl", chance[:, :-1], chance[:, 1:])
    if values is None:
        emissions = GaussianEmissions(np.zeros((x.shape[1], states)), np.ones((x.shape[1], states)))
        return _model(chance, pairs, emissions.update(x, chance))
    seen = np.stack([(x == code).any(0) for code in range(values)], axis=1)  # [d, V]
    flat = np.repeat(seen[:, None, :].astype(np.float64), states, axis=1)
    return _model(
        chance, pairs, CategoricalEmissions(flat / flat.sum(2, keepdims=True)).update(x, chance)
    )


def _model(
    chance: Array, pairs: Array, emissions: GaussianEmissions | CategoricalEmissions
) -> HiddenMarkovModel:
    return HiddenMarkovModel(chance[:, 0].mean(0), pairs / pairs.sum(2, keepdims=True), emissions)


def _filter(model: HiddenMarkovModel, log_likelihoods: Array) -> tuple[Array, Array]:
    """P(z_j | x_1..x_j) `[n, d, K]`, and log P(x_j | x_1..x_{j-1}) `[n, d]`."""
    forward, log_scale = np.empty_like(log_likelihoods), np.empty(log_likelihoods.shape[:2])
    for j in range(log_likelihoods.shape[1]):
        predicted = model.initial if j == 0 else forward[:, j - 1] @ model.transitions[j - 1]
        with np.errstate(divide="ignore"):
            joint = np.log(predicted) + log_likelihoods[:, j]
        largest = joint.max(1, keepdims=True)
        if not np.isfinite(largest).all():
            row = int(np.flatnonzero(~np.isfinite(largest[:, 0]))[0])
            raise ValueError(
                f"row {row + 1} has a value at place {j + 1} that the hidden Markov model rules "
                f"out. "
                "Correct it, or pass a model that allows it."
            )
        joint = np.exp(joint - largest)
        total = joint.sum(1, keepdims=True)
        forward[:, j] = joint / total
        log_scale[:, j] = (largest + np.log(total))[:, 0]
    return forward, log_scale


def _posterior(model: HiddenMarkovModel, x: Array) -> _Posterior:
    log_likelihoods = model.emissions.log_prob(x)
    forward, log_scale = _filter(model, log_likelihoods)
    places = x.shape[1]
    backward = np.ones_like(forward[:, 0])
    states, pairs = forward.copy(), np.empty_like(model.transitions)
    for j in range(places - 2, -1, -1):
        coming = np.exp(log_likelihoods[:, j + 1] - log_scale[:, j + 1, None]) * backward
        pairs[j] = model.transitions[j] * (forward[:, j].T @ coming)
        backward = coming @ model.transitions[j].T
        states[:, j] = forward[:, j] * backward
    return _Posterior(states, pairs, float(log_scale.sum(1).mean()))
