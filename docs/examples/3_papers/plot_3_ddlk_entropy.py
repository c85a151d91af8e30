"""
DDLK: the weight of the entropy
===============================
The paper's heat map: how far is the mean false discovery proportion from the level, over the weight λ of the
conditional entropy and the correlation between neighbouring columns? Drawn from stored results of ``python -m
benchmarks run lambda``.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

results = pd.read_csv(Path("../../../benchmarks/results/lambda.csv.gz"))  # of the repository
mean = results.groupby(["method", "variant", "level"])["fdp"].mean().reset_index()
mean["squared"] = (mean["fdp"] - mean["level"]) ** 2
table = mean.pivot_table(index="method", columns="variant", values="squared").pow(0.5)
table.index = [name.removeprefix("ddlk-") for name in table.index]

# %%
# Five replicates. Zero would be a false discovery proportion that equals the level at all levels.

figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
image = axes.imshow(table, cmap="viridis_r", aspect="auto")
axes.set_xticks(range(table.shape[1]), [name.removeprefix("rho-") for name in table.columns])
axes.set_yticks(range(table.shape[0]), table.index)
for (row, column), value in np.ndenumerate(table.to_numpy()):
    colour = "white" if value > table.to_numpy().mean() else "black"
    axes.text(column, row, f"{value:.3f}", ha="center", va="center", color=colour, fontsize=9)
axes.set(xlabel="correlation of neighbours", ylabel="λ")
figure.colorbar(image, label="root mean square distance from the level")
