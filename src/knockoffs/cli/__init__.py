"""The command line: `knockoffs select`, `test`, `sample`, `check`, `describe`, `bench`, `demo`."""

from __future__ import annotations

from typing import Any

import click

from knockoffs.cli.bench import bench
from knockoffs.cli.check import check
from knockoffs.cli.demo import demo
from knockoffs.cli.describe import describe
from knockoffs.cli.errors import EXIT_CODES, plain_errors
from knockoffs.cli.sample import sample
from knockoffs.cli.select import select
from knockoffs.cli.test import test


class _Commands(click.Group):
    """Commands whose errors and warnings are put in plain words, also those of their usage."""

    def invoke(self, ctx: click.Context) -> Any:
        with plain_errors():
            return super().invoke(ctx)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES)
@click.version_option(package_name="knockoffs")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:  # `plain_errors` looks for --debug
    """Which features matter, with a bounded share of false answers."""


for command in (select, test, sample, check, describe, bench, demo):
    main.add_command(command)
