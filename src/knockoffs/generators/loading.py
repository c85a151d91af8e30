"""Models of any generator from files."""

from __future__ import annotations

import os

from knockoffs.generators.base import KnockoffGenerator
from knockoffs.generators.hierarchical import HierarchicalKnockoffs
from knockoffs.generators.registry import GENERATORS
from knockoffs.persistence import ModelFileError, model_kind


def load_generator(path: str | os.PathLike[str]) -> KnockoffGenerator:
    """Read a model that `.save` of any generator wrote."""
    kind = model_kind(path)
    for generator in (*GENERATORS.values(), HierarchicalKnockoffs):
        if generator.__name__ == kind:
            return generator.load(path)
    raise ModelFileError(f"{os.fspath(path)!r} holds a {kind} model, which is not a generator of knockoffs.")
