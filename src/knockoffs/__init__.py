"""Which features matter, with a bounded share of false answers: model-X knockoffs."""

# `__init__.pyi` lists the public names, for type checkers and for this. They are imported when they
# are first used, so that `import knockoffs` does not wait for torch, nor the command line, which
# must answer an interrupt.

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_LISTED = [node for node in _STUB.body if isinstance(node, ast.ImportFrom)]
_MODULES = {alias.name: str(node.module) for node in _LISTED for alias in node.names}
__all__ = sorted(_MODULES)  # noqa: PLE0605 (a list, made from the stub)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("knockoffs.runtime.versions").installed_version("knockoffs")
    if name == "datasets":
        return import_module("knockoffs.datasets")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__", "datasets"]
