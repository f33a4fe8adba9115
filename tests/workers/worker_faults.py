"""What a worker may be asked to do, for better and for worse. Stdlib only, so that a worker starts in milliseconds."""

import ctypes
import os
import time


def double(arguments, announce):
    announce("doubling")
    return {"value": 2 * arguments["value"]}


def describe(arguments, announce):
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return {"pid": os.getpid(), "cores": cores, "threads": os.environ.get("OMP_NUM_THREADS")}


def sleep(arguments, announce):
    time.sleep(arguments["seconds"])
    return {"value": 0}


def noisy(arguments, announce):
    os.write(1, b"a library prints to standard output\n")
    os.write(2, b'{"task": 0, "result": "forged"}\n')
    return {"value": 1}


def raise_error(arguments, announce):
    raise RuntimeError("the function has a bug")


def not_json(arguments, announce):
    return {"value": {1, 2}}


def garbage_on_the_pipe(arguments, announce):
    for pipe in range(3, 1024):  # wherever the result pipe is: a test run of hours has many files open
        try:
            os.write(pipe, b"no JSON at all\n")
        except OSError:
            continue
    time.sleep(60)


def segfault(arguments, announce):
    ctypes.string_at(0)


def hang(arguments, announce):
    announce("hanging")
    time.sleep(1000)


def step_for_ever(arguments, announce):
    step = 0
    while True:
        step += 1
        announce({"name": "hanging", "anchor": "", "rung": None, "step": step, "steps": 10})
        time.sleep(0.02)


def hang_in_native_code(arguments, announce):
    """Holds the interpreter's lock, as native code may: no Python thread of this process gets to run."""
    ctypes.PyDLL(None).sleep(1000)


def allocate_until_killed(arguments, announce):
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1) * 20_000_000))
        time.sleep(0.01)


def exit_quietly(arguments, announce):
    os._exit(0)


def describe_slowly(arguments, announce):
    time.sleep(0.3)
    return {"pid": os.getpid(), "parent": os.getppid()}
