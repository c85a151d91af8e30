"""Small tables and quickly fitted models that several test files share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import settings

from knockoffs import DDLK
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.generators.registry import GENERATORS
from knockoffs.statistics.registry import STATISTICS

settings.register_profile(
    "repeatable", deadline=None, derandomize=True, database=None, max_examples=40
)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def no_parts_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is known to that test alone."""
    for known in (GENERATORS, STATISTICS):
        monkeypatch.setattr(known, "_registered", {})


@pytest.fixture(scope="session")
def fast_ddlk() -> Callable[..., DDLK]:
    """A DDLK that is trained for a moment only; keywords override its settings."""

    def make(**overrides: object) -> DDLK:
        small = {"hidden": (8,), "joint_epochs": 2, "knockoff_epochs": 1, "random_state": 0}
        return DDLK(**(small | overrides))

    return make


@pytest.fixture(scope="session")
def gaussian_law() -> AutoregressiveGaussian:
    return AutoregressiveGaussian(features=8, rho=0.6, mean=1.0)


@pytest.fixture(scope="session")
def gaussian_model(gaussian_law: AutoregressiveGaussian) -> DDLK:
    """DDLK fitted to 600 rows of `gaussian_law`."""
    return DDLK(hidden=(16,), random_state=0).fit(gaussian_law.sample(600, random_state=1))


@pytest.fixture
def double_precision() -> Iterator[None]:
    """New tensors hold 64 bits, so that identities can be checked beyond single precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture
def mixed_frame() -> pd.DataFrame:
    """Dependent columns of four types, one with a name that is no HTML,
    under an index that is no range.
    """
    z = AutoregressiveGaussian(features=5, rho=0.6).sample(160, random_state=2)
    columns = {
        "<b>": z[:, 0],
        "weight in kg": (70 + 10 * z[:, 1]).astype(np.float32),
        "visits": np.rint(4 + 2 * z[:, 2]).astype(np.int64),
        "smoker": z[:, 3] > 0.5,
        "été": np.exp(z[:, 4]),
    }
    return pd.DataFrame(columns, index=[f"patient {i}" for i in range(160, 0, -1)])
