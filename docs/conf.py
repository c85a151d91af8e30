"""The documentation site: `make docs` builds it, without the network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import knockoffs  # noqa: E402 (after the extensions can be found)

project = "knockoffs"
author = "The knockoffs developers"
copyright = "2026, the knockoffs developers; BSD-3-Clause"  # noqa: A001 (Sphinx's name)
version = release = knockoffs.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "site_math",
    "site_names",
    "site_pages",
]
exclude_patterns = [
    "_build",
    "examples",
    "sg_execution_times.rst",
    "reference/generated/backreferences",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
default_role = "name"
nitpicky = False
templates_path = ["_templates"]

html_theme = "furo"
html_title = f"knockoffs {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["llms.txt"]
html_copy_source = False
# summaries are fetched, which browsers forbid for pages without a server
html_show_search_summary = False
html_use_index = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_favicon = "_static/mark.svg"
html_logo = "_static/mark.svg"
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {"color-brand-primary": "#1f5f8b", "color-brand-content": "#1f5f8b"},
    "dark_css_variables": {"color-brand-primary": "#7cc0ee", "color-brand-content": "#7cc0ee"},
}
pygments_style = "friendly"
pygments_dark_style = "native"

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc sections say it
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# What scikit-learn's classes bring along is described there.
INHERITED = {
    "get_metadata_routing",
    "get_params",
    "set_params",
    "set_output",
    "set_fit_request",
    "set_transform_request",
    "set_score_request",
    "fit_transform",
    "get_feature_names_out",
    "inverse_transform",
}


def skip_inherited(
    app: object, what: str, name: str, obj: object, skip: bool, options: object
) -> bool | None:
    module = getattr(obj, "__module__", None) or ""
    return True if name in INHERITED and not module.startswith("knockoffs") else None


sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__|shared",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1,
    "plot_gallery": "True",
    "capture_repr": ("_repr_html_",),
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib", "site_gallery.strict_warnings"),
    "reset_modules_order": "both",
    "doc_module": ("knockoffs",),
    "backreferences_dir": "reference/generated/backreferences",
    "subsection_order": ["examples/1_start", "examples/2_deeper", "examples/3_papers"],
    "within_subsection_order": "FileNameSortKey",
    "default_thumb_file": str(HERE / "_static" / "mark.svg"),
    "image_srcset": ["2x"],
}


def setup(app: object) -> None:
    app.connect("autodoc-skip-member", skip_inherited)  # type: ignore[attr-defined]
