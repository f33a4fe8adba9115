"""Which machines may work for a driver."""

import re

import pytest

from evonorm.runner.handshake import NODE_TASK, data_checksum, describe_node, greet, why_refused
from evonorm.runner.surroundings import surroundings
from evonorm.workers.child import load_function


@pytest.fixture(scope="module")
def told():
    pytest.importorskip("sklearn")
    return describe_node({"data": "digits"}, lambda _: None)


def test_a_machine_like_this_one_is_welcome(told):
    greeting = greet(surroundings(), "digits", same_processor=True)
    assert load_function(greeting.function) is describe_node
    assert greeting.function == NODE_TASK
    assert greeting.refuse(told) is None
    assert told["data"] == data_checksum("digits")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"versions": {"torch": "1.0"}}, "it has torch 1.0, the driver has"),
        ({"versions": {"python": None}}, "it has python not at all, the driver has"),
        ({"commit": "abc+"}, "it has commit abc., the driver has"),
        ({"processor": "Abacus"}, "its processor is Abacus, the driver's .* strict order does not allow"),
        ({"data": "00ff"}, "its data set digits has the checksum 00ff, the driver's"),
    ],
)
def test_another_machine_is_refused_in_a_sentence(told, change, words):
    versions = {**told["versions"], **change.get("versions", {})}
    greeting = greet(surroundings(), "digits", same_processor=True)

    assert re.search(words, greeting.refuse({**told, **change, "versions": versions}))


def test_where_the_order_is_that_of_arrival_any_processor_will_do(told):
    assert greet(surroundings(), "digits").refuse({**told, "processor": "Abacus"}) is None


def test_without_data_none_is_asked_for(told):
    assert describe_node({"data": None}, lambda _: None)["data"] is None
    expected = {"versions": told["versions"], "commit": told["commit"]}
    assert why_refused(expected, None, {**told, "data": None}) is None
