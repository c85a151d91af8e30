"""What Python programs pass: numbers of numpy, devices and tensors of torch,
tables with a MultiIndex.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from knockoffs import JointDensity
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.generators.base import KnockoffGenerator

from .tiny import TINY

X = AutoregressiveGaussian(features=4, rho=0.6).sample(60, random_state=3)

pytestmark = pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")


@pytest.fixture(params=TINY)
def make(request: pytest.FixtureRequest) -> Callable[[], KnockoffGenerator]:
    return TINY[request.param]


def as_numpy(value: Any) -> Any:
    """Return the value with numbers of numpy for whole numbers of Python."""
    if isinstance(value, tuple):
        return tuple(map(as_numpy, value))
    return np.int64(value) if isinstance(value, int) and not isinstance(value, bool) else value


def test_whole_numbers_may_be_of_numpy(
    make: Callable[[], KnockoffGenerator], tmp_path: Path
) -> None:
    expected = make().fit(X).sample(X)
    generator = make()
    generator.set_params(
        **{name: as_numpy(value) for name, value in generator.get_params().items()}
    )
    generator.fit(X).save(tmp_path / "model")
    loaded = type(generator).load(tmp_path / "model")
    assert loaded.get_params() == make().get_params()
    for model in (generator, loaded):
        np.testing.assert_array_equal(model.sample(X), expected)
        assert len(model.sample(X, n_draws=np.int64(2), random_state=np.int64(1))) == 2


def test_columns_of_a_multi_index_survive_saving(
    make: Callable[[], KnockoffGenerator], tmp_path: Path
) -> None:
    columns = pd.MultiIndex.from_product([["blood", "urine"], [1, 2]], names=["sample", "day"])
    table = pd.DataFrame(X, columns=columns)
    generator = make().fit(table)
    generator.save(tmp_path / "model")
    loaded = type(generator).load(tmp_path / "model")
    drawn = loaded.sample(table)
    pd.testing.assert_frame_equal(drawn, generator.sample(table))
    pd.testing.assert_index_equal(drawn.columns, columns)
    with pytest.raises(ValueError, match=r"\('blood', 2\).* are not those of the fit"):
        loaded.sample(table[table.columns[[1, 0, 2, 3]]])


def test_column_names_that_no_file_can_hold_are_named(tmp_path: Path) -> None:
    table = pd.DataFrame(X, columns=pd.date_range("2024-01-01", periods=4))
    generator = TINY["Gaussian"]().fit(table)
    with pytest.raises(TypeError, match=r"Timestamp\('2024-01-01.*rename the column to text"):
        generator.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_gradients_that_the_caller_switched_off_do_not_matter(
    make: Callable[[], KnockoffGenerator],
    mode: Callable[[], AbstractContextManager[None]],
    tmp_path: Path,
) -> None:
    expected = make().fit(X).sample(X)
    with mode():
        generator = make().fit(X)
        inside = generator.sample(X)
        generator.save(tmp_path / "model")
        loaded = type(generator).load(tmp_path / "model")
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()
    for drawn in (inside, generator.sample(X), loaded.sample(X), generator.fit(X).sample(X)):
        np.testing.assert_array_equal(drawn, expected)


def test_a_density_is_fitted_where_gradients_are_switched_off() -> None:
    density = JointDensity(hidden=(4,), components=np.int64(2), epochs=1, random_state=0)
    expected = density.fit(X).score_samples(X)
    with torch.inference_mode():
        np.testing.assert_array_equal(density.fit(X).score_samples(X), expected)


def test_tensors_are_read_as_arrays(make: Callable[[], KnockoffGenerator]) -> None:
    tensor = torch.as_tensor(X)
    drawn = make().fit(tensor).sample(tensor)
    assert type(drawn) is np.ndarray
    np.testing.assert_array_equal(drawn, make().fit(X).sample(X))


@pytest.mark.parametrize("device", [None, "auto", "cpu", "cpu:0", torch.device("cpu")], ids=str)
def test_devices(device: Any, tmp_path: Path) -> None:
    generator = TINY["DDLK"]().set_params(device=device).fit(X)
    assert generator.device is device
    generator.save(tmp_path / "model")
    assert type(generator).load(tmp_path / "model").device == "auto"
    loaded = type(generator).load(tmp_path / "model", device=device)
    np.testing.assert_array_equal(loaded.sample(X), generator.sample(X))


@pytest.mark.parametrize(
    "device", [0, 2.5, "mps", "cpu:x", "", torch.device("meta"), ["cpu"]], ids=str
)
def test_what_is_no_device_is_named(device: Any, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"device=.* is not valid: pass 'auto', 'cpu', 'cuda' or 'cuda:N'"
    ):
        TINY["deep"]().set_params(device=device).fit(X)
    TINY["deep"]().fit(X).save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"device=.* is not valid"):
        type(TINY["deep"]()).load(tmp_path / "model", device=device)
