"""Short representations of results, for a console and for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from sklearn.base import BaseEstimator, clone

SHOWN = 20


def html_table(
    title: str, lines: Sequence[str], headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> str:
    """Return a small table under some lines of text, all of it escaped;
    only the first rows are shown.
    """
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows[:SHOWN]
    )
    more = f"<p>and {len(rows) - SHOWN} more</p>" if len(rows) > SHOWN else ""
    said = "".join(f"<p>{escape(line)}</p>" for line in lines)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    return f"<div><strong>{escape(title)}</strong>{said}{table}{more}</div>"


def described(part: Any) -> str:
    """Return how the part would be written in code, on one line;
    whether progress is shown is no part of that.
    """
    if isinstance(part, BaseEstimator):
        shown = {
            name: False for name in part.get_params() if name.rpartition("__")[2] == "progress"
        }
        written = clone(part).set_params(**shown) if shown else part
        return " ".join(repr(written).split())
    return part if isinstance(part, str) else getattr(part, "__qualname__", type(part).__qualname__)
