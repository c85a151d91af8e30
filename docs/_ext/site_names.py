"""Single backquotes in docstrings: a link where they hold a public name, code everywhere else."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

import knockoffs


def name_role(
    role: str,
    rawtext: str,
    text: str,
    lineno: int,
    inliner: Inliner,
    options: Any = None,
    content: Any = None,
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return a link to a name of `knockoffs.__all__`, or the text as code."""
    code = nodes.literal(rawtext, nodes.unescape(text))
    name = nodes.unescape(text).removesuffix("()")
    if name not in knockoffs.__all__:
        return [code], []
    settings = {
        "refdomain": "py",
        "reftype": "obj",
        "reftarget": f"knockoffs.{name}",
        "refexplicit": True,
    }
    document = inliner.document.settings.env.docname
    return [pending_xref(rawtext, code, refdoc=document, refwarn=False, **settings)], []


def escape_bars(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """|w| is an absolute value in docstrings, and no substitution of reStructuredText."""
    for number, line in enumerate(lines):
        if "|" in line and not line.lstrip().startswith((">>>", "...", "+", "=")):
            lines[number] = re.sub(r"(?<![`\\])\|(?!`)", r"\\|", line) if "`" not in line else line


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_role("name", name_role)
    app.connect("autodoc-process-docstring", escape_bars, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
