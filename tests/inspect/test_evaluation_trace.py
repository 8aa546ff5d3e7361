"""The evaluation trace, against the table of the Harrison paper and against `grad`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import assume, given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.test_registry_compiled import seed_of
from tests.draws import SHARE, HypothesisDraw, examples
from tests.explorer.samples import SeededDraw
from wengert.engine.core.errors import ArgumentError
from wengert.engine.primitive import REGISTRY, Partials, Primitive
from wengert.inspect import Table
from wengert.inspect.evaluation_trace import Step
from wengert.inspect.notation import adjoint_term, passes


def paper(x1: Any, x2: Any) -> Any:
    return np.log(x1) + x1 * x2 - np.sin(x2)


PAPER = """\
Forward primal trace ↓                      │ Reverse adjoint trace ↑
────────────────────────────────────────────┼───────────────────────────────────────────────────────
v₋₁ = x1                           = 2      │ x1′  = v₋₁′                                   = 5.5
v₀  = x2                           = 5      │ x2′  = v₀′                                    = 1.716
v₁  = ln(v₋₁)  = ln(2)             = 0.693  │ v₋₁′ = v₋₁′ + v₁′ ∂v₁/∂v₋₁ = v₋₁′ + v₁′ / v₋₁ = 5.5
v₂  = v₋₁ × v₀ = 2 × 5             = 10     │ v₀′  = v₀′ + v₂′ ∂v₂/∂v₀   = v₀′ + v₂′ × v₋₁  = 1.716
                                            │ v₋₁′ = v₂′ ∂v₂/∂v₋₁        = v₂′ × v₀         = 5
v₃  = v₁ + v₂  = 0.693 + 10        = 10.693 │ v₂′  = v₃′ ∂v₃/∂v₂         = v₃′ × 1          = 1
                                            │ v₁′  = v₃′ ∂v₃/∂v₁         = v₃′ × 1          = 1
v₄  = sin(v₀)  = sin(5)            = -0.959 │ v₀′  = v₄′ ∂v₄/∂v₀         = v₄′ × cos(v₀)    = -0.284
v₅  = v₃ - v₄  = 10.693 - (-0.959) = 11.652 │ v₄′  = v₅′ ∂v₅/∂v₄         = v₅′ × (-1)       = -1
                                            │ v₃′  = v₅′ ∂v₅/∂v₃         = v₅′ × 1          = 1
y   = v₅                           = 11.652 │ v₅′  = y′                                     = 1"""


def test_the_papers_table() -> None:
    assert str(wg.trace(paper)(2.0, 5.0).table()) == PAPER


def reverse(table: Table) -> list[Step]:
    """Return the adjoint statements in the order of their computation."""
    return [row.reverse for row in reversed(table.rows) if row.reverse is not None]


def gradient(table: Table, function: Callable[..., Any], places: list[str]) -> list[Any]:
    values = {step.symbol: step.value for step in reverse(table)}
    return [values[f"{place}′"] for place in places]


def test_numbers_are_exact() -> None:
    table = wg.trace(paper)(2.0, 5.0).table()
    assert [step.value for step in reverse(table)] == pytest.approx(
        [1, 1, -1, -np.cos(5), 1, 1, 5, 2 - np.cos(5), 5.5, 2 - np.cos(5), 5.5], rel=1e-14
    )
    assert table.rows[-1].forward == ("y", "v₅", "", pytest.approx(paper(2.0, 5.0), rel=1e-14))


def logistic(weights: Any, x: Any, y: Any) -> Any:
    margin = y * (x @ weights["w"] + weights["b"])
    return np.mean(np.logaddexp(0.0, -margin)) + 0.5 * np.sum(weights["w"] ** 2)


def branching(x: Any) -> Any:
    halved = wg.cond(x > 1, lambda x: x / 2, np.cos, x)
    return wg.fori_loop(0, 3, lambda _, v: v * halved + x, x)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[str]]] = {
    "paper": (paper, (2.0, 5.0), ["x1", "x2"]),
    "product": (lambda x, y, z: (x + y) * z, (-2.0, 5.0, -4.0), ["x", "y", "z"]),
    "dual": (lambda x, y: 2 * x + x * y**3 + np.sin(x), (3.0, 5.0), ["x", "y"]),
    "repeated": (lambda x: x * x / x - x**3, (1.5,), ["x"]),
    "powers": (lambda x, y: np.exp(x) ** y + np.sqrt(x) / np.tanh(y) + y**-2, (1.5, 2.5), ["x", "y"]),
    "kinks": (
        lambda x, y: np.maximum(x, y) + np.where(x > y, np.abs(x), y) + np.floor(x),
        (1.5, 2.5),
        ["x", "y"],
    ),
    "arrays": (
        lambda x, i: np.sum(np.log(x)[i] * x[0]),
        (np.array([1.0, 2.0, 4.0]), np.array([2, 2])),
        ["x"],
    ),
    "unused": (lambda x, y: x + np.float32(1), (1.5, 2.5), ["x", "y"]),
    "constant": (lambda x: 2.0, (1.5,), ["x"]),
    "identity": (lambda x: x, (1.5,), ["x"]),
    "branching": (branching, (1.5,), ["x"]),
}


@pytest.mark.parametrize("case", CASES)
def test_adjoints_of_inputs_are_the_gradient(case: str) -> None:
    function, arguments, places = CASES[case]
    table = wg.trace(function)(*arguments).table()
    if case == "constant":
        assert gradient(table, function, places) == [0.0]
        return
    expected = wg.grad(function, tuple(range(len(places))))(*arguments)
    for adjoint, slope in zip(gradient(table, function, places), expected, strict=True):
        np.testing.assert_allclose(adjoint, slope, rtol=1e-14)
    assert table.rows[-1].forward is not None
    np.testing.assert_allclose(table.rows[-1].forward.value, function(*arguments), rtol=1e-14)


def test_containers_show_where_an_input_stands(rng: np.random.Generator) -> None:
    weights = {"w": rng.normal(size=2), "b": 0.5}
    arguments = weights, rng.normal(size=(4, 2)), np.array([1.0, -1.0, 1.0, 1.0])
    table = wg.trace(logistic)(*arguments).table()
    expected = wg.grad(logistic)(*arguments)
    b, w = gradient(table, logistic, ["weights['b']", "weights['w']"])
    np.testing.assert_allclose(b, expected["b"])
    np.testing.assert_allclose(w, expected["w"])
    assert "f64[4,2] @ " in str(table)


def test_partial_derivatives_are_written_out() -> None:
    table = wg.trace(lambda x, y: np.cos(x) / y - (x + 1) ** 3 - np.max(np.array([1.0, 2.0]) * x))(
        1.0, 2.0
    ).table()
    details = [step.detail for step in reverse(table)]
    assert "v₂′ / v₀" in details
    assert "-v₂′ × v₂ / v₀" in details
    assert "v₋₁′ - v₁′ × sin(v₋₁)" in details
    assert "v₄′ × 3 × v₃²" in details
    assert "" in details  # the largest element: the operation is not elementwise


#: The notation of terms in Python.
MATHEMATICS = {
    **{"×": "*", "^": "**", "out′": "bar", "cosh²": "cosh_squared", "√": "sqrt"},
    **{raised: f"**{exponent}" for exponent, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}
FUNCTIONS = {
    **vars(np),
    **{name: getattr(wg.special, name) for name in ("digamma", "polygamma")},
    **{"scipy": scipy, "wengert": wg},
    **{"ln": np.log, "σ": wg.special.expit, "cosh_squared": lambda x: np.cosh(x) ** 2},
}
ELEMENTWISE = [primitive for primitive in REGISTRY if isinstance(primitive.derivative, Partials)]


@pytest.mark.parametrize("primitive", ELEMENTWISE, ids=[primitive.name for primitive in ELEMENTWISE])
@examples(4)
@given(data=st.data())
def test_terms_are_correct_mathematics(primitive: Primitive, data: st.DataObject) -> None:
    """Read as Python, the text of a term gives the number that reverse mode computes."""
    assert primitive.samples is not None
    operands, params = primitive.samples(HypothesisDraw(data))
    assume(all(np.size(operand) for operand in operands))
    operands = tuple(np.float64(np.ravel(operand)[0]) for operand in operands)
    out, names = primitive(*operands, **params), ["x", "y", "z", "w"][: len(operands)]
    for position in range(len(operands)):
        if not passes(primitive.name, position):
            continue
        text = adjoint_term(primitive, position, ("out", names), (out, operands), params)
        for notation, python in MATHEMATICS.items():
            text = text.replace(notation, python)
        text = re.sub(r"\|([^|]+)\|", r"abs(\1)", text)
        values = {**FUNCTIONS, **dict(zip(names, operands, strict=True)), "out": out, "bar": 3.0}
        slope = wg.grad(lambda *xs: primitive(*xs, **params), position)(*operands)
        assert eval(text, values) == pytest.approx(3.0 * slope, rel=1e-2, abs=1e-12), text


DIFFERENTIABLE = [p for p in REGISTRY if p.samples is not None and not hasattr(p.derivative, "reason")]


@pytest.mark.parametrize("primitive", DIFFERENTIABLE, ids=[primitive.name for primitive in DIFFERENTIABLE])
@pytest.mark.parametrize("number", range(max(1, round(4 * SHARE))))
def test_every_operation_has_a_table(primitive: Primitive, number: int) -> None:
    assert primitive.samples is not None
    seeds = itertools.count(seed_of(primitive, 100 * number))
    drawn = (primitive.samples(SeededDraw(seed)) for seed in seeds)
    operands, params = next((xs, params) for xs, params in drawn if all(map(np.size, xs)))

    def total(*operands: Any) -> Any:
        return np.sum(np.real(primitive(*operands, **params)) * 1.0)

    with np.errstate(all="ignore"):
        table = wg.trace(lambda *xs: wg.numpy.sum(wg.numpy.real(primitive(*xs, **params)) * 1.0))(
            *operands
        ).table()
        (result,) = (row.forward for row in table.rows[-1:])
        assert result is not None
        np.testing.assert_allclose(result.value, total(*operands), rtol=1e-10)


def test_the_result_is_named_apart_from_the_arguments() -> None:
    rows = wg.trace(lambda x, y: x * y)(2.0, 3.0).table().rows
    assert rows[-1].forward is not None
    assert rows[-1].forward.symbol == "z"


def test_digits_and_html() -> None:
    table = wg.trace(lambda x: x / 3)(1e-5).table(digits=5)
    assert "= 0.00001" in str(table)
    assert "3.33333e-06" in str(table)
    page = wg.trace(lambda x: np.where(x < 1, x, 2.0))(0.5).table()._repr_html_()
    assert "<table>" in page
    assert "&lt; 1" in page
    assert page.count("<tr>") == 5


@pytest.mark.parametrize(
    "function", [lambda x: x * np.ones(2), lambda x: (x, x), lambda x: x > 1, lambda x: ()]
)
def test_only_a_scalar_has_adjoints(function: Any) -> None:
    with pytest.raises(ArgumentError, match="one floating-point scalar"):
        wg.trace(function)(1.0).table()
