"""Generators that were fitted on a GPU: what they give there, again, and on a CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from knockoffs import (
    DDLK,
    AutoEncodingKnockoffs,
    DeepKnockoffs,
    GaussianKnockoffs,
    GaussianMixtureKnockoffs,
    HierarchicalKnockoffs,
    HMMKnockoffs,
    JointDensity,
    KnockoffGAN,
    KnockoffSelector,
    load_generator,
)
from knockoffs.generators.base import KnockoffGenerator
from tests.gpu.conftest import Compare
from tests.gpu.devices import assert_equal_up_to_rounding, needs_gpu, without_gpu
from tests.gpu.tables import CASES, Case

pytestmark = [needs_gpu, pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")]

GENERATORS: dict[str, Callable[[], KnockoffGenerator]] = {
    "DDLK": DDLK,
    "Gaussian": GaussianKnockoffs,
    "Gaussian mixture": GaussianMixtureKnockoffs,
    "Deep": lambda: DeepKnockoffs(hidden=(16,), epochs=30),
    "GAN": lambda: KnockoffGAN(hidden=16, epochs=200),
    "auto-encoding": lambda: AutoEncodingKnockoffs(latent=4, hidden=(16,), epochs=30),
    "HMM": lambda: HMMKnockoffs(states=3, iterations=10),
}
WITHOUT_TORCH = ("Gaussian", "Gaussian mixture", "HMM")


def selector(name: str, case: Case) -> KnockoffSelector:
    generator = GENERATORS[name]().set_params(random_state=0)
    chosen = KnockoffSelector(generator, "lasso", certify=False, random_state=0, **case.settings)
    return chosen.fit(case.X, case.y, groups=case.groups)


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("table", CASES)
def test_selections_are_repeatable_and_nearly_those_of_a_cpu(
    name: str, table: str, compare: Compare
) -> None:
    case = CASES[table]()
    compare(lambda: selector(name, case).w_, same=name in WITHOUT_TORCH)


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("table", ["mixed with gaps", "feature groups", "groups of rows"])
def test_a_model_that_moves_to_a_cpu_stays_the_same(name: str, table: str, tmp_path: Path) -> None:
    case = CASES[table]()
    there = fitted(name, case)
    there.save(tmp_path / "model.safetensors")
    drawn = draw(there, case)
    with without_gpu():
        here = load_generator(tmp_path / "model.safetensors")
        assert_equal_up_to_rounding(drawn, draw(here, case))
    if isinstance(there, DDLK):
        assert_densities_agree(there, here, case)


def fitted(name: str, case: Case) -> Any:
    generator = GENERATORS[name]().set_params(random_state=0)
    if case.groups is not None:
        return HierarchicalKnockoffs(generator, random_state=0).fit(case.X, groups=case.groups)
    return generator.fit(case.X, feature_groups=case.settings.get("feature_groups"))


def draw(generator: Any, case: Case) -> np.ndarray:
    """Knockoffs by given noise, as numbers."""
    groups = {} if case.groups is None else {"groups": case.groups}
    knockoffs = generator.sample(case.X, random_state=1, **groups)
    text = knockoffs.select_dtypes(exclude=["number", "bool"]).columns
    codes = {name: pd.factorize(knockoffs[name], sort=True)[0] for name in text}
    return np.column_stack([codes.get(name, column) for name, column in knockoffs.items()]).astype(
        np.float64
    )


def assert_densities_agree(there: DDLK, here: Any, case: Case) -> None:
    knockoffs = there.sample(case.X, random_state=1)
    on_gpu = there.joint_log_prob(case.X), there.log_prob(case.X, knockoffs)
    divergence = there.swap_divergence(case.X, random_state=2).value
    with without_gpu():
        on_cpu = here.joint_log_prob(case.X), here.log_prob(case.X, knockoffs)
        assert here.swap_divergence(case.X, random_state=2).value == pytest.approx(
            divergence, abs=1e-2
        )
    for one, other in zip(on_gpu, on_cpu, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-2)


def test_a_joint_density_that_moves_to_a_cpu_stays_the_same(tmp_path: Path) -> None:
    case = CASES["mixed with gaps"]()
    there = JointDensity(random_state=0).fit(case.X)
    there.save(tmp_path / "density.safetensors")
    scores, redrawn = there.score_samples(case.X), redraw(there, case)
    with without_gpu():
        here = JointDensity.load(tmp_path / "density.safetensors")
        np.testing.assert_allclose(here.score_samples(case.X), scores, rtol=1e-3, atol=1e-2)
        assert_equal_up_to_rounding(redraw(here, case), redrawn)


def redraw(density: JointDensity, case: Case) -> np.ndarray:
    return density.conditional(case.X, 0, random_state=3).sample(20, random_state=4).T
