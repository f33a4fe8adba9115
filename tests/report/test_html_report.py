import csv
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

import evonorm
from evonorm.journal import Failed, Journal, JournalError, NoSuchRunError, Proposal, Rejected, Scores, Stage, Test
from evonorm.report import write_report
from evonorm.report.run_page import HEADINGS
from tests.report.synthetic_run import ANCHORS, header, write_run

NASTY = "<script>alert('evil')</script><img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """Collects tags with attributes; complains of tags that are closed in the wrong order."""

    VOID = {"meta", "link", "br", "img", "input", "hr"}

    def __init__(self, text):
        super().__init__()
        self.seen, self.open = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def write_nasty_run(runs, name="nasty"):
    """Every text that a journal can hold tries to become a script."""
    (runs / name).mkdir(parents=True)
    head = header(name) | {"data": {"name": NASTY}, "commit": NASTY, "versions": {NASTY: NASTY}, "created": NASTY}
    graph = evonorm.Graph.parse("x / std_bwh(x)")
    stage = Stage(NASTY, NASTY, 5, 1.0, {NASTY: NASTY, "curve": [[1, 0.5], [2, 0.6]], "losses": [2.0, 1.0]})
    with Journal.create(runs / name / "journal.sqlite", head) as journal, journal.transaction():
        journal.add_event("session ended", {"why": NASTY})
        for index, outcome in enumerate(
            [
                Scores({NASTY: 0.5, "b": 0.25}, (stage,)),
                Scores({NASTY: 0.6, "b": 0.2}, (stage,)),
                Rejected(NASTY, NASTY, {NASTY: NASTY}, (stage,)),
                Failed("error", NASTY),
            ]
        ):
            name_of = NASTY if index == 0 else None
            origin = "reference" if index == 0 else NASTY
            journal.add_proposal(Proposal(index, graph, origin, 1, (), 0, name_of))
            journal.add_outcome(index, outcome)


def check_escaped(text):
    tags = Tags(text).seen
    assert all(attributes.get("src", "/static/live.js") == "/static/live.js" for _, attributes in tags)
    assert not [tag for tag, attributes in tags if any(key.startswith("on") for key in attributes)]
    assert not [tag for tag, _ in tags if tag in ("img", "iframe", "object", "embed")]
    return tags


def test_a_report_is_one_file_that_needs_nothing_else(tmp_path):
    write_run(tmp_path, "evolved", 80, scored_share=0.4)
    write_run(tmp_path, "drawn", 60, seed=1, scored_share=0.4, method="random")
    path = write_report(tmp_path, "evolved", tmp_path / "out", against="drawn")
    text = path.read_text()
    tags = check_escaped(text)
    assert not [tag for tag, _ in tags if tag in ("script", "link")]
    assert set(re.findall(r"https?://[^\"' ]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1998/Math/MathML",
    }
    ids = {attributes.get("id") for _, attributes in tags}
    assert set(HEADINGS) <= ids
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert sum(tag == "math" for tag, _ in tags) >= 5
    assert text.count('class="evonorm-graph"') >= 5
    for words in ("drawn", "bn-relu", "Pareto", "ancestry", "worker time", "candidates (log scale)"):
        assert words in text


def test_figures_are_files_with_their_data(tmp_path):
    write_run(tmp_path, "evolved", 80, scored_share=0.4)
    out = write_report(tmp_path, "evolved").parent
    assert out == tmp_path / "evolved" / "report"
    names = {path.stem for path in (out / "figures").glob("*.svg")}
    assert names == {path.stem for path in (out / "figures").glob("*.csv")}
    assert {"funnel", "progress_candidates", "progress_cost", "frontier"} <= names
    assert {f"histogram_{anchor}" for anchor in ANCHORS} <= names
    for path in (out / "figures").glob("*.svg"):
        ET.parse(path)
    with (out / "figures" / "funnel.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["what", "candidates"]
    counts = [int(row[1]) for row in rows[1:]]
    assert counts[0] == 82 == sum(counts[1:])


def test_the_funnel_and_histogram_say_what_the_records_say(tmp_path):
    write_run(tmp_path, "evolved", 120, scored_share=0.3)
    run = evonorm.Run("evolved", tmp_path)
    records, figures = list(run.records()), run.figures()
    scored = [record for record in records if record["kind"] == "scores"]
    assert dict(figures["funnel"].rows)["trained to the end and scored"] == len(scored)
    found = [record for record in scored if record["origin"] != "reference"]
    for anchor in ANCHORS:
        rows = figures[f"histogram_{anchor}"].rows
        assert sum(count for _, _, count in rows) == len(found)
        for low, high, count in rows:
            assert count == sum(low <= 100 * record[f"accuracy.{anchor}"] < high for record in found)


def test_the_funnel_tells_a_shared_score_from_a_training(tmp_path):
    (tmp_path / "twins").mkdir()
    stages = (Stage("training", "wide", 10, 1.0),)
    with Journal.create(tmp_path / "twins" / "journal.sqlite", header("twins")) as journal, journal.transaction():
        for index in range(3):
            journal.add_proposal(Proposal(index, evonorm.Graph.parse("x"), "random", 1))
            journal.add_outcome(index, Scores({"wide": 0.5}, stages if index == 0 else ()))
    counts = dict(evonorm.Run("twins", tmp_path).figures()["funnel"].rows)
    assert counts["trained to the end and scored"] == 1
    assert counts["scored without training: equal to an earlier one"] == 2


def test_one_lucky_run_is_not_the_top(tmp_path):
    (tmp_path / "luck").mkdir()
    stages = (Stage("training", "wide", 10, 1.0),)
    lucky, steady = evonorm.Graph.parse("tanh(x)"), evonorm.Graph.parse("abs(x)")
    rows = [(lucky, 0.9), (lucky, 0.1), (steady, 0.6)]
    with Journal.create(tmp_path / "luck" / "journal.sqlite", header("luck")) as journal, journal.transaction():
        for index, (graph, accuracy) in enumerate(rows):
            journal.add_proposal(Proposal(index, graph, "random", index, function=graph.encode()))
            journal.add_outcome(index, Scores({"wide": accuracy}, stages))
    text = write_report(tmp_path, "luck").read_text()
    assert re.findall(r"<code>(.*?)</code>", text)[:2] == ["abs(x)", "tanh(x)"]
    assert "2 runs" in text
    top = evonorm.Run("luck", tmp_path).top(2)
    assert [(row["formula"], row["average"], row["runs"]) for row in top] == [("abs(x)", 0.6, 1), ("tanh(x)", 0.5, 2)]
    assert top[1]["accuracy.wide"] == 0.5


def test_the_reference_is_not_compared_with_itself_and_tests_are_explained(tmp_path):
    write_run(tmp_path, "evolved", 80, scored_share=0.4)
    text = write_report(tmp_path, "evolved").read_text()
    assert "+0.00</span>" not in text
    assert Test.STABILITY.words in text


def test_an_empty_run_has_an_empty_but_right_report(tmp_path):
    write_run(tmp_path, "empty", 0)
    text = write_report(tmp_path, "empty").read_text()
    check_escaped(text)
    assert "How they look" not in text
    assert "<thead>" not in text
    assert "This run has no candidate yet." in text
    assert "nothing to show yet" in text
    assert "0 candidates" in text


def test_nothing_in_a_journal_becomes_a_script(tmp_path):
    write_nasty_run(tmp_path)
    text = write_report(tmp_path, "nasty").read_text()
    check_escaped(text)
    assert "&lt;script&gt;" in text
    for path in (tmp_path / "nasty" / "report" / "figures").glob("*.svg"):
        assert "<script" not in path.read_text()
    assert "<script" not in evonorm.Run("nasty", tmp_path)._repr_html_()


def test_figure_files_stay_in_their_folder_whatever_an_anchor_is_called(tmp_path):
    (tmp_path / "odd").mkdir()
    with Journal.create(tmp_path / "odd" / "journal.sqlite", header("odd")) as journal, journal.transaction():
        journal.add_proposal(Proposal(0, evonorm.Graph.parse("x"), "random", 1))
        journal.add_outcome(0, Scores({"../../up": 0.5, "b": 0.5}))
    write_report(tmp_path, "odd")
    svgs = list(tmp_path.rglob("*.svg"))
    assert {path.parent for path in svgs} == {tmp_path / "odd" / "report" / "figures"}
    assert sum(path.name.startswith("histogram_") for path in svgs) == 2


@pytest.mark.parametrize("name", ["nope", "", ".", "..", "../night", "night/../night", "/etc", "a b", "night\0"])
def test_a_name_that_is_no_run(tmp_path, name):
    write_run(tmp_path / "runs", "night", 5)
    with pytest.raises(NoSuchRunError, match=r"no run .* Known runs: night\."):
        write_report(tmp_path / "runs", name)


def test_a_run_is_not_compared_with_itself(tmp_path):
    write_run(tmp_path, "night", 5)
    with pytest.raises(ValueError, match="another one, got 'night'"):
        write_report(tmp_path, "night", against="night")


def test_a_run_of_a_newer_schema_says_so(tmp_path):
    path = write_run(tmp_path, "later", 5)
    with Journal.open(path) as journal:
        journal.connection.execute("PRAGMA user_version = 99")
    with pytest.raises(JournalError, match="by a newer evonorm"):
        write_report(tmp_path, "later")


def test_records_are_plain(tmp_path):
    write_run(tmp_path, "night", 50, scored_share=0.3)
    run = evonorm.Run("night", tmp_path)
    records = list(run.records())
    assert [record["index"] for record in records] == list(range(52))
    assert {record["kind"] for record in records} <= {"scores", "rejected", "failed", "pending"}
    best = run.top(1)[0]
    assert records[best["index"]]["formula"] == best["formula"] == str(run.candidate(best["index"]).proposal.graph)
    assert run.header()["name"] == "night"
    assert "Run night" in run._repr_html_()
    assert repr(run).startswith("Run('night'")


def test_a_dataframe_where_pandas_is_there(tmp_path):
    write_run(tmp_path, "night", 20)
    run = evonorm.Run("night", tmp_path)
    try:
        import pandas  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match=r"records\(\) works without"):
            run.to_dataframe()
    else:
        assert len(run.to_dataframe()) == 22


def test_reading_writes_nothing(tmp_path):
    path = write_run(tmp_path, "night", 20)
    before = path.read_bytes()
    write_report(tmp_path, "night", tmp_path / "out")
    assert path.read_bytes() == before
    assert {each.name for each in path.parent.iterdir()} <= {
        "journal.sqlite",
        "journal.sqlite-wal",
        "journal.sqlite-shm",
        "journal.sqlite-rows",  # the writer's
    }


def test_layers_show_themselves_in_notebooks():
    page = evonorm.EvoNormB0(8)._repr_html_()
    assert "EvoNormB0(" in page
    assert "<svg" in page
    assert "<math" in page
    plain = evonorm.EvoNormB0(8, nonlinearity=False)._repr_html_()
    assert "std" not in re.sub(r"<code>.*?</code>", "", plain)
