"""All generators of independent rows by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from knockoffs.generators.base import KnockoffGenerator


class Classes(Mapping[str, type[KnockoffGenerator]]):
    """Classes by some name, given where they are; each is imported when asked for, since some need torch."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> type[KnockoffGenerator]:
        module, _, kind = self._places[name].partition(":")
        return getattr(import_module(f"knockoffs.generators.{module}"), kind)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


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
BY_KIND = Classes({place.partition(":")[2]: place for place in _PLACES.values()})  # as model files name them
