"""Samples of primitives as programs for the evaluator of the page."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tests.draws import SeededDraw
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Equation, Graph, Var
from wengert.engine.ir.types import type_of
from wengert.engine.primitive import REGISTRY
from wengert.explorer.encoding import Encoder


def sample(name: str, seed: int, single: bool = False) -> tuple[dict[str, Any], list[Any]]:
    """Return a program of one operation on drawn operands, and NumPy's results."""
    primitive = REGISTRY[name]
    assert primitive.samples is not None
    operands, params = primitive.samples(SeededDraw(seed, plain=True))
    if single:
        operands = tuple(x.astype(np.float32) if dtype_of(x) == np.float64 else x for x in operands)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = primitive(*operands, **params)
    results = list(result) if isinstance(result, tuple) else [result]
    inputs = tuple(Var(type_of(x)) for x in operands)
    outputs = tuple(Var(type_of(x)) for x in results)
    graph = Graph(inputs, (), (Equation(name, inputs, outputs, params),), outputs)
    known = {**dict(zip(inputs, operands, strict=True)), **dict(zip(outputs, results, strict=True))}
    encoder = Encoder(graph, known)
    assert not encoder.recorded, encoder.recorded
    return encoder.data(), results


def assert_same(name: str, found: list[Any], expected: Any, single: bool) -> None:
    """Compare the elements that the page found with NumPy's."""
    want = np.asarray(expected, np.float64).reshape(-1)
    got = np.array([float(x) for x in found])
    assert len(got) == want.size, (name, shape_of(expected))
    tolerance = 3e-6 if single else 1e-12
    scale = np.max(np.abs(want[np.isfinite(want)]), initial=0.0)
    np.testing.assert_allclose(
        got, want, rtol=tolerance, atol=tolerance * 1e-2 * max(scale, 1e-30), err_msg=name
    )
