"""What can happen to hosts on real Ray nodes: killed, frozen, gone with their machine; nodes that come and go."""

import os
import signal
import socket
import time

import pytest

from evonorm.workers import Broken, Finished, Greeting, Task, WorkerNote, WorkerRecipe, create_workers
from evonorm.workers import contact as contacts
from evonorm.workers import hosts as hosts_module
from tests.workers import ray_nodes

pytestmark = pytest.mark.slow
WELCOME = Greeting("tests.workers.worker_faults:describe", {}, lambda _: None)


@pytest.fixture
def nodes(ray_cluster, monkeypatch):
    monkeypatch.setattr(hosts_module, "LOOK_AT_NODES_EVERY", 0.5)
    return ray_cluster.whole()


@pytest.fixture
def workers(nodes):
    made = create_workers(WorkerRecipe(kind="ray", number=0, address=nodes.address, pin=False), 1, greeting=WELCOME)
    yield made
    made.close()


def task(number, name, **arguments):
    return Task(number, f"tests.workers.worker_faults:{name}", arguments)


class Story:
    """What a test heard of its workers."""

    def __init__(self, workers):
        self.workers, self.notes, self.lost, self.done = workers, [], [], {}

    def hear(self, until, seconds=120):
        deadline = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < deadline, (self.notes, self.lost, self.done)
            for report in self.workers.wait(0.05):
                if isinstance(report, WorkerNote):
                    self.notes.append(report)
                elif isinstance(report, Broken):
                    assert report.reason == "lost"
                    self.lost.append(report.task)
                else:
                    assert report.task not in self.done
                    self.done[report.task] = report
        return time.monotonic()

    def kinds(self, kind):
        return [note for note in self.notes if note.kind == kind]

    def wait_for_hosts(self, number):
        self.hear(lambda: len(self.workers.hosts()) == number)


def places(story):
    """The pids of a child and of its host, a pair for each of four workers."""
    found = {}
    for round_ in range(20):
        numbers = range(1000 + 4 * round_, 1004 + 4 * round_)
        for number in numbers:
            story.workers.submit(task(number, "describe_slowly"))
        story.hear(lambda wanted=numbers: all(number in story.done for number in wanted))
        found |= {story.done[n].result["pid"]: story.done[n].result["parent"] for n in numbers}
        if len(found) == 4:
            return found
    raise AssertionError(found)


def test_a_killed_host_costs_its_tasks_nothing_but_time(workers):
    story = Story(workers)
    story.wait_for_hosts(2)
    victim = next(iter(places(story).values()))
    for number in range(4):
        workers.submit(task(number, "sleep", seconds=3))
    workers.wait(0.5)
    os.kill(victim, signal.SIGKILL)
    story.hear(lambda: len(story.lost) == 2)
    assert len(story.kinds("host lost")) == 1
    for number in list(story.lost):
        workers.submit(task(number, "sleep", seconds=0))
    story.hear(lambda: set(range(4)) <= set(story.done))
    story.wait_for_hosts(2)  # the node has another
    assert len(story.kinds("host joined")) == 3


def test_a_node_without_power_is_missed_and_another_one_joins(nodes, workers):
    story = Story(workers)
    story.wait_for_hosts(2)
    for number in range(4):
        workers.submit(task(number, "sleep", seconds=6))
    workers.wait(0.5)
    nodes.kill(nodes.nodes[0])
    story.hear(lambda: len(story.lost) == 2)
    nodes.whole()
    for number in list(story.lost):
        workers.submit(task(number, "sleep", seconds=0))
    story.hear(lambda: set(range(4)) <= set(story.done))
    story.wait_for_hosts(2)
    assert workers.capacity == 4


def test_a_node_that_is_told_to_go_gives_its_tasks_back(nodes, workers):
    story = Story(workers)
    story.wait_for_hosts(2)
    for number in range(4):
        workers.submit(task(number, "sleep", seconds=6))
    workers.wait(0.5)
    nodes.leave(nodes.nodes[0])
    story.hear(lambda: len(story.lost) == 2)
    story.hear(lambda: len(story.done) == 2)
    assert set(story.lost) | set(story.done) == set(range(4))


def test_a_frozen_host_is_given_up_and_what_it_finds_later_is_dropped(workers, monkeypatch):
    """Ray itself never notices."""
    monkeypatch.setattr(contacts, "QUIET_SECONDS", 1.0)
    monkeypatch.setattr(contacts, "LOST_SECONDS", 4.0)
    story = Story(workers)
    story.wait_for_hosts(2)
    victim = next(iter(places(story).values()))
    with ray_nodes.frozen(victim):
        for number in range(4):
            workers.submit(task(number, "sleep", seconds=1))
        story.hear(lambda: len(story.lost) == 2)
    assert "no answer for" in story.kinds("host lost")[0].details["why"]
    for number in list(story.lost):
        workers.submit(task(number, "sleep", seconds=0))
    story.hear(lambda: set(range(4)) <= set(story.done))
    assert not [report for report in workers.wait(1.0) if isinstance(report, Finished | Broken)]


def test_nothing_listens_elsewhere_than_on_loopback(workers):
    story = Story(workers)
    story.wait_for_hosts(2)
    ours = ray_nodes.listeners([os.getpid(), *ray_nodes.descendants(os.getpid())])
    assert len(ours) > 5
    assert {address for _, address in ours if not address.startswith(ray_nodes.LOOPBACK)} == set()


def test_a_listener_elsewhere_would_be_seen():
    with socket.create_server(("0.0.0.0", 0)):
        assert "0.0.0.0" in {address for _, address in ray_nodes.listeners([os.getpid()])}


def test_an_address_beyond_this_machine_needs_a_token(monkeypatch):
    settings = {"kind": "ray", "number": 0}
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(ValueError, match=r"listens beyond this machine, and RAY_AUTH_MODE is not 'token'"):
        create_workers(WorkerRecipe(address="192.0.2.7:6379", **settings), 1, greeting=WELCOME)


def test_an_address_where_nobody_is_says_so():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ValueError, match=f"there is no Ray cluster at 127.0.0.1:{port} to connect to"):
        create_workers(WorkerRecipe(kind="ray", number=0, address=f"127.0.0.1:{port}"), 1, greeting=WELCOME)
    with pytest.raises(ValueError, match="an address is HOST:PORT"):
        create_workers(WorkerRecipe(kind="ray", number=0, address="localhost"), 1, greeting=WELCOME)
