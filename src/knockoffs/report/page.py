"""One self-contained HTML file: no network, nothing that a column's name could run."""

from __future__ import annotations

import base64
import hashlib
import os
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from knockoffs.outputs import write_atomically
from knockoffs.report.charts import draw
from knockoffs.report.summary import summarise
from knockoffs.selector import KnockoffSelector

LOADER = PackageLoader("knockoffs.report")


def write_report(selector: KnockoffSelector, path: str | os.PathLike[str]) -> None:
    """Write what a fitted selector found, and why, as one HTML page."""
    write_atomically(path, render(summarise(selector)).encode())


def render(summary: dict[str, Any], *, made: datetime | None = None) -> str:
    """The page of a summary. All texts of the data are escaped; the one script is pinned by its hash."""
    environment = Environment(
        loader=LOADER,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _asset(environment, "report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("report.html.j2").render(
        summary=summary,
        charts=draw(summary),
        script=Markup(script),
        style=Markup(_asset(environment, "report.css")),
        digest=digest,
        made=(made or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _asset(environment: Environment, name: str) -> str:
    return LOADER.get_source(environment, name)[0]
