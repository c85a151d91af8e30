"""
Why is nothing selected?
========================
An empty selection is an answer, and it comes with reasons. The usual one: a level q needs about 1/q features
that stand out.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from knockoffs import KnockoffSelector, KnockoffWarning, LassoStatistic, pfer_select
from knockoffs.datasets import AutoregressiveGaussian, linear_response

law = AutoregressiveGaussian(features=30, rho=0.5)
x = law.sample(500, random_state=0)
y, relevant = linear_response(x, relevant=6, amplitude=6, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", KnockoffWarning)
    selector = KnockoffSelector("gaussian", "lasso", fdr=0.1, certify=False, random_state=0).fit(
        x, y
    )
print(selector.selection_.explanation)

# %%
# The features are there
# ----------------------
#
# Six relevant features stand far out, but six is less than 1 / 0.1. The smallest level at which each feature
# would be selected:

frame = selector.selection_.to_frame()
frame.head(8)

# %%
# Three ways on
# -------------
#
# 1. Ask for a level that so few features can meet (decide that before you look).
# 2. Bound something else: the expected *number* of false selections, or the share of false ones among the k
#    largest, for all k at once.
# 3. Take p-values (``RandomizationTest``): a single feature can be a discovery there.

selection = selector.selection_
print(
    "selected so that at most one false selection is expected:",
    np.flatnonzero(selection.pfer_select(1)),
)
print("relevant in truth:", np.flatnonzero(relevant))
false = []
for seed in range(30):  # "expected" is a mean over repetitions
    again = linear_response(x, relevant=6, amplitude=6, random_state=seed)
    w = LassoStatistic(random_state=seed).compute(x, law.knockoffs(x, random_state=seed), again.y)
    false.append(np.sum(pfer_select(w, 1) & ~again.relevant))
print(f"mean number of false selections over 30 responses: {np.mean(false):.2f}")

bounds = selection.fdp_bounds(alpha=0.2)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained")
w = np.sort(selector.w_)[::-1]
left.vlines(range(30), 0, w, color="#20639b")
left.scatter(range(30), w, color="#20639b", s=16)
left.set(title="w, largest first", xlabel="features", ylabel="w")
right.step(range(1, 13), bounds[:12], where="mid", color="#20639b")
right.set(
    title="bound on the share of false ones",
    xlabel="the k features with the largest w",
    ylim=(0, 1.05),
)
