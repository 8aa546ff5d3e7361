"""The verifier finds what is wrong with a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import GraphError
from wengert.engine.ir import Equation, Graph, Literal, TensorType, Var, verify
from wengert.engine.ir.types import type_of

SCALAR = type_of(1.0)
VECTOR = type_of(np.zeros(3))


def test_traced_graphs_are_well_formed() -> None:
    def f(x: Any) -> Any:
        return wg.cond(x[0] > 0, np.sin, np.cos, x) * np.arange(3.0) + 1

    for function in (f, wg.jacobian(f)):
        verify(wg.trace(function)(np.ones(3)))


def bad_graphs() -> dict[str, tuple[Graph, str]]:
    x, y, z = Var(SCALAR), Var(SCALAR), Var(VECTOR)
    sin = Equation("sin", (x,), (y,))
    untyped = Var(SCALAR)
    del untyped.type
    early = Graph((x,), (), (Equation("cos", (y,), (Var(SCALAR),)), sin), (y,))
    return {
        "undefined": (Graph((x,), (), (), (y,)), r"defined before its use; got a f64\*\[\] in the outputs"),
        "used early": (early, "defined before its use.*equation 1"),
        "defined twice": (Graph((x,), (), (sin, sin), (y,)), "defined only once.*equation 2"),
        "input twice": (Graph((x, x), (), (), (x,)), "defined only once.*the inputs"),
        "constant's type": (
            Graph((), ((z, np.zeros(4)),), (), (z,)),
            "constant must have the type of its value",
        ),
        "constant's dtype": (Graph((), ((z, np.zeros(3, "f4")),), (), (z,)), "constant must have the type"),
        "literal's type": (
            Graph((), (), (), (Literal(1, SCALAR),)),
            "a literal must be a scalar of its type",
        ),
        "no literal": (Graph((), (), (), (Literal(np.zeros(3), VECTOR),)), "a literal must be a scalar"),
        "no type": (Graph((untyped,), (), (), ()), "must be a variable with a type"),
        "no variable": (Graph((1.0,), (), (), ()), "must be a variable with a type"),  # type: ignore[arg-type]
        "no result": (Graph((x,), (), (Equation("sin", (x,), ()),), (x,)), "must define a value"),
        "no name": (Graph((x,), (), (Equation("", (x,), (y,)),), (y,)), "must have a name"),
        "inside": (
            Graph(
                (x,), (), (Equation("scan", (x,), (y,), {"bodies": (3, (Graph((), (), (), (z,)),))}),), (y,)
            ),
            "defined before its use",
        ),
    }


@pytest.mark.parametrize("case", bad_graphs())
def test_what_is_wrong_is_found(case: str) -> None:
    graph, problem = bad_graphs()[case]
    with pytest.raises(GraphError, match=problem):
        verify(graph)


def test_types_are_dtype_shape_and_weakness() -> None:
    weak = TensorType(np.dtype("f8"), (), True)
    verify(Graph((), (), (), (Literal(1.0, weak),)))
    with pytest.raises(GraphError, match="scalar of its type"):
        verify(Graph((), (), (), (Literal(np.float64(1.0), weak),)))
