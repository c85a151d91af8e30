"""
Choose a generator: clusters
============================

Rows that come in clusters are where generators differ. A good knockoff keeps the clusters apart and the dependence
within them.
"""

import time

import matplotlib.pyplot as plt

from knockoffs import DDLK, GaussianKnockoffs, GaussianMixtureKnockoffs
from knockoffs.datasets import AutoregressiveMixture
from knockoffs.runtime.figures import DATA, KNOCKOFF

law = AutoregressiveMixture(features=8, means=(0.0, 6.0, 12.0), rhos=(0.8, -0.5, 0.0))
x = law.sample(700, random_state=0)

# %%
# All generators have the same three methods: ``fit``, ``sample`` and ``save``. None of them sees the response.

tables = {"data": x, "exact knockoffs": law.knockoffs(x, random_state=1)}
for name, generator in {
    "GaussianKnockoffs": GaussianKnockoffs(random_state=0),
    "GaussianMixtureKnockoffs": GaussianMixtureKnockoffs(random_state=0),
    "DDLK": DDLK(random_state=0),
}.items():
    start = time.perf_counter()
    tables[name] = generator.fit(x).sample(x)
    print(f"{name}: {time.perf_counter() - start:.1f} s")

# %%
# Two neighbouring columns. Gaussian knockoffs know means and covariances only, so they fill the space between the
# clusters.

figure, panels = plt.subplots(
    1, 5, figsize=(11, 2.6), sharex=True, sharey=True, layout="constrained"
)
for axes, (name, table) in zip(panels, tables.items(), strict=True):
    axes.scatter(table[:, 2], table[:, 3], s=4, color=DATA if name == "data" else KNOCKOFF)
    axes.set_title(name, fontsize=9)

# %%
# A number for it: how well can boosted trees distinguish rows with their knockoffs from the same rows with half
# of the columns swapped? 0.5 says that they cannot, which is what the swap property asks for.

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

half = np.arange(8) % 2 == 0
for name, x_tilde in list(tables.items())[1:]:
    pairs = np.hstack([x, x_tilde])
    swapped = np.hstack([np.where(half, x_tilde, x), np.where(half, x, x_tilde)])
    both, which = np.vstack([pairs, swapped]), np.repeat([0, 1], len(x))
    model = HistGradientBoostingClassifier(max_iter=40, random_state=0)
    rows = np.tile(np.arange(len(x)), 2)  # a row and its swap stay together
    score = cross_val_predict(
        model, both, which, groups=rows, cv=GroupKFold(3), method="predict_proba"
    )[:, 1]
    print(f"{name}: AUC {roc_auc_score(which, score):.2f}")
