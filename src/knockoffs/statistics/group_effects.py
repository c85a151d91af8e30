r"""What the rows of a group have in common beyond the features, filtered out of a quantity y.

With $y_{gi} = f(x_{gi}) + u_g + \varepsilon_{gi}$ and $\operatorname{var} u = r \operatorname{var} \varepsilon$,
subtracting $\theta_g = 1 - 1 / \sqrt{1 + n_g r}$ times the group's mean from y and from all columns leaves errors
that are uncorrelated and of equal variance (generalised least squares for a random intercept). Without it the
variance between groups hides what the differences within groups show.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, cross_val_predict

from knockoffs.arrays import Array, Indices
from knockoffs.generators.hierarchy import group_means
from knockoffs.statistics.base import Problem

FOLDS = 5
PENALTIES = 10.0 ** np.arange(-1, 6)


def without_group_effects(problem: Problem) -> Problem:
    """The problem with y, x and x̃ freed of a part of their groups' means.

    The part is the same for a feature and its knockoff and does not change when they are swapped, so a statistic
    keeps its flip-sign property. Classes are left as they are, and so is a problem without groups.
    """
    if problem.groups is None or problem.task == "classification":
        return problem
    ratio = variance_ratio(problem)
    if ratio == 0:
        return problem
    x, x_tilde, y = (
        subtract_group_means(table - table.mean(0), problem.groups, ratio)
        for table in (problem.x, problem.x_tilde, problem.y[:, None])
    )
    return problem._replace(x=x, x_tilde=x_tilde, y=y[:, 0])


def subtract_group_means(table: Array, groups: Indices, ratio: float) -> Array:
    """Subtract the share θ of each group's mean; `ratio` is that of the variances between and within groups."""
    counts, means = group_means(table, groups)
    share = 1 - 1 / np.sqrt(1 + counts * ratio)
    return table - (share[:, None] * means)[groups]


def variance_ratio(problem: Problem) -> float:
    """var u / var ε, estimated from what a ridge regression on [x, x̃], cross-fitted by groups, leaves of y."""
    groups = problem.groups
    assert groups is not None
    counts = np.bincount(groups)
    spare = len(groups) - len(counts)  # degrees of freedom within groups
    if len(counts) < FOLDS or spare == 0:
        return 0.0
    both = np.hstack([problem.x, problem.x_tilde])
    deviation = both.std(0)
    standardised = (both - both.mean(0)) / np.where(deviation > 0, deviation, 1.0)
    predicted = cross_val_predict(RidgeCV(PENALTIES), standardised, problem.y, groups=groups, cv=GroupKFold(FOLDS))
    left = (problem.y - predicted)[:, None]
    means = group_means(left, groups)[1]
    within = ((left - means[groups]) ** 2).sum() / spare
    between = (means**2).mean() - within * (1 / counts).mean()
    return float(max(between, 0.0) / within) if within > 0 else 0.0
