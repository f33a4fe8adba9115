"""A search on two real Ray nodes whose children, hosts, nodes and driver are killed at random, until it is done.

    python -m tests.runner.ray_kill_harness FOLDER KILLS     # or `head`: Ray's head, once

Drivers are processes of their own: nothing that has spoken to Ray can be forked. Prints what was killed, and digests.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from evonorm.journal import journal_digest
from evonorm.runner.budget import Budget
from evonorm.runner.run_search import resume_search, start_search
from evonorm.workers import WorkerRecipe
from tests.runner import kill_harness
from tests.workers import ray_nodes

KINDS = ("child", "host", "node", "driver")
SECONDS, CANDIDATES = 0.8, 120


def processes(words):
    """Those below us whose command line has these words."""
    found = []
    for pid in ray_nodes.descendants(os.getpid()):
        with contextlib.suppress(OSError):
            if words in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def kill_one(kind, luck, nodes, driver):
    """Whether there was one to kill."""
    if kind == "node":
        nodes.kill(luck.choice(nodes.nodes))
        nodes.whole()
        return True
    pids = {"child": processes(b"workers/child.py"), "host": processes(b"ray::HostActor"), "driver": [driver.pid]}[kind]
    with contextlib.suppress(ProcessLookupError):
        if pids:
            os.kill(luck.choice(pids), signal.SIGKILL)
            return True
    return False


def start_driver(runs, name, address=None):
    script = f"from tests.runner import ray_kill_harness as h; h.drive({str(runs)!r}, {name!r}, {address!r})"
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL)


def drive(runs, name, address):
    """One session, in this process: on the cluster, or on local processes without an address."""
    folder, budget = kill_harness.place_of(runs, name), Budget(candidates=CANDIDATES)
    on_ray = WorkerRecipe(kind="ray", number=0, address=address or "auto", pin=False)
    workers = on_ray if address else WorkerRecipe(number=4, pin=False)
    if not address:
        os.environ["FAKE_FITNESS_LOG"] = str(Path(runs) / f"{name}.log")
    if folder.journal.exists():
        resume_search(folder, budget, workers=workers)
    else:
        start_search(folder, replace(kill_harness.RECIPE, fitness={"seconds": SECONDS}, workers=workers), budget)


def kill_until_done(runs, kills, nodes):
    luck, killed = random.Random(7), Counter()
    log = Path(runs) / "killed.log"
    driver = start_driver(runs, "killed", nodes.address)
    while killed.total() < kills and driver.poll() is None:
        kill_harness.wait_for_an_evaluation(log, 60.0)
        time.sleep(luck.uniform(0.0, 2.0))
        kind = KINDS[killed.total() % 4] if killed.total() < 4 else luck.choice(KINDS)
        if kill_one(kind, luck, nodes, driver):
            killed[kind] += 1
        if kind == "driver":
            driver.wait()
            driver = start_driver(runs, "killed", nodes.address)
    assert driver.wait() == 0, "the search did not end well"
    return killed


def lose_the_head(runs, nodes):
    """Ray ends the driver when its head is gone; on another cluster the search goes on."""
    driver = start_driver(runs, "killed", nodes.address)
    kill_harness.wait_for_an_evaluation(Path(runs) / "killed.log", 60.0)
    time.sleep(3.0)
    (head,) = processes(b"gcs_server")
    os.kill(head, signal.SIGKILL)
    assert driver.wait() != 0
    with kill_harness.place_of(runs, "killed").reader() as reader:
        counted = list(reader.candidates())
    assert any(each.outcome for each in counted)
    assert any(each.outcome is None for each in counted)
    with ray_nodes.new_nodes() as others:
        assert start_driver(runs, "killed", others.address).wait() == 0
    with kill_harness.place_of(runs, "killed").reader() as reader:
        after = {each.proposal.index: each for each in reader.candidates()}
    assert all(after[each.proposal.index] == each for each in counted if each.outcome)
    return Counter(head=1)


def main(runs, kills):
    os.environ["RAY_gcs_rpc_server_reconnect_timeout_s"] = "5"  # noqa: SIM112 (a minute otherwise)
    calm = start_driver(runs, "calm")
    os.environ["FAKE_FITNESS_LOG"] = str(Path(runs) / "killed.log")  # hosts have their node's environment
    with ray_nodes.new_nodes() as nodes:
        assert calm.wait() == 0
        killed = lose_the_head(runs, nodes) if kills == "head" else kill_until_done(runs, int(kills), nodes)
    sys.stdout.write(f"killed: {dict(killed)}\n")
    for name in ("calm", "killed"):
        sys.stdout.write(f"{name} {journal_digest(kill_harness.place_of(runs, name).journal)}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
