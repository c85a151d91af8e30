"""
Survival times
==============
Which features tell something about the time to an event, where many rows were censored before it came? A time and
whether the event was seen are passed as they are.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from knockoffs import KnockoffSelector
from knockoffs.datasets import AutoregressiveGaussian

rng = np.random.default_rng(0)
x = AutoregressiveGaussian(features=40, rho=0.5).sample(600, random_state=0)
relevant = np.arange(40) < 12
hazard = np.exp(0.5 * x[:, :12] @ np.tile([1, -1, 1], 4))
death, end_of_study = rng.exponential(1 / hazard), rng.exponential(1.5, size=600)
y = pd.DataFrame({"years": np.minimum(death, end_of_study), "died": death <= end_of_study})
X = pd.DataFrame(x, columns=[f"gene {j}" for j in range(40)])

# %%
# The lasso of such a target is a Cox lasso; the default statistic has networks for the hazard.

selection = (
    KnockoffSelector("gaussian", "lasso", fdr=0.1, certify=False, random_state=0)
    .fit(X, y)
    .selection_
)
print(f"{selection.target}: {selection.target_kind}")
right, wrong = (selection.selected & relevant).sum(), (selection.selected & ~relevant).sum()
print(
    f"{selection.selected.sum()} selected: {right} of the 12 relevant ones, and {wrong} that are false"
)
for effect in [*selection.effects][:3]:
    print(f"{effect.feature}: {effect.said}")

# %%
# Kaplan-Meier curves of the strongest discoveries, for the low and the high half of the rows. The thin red ones
# are those of the knockoff: they differ as far as other genes tell what this one does.

figure, panels = plt.subplots(1, 3, figsize=(9, 3), layout="constrained", sharey=True)
for axes, effect in zip(panels, selection.effects, strict=False):
    for curve, style in zip(effect.survival, ("-", "--"), strict=True):
        axes.step(
            curve.knockoff_time, curve.knockoff, style, where="post", color="#d1495b", linewidth=0.8
        )
        axes.step(curve.time, curve.share, style, where="post", color="#20639b", label=curve.of)
    axes.set(xlabel="years", title=effect.feature, ylim=(0, 1))
    axes.legend(frameon=False, fontsize=8)
panels[0].set_ylabel("share without the event")
