"""What the dashboard costs: how long a page takes at 100,000 candidates, and what ten open pages take from a search.

    python -m benchmarks.dashboard latency [--candidates 100000] [--runs FOLDER]
    python -m benchmarks.dashboard throughput [--pairs 3] [--browser]

Latency is measured at the real command over HTTP: the first page a fresh server shows of the run, and then updates
after new outcomes were written. Throughput is that of a search whose fitness burns the processor on every core, with
and without ten pages that ask as the page's script does (--browser: ten tabs of a real Chromium instead).
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from evonorm.experiments.budget import Budget
from evonorm.experiments.recipe import Recipe
from evonorm.experiments.run_folder import RunFolder
from evonorm.experiments.run_search import start_search
from evonorm.journal import Journal, Reader
from evonorm.search import SearchSettings
from evonorm.workers import WorkerSettings
from tests.report.synthetic_run import add_candidates, write_run

PAGES = 10
COMMAND = [sys.executable, "-c", "from evonorm.cli import main; main()", "dashboard", "--port", "0", "--runs"]
FLAGS = ["--no-sandbox", "--disable-quic", "--disable-background-networking"]


def burn(arguments: dict[str, Any], announce: Callable[[str], None]) -> dict[str, Any]:
    """A fitness that keeps a core busy for some 50 ms, always with the same amount of work."""
    announce("training wide")
    luck = hashlib.sha256(arguments["layer"].encode()).digest()
    for _ in range(60_000):
        luck = hashlib.sha256(luck).digest()
    stages = [{"name": "training", "anchor": "wide", "steps": 10, "seconds": 0.05, "figures": {}}]
    return {"kind": "scores", "accuracies": {"wide": luck[1] / 255, "deep": luck[2] / 255}, "stages": stages}


@contextlib.contextmanager
def served(runs: Path) -> Iterator[str]:
    """The real command; gives its address."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([*COMMAND, str(runs)], stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603
        assert process.stdout is not None
        address = process.stdout.readline().split(" at ")[1].split(" ")[0].rstrip("/")
        try:
            yield address
        finally:
            process.terminate()


def timed(address: str) -> tuple[float, bytes]:
    started = time.perf_counter()
    with urllib.request.urlopen(address) as answer:  # noqa: S310 (our own server)
        body = answer.read()
    return time.perf_counter() - started, body


def wait_until_it_answers(address: str) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError):
            timed(f"{address}/static/style.css")
            return
        time.sleep(0.1)


def ask_once(address: str, known: dict[str, str]) -> tuple[float, dict[str, Any]]:
    query = urllib.parse.urlencode({"known": ",".join(known.values())})
    seconds, body = timed(f"{address}/live?{query}")
    answer = json.loads(body)
    known.update({name: section["digest"] for name, section in answer["sections"].items()})
    return seconds, answer


def latency(runs: Path, candidates: int) -> None:
    journal_path = runs / "big" / "journal.sqlite"
    if not journal_path.exists():
        write_run(runs, "big", candidates)
    first, updates, catching_up = [], [], []
    for start in range(5):
        with served(runs) as address:
            wait_until_it_answers(address)
            first.append(timed(f"{address}/runs/big")[0])
            if start < 4:
                continue
            page, known = f"{address}/runs/big", {}
            while True:
                seconds, answer = ask_once(page, known)
                if answer["wait"] > 1:
                    break
                catching_up.append(seconds)
                time.sleep(answer["wait"])
            updates += [update_after_news(page, known, journal_path) for _ in range(10)]
    with Reader(journal_path) as reader:
        scored, size = reader.verdicts().get("scores"), journal_path.stat().st_size / 1e6
        print(f"{reader.proposed()} candidates, {scored} scored, {size:.0f} MB")
    for what, seconds in (("first page, fresh server", first), ("while catching up", catching_up), ("update", updates)):
        shown = f"median {1000 * statistics.median(seconds):.0f} ms, largest {1000 * max(seconds):.0f} ms"
        print(f"{what}: {shown}, n = {len(seconds)}")


def update_after_news(page: str, known: dict[str, str], journal_path: Path) -> float:
    """Writes 20 candidates, waits as long as the page was told to, and asks."""
    _, answer = ask_once(page, known)
    with Journal.open(journal_path) as journal, Reader(journal_path) as reader:
        add_candidates(journal, 20, first=reader.proposed(), scored_share=0.3)
    time.sleep(answer["wait"])
    seconds, answer = ask_once(page, known)
    assert answer["sections"], "the update was due"
    return seconds


def searched(runs: Path, name: str, candidates: int) -> float:
    """Outcomes per second between the first and the last, of a search that keeps every core busy."""
    recipe = Recipe(
        evaluate="benchmarks.dashboard:burn",
        search=SearchSettings(order="arrival"),
        workers=WorkerSettings(number=os.cpu_count() or 1),
    )
    folder = RunFolder(runs, name)
    start_search(folder, recipe, Budget(candidates=candidates), Console(file=io.StringIO()), None)
    with Reader(folder.journal) as reader:
        question = "SELECT count(*), min(time), max(time) FROM outcomes WHERE steps > 0"
        count, begun, ended = reader.connection.execute(question).fetchone()
    return (count - 1) / (ended - begun)


@contextlib.contextmanager
def watched_by(what: str, runs: Path, name: str) -> Iterator[None]:
    """The dashboard, and a process that "ask"s it or "browse"s it; both have started up before the search begins."""
    with served(runs) as address:
        wait_until_it_answers(address)
        command = [sys.executable, "-m", "benchmarks.dashboard", what, f"{address}/runs/{name}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            try:
                yield
            finally:
                process.terminate()


def keep_asking(page: str) -> None:
    """Ten threads that ask as the script of a page does."""

    def one() -> None:
        known: dict[str, str] = {}
        while True:
            try:
                time.sleep(ask_once(page, known)[1]["wait"])
            except OSError:  # the search has not begun yet
                time.sleep(0.5)

    print("ready", flush=True)
    threads = [threading.Thread(target=one) for _ in range(PAGES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def keep_browsing(page: str) -> None:
    """Ten tabs of a real browser, which open the run as soon as it is there."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        tabs = [browser.new_page() for _ in range(PAGES)]
        print("ready", flush=True)
        for tab in tabs:
            while tab.goto(page).status != 200:  # type: ignore[union-attr]
                time.sleep(0.3)
        while True:
            tabs[0].wait_for_timeout(1000)


def throughput(pairs: int, candidates: int, browser: bool) -> None:
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        for pair in range(pairs):
            alone = searched(runs, f"alone-{pair}", candidates)
            with watched_by("browse" if browser else "ask", runs, f"watched-{pair}"):
                watched = searched(runs, f"watched-{pair}", candidates)
            ratios.append(watched / alone)
            print(
                f"alone {alone:.2f}/s, with {PAGES} pages {watched:.2f}/s: {100 * (watched / alone - 1):+.2f} %",
                flush=True,
            )
    print(f"median change {100 * (statistics.median(ratios) - 1):+.2f} %, n = {pairs} pairs of {candidates} candidates")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("latency", "throughput", "ask", "browse"))
    parser.add_argument("page", nargs="?", help="for ask and browse, which the benchmark starts itself")
    parser.add_argument("--candidates", type=int)
    parser.add_argument("--runs", type=Path, help="where the large run is kept; by default a folder that goes again")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--browser", action="store_true")
    chosen = parser.parse_args()
    if chosen.what == "ask":
        keep_asking(chosen.page)
    elif chosen.what == "browse":
        keep_browsing(chosen.page)
    elif chosen.what == "throughput":
        throughput(chosen.pairs, chosen.candidates or 400, chosen.browser)
    else:
        with contextlib.ExitStack() as stack:
            runs = chosen.runs or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            latency(runs, chosen.candidates or 100_000)


if __name__ == "__main__":
    main()
