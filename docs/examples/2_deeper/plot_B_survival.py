"""
Survival times, today: martingale residuals
===========================================
A survival target (a time, and whether the event was seen) is not supported yet. What can be done today: a
function of time and event that does not use the features, as the response. Martingale residuals of the null
model are such a function: the number of events of a patient minus the number to expect by that time.
"""

import matplotlib.pyplot as plt
import numpy as np

from knockoffs import KnockoffSelector
from knockoffs.datasets import AutoregressiveGaussian

rng = np.random.default_rng(0)
x = AutoregressiveGaussian(features=50, rho=0.5).sample(900, random_state=0)
relevant = np.arange(50) < 15
death = rng.exponential(np.exp(-0.45 * x[:, :15].sum(axis=1)))
end_of_study = rng.exponential(1.5, size=900)
time, event = np.minimum(death, end_of_study), death <= end_of_study

# %%


def martingale_residuals(time, event):
    """Events minus the Nelson-Aalen estimate of the cumulative hazard at each patient's time (no ties)."""
    order = np.argsort(time)
    at_risk = np.arange(len(time), 0, -1)
    hazard = np.empty(len(time))
    hazard[order] = np.cumsum(event[order] / at_risk)
    return event - hazard


residual = martingale_residuals(time, event)
selector = KnockoffSelector("gaussian", "lasso", fdr=0.1, certify=False, random_state=0).fit(x, residual)
selected = selector.get_support()
print(f"{event.mean():.0%} of the deaths were seen")
right, wrong = (selected & relevant).sum(), (selected & ~relevant).sum()
print(f"{selected.sum()} selected: {right} of the 15 relevant ones, and {wrong} that are false")

# %%
# What is valid about it: if neither the event nor the censoring depends on a feature given the others, the
# residual does not either, so such a feature is irrelevant for it. If *censoring* depends on a feature (sicker
# patients leave the study), that feature can be a legitimate discovery of this response without any effect on
# survival.

figure, (left, beside) = plt.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained")
left.scatter(time[event], residual[event], s=6, color="#d1495b", label="died")
left.scatter(time[~event], residual[~event], s=6, color="#20639b", label="censored")
left.set(xlabel="time", ylabel="martingale residual", xscale="log")
left.legend(frameon=False, fontsize=8)
beside.bar(range(50), selector.w_, color=np.where(relevant, "#20639b", "#9aa5b1"))
beside.axhline(selector.threshold_, color="0.3", linestyle="--", linewidth=1)
beside.set(xlabel="feature (blue: relevant)", ylabel="w")
