"""Generators of every kind that are fitted in a moment,
for tests of what does not depend on a good fit.
"""

from __future__ import annotations

from collections.abc import Callable

from knockoffs import (
    DDLK,
    AutoEncodingKnockoffs,
    DeepKnockoffs,
    GaussianKnockoffs,
    GaussianMixtureKnockoffs,
    HMMKnockoffs,
    KnockoffGAN,
)
from knockoffs.generators.base import KnockoffGenerator

TINY: dict[str, Callable[[], KnockoffGenerator]] = {
    "DDLK": lambda: DDLK(
        hidden=(4,), components=2, joint_epochs=1, knockoff_epochs=1, random_state=0
    ),
    "Gaussian": lambda: GaussianKnockoffs(random_state=0),
    "mixture": lambda: GaussianMixtureKnockoffs(clusters=2, random_state=0),
    "deep": lambda: DeepKnockoffs(hidden=(4,), epochs=2, random_state=0),
    "GAN": lambda: KnockoffGAN(hidden=4, epochs=20, random_state=0),
    "auto-encoding": lambda: AutoEncodingKnockoffs(
        latent=2, hidden=(4,), epochs=2, learning_rate=1e-2, random_state=0
    ),
    "HMM": lambda: HMMKnockoffs(states=2, iterations=2, random_state=0),
}
