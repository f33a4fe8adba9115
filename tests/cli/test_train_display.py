import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from evonorm.cli import train_display
from evonorm.runner import load_task_recipe


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(train_display.time, "monotonic", lambda: now[0])
    return now


def test_in_a_file_there_is_a_line_a_minute_and_one_for_every_measurement(clock):
    recipe = load_task_recipe(Path("gan/cifar10"), ["training.steps=100"])
    written = io.StringIO()
    on_step = train_display._lines("s0, seed 0", recipe, Console(file=written, width=300))
    run = SimpleNamespace(step=0, losses=[], measured={}, curve=[], seconds=0.0, waited=0.0)
    for step in range(1, 31):
        clock[0] += 10.0
        run.step, run.losses = step, [*run.losses, 1.0]
        if step == 20:
            run.measured, run.curve = {"FID": [(20, 130.6)]}, [(20, 130.6)]
        on_step(run)
    lines = written.getvalue().splitlines()
    assert [int(line.split("step ")[1].split(" ")[0]) for line in lines] == [6, 12, 18, 20, 26]
    assert "FID 130.6" in lines[3]
    assert "FID" not in lines[2]
    assert lines[0].endswith("13 min left")  # six steps in 50 s, 94 to go
