"""
Confounders: what remains once age is known?
============================================
A biomarker that only stands for age is a discovery where age is left out of the table. ``condition_on`` keeps
age in the models without testing it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from knockoffs import KnockoffSelector

rng = np.random.default_rng(1)
rows = 900
age = rng.uniform(20, 90, rows)
markers = pd.DataFrame({f"marker {j:02d}": rng.standard_normal(rows) for j in range(40)})
for j in range(20, 32):  # these twelve rise with age, and say nothing else
    markers[f"marker {j:02d}"] += (age - 55) / 18
y = pd.Series(
    markers.iloc[:, :14].sum(axis=1) + 3 * (age - 55) / 20 + rng.standard_normal(rows),
    name="pressure",
)

# %%

selections = {
    "age left out": KnockoffSelector("gaussian", "lasso", certify=False, random_state=0).fit(
        markers, y
    ),
    "given age": KnockoffSelector(
        "gaussian", "lasso", condition_on=["age"], certify=False, random_state=0
    ).fit(markers.assign(age=age), y),
}
for name, selector in selections.items():
    found = [int(feature.split()[1]) for feature in selector.selection_.discoveries]
    own, proxies = sum(j < 14 for j in found), sum(20 <= j < 32 for j in found)
    print(
        f"{name}: {own} of 14 markers with an effect of their own, {proxies} of 12 that only stand for age"
    )

# %%
# Both answers are right, to different questions. Without age in the table its proxies do tell something about the
# response that no other *column* tells.

figure, panels = plt.subplots(2, 1, figsize=(8, 4.6), sharex=True, layout="constrained")
kinds = np.array(["#20639b"] * 14 + ["#9aa5b1"] * 6 + ["#d1495b"] * 12 + ["#9aa5b1"] * 8)
for axes, (name, selector) in zip(panels, selections.items(), strict=True):
    w = selector.w_[:40]
    axes.bar(range(40), w, color=kinds)
    axes.axhline(selector.threshold_, color="0.3", linestyle="--", linewidth=1)
    axes.set(title=name, ylabel="w")
panels[1].set_xlabel("marker (blue: own effect; red: rises with age; grey: nothing)")
