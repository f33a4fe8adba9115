"""Foreign text: nothing that a terminal obeys is left, and everything else is as it was."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from evonorm.foundation import harmless, harmless_json

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
PLAIN = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Zl", "Zp", "Cn"]))
NASTY = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from('\x1b\x07\r\x9b\u202e\\"u0b')))


@given(NASTY)
def test_nothing_obeyed_is_left(text):
    assert not OBEYED.search(harmless(text))


@given(st.recursive(NASTY, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NASTY, inner, max_size=3)))
def test_nor_in_what_json_spells_in_any_way(value):
    for ascii_only in (True, False):
        parsed = json.loads(harmless_json(json.dumps(value, ensure_ascii=ascii_only)))
        assert not any(OBEYED.search(text) for text in texts(parsed))


def texts(value):
    if isinstance(value, str):
        return [value]
    inside = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    return [text for each in inside for text in texts(each)]


@given(PLAIN)
def test_the_rest_stays(text):
    assert harmless(text) == text
    for ascii_only in (True, False):
        assert json.loads(harmless_json(json.dumps(text, ensure_ascii=ascii_only))) == text


def test_an_escape_is_written_out_where_it_stood():
    assert harmless("a\x1b[2Jb\n\tc") == "a\\x1b[2Jb\n\tc"
    assert json.loads(harmless_json('"a\\u001b[2J\\\\u001b\\n"')) == "a\\u001b[2J\\u001b\n"
