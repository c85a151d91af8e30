"""
Group knockoffs: one answer for columns that hardly differ
==========================================================
Columns in tight clusters, such as variants of a gene, can hardly be distinguished: the knockoff of each column has
to stay close to it, and little is found. Where the question is about whole groups, knockoffs may leave their
columns. After the simulations of Dai and Barber (2016), who propose the equicorrelated S of groups, and of Chu et
al. (2023, "Second-order group knockoffs with applications to GWAS"), who optimise S; smaller, to run in seconds.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from knockoffs import GaussianKnockoffs, LassoStatistic, fdp, knockoff_select, power

columns, rows, relevant_groups, level = 80, 250, 10, 0.2

# %%
# Two tables: clusters of four columns (correlation 0.9 within, 0.45 between), and neighbours along a chromosome
# (correlation 0.9 to the power of the distance), whose groups come from clustering the correlations. In an
# analysis, groups may come from the correlations as here, or from knowledge such as genes, but never from y.

place = np.arange(columns)
blocks = np.where(place[:, None] // 4 == place // 4, 0.9, 0.45) + 0.1 * np.eye(columns)
chain = 0.9 ** np.abs(np.subtract.outer(place, place))
tree = linkage(squareform(1 - np.abs(chain), checks=False), method="average")
tables = {
    "clusters of four": (blocks, place // 4),
    "neighbours, clustered": (chain, fcluster(tree, 20, "maxclust") - 1),
}

# %%
# The same rows, responses and statistic (a group lasso) for all knockoffs; only S in cov(x, x̃) = Σ - S differs.
# It is diagonal for knockoffs of columns, which are valid for groups, too; those of groups have a block per group.

settings = {
    "columns, mvr": ("mvr", False),
    "groups, equi": ("equi", True),
    "groups, mvr": ("mvr", True),
    "groups, maxent": ("maxent", True),
}


def simulate(covariance, groups, seed):
    """One column of each relevant group acts on y."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns)) @ np.linalg.cholesky(covariance).T
    relevant = np.isin(
        np.arange(groups.max() + 1), rng.permutation(groups.max() + 1)[:relevant_groups]
    )
    y = rng.standard_normal(rows)
    for group in np.flatnonzero(relevant):
        y += rng.choice([-0.5, 0.5]) * x[:, rng.choice(np.flatnonzero(groups == group))]
    return x, y, relevant


found = {}
for table, (covariance, groups) in tables.items():
    members = {f"group {g}": np.flatnonzero(groups == g).tolist() for g in range(groups.max() + 1)}
    order = list(dict.fromkeys(groups.tolist()))  # groups stand where their first columns do
    for seed in range(5):
        x, y, relevant = simulate(covariance, groups, seed)
        statistic = LassoStatistic(cv=2, random_state=seed)
        for name, (method, by_groups) in settings.items():
            model = GaussianKnockoffs(method, covariance, np.zeros(columns), random_state=seed)
            model.fit(x, feature_groups=members if by_groups else None)
            w = statistic.compute(x, model.sample(x), y, feature_groups=members)
            selected = knockoff_select(w, level)
            scores = fdp(selected, relevant[order]), power(selected, relevant[order])
            found.setdefault((table, name), []).append(scores)

# %%
# Mean power and mean share of false discoveries over five responses, with standard errors:

figure, panels = plt.subplots(1, 2, figsize=(9.2, 3), sharey=True, layout="constrained")
for axes, table in zip(panels, tables, strict=True):
    for row, name in enumerate(settings):
        values = np.array(found[table, name])
        mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
        axes.barh(
            row,
            mean[1],
            xerr=error[1],
            color="#12806a" if "groups" in name else "#9aa5b1",
            height=0.6,
        )
        axes.plot(mean[0], row, "|", color="#c8442f", markersize=16, markeredgewidth=2)
        print(
            f"{table:22s} {name:15s} power {mean[1]:.2f} ± {error[1]:.2f}, false {mean[0]:.2f} ± {error[0]:.2f}"
        )
    axes.axvline(level, color="0.5", linestyle=":", linewidth=1)
    axes.set(
        title=table, xlabel="power (bars), share of false discoveries (red)", xlim=(-0.02, 1.05)
    )
panels[0].set_yticks(range(len(settings)), list(settings))
panels[0].invert_yaxis()

# %%
# In use, ``KnockoffSelector(feature_groups={"gene": ["snp1", "snp2"], ...})`` does all of this, with DDLK as with
# Gaussian knockoffs, and so does ``--feature-groups FILE`` at the command line; see :doc:`/guides/groups`.
