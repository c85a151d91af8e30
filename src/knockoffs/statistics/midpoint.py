"""A held-out statistic with exact flip-sign: a model that cannot tell features from knockoffs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from knockoffs.density.devices import torch_device
from knockoffs.runtime.arrays import Array
from knockoffs.statistics.crossfit import CrossFitted, HeldOut, Part, Split, differences_of
from knockoffs.statistics.problem import Problem


class MidpointStatistic(CrossFitted):
    r"""Held-out loss with x̃_j minus that with x_j, all other columns halfway between.

    One model is fitted on the midpoints $m = (x + \tilde x) / 2$, which no swap changes. Given it,
    $w_j = \ell(y, m_{-j}, \tilde x_j) - \ell(y, m_{-j}, x_j)$ changes sign when j is swapped and
    stays when another feature is. So it is exact (flip-sign holds for any data and any model),
    every row is scored, and it costs one model per fold where the mixture of `HoldoutStatistic`
    fits 20. With exact knockoffs it has the mixture's level and nearly its power; where knockoffs
    are imperfect (real gene expression) the mixture held its level better.

    Parameters
    ----------
    estimator : estimator, "boosting", "linear+boosting" or "lightgbm", default=None
        Any scikit-learn estimator or pipeline; `"boosting"` (scikit-learn's trees),
        `"linear+boosting"` or `"lightgbm"`. By default a network that uses few columns (see
        `HoldoutStatistic`).
    folds : int or None, default=5
        Number of folds of the cross-fitting, by which every row is held out once; None for a single
        split.
    test_size : float, default=None
        Share of held-out rows where `folds` is None; 0.15 by default.
    scoring : str or callable, default=None
        A scikit-learn scorer or its name; larger is better. By default squared error in units of
        the variance of y, or log-loss. A scorer is given y and its predictions in the units of y,
        so w comes in the units of the score.
    standardise : bool, default=True
        Whether the estimator sees X and a quantity y in standard units: mean 0 and standard
        deviation 1, with a common mean and standard deviation for a feature and its knockoff. A
        fixed penalty then acts on standardised columns, and w does not depend on the units and
        origins of X and y. Pass False for an estimator that needs the numbers as they are, such as
        a Poisson regression or a pipeline with a logarithm.
    task : {"auto", "regression", "classification", "count", "survival"}, default="auto"
        What y is; `"auto"` decides by the type of y.
    device : str, torch.device or None, default="auto"
        Where the default networks learn: "cpu", "cuda", "cuda:N" or "auto", which is CUDA where
        there is such a device, and the CPU otherwise.
    n_jobs : int, default=None
        Number of cores for the models of an `estimator`.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import MidpointStatistic
    >>> # independent columns: exact knockoffs
    >>> X, X_tilde = np.random.default_rng(0).normal(size=(2, 200, 4))
    >>> w = MidpointStatistic(folds=2, random_state=0).compute(X, X_tilde, 3 * X[:, 0])
    >>> int(w.argmax())
    0
    """

    name = "midpoint"
    exact = True

    def _network_differences(
        self, problem: Problem, split: Split, rng: np.random.Generator, *, predict: bool
    ) -> HeldOut:
        # torch, which other models do not need
        from knockoffs.statistics.networks import network_differences

        together = [np.arange(problem.features)]
        return network_differences(
            problem,
            _midpoints(problem),
            split,
            rng,
            blocks=together,
            mixture=0.0,
            device=torch_device(self.device),
            predict=predict,
        )

    def _model_differences(
        self, model: Any, problem: Problem, split: Split, rng: np.random.Generator
    ) -> Iterable[Part]:
        fitted, seen = problem.rows(split.train), problem.rows(split.test)
        model.fit(_midpoints(fitted), fitted.y)
        base = _midpoints(seen)
        return [differences_of(model, base, seen, np.arange(problem.features), self.scoring)]


def _midpoints(problem: Problem) -> Array:
    """nan where either is missing, if the problem has gaps."""
    return (problem.x + problem.x_tilde) / 2
