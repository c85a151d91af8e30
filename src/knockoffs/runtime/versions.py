"""Versions of this package and of those that decide on results."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("knockoffs", "numpy", "scikit-learn", "torch")


def installed_version(package: str) -> str:
    """Return the version of an installed package.

    A source tree that is used as it is, without installation, has none.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def versions_in_use() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide on results."""
    return {"python": platform.python_version()} | {
        package: installed_version(package) for package in PACKAGES
    }
