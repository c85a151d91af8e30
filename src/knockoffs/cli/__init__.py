"""The command line: `knockoffs select`, `sample`, `check`, `bench`, `demo`."""

from __future__ import annotations

import click

from knockoffs.cli.bench import bench
from knockoffs.cli.check import check
from knockoffs.cli.demo import demo
from knockoffs.cli.sample import sample
from knockoffs.cli.select import select


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, also where nothing was found; 1 the data or a setting will not do; 2 wrong usage; "
    "3 a check that did not pass, with --strict; 130 interrupted.",
)
@click.version_option(package_name="knockoffs")
def main() -> None:
    """Which features matter, with a bounded share of false answers."""


for command in (select, sample, check, bench, demo):
    main.add_command(command)
