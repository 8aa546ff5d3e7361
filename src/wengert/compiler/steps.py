"""The steps of the pipeline: what a pass is, and the passes before a program is looked up in the cache on disk.

A program that is found there needs no other pass: they are loaded with `pipeline` only to compile one.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from wengert.compiler.unit import Options, Unit
from wengert.engine.core.dtypes import is_complex
from wengert.engine.core.records import record
from wengert.engine.ir.graph import Graph, equations_of
from wengert.engine.nest.lowering import OnHost
from wengert.engine.passes.checks import drop_checks, merge_checks
from wengert.engine.passes.reroll.reroll_loops import reroll_loops
from wengert.engine.passes.simplify import simplify
from wengert.engine.primitive import REGISTRY

_RUNNING: dict[int, str] = {}
"""The pass that each thread runs, by the thread's number."""


def running_pass(thread: int) -> str:
    """Return the name of the pass that a thread runs; "" if it runs none."""
    return _RUNNING.get(thread, "")


@record(eq=True, slots=False)
class Pass:
    """One step of the pipeline."""

    name: str
    doc: str
    run: Callable[[Unit], Unit]
    applies: Callable[[Options], bool] = lambda options: True

    def __call__(self, unit: Unit) -> Unit:
        """Return the unit after the pass, with the time that it took."""
        start = time.perf_counter()
        _RUNNING[threading.get_ident()] = self.name
        try:
            changed = self.run(unit) if self.applies(unit.options) else unit
        finally:
            _RUNNING.pop(threading.get_ident(), None)
        return replace(changed, done=(*unit.done, (self.name, time.perf_counter() - start)))


def is_partly_on_host(graph: Graph) -> bool:
    """Return whether a graph has operations that call NumPy, where no pass writes them out."""
    return any(isinstance(REGISTRY[one.primitive].lowering, OnHost) for one, _ in equations_of(graph))


def has_complex(graph: Graph) -> bool:
    """Return whether a graph has complex values, those of inner graphs included."""
    values = itertools.chain(graph.defined(), graph.outputs)
    return any(is_complex(value.type.dtype) for value in values) or any(
        map(has_complex, itertools.chain.from_iterable(equation.graphs() for equation in graph.equations))
    )


def optimises(options: Options) -> bool:
    """Return whether operations may be changed or moved: not where the value of each is checked."""
    return not options.check


def on_graph(name: str, doc: str, run: Callable[[Graph], Graph], applies: Callable[[Options], bool]) -> Pass:
    """Return a pass that changes the graph."""
    return Pass(name, doc, lambda unit: replace(unit, graph=run(unit.graph)), applies)


def _simplified(graph: Graph) -> Graph:
    simpler = simplify(graph)
    checked = drop_checks(simpler)  # of conditions that are common subexpressions, or hold for certain
    return simpler if checked is simpler else simplify(checked)


#: The first passes, in the order in which they run.
SIMPLIFYING: tuple[Pass, ...] = (
    on_graph(
        "merge_checks",
        "check once what may raise an exception",
        merge_checks,
        lambda options: True,
    ),
    on_graph(
        "reroll_loops",
        "make a loop of equations that an unrolled loop repeats",
        reroll_loops,
        lambda options: True,
    ),
    on_graph(
        "simplify",
        "fold constants, apply exact algebra, merge common subexpressions, drop dead code and needless checks",
        _simplified,
        lambda options: True,
    ),
)


def simplified(unit: Unit) -> Unit:
    """Return a traced unit after the first passes."""
    for step in SIMPLIFYING[len(unit.done) :]:
        unit = step(unit)
    return unit
