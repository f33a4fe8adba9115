"""The dashboard's pages, made from journals by one thread. Nothing is written; no transaction outlives a question."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from evonorm.dashboard.live_front import LiveFront
from evonorm.dashboard.live_runs import LiveRun, LiveRuns
from evonorm.journal import LISTED, SORTED, run_names
from evonorm.pictures import Figure
from evonorm.report import (
    HEADINGS,
    PAGE_SIZE,
    PAGES,
    NamedTally,
    candidate_rows,
    candidate_values,
    found_by,
    funnel_figure,
    progress_figures,
    render,
    side_of,
    verdict_words,
    what_was_run,
)

LONGEST_FIND = 200
COMPARED = 100  # functions of each run, that may be found by both
STATIC = {"style.css": "text/css", "live.js": "text/javascript"}
# Only our own files may run or be loaded: a script that slipped through the escaping would still not start.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; img-src data:;"
    " style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class DashboardPages:
    """The pages, each a method that returns what is to be sent. All of them belong into one thread."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.open_runs = LiveRuns(runs)
        self.front = LiveFront(runs)

    def all_runs(self) -> Response:
        self.front.refresh()
        values = {"names": self.front.names, "sections": self.front.sections, "digests": self.front.digests}
        return html_page("runs.html", {"title": "evonorm: runs", **values})

    def live_front(self, known: list[str]) -> Response:
        self.front.refresh()
        return news(self.front.sections, self.front.digests, known, self.front.wait)

    def run(self, name: str) -> Response:
        run = self._fresh(name)
        values = {"page": run.page, "headings": HEADINGS, "sections": run.sections, "digests": run.digests}
        return html_page("run.html", {"title": f"Run {name}", **values})

    def live(self, name: str, known: list[str]) -> Response:
        """The sections whose digest the page does not know yet, and when to ask again."""
        run = self._fresh(name)
        return news(run.sections, run.digests, known, run.wait)

    def _fresh(self, name: str) -> LiveRun:
        run = self.open_runs.get(name)
        run.refresh()
        return run

    def trainings(self, name: str) -> Response:
        found = self.front.trainings(name)
        values = {**found.values, "digests": found.digests, "base": f"/trainings/{name}"}
        return html_page("trainings.html", values)

    def live_trainings(self, name: str, known: list[str]) -> Response:
        found = self.front.trainings(name)
        return news(found.sections, found.digests, known, found.wait)

    def figure(self, name: str, figure: str, suffix: str) -> Response:
        run = self._fresh(name)
        assert run.page is not None
        found = next((each for each in run.page.figures if each.name == figure), None)
        if found is None or suffix not in ("svg", "csv"):
            raise HTTPException(404, f"run {name} has no figure {figure}.{suffix}.")
        if suffix == "csv":
            return PlainTextResponse(found.csv(), media_type="text/csv", headers=HEADERS)
        return Response(found.svg, media_type="image/svg+xml", headers=HEADERS)

    def candidate(self, name: str, index: int) -> Response:
        run = self.open_runs.get(name)
        references = run.read_on().references
        if index > run.tally.proposed:  # also those that are too large for SQLite
            raise HTTPException(404, f"run {name} has no candidate {index}; {run.tally.proposed} were proposed.")
        values = candidate_values(run.reader, run.reader.candidate(index), references, run.tally.ranking.noise())
        title = f"Candidate {index} of {name}"
        return html_page("candidate.html", {"title": title, "name": name, "base": f"/runs/{name}", **values})

    def candidates(self, name: str, kind: str, start: int, sort: str, up: bool, find: str) -> Response:
        if kind not in LISTED or sort not in SORTED:
            known = f"{', '.join(LISTED)}, and sorted by {', '.join(SORTED[1:])}"
            raise HTTPException(404, f"candidates are listed by one of {known}, got {kind!r}, {sort!r}.")
        base, find = f"/runs/{name}", find[:LONGEST_FIND]
        rows = candidate_rows(self.open_runs.get(name).reader, kind, start, sort, not up, find)

        def address(**asked: Any) -> str:
            return f"{base}/candidates?{urlencode({key: value for key, value in asked.items() if value})}"

        chosen = {"kind": kind, "sort": sort, "down": not up, "find": find, "start": start, "size": PAGE_SIZE}
        values = {"name": name, "base": base, "kinds": LISTED, "rows": rows, "address": address, **chosen}
        return html_page("candidates.html", {"title": f"Candidates of {name}", **values})

    def compare(self, first: str, second: str | None) -> Response:
        if second is None:
            others = [name for name in run_names(self.runs) if name != first]
            if not others:
                raise HTTPException(404, "it takes two runs to compare.")
            second = others[0]
        pair = [self.open_runs.get(name) for name in (first, second)]
        tallies = [self._read_whole(run) for run in pair]
        facts = [dict(what_was_run(run.reader, run.tally)) for run in pair]
        funnels = [funnel_figure(each.tally) for each in tallies]
        one, other = (side_of(run.name, run.reader, run.tally, COMPARED) for run in pair)
        values = {
            "title": f"{first} beside {second}",
            "names": [first, second],
            "all_names": run_names(self.runs),
            "differing": _differing_judges(pair),
            "verdict": verdict_words([one, other]),
            "figures_of_both": [(key, one.figures()[key], other.figures()[key]) for key in one.figures()],
            "found": [found_by(one, other), found_by(other, one)],
            "facts": [(label, facts[0][label], facts[1].get(label, "")) for label in facts[0]],
            "progress": progress_figures(tallies) if first != second else progress_figures(tallies[:1]),
            "funnels": [
                Figure(f"funnel-{n}", run.name, figure.svg, figure.columns, figure.rows)
                for n, (run, figure) in enumerate(zip(pair, funnels, strict=True))
            ],
        }
        return html_page("compare.html", values)

    def _read_whole(self, run: LiveRun) -> NamedTally:
        run.read_on(seconds=None)
        return run.named_tally()


def _differing_judges(pair: list[LiveRun]) -> str:
    """Which tables of the two recipes that decide about scores are not the same."""
    recipes = [run.reader.header().get("recipe") or {} for run in pair]
    return ", ".join(key for key in ("evaluate", "fitness") if recipes[0].get(key) != recipes[1].get(key))


def news(sections: Mapping[str, str], digests: Mapping[str, str], known: list[str], wait: float) -> Response:
    """What a live page does not have yet, and when it should ask again."""
    changed = {
        name: {"html": html, "digest": digests[name]} for name, html in sections.items() if digests[name] not in known
    }
    return JSONResponse({"sections": changed, "wait": round(wait + 0.1, 2)}, headers=HEADERS)


def html_page(template: str, values: dict[str, Any]) -> Response:
    return HTMLResponse(render(template, values, served=True), headers=HEADERS)


def static_file(name: str) -> Response:
    if name not in STATIC:
        raise HTTPException(404, f"there is no file {name}.")
    return Response((PAGES / name).read_text(), media_type=STATIC[name], headers=HEADERS)


def message_page(status: int, title: str, text: str) -> Response:
    page = render("message.html", {"title": title, "text": text}, served=True)
    return HTMLResponse(page, status_code=status, headers=HEADERS)
