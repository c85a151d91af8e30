"""How large a file, a list of parameters and a record may be.

What is larger today is listed by name. These lists may only get shorter: what is no longer too
large leaves its list, and nothing joins one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import knockoffs

ROOT = Path(knockoffs.__file__).parent
MOST_LINES, MOST_PARAMETERS, MOST_FIELDS = 350, 14, 14
Sizes = Iterator[tuple[str, int]]

LONG_FILES = {
    "check/dry_run.py",
    "check/verdict.py",
    "cli/common.py",
    "datasets/real.py",
    "effects/result.py",
    "filtering/filter.py",
    "generators/ddlk.py",
    "generators/hierarchical.py",
    "generators/joint_model.py",
    "generators/table_model.py",
    "kinds/encoding.py",
    "kinds/scales.py",
    "report/charts.py",
    "selection/result.py",
    "selection/selector.py",
    "table/doubts.py",
    "table/files.py",
    "table/row_structure.py",
    "table/table.py",
}
MANY_PARAMETERS = {
    "check/examine.py: check_swap",
    "cli/check.py: check",
    "cli/select.py: select",
    "cli/test.py: test",
    "generators/ddlk.py: DDLK.__init__",
    "generators/joint.py: JointDensity.__init__",
    "selection/conclusion.py: conclude",
    "selection/selector.py: KnockoffSelector.__init__",
}
MANY_FIELDS = {
    "check/verdict.py: Findings",
    "effects/result.py: Curve",
    "pvalues/result.py: RandomizationResult",
    "selection/result.py: Selection",
}


def lines(file: str, text: str) -> Sizes:
    yield file, len(text.splitlines())


def parameters(file: str, text: str) -> Sizes:
    """Of each public function and method, without `self`."""
    for name, node in definitions(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and is_public(node.name):
            own = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            own += [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
            yield f"{file}: {name}", sum(one.arg not in ("self", "cls") for one in own)


def fields(file: str, text: str) -> Sizes:
    """Of each dataclass and named tuple."""
    for name, node in definitions(ast.parse(text)):
        if isinstance(node, ast.ClassDef) and is_record(node):
            own = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            yield f"{file}: {name}", sum("ClassVar" not in ast.unparse(o.annotation) for o in own)


def definitions(node: ast.AST, within: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Functions and classes of a module, and those of its classes, by dotted names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield within + child.name, child
        if isinstance(child, ast.ClassDef):
            yield from definitions(child, f"{within}{child.name}.")


def is_public(name: str) -> bool:
    return name == "__init__" or not name.startswith("_")


def is_record(node: ast.ClassDef) -> bool:
    decorators = [ast.unparse(own) for own in node.decorator_list]
    bases = [ast.unparse(own) for own in node.bases]
    return "NamedTuple" in bases or any(own.startswith("dataclass") for own in decorators)


@pytest.mark.parametrize(
    ("sizes", "most", "listed"),
    [
        pytest.param(lines, MOST_LINES, LONG_FILES, id="lines"),
        pytest.param(parameters, MOST_PARAMETERS, MANY_PARAMETERS, id="parameters"),
        pytest.param(fields, MOST_FIELDS, MANY_FIELDS, id="fields"),
    ],
)
def test_nothing_is_larger_than_its_budget_but_what_is_listed(
    sizes: Callable[[str, str], Sizes], most: int, listed: set[str]
) -> None:
    larger = {
        name
        for path in ROOT.rglob("*.py")
        for name, size in sizes(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        if size > most
    }
    assert not larger - listed, "make these smaller: no list may grow"
    assert not listed - larger, "these are small enough by now: take them off their list"


def test_what_is_counted() -> None:
    text = (
        "class Record(NamedTuple):\n"
        "    a: int\n"
        "    b: ClassVar[int] = 1\n"
        "    def method(self, x, *y, z=1, **rest): ...\n"
        "class Plain:\n"
        "    c: int\n"
        "def _private(x): ...\n"
    )
    assert list(lines("f.py", text)) == [("f.py", 7)]
    assert list(parameters("f.py", text)) == [("f.py: Record.method", 4)]
    assert list(fields("f.py", text)) == [("f.py: Record", 1)]
