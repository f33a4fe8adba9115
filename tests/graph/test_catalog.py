import pytest

from evonorm.graph import CATALOG, Graph

CONTRACT = (
    "bn-relu bn-silu gn-relu gn-silu frn ln-relu pixelnorm-relu random random-rej rs-rej evonorm-b0 evonorm-b1 "
    "evonorm-b2 evonorm-s0 evonorm-s1 evonorm-s2 b0-no-v1x b0-no-local b0-no-global b0-add "
    "b-top1 b-top2 b-top3 b-top4 b-top5 b-top6 b-top7 b-top8 b-top9 b-top10 "
    "s-top1 s-top2 s-top3 s-top4 s-top5 s-top6 s-top7 s-top8 s-top9 s-top10"
)


def test_every_name_of_the_contract_is_there_and_no_other():
    assert " ".join(CATALOG) == CONTRACT


@pytest.mark.parametrize("entry", CATALOG.values(), ids=CATALOG)
def test_every_formula_is_written_as_it_prints(entry):
    assert str(Graph.parse(entry.formula)) == entry.formula
    assert len(Graph.parse(entry.formula).nodes) <= 10, "a layer of the paper fits the paper's space"


def test_what_needs_the_affine_inside_is_marked():
    marked = {name for name, entry in CATALOG.items() if entry.affine_inside}
    assert marked == {"bn-relu", "bn-silu", "gn-relu", "gn-silu", "frn", "ln-relu", "pixelnorm-relu"}


def test_the_s_series_has_no_batch_moment_and_the_b_series_has_one():
    for name, entry in CATALOG.items():
        if name.startswith(("evonorm-s", "s-top")):
            assert not Graph.parse(entry.formula).batch_moments
        if name.startswith(("evonorm-b", "b-top")):
            assert len(Graph.parse(entry.formula).batch_moments) == 1
