"""`make profile`: where the time of a fit, its draws, statistics and the check goes,
by phase and by function.
"""

from __future__ import annotations

import argparse
import cProfile
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import knockoffs
from benchmarks.speed import rows_of
from knockoffs import DDLK, HoldoutStatistic, LassoStatistic, check_swap

FUNCTIONS = 10
PACKAGE = Path(knockoffs.__file__).parent
PARTS = ("fit", "sample", "lasso", "statistic", "check")

# Functions that carry out the phases of each part of the work, none of them within another one.
PHASES: dict[str, dict[str, str]] = {
    "fit": {
        "linear starts": "generators/joint_model.py:best_starts",
        "stage 1, training": "density/stages.py:fit_joint",
        "stage 2, start": "generators/ddlk.py:_begin_knockoff",
        "stage 2, training": "density/stages.py:fit_knockoff",
    },
    "sample": {"networks, column after column": "density/in_order.py:sample_in_order"},
    "lasso": {"paths of the folds": "statistics/lasso.py:_fold_path"},
    "statistic": {
        "straight lines": "statistics/networks.py:_quantity",
        "training": "density/response_networks.py:fit_response",
        "losses of held-out rows": "density/response_networks.py:swap_differences",
    },
    "check": {
        "simulated responses": "check/expectation.py:expect",
        "tests of single features": "check/feature_tests.py:compare_features",
        "tests of swaps": "check/joint_tests.py:compare_swaps",
        "swap divergence": "check/joint_tests.py:swap_divergence",
    },
}


class Work:
    """What is measured on a table; the parts need those before them, in the order of `PARTS`."""

    def __init__(self, size: str) -> None:
        name, rows, columns = size.split(",")
        self.x = rows_of(name, int(rows), int(columns))
        slopes = np.linspace(0.2, 1, min(10, self.x.shape[1]))
        self.y = self.x[:, : len(slopes)] @ slopes + np.random.default_rng(1).standard_normal(
            len(self.x)
        )
        self.model = DDLK(device="cpu", random_state=0)

    def fit(self) -> None:
        self.model.fit(self.x)

    def sample(self) -> None:
        self.x_tilde = self.model.sample(self.x)

    def lasso(self) -> None:
        LassoStatistic(random_state=0).compute(self.x, self.x_tilde, self.y)

    def statistic(self) -> None:
        HoldoutStatistic(device="cpu", random_state=0).compute(self.x, self.x_tilde, self.y)

    def check(self) -> None:
        check_swap(self.model, self.x, random_state=0)


class Function(NamedTuple):
    """CPU seconds of a function: its own, and with all that it calls."""

    where: str
    calls: int
    own: float
    whole: float


def profile(work: Callable[[], None]) -> list[Function]:
    """Carry out the work and return all functions that had a part in it,
    those with most own time first.
    """
    profiler = cProfile.Profile(time.process_time)
    profiler.runcall(work)
    found = [
        Function(_name(own.code), own.callcount, own.inlinetime, own.totaltime)
        for own in profiler.getstats()
    ]
    return sorted(found, key=lambda own: -own.own)


def _name(code: CodeType | str) -> str:
    """Return the file and the name of a function,
    the file as seen from the package or another one.
    """
    if isinstance(code, str):
        return code.strip("<>")
    path = Path(code.co_filename)
    within = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else Path(*path.parts[-2:])
    return f"{within.as_posix()}:{code.co_name}"


def tables(part: str, functions: list[Function]) -> tuple[Table, Table]:
    """Return where the time of a part went: by phases, and by functions."""
    total = sum(own.own for own in functions)

    def share(seconds: float) -> tuple[str, str]:
        return f"{seconds:.2f}", f"{seconds / total:.0%}"

    phases = Table("phase", title=f"{part}: {total:.2f} CPU seconds")
    most = Table("function", title=f"{part}: the functions that take most, without what they call")
    for heading in ("CPU seconds", "share"):
        phases.add_column(heading, justify="right")
        most.add_column(heading, justify="right")
    most.add_column("calls", justify="right")
    left = total
    for phase, where in PHASES[part].items():
        seconds = sum(own.whole for own in functions if own.where == where)
        left -= seconds
        phases.add_row(phase, *share(seconds))
    phases.add_row("all else", *share(left))
    for own in functions[:FUNCTIONS]:
        most.add_row(own.where, *share(own.own), f"{own.calls:,}")
    return phases, most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sizes", nargs="+", default=["factors,2000,100"], help="distribution,rows,columns"
    )
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    # what is loaded once
    DDLK(joint_epochs=1, knockoff_epochs=1, device="cpu").fit(rows_of("gaussian", 100, 3))
    console = Console(width=110)
    for size in arguments.sizes:
        console.rule(size.replace(",", " "))
        work = Work(size)
        last = max(map(PARTS.index, arguments.parts))
        for part in PARTS[: last + 1]:
            if part in arguments.parts:
                for table in tables(part, profile(getattr(work, part))):
                    console.print(table)
            elif part in ("fit", "sample"):  # which the others need
                getattr(work, part)()


if __name__ == "__main__":
    main()
