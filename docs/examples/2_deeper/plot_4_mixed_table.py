"""
Text, categories and missing cells
==================================

A table is read as it is. Knockoffs have the same columns, types, levels and gaps.
"""

import matplotlib.pyplot as plt
import pandas as pd

from knockoffs import GaussianKnockoffs, infer_schema
from knockoffs.datasets import make_patients

X, _, _ = make_patients(rows=1500, random_state=3)
infer_schema(X).to_frame().head(12)

# %%
# The schema says how each column is read. Where values do not tell, as with categories that are coded by
# numbers, say it: ``infer_schema(X, kinds={"pain": "nominal"})``, ``KnockoffSelector(kinds=...)``, or ``--kind
# pain=nominal`` at the command line.

X_tilde = GaussianKnockoffs(random_state=0).fit(X).sample(X)
X_tilde[["age", "ward", "smoker", "albumin", "crp", "lactate"]].head()

# %%
# Levels and gaps of the knockoffs are as frequent as those of the data, and they keep their dependence: below, the
# share of patients from each ward by age, for the data and for ages and wards of the knockoffs.

figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.4), sharey=True, layout="constrained")
for axes, (name, table) in zip(panels, {"data": X, "knockoffs": X_tilde}.items(), strict=True):
    drugs = pd.cut(
        table["weight"], [0, 60, 70, 80, 90, 200], labels=["< 60", "60", "70", "80", "90 +"]
    )
    shares = pd.crosstab(drugs, table["sex"], normalize="index")
    bottom = 0
    for level, colour in zip(shares.columns, ("#20639b", "#e9a23b"), strict=True):
        axes.bar(shares.index.astype(str), shares[level], bottom=bottom, color=colour, label=level)
        bottom = bottom + shares[level].to_numpy()
    axes.set(title=name, xlabel="weight in kg")
panels[0].set_ylabel("share of patients")
panels[0].legend(frameon=False, fontsize=8, loc="lower left")
missing = pd.DataFrame({"data": X.isna().mean(), "knockoffs": X_tilde.isna().mean()})
print(missing[missing["data"] > 0].round(3).to_string())
