"""One seed, one stream of numbers; no global generator is ever touched."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from knockoffs.runtime.randomness import random_generator, reported_seed, torch_generator


def numbers(random_state: object, **options: int) -> list[float]:
    return random_generator(random_state, **options).random(8).tolist()


def test_the_same_seed_gives_the_same_numbers_whatever_its_integer_type() -> None:
    assert numbers(7) == numbers(7) == numbers(np.int64(7)) == numbers(np.uint8(7))
    assert numbers(7) != numbers(8)


def test_streams_of_one_seed_share_no_numbers() -> None:
    streams = [set(numbers(7, stream=stream)) for stream in range(4)]
    assert len(set.union(*streams)) == 4 * 8


def test_no_seed_means_fresh_numbers() -> None:
    assert numbers(None) != numbers(None)


def test_a_generator_is_used_as_it_is_and_goes_on() -> None:
    mine, twin = np.random.default_rng(3), np.random.default_rng(3)
    assert random_generator(mine) is mine
    assert numbers(mine) + numbers(mine) == twin.random(16).tolist()


def test_a_legacy_random_state_seeds_and_goes_on() -> None:
    legacy = np.random.RandomState(3)
    first, second = numbers(legacy), numbers(legacy)
    assert first != second
    assert first == numbers(np.random.RandomState(3))


@pytest.mark.parametrize("bad", [-1, "a", 1.0, True, [1, 2], np.float64(3)])
def test_anything_else_is_refused_by_name(bad: object) -> None:
    with pytest.raises(
        ValueError, match=r"random_state=.* is not valid: pass a non-negative integer"
    ):
        random_generator(bad)
    with pytest.raises(
        ValueError, match=r"random_state=.* is not valid: pass a non-negative integer"
    ):
        reported_seed(bad)


def test_the_reported_seed_is_the_one_that_was_passed_or_drawn() -> None:
    assert reported_seed(7) == reported_seed(np.int64(7)) == 7
    assert reported_seed(np.random.default_rng(3)) == np.random.default_rng(3).integers(2**31)


def test_torch_generators_follow_the_numpy_one_and_leave_the_global_ones_alone() -> None:
    def draw(seed: int) -> torch.Tensor:
        return torch.rand(
            4, generator=torch_generator(np.random.default_rng(seed), torch.device("cpu"))
        )

    before, numpy_before = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002 (it is what must not move)
    assert torch.equal(draw(0), draw(0))
    assert not torch.equal(draw(0), draw(1))
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numpy_before[1])  # noqa: NPY002


def test_streams_are_apart_from_the_callers_own_generator() -> None:
    mine = np.random.default_rng(5).random(4)
    assert not any(
        np.array_equal(random_generator(5, stream=stream).random(4), mine) for stream in range(4)
    )
