"""
The density behind the knockoffs
================================
The first stage of DDLK is a density of all columns, ``JointDensity``. It can be used alone: to draw rows, to
rate them, and to draw one column given all the others.
"""

import matplotlib.pyplot as plt
import numpy as np

from knockoffs import JointDensity
from knockoffs.datasets import AutoregressiveMixture

law = AutoregressiveMixture(features=4, means=(0.0, 5.0, 10.0), rhos=(0.8, -0.6, 0.3))
x = law.sample(900, random_state=0)
fresh = law.sample(500, random_state=1)
density = JointDensity(random_state=0).fit(x)

# %%
# How good is it? Its mean log-likelihood of new rows, beside that of the true density:

print(
    f"learned {density.score_samples(fresh).mean():.3f}, true {law.log_prob(fresh).mean():.3f} nats per row"
)
drawn = density.sample(900, random_state=2)

# %%
# One column given all the others, for a row that lies between clusters: this is what the randomisation test
# redraws.

row = np.array([[4.2, 0.0, 5.5, 5.0]])
conditional = density.conditional(row, 1)
values = conditional.sample(4000, random_state=0).ravel()
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
left.scatter(x[:, 0], x[:, 1], s=6, color="#20639b", label="data")
left.scatter(
    drawn[:, 0], drawn[:, 1], s=6, color="#d1495b", alpha=0.5, label="draws of the density"
)
left.set(xlabel="column 0", ylabel="column 1")
left.legend(frameon=False, fontsize=8)
right.hist(values, 60, density=True, color="#d1495b", alpha=0.6)
right.set(xlabel="column 1 given the others", title="x = (4.2, ?, 5.5, 5.0)")
