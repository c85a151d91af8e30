"""All generators of independent rows by name."""

from __future__ import annotations

from knockoffs.generators.autoencoder import AutoEncodingKnockoffs
from knockoffs.generators.base import KnockoffGenerator
from knockoffs.generators.ddlk import DDLK
from knockoffs.generators.deep import DeepKnockoffs
from knockoffs.generators.gan import KnockoffGAN
from knockoffs.generators.gaussian import GaussianKnockoffs
from knockoffs.generators.gaussian_mixture import GaussianMixtureKnockoffs
from knockoffs.generators.hmm import HMMKnockoffs

GENERATORS: dict[str, type[KnockoffGenerator]] = {
    "ddlk": DDLK,
    "gaussian": GaussianKnockoffs,
    "gaussian-mixture": GaussianMixtureKnockoffs,
    "deep": DeepKnockoffs,
    "gan": KnockoffGAN,
    "auto-encoding": AutoEncodingKnockoffs,
    "hmm": HMMKnockoffs,
}
