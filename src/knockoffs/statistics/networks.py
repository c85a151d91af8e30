"""The default models of held-out statistics: networks with one hidden layer, on standardised columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from knockoffs.arrays import Array, Flags
from knockoffs.engine.response import (
    Loss,
    ResponseNetworks,
    cross_entropy,
    fit_response,
    squared_error,
    swap_differences,
)
from knockoffs.engine.training import Schedule
from knockoffs.randomness import torch_generator
from knockoffs.statistics.base import Problem
from knockoffs.statistics.crossfit import Split

WIDTH = 200
EPOCHS, OWN_EPOCHS = 60, 3


class _Task(NamedTuple):
    y: torch.Tensor
    outputs: int
    loss: Loss
    unit: float


def network_differences(
    problem: Problem, base: Array, split: Split, rng: np.random.Generator, *, mixture: float
) -> Array:
    """Held-out losses with x̃_j in `base` minus those with x_j; the network is fitted to rows of `base`.

    With a mixture, every feature gets a copy of the network that learns on with that feature's mixture.
    """
    train, test = torch.as_tensor(split.train), torch.as_tensor(split.test)
    centre, deviation = base[split.train].mean(0), base[split.train].std(0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    tables = (base, problem.x, problem.x_tilde)
    b, x, x_tilde = (torch.as_tensor((table - centre) / deviation).float() for table in tables)
    task = _task(problem, split)
    generator = torch_generator(rng, torch.device("cpu"))
    held_out = torch.as_tensor(_held_out(problem, split, rng))
    networks = ResponseNetworks(1, x.shape[1], task.outputs, width=WIDTH, generator=generator)

    def fit(networks: ResponseNetworks, epochs: int) -> None:
        fit_response(
            networks,
            b[train],
            x_tilde[train],
            task.y[train],
            task.loss,
            mixture=mixture,
            schedule=Schedule(epochs, batch_size=64, patience=5, averaging=0.97),
            learning_rate=1e-3,
            held_out=held_out,
            generator=generator,
        )

    fit(networks, EPOCHS)
    if mixture > 0:
        networks = networks.copies(x.shape[1])
        fit(networks, OWN_EPOCHS)
    found = swap_differences(networks, b[test], x[test], x_tilde[test], task.y[test], task.loss)
    return found.double().numpy() * task.unit


def _held_out(problem: Problem, split: Split, rng: np.random.Generator) -> Flags:
    """Which training rows are kept for early stopping: about 15 %, whole groups where there are any."""
    rows = len(split.train)
    if problem.groups is None:
        return rng.permutation(rows) < round(0.15 * rows)
    labels, group = np.unique(problem.groups[split.train], return_inverse=True)
    return (rng.permutation(len(labels)) < max(1, round(0.15 * len(labels))))[group]


def _task(problem: Problem, split: Split) -> _Task:
    if problem.task == "classification":
        return _Task(torch.as_tensor(problem.y), int(problem.y.max()) + 1, cross_entropy, 1.0)
    mean, variance = problem.y[split.train].mean(), problem.y[split.train].var()
    variance = variance if variance > 0 else 1.0
    standardised = torch.as_tensor((problem.y - mean) / np.sqrt(variance)).float()
    return _Task(standardised, 1, squared_error, float(variance))
