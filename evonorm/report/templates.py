"""The HTML pages of `pages/`: Jinja escapes whatever is not markup already, and every script is a file of ours."""

import functools
from pathlib import Path
from typing import Any

from evonorm.foundation import needs
from evonorm.pictures import Markup

with needs("report", "a report"):
    import jinja2

PAGES = Path(__file__).parent / "pages"


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def compile_all() -> None:
    """Compiles every template now rather than at the first page."""
    for path in sorted(PAGES.glob("*.html")):
        _environment().get_template(path.name)
    for sections in ("sections.html", "training_sections.html", "front_sections.html"):
        _module(sections)


def style_sheet() -> Markup:
    return Markup((PAGES / "style.css").read_text())


def render(template: str, values: dict[str, Any], served: bool) -> str:
    """A whole page. `served` ones link the style sheet that the dashboard has; others carry it inside."""
    style = "" if served else style_sheet()
    return _environment().get_template(template).render(**values, served=served, style=style)


def render_macro(template: str, macro: str, *arguments: Any) -> Markup:
    """One macro of a template, as markup."""
    return Markup(getattr(_module(template), macro)(*arguments))


@functools.cache
def _module(template: str) -> Any:
    return _environment().get_template(template).make_module({"served": False, "style": ""})
