"""A search from Python: any function of a layer, or asked and told; the journal is the command line's."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import evonorm
from evonorm.fitness import cost_front, cost_named
from evonorm.graph import Graph
from evonorm.journal import Rejected, RunFolder, RunLock, Scores, journal_digest, leaderboard
from evonorm.runner.budget import Budget
from evonorm.runner.run_search import resume_search
from tests.runner import own_objective
from tests.runner.own_objective import SEARCH, by_hash


def find(runs, name, objective=by_hash, **settings):
    return evonorm.find_layers(objective, name, runs=runs, **{"candidates": 12, "search": SEARCH} | settings)


def rows(runs, name):
    with RunFolder(runs, name).reader() as reader:
        return [
            (each.proposal.index, each.proposal.graph.encode(), each.outcome and each.outcome.verdict)
            for each in reader.candidates()
        ]


def scored(runs, name):
    with RunFolder(runs, name).reader() as reader:
        return [each for each in reader.candidates() if isinstance(each.outcome, Scores) and not each.proposal.settled]


def test_processes_find_what_this_process_finds(tmp_path):
    here, there = find(tmp_path, "here"), find(tmp_path, "there", workers=2)
    assert [each.formula for each in here] == [each.formula for each in there]
    digests = {journal_digest(RunFolder(tmp_path, name).journal) for name in ("here", "there")}
    assert len(digests) == 1


def test_asked_and_told_it_is_the_same_search_and_goes_on_after_any_end(tmp_path):
    find(tmp_path, "whole", candidates=30)
    for _ in range(4):
        search = evonorm.LayerSearch("hand", search=SEARCH, runs=tmp_path)
        for _ in range(3):
            layer = search.ask()
            search.tell(layer, by_hash(layer))
        search.ask()  # and never told: asked again next time
        search._stack.close()  # as if the process had ended
    whole, hand = rows(tmp_path, "whole"), rows(tmp_path, "hand")
    assert len(hand) > 12
    assert [row[:2] for row in hand] == [row[:2] for row in whole[: len(hand)]]
    told = [each.proposal.index for each in scored(tmp_path, "hand")]
    assert len(told) == 12
    assert told == [each.proposal.index for each in scored(tmp_path, "whole")][: len(told)]


def test_a_killed_search_goes_on_as_the_undisturbed_one(tmp_path):
    undisturbed = find(tmp_path, "undisturbed", candidates=20)
    counter = tmp_path / "counter"
    counter.write_text("9")
    root = Path(own_objective.__file__).parent.parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path]), "KILL_AT": str(counter)}
    command = [sys.executable, own_objective.__file__, str(tmp_path)]
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -9, killed.stderr
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert again.stdout.split() == [str(len(undisturbed))], again.stderr
    assert rows(tmp_path, "killed") == rows(tmp_path, "undisturbed")


def test_the_same_call_goes_on_and_another_one_is_refused(tmp_path):
    find(tmp_path, "run", candidates=6)
    assert find(tmp_path, "run", candidates=12) == find(tmp_path, "run", candidates=12)
    find(tmp_path, "whole", candidates=12)
    assert rows(tmp_path, "run") == rows(tmp_path, "whole")
    with pytest.raises(ValueError, match=r"is another search \(seed was 0, is 1\). Give this one another name"):
        find(tmp_path, "run", seed=1)
    with pytest.raises(ValueError, match=r"fitness.worst was 0.0, is -1.0"):
        find(tmp_path, "run", worst=-1)


def test_a_layer_is_called_where_a_model_makes_one(tmp_path):
    shapes = []

    def objective(layer):
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 1), layer(8), layer(8, nonlinearity=False, groups=4))
        shapes.append(net(torch.zeros(2, 3, 4, 4)).shape)
        return torch.tensor(0.25)

    best = find(tmp_path, "run", objective, candidates=2)
    assert set(shapes) == {(2, 8, 4, 4)}
    assert best[0].average == 0.25


def test_less_may_be_better_and_the_worst_has_no_end(tmp_path):
    losses = iter([2.0, 0.0, 1.0, 5.0, 3.0])
    find(tmp_path, "run", lambda _: next(losses, 4.0), candidates=3, worst=4.0, best=0.0)
    shares = [each.outcome.accuracies["score"] for each in scored(tmp_path, "run")]
    assert shares == [0.5, 1.0, 0.75, 0.0, 0.25]
    with RunFolder(tmp_path, "run").reader() as reader:
        assert reader.candidate(0).outcome.stages[0].figures == {"score": 2.0}


def test_what_is_not_finite_is_turned_down(tmp_path):
    find(tmp_path, "run", lambda layer: 0.5 if isinstance(layer.layer, str) else math.nan, candidates=3)
    with RunFolder(tmp_path, "run").reader() as reader:
        down = [each.outcome for each in reader.candidates() if isinstance(each.outcome, Rejected) and each.seconds]
    assert {outcome.test for outcome in down} == {"not-finite"}
    assert {outcome.anchor for outcome in down} == {"score"}


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        (lambda _: 71.3, r"score must lie between the worst, 0, and the best, 1, got 71.3. Say what they are"),
        (lambda _: "good", "an objective returns a number, or numbers by name, got 'good'"),
        (lambda _: None, "an objective returns a number"),
        (own_objective.broken, "no such data"),
    ],
)
def test_a_broken_objective_ends_it_at_the_first_reference(tmp_path, objective, words):
    with pytest.raises(ValueError, match=r"(?s)the reference bn-relu cannot be evaluated.*" + words):
        find(tmp_path, "run", objective)


def test_what_a_process_cannot_import_is_refused_before_anything_begins(tmp_path):
    with pytest.raises(ValueError, match=r"define it with `def` at the top of a file, or leave workers at 0"):
        find(tmp_path, "run", lambda _: 0.5, workers=2)
    assert not RunFolder(tmp_path, "run").journal.exists()


def test_a_script_without_a_guard_is_told_of_it(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import evonorm\ndef objective(layer):\n    return 0.5\n"
        "evonorm.find_layers(objective, 'run', candidates=2, workers=1)\n"
    )
    root = Path(own_objective.__file__).parent.parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    done = subprocess.run([sys.executable, script.name], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode
    assert "below `if __name__ == '__main__':`" in done.stderr


def test_somebody_elses_objective_needs_a_word(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    find(tmp_path, "run", candidates=2)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "yours"))
    with pytest.raises(ValueError, match=r"by the function tests.runner.own_objective:by_hash, which is not evonorm's"):
        resume_search(RunFolder(tmp_path, "run"), Budget(candidates=4))


def test_ask_and_tell_say_what_is_wrong(tmp_path):
    with evonorm.LayerSearch("hand", search={**SEARCH, "lag": 2}, references=(), runs=tmp_path) as search:
        first, _ = search.ask(), search.ask()
        with pytest.raises(
            ValueError, match=r"2 layers are out, and the next one depends on them. Tell the outcome of"
        ):
            search.ask()
        with pytest.raises(TypeError, match="an objective returns a number"):
            search.tell(first, "good")
        search.tell(first, 0.5)
        with pytest.raises(ValueError, match=f"nobody waits for the outcome of layer {first.number}"):
            search.tell(first, 0.5)
        with pytest.raises(ValueError, match=r"pid|process"):
            evonorm.LayerSearch("hand", search={**SEARCH, "lag": 2}, references=(), runs=tmp_path)
        assert search.best()[0].average == 0.5
    with RunLock(RunFolder(tmp_path, "hand").path):
        pass  # it was let go


def test_a_cost_changes_who_has_children_and_the_front_is_one(tmp_path):
    plain = find(tmp_path, "plain", candidates=60)
    find(tmp_path, "cheap", candidates=60, cost="nodes")
    assert rows(tmp_path, "cheap") != rows(tmp_path, "plain")
    with RunFolder(tmp_path, "cheap").reader() as reader:
        functions = leaderboard(reader, None)
    for name in ("nodes", "instructions"):
        front = cost_front(functions, cost_named(name))
        assert [each.cost for each in front] == sorted({each.cost for each in front})
        for each in functions:
            cheaper = [p for p in front if p.cost <= cost_named(name)(each.graph)]
            assert max(p.ranked.average for p in cheaper) >= each.average
    assert plain[0].average >= plain[-1].average


def test_costs_go_by_the_simplified_function():
    long, short = Graph.parse("x / max(max(rms_bwh(x), rms_bwh(x)), x)"), Graph.parse("x / max(x, rms_bwh(x))")
    assert cost_named("nodes")(long) == cost_named("nodes")(short) == 3
    assert cost_named("instructions")(short) > cost_named("instructions")(Graph.parse("tanh(x)")) > 1
    with pytest.raises(ValueError, match=r"there is no cost 'node'. Did you mean 'nodes'"):
        cost_named("node")
