"""Hundreds of hostile command lines, drawn at random from a seed: damaged files, odd options,
clashes of paths.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import Invoke
from .test_attacks import (
    CHECK,
    SAMPLE,
    SELECT,
    TEXT,
    Attack,
    attack,
    model_content,
    parquet,
    small_table,
    zipped,
    zstandard,
)

__all__ = ["attack", "model_content"]  # fixtures

ROUNDS = 150
CARRIERS: dict[str, Callable[[], bytes]] = {
    "text": lambda: TEXT,
    "gzip": lambda: gzip.compress(TEXT),
    "bzip2": lambda: bz2.compress(TEXT),
    "xz": lambda: lzma.compress(TEXT),
    "zstd": lambda: zstandard(TEXT),
    "zip": lambda: zipped({"table.csv": TEXT}),
    "Parquet": lambda: parquet(small_table()),
}
WORDS = [
    "",
    "0",
    "-1",
    "1e999",
    "nan",
    "a",
    "y",
    "../x",
    "\x1b[2J",
    "\u202e",
    "'; rm",
    "=1+1",
    "é",
    "9" * 40,
]
COMMANDS = {  # with the options that take a word, and those that take a path
    SELECT: (
        (
            "--fdr",
            "--draws",
            "--seed",
            "--n-jobs",
            "--groups",
            "--drop",
            "--delimiter",
            "--offset",
            "--task",
        ),
        ("--report", "--save-model"),
    ),
    SAMPLE: (("--seed", "--drop", "--delimiter", "--generator"), ("--out", "--save-model")),
    CHECK: (("--seed", "--drop", "--delimiter", "--n-jobs", "--statistic"), ("--out", "--model")),
}
PLACES = [
    "d.csv",
    "bad",
    "o.csv",
    "sub/o.csv",
    "link",
    "hard",
    "circle",
    "later",
    ".",
    "none/o",
    os.devnull,
]


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with some bytes flipped, a part cut out, repeated, or replaced by noise."""
    kind, (first, last) = rng.integers(5), np.sort(rng.integers(len(content), size=2))
    if kind == 0:
        changed = bytearray(content)
        for place in rng.integers(len(content), size=rng.integers(1, 8)):
            changed[place] ^= 1 << rng.integers(8)
        return bytes(changed)
    middle = {
        1: b"",
        2: 2 * content[first:last],
        3: rng.bytes(last - first),
        4: bytes(last - first),
    }[int(kind)]
    return content[:first] + middle + content[last:]


@pytest.mark.slow
@pytest.mark.parametrize("carrier", CARRIERS)
def test_damaged_tables(attack: Attack, carrier: str) -> None:
    """Text without a checksum may be another table afterwards, which nobody can know."""
    rng = np.random.default_rng(list(CARRIERS).index(carrier))
    whole = CARRIERS[carrier]()
    for _ in range(ROUNDS):
        Path("bad").write_bytes(mutated(whole, rng))
        command = (SELECT, (*SAMPLE, "--out", os.devnull), (*CHECK, "--model", "model"))[
            rng.integers(3)
        ]
        attack(command[0], "bad", *command[2:], "--quiet", fails=None)


@pytest.mark.slow
# of numpy, where the numbers of a model are damaged
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_damaged_models(attack: Attack) -> None:
    rng = np.random.default_rng(0)
    whole = Path("model").read_bytes()
    for _ in range(ROUNDS):
        Path("bad").write_bytes(mutated(whole, rng))
        attack(*CHECK, "--model", "bad", "--quiet", fails=None)
        attack(*SAMPLE, "--generator", "bad", "--out", os.devnull, fails=None)


@pytest.mark.slow
def test_odd_options_and_paths(invoke: Invoke, attack: Attack) -> None:
    rng, codes = np.random.default_rng(9), Counter()
    Path("sub").mkdir()
    Path("bad").write_bytes(b"a,y\n1,2\n")
    Path("link").symlink_to("d.csv")
    os.link("d.csv", "hard")
    Path("circle").symlink_to("circle")
    Path("later").symlink_to("o.csv")
    before = {name: Path(name).read_bytes() for name in ("d.csv", "hard", "model", "k.csv")}
    for _ in range(4 * ROUNDS):
        command = list(COMMANDS)[rng.integers(3)]
        with_words, with_paths = COMMANDS[command]
        arguments = list(command)
        for option in rng.choice(with_words, size=rng.integers(3), replace=False):
            arguments += [str(option), WORDS[rng.integers(len(WORDS))]]
        for option in with_paths:
            place = PLACES[rng.integers(len(PLACES))]
            arguments += [option, "model" if option == "--model" and rng.random() < 0.5 else place]
        result = invoke(*arguments, "--quiet")
        codes[result.exit_code] += 1
        assert result.exit_code in (0, 1, 2), (arguments, result.output)
        assert "Traceback" not in result.output
        assert {name: Path(name).read_bytes() for name in before} == before, arguments
        assert all(Path(name).is_symlink() for name in ("link", "circle", "later")), arguments
        assert not [*Path().rglob("*.part")]
    assert set(codes) == {0, 1, 2}, codes
    assert min(codes.values()) > ROUNDS // 10, codes
