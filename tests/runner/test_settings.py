from dataclasses import dataclass, field
from typing import Literal

import pytest

from evonorm.runner import read_settings, settings_to_table


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
