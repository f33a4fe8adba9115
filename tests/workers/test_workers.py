import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from evonorm.workers import (
    Broken,
    Finished,
    Greeting,
    InlineWorkers,
    ProcessWorkers,
    Task,
    TimeLimits,
    WorkerNote,
    WorkerRecipe,
    child,
    create_workers,
)
from evonorm.workers.cores import Cores
from evonorm.workers.process import end_leftovers, process_start_time

RAY = pytest.param("ray", marks=pytest.mark.slow)
WELCOME = Greeting("tests.workers.worker_faults:describe", {}, lambda _: None)
KINDS = {"inline": InlineWorkers, "one process": lambda: ProcessWorkers(1), "two processes": lambda: ProcessWorkers(2)}


def ray_workers(request, number=0):
    address = request.getfixturevalue("ray_cluster").whole().address
    return create_workers(WorkerRecipe(kind="ray", number=number, address=address, pin=False), 1, greeting=WELCOME)


@pytest.fixture(params=[*KINDS, RAY])
def workers(request):
    made = ray_workers(request) if request.param == "ray" else KINDS[request.param]()
    yield made
    made.close()


@pytest.fixture(params=["process", RAY])
def process(request):
    """One worker that is another process."""
    made = ray_workers(request, 1) if request.param == "ray" else ProcessWorkers(1)
    yield made
    made.close()


def task(number, name, **arguments):
    return Task(number, f"tests.workers.worker_faults:{name}", arguments)


def collect(workers, number):
    """The first `number` results by task, whatever notes come between."""
    found = {}
    for _ in range(2000):
        for report in workers.wait(0.05):
            if not isinstance(report, WorkerNote):
                assert report.task not in found
                found[report.task] = report
        if len(found) == number:
            return found
    raise AssertionError(f"only {found} came back")


def test_every_task_comes_back_once_with_its_result(workers):
    for number in range(20):
        workers.submit(task(number, "double", value=number))
    assert collect(workers, 20) == {number: Finished(number, {"value": 2 * number}) for number in range(20)}
    assert [r for r in workers.wait(0.1) if not isinstance(r, WorkerNote)] == []


def test_what_libraries_print_is_no_result(workers):
    workers.submit(task(0, "noisy"))
    assert collect(workers, 1) == {0: Finished(0, {"value": 1})}


@pytest.mark.parametrize("name", ["raise_error", "not_json", "there_is_no_such_function"])
def test_an_error_breaks_the_task_and_nothing_else(workers, name):
    workers.submit(task(0, name))
    workers.submit(task(1, "double", value=4))
    found = collect(workers, 2)
    assert isinstance(found[0], Broken)
    assert found[0].reason in ("error", "garbage")
    assert found[1] == Finished(1, {"value": 8})


def test_an_error_tells_the_line_but_not_whose_folder(workers):
    workers.submit(task(0, "raise_error"))
    error = collect(workers, 1)[0].error
    assert 'worker_faults.py", line' in error
    assert "the function has a bug" in error
    assert str(Path(__file__).parents[2]) not in error


def test_an_unknown_module_is_named(workers):
    workers.submit(Task(0, "no_such_module_anywhere:f", {}))
    assert "no_such_module_anywhere" in collect(workers, 1)[0].error


@pytest.mark.parametrize(
    ("name", "reason", "error"),
    [
        ("segfault", "crash", "killed by SIGSEGV"),
        ("exit_quietly", "crash", "exit code 0"),
        ("garbage_on_the_pipe", "garbage", "not a message"),
    ],
)
def test_a_dead_worker_is_replaced(process, name, reason, error):
    process.submit(task(0, name))
    process.submit(task(1, "double", value=1))
    found = collect(process, 2)
    assert isinstance(found[0], Broken)
    assert (found[0].reason, error in found[0].error) == (reason, True)
    assert found[1] == Finished(1, {"value": 2})


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_is_killed_from_outside_is_replaced_and_its_task_lost(process, number):
    process.submit(task(0, "describe"))
    pid = collect(process, 1)[0].result["pid"]
    process.submit(task(0, "sleep", seconds=1000))
    process.wait(0.2)
    os.kill(pid, number)
    found = collect(process, 1)
    assert found[0].reason == "lost"
    assert number.name in found[0].error


@pytest.mark.parametrize("name", ["hang", "hang_in_native_code"])
def test_a_hanging_task_is_cut_at_its_time_limit(process, name):
    process.submit(task(0, name))
    process.time_limits = TimeLimits(otherwise=0.2)  # also while it runs
    process.submit(task(1, "double", value=1))
    found = collect(process, 1)
    assert found[0].reason == "time"
    process.time_limits = TimeLimits()
    assert collect(process, 1) == {1: Finished(1, {"value": 2})}


def test_a_stage_has_its_own_clock(process):
    """Announcing a stage starts its clock anew: the limit before the first stage no longer counts."""
    process.time_limits = TimeLimits(((("hanging", "", None), 0.1),), otherwise=30.0)
    process.submit(task(0, "hang"))
    assert "in stage hanging" in collect(process, 1)[0].error


def test_steps_of_a_stage_do_not_wind_its_clock_back(process):
    process.time_limits = TimeLimits(((("hanging", "", None), 0.3),), otherwise=60.0)
    process.submit(task(0, "step_for_ever"))
    assert collect(process, 1)[0].reason == "time"


def test_a_machine_that_stood_still_does_not_count_against_a_task():
    """A suspended laptop, a paused virtual machine, a disk that hangs: the driver was not there to see either."""
    process = ProcessWorkers(1)
    process.time_limits = TimeLimits(otherwise=2.0)
    process.submit(task(0, "hang"))
    process.wait(0.5)
    time.sleep(3)
    assert not [report for report in process.wait(0.0) if isinstance(report, Broken)]
    assert collect(process, 1)[0].reason == "time"
    process.close()


def test_a_worker_that_eats_the_memory_is_ended():
    workers = ProcessWorkers(1, memory_gb=0.25)
    try:
        workers.submit(task(0, "allocate_until_killed"))
        workers.submit(task(1, "double", value=1))
        found = collect(workers, 2)
    finally:
        workers.close()
    assert found[0].reason == "memory"
    assert found[1] == Finished(1, {"value": 2})


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system cannot pin")
def test_workers_are_pinned_within_what_the_driver_was_given():
    given = sorted(os.sched_getaffinity(0))
    workers = ProcessWorkers(2, threads=1)
    try:
        for number in range(2):
            workers.submit(task(number, "sleep", seconds=0.3))  # one for each worker
        for number in range(2, 4):
            workers.submit(task(number, "describe"))
        found = collect(workers, 4)
    finally:
        workers.close()
    cores = sorted(found[number].result["cores"][0] for number in (2, 3))
    assert all(len(found[number].result["cores"]) == 1 for number in (2, 3))
    assert set(cores) <= set(given)
    assert found[2].result["threads"] == "1"
    assert len({found[n].result["pid"] for n in (2, 3)}) == 1 or len(given) == 1 or len(set(cores)) == 2


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system cannot pin")
def test_drivers_side_by_side_take_different_cores_while_there_are_any(monkeypatch):
    monkeypatch.setattr("evonorm.workers.cores.NAME", f"evonorm test {os.getpid()}")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3, 5, 8})
    first, second = Cores(1), Cores(2)
    assert [first.order[0], *second.order[:2]] == [3, 5, 8]
    assert Cores(2).order == [3, 5, 8]  # none is free, so all are shared
    second.release()
    third = Cores(1)
    assert third.order == [5, 3, 8]
    for each in (first, third):
        each.release()


def test_a_worker_goes_where_no_other_driver_is(monkeypatch):
    monkeypatch.setattr("evonorm.workers.cores.NAME", f"evonorm test {os.getpid()}")
    drivers = [ProcessWorkers(1), ProcessWorkers(1)]
    try:
        for workers in drivers:
            workers.submit(task(0, "describe"))
        cores = [collect(workers, 1)[0].result["cores"] for workers in drivers]
    finally:
        for workers in drivers:
            workers.close()
    if hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1:
        assert len({*cores[0], *cores[1]}) == 2


def test_without_pinning_a_worker_may_use_every_core():
    workers = ProcessWorkers(1, threads=2, pin=False)
    try:
        workers.submit(task(0, "describe"))
        found = collect(workers, 1)[0].result
    finally:
        workers.close()
    assert found["threads"] == "2"
    if hasattr(os, "sched_getaffinity"):
        assert found["cores"] == sorted(os.sched_getaffinity(0))


@pytest.mark.parametrize("name", ["sleep", "hang_in_native_code", None])
def test_workers_do_not_outlive_a_killed_driver(name, tmp_path):
    """Idle, waiting, or deep in native code: gone soon after the driver's SIGKILL."""
    script = textwrap.dedent(f"""
        import sys, time
        sys.path[:0] = {sys.path!r}
        from evonorm.workers import ProcessWorkers, Task
        workers = ProcessWorkers(2)
        for number in range(2 if {name!r} else 0):
            workers.submit(Task(number, "tests.workers.worker_faults:{name}", {{"seconds": 1000}}))
        workers.wait(0.3)
        print(*workers.pids(), flush=True)
        time.sleep(1000)
    """)
    driver = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in driver.stdout.readline().split()]
    started = {pid: process_start_time(pid) for pid in pids}
    assert len(pids) == 2
    driver.kill()
    driver.wait()
    driver.stdout.close()
    deadline = time.monotonic() + 60  # on an overloaded machine the kernel itself takes a moment
    while any(started[pid] and process_start_time(pid) == started[pid] for pid in pids):
        assert time.monotonic() < deadline, "a worker outlived its driver"
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the pipe's end tells")
def test_a_worker_that_starts_after_its_drivers_death_ends_too():
    """The kernel tells of a death that comes; one that was there before must be looked for."""
    ours, theirs = os.pipe()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    settings = json.dumps({"driver": dead.pid, "cores": [], "path": sys.path})
    command = [sys.executable, "-P", child.__file__, str(theirs), settings]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(theirs,))  # its task pipe stays open
    try:
        assert worker.wait(timeout=60) == 1
        os.close(theirs)
        assert os.read(ours, 100) == b""
    finally:
        worker.kill()
        worker.stdin.close()
        os.close(ours)


def test_leftover_processes_are_ended_and_others_left_alone():
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    try:
        known = [(left.pid, process_start_time(left.pid)), (other.pid, "another start"), (2**22 + 1, "gone")]
        assert end_leftovers(known, seconds=0.3) == [left.pid]
        assert left.wait(timeout=5) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for each in (left, other):
            each.kill()
            each.wait()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"number": 0}, "number must be at least 1, got 0"),
        ({"slowest": 0.0}, "slowest must be above 0"),
        ({"memory_gb": -1.0}, "memory_gb must be above 0"),
    ],
)
def test_impossible_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        WorkerRecipe(**changes)


def test_settings_choose_the_kind(tmp_path):
    assert isinstance(create_workers(WorkerRecipe(kind="inline"), 1, tmp_path / "log"), InlineWorkers)
    workers = create_workers(WorkerRecipe(number=2), 1, tmp_path / "log")
    assert (type(workers), workers.capacity) == (ProcessWorkers, 2)
    workers.submit(task(0, "noisy"))
    collect(workers, 1)
    workers.close()
    assert "a library prints" in Path(tmp_path / "log").read_text()
