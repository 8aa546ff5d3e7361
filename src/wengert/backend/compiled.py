"""A graph compiled: through the passes, or from the cache of earlier processes."""

from __future__ import annotations

import functools
import json
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert._version import __version__
from wengert.backend import cache, entry, team
from wengert.backend.adding import add_in_place
from wengert.backend.blocks import block_batches
from wengert.backend.chosen import ask_what_was_chosen
from wengert.backend.coalesce import coalesce
from wengert.backend.compilation import Compilation
from wengert.backend.entry_ir import entry_ir
from wengert.backend.entry_table import Signature
from wengert.backend.execute import Executable, Interface
from wengert.backend.fuse import fuse
from wengert.backend.lazy import lazy
from wengert.backend.lowering import lower
from wengert.backend.module import Module, build
from wengert.backend.narrow import narrow
from wengert.backend.native import load
from wengert.backend.partial import split_reductions
from wengert.backend.parts import Take
from wengert.backend.pieces import cut_pieces
from wengert.backend.readers import readers_first
from wengert.backend.sink import sink_sums
from wengert.backend.tally import tally
from wengert.backend.target import Target, host
from wengert.backend.watch import watch
from wengert.backend.writing import calls_numpy, write_out
from wengert.errors import ArgumentError, message
from wengert.ir.graph import Graph
from wengert.nest.nest import Program

#: What compiled programs look out for.
VARIABLE = "WENGERT_CHECK"


def checks_nan() -> bool:
    """Tell whether ``WENGERT_CHECK`` asks to stop at the operation that made the first NaN."""
    text = os.environ.get(VARIABLE, "").strip()
    if text not in ("", "nan"):
        raise ArgumentError(message(VARIABLE, "what can be looked out for is nan", repr(text)))
    return text == "nan"


class Options(NamedTuple):
    """How a graph is compiled."""

    flags: str = ""
    """LLVM's flags on floating-point arithmetic: what may be rewritten."""
    check_nan: bool = False
    """Stop at the operation that made the first NaN."""


@dataclass(frozen=True, eq=False)
class Compiled:
    """A graph on its way to native code; each stage is made when it is first asked for.

    Args:
        graph: the simplified graph.
        places: for a result, the position of the argument in whose place it is written.
        options: what may be rewritten and what is checked.
    """

    graph: Graph
    places: Mapping[int, int]
    options: Options
    target: Target
    signature: Signature | None = None

    @classmethod
    def of(
        cls, graph: Graph, places: Mapping[int, int], options: Options, signature: Signature | None = None
    ) -> Compiled:
        """Return the graph to be compiled for this processor."""
        return cls(graph, places, options, host(), signature)

    @lazy
    def program(self) -> Program:
        """The nests: lowered, and unless each operation is to be checked, fused and put in the best order."""
        if self.options.check_nan:
            return watch(lower(self.graph, self.places))
        graph = add_in_place(write_out(self.graph))
        fused = fuse(readers_first(lower(graph, self.places)))
        program = narrow(fused, fast=bool(self.options.flags))
        # What is smaller now may run through the same points as others, and be one nest with them.
        program = program if program is fused else fuse(program)
        program = ask_what_was_chosen(program)
        program = block_batches(sink_sums(program, self.target), self.target)
        return split_reductions(tally(cut_pieces(coalesce(program))))

    @lazy
    def module(self) -> Module:
        """The program in LLVM's language."""
        return self._built()

    def _built(self, take: Take | None = None) -> Module:
        is_watched = self.options.check_nan
        return build(self.program, self.target, self.options.flags, is_watched=is_watched, take=take)

    def _code(self) -> tuple[Interface, bytes]:
        """Compile the program, with the entry that Python calls if it can have one."""
        with Compilation(self.target, team.symbols) as compilation:
            module = self._built(compilation.add)
            last = module.text
            if self.signature is not None and entry.eligible(self.signature, module):
                last += entry_ir(self.signature, module.interface)
            return module.interface, compilation.finish(last)

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
        """The native function, and whether it was on disk."""
        name = self._name()
        stored = cache.default().get(name) if name else None
        found = _unpacked(stored) if stored else None
        if found is None:
            found = self._code()
            if name and not found[0].hosts:
                cache.default().put(name, _packed(*found))
        interface, code = found
        return Executable(interface, load(code, team.symbols())), stored is not None

    def _name(self) -> str:
        """Return the name in the cache; an empty one for programs that call back into this process."""
        if not _is_known(self.graph) or calls_numpy(self.graph, written=not self.options.check_nan):
            return ""
        parts = (_compiler(), self.target.identity, repr(self.options), repr(sorted(self.places.items())))
        parts = (*parts, entry.identity(self.signature) if self.signature else "")
        return cache.key(*parts, self.graph.text(full=True))


@functools.cache
def _compiler() -> str:
    """Return what tells this compiler from others: its version, and the age of its sources, for who works on it."""
    folder = Path(__file__).parents[1]
    facts = ((str(path.relative_to(folder)), path.stat()) for path in sorted(folder.glob("*/**/*.py")))
    ages = " ".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in facts)
    return cache.key(__version__, ages)


def _is_known(graph: Graph) -> bool:
    """Tell whether the graph says all that is compiled; a function with a rule may be traced only as it is lowered."""
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
    for name in ("inputs", "outputs", "places"):
        facts[name] = tuple(facts[name])
    facts["hosts"] = ()
    return Interface(**facts), entry[position:]
