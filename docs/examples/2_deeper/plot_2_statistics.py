"""
Choose a statistic: lines and curves
====================================

With exact knockoffs every statistic bounds the false discoveries. They differ in what they find.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from knockoffs import (
    HoldoutStatistic,
    ImportanceStatistic,
    LassoStatistic,
    MidpointStatistic,
    fdp,
    knockoff_select,
    power,
)
from knockoffs.datasets import AutoregressiveGaussian

law = AutoregressiveGaussian(features=30, rho=0.5)
relevant = np.arange(30) < 12
statistics = {
    "lasso": LassoStatistic(random_state=0),
    "midpoint": MidpointStatistic(random_state=0),
    "held-out, one model": HoldoutStatistic(mixture=0, folds=2, random_state=0),
    "ridge coefficients": ImportanceStatistic(Ridge(), random_state=0),
}


def response(x, kind, rng):
    """A sum of lines, or of curves and products that no line sees."""
    own = x[:, :12]
    if kind == "lines":
        return own.sum(axis=1) + 3 * rng.standard_normal(len(x))
    curves = np.abs(own[:, :6]).sum(axis=1) + (own[:, 6::2] * own[:, 7::2]).sum(axis=1)
    return 2 * curves + rng.standard_normal(len(x))


# %%

REPLICATES = 3
found = {kind: {name: [] for name in statistics} for kind in ("lines", "curves")}
for seed in range(REPLICATES):
    rng = np.random.default_rng(seed)
    x = law.sample(600, random_state=seed)
    x_tilde = law.knockoffs(x, random_state=seed)
    for kind, own in found.items():
        y = response(x, kind, rng)
        for name, statistic in statistics.items():
            selected = knockoff_select(statistic.compute(x, x_tilde, y), fdr=0.2)
            own[name].append((fdp(selected, relevant), power(selected, relevant)))

# %%
# Power at level 0.2, and the mean share of false discoveries, over three tables. A lasso sees no curves; that
# costs power and not validity. Three replicates show which statistic finds more; they are too few to judge a
# false discovery rate (``benchmarks/log/statistics.md`` of the repository has 112).

figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.2), sharey=True, layout="constrained")
for axes, (kind, own) in zip(panels, found.items(), strict=True):
    means = {name: np.mean(pairs, axis=0) for name, pairs in own.items()}
    places = np.arange(len(means))
    axes.barh(places - 0.2, [m[1] for m in means.values()], 0.38, color="#20639b", label="power")
    axes.barh(
        places + 0.2,
        [m[0] for m in means.values()],
        0.38,
        color="#d1495b",
        label="share of false ones",
    )
    axes.axvline(0.2, color="0.4", linestyle=":", linewidth=1)
    axes.set_yticks(places, list(means))
    axes.set(title=f"response of {kind}", xlim=(0, 1))
panels[0].invert_yaxis()
panels[1].legend(frameon=False, fontsize=8)
