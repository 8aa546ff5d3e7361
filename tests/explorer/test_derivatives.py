"""The list of values, tangents and adjoints of all steps against `jvp` and `grad`."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.explorer.programs import CASES
from wengert.engine.core import tree
from wengert.engine.ir.graph import Literal
from wengert.explorer.derivatives import differentiate
from wengert.explorer.path import follow
from wengert.explorer.writer import Writer
from wengert.inspect.notation import all_values


def explored(fun, arguments):
    """Return the result, the tangent along ones, and the adjoints of the inputs."""
    listing = follow(fun, arguments, {}).listing
    found = differentiate(listing)
    ones = [np.ones(var.shape, var.dtype)[()] for var in found.moving]
    known = all_values(found.graph, [*listing.arguments, *ones])

    def number(handle):
        atom = found.atom(handle)
        return atom.value if isinstance(atom, Literal) else known[atom]

    ((_, value, tangent, _),) = found.outputs
    return number(value), number(tangent), [number(found.adjoints[var]) for var in found.moving]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_the_sweeps_give_the_derivatives(name):
    fun, arguments, _ = CASES[name]
    value, tangent, adjoints = explored(fun, arguments)
    ones = tree.map_tree(lambda x: np.ones_like(x)[()], arguments)
    expected_value, expected_tangent = wg.jvp(fun, arguments, ones)
    gradients = wg.grad(fun, argnums=tuple(range(len(arguments))))(*arguments)
    np.testing.assert_allclose(value, expected_value, rtol=1e-14)
    np.testing.assert_allclose(tangent, expected_tangent, rtol=1e-12)
    for mine, expected in zip(adjoints, tree.leaves(gradients), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-14)


def test_each_step_of_harrisons_table_has_its_adjoint():
    fun, arguments, _ = CASES["report"]
    listing = follow(fun, arguments, {}).listing
    found = differentiate(listing)
    known = all_values(found.graph, [*listing.arguments, 1.0, 0.0])
    value = lambda handle: getattr(found.atom(handle), "value", None) or known[found.atom(handle)]  # noqa: E731
    totals = [round(float(value(term.total)), 3) for step in found.steps for term in step.terms]
    assert totals == [5.5, 5.0, 1.716, 1.0, 1.0, -0.284, 1.0, -1.0]


def test_a_path_notes_what_python_decided():
    fun, arguments, _ = CASES["newton"]
    path = follow(fun, arguments, {})
    assert [bool(one.value) for one in path.decisions] == [True] * (len(path.decisions) - 1) + [False]
    assert {place.function for place in path.places.values()} == {"newton"}
    assert path.listing.outputs[0] in path.listing.values()


def test_a_row_that_an_array_chooses_stays_an_operation():
    table = np.arange(6.0).reshape(3, 2)
    path = follow(lambda x, rows: np.sum(x[rows] ** 2), (table, np.array([2, 0])), {})
    assert "gather" in [equation.primitive for equation in path.listing.equations]
    assert path.decisions == ()


@pytest.mark.parametrize("turns", [2, 20])
def test_the_derivatives_of_equal_operations_are_staged_once(monkeypatch, turns):
    staged = []
    stage = Writer._staged

    def counted(self, function, operands, location):
        staged.append(location)
        return stage(self, function, operands, location)

    def iterated(x):
        for _ in range(turns):
            x = np.sin(x) * 1.01
            x = x + 0.1 * x
        return x

    monkeypatch.setattr(Writer, "_staged", counted)
    found = differentiate(follow(iterated, (np.float64(0.3),), {}).listing)
    assert len(found.steps) == 4 * turns
    # Forward and backward: sin, products by 1.01 and 0.1, a sum; the seed of the adjoints, and their sum.
    assert len(staged) == 10
