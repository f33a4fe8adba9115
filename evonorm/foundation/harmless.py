"""Text from files that somebody else may have made, without what a terminal or a page would obey."""

import re

# Terminals obey these: escape sequences in seven and eight bits, carriage returns that write over a line, and marks
# that turn the direction of reading. Line ends and tabs stay.
_RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]")
_IN_JSON = re.compile(
    r"\\\\|\\u00(?:0[0-8b-f]|1[0-9a-f]|7f|[89][0-9a-f])|\\u20(?:2[89a-e]|6[6-9])|\\ufff[ef]|\\[bfr]|" + _RAW.pattern,
    re.IGNORECASE,
)


def harmless(text: str) -> str:
    """The text with such characters written out, as in `\\x1b[2J`."""
    return text if text.isascii() and text.isprintable() else _RAW.sub(_written_out, text)


def harmless_json(text: str) -> str:
    """JSON whose strings, once parsed, hold no such character, however they were spelt."""
    if text.isascii() and "\\" not in text and text.isprintable():
        return text
    return _IN_JSON.sub(_escaped, text)


def _written_out(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


def _escaped(found: re.Match[str]) -> str:
    text = found[0]
    if text == "\\\\":  # a backslash of the text itself; what follows it is no escape
        return text
    return "\\" + (text if text.startswith("\\") else _written_out(found))
