"""What all statistics share: reading the tables and the target into one problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.parallel import suited_threads, workers
from knockoffs.runtime.randomness import RandomState, random_generator
from knockoffs.schema.schema import FeatureGroups
from knockoffs.statistics.problem import Problem
from knockoffs.statistics.quick import QuickStatistic, ridge_coefficients
from knockoffs.table.design import aligned, copied_features, paired_design
from knockoffs.table.row_structure import require_same_order
from knockoffs.table.table import Table, group_labels, read_table
from knockoffs.targets.base import Target
from knockoffs.targets.classes import or_fewer
from knockoffs.targets.inputs import read_target
from knockoffs.targets.registry import TaskChoice


class Statistic(BaseEstimator, ABC):
    """Computes w; subclasses write `_compute` on arrays, and declare what they can do.

    `name` is what the selector and the command line know it by (`register_statistic` makes one of
    your own known), and `variants` are further names with the settings that each stands for. `cost`
    is the time that it takes relative to the lasso's, for progress bars, and `alternative` names
    the statistic that a check tries in its place.

    Tables may hold numbers, text, categories, booleans and missing cells. Models see columns of
    numbers without gaps: an indicator for each level of a nominal feature, and an indicator of
    missing cells beside a value, which is the mean there. All columns of a feature are swapped as a
    whole, and w has one number for all of them; so it is with all columns of a group of features.
    Boosted trees known by name see nan instead of the mean, which they divide from other values by
    themselves.

    `exact` says whether the flip-sign property holds for any data: swapping a feature with its
    knockoff changes the sign of its w and nothing else (in distribution). Only then, and with exact
    knockoffs, is the bound on false discoveries a theorem.

    `predicts` says whether its models may predict y for rows that they have not seen.

    Models see X and a quantity y in standard units (mean 0, standard deviation 1; a feature and its
    knockoff by a common mean and standard deviation), so w has no unit and does not depend on those
    of y and X. Indicators come in units of 1/2, so that rare ones do not become large numbers. With
    `standardise=False` models see X (with indicators of 0 and 1) and y as they were given.

    To models that are not made for it, a survival target is a quantity: martingale residuals,
    events minus the number to expect by the time of a row. Like all that statistics make of it,
    they depend on the order of times alone.
    """

    name: ClassVar[str]
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    cost: ClassVar[float] = 1.0
    alternative: ClassVar[str] = "mixture"
    exact: bool
    predicts: bool = False
    standardise: bool = True
    n_jobs: int | None = None
    task: TaskChoice
    random_state: RandomState

    def compute(
        self,
        X: Any,
        X_tilde: Any,
        y: Any,
        *,
        groups: Any = None,
        feature_groups: FeatureGroups = None,
    ) -> Array:
        """Return w, one number per column of X; the rows of X,
        of its knockoffs X_tilde and of y belong together.

        `groups` (one label per row) keeps rows on one side of every split, and what the rows of a
        group have in common beyond the features is filtered out of a quantity y. `feature_groups`
        (a dict of names to lists of columns) makes one feature of each group of columns: w then has
        one number per group and per other column, in the order of their first columns.
        """
        return self.compute_read(*self._read(X, X_tilde, y, groups, feature_groups))[0]

    def compute_with_predictions(
        self,
        X: Any,
        X_tilde: Any,
        y: Any,
        *,
        groups: Any = None,
        feature_groups: FeatureGroups = None,
    ) -> tuple[Array, Array | None]:
        """Return w as `compute` does, and what all features but one predict for rows that models
        have not seen.

        The predictions have shape (rows, features, outputs): y in standard units, or the
        probability of each class. They are those of the default networks of held-out statistics;
        None for other models.
        """
        read = self._read(X, X_tilde, y, groups, feature_groups)
        return self.compute_read(*read, predict=True)

    def compute_read(
        self,
        x: Table,
        x_tilde: Table,
        target: Target,
        groups: Indices | None = None,
        *,
        predict: bool = False,
    ) -> tuple[Array, Array | None]:
        """Compute w, and predictions on request, of tables and a target that have been read."""
        problem, copied = self._problem(x, x_tilde, target, groups)
        others = None
        with suited_threads(x), workers(self.n_jobs):
            rng = random_generator(self.random_state)
            if predict:
                w, others = self._compute_with_predictions(problem, rng)
            else:
                w = self._compute(problem, rng)
        return np.where(copied, 0.0, w), others  # a copy tells no more than its feature

    def check_settings(self) -> None:
        """Refuse settings that are not valid; `compute` calls it,
        and a selector before it fits a generator.
        """

    def stand_in(self) -> QuickStatistic:
        """Return the quick statistic that stands in for this one in many simulated selections.

        A ridge regression spreads an effect over correlated features, as marginal correlations do.
        """
        return ridge_coefficients

    def _read(
        self, X: Any, X_tilde: Any, y: Any, groups: Any, feature_groups: FeatureGroups
    ) -> tuple[Table, Table, Target, Indices | None]:
        """Read what `compute` is given."""
        who = type(self).__name__
        x, x_tilde = (
            read_table(X, who=who).grouped(feature_groups, who=who),
            read_table(X_tilde, who=who),
        )
        if x.shape != x_tilde.shape:
            raise ValueError(
                f"{who}: X has shape {x.shape}, X_tilde {x_tilde.shape}: pass one knockoff for "
                f"each cell."
            )
        require_same_order(X, X_tilde=X_tilde, y=y, groups=groups, who=who)
        target = read_target(y, self.task, rows=len(x), who=who)
        labels = None if groups is None else group_labels(groups, rows=len(x), who=who)
        return x, x_tilde, target, labels

    def _problem(
        self, x: Table, x_tilde: Table, target: Target, groups: Indices | None
    ) -> tuple[Problem, Flags]:
        """Return what models see, and which knockoffs are copies of their features."""
        self.check_settings()
        x, x_tilde = aligned(x, x_tilde, who=type(self).__name__)
        problem = Problem.of(paired_design(x, x_tilde), target, groups)
        if self.standardise:
            problem = problem.in_standard_units().without_group_effects()
        return problem, copied_features(x, x_tilde)

    @abstractmethod
    def _compute(self, problem: Problem, rng: np.random.Generator) -> Array: ...

    def _compute_with_predictions(
        self, problem: Problem, rng: np.random.Generator
    ) -> tuple[Array, Array | None]:
        """Compute w and predictions; statistics whose models predict rows that they have not seen
        override it.
        """
        return self._compute(problem, rng), None


def require_estimator_for(standardise: bool, estimator: Any) -> None:
    """Refuse `standardise=False` for models of this package, which are made for standard units."""
    if not standardise and (estimator is None or isinstance(estimator, str)):
        raise ValueError(
            f"standardise=False needs an estimator of your own; estimator={estimator!r} is made "
            f"for columns in "
            "standard units. Pass a scikit-learn estimator, or standardise=True."
        )


def require_enough_for(data: Problem, name: str, folds: int) -> None:
    """Refuse fewer rows, groups, events or rows of a class than there are folds."""
    units, what = (data.y, "rows") if data.groups is None else (data.groups, "groups")
    have = len(units) if data.groups is None else len(np.unique(units))
    if have < folds:
        raise ValueError(
            f"{name}={folds} needs as many {what}; there are {have}. Collect "
            f"more{or_fewer(name, have)}."
        )
    data.target.check(name, folds, grouped=data.groups is not None)
