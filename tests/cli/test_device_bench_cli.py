import json

import torch

from evonorm.cli import bench
from tests.runner.test_device_bench import ASKED, CPU


def test_a_gpus_owner_gets_tables_and_a_file(tmp_path, capsys, monkeypatch):
    out = tmp_path / "mine.json"
    monkeypatch.setattr(bench.console, "width", 200)
    bench._bench_on_device(ASKED, CPU, out)
    printed = capsys.readouterr().out
    assert torch.__version__ in printed
    assert "layer 2 x 8 x 4 x 4, 2 rounds" in printed
    assert "resnet-nano step, 2 images of 8, 2 rounds" in printed
    rows = json.loads(out.read_text())["rows"]
    assert [row["variant"] for row in rows] == ["torch", "eager", "ours"] * 2
    assert all(f"{row['milliseconds']:.3f}" in printed for row in rows if row["milliseconds"] < 100)
