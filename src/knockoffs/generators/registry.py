"""All generators of independent rows by name."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Any

from knockoffs.generators.base import KnockoffGenerator


class Classes(UserDict[str, Any]):
    """Classes by some name, given where they are; each is imported when asked for,
    since some need torch.
    """

    def __getitem__(self, key: str) -> type[KnockoffGenerator]:
        module, _, kind = self.data[key].partition(":")
        return getattr(import_module(f"knockoffs.generators.{module}"), kind)


_PLACES = {
    "ddlk": "ddlk:DDLK",
    "gaussian": "gaussian:GaussianKnockoffs",
    "gaussian-mixture": "gaussian_mixture:GaussianMixtureKnockoffs",
    "deep": "compared.deep:DeepKnockoffs",
    "gan": "compared.gan:KnockoffGAN",
    "auto-encoding": "compared.autoencoder:AutoEncodingKnockoffs",
    "hmm": "compared.hmm:HMMKnockoffs",
}
DEFAULT = "ddlk"
GENERATORS = Classes(_PLACES)
# as model files name them
BY_KIND = Classes({place.partition(":")[2]: place for place in _PLACES.values()})
