"""
Another seed, another answer? Combine several draws
===================================================

Knockoffs are random, so a selection is too. Several draws, combined by e-values, give a steadier answer.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from knockoffs import ImportanceStatistic, KnockoffSelector
from knockoffs.datasets import AutoregressiveGaussian, linear_response

law = AutoregressiveGaussian(features=100, rho=0.5)
x = law.sample(1000, random_state=0)
y, relevant = linear_response(x, relevant=30, amplitude=4, random_state=0)

# %%
# Five seeds with one draw each, and five with 20 draws each. A dot says that the feature was selected.

statistic = ImportanceStatistic(Ridge())  # coefficients of a ridge regression: quick
chosen = {}
for draws in (1, 20):
    chosen[draws] = [
        KnockoffSelector(
            "gaussian", statistic, fdr=0.2, n_draws=draws, certify=False, random_state=seed
        )
        .fit(x, y)
        .get_support()
        for seed in range(5)
    ]

figure, panels = plt.subplots(2, 1, figsize=(8.4, 3.6), sharex=True, layout="constrained")
order = np.argsort(~relevant, kind="stable")
for axes, (draws, supports) in zip(panels, chosen.items(), strict=True):
    for seed, support in enumerate(supports):
        places = np.flatnonzero(support[order])
        colour = np.where(relevant[order][places], "#20639b", "#d1495b")
        axes.scatter(places, np.full(len(places), seed), color=colour, s=10)
    axes.set(title=f"{draws} draw{'s' * (draws > 1)}", ylabel="seed")
panels[1].set_xlabel("features, the 30 relevant ones first")

# %%
# How alike are the selections of two seeds? The Jaccard index is the share of features that both have among
# those that either has.

for draws, supports in chosen.items():
    pairs = [
        (a & b).sum() / max((a | b).sum(), 1) for k, a in enumerate(supports) for b in supports[:k]
    ]
    mistakes = np.mean([(s & ~relevant).sum() / max(s.sum(), 1) for s in supports])
    print(f"{draws} draws: Jaccard {np.mean(pairs):.2f}, mean share of false ones {mistakes:.2f}")
