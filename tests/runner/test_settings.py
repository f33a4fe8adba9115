from dataclasses import dataclass, field
from typing import Literal

import pytest

from evonorm.fitness import FitnessRecipe, Rung
from evonorm.runner import changed_settings, read_settings, settings_to_table


@dataclass(frozen=True)
class Inner:
    rate: float = 0.1
    steps: tuple[int, ...] = (20, 100)


@dataclass(frozen=True)
class Outer:
    seed: int = 0
    mode: Literal["pareto", "average"] = "pareto"
    limit: float | None = None
    inner: Inner = field(default_factory=Inner)
    gates: dict[str, float] = field(default_factory=dict)

    def __post_init__(self):
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}.")


def test_reads_nested_tables_and_keeps_defaults():
    table = {"seed": 3, "limit": 2, "inner": {"steps": [1, 2]}, "gates": {"a": 1}}
    settings = read_settings(Outer, table, "here")
    assert settings == Outer(seed=3, limit=2.0, inner=Inner(steps=(1, 2)), gates={"a": 1.0})
    assert read_settings(Outer, settings_to_table(settings), "again") == settings


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"sed": 3}, "here: unknown key 'sed'. Did you mean 'seed'"),
        ({"seed": "3"}, "here: seed must be of type int, got '3'"),
        ({"seed": True}, "here: seed must be of type int"),
        ({"seed": -1}, "here: seed must not be negative, got -1"),
        ({"mode": "best"}, "mode must be one of 'pareto', 'average', got 'best'"),
        ({"inner": {"rat": 1}}, "here: inner: unknown key 'rat'. Did you mean 'rate'"),
        ({"inner": {"steps": [1, "x"]}}, r"steps\[1\] must be of type int"),
    ],
)
def test_a_mistake_says_where_and_what_is_valid(table, message):
    with pytest.raises(ValueError, match=message):
        read_settings(Outer, table, "here")


def test_what_is_at_its_default_goes_without_saying():
    assert changed_settings(Outer()) == {}
    changed = Outer(seed=3, inner=Inner(steps=(1, 2)), gates={"a": 1.0})
    assert changed_settings(changed) == {"seed": 3, "inner": {"steps": [1, 2]}, "gates": {"a": 1.0}}
    assert read_settings(Outer, changed_settings(changed), "here") == changed
    ladder = FitnessRecipe(ladder=(Rung(("resnet-nano",), steps=20),))
    assert changed_settings(ladder) == {"ladder": [{"anchors": ["resnet-nano"], "steps": 20}]}
    assert read_settings(FitnessRecipe, changed_settings(ladder), "here") == ladder


def test_the_defaults_that_kept_results_leave_unsaid_are_those_of_then():
    """Results are found by what is not at its default: with another default they would be taken for something else.

    A new setting may come, if its default does what was done before. To change one of these, write the old value into
    the questions of every kept file first (studies/*/outcomes.jsonl).
    """
    paper = {
        "data": "cifar10",
        "anchors": ["resnet50-cifar", "mobilenetv2-cifar", "efficientnet-b0-cifar"],
        "threads": 2,
        "validation_images": 5000,
        "validation_batch_size": 512,
        "moments": "moving",
        "moment_batches": 8,
        "quality": {"steps": 100, "accuracy": 0.2},
        "stability": {
            "steps": 100,
            "gradient_norm": 1e8,
            "batch_size": 8,
            "step_size": 0.1,
            "direction": "differences",
        },
        "training": {
            "steps": 2000,
            "schedule": "constant",
            "learning_rate": 0.1,
            "momentum": 0.9,
            "weight_decay": 1e-4,
            "validate_every": 500,
            "seconds": None,
        },
        "ladder": [],
    }
    assert changed_settings(read_settings(FitnessRecipe, paper, "the paper's")) == {}
