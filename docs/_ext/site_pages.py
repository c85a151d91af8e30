"""Pages that are written by the package itself: the help of every command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from sphinx.application import Sphinx

from knockoffs.cli import COMMANDS, main

INTRODUCTION = """# The command line

Every command answers `--help`. This page holds these texts, as the installed version prints them.
[From the command line](../../guides/command-line.md) shows how the commands work together.
"""


def command_page() -> str:
    """Return the help of all commands in Markdown."""
    parts = [INTRODUCTION, _help(main, "knockoffs")]
    context = click.Context(main, info_name="knockoffs")
    for name in COMMANDS:
        command = main.get_command(context, name)
        if command is None:
            raise LookupError(f"The command {name} cannot be loaded.")
        parts.append(f"## `knockoffs {name}`\n")
        parts.append(_help(command, f"knockoffs {name}"))
        for own, below in getattr(command, "commands", {}).items():
            parts.append(f"### `knockoffs {name} {own}`\n")
            parts.append(_help(below, f"knockoffs {name} {own}"))
    return "\n".join(parts)


def _help(command: click.Command, name: str) -> str:
    context = click.Context(command, info_name=name, max_content_width=100, terminal_width=100)
    return f"```text\n{command.get_help(context)}\n```\n"


def write_pages(app: Sphinx) -> None:
    path = Path(app.srcdir) / "reference" / "generated" / "command-line.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = command_page()
    # unchanged pages are not built again
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
