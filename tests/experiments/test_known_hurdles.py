from evonorm.experiments.calibrate import Curve, Level, Look, Trial
from evonorm.experiments.known_hurdles import accuracies_on, heights_of, hurdle_row, known_layers
from evonorm.graph import CATALOG, Graph
from evonorm.journal import Candidate, Proposal, Rejected

RUNG = Level("rung 2", ("resnet-nano", "mobilenet-thin"), steps=60, gate=0.13, hurdle=50.0)


def candidate(index, hurdles, origin="random", rejected=None):
    return Candidate(Proposal(index, Graph.parse("x"), origin, seed=0, hurdles=hurdles, rejected=rejected), None)


def curve(layer, anchor, accuracy, seed=0):
    looks = (Look(20, 0.9, 2.0), Look(60, accuracy, 2.0))
    return Curve(Trial("cheap", layer, anchor, seed, (20, 60)), looks, 60, 1.0)


def test_a_search_without_the_batch_is_asked_about_layers_without_it():
    assert {"bn-relu", "evonorm-b0", "evonorm-s0", "gn-silu"} < set(known_layers(batch_ops=True))
    alone = known_layers(batch_ops=False)
    assert set(alone) == {"gn-silu", "evonorm-s0", "evonorm-s1", "evonorm-s2"}
    assert not any(Graph.parse(CATALOG[name].formula).batch_moments for name in alone)


def test_only_hurdles_that_somebody_could_meet_count():
    run = [
        candidate(0, (0.0, 0.9), origin="reference"),
        candidate(1, (0.0, 0.0)),
        candidate(2, (0.0, 0.8), rejected=Rejected("free:bends", None)),
        candidate(3, ()),  # equal to another: its score was reused
        candidate(4, (0.0, 0.2)),
    ]
    assert heights_of(run, 1) == [0.0, 0.2]


def test_a_layer_is_held_against_every_hurdle():
    curves = [
        curve("bn-relu", "resnet-nano", 0.3),
        curve("bn-relu", "mobilenet-thin", 0.2),
        curve("bn-relu", "efficientnet-nano", 0.9),  # no anchor of this rung
        curve("gn-silu", "resnet-nano", 0.1),
        curve("gn-silu", "mobilenet-thin", None),  # blew up
    ]
    good, bad = accuracies_on(RUNG, curves)
    heights = [0.0, 0.2, 0.25, 0.26]
    assert hurdle_row(good, heights) == ["bn-relu", "0", "rung 2", "25.0", "13.0", "26.0", "1 of 4"]
    assert hurdle_row(bad, heights)[3:] == ["5.0", "13.0", "26.0", "3 of 4"]
