"""
A first selection
=================
A hospital's table with 36 columns of mixed types and missing cells: which columns tell something about the
length of a stay that all the others do not? The patients are simulated, so that the truth is known and mistakes
can be counted.
"""

import matplotlib.pyplot as plt

from knockoffs import KnockoffSelector, fdp, power
from knockoffs.datasets import make_patients

X, y, relevant = make_patients(rows=800, random_state=0)
X[["age", "ward", "smoker", "albumin", "crp", "lactate"]].head()

# %%
# Text, counts and empty cells stay as they are. ``fdr=0.1`` says that a tenth of the discoveries may be false, on
# average. ``"gaussian"`` and ``"lasso"`` are quick; leave both out for the defaults, which take longer and
# assume less.

selector = KnockoffSelector("gaussian", "lasso", fdr=0.1, random_state=0).fit(X, y)
selector.selection_

# %%
# One number per feature
# ----------------------
#
# Every feature has a number ``w``: how much better it explains the response than its knockoff does. A feature that
# tells nothing is as likely to fall below zero as above it. So the number of features *below* minus the threshold
# says how many of those *above* the threshold are false, and the threshold is the smallest for which this share is
# at most ``fdr``.

frame = selector.selection_.to_frame().sort_values("w")
truth = dict(zip(X.columns, relevant, strict=True))
figure, axes = plt.subplots(figsize=(7, 7), layout="constrained")
colours = ["#20639b" if truth[name] else "#d1495b" for name in frame["feature"]]
axes.hlines(frame["feature"], 0, frame["w"], color=colours, linewidth=1.5)
axes.scatter(frame["w"], frame["feature"], color=colours, s=28, zorder=3)
axes.axvline(selector.threshold_, color="0.4", linestyle="--", linewidth=1)
axes.axvline(0, color="0.7", linewidth=1)
axes.set_xlabel("w: the feature explains more than its knockoff (right) or less (left)")
axes.set_title("Blue: relevant in truth. Dashed: the threshold")
axes.tick_params(axis="y", labelsize=8)
axes.spines[["top", "right"]].set_visible(False)

# %%
# How many of them are false?
# ---------------------------
#
# Here it is known. With data of your own the selector says what to expect: it simulates responses on your rows
# and counts.

selected = selector.get_support()
print(f"{selected.sum()} selected, {(selected & ~relevant).sum()} of them false")
print(f"share of false ones {fdp(selected, relevant):.2f}, power {power(selected, relevant):.2f}")
print(selector.selection_.explanation)
print("Check of the knockoffs:", selector.certificate_.verdict)
