"""All generators of independent rows by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from knockoffs.runtime.registry import Registry

if TYPE_CHECKING:  # help reads the names, and does not wait for what generators need
    from knockoffs.generators.base import KnockoffGenerator

_ROOM = "knockoffs.generators"
GENERATORS = Registry(
    "generator",
    {
        "ddlk": f"{_ROOM}.ddlk:DDLK",
        "gaussian": f"{_ROOM}.gaussian:GaussianKnockoffs",
        "gaussian-mixture": f"{_ROOM}.gaussian_mixture:GaussianMixtureKnockoffs",
        "deep": f"{_ROOM}.compared.deep:DeepKnockoffs",
        "gan": f"{_ROOM}.compared.gan:KnockoffGAN",
        "auto-encoding": f"{_ROOM}.compared.autoencoder:AutoEncodingKnockoffs",
        "hmm": f"{_ROOM}.compared.hmm:HMMKnockoffs",
    },
    default="ddlk",
)
Generator = TypeVar("Generator", bound="type[KnockoffGenerator]")


def register_generator(generator: Generator) -> Generator:
    """Make a generator of your own known by its name, everywhere that names of generators stand.

    Parameters
    ----------
    generator : class
        A subclass of `knockoffs.generators.base.RowwiseGenerator` that declares its `name`.

    Returns
    -------
    class
        The class itself, so that this may stand as a decorator above it.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import GaussianKnockoffs, KnockoffSelector, register_generator
    >>> @register_generator
    ... class Equicorrelated(GaussianKnockoffs):
    ...     name = "equicorrelated"
    ...
    ...     def __init__(self, *, random_state=None):
    ...         super().__init__("equi", random_state=random_state)
    >>> KnockoffSelector("equicorrelated", "lasso").generator
    'equicorrelated'
    """
    return GENERATORS.register(generator)
