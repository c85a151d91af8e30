"""`make speed`: seconds of one core on tables of many sizes,
beside those of an earlier commit in the same run.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks.trees import HERE, NoCommitError, run_in, tree_of
from knockoffs import DDLK
from knockoffs.datasets import AutoregressiveGaussian, ClaytonCopula
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.lasso import LassoStatistic

BEFORE = "241ef70"
SIZES = (
    "gaussian,2000,100",
    "clayton,2000,100",
    "factors,2000,25",
    "factors,2000,50",
    "factors,2000,100",
)
LARGE = (
    "factors,2000,400",
    "factors,2000,800",
    "factors,500,1000",
    "factors,8000,50",
    "factors,128000,50",
)
PARTS = ("fit", "sample", "lasso", "statistic")


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def rows_of(name: str, rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Rows of a distribution; "factors" has five common factors and log-normal columns in its
    second half.
    """
    if name == "gaussian":
        return AutoregressiveGaussian(columns).sample(rows, seed)
    if name == "clayton":
        return ClaytonCopula(columns).sample(rows, seed)
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((columns, 5))
    rng = rng if seed == 0 else np.random.default_rng(seed)  # other rows of the same distribution
    x = (rng.standard_normal((rows, 5)) @ loadings.T + 2 * rng.standard_normal((rows, columns))) / 3
    x[:, columns // 2 :] = np.exp(x[:, columns // 2 :])
    return x


def measure(size: str, parts: list[str]) -> dict[str, float]:
    """CPU seconds of each part of the work, after a small fit that pays for what is loaded once."""
    torch.set_num_threads(1)
    name, rows, columns = size.split(",")
    x = rows_of(name, int(rows), int(columns))
    DDLK(joint_epochs=1, knockoff_epochs=1, device="cpu", random_state=0).fit(x[:100, :3])
    y = x[:, :10] @ np.linspace(0.2, 1, 10) + np.random.default_rng(1).standard_normal(len(x))
    model = DDLK(device="cpu", random_state=0)
    spent: dict[str, float] = {}

    def timed(part: str, work: Callable[[], np.ndarray]) -> np.ndarray | None:
        if part not in parts:
            return None
        begun = time.process_time()
        found = work()
        spent[part] = time.process_time() - begun
        return found

    timed("fit", lambda: model.fit(x))
    x_tilde = timed("sample", lambda: model.sample(x))
    if x_tilde is not None:
        timed("lasso", lambda: LassoStatistic(random_state=0).compute(x, x_tilde, y))
        timed("statistic", lambda: HoldoutStatistic(random_state=0).compute(x, x_tilde, y))
    return spent | {"GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def in_a_process(size: str, parts: list[str], tree: Path | None) -> dict[str, float]:
    """What `measure` finds with the package of a tree;
    nothing where there is none or it cannot do this.
    """
    if tree is None:
        return {}
    try:
        printed = run_in(tree, ["-m", "benchmarks.speed", "--measure", size, "--parts", *parts])
    except subprocess.CalledProcessError:
        return {}
    return json.loads(printed.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), help="distribution,rows,columns")
    parser.add_argument("--large", action="store_true", help="also sizes that took minutes before")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument(
        "--before", default=BEFORE, help="the commit to compare with; empty for none"
    )
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.parts)))
        return
    table = Table(title="CPU seconds of one core; in brackets how many times faster than before")
    for heading in ("distribution, rows, columns", *arguments.parts, "GiB"):
        table.add_column(heading, justify="right")
    with ExitStack() as stack:
        earlier = _earlier(arguments.before, stack)
        for size in [*arguments.sizes, *(LARGE if arguments.large else ())]:
            now = in_a_process(size, arguments.parts, HERE)
            before = in_a_process(size, arguments.parts, earlier)
            cells = [_cell(now.get(part), before.get(part)) for part in (*arguments.parts, "GiB")]
            table.add_row(size.replace(",", " "), *cells)
            print(size, now, before, flush=True)
    Console(width=140).print(table)


def _earlier(commit: str, stack: ExitStack) -> Path | None:
    """The tree of a commit, for as long as the stack is open;
    None where there is no such commit.
    """
    try:
        return stack.enter_context(tree_of(commit)) if commit else None
    except NoCommitError as error:
        print(f"{error} No comparison.")
        return None


def _cell(now: float | None, before: float | None) -> str:
    if now is None:
        return "-"
    return f"{now:.2f}" if not before else f"{now:.2f} ({before / now:.1f}x)"


if __name__ == "__main__":
    main()
