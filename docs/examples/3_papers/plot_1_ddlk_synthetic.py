"""
DDLK: false discoveries and power on Gaussian rows and on clusters
==================================================================
The first experiments of *Deep Direct Likelihood Knockoffs* (Sudarshan, Tansey and Ranganath, 2020), with 30
replicates: 2,000 rows of 100 columns, 20 of which are relevant for a linear response. Drawn from stored results
of ``python -m benchmarks run gaussian`` and ``python -m benchmarks run mixture``.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

STORED = Path("../../../benchmarks/results")  # of the repository
COLOURS = {
    "ddlk": "#c8442f",
    "deep": "#20639b",
    "gan": "#8a5a00",
    "auto-encoding": "#7b4ab5",
    "gaussian": "#12806a",
    "oracle": "#1c2430",
}


def curves(panels, frame, title):
    """The mean of FDP and power along the level, with bands of one standard error."""
    for axes, value in zip(panels, ("fdp", "power"), strict=True):
        for method, own in frame.groupby("method", sort=False):
            at = own.groupby("level")[value]
            mean, error = at.mean(), at.sem()
            axes.plot(mean.index, mean, color=COLOURS[method], label=method, linewidth=1.5)
            axes.fill_between(
                mean.index,
                mean - error,
                mean + error,
                color=COLOURS[method],
                alpha=0.15,
                linewidth=0,
            )
        axes.set(ylim=(0, 1.02), xlabel="level q")
    panels[0].plot([0, 0.5], [0, 0.5], color="0.6", linestyle="--", linewidth=1)
    panels[0].set(title=title, ylabel="mean FDP")
    panels[1].set_ylabel("power")


# %%
# With the default statistic (the paper's mixture statistic, cross-fitted). DDLK follows the oracle, which knows
# the distribution and draws exact knockoffs.

figure, panels = plt.subplots(2, 2, figsize=(8.4, 6), layout="constrained")
for column, name in enumerate(("gaussian", "mixture")):
    results = pd.read_csv(STORED / f"{name}.csv.gz")
    chosen = results[(results["response"] == "10/√N") & (results["statistic"] == "mixture")]
    curves(panels[:, column], chosen, f"{name}, coefficients ±10/√N")
panels[0, 0].legend(frameon=False, fontsize=8)

# %%
# At level 0.1, with standard errors:

results = pd.concat(
    pd.read_csv(STORED / f"{name}.csv.gz").assign(data=name) for name in ("gaussian", "mixture")
)
at = results[
    (results["level"] == 0.1)
    & (results["response"] == "10/√N")
    & (results["statistic"] == "mixture")
]
at.groupby(["data", "method"], sort=False)[["fdp", "power"]].agg(["mean", "sem", "size"]).round(3)

# %%
# :doc:`/benchmarks/paper` has every table of this experiment, what had been looked at before, and replicates that
# nobody had looked at.
