"""Equations with triangular matrices, stacked along leading axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.kernels.triangular import Triangular
from wengert.engine.nest.lowering import Expansion, OnHost
from wengert.engine.ops.comparison import where
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.linalg import unrolled as unrolled
from wengert.engine.ops.linalg.square import (
    check_square,
    identity_elsewhere,
    multiply,
    solution_type,
    swapped,
)
from wengert.engine.primitive import Draw, Explicit, Linear, primitive


def _type(a: TensorType, b: TensorType, lower: bool, unit: bool) -> TensorType:
    check_square("solve_triangular", a)
    return solution_type("solve_triangular", a, b)


def _evaluate(a: Any, b: Any, lower: bool, unit: bool) -> Any:
    result = _type(type_of(a), type_of(b), lower, unit)
    x = np.array(np.broadcast_to(b, result.shape), result.dtype)
    a = np.array(a, result.dtype)
    if not x.size:
        return x
    diagonal = np.einsum("...ii->...i", a)
    if unit:
        diagonal[...] = 1
    zeros = np.argwhere(diagonal == 0)
    if len(zeros):
        raise np.linalg.LinAlgError(f"singular matrix: resolution failed at diagonal {zeros[0][-1]}")
    Triangular(a, lower).solve(x)
    return x


def taken(a: Any, lower: bool, unit: bool) -> Any:
    """Return stacked matrices with zeros where a triangular equation does not read them."""
    rows = shape_of(a)[-1]
    mask = np.tri(rows, k=-1 if unit else 0, dtype=bool)
    return where(mask if lower else mask.T, a, 0.0)


def _tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, lower: bool, unit: bool) -> Any:
    """Differentiate ``A x = b``: ``A dx = db - dA x``."""
    da, db = tangents
    if da is None:
        return solve_triangular(primals[0], db, lower=lower, unit=unit)
    moved = multiply(taken(da, lower, unit), out)
    return solve_triangular(primals[0], -moved if db is None else db - moved, lower=lower, unit=unit)


def _samples(draw: Draw) -> Any:
    rows, lead = draw.integer(1, 4), draw.choice([(), (2,), (1, 2)])
    a = draw.array((*lead, rows, rows), -0.5, 0.5) + 2 * np.eye(rows)
    b = draw.array((*draw.choice([lead, ()]), rows, draw.integer(1, 2)))
    return (a, b), {"lower": draw.choice([False, True]), "unit": draw.choice([False, True])}


solve_triangular = primitive(
    name="solve_triangular",
    doc="x with a x = b, for matrices a of which only the lower or upper triangle is read, and with unit only what "
    "lies off the diagonal; the leading axes broadcast",
    type_rule=_type,
    evaluate=_evaluate,
    derivative=Explicit(
        _tangent,
        Linear(
            None,
            lambda cotangent, a, b, lower, unit: solve_triangular(
                swapped(a), cotangent, lower=not lower, unit=unit
            ),
        ),
    ),
    batch=batch_elementwise,
    lowering=OnHost("its steps depend on one another", Expansion(unrolled.solve_triangular, unrolled.length)),
    source="triangular_solution({0}, {1}, {lower}, {unit})".format,
    samples=_samples,
    unchecked=identity_elsewhere,
)
