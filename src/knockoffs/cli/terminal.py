"""What the command line says: text, errors and warnings in one line, and exit codes.

Names of columns cannot steer the terminal, and a reader may go away at any time.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from knockoffs.runtime.cautions import KnockoffWarning
from knockoffs.runtime.versions import installed_version

# Control characters, formatting characters (among them those that reverse the direction of
# writing), halves of surrogate pairs, and separators of lines and paragraphs.
_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# the joiners belong to the spelling of some languages and to emoji
_HARMLESS = {"\n", "\u200c", "\u200d"}


def visible(text: str) -> str:
    """Return the text with every character that could steer a terminal written as its code.

    >>> print(visible("dose" + chr(27) + "[2J"))
    dose\\x1b[2J
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode() if _steers(c) else c for c in text)


def _steers(character: str) -> bool:
    return character not in _HARMLESS and unicodedata.category(character) in _STEERING


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


def require_standard_output(option: str, asked: bool = True) -> None:
    """Refuse to print a result where standard output is closed."""
    if asked and sys.stdout is None:
        raise ValueError(
            f"{option} prints to standard output, which is closed. Open it, or pass a file instead."
        )


def abandon_output() -> None:
    """Send what is still to be printed nowhere,
    so that the end of the process does not fail on it.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # a stream that is closed, or no file
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


UNEXPECTED = 70  # what sysexits.h calls an error of the software
INTERRUPTED = 130  # 128 + SIGINT
NO_READER = 141  # as where SIGPIPE ends a process
EXIT_CODES = (
    "Exit codes: 0 done, also where nothing was found; 1 the data or a setting will not do; 2 "
    "wrong usage; "
    "3 a check that did not pass, with --strict; 70 an error of the program, please report it; "
    "129 the terminal "
    "was closed; 130 interrupted; 141 the reader of standard output went away; 143 terminated."
)
NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
# What the package and the libraries below it raise for data and settings that will not do.
EXPECTED = (ValueError, TypeError, OSError, ImportError)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Put errors and warnings in one line each, which names the problem and the remedy,
    instead of a traceback.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", KnockoffWarning)
        warnings.showwarning = partial(_show_warning, set())
        try:
            yield
        except KeyboardInterrupt:
            say("Interrupted. Files that were not complete yet have not been written.", err=True)
            sys.exit(INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort):  # in plain words already
            raise
        except Exception as error:
            # Of standard output; the error of a named pipe among the outputs has the pipe's name.
            if isinstance(error, BrokenPipeError) and error.filename is None:
                abandon_output()
                sys.exit(NO_READER)
            if _debugging():
                say(traceback.format_exc(), err=True)
            raise _in_plain_words(error) from error


class _UnexpectedError(click.ClickException):
    exit_code = UNEXPECTED


def _in_plain_words(error: Exception) -> click.ClickException:
    """Return an error that is shown in one line;
    one that nobody expected also says what to report.
    """
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        place = (
            "standard output or a temporary file"
            if error.filename is None
            else repr(error.filename)
        )
        return click.ClickException(
            f"{visible(place)} cannot be written ({error.strerror}). Free space there, or pass "
            f"another path."
        )
    if isinstance(error, EXPECTED) or _diverged(error):
        return click.ClickException(visible(one_line(error)))
    if _lacks_memory(error):
        said = visible(one_line(error)) or "no details"
        return click.ClickException(
            f"there is not enough memory ({said}). Pass fewer rows or columns, or use a larger "
            f"machine."
        )
    place = traceback.extract_tb(error.__traceback__)[-1]
    remedy = "" if _debugging() else " 'knockoffs --debug COMMAND …' shows more."
    return _UnexpectedError(
        f"the program failed where it should not: {type(error).__name__}: "
        f"{visible(one_line(error))[:300]} "
        f"({Path(place.filename).name}, line {place.lineno}; knockoffs "
        f"{installed_version('knockoffs')}). Please "
        f"report this line and the command.{remedy}"
    )


def _diverged(error: Exception) -> bool:
    """Return whether a training diverged; without the engine, which is slow to import,
    nothing was trained.
    """
    training = sys.modules.get("knockoffs.density.training")
    return training is not None and isinstance(error, training.TrainingDivergedError)


def _lacks_memory(error: Exception) -> bool:
    """Return whether memory was lacking, of the machine or of its GPU;
    torch says so by a RuntimeError.
    """
    by_torch = isinstance(error, RuntimeError) and re.search(
        "out of memory|allocate memory", str(error)
    )
    return isinstance(error, MemoryError) or bool(by_torch)


def _debugging() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("debug"))


def _show_warning(
    shown: set[str], message: Warning | str, category: type[Warning], *_: Any, **__: Any
) -> None:
    """Print a warning unless it is `shown` already:
    every draw of a model repeats what it warns of.
    """
    kind = "Warning" if issubclass(category, KnockoffWarning) else category.__name__
    line = f"{kind}: {one_line(message)}"
    if line not in shown:
        shown.add(line)
        say(line, err=True)
