"""The driver's side of hosts, over lines that lose, double and delay what is said, on nodes that come and go."""

import time

import pytest

from evonorm.workers import Broken, Finished, Greeting, Task, WorkerNote
from evonorm.workers import contact as contacts
from evonorm.workers import hosts as hosts_module
from evonorm.workers.cluster import Node
from evonorm.workers.hosts import HostWorkers
from tests.workers.fake_cluster import FakeCluster

WELCOME = Greeting("any:thing", {"who": "node"}, lambda told: None)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A minute's patience would be a minute's test."""
    monkeypatch.setattr(hosts_module, "LOOK_AT_NODES_EVERY", 0.05)
    monkeypatch.setattr(contacts, "PAUSE", 0.01)
    monkeypatch.setattr(hosts_module, "LOOK_EVERY", 0.02)


def drain(workers, number, on_report=lambda _: None, seconds=60):
    """Reports by task and the notes, until `number` tasks are told; fails on a second report about one."""
    found, notes = {}, []
    deadline = time.monotonic() + seconds
    while len(found) < number:
        assert time.monotonic() < deadline, f"{len(found)} of {number}"
        for report in workers.wait(0.05):
            if isinstance(report, WorkerNote):
                notes.append(report)
            else:
                assert report.task not in found
                found[report.task] = report
                on_report(report)
    return found, notes


def tasks(number):
    return [Task(each, "any:thing", {"value": each}) for each in range(number)]


@pytest.mark.parametrize("seed", range(3))
def test_every_task_once_over_a_line_that_loses_doubles_and_delays(seed):
    workers = HostWorkers(FakeCluster(nodes=3, trouble=0.15, delay=0.02, seed=seed), WELCOME)
    for task in tasks(150):
        workers.submit(task)
    found, notes = drain(workers, 150)
    assert found == {each: Finished(each, {"value": each}) for each in range(150)}
    assert sum(note.kind == "host joined" for note in notes) >= 1
    assert not [note for note in notes if note.kind == "host lost"]
    assert not [report for report in workers.wait(0.3) if not isinstance(report, WorkerNote)]
    workers.close()


def test_a_task_may_come_back_to_the_host_that_broke_it_before():
    workers = HostWorkers(FakeCluster(nodes=1), WELCOME)
    for _ in range(3):
        workers.submit(Task(7, "any:thing", {"value": 7}))
        assert drain(workers, 1)[0] == {7: Finished(7, {"value": 7})}
    workers.close()


def test_what_a_gone_host_had_is_lost_once_and_its_node_gets_another():
    cluster = FakeCluster(nodes=2, cores=4, seconds=0.2)
    workers = HostWorkers(cluster, WELCOME)
    coming, under_way = iter(tasks(10_000)), {}
    lost, done, notes, kills = [], set(), [], 0

    def submit(task):
        under_way[task.id] = task
        workers.submit(task)

    def gone():
        return [note for note in notes if note.kind == "host lost"]

    for _ in range(16):
        submit(next(coming))
    deadline = time.monotonic() + 120
    while under_way:
        assert time.monotonic() < deadline
        for report in workers.wait(0.05):
            if isinstance(report, WorkerNote):
                notes.append(report)
            elif isinstance(report, Broken):
                assert report.reason == "lost"
                lost.append(report.task)
                workers.submit(under_way[report.task])
            else:
                assert report.task not in done
                done.add(report.task)
                del under_way[report.task]
                if len(gone()) < 3:  # neither host is ever idle before the last one is gone
                    submit(next(coming))
        if kills < 3 and len(gone()) == kills and len(workers.hosts()) == 2:
            cluster.lines["n0"].state = "gone"
            kills += 1
    assert len(gone()) == 3
    assert sum(note.details["tasks"] for note in gone()) == len(lost) > 0
    assert [node for node, _ in cluster.made].count("n0") >= 3
    joined = [note.details["host"] for note in notes if note.kind == "host joined"]
    assert sorted(joined) == list(range(1, len(joined) + 1))
    assert len(joined) >= 4
    workers.close()
    assert cluster.closed


def test_a_frozen_host_gets_nothing_more_and_is_given_up(monkeypatch):
    """No error ever comes from it: only our own clock tells."""
    monkeypatch.setattr(contacts, "PATIENCE", 0.1)
    monkeypatch.setattr(contacts, "QUIET_SECONDS", 0.3)
    monkeypatch.setattr(contacts, "LOST_SECONDS", 1.5)
    cluster = FakeCluster(nodes=2, cores=4, seconds=0.05)
    workers = HostWorkers(cluster, WELCOME)
    while len(workers.hosts()) < 2:
        workers.wait(0.05)
    assert workers.capacity == 8
    cluster.there.pop(0)  # so that it is not replaced
    cluster.lines["n0"].state = "frozen"
    for task in tasks(8):
        workers.submit(task)
    done = []
    while not any(host.quiet for host in workers.hosts()):
        done += [report for report in workers.wait(0.02) if isinstance(report, Finished)]
    assert workers.capacity == 4 + 4  # those of the other, and what the quiet one has: a driver goes on filling
    late = cluster.lines["n0"]
    found, notes = drain(workers, 8 - len(done))
    lost = [report.task for report in found.values() if isinstance(report, Broken)]
    assert "no answer for" in next(note for note in notes if note.kind == "host lost").details["why"]
    assert len(lost) == 4
    late.state = "up"  # it wakes up and tells what it found meanwhile: nobody listens
    for number in lost:
        workers.submit(Task(number, "any:thing", {"value": number}))
    assert set(drain(workers, len(lost))[0]) == set(lost)
    assert not [report for report in workers.wait(0.3) if not isinstance(report, WorkerNote)]
    workers.close()


def test_nodes_that_join_and_leave_change_the_capacity():
    cluster = FakeCluster(nodes=1, cores=5)
    workers = HostWorkers(cluster, WELCOME, threads=2)
    while workers.capacity < 2:
        workers.wait(0.05)
    cluster.there.append(Node("late", "late", 8))
    while workers.capacity < 6:
        workers.wait(0.05)
    cluster.there.pop(0)
    cluster.lines["n0"].state = "gone"
    while workers.capacity > 4:
        workers.wait(0.05)
    assert [(host.node, host.workers) for host in workers.hosts()] == [("late", 4)]
    workers.close()


def test_no_more_workers_than_asked_for():
    cluster = FakeCluster(nodes=3, cores=4)
    workers = HostWorkers(cluster, WELCOME, number=6)
    while workers.capacity < 6:
        workers.wait(0.05)
    workers.wait(0.3)
    assert sorted(number for _, number in cluster.made) == [2, 4]
    workers.close()


def test_a_node_that_differs_is_refused_and_the_others_work():
    def refuse(told):
        refuse.asked += 1
        return "it has torch 1.0, the driver has 2.0." if refuse.asked == 1 else None

    refuse.asked = 0
    cluster = FakeCluster(nodes=2)
    workers = HostWorkers(cluster, Greeting("any:thing", {}, refuse))
    for task in tasks(4):
        workers.submit(task)
    _, notes = drain(workers, 4)
    refused = [note for note in notes if note.kind == "host refused"]
    assert len(refused) == 1
    assert "cannot be used: it has torch 1.0" in refused[0].details["why"]
    assert len(workers.hosts()) == 1
    assert cluster.cut == 1
    workers.close()


def test_a_cluster_that_is_refused_as_a_whole_is_an_error():
    workers = HostWorkers(FakeCluster(nodes=2), Greeting("any:thing", {}, lambda _: "it has commit abc."))
    with pytest.raises(ValueError, match=r"the host on node \d cannot be used: it has commit abc"):
        drain(workers, 1)
    workers.close()


def test_a_driver_that_stood_still_itself_gives_nobody_up(monkeypatch):
    """After a suspended laptop wakes up, answers are there to be read before anybody is taken for gone."""
    monkeypatch.setattr(contacts, "QUIET_SECONDS", 0.5)
    monkeypatch.setattr(contacts, "LOST_SECONDS", 1.0)
    monkeypatch.setattr(hosts_module, "MOST_PER_LOOK", 0.1)
    workers = HostWorkers(FakeCluster(nodes=1), WELCOME)
    while not workers.hosts():
        workers.wait(0.05)
    workers.wait(0.1)
    time.sleep(4)
    assert not [report for report in workers.wait(0.5) if isinstance(report, WorkerNote)]
    assert workers.capacity == 4
    workers.close()
