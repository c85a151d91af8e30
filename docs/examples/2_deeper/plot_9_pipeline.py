"""
In a scikit-learn pipeline
==========================
``KnockoffSelector`` is a scikit-learn selector: it goes into pipelines, is cloned and cross-validated like any
other.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from knockoffs import GaussianKnockoffs, KnockoffSelector
from knockoffs.datasets import AutoregressiveGaussian

law = AutoregressiveGaussian(features=100, rho=0.4)
x = law.sample(400, random_state=0)
y = x[:, :12].sum(axis=1) + 2 * np.random.default_rng(0).standard_normal(400)

# %%
# A generator that is fitted already keeps its fit in cross-validation when it is wrapped in
# ``FrozenEstimator``. It never saw the response, so that leaks nothing about it.

generator = FrozenEstimator(GaussianKnockoffs(random_state=0).fit(x))
select = KnockoffSelector(generator, "lasso", fdr=0.2, certify=False, random_state=0)
trees = HistGradientBoostingRegressor(max_iter=40, random_state=0)

scores = {}
for name, model in {
    "all 100 features": trees,
    "selected features": make_pipeline(select, trees),
}.items():
    start = time.perf_counter()
    scores[name] = cross_val_score(model, x, y, cv=3)
    print(f"{name}: R² {scores[name].mean():.3f}, {time.perf_counter() - start:.1f} s")

# %%

figure, axes = plt.subplots(figsize=(6, 2.2), layout="constrained")
for place, own in enumerate(scores.values()):
    axes.scatter(own, np.full(len(own), place), color="#20639b", s=30)
axes.set_yticks([0, 1], list(scores))
axes.set(xlabel="R² on rows that were held out", ylim=(-0.6, 1.6))
