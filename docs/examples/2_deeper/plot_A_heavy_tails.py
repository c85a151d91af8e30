"""
A response with heavy tails: use its ranks
==========================================

Where a few values of the response lie far from all others, squared errors hang on these rows. A feature that says
nothing about y says nothing about a function of y either, so ranks or logarithms of y are as valid as y itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm, rankdata

from knockoffs import LassoStatistic, fdp, knockoff_select, power
from knockoffs.datasets import AutoregressiveGaussian

law = AutoregressiveGaussian(features=60, rho=0.5)
relevant = np.arange(60) < 18
results = {"y": [], "normal scores of y": []}
for seed in range(8):
    x = law.sample(500, random_state=seed)
    x_tilde = law.knockoffs(x, random_state=seed)
    noise = np.random.default_rng(seed).standard_normal(500)
    cost = np.exp(
        x[:, :18].sum(axis=1) / 2 + noise
    )  # euros, say: most are small, a few are enormous
    scores = norm.ppf(rankdata(cost) / (len(cost) + 1))
    for name, y in (("y", cost), ("normal scores of y", scores)):
        selected = knockoff_select(LassoStatistic(random_state=seed).compute(x, x_tilde, y), 0.1)
        results[name].append((power(selected, relevant), fdp(selected, relevant)))

# %%

figure, axes = plt.subplots(figsize=(6.6, 2.4), layout="constrained")
for place, (name, pairs) in enumerate(results.items()):
    found, false = np.array(pairs).T
    axes.scatter(found, np.full(8, place) + np.linspace(-0.12, 0.12, 8), color="#20639b", s=26)
    error = false.std(ddof=1) / np.sqrt(8)
    print(
        f"{name}: mean power {found.mean():.2f}, mean share of false ones {false.mean():.2f} ± {error:.2f}"
    )
axes.set_yticks([0, 1], list(results))
axes.set(xlabel="power at level 0.1, in eight tables", xlim=(-0.03, 1.03), ylim=(-0.5, 1.5))
