"""Native linear algebra: which factorisations and equations become programs of blocks, and which LAPACK carries out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from wengert.engine.core.dtypes import is_inexact
from wengert.engine.ir.graph import Equation
from wengert.engine.ir.types import TensorType
from wengert.engine.kernels import lapack
from wengert.engine.machine import costs
from wengert.engine.ops.linalg.blocked import Blocks
from wengert.engine.ops.linalg.lapack_programs import Routines

#: The operations on LU factors, which share them.
OF_FACTORS = ("solve", "inverse", "cofactors", "determinant", "log_determinant", "determinant_sign")
_PROGRAMS = (
    *("cholesky", "cholesky_tangent", "cholesky_cotangent", "solve_triangular"),
    *("qr", "eigh", "eigvalsh", "svd", "svdvals"),
)

_BY_ROTATIONS = ("eigh", "eigvalsh")
_BY_ROUTINES = ("svd", "svdvals")
#: The programs of operations on real matrices that take loops: `wengert.engine.control` enters them.
WITH_LOOPS: dict[str, Callable[..., Any]] = {}


def native_equations(equations: Iterable[tuple[Equation, bool]], *, leaves: bool) -> dict[Equation, Blocks]:
    """Return the operations on matrices that run without Python, with the programs for their matrices.

    Small matrices have programs of nests, larger ones those of LAPACK's routines. A program that leaves Python has no
    LAPACK.

    Args:
        equations: the equations of a graph and of inner graphs, each with whether it lies in an inner graph.
        leaves: whether the whole program leaves Python.
    """
    ranked = [(not inside, number, equation) for number, (equation, inside) in enumerate(equations)]
    ordered = [equation for _, _, equation in sorted(ranked, key=lambda item: item[:2]) if _is_real(equation)]
    nests = [equation for equation in ordered if _is_of_nests(equation, leaves)]
    limit = len(nests) if leaves else costs.COSTS.native_programs
    native = {equation: blocks_of(equation.operands[0].type) for equation in nests[:limit]}
    if leaves:
        return native
    others = (equation for equation in ordered if equation not in native and lapack.is_available())
    return native | dict.fromkeys(others, ROUTINES)


ROUTINES = Routines()


def program_of(equation: Equation, programs: Blocks) -> Callable[..., Any] | None:
    """Return the program ``(*operands, **params) -> result`` of an operation; None if it takes shared LU factors."""
    return getattr(programs, equation.primitive) if equation.primitive in _PROGRAMS else None


def has_loops(equation: Equation) -> bool:
    """Return whether the program of an operation takes loops."""
    return equation.primitive in WITH_LOOPS and _has_real_elements(equation)


def _is_real(equation: Equation) -> bool:
    is_known = equation.primitive in _PROGRAMS or equation.primitive in OF_FACTORS
    return is_known and _has_real_elements(equation)


def _has_real_elements(equation: Equation) -> bool:
    types = [atom.type for atom in equation.operands]
    return all(type_.dtype.kind == "f" and all(type_.shape) for type_ in types)


def _is_of_nests(equation: Equation, leaves: bool) -> bool:
    if equation.primitive in _BY_ROUTINES:
        return False
    rotated = equation.primitive in _BY_ROTATIONS
    most = costs.COSTS.rotated_matrix_rows if rotated else costs.COSTS.native_matrix_rows
    return equation.operands[0].type.shape[-1] <= most or (leaves and not rotated)


def takes_banded_factors(equation: Equation) -> bool:
    """Return whether LAPACK factorises a banded matrix: one with diagonals on both sides, of one dtype with b."""
    bands, b = (operand.type for operand in equation.operands)
    has_both = equation.params["lower"] > 0 and equation.params["upper"] > 0
    return has_both and bands.dtype == b.dtype and is_inexact(bands.dtype) and all((*bands.shape, *b.shape))


def has_banded_routine(equation: Equation) -> bool:
    """Return whether a program can call LAPACK's routines for a banded matrix without Python."""
    if equation.primitive != "solve_banded" or not takes_banded_factors(equation):
        return False
    return equation.operands[0].type.dtype.kind == "f" and lapack.is_available()


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
