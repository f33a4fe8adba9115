"""Builds the native kernel with nothing but setuptools and a C++ compiler; everything else stands in pyproject.toml.

The engine is compiled once per instruction set and the library picks one at run time. It uses Python's stable
interface and old symbols of Linux (`native/old_linux.h`), so one wheel serves every Python from 3.11 on and every Linux
that torch runs on (`make wheel`). A machine without a compiler gets the package without the library: layers then run in
eager mode and say so once. So does a pure wheel for other systems, which EVONORM_PURE=1 asks for.
"""

import os
import platform
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FLAGS = [
    "-std=c++17",
    "-O3",
    "-g0",
    "-fvisibility=hidden",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    *("-include", "native/old_linux.h"),
]
WARNINGS = ["-Wall", "-Wextra", "-Wno-psabi", "-Wno-maybe-uninitialized", "-Wno-uninitialized", "-Wno-array-bounds"]
AVX2 = ["-mavx2", "-mfma", "-mf16c"]
AVX512 = [*AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"]
ENGINES = {"engine_portable.cpp": [], "engine_avx2.cpp": AVX2, "engine_avx512.cpp": AVX512}
SOURCES = [
    "engine_avx2.cpp",
    "engine_avx512.cpp",
    "engine_portable.cpp",
    "machine_code.cpp",
    "old_linux.cpp",
    "python_module.cpp",
    "program.cpp",
    "dispatch.cpp",
]
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")  # free-threaded Python has no stable interface
PYTHON = ["-DPy_LIMITED_API=0x030B0000"] if STABLE else []


class BuildKernel(build_ext):
    """Compiles every source with its own flags, at the same time; without OpenMP where the compiler lacks it."""

    def build_extension(self, ext: Extension) -> None:
        try:
            self.build_with(ext, ["-fopenmp"])
        except Exception:  # the compilers' error types differ by platform; the second try reports its own
            self.build_with(ext, [])

    def build_with(self, ext: Extension, openmp: list[str]) -> None:
        def compile_one(source: str) -> list[str]:
            x86 = platform.machine().lower() in ("x86_64", "amd64")
            engine = ENGINES.get(Path(source).name, []) if x86 else []
            return self.compiler.compile(
                [source],
                output_dir=self.build_temp,
                include_dirs=ext.include_dirs,
                extra_postargs=[*FLAGS, *WARNINGS, *PYTHON, *engine, *openmp],
                depends=ext.depends,
            )

        with ThreadPoolExecutor() as pool:
            objects = [each for made in pool.map(compile_one, ext.sources) for each in made]
        library = Path(self.get_ext_fullpath(ext.name))
        for older in library.parent.glob("_native*.so"):  # of another name Python might find it first
            older.unlink()
        self.compiler.link_shared_object(objects, str(library), extra_postargs=openmp, target_lang="c++")


KERNEL = Extension(
    "evonorm.kernels.cpu._native",
    sources=[f"native/{name}" for name in SOURCES],
    depends=sorted(str(path) for pattern in ("*.h", "*.def") for path in Path("native").glob(pattern)),
    language="c++",
    optional=True,
    py_limited_api=STABLE,
)
setup(
    ext_modules=[] if os.environ.get("EVONORM_PURE") else [KERNEL],
    cmdclass={"build_ext": BuildKernel},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
