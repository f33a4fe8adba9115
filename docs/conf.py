"""How the site is made of the Markdown pages: `make docs`. What Sphinx cannot do by itself is in `tools/site.py`."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import evonorm  # noqa: E402

project = "evonorm"
author = "The evonorm developers"
copyright = "the evonorm developers, Apache-2.0"  # noqa: A001 (Sphinx's own name)
version = release = evonorm.__version__

# The sources are the pages where a forge shows them, so that every link between them holds in both places.
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "site_of_evonorm"]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/*.md", "studies/**.md"]
exclude_patterns = [".venv", "build", "dist", "runs", "native", "evonorm", "tests", "**/.*", "**/__pycache__"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = True
default_role = "code"  # docstrings are read in a terminal too, where `x` is friendlier than two backquotes

html_theme = "furo"
html_title = f"evonorm {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_theme_options = {"navigation_with_keys": True, "sidebar_hide_name": False}
