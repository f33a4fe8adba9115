"""Uses everything that `tests/plugin_package` registers, as its users would. Run by tests, also without pytest."""

import sys
import tempfile
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import numpy as np
import torch

import evonorm
from evonorm.export import layer_source
from evonorm.fitness import FitnessRecipe, QualityRecipe, StabilityRecipe, evaluate, screen
from evonorm.graph import PRIMITIVES, ROWS
from evonorm.graph.sampling import sample_primitive
from evonorm.journal import Scores
from evonorm.kernels import fingerprint
from evonorm.models import model_cost
from evonorm.pictures import formula_mathml, graph_svg
from evonorm.runner import kept_results, load_task_recipe, train
from evonorm.training import TrainingRecipe

FORMULA = "softsign(soft_min(x, v1)) / (rms_bwhc(x) + std_c(x))"


def recipe():
    return FitnessRecipe(
        data="their-noise",
        anchors=("their-anchor",),
        threads=1,
        validation_images=100,
        quality=QualityRecipe(steps=1, accuracy=0.0),
        stability=StabilityRecipe(steps=1),
        training=TrainingRecipe(steps=2),
    )


def parse_and_write():
    graph = evonorm.Graph.parse(FORMULA)
    assert str(graph) == FORMULA
    assert evonorm.Graph.decode(graph.encode()) == graph
    assert r"\mathrm{softsign}\left(\mathrm{smin}\left(x, v_1\right)\right)" in graph.latex()
    typeset = "".join(ET.fromstring(formula_mathml(graph)).itertext())
    drawn = "".join(ET.fromstring(graph_svg(graph)).itertext())
    assert "softsign" in typeset
    assert "b,w,h,c" in typeset
    assert "smin" in drawn
    assert "b,w,h,c" in drawn


def run_and_train():
    """On a CPU, where the native kernel would run: plain torch instead, said once per primitive."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for formula in (FORMULA, FORMULA, "softsign(x)", "x / rms_bwhc(x)"):
            layer = evonorm.create_layer(formula, 8)
            for _ in range(2):
                layer(torch.randn(4, 8, 3, 3)).square().mean().backward()
            layer.eval()(torch.randn(4, 8, 3, 3))
        assert evonorm.create_layer("doubled", 8)(torch.ones(1, 8, 2, 2)).eq(2).all()
        outcomes = [evaluate(name, recipe(), seed=0) for name in ("softsign-rms", "doubled", "bn-relu")]
    assert all(isinstance(outcome, Scores) for outcome in outcomes), outcomes
    told = Counter(str(each.message).split(" for ")[1].split(".")[0] for each in caught)
    assert told == {"soft_min": 1, "softsign": 1, "rms_bwhc": 1}, [str(each.message) for each in caught]


def moving_moments():
    layer = evonorm.create_layer("x / rms_bwhc(x)", 8, momentum=1.0).double()
    x = torch.randn(4, 8, 3, 3, dtype=torch.float64)
    trained = layer(x)
    assert torch.allclose(layer.running_square, x.square().mean().expand(8))
    assert torch.allclose(layer.eval()(x[:1]), trained[:1], atol=1e-6)


def compare_functions():
    graph = evonorm.graph_of("softsign-rms")
    other = evonorm.Graph.parse("-softsign(-x) / rms_bwhc(abs(x))")
    assert str(evonorm.simplify(other)) == str(evonorm.simplify(graph))
    assert fingerprint(other) == fingerprint(graph)
    assert fingerprint(graph) != fingerprint(evonorm.Graph.parse("softsign(x) / rms_bwh(x)"))
    assert fingerprint(graph) != fingerprint(evonorm.Graph.parse("softsign(x) / rms_whc(x)"))
    one, two = (evonorm.Graph.parse(f"soft_min({each})") for each in ("x, v1", "v1, x"))
    assert evonorm.simplify(one) == evonorm.simplify(two)
    assert screen(graph).rejected is None


def sample_and_mutate():
    """What was registered as searched joins the rows of the paper's table, the rest does not."""
    rng = np.random.default_rng(0)
    drawn = Counter(sample_primitive(rng).name for _ in range(20_000))
    papers = {primitive.name for row in ROWS for primitive in row}
    assert set(drawn) - papers == {"softsign", "mean_bwhc", "rms_bwhc", "std_bwhc"}
    assert abs(drawn["softsign"] * 16 / 20_000 - 1) < 0.15
    assert abs(drawn["rms_bwhc"] * 16 * 5 / 20_000 - 1) < 0.3
    assert not {sample_primitive(rng, batch_ops=False).name for _ in range(5000)} & {"rms_bwhc", "rms_bwh"}
    graph = evonorm.Graph.parse(FORMULA)
    mutants = [evonorm.mutate(graph, rng) for _ in range(300)]
    assert {"softsign", "soft_min"} < {node.op for mutant in mutants for node in mutant.nodes}


def export():
    graph = evonorm.Graph.parse(FORMULA)
    namespace = {}
    exec(compile(layer_source(graph, "Theirs"), "theirs.py", "exec"), namespace)
    ours, theirs = evonorm.NormAct(graph, 8).double(), namespace["Theirs"](8).double()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(4, 8, 3, 3, dtype=torch.float64)
    assert torch.equal(ours(x), theirs.plain(x))
    torch.testing.assert_close(theirs.running_square, ours.running_square)
    torch.testing.assert_close(theirs.eval().plain(x), ours.eval()(x))


def count():
    """softsign, and one for gamma and beta into which the moment over the batch goes, a constant at inference."""
    assert model_cost("their-net", "softsign-rms").layer_multiply_adds == 16 * 7 * 7 * 2
    assert PRIMITIVES["soft_min"].cost == 3
    more = model_cost("their-net", "soft_min(x, v1)").layer_multiply_adds
    assert more == 16 * 7 * 7 * (3 + 1)
    assert "their-anchor" in evonorm.model_names()
    assert {"softsign-rms", "doubled"} <= set(evonorm.layer_names())


def train_their_task():
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # plain torch runs their functions, which was said before
        recipe = Path(folder) / "recipe.toml"
        recipe.write_text('task = "their-mean"\n[settings]\nlevel = 1.0\n[training]\nsteps = 30\nlearning_rate = 0.1\n')
        trained = train(load_task_recipe(recipe), "softsign-rms", kept_results(Path(folder)))
    assert trained.measured["distance"][-1][1] < trained.losses[0] / 10


STEPS = (
    parse_and_write,
    run_and_train,
    moving_moments,
    compare_functions,
    sample_and_mutate,
    export,
    count,
    train_their_task,
)


def walk():
    for step in STEPS:
        step()


if __name__ == "__main__":
    walk()
    sys.stdout.write("walked\n")
