"""Imports point down, from room to room."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import knockoffs

ROOT = Path(knockoffs.__file__).parent
# from the top
LAYERS = (
    "__main__",
    "cli",
    "report",
    "selection",
    "pvalues",
    "effects",
    "check",
    "statistics",
    "filtering",
    "datasets",
    "generators",
    "density",
    "targets",
    "kinds",
    "table",
    "schema",
    "runtime",
)
HEIGHT = {name: -depth for depth, name in enumerate(LAYERS)}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def module_of(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports_of(path: Path) -> Iterator[tuple[str, ...]]:
    """Dotted names that the file imports, as tuples; relative ones made absolute."""
    package = path.relative_to(ROOT.parent).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = (*above, *(node.module.split(".") if node.module else ()))
            yield from ((*module, alias.name) for alias in node.names)


def own_imports_of(path: Path) -> list[tuple[str, ...]]:
    """What the file imports of this package, as tuples below the package's name."""
    return [name[1:] for name in imports_of(path) if name[0] == "knockoffs"]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_module_has_a_layer_and_imports_only_from_it_or_below(path: Path) -> None:
    part = module_of(path)[0]
    assert part in HEIGHT, f"{name(path)}: give {part!r} a place in LAYERS"
    for target in own_imports_of(path):
        if part == "cli" and target[0] not in HEIGHT:
            continue  # the top may use the public names
        assert target[0] in HEIGHT, f"{name(path)} imports knockoffs.{'.'.join(target)}, which has no layer"
        assert HEIGHT[target[0]] <= HEIGHT[part], f"{name(path)} imports {'.'.join(target)} from above"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_no_module_knows_the_experiments_or_the_tests(path: Path) -> None:
    """They are not installed."""
    assert not {"benchmarks", "tests"} & {target[0] for target in imports_of(path)}


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = {module_of(path) for path in FILES}
    graph = {}
    for path in FILES:
        # `from a.b import c` may name the module a.b.c or a name in a.b
        targets = {target if target in known else target[:-1] for target in own_imports_of(path)}
        # What a package imports is imported first, by whichever of its modules is asked for.
        packages = {target[:1] for target in targets if target[:1] != module_of(path)[:1]}
        graph[module_of(path)] = (targets | packages) & known - {module_of(path)}
    assert any(graph.values())
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


@pytest.mark.parametrize("path", sorted((ROOT / "density").rglob("*.py")), ids=name)
def test_the_density_knows_torch_and_what_all_rooms_use(path: Path) -> None:
    allowed = {"torch", "numpy"} if path.name == "in_order.py" else {"torch"}  # a loop that numpy runs faster
    rooms = {("knockoffs", "density"), ("knockoffs", "runtime")}
    for target in imports_of(path):
        assert target[0] in sys.stdlib_module_names | allowed or target[:2] in rooms, target


def test_the_rules_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser sees plain, relative and nested imports."""
    folder = tmp_path / "knockoffs" / "density"
    folder.mkdir(parents=True)
    file = folder / "bad.py"
    file.write_text(
        "import sklearn.base\nfrom ..generators import ddlk\nfrom . import nn\n"
        "def f():\n    from knockoffs.datasets import x\n"
    )
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path / "knockoffs")
    assert set(imports_of(file)) == {
        ("sklearn", "base"),
        ("knockoffs", "generators", "ddlk"),
        ("knockoffs", "density", "nn"),
        ("knockoffs", "datasets", "x"),
    }


def test_the_public_names_are_those_that_type_checkers_see() -> None:
    """They are listed by module, for imports at first use, and as imports, for readers of the types."""
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("knockoffs")
        for alias in node.names
    }
    assert seen == knockoffs._MODULES
    assert sorted(seen) == sorted(knockoffs.__all__)
    for public in knockoffs.__all__:
        assert getattr(knockoffs, public).__name__ == public
    assert set(knockoffs.__all__) <= set(dir(knockoffs))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = knockoffs.nothing


def test_import_is_light() -> None:
    """Figures, other people's tables, boosted trees and clusters are loaded when used, not before."""
    code = (
        "import sys, knockoffs\n"
        "assert 'torch' not in sys.modules, 'torch'\n"
        "from knockoffs import *\n"
        "heavy = {'matplotlib', 'polars', 'lightgbm', 'dask', 'distributed', 'pytest', 'hypothesis'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
