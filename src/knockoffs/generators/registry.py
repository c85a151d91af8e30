"""All generators by name, and models of any of them from files."""

from __future__ import annotations

import os

from knockoffs.generators.autoencoder import AutoEncodingKnockoffs
from knockoffs.generators.base import KnockoffGenerator
from knockoffs.generators.ddlk import DDLK
from knockoffs.generators.deep import DeepKnockoffs
from knockoffs.generators.gan import KnockoffGAN
from knockoffs.generators.gaussian import GaussianKnockoffs
from knockoffs.generators.gaussian_mixture import GaussianMixtureKnockoffs
from knockoffs.generators.hmm import HMMKnockoffs
from knockoffs.persistence import ModelFileError, model_kind

GENERATORS: dict[str, type[KnockoffGenerator]] = {
    "ddlk": DDLK,
    "gaussian": GaussianKnockoffs,
    "gaussian-mixture": GaussianMixtureKnockoffs,
    "deep": DeepKnockoffs,
    "gan": KnockoffGAN,
    "auto-encoding": AutoEncodingKnockoffs,
    "hmm": HMMKnockoffs,
}


def load_generator(path: str | os.PathLike[str]) -> KnockoffGenerator:
    """Read a model that `.save` of any generator wrote."""
    kind = model_kind(path)
    for generator in GENERATORS.values():
        if generator.__name__ == kind:
            return generator.load(path)
    raise ModelFileError(f"{os.fspath(path)!r} holds a {kind} model, which is not a generator of knockoffs.")
