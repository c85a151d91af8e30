"""Formulas as MathML, which browsers draw themselves, in a font that the site brings: no script,
no network.
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
FONT = "STIXTwoMath-Regular.ttf"
ACCENTS = {"ˆ", "˜", "^", "~"}
_BETWEEN_DOLLARS = re.compile(r"(?<![\\$\w])\$(?!\s)([^$]+?)(?<!\s)\$(?![\w$])")


def mathml(latex: str, *, block: bool) -> str:
    """Return a formula as MathML; one that cannot be read is an error of the build."""
    try:
        drawn = latex2mathml.tex2mathml(latex, as_block=block)
    except Exception as error:
        raise ValueError(f"This formula cannot be turned into MathML ({error}): {latex}") from error
    return _subscripts_beside_accents(drawn)


def _subscripts_beside_accents(drawn: str) -> str:
    """Put the index of a letter with a hat or a tilde beside it; docutils puts it below,
    as for a sum.
    """
    ElementTree.register_namespace("", NAMESPACE)
    root = ElementTree.fromstring(drawn.replace("&ApplyFunction;", "\u2061"))
    for element in root.iter(f"{{{NAMESPACE}}}munderover"):
        letter, index, accent = element
        if (accent.text or "").strip() in ACCENTS:
            marked = ElementTree.Element(f"{{{NAMESPACE}}}mover")
            marked.extend([letter, accent])
            element.tag = f"{{{NAMESPACE}}}msub"
            element[:] = [marked, index]
    return ElementTree.tostring(root, encoding="unicode")


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{mathml(node.astext(), block=True)}</div>\n')
    raise nodes.SkipNode


def read_dollars(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Docstrings write formulas between dollars, as Markdown does."""
    joined = "\n".join(lines)
    if "$" in joined:
        lines[:] = _BETWEEN_DOLLARS.sub(
            lambda m: f":math:`{' '.join(m[1].split())}`", joined
        ).split("\n")


def bring_font(app: Sphinx, error: Exception | None) -> None:
    """Copy STIX Two Math, which has the measures that formulas need, beside the style sheet."""
    if error is None and app.builder.format == "html":
        font = files("ziamath") / "fonts" / FONT
        (Path(app.outdir) / "_static" / FONT).write_bytes(font.read_bytes())


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None)
    )
    app.connect("autodoc-process-docstring", read_dollars, priority=900)
    app.connect("build-finished", bring_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
