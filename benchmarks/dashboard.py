"""What the dashboard costs: how long a page takes at 100,000 candidates, and what ten open pages take from a search.

    python -m benchmarks.dashboard latency [--candidates 100000] [--runs FOLDER]
    python -m benchmarks.dashboard share [--browser]                    # takes 85 s
    python -m benchmarks.dashboard throughput [--pairs 3] [--browser]   # --candidates 700 --pairs 1 takes a minute

Latency is measured at the real command over HTTP: the first page a fresh server shows of the run, and then updates
after new outcomes were written. Share is the processor time that the server and ten open pages take of the machine
while a run grows by eight candidates a second: what they take from a search that uses every core, told without the
noise of its own speed. Throughput is that of a search whose fitness burns the processor on every core, with
and without ten open pages that ask as the page's script does (--browser: ten of a real Chromium on this machine
instead, all of them visible, whose own work is counted too). Every search has some candidates before its pages are
opened, and only what comes after that is timed.
"""

import argparse
import contextlib
import hashlib
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evonorm.journal import Journal, Reader, RunFolder
from evonorm.runner.budget import Budget
from evonorm.runner.recipe import Recipe
from evonorm.runner.run_search import resume_search, start_search
from evonorm.search import SearchRecipe
from evonorm.workers import WorkerRecipe
from tests.report.synthetic_run import add_candidates, write_run

PAGES = 10
BEFORE = 100  # candidates that a run has when its pages are opened
FRESH_SERVERS = 3
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


@dataclass(frozen=True)
class Server:
    """A dashboard that is running."""

    address: str
    pid: int

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and its descendants so far; tells a cost also on a machine with other work."""
    found: dict[int, tuple[int, int]] = {}  # process: its parent and its ticks
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = path.read_text().rpartition(")")[2].split()
            found[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))  # with children that ended
    family = [pid]
    for each in family:
        family += [child for child, (parent, _) in found.items() if parent == each]
    return sum(found[each][1] for each in family) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def served(runs: Path) -> Iterator[Server]:
    """The real command."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([*COMMAND, str(runs)], stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603
        assert process.stdout is not None
        address = process.stdout.readline().split(" at ")[1].split(" ")[0].rstrip("/")
        try:
            yield Server(address, process.pid)
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
    found: dict[str, list[tuple[float, float]]] = {
        "first page, fresh server": [],
        "while catching up": [],
        "update": [],
    }
    for start in range(FRESH_SERVERS):
        with served(runs) as server:
            wait_until_it_answers(server.address)
            page = f"{server.address}/runs/big"
            found["first page, fresh server"].append(costs(server, lambda page=page: timed(page)[0]))  # type: ignore[misc]
            if start == FRESH_SERVERS - 1:
                known: dict[str, str] = {}
                found["while catching up"] += catch_up(server, page, known)
                found["update"] += [update_after_news(server, page, known, journal_path) for _ in range(10)]
    with Reader(journal_path) as reader:
        scored, size = reader.verdicts().get("scores"), journal_path.stat().st_size / 1e6
        print(f"{reader.proposed()} candidates, {scored} scored, {size:.0f} MB")
    for what, seconds in found.items():
        wall, cpu = ([1000 * each[k] for each in seconds] for k in (0, 1))
        shown = f"median {statistics.median(wall):.0f} ms, largest {max(wall):.0f} ms"
        print(f"{what}: {shown}; processor time median {statistics.median(cpu):.0f} ms; n = {len(seconds)}")


def costs(server: Server, work: Callable[[], float]) -> tuple[float, float]:
    """Seconds that the work says it took, and the server's processor seconds meanwhile."""
    before = server.cpu_seconds()
    return work(), server.cpu_seconds() - before


def catch_up(server: Server, page: str, known: dict[str, str]) -> list[tuple[float, float]]:
    found, wait = [], 0.0
    while wait < 1:
        before = server.cpu_seconds()
        seconds, answer = ask_once(page, known)
        found.append((seconds, server.cpu_seconds() - before))
        wait = answer["wait"]
        time.sleep(wait)
    return found


def update_after_news(server: Server, page: str, known: dict[str, str], journal_path: Path) -> tuple[float, float]:
    """Writes 20 candidates, waits as long as the page was told to, and asks."""
    _, answer = ask_once(page, known)
    with Journal.open(journal_path) as journal, Reader(journal_path) as reader:
        add_candidates(journal, 20, first=reader.proposed(), scored_share=0.3)
    time.sleep(answer["wait"])
    before = server.cpu_seconds()
    seconds, answer = ask_once(page, known)
    assert answer["sections"], "the update was due"
    return seconds, server.cpu_seconds() - before


def begun(runs: Path, name: str) -> RunFolder:
    """A search that keeps every core busy, after its first candidates."""
    recipe = Recipe(
        evaluate="benchmarks.dashboard:burn",
        search=SearchRecipe(order="arrival"),
        workers=WorkerRecipe(number=os.cpu_count() or 1),
    )
    folder = RunFolder(runs, name)
    start_search(folder, recipe, Budget(candidates=BEFORE))
    return folder


def searched(folder: RunFolder, candidates: int) -> float:
    """Outcomes per second between the first and the last of so many more."""
    with Reader(folder.journal) as reader:
        known = reader.connection.execute("SELECT max(arrival) FROM outcomes").fetchone()[0]
        resume_search(folder, Budget(candidates=BEFORE + candidates))
        question = "SELECT count(*), min(time), max(time) FROM outcomes WHERE steps > 0 AND arrival > ?"
        count, first, last = reader.connection.execute(question, (known,)).fetchone()
    return (count - 1) / (last - first)


@contextlib.contextmanager
def watched_by(what: str, runs: Path, name: str) -> Iterator[tuple[int, int]]:
    """The dashboard, and a process that "ask"s it or "browse"s it; its pages are open before the search goes on.

    Gives the process ids of both.
    """
    with served(runs) as server:
        wait_until_it_answers(server.address)
        command = [sys.executable, "-m", "benchmarks.dashboard", what, f"{server.address}/runs/{name}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            try:
                yield server.pid, process.pid
            finally:
                process.terminate()


def keep_asking(page: str) -> None:
    """Ten threads that ask as the script of a page does."""

    def one() -> None:
        known: dict[str, str] = {}
        while True:
            time.sleep(ask_once(page, known)[1]["wait"])

    threads = [threading.Thread(target=one) for _ in range(PAGES)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    for thread in threads:
        thread.join()


def keep_browsing(page: str) -> None:
    """Ten pages of a real browser; each has its first update behind it when it says that it is ready."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        tabs = [browser.new_page() for _ in range(PAGES)]
        for tab in tabs:
            tab.goto(page)
        tabs[0].wait_for_timeout(4000)
        print("ready", flush=True)
        while True:
            tabs[0].wait_for_timeout(1000)


def share(browser: bool) -> None:
    """Over 70 s: the pages are brought up to date twice, or three times."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        journal_path = write_run(runs, "growing", 400, scored_share=0.3)
        with watched_by("browse" if browser else "ask", runs, "growing") as processes:
            before, started = [cpu_seconds(pid) for pid in processes], time.monotonic()
            while (passed := time.monotonic() - started) < 70:
                with Journal.open(journal_path) as journal, Reader(journal_path) as reader:
                    add_candidates(journal, 8, first=reader.proposed(), scored_share=0.3)
                time.sleep(1)
            spent = [cpu_seconds(pid) - b for pid, b in zip(processes, before, strict=True)]
    cores = os.cpu_count() or 1
    shares = [
        f"{what} {each:.2f} s, {100 * each / passed / cores:.2f} %"
        for what, each in zip(("server", "pages"), spent, strict=True)
    ]
    print(
        f"of {passed:.0f} s on {cores} cores: {'; '.join(shares)}; together {100 * sum(spent) / passed / cores:.2f} %"
    )


def throughput(pairs: int, candidates: int, browser: bool) -> None:
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        for pair in range(pairs):
            alone = searched(begun(runs, f"alone-{pair}"), candidates)
            folder_of_watched = begun(runs, f"watched-{pair}")
            with watched_by("browse" if browser else "ask", runs, folder_of_watched.name) as processes:
                before, started = [cpu_seconds(pid) for pid in processes], time.monotonic()
                watched = searched(folder_of_watched, candidates)
                whole = (time.monotonic() - started) * (os.cpu_count() or 1)
                shares = [100 * (cpu_seconds(p) - b) / whole for p, b in zip(processes, before, strict=True)]
            print(f"of the processor time the server took {shares[0]:.2f} %, the pages {shares[1]:.2f} %")
            ratios.append(watched / alone)
            print(
                f"alone {alone:.2f}/s, with {PAGES} pages {watched:.2f}/s: {100 * (watched / alone - 1):+.2f} %",
                flush=True,
            )
    print(f"median change {100 * (statistics.median(ratios) - 1):+.2f} %, n = {pairs} pairs of {candidates} candidates")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("latency", "share", "throughput", "ask", "browse"))
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
    elif chosen.what == "share":
        share(chosen.browser)
    elif chosen.what == "throughput":
        throughput(chosen.pairs, chosen.candidates or 1500, chosen.browser)
    else:
        with contextlib.ExitStack() as stack:
            runs = chosen.runs or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            latency(runs, chosen.candidates or 100_000)


if __name__ == "__main__":
    main()
