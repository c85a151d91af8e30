"""Random numbers as an argument: nothing here or elsewhere touches a global generator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

_KEY = int.from_bytes(b"knockoff"[:4])

RandomState = int | np.integer | np.random.Generator | np.random.RandomState | None


def random_generator(random_state: RandomState, *, stream: int = 0) -> np.random.Generator:
    """A generator for this `random_state`; `stream` separates the uses of one integer seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if random_state is None:
        return np.random.default_rng()
    if (
        isinstance(random_state, bool)
        or not isinstance(random_state, (int, np.integer))
        or random_state < 0
    ):
        raise ValueError(
            f"random_state={random_state!r} is not valid: pass a non-negative integer, "
            "a numpy Generator or RandomState, or None."
        )
    # The key keeps these streams apart from the caller's own default_rng(seed).
    return np.random.default_rng(
        np.random.SeedSequence(int(random_state), spawn_key=(_KEY, stream))
    )


def reported_seed(random_state: RandomState) -> int:
    """Return the seed that gives the same result again: the one passed,
    or one drawn from what was passed.
    """
    rng = random_generator(random_state)  # raises an error for what is no seed
    return (
        int(random_state)
        if isinstance(random_state, (int, np.integer))
        else int(rng.integers(2**31))
    )


def torch_generator(rng: np.random.Generator, device: torch.device) -> torch.Generator:
    """Return a generator of torch that is seeded by one of numpy."""
    import torch

    return torch.Generator(device=device).manual_seed(int(rng.integers(2**62)))
