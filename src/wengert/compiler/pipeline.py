"""The pipeline: one ordered list of passes, from the traced graph to a scheduled program.

A pass is an object with a name, one line of documentation and a function. `codegen` writes the result as LLVM IR.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace

from wengert.compiler.passes.add_in_place import add_in_place
from wengert.compiler.passes.anti_dependences import order_anti_dependences
from wengert.compiler.passes.block_batches import block_batches
from wengert.compiler.passes.carry_elements import carry_elements
from wengert.compiler.passes.check_once import check_once
from wengert.compiler.passes.coalesce import coalesce, coalesce_loops
from wengert.compiler.passes.fuse import fuse
from wengert.compiler.passes.fuse_map_reduce import fuse_map_reduce
from wengert.compiler.passes.limit_copies import limit_copies
from wengert.compiler.passes.lower import lower
from wengert.compiler.passes.narrow import narrow
from wengert.compiler.passes.pad_borders import pad_borders
from wengert.compiler.passes.peel_turns import peel_turns
from wengert.compiler.passes.recover_predicates import recover_predicates
from wengert.compiler.passes.sink_sums import sink_sums
from wengert.compiler.passes.split_index_sets import split_index_sets
from wengert.compiler.passes.split_reductions import split_reductions
from wengert.compiler.passes.spread_loops import spread_loops
from wengert.compiler.passes.stack_in_place import stack_in_place
from wengert.compiler.passes.turn_upwards import turn_upwards
from wengert.compiler.passes.value_checks import add_value_checks
from wengert.compiler.passes.verify import Verifier
from wengert.compiler.passes.write_in_place import write_in_place
from wengert.compiler.schedule.arena import plan
from wengert.compiler.schedule.fuse_updates import fuse_updates
from wengert.compiler.schedule.layout import choose_layouts
from wengert.compiler.schedule.pack_operands import pack_operands
from wengert.compiler.schedule.plan_sorts import plan_sorts
from wengert.compiler.schedule.schedule_nests import schedule_nests
from wengert.compiler.steps import SIMPLIFYING, Pass, has_complex, is_partly_on_host, on_graph, optimises
from wengert.compiler.unit import Unit
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.ir.graph import Graph
from wengert.engine.nest.nest import Program
from wengert.engine.passes.distribute_loops import distribute_loops
from wengert.engine.passes.expand_programs import expand_programs
from wengert.engine.passes.factor_products import factor_products
from wengert.engine.passes.forward_writes import forward_writes
from wengert.engine.passes.hoist_invariants import hoist_invariants
from wengert.engine.passes.scatter_add import fuse_scatter_add

#: Whether a verifier runs after each pass on nests.
VARIABLE = "WENGERT_VERIFY"


def _on_nests(name: str, doc: str, run: Callable[[Program], Program]) -> Pass:
    return Pass(name, doc, lambda unit: replace(unit, nests=run(unit.program)), optimises)


def _fused(unit: Unit) -> Unit:
    """Fuse, unless nothing has changed since the last time."""
    if unit.nests is unit.fused:
        return unit
    fused = fuse(unit.program)
    return replace(unit, nests=fused, fused=fused)


def _expanded(unit: Unit) -> Unit:
    """Write linear algebra out, if there is any."""
    if not is_partly_on_host(unit.graph):
        return unit
    from wengert.compiler.linear_algebra import expand_linalg  # few programs need it

    return replace(unit, graph=expand_linalg(unit.graph, leaves=unit.options.leaves))


def _shared(unit: Unit) -> Unit:
    """Share factors of matrices, if there are any."""
    if not is_partly_on_host(unit.graph):
        return unit
    from wengert.compiler.linear_algebra import share_factors

    return replace(unit, graph=share_factors(unit.graph, leaves=unit.options.leaves))


def _split(graph: Graph) -> Graph:
    """Split complex values, if there are any."""
    if not has_complex(graph):
        return graph
    from wengert.engine.passes.split_complex import split_complex  # few programs need it

    return split_complex(graph)


#: All passes in the order in which they run.
PASSES: tuple[Pass, ...] = (
    *SIMPLIFYING,
    on_graph(
        "expand_programs",
        "write the backward passes of loops that are carried out again as programs of their own",
        expand_programs,
        lambda options: True,
    ),
    Pass(
        "expand_linalg",
        "write small factorisations and solutions as operations on elements, or on blocks",
        _expanded,
        optimises,
    ),
    Pass(
        "share_factors",
        "factorise a matrix once for all operations that take its factors",
        _shared,
        optimises,
    ),
    on_graph(
        "hoist_invariants",
        "factorise, multiply and sum up in front of a loop what none of its turns changes",
        hoist_invariants,
        optimises,
    ),
    on_graph(
        "factor_products",
        "make one product of a sum from a sum of products that share their other factors",
        factor_products,
        optimises,
    ),
    on_graph(
        "distribute_loops",
        "add up products of all turns of a loop after it",
        distribute_loops,
        optimises,
    ),
    on_graph(
        "split_complex",
        "make two real values of each complex one",
        _split,
        lambda options: True,
    ),
    on_graph(
        "scatter_add",
        "add scattered values into an array, not into an array of zeros",
        fuse_scatter_add,
        optimises,
    ),
    on_graph(
        "forward_writes",
        "write no element again that is known, and make constants of what no turn of a loop changes",
        forward_writes,
        optimises,
    ),
    Pass(
        "lower",
        "make a nest of each operation, and loops and branches of control flow",
        lambda unit: replace(unit, nests=lower(unit.graph, unit.places, contract=optimises(unit.options))),
    ),
    Pass(
        "value_checks",
        "with WENGERT_CHECK, check each float that an operation stores",
        lambda unit: replace(unit, nests=add_value_checks(unit.program, unit.options.check)),
        lambda options: bool(options.check),
    ),
    _on_nests(
        "write_in_place",
        "write the elements of a long chain of small writes where they stand, not a new array for each",
        write_in_place,
    ),
    _on_nests(
        "anti_dependences",
        "let steps read a buffer before others write into its copy",
        order_anti_dependences,
    ),
    Pass(
        "fuse",
        "compute cheap values where they are used, put epilogues into reductions, and join nests over one domain",
        _fused,
        optimises,
    ),
    Pass(
        "narrow",
        "compute nothing that is zero for certain, and store nothing that no step reads",
        lambda unit: replace(unit, nests=narrow(unit.program, fast=bool(unit.options.flags))),
        optimises,
    ),
    Pass("fuse_again", "fuse the nests whose domains are equal after narrowing", _fused, optimises),
    _on_nests(
        "recover_predicates",
        "find a predicate in the value that it chose, and keep that value alone",
        recover_predicates,
    ),
    Pass(
        "sink_sums",
        "add up in a loop what would be stacked and added up after it",
        lambda unit: replace(unit, nests=sink_sums(unit.program, unit.target)),
        optimises,
    ),
    _on_nests("coalesce_loops", "coalesce copies that are most of the work of a program", coalesce_loops),
    Pass(
        "block_batches",
        "run a chain of nests for a block of examples at a time, block by block or in parallel",
        lambda unit: replace(unit, nests=block_batches(unit.program, unit.target)),
        optimises,
    ),
    _on_nests("check_once", "check what is the same for all points of a nest in front of it", check_once),
    _on_nests("coalesce", "make values where copies would put them", coalesce),
    _on_nests("add_in_place", "add up in an array what would be added to zeros first", add_in_place),
    _on_nests(
        "stack_in_place", "write the stacks of inner loops into rows of those of outer loops", stack_in_place
    ),
    _on_nests(
        "peel_turns",
        "decide branches on counters, once the first or last turns run apart",
        peel_turns,
    ),
    Pass(
        "spread_loops",
        "make nests of loops whose turns are independent",
        lambda unit: replace(unit, nests=spread_loops(unit.program, unit.target)),
        optimises,
    ),
    _on_nests("limit_copies", "let copies leave out what a condition does not change", limit_copies),
    _on_nests("turn_upwards", "let nests go up through the memory that they read and write", turn_upwards),
    _on_nests(
        "split_index_sets", "split a nest where a condition on an index changes its value", split_index_sets
    ),
    Pass(
        "pad_borders",
        "copy arrays that sums read up to their borders, with zeros beyond, so that the sums need no conditions",
        lambda unit: replace(unit, nests=pad_borders(unit.program, fast=bool(unit.options.flags))),
        optimises,
    ),
    _on_nests(
        "fuse_map_reduce",
        "let reductions share loops, and reduce what a large map makes or reads within the map",
        fuse_map_reduce,
    ),
    _on_nests(
        "carry_elements",
        "carry what a turn of a loop writes for the next one in scalars",
        carry_elements,
    ),
    _on_nests(
        "split_reductions",
        "split long sums into partial sums, for accuracy and for threads",
        split_reductions,
    ),
    Pass(
        "plan_sorts",
        "choose the method of each sort, and give it the memory that it works in",
        lambda unit: replace(unit, nests=plan_sorts(unit.program, unit.target)),
    ),
    Pass(
        "layout",
        "choose the axis order of each buffer, and the axis that lies along the lanes",
        lambda unit: replace(unit, layouts=choose_layouts(unit.program, unit.target)),
    ),
    Pass(
        "pack_operands",
        "copy the factors of large products into panels, and cut long sums into blocks",
        lambda unit: replace(unit, nests=pack_operands(unit.program, unit.layouts, unit.target)),
    ),
    Pass(
        "fuse_updates",
        "fuse the product that reads a matrix with the update that writes it",
        lambda unit: replace(unit, nests=fuse_updates(unit.program, unit.layouts, unit.target)),
        optimises,
    ),
    Pass(
        "arena",
        "place each intermediate buffer in one arena",
        lambda unit: replace(unit, memory=plan(unit.program, unit.layouts)),
    ),
    Pass(
        "schedule",
        "choose the lanes, the register tile, the loop order and the prefetches of each nest",
        lambda unit: replace(unit, schedules=schedule_nests(unit.program, unit.layouts, unit.target)),
    ),
)

#: The last pass before a lookup in the cache, the last pass on nests without layouts, and the last pass.
SIMPLIFIED, LOWERED, SCHEDULED = "simplify", "split_reductions", "schedule"


def verifies() -> bool:
    """Return whether ``WENGERT_VERIFY`` asks for the verifier."""
    value = os.environ.get(VARIABLE, "").strip()
    if value not in ("", "0", "1"):
        raise ArgumentError(message(VARIABLE, "must be '1', '0' or unset", repr(value)))
    return value == "1"


def stages(unit: Unit, last: str = SCHEDULED) -> Iterator[tuple[str, Unit]]:
    """Yield the name of each pass that has not run yet, up to the last one named, and the unit after it.

    With ``WENGERT_VERIFY=1``, `VerificationError` if a pass returned nests that are not valid.
    """
    verify = Verifier() if verifies() else None
    names = [step.name for step in PASSES]
    for step in PASSES[len(unit.done) : names.index(last) + 1]:
        before, unit = unit.nests, step(unit)
        if verify is not None and unit.nests is not None and unit.nests is not before:
            verify(unit.nests, step.name)
        yield step.name, unit


def advance(unit: Unit, last: str = SCHEDULED) -> Unit:
    """Return the unit after the pass named, which may have run already.

    Example:
        >>> from wengert.compiler.unit import Options
        >>> from wengert.engine.machine.target import Target
        >>> from wengert.engine.ir.parser import parse
        >>> graph = parse("graph(x: f64[3]) { v1: f64[3] = exp(x) v2: f64[3] = multiply(v1, 2) return v2 }")
        >>> target = Target("x86_64-unknown-linux-gnu", "x86-64-v3", "+avx2", 32, 16, True, 32 << 10, 1 << 20)
        >>> print(advance(Unit(graph, {}, target, Options()), "fuse"))
        program(x: f64[3])
          nest i<3:
            out0[i] = (exp(x[i]) * 2.0)
          return out0
    """
    for _, after in stages(unit, last):
        unit = after
    return unit
