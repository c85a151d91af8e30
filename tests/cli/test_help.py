"""Help, the version and wrong usage answer at once:
nothing that takes seconds to import is imported for them.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import get_args

import click
import pytest

from knockoffs.cli import COMMANDS, common, main
from knockoffs.pvalues.corrections import Correction
from knockoffs.pvalues.one_feature import Variant

from .conftest import Invoke

SLOW = {"torch", "sklearn", "pandas", "scipy", "pyarrow", "narwhals", "matplotlib", "joblib"}
IMPORTED = """
import sys
from knockoffs.__main__ import run
try:
    run()
finally:
    print("imported:", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--version"], 0, "version"),
        (["--help"], 0, "Show how each column of FILE is read"),
        (["select", "--help"], 0, "--statistic [auto|mixture|holdout|"),
        (["sample", "--help"], 0, "ddlk|gaussian|"),
        (["check", "--help"], 0, "--dry-run"),
        (["describe", "--help"], 0, "--kind"),
        (["demo", "--help"], 0, "digits"),
        (["bench"], 2, "No such command 'bench'"),
        (["selct", "table.csv"], 2, "Did you mean 'select'?"),
        (["nothing"], 2, "No such command 'nothing'"),
        (["select", "table.csv", "--traget", "y"], 2, "--target"),
        (["select", "table.csv"], 2, "Missing option '--target'"),
        (
            ["select", "table.csv", "--target", "y", "--statistic", "none"],
            2,
            "'none' is not one of",
        ),
    ],
)
def test_nothing_slow_is_imported(arguments: list[str], code: int, said: str) -> None:
    command = [sys.executable, "-c", IMPORTED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr
    imported = set(done.stdout.rpartition("imported: ")[2].split())
    assert {"click", "knockoffs"} <= imported
    assert not imported & SLOW


def test_names_in_the_help_are_those_of_the_package() -> None:
    assert get_args(Variant) == common.VARIANTS
    assert get_args(Correction) == common.CORRECTIONS


def test_the_help_of_all_commands_is_their_own(invoke: Invoke) -> None:
    context = click.Context(main)
    for name, summary in COMMANDS.items():
        command = main.get_command(context, name)
        assert command is getattr(import_module(f"knockoffs.cli.{name}"), name)
        assert (command.help or "").partition("\n")[0] == summary
    shown = " ".join(invoke("--help").output.split())
    assert all(f"{name} {summary}" in shown for name, summary in COMMANDS.items())
