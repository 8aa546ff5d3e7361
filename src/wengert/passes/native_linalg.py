"""Native linear algebra: which factorisations and equations become programs of blocks, and which LAPACK carries out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from wengert.compiler.machine import costs
from wengert.ir.graph import Equation, Graph
from wengert.ir.types import TensorType
from wengert.ops.blocked_linalg import Blocks

#: The operations on LU factors, which share them.
OF_FACTORS = ("solve", "inverse", "determinant", "log_determinant", "determinant_sign")
_PROGRAMS: dict[str, Callable[[Blocks], Callable[..., Any]]] = {
    "cholesky": lambda blocks: blocks.cholesky,
    "cholesky_tangent": lambda blocks: blocks.cholesky_tangent,
    "cholesky_cotangent": lambda blocks: blocks.cholesky_cotangent,
    "solve_triangular": lambda blocks: blocks.solve_triangular,
    "qr": lambda blocks: blocks.qr,
    "eigh": lambda blocks: blocks.eigh,
    "eigvalsh": lambda blocks: blocks.eigvalsh,
}

_BY_ROTATIONS = ("eigh", "eigvalsh")


def program_of(equation: Equation) -> Callable[..., Any]:
    """Return the program ``(*operands, **params) -> result`` that carries an operation out."""
    return _PROGRAMS[equation.primitive](blocks_of(equation.operands[0].type))


def native_equations(equations: Iterable[tuple[Equation, bool]], *, leaves: bool) -> set[Equation]:
    """Return the operations on matrices that are native, as LAPACK would take longer, or as there is none.

    Args:
        equations: the equations of a graph and of inner graphs, each with whether it lies in an inner graph.
        leaves: whether the whole program leaves Python, where there is no LAPACK.
    """
    native = [
        (not inside, number, equation)
        for number, (equation, inside) in enumerate(equations)
        if _is_native(equation, leaves)
    ]
    kept = len(native) if leaves else costs.COSTS.native_programs
    return {equation for _, _, equation in sorted(native, key=lambda item: item[:2])[:kept]}


def has_program(equation: Equation) -> bool:
    """Return whether a native operation is a program of its own, and does not share LU factors with others."""
    return equation.primitive in _PROGRAMS


def _is_native(equation: Equation, leaves: bool) -> bool:
    if equation.primitive not in _PROGRAMS and equation.primitive not in OF_FACTORS:
        return False
    types = [atom.type for atom in equation.operands]
    if not all(type_.dtype.kind == "f" and all(type_.shape) for type_ in types):
        return False
    rotated = equation.primitive in _BY_ROTATIONS
    most = costs.COSTS.rotated_matrix_rows if rotated else costs.COSTS.native_matrix_rows
    return types[0].shape[-1] <= most or (leaves and not rotated)


def equations_of(graph: Graph, inside: bool = False) -> Iterator[tuple[Equation, bool]]:
    """Yield the equations of a graph and of inner graphs, each with whether it lies in an inner graph."""
    for equation in graph.equations:
        yield equation, inside
        for inner in equation.graphs():
            yield from equations_of(inner, True)


def blocks_of(matrix: TensorType) -> Blocks:
    """Return the programs for matrices of a type."""
    rows, count = matrix.shape[-1], math.prod(matrix.shape[:-2])
    lanes = costs.COSTS.native_lanes
    small = rows <= costs.COSTS.native_lane_rows and 2 * count >= lanes
    least = -(-rows // costs.COSTS.native_blocks)
    return Blocks(
        max(costs.COSTS.native_block_rows, least),
        max(costs.COSTS.native_panel_columns, least),
        lanes if small else 0,
    )
