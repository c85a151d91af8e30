"""A held-out statistic with exact flip-sign: a model that cannot tell features from knockoffs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from knockoffs.arrays import Array
from knockoffs.statistics.base import Problem
from knockoffs.statistics.crossfit import CrossFitted, Part, Split, differences_of
from knockoffs.statistics.networks import network_differences


class MidpointStatistic(CrossFitted):
    r"""Held-out loss with x̃_j minus held-out loss with x_j, all other columns halfway between the two.

    One model is fitted on the midpoints $m = (x + \tilde x) / 2$, which no swap changes. Given it,
    $w_j = \ell(y, m_{-j}, \tilde x_j) - \ell(y, m_{-j}, x_j)$ changes sign when j is swapped and stays when
    another feature is. So it is exact (flip-sign holds for any data and any model), every row is scored, and it
    costs one model a fold where the mixture of `HoldoutStatistic` fits 20. With exact knockoffs
    it has the mixture's level and nearly its power; where knockoffs are imperfect (real gene expression) the
    mixture held its level better.

    Parameters
    ----------
    estimator : any scikit-learn estimator or pipeline; `"boosting"` (scikit-learn's trees), `"linear+boosting"` or
        `"lightgbm"`; by default a network that uses few columns (see `HoldoutStatistic`).
    folds : cross-fit in this many folds, so that every row is held out once; None for a single split.
    test_size : share of held-out rows where `folds` is None; 0.15 by default.
    scoring : a scikit-learn scorer or its name, larger is better; by default squared error or log-loss.
    task : `"regression"`, `"classification"`, or `"auto"`: by the type of y.
    random_state : seed.
    """

    exact = True

    def _network_differences(self, problem: Problem, split: Split, rng: np.random.Generator) -> Array:
        columns = [np.arange(problem.features)]
        return network_differences(problem, _midpoints(problem), split, rng, blocks=columns, mixture=0.0)

    def _model_differences(
        self, model: Any, problem: Problem, split: Split, rng: np.random.Generator
    ) -> Iterable[Part]:
        fitted, seen = problem.rows(split.train), problem.rows(split.test)
        model.fit(_midpoints(fitted), fitted.y)
        base = _midpoints(seen)
        return [differences_of(model, base, seen, np.arange(problem.features), self.scoring)]


def _midpoints(problem: Problem) -> Array:
    return (problem.x + problem.x_tilde) / 2
