"""Thousands of simulated workers behind real hosts on Ray, with the real driver, search and journal.

    python -m benchmarks.cluster busy --hosts 10 --slots 500 --mean 60 --seconds 150 [--kill 3]
    python -m benchmarks.cluster tasks --hosts 10 --slots 500 --mean 5 --tasks 40000 --kill 6
    python -m benchmarks.cluster notice [--kill 5]
    python -m benchmarks.cluster same --seconds 300

A simulated worker sleeps for 0.5 to 1.5 times the mean and answers with random scores. All hosts are actors on this
machine, on loopback. `busy` runs a search for some time and says how busy the workers were and what the driver took;
`tasks` takes a list through hosts of which some are killed on the way. `notice` kills and freezes real hosts and nodes
and says when the driver notices. `same` runs the laptop's search, real CIFAR-10 and strict order, on two nodes for so
long, then the same number of candidates on local processes, and compares the digests of the two journals.
"""

import argparse
import json
import os
import signal
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.driver import resident_bytes
from tests.workers import ray_nodes  # before ray: keeps it on loopback

import ray  # isort: skip

from evonorm.fitness import create_screen
from evonorm.journal import CandidateVerdict, Journal, Origin, RunFolder, journal_digest
from evonorm.runner import Budget, load_recipe, resume_search, start_search
from evonorm.runner.driver import Driver
from evonorm.runner.recipe import Recipe
from evonorm.search import Search, SearchRecipe
from evonorm.workers import Broken, Finished, Greeting, Report, Task, WorkerNote, WorkerRecipe
from evonorm.workers.cluster import Node
from evonorm.workers.hosts import HostWorkers
from evonorm.workers.ray_cluster import HostSettings, RayCluster, RayLine

WELCOME = Greeting("any:thing", {}, lambda _: None)


@dataclass(frozen=True)
class SleepingHost(HostSettings):
    """A host whose workers only sleep."""

    mean: float = 60.0
    made_by: str = "benchmarks.sleeping_workers:sleeping_workers"


class SimulatedNodes(RayCluster):
    """So many nodes as asked for, all of them actors on this machine."""

    def __init__(self, address: str, settings: HostSettings, hosts: int, slots: int) -> None:
        super().__init__(address, settings)
        self._there = [Node(str(number), f"node {number}", slots) for number in range(hosts)]
        self.actors: dict[str, Any] = {}

    def nodes(self) -> list[Node]:
        return self._there

    def open(self, node: Node, workers: int) -> RayLine:
        line = super().open(node, workers)
        self.actors[node.id] = line._actor
        return line

    def _place(self, node: Node, workers: int) -> dict[str, Any]:  # noqa: ARG002 (they take no processor)
        return {"num_cpus": 0}

    def kill_some(self, number: int, every: float) -> None:
        """One host after another, from now on, in a thread."""

        def kill() -> None:
            for place in range(number):
                time.sleep(every)
                ray.kill(self.actors[self._there[place].id])

        threading.Thread(target=kill, daemon=True).start()


class CountedWorkers(HostWorkers):
    """Adds up, from a moment on, what workers did and how long they waited for it."""

    since = float("inf")
    outcomes = 0
    spent = waited = 0.0
    notes: Counter[str]

    def wait(self, seconds: float) -> list[Report]:
        reports = super().wait(seconds)
        for report in reports:
            if isinstance(report, WorkerNote):
                self.notes[report.kind] += 1
            elif isinstance(report, Finished) and time.monotonic() > self.since:
                stage = report.result["stages"][0]
                self.outcomes += 1
                self.spent += stage["seconds"]
                self.waited += stage["figures"]["waited"]
        return reports


class Watch:
    """Starts counting once every worker has ended its first task; notes what the driver takes from then on."""

    def __init__(self, workers: CountedWorkers, wanted: int, warm_up: float, seconds: float) -> None:
        self.workers, self.wanted, self.warm_up, self.seconds = workers, wanted, warm_up, seconds
        self.full: float | None = None
        self.began = (0.0, 0.0)

    def show(self, driver: Driver) -> None:
        now = time.monotonic()
        if self.full is None and self.workers.capacity >= self.wanted:
            self.full = now
        if self.full is not None and self.workers.since > now > self.full + self.warm_up:
            self.workers.since = now
            self.began = now, time.process_time()
        if now > self.workers.since + self.seconds:
            driver.stop()

    def close(self) -> None:
        pass

    def figures(self) -> dict[str, Any]:
        seconds, processor = time.monotonic() - self.began[0], time.process_time() - self.began[1]
        found = self.workers
        return {
            "outcomes per second": round(found.outcomes / seconds, 1),
            "busy %": round(100 * found.spent / (found.spent + found.waited), 2),
            "waited per task, ms": round(1000 * found.waited / max(1, found.outcomes), 1),
            "driver, % of a core": round(100 * processor / seconds, 1),
            "driver, ms per outcome": round(1000 * processor / max(1, found.outcomes), 3),
            "driver, MB": round(resident_bytes() / 2**20),
            "watched, s": round(seconds),
            "outcomes": found.outcomes,
            "notes": dict(found.notes),
        }


def connect(address: str, options: argparse.Namespace) -> tuple[CountedWorkers, SimulatedNodes]:
    cluster = SimulatedNodes(address, SleepingHost(mean=options.mean), options.hosts, options.slots)
    workers = CountedWorkers(cluster, WELCOME)
    workers.notes = Counter()
    return workers, cluster


def measure_busy(address: str, options: argparse.Namespace) -> dict[str, Any]:
    workers, cluster = connect(address, options)
    settings = SearchRecipe(order="arrival")
    watch = Watch(workers, options.hosts * options.slots, 1.5 * options.mean, options.seconds)
    if options.kill:
        cluster.kill_some(options.kill, (1.5 * options.mean + options.seconds) / (options.kill + 1))
    recipe = Recipe(seed=0, search=settings, references=())
    with tempfile.TemporaryDirectory(dir=".") as folder, Journal.create(Path(folder) / "j.sqlite", {}) as journal:
        search = Search(settings, 0, create_screen(settings))
        driver = Driver(recipe, search, journal, workers, Budget(), display=watch)
        driver.run()
        figures = {**watch.figures(), "failed": driver.verdicts[CandidateVerdict("failed")]}
    workers.close()
    return figures


def take_tasks(address: str, options: argparse.Namespace) -> dict[str, Any]:
    workers, cluster = connect(address, options)
    tasks = {number: Task(number, "any:thing", {"number": number}) for number in range(options.tasks)}
    started, done, lost = time.monotonic(), Counter[int](), 0
    for task in tasks.values():
        workers.submit(task)
    rounds = options.tasks / (options.hosts * options.slots)
    cluster_full = False
    while len(done) < len(tasks):
        for report in workers.wait(0.5):
            if isinstance(report, Broken):
                assert report.reason == "lost"
                lost += 1
                workers.submit(tasks[report.task])
            elif isinstance(report, Finished):
                done[report.task] += 1
        if not cluster_full and len(workers.hosts()) == options.hosts:
            cluster_full = True
            cluster.kill_some(options.kill, options.mean * rounds / (options.kill + 2))
    late = [each for each in workers.wait(2.0) if not isinstance(each, WorkerNote)]
    workers.close()
    return {
        "tasks": len(tasks),
        "once each": set(done.values()) == {1} and not late,
        "put back": lost,
        "seconds": round(time.monotonic() - started),
        "notes": dict(workers.notes),
    }


def measure_notice(nodes: ray_nodes.Nodes, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds from the deed to the moment when the tasks are known to be lost, with real worker processes."""
    greeting = Greeting("tests.workers.worker_faults:describe_slowly", {}, lambda _: None)
    found: dict[str, list[float]] = {"killed host": [], "killed node": [], "frozen host": []}
    for what in ["killed host"] * options.kill + ["killed node"] * 2 + ["frozen host"]:
        workers = HostWorkers(RayCluster(nodes.whole().address, HostSettings(pin=False)), greeting)
        host = first_host(workers)
        for number in range(4):
            workers.submit(Task(number, "tests.workers.worker_faults:sleep", {"seconds": 600}))
        workers.wait(1.0)
        began = time.monotonic()
        if what == "killed node":
            nodes.kill(nodes.nodes[0])
        else:
            os.kill(host, signal.SIGKILL if what == "killed host" else signal.SIGSTOP)
        while not any(isinstance(each, Broken) for each in workers.wait(0.05)):
            pass
        found[what].append(round(time.monotonic() - began, 2))
        workers.close()
    return {"noticed after, s": found}


def compare_searches(nodes: ray_nodes.Nodes, options: argparse.Namespace) -> dict[str, Any]:
    """The clock ends the search on the cluster; it goes on to the end of the next candidate, so that both are whole."""
    recipe = load_recipe(Path("laptop"))
    on_ray = WorkerRecipe(kind="ray", number=0, address=nodes.whole().address, pin=False)
    with tempfile.TemporaryDirectory(dir=".") as place:
        there, here = RunFolder(Path(place), "there"), RunFolder(Path(place), "here")
        start_search(there, replace(recipe, workers=on_ray), Budget(minutes=options.seconds / 60))
        with there.reader() as reader:
            sent = [each.proposal for each in reader.candidates() if each.proposal.settled is None]
        whole = Budget(candidates=sum(proposal.origin != Origin.REFERENCE for proposal in sent) + 1)
        resume_search(there, whole, workers=on_ray)
        start_search(here, recipe, whole)
        with there.reader() as reader:
            proposed, hosts = reader.proposed(), len(reader.events("host joined"))
        digests = [journal_digest(folder.journal) for folder in (there, here)]
    return {"candidates": whole.candidates, "proposals": proposed, "hosts joined": hosts, "digests": digests}


def first_host(workers: HostWorkers) -> int:
    """The process of the first host that joins, once both have."""
    pids = []
    while len(pids) < 2:
        notes = [each for each in workers.wait(0.5) if isinstance(each, WorkerNote)]
        pids += [note.details["parent"] for note in notes if note.kind == "host joined"]
    return int(pids[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("busy", "tasks", "notice", "same"))
    parser.add_argument("--hosts", type=int, default=10)
    parser.add_argument("--slots", type=int, default=500)
    parser.add_argument("--mean", type=float, default=60.0, help="seconds of a task")
    parser.add_argument("--seconds", type=float, default=120.0, help="watched, after 1.5 times the mean")
    parser.add_argument("--tasks", type=int, default=40_000)
    parser.add_argument("--kill", type=int, default=0, help="so many of the hosts, one after another")
    options = parser.parse_args()
    real = {"notice": measure_notice, "same": compare_searches}
    simulated = {"busy": measure_busy, "tasks": take_tasks}
    with ray_nodes.new_nodes(2 if options.what in real else 1) as nodes:
        if options.what in real:
            found = real[options.what](nodes, options)
        else:
            found = simulated[options.what](nodes.address, options)
    load = os.getloadavg()[0]
    print(json.dumps({**vars(options), **found, "load of the machine": round(load, 1)}, indent=2))


if __name__ == "__main__":
    main()
