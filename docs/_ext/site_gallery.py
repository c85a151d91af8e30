"""What the gallery does before and after each example."""

from __future__ import annotations

import warnings

_of_sphinx: list = []


def strict_warnings(gallery_conf: object, name: object, when: str) -> None:
    """Examples show their cautions, and any other warning in them is an error;
    Sphinx's filters come back.
    """
    from knockoffs import KnockoffWarning

    if when == "before":
        _of_sphinx[:] = warnings.filters
        warnings.resetwarnings()
        warnings.simplefilter("error")
        warnings.filterwarnings("default", category=KnockoffWarning)
    else:
        warnings.filters[:] = _of_sphinx
