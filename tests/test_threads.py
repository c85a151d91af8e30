"""Small work takes one thread, and the number of threads is what it was afterwards."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from knockoffs import GaussianKnockoffs
from knockoffs.threads import FEW_COLUMNS, one_thread, suited_threads


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
