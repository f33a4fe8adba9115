"""Pieces of SVG, MathML and HTML that cannot forget to escape: text becomes markup only through here."""

import html
from collections.abc import Mapping


class Markup(str):
    """Text that is markup already. Everything else is escaped by `element` (and by Jinja, which asks `__html__`)."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def element(name: str, attributes: Mapping[str, object] | None = None, *children: str) -> Markup:
    """`<name key="value">children</name>`; attributes of None are left out, numbers keep two decimals."""
    written = "".join(f' {key}="{_value(each)}"' for key, each in (attributes or {}).items() if each is not None)
    if not children:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: str) -> Markup:
    """The pieces one after the other, those that are not markup escaped."""
    return Markup("".join(each if isinstance(each, Markup) else html.escape(each) for each in children))


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return html.escape(str(value))
