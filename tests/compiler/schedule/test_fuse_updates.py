"""Matrices that a product reads and an update writes: one sweep does both, and gives what two did."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import check
from tests.draws import examples
from wengert import optim

RNG = np.random.default_rng(0)


def normal(*shape: int, dtype: str = "float64") -> Any:
    return RNG.normal(size=shape).astype(dtype)


def swept(function: Callable[..., Any], *arguments: Any, **options: Any) -> int:
    """Return how many nests write along a sum."""
    report = wg.jit(function, **options).report(*arguments)
    return sum("along" in nest.text for nest in report.nests)


def product_and_update(w: Any, g: Any, x: Any) -> Any:
    return w @ g, w - 0.1 * x[:, None] * g


def columns(w: Any, g: Any, x: Any) -> Any:
    return x @ w, w - 0.1 * x[:, None] * g


def two_updates(w: Any, g: Any, x: Any) -> Any:
    return w @ g, w * 2, (w + x[:, None] > 0) & (w < 1)


def of_the_product(w: Any, g: Any, x: Any) -> Any:
    y = w @ g
    return y, w - 0.1 * y[:, None] * g


def of_another_row(w: Any, g: Any, x: Any) -> Any:
    return w @ g, w[::-1] - x[:, None]


def exchanged(w: Any, g: Any, x: Any) -> Any:
    return w @ g, w.T * 2


JOINED = {"rows": product_and_update, "columns": columns, "two updates": two_updates}
APART = {"of the product": of_the_product, "of another row": of_another_row, "exchanged": exchanged}


@pytest.mark.parametrize("name", JOINED)
def test_joined(name: str) -> None:
    arguments = normal(40, 50), normal(50), normal(40)
    check(JOINED[name], *arguments, ulp=100, scale=10.0)
    assert swept(JOINED[name], *arguments) == 1


@pytest.mark.parametrize("name", APART)
def test_apart(name: str) -> None:
    arguments = normal(40, 50), normal(50), normal(40)
    check(APART[name], *arguments, ulp=100, scale=10.0)
    assert swept(APART[name], *arguments) == 0


def training(optimiser: Any) -> Callable[..., Any]:
    """Return steps of an optimiser, an example each, on a network of three layers."""

    def loss(weights: Any, x: Any) -> Any:
        hidden = x
        for w in weights[:-1]:
            hidden = np.tanh(hidden @ w)
        return np.sum((hidden @ weights[-1] - x) ** 2)

    def step(carry: Any, x: Any) -> Any:
        weights, state = carry
        value, gradients = wg.value_and_grad(loss)(weights, x)
        return optimiser.update(gradients, state, weights), value

    def steps(carry: Any, xs: Any) -> Any:
        return wg.scan(step, carry, xs)

    return steps


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("optimiser", [optim.sgd(0.02), optim.momentum(0.01), optim.adam(0.01)])
def test_training(optimiser: Any, threads: int) -> None:
    """The step that reads what the one before it wrote, by rows and by columns."""
    widths = (70, 130, 96, 70)
    weights = [normal(a, b) / np.sqrt(a) for a, b in itertools.pairwise(widths)]
    carry, xs = (weights, optimiser.init(weights)), normal(6, 70)
    steps = training(optimiser)
    before = wg.get_threads()
    wg.set_threads(threads)
    try:
        check(steps, carry, xs, ulp=1e5, scale=1.0)
    finally:
        wg.set_threads(before)
    assert swept(steps, carry, xs) >= 1


def test_sums_over_rows_are_in_parts() -> None:
    """Threads that wrote rows read rows: the forward product of a large matrix is that of parts of it."""
    steps, sgd = training(optim.sgd(0.001)), optim.sgd(0.001)
    weights = [normal(300, 320) / 20, normal(320, 400) / 20, normal(400, 300) / 20]
    carry = weights, sgd.init(weights)
    xs = normal(3, 300)
    check(steps, carry, xs, ulp=1e5, scale=1.0)
    origins = [nest.fused for nest in wg.jit(steps).report(carry, xs).nests]
    assert any("parts" in names for names in origins)


def test_the_diagonal_of_what_is_swept() -> None:
    def function(w: Any, g: Any) -> Any:
        return w @ g, w * 2, np.sum(np.diagonal(w) * g)

    arguments = normal(320, 320), normal(320)
    check(function, *arguments, ulp=500, scale=10.0)
    assert swept(function, *arguments) == 1


def beside_a_product(w: Any, g: Any, x: Any) -> Any:
    return w @ g, x @ w


def test_copies_into_panels_are_not_joined() -> None:
    arguments = (normal(*shape, dtype="float32") for shape in ((1024, 1024), (1024,), (512, 1024)))
    check(beside_a_product, *arguments, ulp=1000, scale=100.0)


def test_expressions_that_share_their_parts_take_no_longer() -> None:
    """A value that is used twice, fifty times over, has 2**50 ways from its end to its beginning."""

    def function(w: Any, g: Any) -> Any:
        x = w
        for _ in range(50):
            x = 0.5 * (x * x + x)
        return w @ g, x

    check(function, normal(40, 50) / 10, normal(50), ulp=100, scale=1.0)


SIZES = st.integers(1, 70)


@pytest.mark.usefixtures("small")
@examples(25)
@given(SIZES, SIZES, st.sampled_from([*JOINED, *APART]), st.sampled_from(["float32", "float64"]))
def test_drawn_shapes(rows: int, terms: int, name: str, dtype: str) -> None:
    arguments = (normal(*shape, dtype=dtype) for shape in ((rows, terms), (terms,), (rows,)))
    check({**JOINED, **APART}[name], *arguments, ulp=200, scale=10.0)


@pytest.mark.usefixtures("small")
@examples(15)
@given(SIZES, SIZES, SIZES, st.sampled_from(["float32", "float64"]))
def test_drawn_shapes_beside_a_product(rows: int, terms: int, batch: int, dtype: str) -> None:
    arguments = (normal(*shape, dtype=dtype) for shape in ((rows, terms), (terms,), (batch, rows)))
    check(beside_a_product, *arguments, ulp=200, scale=20.0)
