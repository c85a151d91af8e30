"""The command line: `knockoffs select`, `test`, `sample`, `check`, `describe`, `demo`."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

import click

from knockoffs.cli.terminal import EXIT_CODES, plain_errors, visible

# What each command does, in the order of the help, which is shown without loading their modules.
COMMANDS = {
    "select": "Select the columns of FILE that tell something about the target that all the "
    "others do not.",
    "test": "Give a p-value for each column of FILE: does y depend on it, given all the others?",
    "sample": "Write knockoffs of the rows of FILE: a table like it.",
    "check": "Say how many discoveries with knockoffs of FILE to expect to be false: pass, warn "
    "or fail.",
    "describe": "Show how each column of FILE is read: its kind, values and missing cells.",
    "demo": "Find pixels that distinguish handwritten digits among columns that tell nothing.",
}


class _Commands(click.Group):
    """Commands that are loaded when called; their errors and warnings, also of usage,
    are put in plain words.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = cmd_name in COMMANDS
        return getattr(import_module(f"knockoffs.cli.{cmd_name}"), cmd_name) if known else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = difflib.get_close_matches(args[0], COMMANDS, n=1)
        if near and args[0] not in COMMANDS:
            ctx.fail(f"No such command {visible(args[0])!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        with plain_errors():
            return super().invoke(ctx)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES
)
@click.version_option(package_name="knockoffs")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:  # `plain_errors` looks for --debug
    """Which features matter, with a bounded share of false answers."""
