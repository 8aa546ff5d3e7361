"""Drawn programs: no derivative outside of the pattern, and the values of the dense derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.programs import Program
from wengert.engine.core import tree

PROGRAMS = 25
MANY, SHARE = 10_000, 250


def matrix(jacobian: Any, outputs: int, inputs: list[Any]) -> Any:
    """Return a Jacobian in containers as one matrix."""
    blocks = iter(tree.leaves(jacobian))
    rows = [[np.asarray(next(blocks)) for _ in inputs] for _ in range(outputs)]
    return np.concatenate(
        [
            np.concatenate(
                [
                    block.reshape(block.size // max(x.size, 1), x.size)
                    for block, x in zip(row, inputs, strict=True)
                ],
                1,
            )
            for row in rows
        ]
    )


def check(seed: int, *, compiled: bool) -> None:
    """Compare a drawn program's derivatives at two points, which have one structure."""
    program = Program(seed, 3 + seed % 12)
    integers, floats = program.arguments(np.float64)

    def outputs(floats: Any) -> Any:
        return [np.reshape(y, -1)[:40] for y in program(integers, floats)]

    def total(floats: Any) -> Any:
        return sum(np.sum(np.sin(y)) for y in outputs(floats))

    jacobian, hessian = wg.sparse_jacobian(outputs), wg.sparse_hessian(total)
    shifted = [x + 0.25 for x in floats]
    for point in (floats, shifted):
        expected = matrix(wg.jacfwd(outputs)(point), len(outputs(point)), point)
        pattern = jacobian.pattern(point).toarray()
        assert not (expected != 0)[~pattern].any()
        if compiled:
            np.testing.assert_allclose(jacobian(point).toarray(), expected, rtol=1e-9, atol=1e-9)
    if compiled and sum(x.size for x in floats) < 200:
        expected = matrix(wg.hessian(total)(floats), len(floats), floats)
        np.testing.assert_allclose(hessian(floats).toarray(), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_programs_have_their_derivatives_in_the_pattern(seed: int) -> None:
    check(seed, compiled=seed % 5 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, MANY, SHARE))
def test_many_programs_have_their_derivatives_in_the_pattern(first: int) -> None:
    for seed in range(first, first + SHARE):
        check(seed, compiled=seed % 20 == 0)
