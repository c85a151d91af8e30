"""
HIV drug resistance
===================
The data of Barber and Candès (2015): which mutations of HIV-1 make it resistant to a drug? Discoveries are
compared, by position, with the panel of mutations that treatments select for. The panel is no truth: a position
outside it need not be false. Drawn from stored results of ``python -m benchmarks run hiv``, whose data cannot be
shipped (:doc:`/benchmarks/data`).
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

results = pd.read_csv(Path("../../../benchmarks/results/hiv.csv.gz"))  # of the repository
at = results[results["level"] == 0.2].copy()
at["outside"] = (at["fdp"] * at["selected"]).round()
at["on"] = at["selected"] - at["outside"]

# %%
# Positions on the panel (right) and outside it (left) at level 0.2, means of three draws:

figure, panels = plt.subplots(1, 2, figsize=(9.2, 4.2), sharey=True, layout="constrained")
colours = {"ddlk": "#c8442f", "gaussian": "#12806a", "hmm": "#20639b"}
drugs = list(dict.fromkeys(at["variant"]))
for axes, statistic in zip(panels, ("mixture", "lasso"), strict=True):
    for shift, (method, colour) in zip((-0.25, 0.0, 0.25), colours.items(), strict=True):
        own = at[(at["statistic"] == statistic) & (at["method"] == method)]
        mean = own.groupby("variant")[["on", "outside"]].mean().reindex(drugs)
        places = np.arange(len(drugs)) + shift
        axes.barh(places, mean["on"], 0.22, color=colour, label=method)
        axes.barh(places, -mean["outside"], 0.22, color=colour, alpha=0.4)
    axes.axvline(0, color="0.3", linewidth=1)
    axes.set_yticks(range(len(drugs)), drugs)
    axes.set(title=statistic, xlabel="outside the panel   |   on the panel")
panels[0].invert_yaxis()
panels[1].legend(frameon=False, fontsize=8)
