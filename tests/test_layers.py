"""Imports point down, from room to room."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
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
# what all parts of a room share, all parts by name, and what a fit or a test gives
SHARED_NAMES = {"base.py", "registry.py", "result.py"}
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
        assert target[0] in HEIGHT, (
            f"{name(path)} imports knockoffs.{'.'.join(target)}, which has no layer"
        )
        assert HEIGHT[target[0]] <= HEIGHT[part], (
            f"{name(path)} imports {'.'.join(target)} from above"
        )


def test_a_name_of_a_file_is_used_in_two_rooms_for_one_concept_alone() -> None:
    counts = Counter(path.name for path in FILES if path.name != "__init__.py")
    twice = {file for file, count in counts.items() if count > 1}
    assert twice <= SHARED_NAMES


def test_few_doors_lead_into_the_house() -> None:
    doors = {path.relative_to(ROOT).parts[0] for path in FILES}
    assert doors <= {*LAYERS, "__main__.py"}


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
    # a loop that numpy runs faster
    allowed = {"torch", "numpy"} if path.name == "in_order.py" else {"torch"}
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


def test_public_names_are_found_where_they_are_listed() -> None:
    assert (
        dir(knockoffs)
        == sorted(dir(knockoffs))
        == sorted([*knockoffs.__all__, "__version__", "datasets"])
    )
    for public in knockoffs.__all__:
        assert getattr(knockoffs, public).__name__ == public
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = knockoffs.nothing


def test_import_is_light() -> None:
    """Figures, other people's tables, boosted trees and clusters are loaded when used,
    not before.
    """
    code = (
        "import sys, knockoffs\n"
        "assert 'torch' not in sys.modules, 'torch'\n"
        "from knockoffs import *\n"
        "heavy = {'matplotlib', 'polars', 'lightgbm', 'dask', 'distributed', 'pytest', "
        "'hypothesis'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
