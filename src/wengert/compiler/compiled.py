"""A graph compiled: by the passes and LLVM, or loaded from the cache of earlier processes."""

from __future__ import annotations

import functools
import json
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert._version import __version__
from wengert.compiler.codegen.interface import SERIAL, Interface, symbol
from wengert.compiler.llvm import disk_cache
from wengert.compiler.llvm.host import identity
from wengert.compiler.llvm.object_code import Library, compile_module, load
from wengert.compiler.llvm.parallel import Compilation
from wengert.compiler.llvm.recent import RECENT
from wengert.compiler.runtime.execute import Executable
from wengert.compiler.runtime.fastcall import entry
from wengert.compiler.runtime.fastcall.entry_code import Signature, entry_ir
from wengert.compiler.runtime.threads import serial_blas, team
from wengert.compiler.steps import is_partly_on_host
from wengert.compiler.unit import Options, Unit
from wengert.engine.core.float_classes import asked
from wengert.engine.core.lazy import lazy
from wengert.engine.ir.graph import Graph
from wengert.engine.kernels import lapack
from wengert.engine.machine.target import Target
from wengert.engine.nest.nest import Program

if TYPE_CHECKING:
    from wengert.compiler.codegen.module import Module
    from wengert.compiler.codegen.module_builder import Take


def checked(options: Options) -> Options:
    """Return the options with the checks for which ``WENGERT_CHECK`` asks.

    A program that is checked for subnormal numbers makes them.
    """
    check = asked()
    flush = options.flush_subnormals and check != "subnormal"
    return options._replace(check=check, flush_subnormals=flush)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A graph compiled step by step; each step runs when its result is first asked for.

    The ``signature`` is that of the entry that Python calls, if the program can have one.
    """

    unit: Unit
    signature: Signature | None = None

    @property
    def target(self) -> Target:
        """The processor."""
        return self.unit.target

    @lazy
    def lowered(self) -> Unit:
        """The program as nests."""
        from wengert.compiler.pipeline import LOWERED, advance  # a program from the disk needs no pass

        return advance(self.unit, LOWERED)

    @property
    def program(self) -> Program:
        """The nests, which have no layouts yet."""
        return self.lowered.program

    @lazy
    def scheduled(self) -> Unit:
        """The program as scheduled nests."""
        from wengert.compiler.pipeline import SCHEDULED, advance

        return advance(self.lowered, SCHEDULED)

    @lazy
    def module(self) -> Module:
        """The program as LLVM IR."""
        return self._built()

    def bytes(self, threads: int) -> int:
        """Return the size of the arena for a number of threads.

        Only a private part of each thread depends on whether threads share work, which the module knows.
        """
        plan = self.scheduled.arena
        return self.module.bytes(threads) if plan.private else plan.size

    def _built(self, take: Take | None = None) -> Module:
        from wengert.compiler.codegen.module import build

        unit = self.scheduled
        return build(
            unit.program,
            unit.layouts,
            unit.arena,
            unit.schedules,
            unit.target,
            unit.options.flags,
            take,
            flush_subnormals=unit.options.flush_subnormals,
        )

    def _code(self) -> tuple[Interface, bytes]:
        """Compile the program."""
        with Compilation(self.target, _symbols) as compilation:
            module = self._built(compilation.add)
            kind = entry.kind(self.signature, module) if self.signature is not None else ""
            return module.interface._replace(entry=kind), compilation.finish(module.text)

    @lazy
    def entry_library(self) -> Library | None:
        """The entry that Python calls, if the program can have one.

        It takes as long to compile as a small program: only programs that are called often have one.
        """
        interface = self.executable.interface
        if self.signature is None or not interface.entry or not entry.supported():
            return None
        text = entry_ir(self.signature, interface, interface.entry == "polling")
        program = self._name()
        name = disk_cache.key(program, "entry") if program else ""
        code = disk_cache.default().get(name) if name else None
        if code is None:
            compiled = functools.partial(compile_module, text, self.target, ("main",))
            code = RECENT.code(text, self.target, compiled)
            if name:
                disk_cache.default().put(name, code)
        return load(code, {"main": self.executable.address})

    @lazy
    def executable(self) -> Executable:
        """The native function."""
        return self._loaded[0]

    @property
    def was_stored(self) -> bool:
        """Whether an earlier process had compiled it."""
        return self._loaded[1]

    @lazy
    def _loaded(self) -> tuple[Executable, bool]:
        """The native function, and whether it was on disk. The nests, which are larger, go."""
        name = self._name()
        stored = disk_cache.default().get(name) if name else None
        compiled = _unpacked(stored) if stored else None
        if compiled is None:
            compiled = self._code()
            vars(self).pop("lowered", None)
            vars(self).pop("scheduled", None)
            if name and not compiled[0].hosts:
                disk_cache.default().put(name, _packed(*compiled))
        interface, code = compiled
        routines = {symbol(name): lapack.address(name) for name in interface.routines}
        around = serial_blas.symbols() if routines else {}
        shared = team.symbols() if interface.parallel else {}
        return Executable(interface, load(code, shared | around | routines)), stored is not None

    def _name(self) -> str:
        """Return the name in the cache; an empty one for programs that call back into this process."""
        if not _is_known(self.unit.graph) or _calls_numpy(self.unit):
            return ""
        parts = (
            _compiler(),
            identity(self.target),
            repr(self.unit.options),
            repr(sorted(self.unit.places.items())),
        )
        parts = (*parts, entry.identity(self.signature) if self.signature else "")
        return disk_cache.key(*parts, self.unit.graph.text(full=True))


_SOURCES = (
    "engine",
    *("compiler/llvm", "compiler/mathlib", "compiler/scalars", "compiler/passes"),
    *("compiler/schedule", "compiler/codegen", "compiler/runtime/fastcall", "compiler/runtime/threads"),
    *(
        "compiler/compiled.py",
        "compiler/linear_algebra.py",
        "compiler/pipeline.py",
        "compiler/steps.py",
        "compiler/unit.py",
    ),
)
"""The folders and files on which the code for a given graph depends."""


def _sources(package: Path) -> dict[str, os.stat_result]:
    """Return the files on which the code for a given graph depends, relative to the package, and what is known of them.

    Each process asks for them, which takes twice as long with `os.walk`, and eight times with `pathlib`.
    """
    start = len(os.fspath(package)) + 1
    places = [os.path.join(package, place) for place in _SOURCES]
    found = {place[start:]: os.stat(place) for place in places if place.endswith(".py")}
    folders = [place for place in places if not place.endswith(".py")]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if not entry.is_dir():
                    found[entry.path[start:]] = entry.stat()
                elif entry.name != "__pycache__":
                    folders.append(entry.path)
    return found


def _symbols() -> set[str]:
    """Return the names of the functions that programs call."""
    return {*team.NAMES, *SERIAL, *map(symbol, lapack.loaded_names())}


@functools.cache
def _compiler(package: Path = Path(__file__).parents[1]) -> str:
    """Return a key of this compiler: its version, and for developers the sizes and times of its source files."""
    facts = sorted(_sources(package).items())
    ages = " ".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in facts)
    return disk_cache.key(__version__, ages)


def _calls_numpy(unit: Unit) -> bool:
    """Return whether operations are left to NumPy."""
    if not is_partly_on_host(unit.graph):
        return False
    from wengert.compiler.linear_algebra import calls_numpy  # few programs need it

    return calls_numpy(unit.graph, written=not unit.options.check)


def _is_known(graph: Graph) -> bool:
    """Return whether the graph holds all that is compiled; lowering may trace a function with a custom rule."""
    return all(
        equation.params.get("graph", graph) is not None and all(map(_is_known, equation.graphs()))
        for equation in graph.equations
    )


def _packed(interface: Interface, code: bytes) -> bytes:
    """Return an entry of the cache: the facts as JSON, the constants, the object code."""
    arrays = [value for _, value in interface.constants]
    facts = {
        **interface._asdict(),
        "hosts": None,
        "constants": [[slot, value.dtype.str, list(value.shape)] for slot, value in interface.constants],
        "sizes": [value.nbytes for value in arrays],
    }
    head = json.dumps(facts).encode()
    return b"".join([struct.pack("<Q", len(head)), head, *(value.tobytes() for value in arrays), code])


def _unpacked(entry: bytes) -> tuple[Interface, bytes]:
    (length,) = struct.unpack_from("<Q", entry)
    facts: Any = json.loads(entry[8 : 8 + length])
    position = 8 + length
    constants: list[tuple[int, Any]] = []
    for (slot, dtype, shape), size in zip(facts["constants"], facts.pop("sizes"), strict=True):
        raw = entry[position : position + size]
        constants.append((slot, np.frombuffer(raw, np.dtype(dtype)).reshape(shape)))
        position += size
    facts["constants"] = tuple(constants)
    for name in ("inputs", "outputs", "places", "routines"):
        facts[name] = tuple(facts[name])
    facts["hosts"] = ()
    return Interface(**facts), entry[position:]
