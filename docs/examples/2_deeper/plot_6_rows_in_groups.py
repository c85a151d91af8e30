"""
Rows that belong together: several visits per patient
=====================================================
Knockoffs that are drawn row by row are less alike within a patient than the rows are, and then features that a
patient has in common seem to matter. ``groups=`` draws knockoffs for whole patients.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from knockoffs import (
    GaussianKnockoffs,
    HierarchicalKnockoffs,
    ImportanceStatistic,
    fdp,
    knockoff_select,
)
from knockoffs.datasets import AutoregressiveGaussian

patients, visits, features = 80, 8, 30
law = AutoregressiveGaussian(features=features, rho=0.5)
relevant = np.arange(features) < 10
group = np.repeat(np.arange(patients), visits)


def cohort(seed):
    """Visits of a patient are alike, in the features and in the response."""
    rng = np.random.default_rng(seed)
    common = law.sample(patients, random_state=rng)[group]
    x = np.sqrt(0.8) * common + np.sqrt(0.2) * law.sample(len(group), random_state=rng)
    y = (
        x[:, :10].sum(axis=1)
        + 3 * rng.standard_normal(patients)[group]
        + 3 * rng.standard_normal(len(group))
    )
    return x, y


# %%
# The share of false discoveries at level 0.2, in six cohorts, with the coefficients of a ridge regression:

shares = {"row by row": [], "by patients": []}
for seed in range(6):
    x, y = cohort(seed)
    statistic = ImportanceStatistic(Ridge(), random_state=seed)
    by_row = GaussianKnockoffs(random_state=seed).fit(x).sample(x)
    by_patient = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=seed).fit(x, groups=group)
    shares["row by row"].append(
        fdp(knockoff_select(statistic.compute(x, by_row, y), 0.2), relevant)
    )
    drawn = by_patient.sample(x, groups=group)
    shares["by patients"].append(
        fdp(knockoff_select(statistic.compute(x, drawn, y, groups=group), 0.2), relevant)
    )

figure, axes = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
for place, (name, values) in enumerate(shares.items()):
    axes.scatter(
        values, np.full(6, place) + np.linspace(-0.15, 0.15, 6), color="#d1495b", s=22, alpha=0.8
    )
    axes.scatter(np.mean(values), place, color="black", marker="|", s=400)
    print(f"{name}: mean {np.mean(values):.2f} ± {np.std(values, ddof=1) / np.sqrt(6):.2f}")
axes.axvline(0.2, color="0.4", linestyle=":", linewidth=1)
axes.set_yticks([0, 1], list(shares))
axes.set(
    xlabel="share of false discoveries (bar: mean; dotted: the level)",
    xlim=(-0.03, 1),
    ylim=(-0.5, 1.5),
)

# %%
# ``KnockoffSelector().fit(X, y, groups=patient)`` does all of this by itself, and so does ``--groups patient``
# at the command line. The file ``benchmarks/log/groups.md`` of the repository has the measurements.
