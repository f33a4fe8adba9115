"""What runs inside a worker process: reads tasks as JSON lines, writes results as JSON lines.

Started as a plain script so that nothing is imported before cores and threads are set. It must not outlive the driver:
a thread ends the process at the end of the task pipe, and on Linux the kernel kills it when the driver dies.
"""

import contextlib
import ctypes
import importlib
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

PR_SET_PDEATHSIG = 1


def load_function(dotted: str) -> Callable[..., Any]:
    """The function named `package.module:function`."""
    module, _, name = dotted.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def main() -> None:
    """Arguments: the file descriptor for results, then JSON with `driver` (its pid), `cores` and `path`."""
    results, settings = int(sys.argv[1]), json.loads(sys.argv[2])
    end_with_the_driver(settings["driver"])
    with contextlib.suppress(OSError, AttributeError):
        if settings["cores"]:
            os.sched_setaffinity(0, settings["cores"])
    sys.path[:] = settings["path"]
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=read_tasks, args=(tasks,), daemon=True).start()
    send(results, {"ready": os.getpid()})
    while True:
        run(json.loads(tasks.get()), results)


def end_with_the_driver(driver: int) -> None:
    """Asks the kernel for SIGKILL at the driver's death, and to be the first to go when memory runs out."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != driver:  # it died before the kernel was asked, and will not die again
            os._exit(1)
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 (quick start)
            file.write("1000")


def read_tasks(tasks: "queue.SimpleQueue[bytes]") -> None:
    """Ends the process at once when the driver's end of the pipe is gone, also while a task computes."""
    for line in sys.stdin.buffer:
        tasks.put(line)
    os._exit(0)


def run(task: dict[str, Any], results: int) -> None:
    try:
        function = load_function(task["function"])
        result = function(
            task["arguments"], lambda stage: send(results, {"task": task["id"], "stage": as_stage(stage)})
        )
        answer = json.dumps({"task": task["id"], "result": result})
    except Exception:
        answer = json.dumps({"task": task["id"], "error": what_was_raised()})
    write(results, answer)


def as_stage(stage: Any) -> dict[str, Any]:
    """What a task announces, as an object."""
    return stage if isinstance(stage, dict) else {"name": str(stage)}


def what_was_raised() -> str:
    """The traceback's last frames, files named as from the folder they are imported from: journals are passed on."""
    text = traceback.format_exc(limit=-5)
    home = __file__.rpartition(f"{os.sep}evonorm{os.sep}")[0]  # not in the path if installed to be edited
    for folder in sorted({home, *sys.path}, key=len, reverse=True):
        text = text.replace(f'File "{folder}{os.sep}', 'File "')
    return text


def send(results: int, message: dict[str, Any]) -> None:
    write(results, json.dumps(message))


def write(results: int, line: str) -> None:
    rest = memoryview(line.encode() + b"\n")
    while rest:
        rest = rest[os.write(results, rest) :]


if __name__ == "__main__":
    main()
