"""Loads and runs mutants of saved functions: ``python -m tests.exporting.mutants SEED FIRST LAST FOLDER [plain]``.

The arguments, the results and the arena of a program end at a page that must not be touched, so that a program that
reads or writes beyond them ends the process with a signal. The process writes the number of each mutant before it
loads it. ``plain`` leaves LLVM's optimisations out, which takes a third less time and drops no access.
"""

from __future__ import annotations

import ctypes
import json
import math
import mmap
import resource
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import wengert as wg
from tests.exporting.mutations import PROGRAMS, Mutator, program_of
from wengert.compiler import specialisation
from wengert.compiler.llvm import object_code
from wengert.compiler.runtime import execute
from wengert.compiler.runtime.fastcall import entry
from wengert.engine.core import tree
from wengert.engine.core.errors import WengertError
from wengert.exporting.saved import SavedFunctionError, read

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
SECONDS = 5.0
"""Of the processor."""


def guarded(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array of arbitrary numbers that ends where a page that must not be touched begins."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    pages = -(-size // mmap.PAGESIZE)
    if size == 0 or size > 1 << 28:
        return np.empty(shape, dtype)
    memory = mmap.mmap(-1, (pages + 2) * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (0, pages + 1):
        if _libc.mprotect(start + page * mmap.PAGESIZE, mmap.PAGESIZE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    array = np.ndarray(shape, dtype, memory, (pages + 1) * mmap.PAGESIZE - size)
    return array


def copied(value: Any) -> Any:
    """Return an array, or a number, with its end at a guard."""
    if not isinstance(value, np.ndarray):
        return value
    array = guarded(value.shape, value.dtype)
    array[...] = value
    return array


def guard_the_runtime() -> None:
    """Have results and arenas end at guards."""

    def aligned(size: int) -> Any:
        array = guarded((-(-size // 64) * 64,), np.uint8)
        array[...] = 0xA5
        return array

    execute.aligned = entry.aligned = aligned
    execute.empty = specialisation.empty = guarded


def leave_code_plain() -> None:
    """Compile without LLVM's optimisations, but for the functions that are written to be inlined."""

    def inlined(module: Any, names: Any, machine: Any, *_: Any) -> None:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
        inliner = llvm.create_new_module_pass_manager()
        inliner.add_always_inliner_pass()
        inliner.add_global_dead_code_eliminate_pass()
        inliner.run(module, builder)

    create = llvm.Target.create_target_machine
    vars(object_code)["_optimise"] = inlined
    llvm.Target.create_target_machine = lambda self, **options: create(self, **{**options, "opt": 0})


def outcome(path: Path) -> str:
    """Load a file and call its first function; return what came of it."""
    try:
        function, saved = wg.load(path), read(path)[0]
    except SavedFunctionError:
        return "refused"
    values = [copied(x) if x.shape else x[()] for x in saved.arguments]
    values = [
        x.item() if t.weak and hasattr(x, "item") else x for x, t in zip(values, saved.types, strict=True)
    ]
    args, kwargs = tree.unflatten(saved.accepted, values)
    try:
        results = function(*args, **kwargs)
    except (
        WengertError,
        MemoryError,
        np.linalg.LinAlgError,
        ZeroDivisionError,
        FloatingPointError,
    ) as problem:
        return f"error {type(problem).__name__}: {problem}"
    leaves = [leaf for n, leaf in enumerate(tree.flatten(results)[0]) if n not in saved.fixed]
    for leaf, type_ in zip(leaves, saved.graph.output_types, strict=True):
        assert np.shape(leaf) == type_.shape, (np.shape(leaf), type_)
    return "ran"


def main(seed: int, first: int, last: int, folder: Path) -> None:
    """Go through mutants, and print how many had each outcome."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    guard_the_runtime()
    if "plain" in sys.argv:
        leave_code_plain()
    files = {name: (folder / f"{name}.wg").read_bytes() for name in PROGRAMS}
    path, found, wrong = folder / f"mutant{first}.wg", Counter[str](), dict[int, str]()
    errors = dict[int, str]()

    def too_long(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, too_long)
    with open(folder / f"place{first}", "w") as place:
        for number in range(first, last):
            place.seek(0)
            place.write(f"{number:9}")
            place.flush()
            path.write_bytes(Mutator(files[program_of(number)], seed * 10**7 + number).mutant())
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    kind = outcome(path)
            except TimeoutError:
                kind = "endless"
            except Exception as problem:  # what is wrong, not how it came about
                kind = "wrong"
                wrong[number] = f"{type(problem).__name__}: {problem}"[:400]
                if "-v" in sys.argv:
                    raise
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            found[kind.partition(":")[0]] += 1
            if kind.startswith("error"):
                errors[number] = kind[:300]
    print(json.dumps({"found": found, "wrong": wrong, "errors": errors}), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), Path(sys.argv[4]))
