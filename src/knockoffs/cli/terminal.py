"""Text on its way out: names of columns cannot steer the terminal, and a reader may go away at any time."""

from __future__ import annotations

import os
import sys
import unicodedata
from contextlib import suppress

import click
from rich.console import Console
from rich.text import Text

# Control characters, formatting characters (among them those that reverse the direction of writing), halves of
# surrogate pairs, and separators of lines and paragraphs.
_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_HARMLESS = {"\n", "\u200c", "\u200d"}  # the joiners belong to the spelling of some languages and to emoji


def visible(text: str) -> str:
    """Return the text with every character that could steer a terminal written as its code.

    >>> print(visible("dose" + chr(27) + "[2J"))
    dose\\x1b[2J
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(_code(character) if _steers(character) else character for character in text)


def _steers(character: str) -> bool:
    return character not in _HARMLESS and unicodedata.category(character) in _STEERING


def _code(character: str) -> str:
    return character.encode("unicode_escape").decode()


def say(message: str, *, err: bool = False) -> None:
    """Print a message on standard output, or on standard error."""
    click.echo(visible(message), err=err)


def one_line(message: object) -> str:
    """Return a message of an error or a warning without line breaks."""
    return " ".join(str(message).split())


def text(value: object, style: str = "") -> Text:
    """Return a value as text of a table: neither markup nor control characters have an effect."""
    return Text(visible(str(value)), style=style)


def console() -> Console:
    """Return a console on standard output."""
    return _Console()


class _Console(Console):
    """A console that leaves a reader who went away to `plain_errors`, as `click.echo` does."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def shows_progress(quiet: bool) -> bool:
    """Return whether progress is shown: bars on a terminal, a line now and then into a log file."""
    return not quiet and sys.stderr is not None


def require_standard_output(option: str) -> None:
    """Refuse to print a result where standard output is closed."""
    if sys.stdout is None:
        raise ValueError(f"{option} prints to standard output, which is closed. Open it, or pass a file instead.")


def abandon_output() -> None:
    """Send what is still to be printed nowhere, so that the end of the process does not fail on it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # a stream that is closed, or no file
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)
