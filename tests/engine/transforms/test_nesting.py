"""Nested transforms: perturbations of different levels stay apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from wengert.engine.core.errors import DtypeError, LeakError

Scalar = Callable[[Any], Any]

#: Ways to differentiate a function of a scalar.
WAYS: dict[str, Callable[[Scalar], Scalar]] = {
    "grad": wg.grad,
    "derivative": wg.derivative,
    "jacfwd": wg.jacfwd,
    "jacrev": wg.jacrev,
    "jvp": lambda f: lambda x: wg.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: wg.vjp(f, x)[1](1.0)[0],
    "linearize": lambda f: lambda x: wg.linearize(f, x)[1](1.0),
    "vmap of grad": lambda f: lambda x: wg.vmap(wg.grad(f))(np.stack([x, 2.0 * x]))[0],
    "vmap of jvp": lambda f: lambda x: wg.vmap(lambda v: wg.jvp(f, (x,), (v,))[1])(np.ones(2))[1],
    "grad of vmap": lambda f: lambda x: wg.grad(lambda y: np.sum(wg.vmap(f)(np.stack([y, x]))))(x),
    "jvp of vmap": lambda f: lambda x: wg.jvp(wg.vmap(f), (np.stack([x, x]),), (np.array([1.0, 0.0]),))[1][0],
}
TWO = ("grad", "derivative")
every_way = pytest.mark.parametrize("outer", WAYS)
every_inner_way = pytest.mark.parametrize("inner", WAYS)


# -- the classic cases -----------------------------------------------------------------------------------


@every_way
@every_inner_way
def test_siskind_and_pearlmutter(outer: str, inner: str) -> None:
    """d/dx (x d/dy (x + y)) is 1: with confused perturbations it is 2 (Siskind and Pearlmutter, 2005)."""
    D, d = WAYS[outer], WAYS[inner]
    assert D(lambda x: x * d(lambda y: x + y)(1.0))(1.0) == 1.0
    assert D(lambda x: x * d(lambda y: x + y)(x))(3.0) == 1.0
    assert D(lambda x: x * d(lambda y: x * y)(2.0))(3.0) == 6.0
    assert D(lambda x: x * d(lambda y: x * y * y)(x))(2.0) == 24.0


@every_way
@every_inner_way
def test_values_that_do_not_depend(outer: str, inner: str) -> None:
    D, d = WAYS[outer], WAYS[inner]
    assert D(lambda x: d(lambda y: x * 1.0)(1.0) + 0.0 * x)(2.0) == 0.0
    assert D(lambda x: x * d(lambda y: y * y)(3.0))(2.0) == 6.0
    assert D(lambda x: d(lambda y: y**3)(2.0) * 1.0)(2.0) == 0.0


@pytest.mark.parametrize("ways", list(itertools.product(TWO, repeat=3)), ids="-".join)
def test_third_derivatives(ways: tuple[str, ...]) -> None:
    a, b, c = (WAYS[way] for way in ways)
    x = 0.75
    np.testing.assert_allclose(a(b(c(lambda x: np.sin(x) * x**2)))(x), third(x), rtol=1e-13)

    def mixed(x: Any) -> Any:
        return a(lambda y: y * b(lambda z: np.sin(x * y) * z**2 + c(lambda w: w**2 * z * y)(x))(y))(x)

    # y (2 y sin(x y) + 2 x y), differentiated by y at y = x
    np.testing.assert_allclose(
        mixed(x), 4 * x * np.sin(x * x) + 2 * x**3 * np.cos(x * x) + 4 * x**2, rtol=1e-13
    )


def third(x: float) -> Any:
    return -(x**2) * np.cos(x) - 6 * x * np.sin(x) + 6 * np.cos(x)


def test_jvp_of_grad_of_jvp() -> None:
    def function(x: Any) -> Any:
        return np.prod(np.sin(x) * x)

    x, u, v = np.array([0.5, 1.0, 1.5]), np.array([1.0, 0.0, 2.0]), np.array([0.5, -1.0, 0.25])
    slope = wg.grad(lambda x: wg.jvp(function, (x,), (u,))[1])
    _, actual = wg.jvp(slope, (x,), (v,))
    tensor = wg.jacfwd(wg.jacrev(wg.jacfwd(function)))(x)
    np.testing.assert_allclose(actual, np.einsum("ijk,i,k->j", tensor, u, v), rtol=1e-12)


def test_tensors_of_third_derivatives_agree() -> None:
    def function(x: Any) -> Any:
        return np.exp(x[0] * x[1]) * x[2] + np.sum(x**4)

    x = np.array([0.5, -0.25, 1.5])
    tensors = [a(b(c(function)))(x) for a, b, c in itertools.product([wg.jacfwd, wg.jacrev], repeat=3)]
    for tensor in tensors:
        np.testing.assert_allclose(tensor, tensors[0], rtol=1e-12, atol=1e-12)
        for axes in itertools.permutations(range(3)):
            np.testing.assert_allclose(tensor, tensor.transpose(axes), rtol=1e-12, atol=1e-12)


def test_functions_are_no_results() -> None:
    """The amazing bug (Manzyuk and others, 2019) needs derivatives of functions, which transforms refuse."""
    for transform in (wg.derivative, wg.grad, wg.jacfwd, wg.jacrev):
        with pytest.raises((DtypeError, TypeError), match="function"):
            transform(lambda u: lambda x: np.exp(x + u))(0.0)

    def shifted(f: Scalar) -> Scalar:
        return lambda x: wg.derivative(lambda u: f(x + u))(0.0)

    np.testing.assert_allclose(shifted(shifted(np.exp))(1.0), np.e, rtol=1e-15)


# -- drawn programs against polynomials ------------------------------------------------------------------


class Polynomial:
    """A polynomial in numbered variables: the exact result of a drawn program."""

    def __init__(self, terms: dict[tuple[int, ...], float]) -> None:
        self.terms = terms  # the sorted variables of each product, with its coefficient

    @staticmethod
    def of(value: Any) -> Polynomial:
        return value if isinstance(value, Polynomial) else Polynomial({(): float(value)})

    def __add__(self, other: Any) -> Polynomial:
        terms = dict(self.terms)
        for product, coefficient in Polynomial.of(other).terms.items():
            terms[product] = terms.get(product, 0.0) + coefficient
        return Polynomial(terms)

    def __mul__(self, other: Any) -> Polynomial:
        terms: dict[tuple[int, ...], float] = {}
        for (a, x), (b, y) in itertools.product(self.terms.items(), Polynomial.of(other).terms.items()):
            product = tuple(sorted(a + b))
            terms[product] = terms.get(product, 0.0) + x * y
        return Polynomial(terms)

    __radd__, __rmul__ = __add__, __mul__

    def derivative(self, variable: int) -> Polynomial:
        terms: dict[tuple[int, ...], float] = {}
        for product, coefficient in self.terms.items():
            if power := product.count(variable):
                position = product.index(variable)
                terms[product[:position] + product[position + 1 :]] = power * coefficient
        return Polynomial(terms)

    def at(self, variable: int, value: Any) -> Polynomial:
        total = Polynomial({})
        for product, coefficient in self.terms.items():
            term = Polynomial({tuple(v for v in product if v != variable): coefficient})
            for _ in range(product.count(variable)):
                term = term * value
            total = total + term
        return total


def symbolic(way: str, function: Scalar, point: Any, depth: int) -> Any:
    return Polynomial.of(function(Polynomial({(depth,): 1.0}))).derivative(depth).at(depth, point)


def numeric(way: str, function: Scalar, point: Any, depth: int) -> Any:
    return WAYS[way](function)(point)


#: A program: a sum of products of variables, and of derivatives of inner programs times a variable.
Level = tuple[list[tuple[float, list[int]]], list[tuple[str, int, int, Any]]]


def levels(depth: int) -> st.SearchStrategy[Level]:
    picks = st.integers(0, 7)
    product = st.tuples(st.sampled_from([1.0, -0.5, 2.0]), st.lists(picks, max_size=3))
    inner = st.lists(
        st.tuples(st.sampled_from(list(WAYS)), picks, picks, st.deferred(lambda: levels(depth - 1))),
        min_size=1,
        max_size=2 if depth > 2 else 1,
    )
    return st.tuples(st.lists(product, min_size=1, max_size=3), inner if depth else st.just([]))


def run(level: Level, variables: list[Any], differentiate: Callable[..., Any]) -> Any:
    products, inner = level
    total: Any = 0.0
    for coefficient, picks in products:
        term: Any = coefficient
        for pick in picks:
            term = term * variables[pick % len(variables)]
        total = total + term
    for way, factor, point, body in inner:

        def function(y: Any, body: Level = body) -> Any:
            return run(body, [*variables, y], differentiate) * y

        slope = differentiate(way, function, variables[point % len(variables)], len(variables))
        total = total + slope * variables[factor % len(variables)]
    return total


@examples(60)
@given(level=levels(3), ways=st.lists(st.sampled_from(list(WAYS)), min_size=1, max_size=2))
def test_drawn_nests_of_derivatives(level: Level, ways: list[str]) -> None:
    exact: Any = Polynomial.of(run(level, [Polynomial({(0,): 1.0})], symbolic))

    def function(x: Any) -> Any:
        return run(level, [x], numeric) * 1.0

    derivative: Scalar = function
    for way in ways:
        exact, derivative = exact.derivative(0), WAYS[way](derivative)
    x = 0.75
    expected = sum(exact.at(0, Polynomial.of(x)).terms.values())
    scale = sum(map(abs, exact.at(0, Polynomial.of(x)).terms.values())) + 1.0
    np.testing.assert_allclose(derivative(x), expected, rtol=1e-9, atol=1e-9 * scale)


# -- batches -----------------------------------------------------------------------------------------------


def test_batches_inside_gradients_inside_batches() -> None:
    w, xs = np.array([0.5, 1.5]), np.arange(12.0).reshape(3, 2, 2) / 10

    def loss(w: Any, x: Any) -> Any:
        return np.sum(wg.vmap(lambda row: np.sin(row @ w) * w[0])(x))

    actual = wg.vmap(wg.grad(loss), (None, 0))(w, xs)
    expected = np.stack([wg.grad(lambda w, x=x: sum(np.sin(row @ w) * w[0] for row in x))(w) for x in xs])
    np.testing.assert_allclose(actual, expected, rtol=1e-13)


def test_a_batch_of_jacobians_of_batches() -> None:
    xs = np.arange(1.0, 13.0).reshape(2, 3, 2)

    def squares(x: Any) -> Any:
        return wg.vmap(lambda row: row**2 * np.sum(row))(x)

    for jacobian in (wg.jacfwd, wg.jacrev, wg.jacobian):
        actual = wg.vmap(jacobian(squares))(xs)
        assert actual.shape == (2, 3, 2, 3, 2)
        for x, item in zip(xs, actual, strict=True):
            for row, block in enumerate(np.einsum("iaib->iab", item)):
                expected = np.diag(2 * x[row] * x[row].sum()) + x[row][:, None] ** 2
                np.testing.assert_allclose(block, expected, rtol=1e-14)
            assert np.count_nonzero(item) == 3 * 4


def test_batches_close_over_outer_batches() -> None:
    xs, ys, zs = np.arange(2.0), np.arange(3.0), np.arange(4.0)
    table = wg.vmap(lambda x: wg.vmap(lambda y: wg.vmap(lambda z: x + 10 * y + 100 * z)(zs))(ys))(xs)
    np.testing.assert_array_equal(table, xs[:, None, None] + 10 * ys[:, None] + 100 * zs)
    same = wg.vmap(lambda x: wg.vmap(lambda y: x)(ys))(xs)
    np.testing.assert_array_equal(same, xs[:, None] + 0 * ys)


def test_a_gradient_through_gradients_of_each_example() -> None:
    xs = np.array([0.5, 1.0, 1.5])

    def penalty(w: Any) -> Any:
        slopes = wg.vmap(wg.grad(lambda x: np.tanh(w * x)))(xs)
        return np.sum(slopes**2)

    w = 0.75
    s = 1 / np.cosh(w * xs) ** 2
    expected = np.sum(2 * w * s**2 - 4 * w**2 * xs * s**2 * np.tanh(w * xs))
    for derivative in (wg.grad, wg.derivative):
        np.testing.assert_allclose(derivative(penalty)(w), expected, rtol=1e-13)


def test_a_pullback_may_be_batched_and_differentiated() -> None:
    x = np.array([0.5, 1.5])
    _, pullback = wg.vjp(lambda x: np.sin(x) * x[::-1], x)
    rows = wg.vmap(lambda v: pullback(v)[0])(np.eye(2))
    np.testing.assert_allclose(rows, wg.jacrev(lambda x: np.sin(x) * x[::-1])(x), rtol=1e-15)
    # A pullback is linear in its cotangent: its own derivative is its transpose.
    np.testing.assert_allclose(wg.jacfwd(lambda v: pullback(v)[0])(np.ones(2)), rows.T, rtol=1e-15)


# -- programs -----------------------------------------------------------------------------------------------


def test_learning_to_learn() -> None:
    """The derivative of a trained loss with respect to the learning rate, through all training steps."""
    x, y = np.array([0.5, 1.0, 2.0]), np.array([1.0, 0.5, 3.0])

    def loss(w: Any) -> Any:
        return np.mean((np.tanh(w[0] * x) * w[1] - y) ** 2)

    def trained(rate: Any) -> Any:
        w = np.array([0.1, 1.0])
        for _ in range(4):
            w = w - rate * wg.grad(loss)(w)
        return loss(w)

    step = 2.0**-12
    expected = (
        8 * (trained(0.2 + step) - trained(0.2 - step)) - (trained(0.2 + 2 * step) - trained(0.2 - 2 * step))
    ) / (12 * step)
    for derivative in (wg.grad, wg.derivative):
        np.testing.assert_allclose(derivative(trained)(0.2), expected, rtol=1e-9)


def test_an_inner_program_writes_into_an_outer_array() -> None:
    def function(x: Any) -> Any:
        seen = x * 1.0

        def inner(y: Any) -> Any:
            seen[0] = seen[0] * x[1]  # outer values only: the write lasts
            return y * seen[0]

        return wg.grad(inner)(2.0) + np.sum(seen)

    x = np.array([3.0, 5.0])
    np.testing.assert_array_equal(wg.grad(function)(x), [10.0, 7.0])
    np.testing.assert_array_equal(wg.jacfwd(function)(x), [10.0, 7.0])


@pytest.mark.parametrize("way", TWO)
def test_an_inner_value_written_outside_does_not_outlive_its_transform(way: str) -> None:
    def function(x: Any) -> Any:
        seen = x * 1.0

        def inner(y: Any) -> Any:
            seen[0] = y * x[1]
            return seen[0] * y

        slope = WAYS[way](inner)(2.0)
        return slope + np.sum(seen)

    with pytest.raises(LeakError):
        wg.grad(function)(np.array([3.0, 5.0]))


def test_stop_gradient_holds_for_all_levels() -> None:
    def function(x: Any) -> Any:
        return wg.grad(lambda y: wg.stop_gradient(y) * y * x)(x)

    assert function(3.0) == 9.0
    assert wg.grad(function)(3.0) == 3.0  # x y = x^2, differentiated by the factor x only


def test_branches_in_inner_programs() -> None:
    def inner(y: Any, x: Any) -> Any:
        return y * y if y > x else y * x

    for outer, way in itertools.product(TWO, TWO):
        D, d = WAYS[outer], WAYS[way]
        assert D(lambda x, d=d: x * d(lambda y: inner(y, x))(3.0))(2.0) == 6.0
        assert D(lambda x, d=d: x * d(lambda y: inner(y, x))(1.0))(2.0) == 4.0


def test_deep_nests() -> None:
    function: Scalar = np.exp
    for depth in range(6):
        function = WAYS[TWO[depth % 2]](function)
    np.testing.assert_allclose(function(0.5), np.exp(0.5), rtol=1e-14)
