"""Where a result was computed: the commit of the sources, and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
NOT_RECORDED = "not recorded"


class Origin(NamedTuple):
    """The commit and the hardware of a result, in words."""

    commit: str = NOT_RECORDED
    hardware: str = NOT_RECORDED


def origin_here(device: str) -> Origin:
    """Return the commit of these sources and this machine,
    with its GPU where networks ran on one.
    """
    return Origin(_commit(), _hardware() + (f", {_gpu()}" if device.startswith("cuda") else ""))


def together(origins: Iterable[Origin]) -> Origin:
    """Return one origin that names all commits and all machines."""
    commits, machines = (dict.fromkeys(part) for part in zip(*origins, strict=True))
    return Origin(" and ".join(commits), "; ".join(machines))


@lru_cache(maxsize=1)
def _commit() -> str:
    """Return the commit, marked where the sources differ from it."""
    command = ["git", "-C", str(HERE), "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:  # there is no git
        return NOT_RECORDED
    return done.stdout.strip() or NOT_RECORDED


@lru_cache(maxsize=1)
def _hardware() -> str:
    cores = os.cpu_count() or 1
    return f"{cores} core{'s' * (cores > 1)} of {_processor()}"


def _processor() -> str:
    """Return the model of the processor where Linux names it, otherwise its architecture."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _gpu() -> str:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else f"GPU {NOT_RECORDED}"
