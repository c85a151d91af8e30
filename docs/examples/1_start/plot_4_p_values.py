"""
P-values and effects for a table with few columns
=================================================

Ten columns are few: a knockoff filter with ``fdr=0.1`` reports ten features or none. A randomisation test gives a
p-value per feature instead, and may find a single one.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from knockoffs import JointDensity, RandomizationTest

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)

# %%
# Each feature is redrawn given all the others, thousands of times, and the test counts how often a redrawn feature
# explains the response as well as the real one. ``condition_on`` names columns that are taken into account and not
# tested.

density = JointDensity(epochs=10, random_state=0)
test = RandomizationTest(density, condition_on=["age", "sex"], resamples=2000, random_state=0).fit(
    X, y
)
test.result_.to_frame()

# %%
# Effects say by how many standard deviations the response changes per standard deviation of a feature, while all
# other features stay as they are. Filled: discoveries by Benjamini-Hochberg at level 0.1.

result = test.result_
tested = [j for j, name in enumerate(result.names) if not result.conditioned[j]]
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for place, j in enumerate(sorted(tested, key=lambda j: -result.pvalues[j])):
    error = 1.96 * result.errors[j]
    axes.errorbar(result.effects[j], place, xerr=error, color="#20639b", capsize=2, linewidth=1.2)
    face = "#20639b" if result.selected[j] else "white"
    axes.scatter(result.effects[j], place, color=face, edgecolor="#20639b", zorder=3, s=36)
    axes.annotate(f"p = {result.pvalues[j]:.4f}", (0.62, place), va="center", fontsize=8)
axes.set_yticks(
    range(len(tested)), [result.names[j] for j in sorted(tested, key=lambda j: -result.pvalues[j])]
)
axes.axvline(0, color="0.6", linewidth=1)
axes.set(xlabel="effect, with 95 % interval", xlim=(-0.55, 0.85))
axes.spines[["top", "right"]].set_visible(False)
