"""Models of any generator from files."""

from __future__ import annotations

import os

from knockoffs.generators.base import KnockoffGenerator
from knockoffs.generators.hierarchical import HierarchicalKnockoffs
from knockoffs.generators.registry import GENERATORS
from knockoffs.runtime.model_files import ModelFileError, model_kind


def load_generator(path: str | os.PathLike[str]) -> KnockoffGenerator:
    """Read a model that `.save` of any generator wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    KnockoffGenerator
        The fitted generator, of the class that was saved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from knockoffs import GaussianKnockoffs, load_generator
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> GaussianKnockoffs(random_state=0).fit(X).save(path)
    >>> load_generator(path).sample(X).shape
    (50, 3)
    """
    kind = model_kind(path)
    if kind == HierarchicalKnockoffs.__name__:
        return HierarchicalKnockoffs.load(path)
    found = GENERATORS.of_class(kind)
    if found is not None:
        return found.load(path)
    raise ModelFileError(
        f"{os.fspath(path)!r} holds a {kind} model, which is not a generator of knockoffs."
    )
