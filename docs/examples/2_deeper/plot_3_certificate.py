"""
Can I trust these knockoffs?
============================

``check_swap`` simulates responses whose relevant features are known, selects features for them on your rows with
what stands in for your statistic, and counts how many selected ones are false.
"""

import matplotlib.pyplot as plt
import numpy as np

from knockoffs import GaussianKnockoffs, ImportanceStatistic, check_swap
from knockoffs.datasets import AutoregressiveGaussian

law = AutoregressiveGaussian(features=60, rho=0.7)
x = law.sample(800, random_state=0)
good = GaussianKnockoffs(random_state=0).fit(x).sample(x)
rng = np.random.default_rng(0)
permuted = np.column_stack(
    [rng.permutation(column) for column in x.T]
)  # the right margins, and nothing else

# %%

forest = ImportanceStatistic()  # importances of a random forest
certificates = {
    "Gaussian knockoffs": check_swap((x, good), fdr=0.2, statistic=forest, random_state=0),
    "permuted columns": check_swap((x, permuted), fdr=0.2, statistic=forest, random_state=0),
}
for name, certificate in certificates.items():
    print(f"{name}: {certificate.verdict}")
    print("  ", certificate.reasons[0])

# %%
# Permuted columns are a popular mistake ("shadow features"): their margins are right, but they have lost the
# dependence between columns, so a feature is easily distinguished from its stand-in.

figure, panels = plt.subplots(
    1, 2, figsize=(8, 3.6), sharex=True, sharey=True, layout="constrained"
)
for axes, (name, x_tilde) in zip(
    panels, {"Gaussian": good, "permuted": permuted}.items(), strict=True
):
    axes.scatter(x[:, 5], x[:, 6], s=6, color="#20639b", label="data")
    axes.scatter(x_tilde[:, 5], x[:, 6], s=6, color="#d1495b", label="first column replaced")
    verdict = list(certificates.values())[name == "permuted"].verdict
    axes.set(title=f"{name}: {verdict}", xlabel="column 5", ylabel="column 6")
panels[0].legend(frameon=False, fontsize=8)

# %%
# What to expect at this level, and what can be done:

for name, certificate in certificates.items():
    expected = certificate.expected
    print(
        f"{name}: {expected.fdp:.2f} ± {expected.fdp_error:.2f} false, power {expected.power:.2f}"
    )
    for sentence in certificate.advice:
        print("  ", sentence)

# %%
# The harm depends on the statistic. A forest spreads an effect over correlated columns, so that their permuted
# copies lose against them. The default statistic adjusts for the other columns, and is expected to be wrong less
# often:

by_default = check_swap((x, permuted), fdr=0.2, random_state=0)
print(f"permuted columns, default statistic: {by_default.expected.fdp:.2f} false")
