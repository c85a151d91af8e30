"""The sum of several statistics, so that one of them may miss what another one sees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from knockoffs.runtime.arrays import Array
from knockoffs.runtime.parallel import workers
from knockoffs.runtime.randomness import RandomState, random_generator
from knockoffs.statistics.base import Statistic
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.lasso import LassoStatistic
from knockoffs.statistics.problem import Problem
from knockoffs.statistics.quick import QuickStatistic
from knockoffs.targets.registry import TaskChoice

LEAST = 1e-300  # mean size of a statistic that is zero for all features


class SumStatistic(Statistic):
    """The sum of several statistics, each divided by its mean absolute value over features.

    By default the held-out loss of networks and the coefficient difference of a lasso: the lasso
    finds more where y is close to linear in the features, networks where it is not, and their sum
    about as much as the better one. A swap of a feature with its knockoff changes the sign of each
    term and the size of none, so the sum is exact where its terms are.

    Parameters
    ----------
    statistics : sequence of statistics, default=None
        The terms; `[HoldoutStatistic(), LassoStatistic()]` by default. They see the table in
        standard units.
    task : {"auto", "regression", "classification", "count", "survival"}, default="auto"
        What y is, for all terms; `"auto"` decides by the type of y.
    random_state : int, numpy Generator or None, default=None
        Seed of the terms that have none of their own.
    n_jobs : int, default=None
        Number of cores for the terms that name none.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import SumStatistic
    >>> # independent columns: exact knockoffs
    >>> X, X_tilde = np.random.default_rng(0).normal(size=(2, 200, 4))
    >>> w = SumStatistic(random_state=0).compute(X, X_tilde, 3 * X[:, 0])
    >>> int(w.argmax())
    0
    """

    name = "sum"
    cost = 6.0
    predicts = True

    def __init__(
        self,
        statistics: Sequence[Statistic] | None = None,
        *,
        task: TaskChoice = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.statistics = statistics
        self.task = task
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def terms(self) -> tuple[Statistic, ...]:
        """The statistics that are summed."""
        if self.statistics is None:
            return HoldoutStatistic(), LassoStatistic()
        terms = tuple(self.statistics) if isinstance(self.statistics, Sequence) else ()
        if len(terms) < 2 or not all(
            isinstance(term, Statistic) and term.standardise for term in terms
        ):
            raise ValueError(
                f"statistics={self.statistics!r} is not valid: pass at least two statistics of "
                f"this package, with "
                "standardise=True, such as [HoldoutStatistic(), LassoStatistic()]."
            )
        for own in (term.task for term in terms):
            if own not in ("auto", self.task):
                raise ValueError(
                    f"statistics={self.statistics!r} has a term of task={own!r}, which is not "
                    f"that of the sum, "
                    f"task={self.task!r}. Pass task={own!r} to SumStatistic, for all terms."
                )
        return terms

    @property
    def exact(self) -> bool:  # pyrefly: ignore[bad-override]
        """Whether, in each term, swapping a feature with its knockoff changes the sign of w and
        nothing else.
        """
        return all(term.exact for term in self.terms)

    def stand_in(self) -> QuickStatistic:
        """Return the sum of what stands in for the terms."""
        quick = [term.stand_in() for term in self.terms]
        return lambda problem, y, rng: np.sum(
            [in_mean_sizes(of_term(problem, y, rng)) for of_term in quick], 0
        )

    def check_settings(self) -> None:
        """Refuse settings that are not valid, of the sum and of its terms."""
        for term in self.terms:
            term.check_settings()

    def _compute(self, problem: Problem, rng: np.random.Generator) -> Array:
        return self._compute_with_predictions(problem, rng)[0]

    def _compute_with_predictions(
        self, problem: Problem, rng: np.random.Generator
    ) -> tuple[Array, Array | None]:
        total, others = np.zeros(problem.features), None
        for term, own_rng in zip(self.terms, rng.spawn(len(self.terms)), strict=True):
            ready = clone(term)
            seeded = own_rng if term.random_state is None else random_generator(term.random_state)
            with workers(self.n_jobs if term.n_jobs is None else term.n_jobs):
                w, predicted = ready._compute_with_predictions(problem, seeded)
            others = predicted if others is None else others
            total += in_mean_sizes(w)
        return total, others


def in_mean_sizes(w: Array) -> Array:
    """Return statistics `[..., features]` in units of the mean of their absolute values over the
    features.
    """
    return w / np.maximum(np.abs(w).mean(-1, keepdims=True), LEAST)
