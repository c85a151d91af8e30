"""Small work takes one thread, and the number of threads is what it was afterwards."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from knockoffs import GaussianKnockoffs
from knockoffs.runtime.parallel import FEW_COLUMNS, one_thread, suited_threads


def threads() -> tuple[int, ...]:
    return (torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info()))


@pytest.fixture(autouse=True)
def _two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_few_columns_take_one_thread_and_many_those_that_there_are() -> None:
    before = threads()
    with suited_threads(np.zeros((5, FEW_COLUMNS))):
        assert set(threads()) == {1}
    assert threads() == before
    with suited_threads(np.zeros((5, FEW_COLUMNS + 1))):
        assert threads() == before


def test_the_number_is_what_it_was_also_after_an_error() -> None:
    before = threads()
    with pytest.raises(ZeroDivisionError), one_thread():
        _ = 1 / 0
    assert threads() == before


def test_a_fit_leaves_the_number_as_it_was() -> None:
    before = threads()
    GaussianKnockoffs().fit(np.random.default_rng(0).normal(size=(300, 3)))
    assert threads() == before


def test_torch_takes_one_thread_also_where_the_selection_is_the_first_to_need_it() -> None:
    """The names and defaults of generators bring it, before threads are counted and limited."""
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    done = subprocess.run(
        [sys.executable, "-c", FIRST], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


FIRST = """
import sys
import numpy as np
from knockoffs import KnockoffSelector

assert "torch" not in sys.modules
seen = []

def statistic(X, X_tilde, y):
    seen.append(sys.modules["torch"].get_num_threads())
    return X[0] - X_tilde[0]

X, y = np.random.default_rng(0).normal(size=(60, 3)), np.random.default_rng(1).normal(size=60)
KnockoffSelector(None, statistic, fdr=0.5, certify=False, random_state=0).fit(X, y)
assert seen == [1]
assert sys.modules["torch"].get_num_threads() == 2
"""
