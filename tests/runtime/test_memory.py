"""Memory: work that cannot fit is refused before it begins,
by estimates that agree with what a fit takes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from knockoffs import DDLK, GaussianKnockoffs, JointDensity
from knockoffs.runtime import memory
from tests.generators.tiny import TINY

GIB = 2**30


def test_the_limit_is_that_of_the_machine_or_its_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = memory.memory_limit()
    assert limit is not None
    assert limit > 2**28
    (tmp_path / "limit").write_text(f"{limit // 2}\n")
    monkeypatch.setattr(memory, "_CGROUP_LIMITS", (tmp_path / "limit", tmp_path / "none"))
    assert memory.memory_limit() == limit // 2
    (tmp_path / "limit").write_text("max\n")
    without = memory.memory_limit()
    assert without is not None
    assert without >= limit


def test_a_machine_that_does_not_say_what_it_has_refuses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "_CGROUP_LIMITS", ())
    monkeypatch.setattr(memory.os, "sysconf_names", {})
    assert memory.memory_limit() is None
    memory.require_memory("Generator", 10, 10, lambda rows, columns: 1e30)


def test_the_advice_can_be_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "memory_limit", lambda: GIB)
    with pytest.raises(
        memory.NotEnoughMemoryError, match=r"about 4\.4 TiB .*about 1,400 would fit"
    ):
        memory.require_memory(
            "Generator", 12, 100_000, lambda rows, columns: rows * 40 * columns**2
        )
    memory.require_memory("Generator", 12, 1_400, lambda rows, columns: rows * 40 * columns**2)


@pytest.mark.parametrize("kind", TINY)
def test_a_table_that_is_too_wide_is_refused_before_the_fit(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = TINY[kind]()
    x = np.random.default_rng(0).normal(size=(60, 30))
    monkeypatch.setattr(memory, "memory_limit", lambda: int(generator._fit_memory(60, 20)))
    monkeypatch.setattr(generator, "_fit", lambda *_: pytest.fail("the fit began"))
    said = (
        rf"{type(generator).__name__}: a fit to 30 columns needs about .* MiB of memory.*about "
        rf"\d+ would fit"
    )
    with pytest.raises(MemoryError, match=said):
        generator.fit(x)


def test_a_density_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "memory_limit", lambda: 1000)
    with pytest.raises(memory.NotEnoughMemoryError, match="JointDensity: a fit to 5 columns"):
        JointDensity().fit(np.random.default_rng(0).normal(size=(60, 5)))


@pytest.mark.parametrize("generator", [GaussianKnockoffs(), DDLK(), DDLK.paper()], ids=str)
def test_no_machine_of_today_fits_a_hundred_thousand_columns(
    generator: GaussianKnockoffs | DDLK,
) -> None:
    assert 600 * GIB < generator._fit_memory(12, 100_000) < 100_000 * GIB


@pytest.mark.slow
@pytest.mark.parametrize(
    ("generator", "columns"),
    [
        ("GaussianKnockoffs()", 1000),  # at fewer the growth drowns in what imports took
        ("GaussianKnockoffs()", 2000),
        ("DDLK(joint_epochs=1, knockoff_epochs=1)", 500),
        ("DDLK.paper(joint_epochs=1, knockoff_epochs=1)", 200),
        ("DeepKnockoffs(epochs=1)", 800),
        ("KnockoffGAN(epochs=1)", 800),
        ("HMMKnockoffs(iterations=2)", 2000),
    ],
)
def test_estimates_agree_with_what_a_fit_takes_within_a_factor_of_two(
    generator: str, columns: int
) -> None:
    """The growth of the peak of a process that has fitted a small table of the same kind before."""
    code = f"""
import warnings
import numpy as np
from knockoffs import *
warnings.simplefilter("ignore")
x = np.random.default_rng(0).normal(size=(200, {columns}))
generator = {generator}
generator.fit(x[:, :5])
def peak():
    # of this process; what resource.getrusage says may be the peak of the one that started it
    status = open("/proc/self/status")
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
before = peak()
generator.fit(x)
grown = 1024 * (peak() - before)
print(grown / generator._fit_memory(200, {columns}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.5 < float(done.stdout) < 2
