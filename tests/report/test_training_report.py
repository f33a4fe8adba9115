"""The report of trainings: numbers worked out by hand, odd results, and one file that needs nothing else."""

import base64
import csv
import math
import re

import pytest
from scipy import stats

from evonorm.journal import KeptResults
from evonorm.report import kept_trainings_at, training_page, write_training_report
from evonorm.report.kept_trainings import setups_of
from evonorm.report.setup_curves import curves_of_setup
from evonorm.report.setup_words import all_settings, setup_words, titles
from evonorm.report.training_table import labels_of, training_rows
from tests.report.kept_training import SETTINGS, TRAINING, answer, keep, question
from tests.report.test_html_report import NASTY, check_escaped

FORMULA = "x / max(std_bwh(x), v1 * x + std_wh(x))"


def setups(tmp_path, *pairs):
    return setups_of(KeptResults(keep(tmp_path, *pairs)).records())


def rows_of(setup):
    return {row.layer: row for row in training_rows(setup, labels_of(setup.layers))}


def curves(setup):
    return curves_of_setup(setup, setup.layers, labels_of(setup.layers), "net")


def three_seeds(layer, finals, **changes):
    return [(question(layer, seed), answer((0.1, final), **changes)) for seed, final in enumerate(finals)]


def test_a_setup_is_what_differs_in_layer_and_seed_only(tmp_path):
    found = setups(
        tmp_path,
        (question("evonorm-b0"), answer()),
        (question("evonorm-b0", settings=SETTINGS | {"width": 0.5}), answer()),
        (question("bn-relu", 1), answer()),
        (question("evonorm-b0", training=TRAINING | {"momentum": 0.8}), answer()),
        (question("evonorm-b0", training=TRAINING | {"momentum": 0.7}), answer()),
    )
    assert [[(each.layer, each.seed) for each in setup.trainings] for setup in found] == [
        [("evonorm-b0", 0), ("bn-relu", 1)],
        *([[("evonorm-b0", 0)]] * 3),
    ]
    assert found[0].layers == ["bn-relu", "evonorm-b0"]
    same = "mobilenetv2, 64x64 pixels, 64 images x 1 worker, 2 epochs (40 steps), 1 seed"
    assert titles(found) == [
        f"{same}; training.momentum 0.9",
        same.replace("v2", "v2 of width 0.5"),
        f"{same}; training.momentum 0.8",
        f"{same}; training.momentum 0.7",
    ]


def test_what_is_at_its_default_is_named_all_the_same(tmp_path):
    steps = {"workers": 8, "steps": 100}
    photos, anchor, unknown = setups(
        tmp_path,
        (question("bn-relu", settings={}, training=steps), answer()),
        (question("bn-relu", settings={}, task="anchor", training={"momentum": 0.8}), answer()),
        (question("bn-relu", settings={"depth": 3}, task="of-somebody", training=steps), answer()),
        (question("bn-relu", 1, settings={"depth": 3}, task="of-somebody", training=steps), answer()),
        (question("gn-relu", 1, settings={"depth": 3}, task="of-somebody", training=steps), answer()),
    )
    assert setup_words(photos) == "resnet50, 224x224 pixels, 128 images x 8 workers, 100 steps, 1 seed"
    assert setup_words(anchor) == "resnet50-cifar, cifar10, 1 worker, 2,000 steps, 1 seed"
    assert setup_words(unknown) == "of-somebody, 8 workers, 100 steps, 1 to 2 seeds"
    assert {("settings.depth", "3"), ("training.workers", "8"), ("training.momentum", "0.9")} <= set(
        all_settings(unknown)
    )


def test_means_and_intervals_are_students(tmp_path):
    theirs, ours = [0.30, 0.34, 0.32], [0.40, 0.43, 0.43]
    (setup,) = setups(tmp_path, *three_seeds("evonorm-b0", ours), *three_seeds("bn-relu", theirs))
    rows = rows_of(setup)
    assert list(rows) == ["bn-relu", "evonorm-b0"]
    assert rows["bn-relu"].cells[0].against is None
    top1, top5 = rows["evonorm-b0"].cells
    alone = stats.ttest_1samp([100 * each for each in ours], 0).confidence_interval(0.95)
    assert (top1.value.mean, top1.value.low, top1.value.high) == pytest.approx((42, alone.low, alone.high))
    paired = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert (top1.against.low, top1.against.high) == pytest.approx((100 * paired.low, 100 * paired.high))
    assert (top1.against.mean, top5.against.mean) == pytest.approx((10, 20))
    assert top1.verdict == top5.verdict == "better"
    row = rows["evonorm-b0"]
    assert (row.seeds, row.steps, row.pace, row.wait, row.early) == (3, "40", 0.2, 0.25, [])


def test_within_the_noise_nobody_is_better(tmp_path):
    noisy = [0.40, 0.29, 0.36]
    (setup,) = setups(tmp_path, *three_seeds("evonorm-s0", noisy), *three_seeds("bn-relu", [0.30, 0.34, 0.32]))
    cell = rows_of(setup)["evonorm-s0"].cells[0]
    assert cell.against.mean == pytest.approx(3)
    assert cell.verdict == ""
    text = write_training_report(tmp_path / "outcomes.jsonl").read_text()
    assert 'class="better"' not in text
    assert 'class="worse"' not in text
    assert "+3.00 [-" in text


@pytest.mark.parametrize(("falling", "verdict"), [(["FID"], "worse"), ([], "better")])
def test_a_lead_is_good_or_bad_as_the_training_says(tmp_path, falling, verdict):
    def of(value):
        return answer(measured={"FID": [[40, value]]}, falling=falling)

    pairs = [
        (question(layer, seed), of(base + seed)) for layer, base in (("bn-relu", 5), ("frn", 7)) for seed in (0, 1)
    ]
    (setup,) = setups(tmp_path, *pairs)
    cell = rows_of(setup)["frn"].cells[0]
    assert (cell.value.mean, cell.against.mean, cell.verdict) == (7.5, 2, verdict)


def test_seeds_that_the_reference_lacks_are_not_compared(tmp_path):
    pairs = [
        *three_seeds("evonorm-b0", [0.4, 0.5, 0.9]),
        *three_seeds("bn-relu", [0.3, 0.3]),
        *three_seeds("frn", [0.7]),
    ]
    (setup,) = setups(tmp_path, *pairs)
    rows = rows_of(setup)
    assert (rows["evonorm-b0"].cells[0].against.n, rows["evonorm-b0"].cells[0].against.mean) == (2, pytest.approx(15))
    single = rows["frn"].cells[0]
    assert (single.value.half, single.against.half, single.verdict) == (None, None, "")
    text = write_training_report(tmp_path / "outcomes.jsonl").read_text()
    assert "(2 shared)" in text
    assert "(one seed)" in text


def test_what_ended_early_is_told_and_counts_with_what_it_had(tmp_path):
    broken = answer((0.3,), (3.0, 9.0, math.nan), ending="non_finite_loss", steps=30, loss_every=10)
    slow = answer((0.1,), ending="out_of_time", steps=20)
    (setup,) = setups(
        tmp_path,
        (question("bn-relu", 0), answer((0.2, 0.5))),
        (question("bn-relu", 1), broken),
        (question("frn", 0), slow),
    )
    rows = rows_of(setup)
    assert rows["bn-relu"].early == ["seed 1: loss not a number at step 30 of 40"]
    assert rows["bn-relu"].steps == "30 to 40"
    assert rows["bn-relu"].cells[0].value.mean == pytest.approx(40)
    assert rows["frn"].early == ["seed 0: out of time at step 20 of 40"]
    accuracy, loss = curves(setup).deciding[0], curves(setup).losses[0]
    assert accuracy.rows == [("bn-relu", 1, 20, 20, 20), ("bn-relu", 2, 50, 50, 50), ("frn", 1, 10, 10, 10)]
    assert [row[:3] for row in loss.rows if row[0] == "bn-relu"] == [("bn-relu", 1, 3), ("bn-relu", 2, 1)]
    assert "at step 30 of 40" in write_training_report(tmp_path / "outcomes.jsonl").read_text()


def test_a_value_that_is_no_number_is_not_averaged_away(tmp_path):
    nothing = answer(measured={"top-1 accuracy": [[40, math.nan]], "top-5 accuracy": []}, losses=())
    (setup,) = setups(tmp_path, (question("frn", 0), answer()), (question("frn", 1), nothing))
    cells = rows_of(setup)["frn"].cells
    assert [(cell.value, cell.unusable) for cell in cells] == [(None, 1), (None, 1)]
    assert "no number from 1 of 2" in write_training_report(tmp_path / "outcomes.jsonl").read_text()


def test_a_line_is_the_mean_in_a_band_from_lowest_to_highest(tmp_path):
    first, second = answer((0.2, 0.4), (3, 2, 1, 0)), answer((0.4, 0.5), (5, 4, 3, 2))
    (setup,) = setups(tmp_path, (question("frn", 0), first), (question("frn", 1), second))
    accuracy, loss = curves(setup).deciding[0], curves(setup).losses[0]
    assert accuracy.columns == ("layer", "epoch", "accuracy (%)", "lowest", "highest")
    assert accuracy.rows == [("frn", 1, pytest.approx(30), 20, 40), ("frn", 2, pytest.approx(45), 40, 50)]
    assert loss.rows == [("frn", 0.5, 4, 3, 5), ("frn", 1, 3, 2, 4), ("frn", 1.5, 2, 1, 3), ("frn", 2, 1, 0, 2)]
    assert [figure.title for figure in curves(setup).others] == ["Top-5 accuracy"]


def test_many_losses_become_a_hundred_means(tmp_path):
    losses = [float(step) for step in range(950)]
    long = answer(losses=losses, loss_every=2, steps=1899)
    (setup,) = setups(tmp_path, (question("frn", training={"steps": 1899}), long))
    rows = curves(setup).losses[0].rows
    assert len(rows) == 95
    assert rows[0][1:3] == (20, 4.5)
    assert rows[-1][1:3] == (1899, 944.5)


def test_a_loss_that_explodes_leaves_the_others_readable(tmp_path):
    wild = answer(losses=(3.0, 1e9))
    (setup,) = setups(tmp_path, (question("bn-relu"), answer(losses=(3.0, 1.0))), (question("frn"), wild))
    svg = curves(setup).losses[0].svg
    ticks = [float(word) for word in re.findall(r'text-anchor="end">([\d.kM]+)<', svg)]
    assert max(ticks) <= 6


def test_more_layers_than_colours_are_several_charts_with_the_reference_in_each(tmp_path):
    layers = [
        "bn-relu",
        *(f"abs(x) + {name}" for name in ("x", "v0", "v1", "abs(v0)", "abs(v1)", "tanh(x)", "tanh(v1)")),
    ]
    (setup,) = setups(tmp_path, *((question(layer), answer()) for layer in layers))
    charts = curves(setup).deciding
    assert [list(dict.fromkeys(row[0] for row in chart.rows)) for chart in charts] == [
        ["bn-relu", *layers[1:5]],
        ["bn-relu", *layers[5:]],
    ]
    assert len({chart.name for chart in charts}) == 2


def test_long_formulas_have_letters():
    assert labels_of(["bn-relu", FORMULA, "A", FORMULA + " + 0"]) == {
        "bn-relu": "bn-relu",
        FORMULA: "B",
        "A": "A",
        FORMULA + " + 0": "C",
    }
    assert len(set(labels_of([FORMULA + " + 0" * k for k in range(60)]).values())) == 60


def test_the_report_is_one_file_that_needs_nothing_else(tmp_path):
    pairs = [*three_seeds("bn-relu", [0.3, 0.34, 0.32]), *three_seeds(FORMULA, [0.4, 0.43, 0.43])]
    file = keep(tmp_path / "train", *pairs, ({"what": "evaluation", "layer": "frn"}, {"anything": 1}))
    (tmp_path / "train" / "outcomes.jsonl.partial" / "0123").mkdir(parents=True)
    path = write_training_report(file)
    assert path == tmp_path / "train" / "report" / "report.html"
    text = path.read_text()
    tags = check_escaped(text)
    assert not [tag for tag, _ in tags if tag in ("script", "link", "a")]
    assert set(re.findall(r"https?://[^\"' ]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1998/Math/MathML",
    }
    for words in (
        "6 trainings of 2 layers",
        "1 results of other kinds",
        "1; the command that began them",
        "abacus",
        "42.00",
        FORMULA,
    ):
        assert words in text
    assert text.count('class="better"') == 2
    figures = path.parent / "figures"
    names = {f"mobilenetv2_{what}" for what in ("top-1-accuracy", "top-5-accuracy", "training-loss")}
    assert {each.stem for each in figures.glob("*.svg")} == {each.stem for each in figures.glob("*.csv")} == names
    with (figures / "mobilenetv2_top-1-accuracy.csv").open() as lines:
        assert list(csv.reader(lines))[-1] == [FORMULA, "2.0", "42.0", "40.0", "43.0"]


def test_every_text_of_a_result_is_escaped(tmp_path):
    settings = {"model": NASTY, NASTY: NASTY, "images_per_worker": NASTY, "data": NASTY, "pictures": {"size": NASTY}}
    answers = answer(measured={NASTY: [[40, 1.0]]}), answer(ending=NASTY)
    pairs = [(question(NASTY, seed, settings, task=NASTY), found) for seed, found in enumerate(answers)]
    file = keep(tmp_path, *pairs, (question("<b>", settings=settings, task=NASTY), answer()))
    text = write_training_report(file).read_text()
    check_escaped(text)
    assert "<script" not in text
    assert "&lt;b&gt;" in text


def test_a_file_without_finished_trainings_says_what_it_has(tmp_path):
    file = keep(tmp_path, ({"what": "evaluation"}, 1))
    (tmp_path / "outcomes.jsonl.partial" / "0123").mkdir(parents=True)
    with pytest.raises(ValueError, match="1 unfinished, 1 results of other kinds"):
        write_training_report(file)


def test_a_place_is_a_path_or_a_folder_among_the_runs(tmp_path):
    file = keep(tmp_path / "train", (question("frn"), answer()))
    other = keep(tmp_path / "mine.jsonl", (question("frn"), answer()))
    assert kept_trainings_at(tmp_path, "train") == kept_trainings_at(tmp_path, str(file)) == file
    assert kept_trainings_at(tmp_path / "elsewhere", str(file.parent)) == file
    assert kept_trainings_at(tmp_path, "nothing") is None
    assert write_training_report(other) == tmp_path / "mine_report" / "report.html"


def test_what_goes_on_is_shown_and_counts_for_no_mean(tmp_path):
    file = keep(tmp_path / "train", *three_seeds("bn-relu", [0.3, 0.34, 0.32])[:2])
    question, answer = three_seeds("bn-relu", [0.3, 0.34, 0.9])[2]
    kept = KeptResults(file)
    kept.note_progress(question, {**answer, "ending": "under_way", "steps": 7})
    page = training_page(kept)
    (row,) = page["sections"][0].rows
    assert row.seeds == 2
    assert row.cells[0].value.mean == pytest.approx(32.0)
    assert row.under_way == ["seed 2: under way at step 7 of 40"]
    assert "under way at step 7" in write_training_report(file).read_text()
    before = kept.version
    kept.keep(question, answer)
    assert kept.version > before
    assert kept.under_way() == []
    (row,) = training_page(kept)["sections"][0].rows
    assert (row.seeds, row.under_way) == (3, [])


def test_pictures_of_the_latest_measurement_and_over_time(tmp_path):
    pairs = three_seeds("bn-relu", [0.3, 0.34, 0.32])
    file = keep(tmp_path / "train", *pairs)
    kept = KeptResults(file)
    folder = kept.pictures(pairs[1][0])  # the first seed has none
    folder.mkdir(parents=True)
    for step in (10, 20, 30):
        (folder / f"step{step:07}-samples.png").write_bytes(b"\x89PNG" + bytes([step]))
    (folder / "step0000030-other.png").write_bytes(b"\x89PNG other")
    (folder / "notes.png").write_bytes(b"not one of ours")
    (album,) = training_page(kept)["sections"][0].albums
    assert (album.seed, [(shot.step, shot.name) for shot in album.latest]) == (1, [(30, "other"), (30, "samples")])
    assert [shot.step for shot in album.over_time] == []  # "other" was drawn once
    (folder / "step0000030-other.png").unlink()
    (album,) = training_page(kept)["sections"][0].albums
    assert [shot.step for shot in album.over_time] == [10, 20, 30]
    text = write_training_report(file).read_text()
    last = base64.b64encode(b"\x89PNG" + bytes([30])).decode()
    assert f'src="data:image/png;base64,{last}"' in text
