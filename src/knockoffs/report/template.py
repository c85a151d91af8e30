"""One self-contained HTML file from a template: no network, nothing that a column's name could run."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

LOADER = PackageLoader("knockoffs.report")


def filled_in(template: str, *, made: datetime | None = None, **content: Any) -> str:
    """Fill in a template. All texts of the data are escaped; the one script is pinned by its hash.

    Parameters
    ----------
    template : str
        The name of the template.
    made : datetime, default=None
        When the page was made; now by default.
    **content : object
        What the template shows, by the names that it has there.
    """
    environment = Environment(
        loader=LOADER, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    script, style = (LOADER.get_source(environment, name)[0] for name in ("report.js", "report.css"))
    return environment.get_template(template).render(
        content,
        script=Markup(script),
        style=Markup(style),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        made=(made or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC"),
    )
