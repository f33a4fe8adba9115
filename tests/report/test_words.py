from evonorm.fitness.bend import BENDS
from evonorm.fitness.depth_signal import DEPTH_SIGNAL
from evonorm.fitness.free_checks import FREE_CHECKS
from evonorm.fitness.ladder import rung_name
from evonorm.report.words import end_words, origin_words, why_it_rejects
from evonorm.runner.budget import Budget
from evonorm.search.functions import DUPLICATE


def test_every_test_of_a_search_is_explained():
    for test in (*FREE_CHECKS, BENDS, DEPTH_SIGNAL, DUPLICATE, "quality", "stability", "training", rung_name(1)):
        assert why_it_rejects(test), test


def test_every_end_of_a_session_is_explained():
    for why in (*Budget().to_json(), "stopped"):
        assert end_words(why) != why


def test_what_nobody_knows_stays_as_it_is():
    assert why_it_rejects("a test of next year") is None
    assert origin_words("hand-made") == "hand-made"
    assert end_words("a power cut") == "a power cut"
