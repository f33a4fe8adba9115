"""`evonorm report` of kept trainings: tables with intervals and the curves, as one HTML file with its figures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evonorm.journal import KeptResults
from evonorm.pictures import file_name, write_figures
from evonorm.report.albums import Album, albums_of
from evonorm.report.facts import duration
from evonorm.report.kept_trainings import REFERENCE, Setup, is_training, setups_of
from evonorm.report.measures import ShownMeasure
from evonorm.report.setup_curves import SetupCurves, curves_of_setup
from evonorm.report.setup_words import all_settings, model_of, titles
from evonorm.report.templates import render
from evonorm.report.training_table import TrainingRow, labels_of, training_rows


@dataclass(frozen=True)
class SetupSection:
    """What the page shows of one setup."""

    id: str
    title: str
    rows: list[TrainingRow]
    measures: list[ShownMeasure]
    curves: SetupCurves
    albums: list[Album]
    settings: list[tuple[str, str]]

    @property
    def compared(self) -> bool:
        """Whether there is a reference to compare others with."""
        return len(self.rows) > 1 and self.rows[0].layer == REFERENCE

    @property
    def ended_early(self) -> bool:
        return any(row.early for row in self.rows)

    @property
    def under_way(self) -> list[str]:
        return [f"{row.label}, {words}" for row in self.rows for words in row.under_way]


def kept_trainings_at(runs: Path, name: str) -> Path | None:
    """The file of kept results that a person means: a path to it or to its folder, or such a folder among the runs."""
    for place in (Path(name), runs / name):
        kept = KeptResults(place)
        if kept.path.is_file() or kept.unfinished():
            return kept.path
    return None


def write_training_report(file: Path, out: Path | None = None) -> Path:
    """Writes report.html and its figures to `out` (`report` beside the file); returns the HTML file."""
    kept = KeptResults(file)
    page = training_page(kept)
    sections = page["sections"]
    if not sections:
        raise ValueError(
            f"{file} has no training ({kept.unfinished()} unfinished, {len(list(kept.records()))} results of other"
            " kinds). `evonorm train` makes some."
        )
    out = out or file.with_name("report" if file.name == KeptResults.FILE else f"{file.stem}_report")
    write_figures([figure for section in sections for figure in section.curves.figures], out / "figures")
    path = out / "report.html"
    path.write_text(render("trainings.html", page, served=False))
    return path


def training_page(kept: KeptResults) -> dict[str, Any]:
    """What the page of kept trainings is made of; work that goes on is shown as far as its latest note."""
    records = list(kept.records())
    setups = setups_of([*records, *kept.under_way()])
    file = kept.path
    return {
        "title": f"Trainings in {file.parent.name if file.name == KeptResults.FILE else file.name}",
        "facts": list(_facts(setups, records, kept.unfinished())),
        "sections": setup_sections(setups, kept),
        "reference": REFERENCE,
    }


def setup_sections(setups: Sequence[Setup], kept: KeptResults) -> list[SetupSection]:
    """Each setup with its table, curves and pictures; a formula has the same letter everywhere."""
    labels = labels_of(list(dict.fromkeys(layer for setup in setups for layer in setup.layers)))
    names: Counter[str] = Counter()
    found = []
    for setup, title in zip(setups, titles(setups), strict=True):
        names[model_of(setup)] += 1
        name = file_name(model_of(setup), *(str(k) for k in (names[model_of(setup)],) if k > 1))
        rows = training_rows(setup, labels)
        curves = curves_of_setup(setup, [row.layer for row in rows], labels, name)
        measures = setup.measures
        albums = albums_of(setup, labels, kept)
        found.append(SetupSection(name, title, rows, measures, curves, albums, all_settings(setup)))
    return found


def _facts(setups: Sequence[Setup], records: Sequence[Mapping[str, Any]], unfinished: int) -> Iterator[tuple[str, str]]:
    """Label and text of what holds of all trainings."""
    mine = [record for record in records if is_training(record)]
    layers = {each.layer for setup in setups for each in setup.trainings}
    seconds = sum(each.seconds for setup in setups for each in setup.trainings)
    yield "finished", f"{len(mine)} trainings of {len(layers)} layers, {duration(seconds)} in all"
    if unfinished:
        yield "unfinished", f"{unfinished}; the command that began them goes on where they stopped"
    if others := len(records) - len(mine):
        yield "not shown", f"{others} results of other kinds in the same file"
    dates = sorted(str(record["date"]) for record in mine if "date" in record)
    if dates:
        yield "trained", dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    yield "machine", _distinct(_machine(record) for record in mine)
    yield "software", _distinct(_versions(record) for record in mine)
    yield "commit", _distinct(str(record.get("commit") or "unknown") for record in mine)


def _distinct(words: Iterator[str]) -> str:
    return "; ".join(dict.fromkeys(words))


def _machine(record: Mapping[str, Any]) -> str:
    machine = record.get("machine")
    if not isinstance(machine, Mapping):
        return "unknown"
    return f"{machine.get('processor', 'unknown')}, {machine.get('cores', '?')} cores"


def _versions(record: Mapping[str, Any]) -> str:
    versions = record.get("versions")
    if not isinstance(versions, Mapping):
        return "unknown"
    return ", ".join(f"{name} {version}" for name, version in versions.items())
