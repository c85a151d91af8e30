"""`make net BASE=<commit>`: every number of small configurations, in this tree and in a commit,
to the bit.

Both trees compute in the same run, each in a process of its own on one core, since bits differ
between machines. Nothing is stored. What this tree lacks or computes differently is a difference,
and the exit code is then 1. What only the commit lacks is named, and is no difference.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.net_cases import CASES
from benchmarks.trees import WORKING_TREE, NoCommitError, run_in, tree_of

SHOWN = 40  # characters of sentences that differ
Leaf = float | str | None
# of one configuration: its values and seconds, or what its tree lacks, or how it failed
Outcome = dict[str, Any]


class Compared(NamedTuple):
    """One line of the table."""

    case: str
    what: str
    said: str
    equal: bool


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Leaf]]:
    """Every number and word of nested values, with its path; of lists their length too."""
    if isinstance(value, list):
        yield f"{path}/length", float(len(value))
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}/{key}")
    else:
        yield path, float(value) if isinstance(value, int | float) else value


def compare(case: str, here: Outcome, base: Outcome) -> Iterator[Compared]:
    """The lines of one configuration."""
    if "values" not in here or "values" not in base:
        yield _of_incomplete(case, here, base)
        return
    ours, theirs = here["values"], base["values"]
    for what in dict.fromkeys([*ours, *theirs]):
        if what not in theirs:
            yield Compared(case, what, "not in the base", True)
        elif what not in ours:
            yield Compared(case, what, "in the base only", False)
        else:
            yield Compared(
                case, what, *_difference(dict(leaves(ours[what])), dict(leaves(theirs[what])))
            )


def _of_incomplete(case: str, here: Outcome, base: Outcome) -> Compared:
    if "values" in here and "absent" in base:
        return Compared(case, "", f"the base has no {base['absent']}", True)
    trees = {"here": here, "base": base}
    said = [f"{where}: {_reason(tree)}" for where, tree in trees.items() if "values" not in tree]
    return Compared(case, "", "; ".join(said), False)


def _reason(incomplete: Outcome) -> str:
    return incomplete["failed"] if "failed" in incomplete else f"there is no {incomplete['absent']}"


def _difference(ours: dict[str, Leaf], theirs: dict[str, Leaf]) -> tuple[str, bool]:
    """Say what differs between two collections of leaves, and whether they are equal."""
    numbers, words = _paired(ours, theirs)
    lost = [path for path in theirs if path not in ours]
    new = [path for path in ours if path not in theirs]
    differ = [*_numbers_that_differ(numbers), *_words_that_differ(words)]
    differ += [f"{len(lost)} in the base only, such as {lost[0]}"] if lost else []
    said = differ or [f"{len(numbers)} numbers and {len(words)} words equal"]
    said += [f"{len(new)} not in the base, such as {new[0]}"] if new else []
    return "; ".join(said), not differ


def _paired(
    ours: dict[str, Leaf], theirs: dict[str, Leaf]
) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[Leaf, Leaf]]]:
    """What both have: pairs of numbers, and pairs of which one at least is a word or None."""
    numbers, words = {}, {}
    for path, a in ours.items():
        b = theirs.get(path)
        if isinstance(a, float) and isinstance(b, float):
            numbers[path] = a, b
        elif path in theirs:
            words[path] = a, b
    return numbers, words


def _numbers_that_differ(pairs: dict[str, tuple[float, float]]) -> Iterator[str]:
    """To the bit: 0 and -0 differ, and nan equals nan."""
    sizes = {path: abs(a - b) for path, (a, b) in pairs.items() if a.hex() != b.hex()}
    if sizes:
        path = max(sizes, key=lambda path: math.inf if math.isnan(sizes[path]) else sizes[path])
        a, b = pairs[path]
        yield (
            f"{len(sizes)} of {len(pairs)} numbers differ, by up to {sizes[path]:.3g} ({path}: "
            f"{a:.9g} here, "
            f"{b:.9g} in the base)"
        )


def _words_that_differ(pairs: dict[str, tuple[Leaf, Leaf]]) -> Iterator[str]:
    differ = [path for path, (a, b) in pairs.items() if a != b]
    if differ:
        a, b = _from_where_they_differ(*map(str, pairs[differ[0]]))
        yield (
            f"{len(differ)} of {len(pairs)} words differ, first {differ[0]}: {a!r} here, {b!r} "
            f"in the base"
        )


def _from_where_they_differ(a: str, b: str) -> tuple[str, str]:
    """The parts of two sentences to show."""
    pairs = enumerate(zip(a, b, strict=False))
    begin = max(next((i for i, (one, other) in pairs if one != other), 0) - 10, 0)
    return a[begin : begin + SHOWN], b[begin : begin + SHOWN]


def computed(commit: str, cases: list[str]) -> dict[str, Outcome]:
    """What the package of a commit, or of the working tree, computes."""
    with tree_of(commit) as tree:
        return json.loads(run_in(tree, ["-m", "benchmarks.net_cases", *cases]))


def show(lines: list[Compared], only_differences: bool) -> None:
    """Print the table."""
    table = Table(title="The net: what this tree computes, and what the base does")
    for heading in ("configuration", "what", "outcome"):
        table.add_column(heading, overflow="fold")
    for line in lines:
        if not (line.equal and only_differences):
            table.add_row(line.case, line.what, line.said, style="" if line.equal else "bold red")
    Console(width=140).print(table)


def main() -> int:
    """Compare, print, and return 1 where something differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", default="HEAD", help="the commit to compare with")
    parser.add_argument(
        "--cases", nargs="+", default=list(CASES), choices=list(CASES), metavar="CASE"
    )
    parser.add_argument("--differences", action="store_true", help="print only what differs")
    arguments = parser.parse_args()
    try:
        base = computed(arguments.base, arguments.cases)
    except NoCommitError as error:
        parser.error(str(error))
    here = computed(WORKING_TREE, arguments.cases)
    lines = [line for case in arguments.cases for line in compare(case, here[case], base[case])]
    show(lines, arguments.differences)
    differ = sum(not line.equal for line in lines)
    print(
        f"{len(arguments.cases)} configurations, {len(lines)} results: {differ} differ from "
        f"{arguments.base}."
    )
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
