"""Families of a kept search: who belongs together, who founded them, where they live."""

from pathlib import Path

import pytest

from evonorm.cli.run_status import family_lines
from evonorm.fitness import family_stories
from evonorm.journal import RunFolder, import_journal, leaderboard
from evonorm.report import RunPage, Tally, run_page


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = RunFolder(tmp_path_factory.mktemp("runs"), "s")
    folder.path.mkdir()
    import_journal(Path("studies/search/s-evolution.evonorm"), folder.journal)
    with folder.reader() as reader:
        yield reader


def first_ancestor(reader, index):
    while parents := reader.candidate(index).proposal.parents:
        index = parents[0]
    return index


def test_every_founder_is_the_end_of_somebody_s_line(reader):
    ranked = leaderboard(reader, 60)
    stories = family_stories(reader, ranked)
    assert sum(len(story.family.members) for story in stories) == len(ranked)
    for story in stories:
        lines = [first_ancestor(reader, each.candidate.proposal.index) for each in story.family.members]
        assert set(story.founders) == set(lines)
        assert lines.count(story.founders[0]) == max(map(lines.count, lines))
        assert story.newest == max(each.candidate.proposal.index for each in story.family.members)
        assert story.islands == ()  # one population


def test_islands_are_told_by_a_candidate_s_number(reader, monkeypatch):
    header = reader.header()
    header["recipe"]["search"]["islands"] = 3
    monkeypatch.setattr(reader, "header", lambda: header)
    for story in family_stories(reader, leaderboard(reader, 20)):
        assert story.islands == tuple(sorted({m.candidate.proposal.index % 3 for m in story.family.members}))


def test_status_and_report_tell_the_same_families(reader):
    tally = Tally()
    tally.refresh(reader)
    page = run_page(reader, tally, "s")
    assert isinstance(page, RunPage)
    lines = str(family_lines(reader)).splitlines()
    assert f"{len(page.families)} families" in lines[0]
    assert [int(line.split()[0]) for line in lines[2:]] == [row.index for row in page.families[:6]]
    assert f"{len(page.families)} families" in page.sections()["families"]
