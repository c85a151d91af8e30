r"""What the rows of a group have in common beyond the features, filtered out of a quantity y.

With $y_{gi} = f(x_{gi}) + u_g + \varepsilon_{gi}$ and $\operatorname{var} u = r \operatorname{var}
\varepsilon$, subtracting $\theta_g = 1 - 1 / \sqrt{1 + n_g r}$ times the group's mean from y and
from all columns leaves errors that are uncorrelated and of equal variance (generalised least
squares for a random intercept). Without it the variance between groups hides what the differences
within groups show.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, cross_val_predict

from knockoffs.generators.hierarchy import group_means
from knockoffs.runtime.arrays import Array, Indices

FOLDS = 5
# of the ratio of variances: rounding errors of sums over swapped columns do not reach these
DIGITS = 6
PENALTIES = 10.0 ** np.arange(-1, 6)


def without_group_effects(
    x: Array, x_tilde: Array, y: Array, groups: Indices
) -> tuple[Array, Array, Array]:
    """x, x̃ and a quantity y freed of a part of their groups' means.

    The part is the same for a feature and its knockoff and does not change when they are swapped,
    so a statistic keeps its flip-sign property.
    """
    ratio = variance_ratio(np.hstack([x, x_tilde]), y, groups)
    if ratio == 0:
        return x, x_tilde, y
    return (
        subtract_group_means(x, groups, ratio),
        subtract_group_means(x_tilde, groups, ratio),
        subtract_group_means(y[:, None], groups, ratio)[:, 0],
    )


def subtract_group_means(table: Array, groups: Indices, ratio: float) -> Array:
    """Subtract the share θ of each group's mean from centred columns.

    `ratio` is that of the variances between and within groups.
    """
    counts, means = group_means(table - table.mean(0), groups)
    share = 1 - 1 / np.sqrt(1 + counts * ratio)
    return table - table.mean(0) - (share[:, None] * means)[groups]


def variance_ratio(table: Array, y: Array, groups: Indices) -> float:
    """var u / var ε, estimated from what a ridge regression on the table, cross-fitted by groups,
    leaves of y.
    """
    counts = np.bincount(groups)
    spare = len(groups) - len(counts)  # degrees of freedom within groups
    if len(counts) < FOLDS or spare == 0:
        return 0.0
    predicted = cross_val_predict(RidgeCV(PENALTIES), table, y, groups=groups, cv=GroupKFold(FOLDS))
    left = (y - predicted)[:, None]
    means = group_means(left, groups)[1]
    within = ((left - means[groups]) ** 2).sum() / spare
    between = (means**2).mean() - within * (1 / counts).mean()
    ratio = max(between, 0.0) / within if within > 0 else 0.0
    return float(f"{ratio:.{DIGITS}g}")
