"""Every study runs on what is kept, writes nothing that git knows, and gives the numbers and figures of the docs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evonorm.journal.kept import KeptResults, key_of
from evonorm.report import Run
from studies import kept_or_fresh
from studies.biggan import study as biggan
from studies.calibration import study as calibration
from studies.convert import study as conversions
from studies.convert.models import MODELS as CONVERTED_MODELS
from studies.fine_tune import study as fine_tune
from studies.kept_or_fresh import run_of
from studies.observations.study import figures_of_run
from studies.photos import study as photos
from studies.photos.cells import find_cells
from studies.photos.figures import figures as photo_figures
from studies.photos.tables import find_table
from studies.proxy_task import study as proxy_task
from studies.rerank import study as rerank
from studies.scale_invariance import study as scale_invariance
from studies.small_batches import study as small_batches
from studies.speed_up import study as speed_up
from studies.stability_steps import study as stability_steps
from studies.structural_changes import study as structural_changes

ROOT = Path(__file__).parent.parent.parent
STUDIES = sorted(path.parent.name for path in (ROOT / "studies").glob("*/README.md"))
KEPT = sorted((ROOT / "studies").glob("*/outcomes.jsonl"))
RESULTS, LAB_LOG, GANS = ((ROOT / "docs" / name).read_text() for name in ("results.md", "lab_log.md", "gan.md"))
PAPER_NAMES = {
    "bn-relu": "BN-ReLU",
    "gn-relu": "GN-ReLU (16 groups)",
    "ln-relu": "LayerNorm-ReLU",
    "pixelnorm-relu": "PixelNorm-ReLU",
    "gn-silu": "GN-SiLU",
    "evonorm-b0": "EvoNorm-B0",
    "evonorm-s0": "EvoNorm-S0",
}


@pytest.fixture(autouse=True)
def look(monkeypatch, tmp_path):
    """Whatever a study draws goes elsewhere, and nobody asks for fresh results."""
    monkeypatch.delenv("FRESH", raising=False)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(kept_or_fresh, "SCRATCH", tmp_path)


def in_a_row(text, *cells):
    """Whether a table of the docs has these cells, in this order, in one row."""
    for line in text.splitlines():
        row = iter([cell.strip(" *`") for cell in line.split("|")])
        if line.startswith("|") and all(cell.strip("`") in row for cell in cells):
            return True
    return False


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_says_what_it_is(study):
    readme = (ROOT / "studies" / study / "README.md").read_text()
    for row in ("question", "command", "commit", "n", "machine", "date", "shown in"):
        assert re.search(rf"^\| {row} \| .+ \|$", readme, re.MULTILINE), row
    assert len(re.findall(r"^- ", readme, re.MULTILINE)) == 3, "what came out, in three lines"
    for link in re.findall(r"\]\(([^)]+)\)", readme):
        assert (ROOT / "studies" / study / link).exists()
    table = (ROOT / "studies" / "README.md").read_text()
    assert f"[`{study}/`]({study}/README.md)" in table
    assert os.access(ROOT / "studies" / study / "run.sh", os.X_OK)


def test_a_study_keeps_the_figures_that_a_page_shows_and_no_others():
    drawn = {path.relative_to(ROOT) for path in (ROOT / "studies").glob("*/*.png")}
    shown = {Path("docs") / link for link in re.findall(r"!\[[^]]*\]\((\.\./studies/[^)]+)\)", RESULTS)}
    assert {Path(os.path.normpath(path)) for path in shown} == drawn
    assert {path.with_suffix(".svg").relative_to(ROOT) for path in (ROOT / "studies").glob("*/*.png")} == {
        path.relative_to(ROOT) for path in (ROOT / "studies").glob("*/*.svg")
    }


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.parent.name)
def test_every_kept_line_is_whole_and_found_by_its_question(path):
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        assert record["key"] == key_of(record["question"])
        assert {"answer", "commit", "versions", "machine", "date"} <= record.keys()
    assert len(list(KeptResults(path).records())) >= len(records) - 3  # square(x) is asked twice in stability_steps


def test_structural_changes_are_those_of_the_table(capsys):
    rows = structural_changes.rows(structural_changes.curves(3))
    assert (
        "15 of 15 trainings are kept in studies/structural_changes/outcomes.jsonl; nothing" in capsys.readouterr().out
    )
    for _, formula, *accuracies, _ in rows[:3]:
        assert in_a_row(RESULTS, f"`{formula}`", *(cell.removesuffix(" (n = 3)") for cell in accuracies))
    assert [row[-1] for row in rows[3:]] == ["1, 1, 1"] * 2


def test_small_batches_are_those_of_table_and_figure():
    cases = [
        small_batches.Case(layer, batch, seed)
        for seed in range(2)
        for batch in small_batches.BATCHES
        for layer in small_batches.LAYERS
    ]
    found = list(small_batches.trained(cases))
    for _, *cells in small_batches.rows(found):
        assert in_a_row(RESULTS, *cells)
    assert small_batches.figure(found).svg == (ROOT / "studies/small_batches/small_batches.svg").read_text()


def test_fine_tunings_are_those_of_the_guide():
    cases = [case for source in fine_tune.SEEDS for case in fine_tune.cases(source)]
    guide = (ROOT / "docs/guide/fine_tune.md").read_text()
    for row in fine_tune.rows(fine_tune.trained(cases, None)):
        assert in_a_row(guide, *row)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("layers", "layers_accuracy"),
        ("batch-sizes", "batch_sizes"),
        ("trade-off", "trade_off"),
        ("structure", None),
        ("gn-silu", None),
    ],
)
def test_layers_on_photos_are_those_of_tables_and_figures(name, shown):
    table = find_table("tiny-imagenet", name)
    found = find_cells(table, KeptResults(ROOT / "studies/photos"), photos.PHOTOS_HERE)
    for layer, *cells in photos.rows(table, found):
        told = [cell for cell in cells if cell] if name == "trade-off" else cells  # one seed: no differences
        assert set(cells) <= {"-", ""} or in_a_row(RESULTS, layer.strip("`"), *told)
    drawn = {figure.name: figure.svg for figure in photo_figures(name, table, found)}
    assert shown is None or drawn[shown] == (ROOT / f"studies/photos/{shown}.svg").read_text()


@pytest.mark.parametrize("name", ["rerank-b", "rerank-s"])
def test_the_rerank_on_photos_is_that_of_the_table(name):
    table = find_table("tiny-imagenet", name)
    found = find_cells(table, KeptResults(ROOT / "studies/photos"), photos.PHOTOS_HERE)
    for layer, *cells in photos.order_rows(table, found):
        formula = layer.strip("`")
        assert in_a_row(RESULTS, PAPER_NAMES.get(formula, formula), *cells)
    assert photos.how_sure(table, found).split(": ")[-1] in RESULTS


def test_generators_are_those_of_tables_and_figure():
    found = biggan.find_trained(KeptResults(ROOT / "studies/biggan"))
    for layer, seeds, *cells in biggan.rows(found):
        assert in_a_row(RESULTS, layer, seeds, *cells)
        assert in_a_row(GANS, PAPER_NAMES[layer.strip("`")], cells[0])
    assert biggan.fid_curves(found).svg == (ROOT / "studies/biggan/fid.svg").read_text()


def test_scale_invariance_is_that_of_the_figure_and_of_the_layers():
    kept = scale_invariance.curves()
    assert scale_invariance.figure(kept).svg == (ROOT / "studies/scale_invariance/scale_invariance.svg").read_text()
    for layer in ("evonorm-b0", "evonorm-s0"):
        assert scale_invariance.changes(layer) == pytest.approx(kept[layer], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("mode", "number"), [("b", 4), ("s", 3)])
def test_the_best_judged_again_are_those_of_the_table(mode, number):
    rows = rerank.rows(rerank.judged_again(f"{mode}-evolution"))
    for layer, *accuracies in rows[1 if mode == "b" else 0 : number]:
        assert in_a_row(RESULTS, layer, *accuracies)


def test_the_validation_is_that_of_tables_and_figure():
    pytest.importorskip("scipy")
    from studies.validation import study as validation

    first = validation.first_round("b", ("bn-relu", "evonorm-b0"))
    measured = first.measured(0)
    rows = validation.rows(validation.accuracies_of(measured), first.recipe.anchors)
    assert in_a_row(RESULTS, "less EvoNorm-B0", *rows[6][2:])
    second = validation.second_round("b", ("bn-relu", validation.best_found(measured), "evonorm-b0"), 2)
    again = second.measured(0)
    rows = validation.rows(validation.accuracies_of(again), second.recipe.anchors)
    assert in_a_row(RESULTS, "less EvoNorm-B0", *rows[-1][2:])
    figures = {figure.name: figure.svg for figure in validation.curves(again, second.layers)}
    name = "validation_mobilenetv2-cifar"
    assert figures[name] == (ROOT / f"studies/validation/{name}.svg").read_text()
    third = validation.first_round("s", ("evonorm-s0",))
    assert len(third.measured(0)) == 8


def test_the_proxy_tasks_verdicts_and_trainings_are_those_of_the_lab_log():
    verdicts = proxy_task.verdicts()
    assert len(verdicts) == 120
    for each in verdicts:
        if each.test == "quality" and "accuracy" in each.figures:
            assert in_a_row(LAB_LOG, each.layer, str(each))
    for each in proxy_task.trained():
        for stage in each.outcome.stages:
            if stage.name == "training":
                points = [f"{100 * accuracy:.1f}" for _, accuracy in stage.figures["curve"]]
                tested = f"{100 * stage.figures['test_accuracy']:.1f}"
                assert in_a_row(LAB_LOG, each.layer, stage.anchor, *points, tested)


def test_the_stability_tests_step_is_that_of_the_lab_log():
    recipe = proxy_task.recipe()
    said = [
        stability_steps.summary(list(each.verdicts())) for each in stability_steps.variants("choose", recipe, seeds=1)
    ]
    assert [re.search(r"rejects (\d of 27).* (\d of 9) .*at most (\d+)", each).groups() for each in said] == [
        ("0 of 27", "8 of 9", "39"),
        ("0 of 27", "8 of 9", "11"),
        ("1 of 27", "8 of 9", "5"),
    ]
    catalog, random = (list(each.verdicts()) for each in stability_steps.variants("report", recipe, seeds=2))
    assert "rejects 0 of 54 others" in stability_steps.summary(catalog)
    early = [each.figures["step"] < 5 for each in random if not each.passed]
    assert (sum(early), len(early), len(random)) == (62, 70, 120)
    one, other = (list(each.verdicts()) for each in stability_steps.variants("agree", recipe, seeds=1))
    assert stability_steps.disagreements(one, other) == []


def test_the_calibrations_are_those_of_the_lab_log():
    curves = [
        curve
        for curve in calibration.kept_curves(KeptResults(ROOT / "studies" / "calibration"))
        if curve.trial.seed == 0
    ]
    nano, thin = (calibration.calibration(curves, levels) for levels in calibration.STAGES.values())
    rows = {row[0]: row[1:-1] for row in calibration.score_rows(nano)}
    for layer in ("bn-silu", "evonorm-b0", "bn-relu", "evonorm-b1", "evonorm-s1", "evonorm-s0", "gn-silu", "rs-rej"):
        assert in_a_row(LAB_LOG, layer, *rows[layer])
    assert [row[1:3] for row in calibration.score_rows(thin) if row[0] == "evonorm-b2"] == [["22.6", "26.1"]]


def test_the_observations_are_those_of_the_figures():
    with run_of("observations", "random-study") as folder:
        figures = {figure.name: figure.svg for figure in figures_of_run(folder)}
    for name in ("random_resnet-nano", "random_resnet-nano_mobilenet-nano"):
        assert figures[name] == (ROOT / f"studies/observations/{name}.svg").read_text()
    with run_of("search", "b-random") as folder:
        (svg,) = [each.svg for each in figures_of_run(folder, True) if each.name == "random_resnet-nano_mobilenet-thin"]
    assert svg == (ROOT / "studies/search/b_survivors_resnet-nano_mobilenet-thin.svg").read_text()


def test_plain_search_judges_as_many_functions_as_the_lab_log_says():
    with run_of("speed_up", "plain-1") as folder, folder.reader() as reader:
        _, *counts = speed_up.row("plain-1", reader)
    assert in_a_row(LAB_LOG, "plain random, seed 1", *counts[:4])


def environment(tmp_path):
    """A root with the project's folders, in which nothing is set up and runs/ is its own."""
    root, bin_ = tmp_path / "root", tmp_path / "bin"
    root.mkdir()
    bin_.mkdir()
    for name in ("studies", "recipes"):
        (root / name).symlink_to(ROOT / name)
    commands = {"make": "exit 0", "python": f'exec {sys.executable} "$@"'}
    for name, command in (commands | {"evonorm": f'exec {sys.executable} -m evonorm "$@"'}).items():
        (bin_ / name).write_text(f"#!/bin/sh\n{command}\n")
        (bin_ / name).chmod(0o755)
    path = f"{bin_}:{os.environ['PATH']}"
    return root, {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "PROPOSALS": "100", "OMP_NUM_THREADS": "1"}


@pytest.mark.slow
@pytest.mark.parametrize("study", [each for each in STUDIES if each != "search"] + ["search b", "search s"])
def test_a_look_says_that_nothing_is_trained_and_changes_no_file(study, tmp_path):
    pytest.importorskip("scipy")
    root, there = environment(tmp_path)
    name, *arguments = study.split()
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "studies").rglob("*") if "__pycache__" not in str(path)}
    command = ["sh", f"studies/{name}/run.sh", *arguments]
    done = subprocess.run(command, cwd=root, env=there, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    after = {path: path.stat().st_mtime_ns for path in (ROOT / "studies").rglob("*") if "__pycache__" not in str(path)}
    assert after == before
    if name != "free_checks":
        assert re.search(r"nothing is (trained|searched)\. FRESH=1", done.stdout)
    if name == "search":
        mode = arguments[0]
        drawn = root / f"runs/studies/search/kept/{mode}-report/figures/progress_cost.svg"
        assert drawn.read_text() == (ROOT / f"studies/search/{mode}_progress_cost.svg").read_text()


def test_a_look_at_what_is_not_there_ends_with_the_cure():
    with pytest.raises(SystemExit, match=r"15 of 20 trainings are kept.* 5 to go\. A look trains nothing: FRESH=1"):
        structural_changes.curves(4)


def test_fresh_really_trains_and_leaves_what_is_kept_alone(tmp_path, monkeypatch, capsys):
    pytest.importorskip("sklearn")
    kept = ROOT / "studies/small_batches/outcomes.jsonl"
    before = kept.read_bytes()
    monkeypatch.setenv("FRESH", "1")
    monkeypatch.setattr(small_batches, "FitnessRecipe", lambda **settings: digits(**settings))
    cases = [small_batches.Case("bn-relu", 8, 0, pictures=16)]
    (result,) = small_batches.trained(cases)
    assert result.steps == 2
    said = capsys.readouterr().out
    assert "0 of 1 trainings are kept in" in said
    assert re.search(r"bn-relu, batch 8, seed 0: \d+\.\d % \(\d+ s\)", said)
    monkeypatch.setattr(small_batches, "train", lambda _: pytest.fail("this was known already"))
    assert list(small_batches.trained(cases)) == [result], "a stopped one goes on"
    assert (tmp_path / "small_batches" / "fresh" / "outcomes.jsonl").exists()
    assert kept.read_bytes() == before


def digits(**settings):
    from evonorm.fitness import FitnessRecipe

    return FitnessRecipe(data="digits", validation_images=32, **settings)


def test_a_runs_figures_can_be_had_from_its_kept_export():
    with run_of("search", "s-evolution") as folder:
        run = Run(folder.name, folder.runs)
        assert len(run.top(3)) == 3
        place = folder.path
    assert not place.exists()


def test_the_guide_has_the_table_of_converted_models():
    found = list(conversions.converted(CONVERTED_MODELS))
    page = (ROOT / "docs" / "guide" / "converted_models.md").read_text()
    assert conversions.table(found).strip() in page
    results = [result for _, result in found]
    assert {result.ended for result in results} == {"converted", "nothing to convert"}
    assert sum(result.ended == "converted" for result in results) == 56
    assert [result.same for result in results if result.same is not None] == [0.0] * 32
    behind, none = (sum(counts) for counts in zip(*map(conversions.counts, results), strict=True))
    assert f"{behind + none:,} normalizations, {behind:,} of them" in page
    by_hand = [(case.counted, conversions.counts(result)) for case, result in found if case.counted is not None]
    assert len(by_hand) == 28
    assert all(one == other for one, other in by_hand)
    falling = [result.losses[-1] < result.losses[0] for result in results if result.losses]
    assert f"lower in {sum(falling)}\n  of {len(falling)}" in page
