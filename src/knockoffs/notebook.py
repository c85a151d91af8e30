"""Short representations of results, for a console and for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

SHOWN = 20


def html_table(title: str, lines: Sequence[str], headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a small table under some lines of text, all of it escaped; only the first rows are shown."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[:SHOWN])
    more = f"<p>and {len(rows) - SHOWN} more</p>" if len(rows) > SHOWN else ""
    said = "".join(f"<p>{escape(line)}</p>" for line in lines)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    return f"<div><strong>{escape(title)}</strong>{said}{table}{more}</div>"
