"""What held-out statistics share: splits of the rows, models,
and losses on rows that a model has not seen.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from knockoffs.density.devices import DeviceName, torch_device
from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.checks import check_choice, check_count, check_fraction
from knockoffs.runtime.parallel import in_parallel, workers
from knockoffs.runtime.progress import report_stage
from knockoffs.runtime.randomness import RandomState
from knockoffs.statistics.base import Statistic, require_enough_for, require_estimator_for
from knockoffs.statistics.models import NAMED, make_model
from knockoffs.statistics.problem import Problem
from knockoffs.statistics.quick import QuickStatistic, held_out_lines
from knockoffs.targets.base import Given
from knockoffs.targets.registry import TaskChoice


class Split(NamedTuple):
    """One division of the rows: `train` to fit on, `test` to score."""

    train: Indices
    test: Indices


class Part(NamedTuple):
    """Differences of losses on the held-out rows, for some features."""

    features: Indices
    values: Array


class HeldOut(NamedTuple):
    """What networks say of held-out rows: differences of losses `[rows, features]`,
    and predictions.

    The predictions by all features but one, `[rows, features, outputs]`, are None where nobody asks
    for them.
    """

    differences: Array
    predictions: Array | None


class CrossFitted(Statistic):
    """Mean over held-out rows of the loss with x̃_j minus the loss with x_j.

    Subclasses write `_network_differences` (for the default networks) and `_model_differences` (for
    any other estimator), which give one number for each held-out row and feature.
    """

    cost = 6.0
    alternative = "lasso"
    predicts = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        folds: int | None = 5,
        test_size: float | None = None,
        scoring: Any = None,
        standardise: bool = True,
        task: TaskChoice = "auto",
        device: DeviceName = "auto",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.folds = folds
        self.test_size = test_size
        self.scoring = scoring
        self.standardise = standardise
        self.task = task
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _compute_with_predictions(
        self, problem: Problem, rng: np.random.Generator
    ) -> tuple[Array, Array | None]:
        others = None
        if self.estimator is None:
            shape = len(problem.y), problem.features, problem.target.outputs
            others = np.full(shape, np.nan, dtype=np.float32)
        return self._cross_fit(problem, rng, others), others

    def _compute(self, problem: Problem, rng: np.random.Generator) -> Array:
        return self._cross_fit(problem, rng, None)

    def _cross_fit(self, problem: Problem, rng: np.random.Generator, others: Array | None) -> Array:
        # trees, which divide missing values from others by themselves
        if isinstance(self.estimator, str):
            problem = problem.with_gaps()
        splits = [Split(*split) for split in self._splits(problem, rng)]
        steps = len(splits) * self._steps(problem)
        done, total = 0, np.zeros(problem.features)
        report_stage("statistic", done, steps)
        for split, parts in zip(splits, self._parts(problem, splits, rng, others), strict=True):
            found = np.empty((len(split.test), problem.features))
            for part in parts:
                found[:, part.features] = part.values
                done += 1
                report_stage("statistic", done, steps)
            # so that rows are summed one after the other, whatever fold they are in
            found[0] += total
            total = found.sum(0)
        return total / sum(len(split.test) for split in splits)

    def _parts(
        self, problem: Problem, splits: list[Split], rng: np.random.Generator, others: Array | None
    ) -> Iterator[Iterable[Part]]:
        """Yield the differences of each split; networks of several splits learn side by side."""
        if self.estimator is None:
            features = np.arange(problem.features)
            on_gpu = torch_device(self.device).type == "cuda"  # which serves one process best
            compute = partial(self._network_differences, predict=others is not None)
            tasks = zip(splits, rng.spawn(len(splits)), strict=True)
            with workers(None) if on_gpu else nullcontext():
                found = in_parallel(compute, tasks, shared=(problem,))
            for split, held_out in zip(splits, found, strict=True):
                if others is not None:
                    others[split.test] = held_out.predictions
                yield [Part(features, held_out.differences)]
            return
        if problem.target.categorical and any(
            np.ptp(problem.y[split.train]) == 0 for split in splits
        ):
            raise ValueError(
                f"estimator={self.estimator!r} has one class alone to learn from in some fold: "
                f"all rows of the "
                "others are in groups that are held out together. Pass other groups, or "
                "estimator=None."
            )
        for split in splits:
            model = make_model(
                self.estimator,
                int(rng.integers(2**31)),
                of_classes=problem.target.categorical,
            )
            yield self._model_differences(model, problem, split, rng)

    def _steps(self, problem: Problem) -> int:
        """Parts in which the work on one split is reported."""
        return 1

    @abstractmethod
    def _network_differences(
        self, problem: Problem, split: Split, rng: np.random.Generator, *, predict: bool
    ) -> HeldOut: ...

    @abstractmethod
    def _model_differences(
        self, model: Any, problem: Problem, split: Split, rng: np.random.Generator
    ) -> Iterable[Part]: ...

    def stand_in(self) -> QuickStatistic:
        """Return held-out losses of straight lines."""
        return held_out_lines

    def check_settings(self) -> None:
        """Refuse settings that are not valid."""
        require_estimator_for(self.standardise, self.estimator)
        if self.estimator is None or self.device not in (None, "auto"):
            torch_device(self.device)
        if isinstance(self.estimator, str):
            check_choice("estimator", self.estimator, NAMED)
        if self.scoring is not None and self.estimator is None:
            raise ValueError(
                f"scoring={self.scoring!r} needs an estimator: the default networks are compared "
                f"by squared error "
                'or log-loss. Pass an estimator such as "boosting", or scoring=None.'
            )
        if self.folds is not None:
            check_count("folds", self.folds, least=2)
        elif self.test_size is not None:
            check_fraction("test_size", self.test_size)

    def _splits(self, data: Problem, rng: np.random.Generator) -> Iterable[tuple[Indices, Indices]]:
        seed = int(rng.integers(2**31))
        strata = data.target.strata(2 if self.folds is None else self.folds)
        if self.folds is None:
            size = 0.15 if self.test_size is None else self.test_size
            single = ShuffleSplit if strata is None else StratifiedShuffleSplit
            kind = single if data.groups is None else GroupShuffleSplit
            splitter = kind(1, test_size=size, random_state=seed)
        else:
            require_enough_for(data, "folds", self.folds)
            several = KFold if strata is None else StratifiedKFold
            kind = several if data.groups is None else GroupKFold
            splitter = kind(self.folds, shuffle=True, random_state=seed)
        return splitter.split(data.x, strata, data.groups)


def differences_of(model: Any, base: Array, seen: Problem, features: Indices, scoring: Any) -> Part:
    """`differences` for several features."""
    found = [
        differences(model, base, seen, seen.columns_of(features[[k]]), scoring)
        for k in range(len(features))
    ]
    return Part(features, np.stack(found, axis=1))


def differences(model: Any, base: Array, seen: Problem, columns: Indices, scoring: Any) -> Array:
    """Losses with a feature's columns of x̃ in `base` minus losses with those of x,
    one number per row.
    """
    with_x, with_knockoff = base.copy(), base.copy()
    with_x[:, columns] = seen.x[:, columns]
    with_knockoff[:, columns] = seen.x_tilde[:, columns]
    if scoring is None:
        return losses(model, with_knockoff, seen) - losses(model, with_x, seen)
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    y = seen.y
    given = seen.target.given
    if given is not None:  # a scorer may know the units of y: those of a cost, or a logarithm
        model, y = _InGivenUnits(model, given), given.values
    return np.full(len(base), scorer(model, with_x, y) - scorer(model, with_knockoff, y))


class _InGivenUnits(RegressorMixin, BaseEstimator):
    """A fitted model of y in standard units that predicts y in the units that it was given in."""

    def __init__(self, model: Any, given: Given) -> None:
        self.model = model
        self.given = given

    def predict(self, x: Array) -> Array:
        return np.asarray(self.model.predict(x)) * self.given.deviation + self.given.centre


def losses(model: Any, x: Array, seen: Problem) -> Array:
    """Squared errors, or minus the log of the chance given to the true class."""
    if not seen.target.categorical:
        return (np.asarray(model.predict(x)).reshape(len(x)) - seen.y) ** 2
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"estimator={model!r} has no predict_proba, which the log-loss of classes needs."
        )
    known = np.asarray(model.classes_, dtype=int)
    chance = np.zeros((len(x), max(int(seen.y.max()), known.max()) + 1))
    chance[:, known] = model.predict_proba(x)
    return -np.log(np.maximum(chance[np.arange(len(x)), seen.y.astype(int)], 1e-15))
