"""Calls from one part of the package into another during one small fit,
as JSON for `benchmarks.house`.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import numpy as np

import knockoffs
from knockoffs import KnockoffSelector

ROOT = Path(knockoffs.__file__).parent
REPEATS = 5


def fit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    y = X[:, :4].sum(1) + rng.normal(size=200)
    KnockoffSelector("gaussian", "lasso", certify=True, random_state=0).fit(X, y)


def counted(work: Callable[[], object]) -> dict[str, int]:
    """Calls of functions of the package, and those whose nearest caller in the package is elsewhere
    in it.
    """
    counts: Counter[str] = Counter(calls=0, modules=0, packages=0)
    known: dict[CodeType, tuple[str, ...]] = {}

    def place(code: CodeType) -> tuple[str, ...]:
        if code not in known:
            file = Path(code.co_filename)
            own = file.is_relative_to(ROOT) and code.co_name != "<module>"
            known[code] = file.relative_to(ROOT).with_suffix("").parts if own else ()
        return known[code]

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not (here := place(frame.f_code)):
            return
        counts["calls"] += 1
        above = frame.f_back
        while above is not None and not place(above.f_code):
            above = above.f_back
        if above is not None:
            caller = place(above.f_code)
            counts["modules"] += caller != here
            counts["packages"] += caller[0] != here[0]

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return dict(counts)


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds, the median of several."""
    spent = []
    for _ in range(REPEATS):
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return float(np.median(spent))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    fit()  # pays for what is loaded once
    print(json.dumps(counted(fit) | {"seconds": seconds(fit)}))
