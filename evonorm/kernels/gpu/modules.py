"""Triton, found once and asked nothing before it is needed; and generated text as functions of it."""

import linecache
import os
from functools import lru_cache
from itertools import count
from types import ModuleType
from typing import Any

from evonorm.kernels.gpu.program import Program

OLDEST = (3, 3)  # of Triton: tl.sum with keep_dims, knobs


@lru_cache(maxsize=1)
def find_triton() -> tuple[ModuleType | None, str]:
    """Triton, or None and why not."""
    try:
        import triton
    except ImportError:
        return None, "triton is not installed (torch for CUDA and ROCm brings it on Linux; pip install triton)"
    except Exception as error:  # a broken installation must not break a layer that eager can run
        return None, f"triton cannot be imported ({error})"
    version = tuple(int(part) for part in triton.__version__.split(".")[:2])
    if version < OLDEST:
        return None, f"triton {triton.__version__} is too old; it takes {'.'.join(map(str, OLDEST))} or newer"
    return triton, ""


def interprets() -> bool:
    """Whether Triton's interpreter runs kernels in place of a GPU; it decides that when it is imported."""
    return os.environ.get("TRITON_INTERPRET") == "1" and find_triton()[0] is not None


def load_kernels(program: Program) -> tuple[dict[str, Any], str]:
    """The functions of the program's text by name, and the name under which `linecache` has that text.

    Triton reads a function's source, and so does a traceback; whoever owns the functions takes it out again.
    """
    file = f"<evonorm {next(_files)}: {program.title}>"
    linecache.cache[file] = (len(program.text), None, program.text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": "evonorm_generated"}
    exec(compile(program.text, file, "exec"), namespace)  # noqa: S102 (made of a graph; no text of others is in it)
    return {each.name: namespace[each.name] for each in (*program.forward, *program.backward)}, file


_files = count()
