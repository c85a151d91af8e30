"""`make house COMMITS="a369464 ."`: how the package is built, commits side by side;
"." is the working tree.
"""

from __future__ import annotations

import argparse
import ast
import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.trees import WORKING_TREE, NoCommitError, run_in, tree_of

START = "a369464"
LONG = 100  # characters
IMPORTS = 5  # processes, of which the median counts
OURS, OTHERS = "from knockoffs import GaussianKnockoffs", "import sklearn, pandas, scipy, narwhals"
TELL = "\nimport sys, time; print(time.process_time(), 'torch' in sys.modules)"
Definition = ast.FunctionDef | ast.AsyncFunctionDef


class House:
    """The sources of the package in one tree, and what its processes say."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._root = tree / "src" / "knockoffs"

    @cached_property
    def texts(self) -> dict[str, str]:
        """Sources by dotted name."""
        return {
            self._name(path): path.read_text(encoding="utf-8")
            for path in sorted(self._root.rglob("*.py"))
        }

    def _name(self, path: Path) -> str:
        return ".".join(path.relative_to(self._root.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        )

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        return {name: ast.parse(text) for name, text in self.texts.items()}

    @cached_property
    def files(self) -> list[Path]:
        return sorted(path.relative_to(self._root) for path in self._root.rglob("*.py"))

    @cached_property
    def lines(self) -> list[str]:
        return [line for text in self.texts.values() for line in text.splitlines()]

    @cached_property
    def functions(self) -> dict[str, list[Definition]]:
        return {
            name: [node for node in ast.walk(tree) if isinstance(node, Definition)]
            for name, tree in self.trees.items()
        }

    @cached_property
    def small_fit(self) -> dict[str, float]:
        return json.loads(run_in(self._tree, ["-m", "benchmarks.crossings"]))

    def loading(self, code: str) -> tuple[float, bool]:
        """CPU seconds of a process that imports, and whether torch was loaded."""
        self._load(code)  # writes the compiled files
        seconds, torch = zip(*(self._load(code) for _ in range(IMPORTS)), strict=True)
        return statistics.median(seconds), any(torch)

    def _load(self, code: str) -> tuple[float, bool]:
        seconds, torch = run_in(self._tree, ["-c", code + TELL]).split()
        return float(seconds), torch == "True"


class Figure(NamedTuple):
    """One row of the table, and what it counts."""

    name: str
    definition: str
    of: Callable[[House], str]


def statements(house: House) -> int:
    """Every `ast.stmt`; a docstring is one."""
    return sum(
        sum(isinstance(node, ast.stmt) for node in ast.walk(tree)) - _docstrings(tree)
        for tree in house.trees.values()
    )


def _docstrings(tree: ast.Module) -> int:
    documented = (
        node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | Definition)
    )
    return sum(ast.get_docstring(node, clean=False) is not None for node in documented)


def entries(house: House) -> int:
    return len({path.parts[0] for path in house.files} - {"__init__.py"})


def loose_files(house: House) -> int:
    return sum(len(path.parts) == 1 and path.name != "__init__.py" for path in house.files)


def equal_names(house: House) -> int:
    counts = Counter(path.name for path in house.files if path.name != "__init__.py")
    return sum(count > 1 for count in counts.values())


def long_lines(house: House) -> str:
    return f"{100 * sum(len(line) > LONG for line in house.lines) / len(house.lines):.1f} %"


def imports_per_module(house: House) -> str:
    edges = {
        (name, target) for name, tree in house.trees.items() for target in _own_imports(tree, house)
    }
    return f"{len(edges) / len(house.trees):.2f} ({len(edges):,})"


def _own_imports(node: ast.AST, house: House) -> Iterator[str]:
    """Modules of the package that are imported below a node, for other reasons than types."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from (
                alias.name for alias in child.names if alias.name.split(".")[0] == "knockoffs"
            )
        elif (
            isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "knockoffs"
        ):
            named = (f"{child.module}.{alias.name}" for alias in child.names)
            yield from (name if name in house.trees else str(child.module) for name in named)
        yield from _own_imports(child, house)


def files_where(house: House, asks: Callable[[ast.AST], bool]) -> int:
    return sum(any(asks(node) for node in ast.walk(tree)) for tree in house.trees.values())


def asks_for_kind(node: ast.AST) -> bool:
    """`column.kind`, but not the `dtype.kind` of numpy."""
    if not (isinstance(node, ast.Attribute) and node.attr == "kind"):
        return False
    return not ast.unparse(node.value).endswith("dtype")


def asks_for_task(node: ast.AST) -> bool:
    """A comparison or a match of something that is called a task."""
    if isinstance(node, ast.Match):
        return any(_is_task(part) for part in ast.walk(node.subject))
    return isinstance(node, ast.Compare) and any(_is_task(part) for part in ast.walk(node))


def _is_task(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr in ("task", "model_task")) or (
        isinstance(node, ast.Name) and node.id == "task"
    )


def takes_report(function: Definition) -> bool:
    return "report" in _parameters(function)


def files_with_report(house: House) -> str:
    taking = [sum(map(takes_report, functions)) for functions in house.functions.values()]
    return f"{sum(count > 0 for count in taking)} ({sum(taking)})"


def most_parameters(house: House) -> str:
    counts = {
        f"{name.removeprefix('knockoffs.')}.{function.name}": len(_parameters(function))
        for name, functions in house.functions.items()
        for function in functions
    }
    most = max(counts, key=lambda name: counts[name])
    return f"{counts[most]} ({most})"


def _parameters(function: Definition) -> list[str]:
    own = function.args
    every = [
        *own.posonlyargs,
        *own.args,
        *filter(None, [own.vararg]),
        *own.kwonlyargs,
        *filter(None, [own.kwarg]),
    ]
    return [parameter.arg for parameter in every if parameter.arg not in ("self", "cls")]


def crossings(house: House) -> str:
    fit = house.small_fit
    return f"{fit['packages']:,} ({fit['modules']:,}; {fit['calls']:,})"


def import_seconds(house: House) -> str:
    (ours, torch), (others, _) = house.loading(OURS), house.loading(OTHERS)
    return f"{ours:.2f} / {others:.2f} = {ours / others:.2f} ({'torch' if torch else 'no torch'})"


FIGURES = (
    Figure(
        "statements",
        "ast.stmt in src/knockoffs, without docstrings",
        lambda h: f"{statements(h):,}",
    ),
    Figure(
        "lines; files",
        "all lines of *.py; *.py, __init__.py too",
        lambda h: f"{len(h.lines):,}; {len(h.files)}",
    ),
    Figure(
        "top-level entries",
        "packages and files of knockoffs/, without __init__.py",
        lambda h: str(entries(h)),
    ),
    Figure("loose files at the top", "those of them that are files", lambda h: str(loose_files(h))),
    Figure(
        "equal file names",
        "names of two files or more, without __init__.py",
        lambda h: str(equal_names(h)),
    ),
    Figure(f"lines above {LONG} characters", "share of all lines", long_lines),
    Figure(
        "imports per module (all)",
        "pairs of modules of the package, imports inside functions too, those for types alone not",
        imports_per_module,
    ),
    Figure(
        "files that ask for .kind",
        "those that read an attribute .kind of anything but a dtype",
        lambda h: str(files_where(h, asks_for_kind)),
    ),
    Figure(
        "files that ask for a task",
        "those with a comparison or match of `task`, `.task` or `.model_task`",
        lambda h: str(files_where(h, asks_for_task)),
    ),
    Figure(
        "files with report (functions)",
        "those where a function has a parameter `report`",
        files_with_report,
    ),
    Figure("most parameters", "of one function, without self; which it is", most_parameters),
    Figure(
        "calls between packages (modules; all)",
        'one KnockoffSelector("gaussian", "lasso") fit of 200 x 12, the second in its process: '
        "calls of functions "
        "whose nearest caller in the package is below another top-level entry (in another module; "
        "all calls)",
        crossings,
    ),
    Figure(
        "small fit, CPU s", "the same fit, median of 5", lambda h: f"{h.small_fit['seconds']:.2f}"
    ),
    Figure(
        "import, CPU s",
        f"whole process of `{OURS}` / of `{OTHERS}`, median of {IMPORTS}, one thread",
        import_seconds,
    ),
)


def figures_of(commit: str) -> list[str]:
    with tree_of(commit) as tree:
        house = House(tree)
        return [figure.of(house) for figure in FIGURES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*", default=[START, WORKING_TREE])
    commits = parser.parse_args().commits
    try:
        columns = [figures_of(commit) for commit in commits]
    except NoCommitError as error:
        parser.error(str(error))
    table = Table(title="The house")
    for heading in ("", *commits):
        table.add_column(heading, justify="right" if heading else "left", overflow="fold")
    for figure, *values in zip(FIGURES, *columns, strict=True):
        table.add_row(figure.name, *values)
    console = Console(width=140)
    console.print(table)
    for figure in FIGURES:
        console.print(f"{figure.name}: {figure.definition}.", markup=False, highlight=False)


if __name__ == "__main__":
    main()
