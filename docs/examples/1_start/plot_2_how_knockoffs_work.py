"""
How knockoffs work, in four pictures
====================================

Why does comparing a feature with a synthetic twin bound the share of false discoveries?
"""

import matplotlib.pyplot as plt
import numpy as np

from knockoffs import LassoStatistic, knockoff_threshold
from knockoffs.datasets import AutoregressiveGaussian, linear_response
from knockoffs.runtime.figures import DATA, KNOCKOFF

law = AutoregressiveGaussian(features=60, rho=0.7)
x = law.sample(600, random_state=0)
x_tilde = law.knockoffs(x, random_state=0)

# %%
# 1. A knockoff is like its feature
# ---------------------------------
#
# The knockoff of a feature depends on the *other* features as the feature itself does. On the left two
# neighbouring features; on the right the first of them is replaced by its knockoff. Nobody can say which is
# which. The knockoffs were made without looking at the response.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3.6), sharex=True, sharey=True, layout="constrained"
)
left.scatter(x[:, 10], x[:, 11], s=6, color=DATA)
left.set(title="feature 10 and feature 11", xlabel="feature 10", ylabel="feature 11")
right.scatter(x_tilde[:, 10], x[:, 11], s=6, color=KNOCKOFF)
right.set(title="knockoff of feature 10 and feature 11", xlabel="knockoff of feature 10")

# %%
# 2. A relevant feature beats its knockoff
# ----------------------------------------
#
# A model of the response sees features and knockoffs side by side. What it gives to the feature minus what it
# gives to the knockoff is ``w``. Twelve features matter here.

response = linear_response(x, relevant=12, amplitude=5, random_state=1)
w = LassoStatistic(random_state=0).compute(x, x_tilde, response.y)
order = np.argsort(-np.abs(w))
colour = np.where(response.relevant[order], DATA, KNOCKOFF)
figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
axes.vlines(np.arange(60), 0, w[order], color=colour, linewidth=1.5)
axes.scatter(np.arange(60), w[order], color=colour, s=18, zorder=3)
axes.axhline(0, color="0.6", linewidth=1)
axes.set(title="w, largest first (blue: relevant)", xlabel="features, by the size of w", ylabel="w")

# %%
# 3. An irrelevant feature tosses a coin
# --------------------------------------
#
# Without anything to tell, a feature and its knockoff are interchangeable: ``w`` is above zero as often as
# below it, whatever its size. Over 40 responses the irrelevant features show that, and the relevant ones do
# not.

signs = {True: [], False: []}
for seed in range(40):
    drawn = law.knockoffs(x, random_state=100 + seed)
    again = linear_response(x, relevant=12, amplitude=5, random_state=seed)
    found = LassoStatistic(random_state=seed).compute(x, drawn, again.y)
    for truth in (True, False):
        signs[truth].extend(found[(again.relevant == truth) & (found != 0)])
figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
edges = np.linspace(-0.3, 0.45, 61)
axes.hist(signs[True], edges, color=DATA, alpha=0.6, label="relevant")
axes.hist(signs[False], edges, color=KNOCKOFF, alpha=0.6, label="irrelevant")
axes.axvline(0, color="0.4", linewidth=1)
axes.set(
    xlabel="w",
    ylabel="features",
    yscale="log",
    title="Irrelevant features are symmetric around zero",
)
axes.legend(frameon=False)
print(f"irrelevant features above zero: {np.mean(np.array(signs[False]) > 0):.0%}")

# %%
# 4. So the left side counts what is false on the right side
# ----------------------------------------------------------
#
# For any threshold t, about as many irrelevant features lie above t as lie below -t. The share of false
# discoveries is therefore estimated by (1 + number below -t) / (number above t), and the filter takes the
# smallest t at which this is at most the level. The 1 makes it a theorem instead of an estimate, and it is the
# reason why a level of 0.1 needs at least ten discoveries.

thresholds = np.sort(np.abs(w[w != 0]))
estimate = [(1 + np.sum(w <= -t)) / max(np.sum(w >= t), 1) for t in thresholds]
truth = [np.sum((w >= t) & ~response.relevant) / max(np.sum(w >= t), 1) for t in thresholds]
chosen = knockoff_threshold(w, fdr=0.2)
figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
axes.step(
    thresholds,
    np.minimum(estimate, 1),
    color="0.2",
    where="post",
    label="estimate from the left side",
)
axes.step(thresholds, truth, color=KNOCKOFF, where="post", label="true share of false ones")
axes.axhline(0.2, color="0.6", linestyle=":", label="level 0.2")
axes.axvline(chosen, color=DATA, linestyle="--", label="threshold")
axes.set(xlabel="threshold t", ylabel="share of false discoveries", ylim=(0, 1))
axes.legend(frameon=False)
