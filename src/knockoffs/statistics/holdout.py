"""Held-out statistics: how much worse a model predicts unseen rows once a feature is swapped for its knockoff."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from knockoffs.arrays import Array, Indices
from knockoffs.checks import check_count, check_fraction, check_number
from knockoffs.engine.response import (
    ResponseNetworks,
    cross_entropy,
    fit_response,
    squared_error,
    swap_differences,
)
from knockoffs.engine.training import Schedule
from knockoffs.randomness import RandomState, torch_generator
from knockoffs.statistics.base import Problem, Statistic, TaskChoice


class HoldoutStatistic(Statistic):
    """The paper's statistic: held-out loss with x_j swapped for x̃_j, minus held-out loss.

    Squared error for a real y, log-loss for classes. `mixture=0` fits one model on x; `mixture=0.5` is the paper's
    mixture statistic: one model a feature, fitted on an equal mixture of x_j and x̃_j, which gives power away but
    holds the level where knockoffs are imperfect. Approximate: swapping one feature also moves the others' w.

    Parameters
    ----------
    estimator : any scikit-learn estimator or pipeline; by default networks with one hidden layer of 200 units, all
        features' models trained at once.
    mixture : share of x̃_j in the training rows of feature j's model, 0 to below 1.
    folds : cross-fit in this many folds, so that every row is held out once; None for a single split. With
        `mixture=0` take 2 or None: with 5 it exceeded its level in our runs (.13 for .1), with 2 it did not.
        To first order a null w is then a sum of products of chance correlations in different folds, skewed to the
        right where there are more than two. The mixture treats x_j and x̃_j alike and does not have this tilt.
    test_size : share of held-out rows where `folds` is None.
    """

    exact = False

    def __init__(
        self,
        estimator: Any = None,
        *,
        mixture: float = 0.5,
        folds: int | None = 5,
        test_size: float = 0.15,
        task: TaskChoice = "auto",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.mixture = mixture
        self.folds = folds
        self.test_size = test_size
        self.task = task
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _compute(self, problem: Problem, rng: np.random.Generator) -> Array:
        check_number("mixture", self.mixture, least=0, below=1)
        differences = [self._one_split(problem, train, test, rng) for train, test in self._splits(problem, rng)]
        return np.concatenate(differences).mean(0)

    def _splits(self, data: Problem, rng: np.random.Generator) -> Iterator[tuple[Indices, Indices]]:
        seed = int(rng.integers(2**31))
        if self.folds is None:
            check_fraction("test_size", self.test_size)
            kind = (
                GroupShuffleSplit
                if data.groups is not None
                else _stratified(data, StratifiedShuffleSplit, ShuffleSplit)
            )
            splitter = kind(1, test_size=self.test_size, random_state=seed)
        else:
            check_count("folds", self.folds, least=2)
            kind = GroupKFold if data.groups is not None else _stratified(data, StratifiedKFold, KFold)
            splitter = kind(self.folds, shuffle=True, random_state=seed)
        return splitter.split(data.x, data.y, data.groups)

    def _one_split(self, data: Problem, train: Indices, test: Indices, rng: np.random.Generator) -> Array:
        if self.estimator is None:
            return _network_differences(data, train, test, self.mixture, rng)
        fitted, seen = data.rows(train), data.rows(test)
        coins = rng.random(fitted.x.shape) < self.mixture
        if self.mixture == 0:
            model = clone(self.estimator).fit(fitted.x, fitted.y)
            return _differences(model, seen, range(seen.x.shape[1]))
        columns = Parallel(self.n_jobs)(
            delayed(_feature_difference)(self.estimator, fitted, seen, coins[:, j], j)
            for j in range(data.x.shape[1])
        )
        return np.hstack(columns)


def _stratified(data: Problem, stratified: Any, plain: Any) -> Any:
    return stratified if data.task == "classification" else plain


def _feature_difference(estimator: Any, fitted: Problem, seen: Problem, coins: Array, j: int) -> Array:
    x = fitted.x.copy()
    x[coins, j] = fitted.x_tilde[coins, j]
    return _differences(clone(estimator).fit(x, fitted.y), seen, [j])


def _differences(model: Any, seen: Problem, columns: Any) -> Array:
    """Losses with each column swapped minus losses without, `[rows, columns]`."""
    before = _losses(model, seen.x, seen)
    differences = []
    for j in columns:
        x = seen.x.copy()
        x[:, j] = seen.x_tilde[:, j]
        differences.append(_losses(model, x, seen) - before)
    return np.stack(differences, axis=1)


def _losses(model: Any, x: Array, seen: Problem) -> Array:
    if seen.task == "regression":
        return (np.asarray(model.predict(x)).reshape(len(x)) - seen.y) ** 2
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"estimator={model!r} has no predict_proba, which the log-loss of classes needs.")
    known = np.asarray(model.classes_, dtype=int)
    chance = np.zeros((len(x), max(int(seen.y.max()), known.max()) + 1))
    chance[:, known] = model.predict_proba(x)
    return -np.log(np.maximum(chance[np.arange(len(x)), seen.y.astype(int)], 1e-15))


def _network_differences(
    data: Problem, train: Indices, test: Indices, mixture: float, rng: np.random.Generator, width: int = 200
) -> Array:
    """One network; with a mixture, a copy for each feature that learns on with that feature's mixture."""
    centre, deviation = data.x[train].mean(0), data.x[train].std(0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    x, x_tilde = (torch.as_tensor((t - centre) / deviation).float() for t in (data.x, data.x_tilde))
    y, outputs, loss = _network_target(data, train)
    generator = torch_generator(rng, torch.device("cpu"))
    held_out = torch.as_tensor(rng.permutation(len(train)) < round(0.15 * len(train)))
    networks = ResponseNetworks(1, x.shape[1], outputs, width=width, generator=generator)
    index = torch.as_tensor(train)

    def fit(networks: ResponseNetworks, mixture: float, epochs: int) -> None:
        fit_response(
            networks,
            x[index],
            x_tilde[index],
            y[index],
            loss,
            mixture=mixture,
            schedule=Schedule(epochs, batch_size=64, patience=5, averaging=0.97),
            learning_rate=1e-3,
            held_out=held_out,
            generator=generator,
        )

    fit(networks, mixture, epochs=60)
    if mixture > 0:
        networks = networks.copies(x.shape[1])
        fit(networks, mixture, epochs=5)
    seen = torch.as_tensor(test)
    differences = swap_differences(networks, x[seen], x_tilde[seen], y[seen], loss).double().numpy()
    scale = data.y[train].var() if data.task == "regression" else 1.0
    return differences * scale


def _network_target(data: Problem, train: Indices) -> tuple[torch.Tensor, int, Any]:
    if data.task == "classification":
        return torch.as_tensor(data.y), int(data.y.max()) + 1, cross_entropy
    standardised = (data.y - data.y[train].mean()) / data.y[train].std()
    return torch.as_tensor(standardised).float(), 1, squared_error
