"""
Randomisation tests: problems of the TabPFN-CRT suite
=====================================================
Three of the eleven problems on which conditional randomisation tests with TabPFN were reported, made here: 500
rows, the true conditionals of the columns unknown to the test. ``make randomisation`` runs the whole suite with
many data sets.
"""

import matplotlib.pyplot as plt
import numpy as np

from knockoffs import JointDensity, RandomizationTest

PROBLEMS = {
    "linear, weak": (5, [0, 1], lambda x: 0.5 * x[:, 0] + 0.5 * x[:, 1]),
    "linear, noise block": (20, [0, 1], lambda x: x[:, 0] + x[:, 1]),
    "linear, correlated": (5, [0], lambda x: x[:, 0]),
}
ALPHA = 0.05


def sample(name, seed):
    columns, _, mean = PROBLEMS[name]
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((500, columns))
    if name == "linear, correlated":
        x[:, 1] = x[:, 0] + 0.1 * x[:, 1]  # column 1 is nearly column 0, and says nothing else
    return x, mean(x) + rng.standard_normal(500)


# %%
# p-values of all columns in two data sets per problem. Relevant columns (blue) should lie at the left,
# irrelevant ones (grey) anywhere.

figure, axes = plt.subplots(figsize=(8, 2.8), layout="constrained")
for place, name in enumerate(PROBLEMS):
    relevant = np.isin(np.arange(PROBLEMS[name][0]), PROBLEMS[name][1])
    for seed in range(2):
        x, y = sample(name, seed)
        density = JointDensity(epochs=2, random_state=seed)
        test = RandomizationTest(
            density, "linear", correction="none", resamples=500, random_state=seed
        )
        p = test.fit(x, y).pvalues_
        colour = np.where(relevant, "#20639b", "#9aa5b1")
        axes.scatter(p, np.full(len(p), place) + 0.25 * (seed - 0.5), color=colour, s=26)
        found, false = np.sum(p[relevant] <= ALPHA), np.sum(p[~relevant] <= ALPHA)
        print(
            f"{name}, data set {seed}: {found} of {relevant.sum()} relevant columns found", end=", "
        )
        print(f"{false} of {np.sum(~relevant)} irrelevant ones below {ALPHA}")
axes.axvline(ALPHA, color="0.4", linestyle=":", linewidth=1)
axes.set_yticks(range(3), list(PROBLEMS))
axes.set(xscale="log", xlabel="p-value", ylim=(-0.6, 2.6))
