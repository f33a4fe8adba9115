"""The host without a network: sessions, acknowledgement, calls that come twice, late or not at all."""

import os
import queue
import threading
import time
from pathlib import Path

import pytest

from evonorm.workers import Broken, Finished, HostState, ProcessWorkers, Task, TimeLimits, WorkerNote
from evonorm.workers.exchange import Answer, Call
from evonorm.workers.host import Host


class StubWorkers:
    """Ends tasks when the test says so."""

    made: list["StubWorkers"]

    def __init__(self, made):
        self.capacity, self.time_limits = 4, TimeLimits()
        self.tasks, self.reports, self.closed = [], queue.SimpleQueue(), False
        made.append(self)

    def submit(self, task):
        self.tasks.append(task)

    def wait(self, seconds):
        try:
            report = self.reports.get(timeout=seconds)
        except queue.Empty:
            return []
        return [] if report is None else [report]

    def wake(self):
        self.reports.put(None)

    def hosts(self) -> list[HostState]:
        return []

    def close(self):
        self.closed = True


@pytest.fixture
def made():
    return []


@pytest.fixture
def host(made):
    host = Host(lambda: StubWorkers(made), orphaned=lambda: None)
    yield host
    host.close()
    assert all(each.closed for each in made)


def say(host, session=1, acknowledged=0, tasks=(), **rest):
    tasks = tuple(Task(number, "module:function", {"value": number}) for number in tasks)
    return Answer.from_text(host.exchange(Call(session, acknowledged, tasks, **rest).to_text()))


def until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_calls_and_answers_survive_the_line():
    call = Call(7, 3, (Task(1, "m:f", {"a": [1, None]}),), TimeLimits(((("rung", "wide", 2), 0.5),), 3.0), 1.5, 0.02)
    assert Call.from_text(call.to_text()) == call
    reports = (Finished(1, {"a": 1}), Broken(2, "lost", "gone"), WorkerNote("stage", {"task": 1, "stage": {}}))
    answer = Answer(4, reports, None)
    assert Answer.from_text(answer.to_text()) == answer
    assert Call.from_text(Call(1).to_text()) == Call(1)


def test_a_report_is_told_until_it_is_acknowledged(host, made):
    say(host, tasks=[1, 2])
    until(lambda: len(made[0].tasks) == 2)
    made[0].reports.put(Finished(1, "one"))
    first = say(host, patience=20)
    assert first == Answer(1, (Finished(1, "one"),))
    assert say(host) == first  # the answer was lost on its way: nothing else is
    made[0].reports.put(Finished(2, "two"))
    until(lambda: len(say(host).reports) == 2)
    assert say(host, acknowledged=1) == Answer(2, (Finished(2, "two"),))
    assert say(host, acknowledged=2) == Answer(3, ())
    assert say(host, acknowledged=1) == Answer(3, ())  # a late call brings nothing back


def test_a_task_that_comes_twice_or_late_is_run_once(host, made):
    say(host, tasks=[2])
    say(host, tasks=[1, 2])
    say(host, tasks=[1])
    say(host, tasks=[3, 1])
    until(lambda: len(made[0].tasks) >= 3)
    assert [task.id for task in made[0].tasks] == [2, 1, 3]


def test_a_call_waits_for_news_and_no_longer(host, made):
    say(host, tasks=[1])
    answers = []
    caller = threading.Thread(target=lambda: answers.append(say(host, patience=60)))
    caller.start()
    time.sleep(0.05)
    assert not answers
    assert say(host, tasks=[2]) == Answer(1, ())  # another call is not held up by it
    made[0].reports.put(Broken(1, "time", "too long"))
    caller.join(timeout=20)
    assert answers == [Answer(1, (Broken(1, "time", "too long"),))]


def test_limits_reach_the_workers_also_while_a_task_runs(host, made):
    say(host, tasks=[1])
    limits = TimeLimits(((("training", "wide", None), 2.0),), 9.0)
    say(host, limits=limits)
    until(lambda: made[0].time_limits == limits)
    say(host, tasks=[2])
    until(lambda: len(made[0].tasks) == 2)
    assert made[0].time_limits == limits


def test_a_new_driver_takes_over_and_the_old_one_is_told(host, made):
    say(host, session=5, tasks=[1])
    until(lambda: made[0].tasks)
    waiting = []
    caller = threading.Thread(target=lambda: waiting.append(say(host, session=5, patience=60)))
    caller.start()
    assert say(host, session=6, tasks=[1]) == Answer(1, ())
    caller.join(timeout=20)
    assert "session 6 has this host" in waiting[0].refused
    until(lambda: len(made) == 2 and made[1].tasks)
    assert made[0].closed
    made[0].reports.put(Finished(1, "for the old one"))
    made[1].reports.put(Finished(1, "for the new one"))
    assert say(host, session=6, patience=20) == Answer(1, (Finished(1, "for the new one"),))
    assert say(host, session=5, tasks=[2]).refused
    assert len(made[1].tasks) == 1


def test_a_host_without_a_driver_ends_itself():
    gone = threading.Event()
    host = Host(lambda: StubWorkers([]), orphaned=gone.set, alone_seconds=0.3)
    for _ in range(5):
        say(host)
        assert not gone.wait(0.1)
    assert gone.wait(20)
    host.close()


def test_workers_that_cannot_be_made_are_told():
    def fail():
        raise OSError("no more processes")

    host = Host(fail)
    until(lambda: say(host).refused)
    assert "no more processes" in say(host, patience=60).refused


def test_processes_live_as_long_as_the_host_and_not_as_the_thread_of_a_call():
    """The kernel ends a child with the thread that forked it."""
    host = Host(lambda: ProcessWorkers(1))
    task = Task(1, "tests.workers.worker_faults:describe", {})
    sleep = Task(2, "tests.workers.worker_faults:sleep", {"seconds": 0.3})
    threads = [threading.Thread(target=lambda t=t: host.exchange(Call(1, 0, (t,)).to_text())) for t in (task, sleep)]
    for thread in threads:
        thread.start()
        thread.join()
    until(lambda: len(say(host).reports) == 2)
    found = {report.task: report for report in say(host).reports}
    assert found[2] == Finished(2, {"value": 0})
    pid = found[1].result["pid"]
    os.kill(pid, 0)
    host.close()
    until(lambda: not Path(f"/proc/{pid}").exists())
