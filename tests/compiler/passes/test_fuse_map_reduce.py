"""Large maps fused with long sums of their results or operands: one nest gives the results of two."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import check
from tests.draws import examples
from wengert.compiler.llvm.host import host

RNG = np.random.default_rng(0)


def normal(*shape: int, dtype: str = "float64") -> Any:
    return RNG.normal(size=shape).astype(dtype)


def loss_and_gradient(x: Any, y: Any) -> Any:
    return wg.value_and_grad(lambda x: np.mean((np.tanh(x) - y) ** 2))(x)


def several_sums(x: Any, y: Any) -> Any:
    return np.sum(x * x), np.sum(np.abs(x)), np.sum(x - y), x * y + 1


def two_maps(x: Any, y: Any) -> Any:
    return np.sum(x * y), x + y, x - y


def made_and_kept(x: Any, y: Any) -> Any:
    z = np.exp(x * y)
    return np.sum(z), z, np.cos(z)


def rows(x: Any, y: Any) -> Any:
    return np.sum(x * y, axis=-1), np.exp(x)


def variance(x: Any, y: Any) -> Any:
    return wg.value_and_grad(lambda x: np.var(np.exp(x)))(x)


def of_the_sum(x: Any, y: Any) -> Any:
    return np.sum(x), x / np.sum(x * x)


def of_neighbours(x: Any, y: Any) -> Any:
    return np.sum(x), np.roll(x, 1, axis=-1) * y


def exchanged(x: Any, y: Any) -> Any:
    return np.sum(x), np.ravel(x.T) * 2


def columns(x: Any, y: Any) -> Any:
    return np.sum(x * y, axis=0), np.exp(x)


JOINED = {f.__name__: f for f in (loss_and_gradient, several_sums, two_maps, made_and_kept, rows, variance)}
APART = {f.__name__: f for f in (of_neighbours, exchanged)}
BOTH = {**JOINED, **APART, "columns": columns, "of_the_sum": of_the_sum}


def along(function: Callable[..., Any], *arguments: Any, **options: Any) -> int:
    """Return how many arrays are written along sums, those for the rest of a sum that is split left out."""
    report = wg.jit(function, **options).report(*arguments)
    return sum(nest.text.count("along") for nest in report.nests if nest.text.startswith("nest i"))


@pytest.mark.parametrize("name", JOINED)
def test_joined(name: str) -> None:
    arguments = normal(300, 250), normal(300, 250)
    check(JOINED[name], *arguments, ulp=1000, scale=10.0)
    assert along(JOINED[name], *arguments) >= 1


@pytest.mark.parametrize("name", APART)
def test_apart(name: str) -> None:
    arguments = normal(300, 250), normal(300, 250)
    check(APART[name], *arguments, ulp=1000, scale=10.0)
    assert along(APART[name], *arguments) == 0


def of_different_arrays(x: Any, y: Any) -> Any:
    return np.sum(x, -1) / np.sum(y * y, -1) - np.max(np.exp(y), -1)


def of_positions(x: Any, y: Any) -> Any:
    return np.sum(x, -1) * np.argmax(y, -1)


def of_products(x: Any, y: Any) -> Any:
    return (x @ y.T) * (y @ y.T)


@pytest.mark.parametrize(
    ("function", "loops"), [(of_different_arrays, 1), (of_positions, 2), (of_products, 2)]
)
def test_reductions_over_as_many_elements_share_a_loop(function: Callable[..., Any], loops: int) -> None:
    x, y = normal(30, 47), normal(30, 47)
    check(function, x, y, ulp=1000, scale=10.0)
    (nest,) = wg.jit(function).report(x, y).nests
    assert len(set(re.findall(r"(\w+)<47", nest.text))) == loops


def test_what_only_the_sum_needs_is_not_stored() -> None:
    x, y = normal(300, 250), normal(300, 250)
    assert wg.jit(loss_and_gradient).report(x, y).arena < x.nbytes / 10
    assert along(several_sums, x, y) == 1
    assert len(wg.jit(several_sums).report(x, y).nests) <= 3


def stages(x: Any, y: Any) -> Any:
    """Return many sums along a chain of maps, each of which is kept."""
    sums, kept = [], []
    for _ in range(12):
        x = np.sin(x + y)
        sums.append(np.sum(x * y))
        kept.append(x)
    return kept, np.stack(sums)


def test_nothing_is_computed_twice() -> None:
    x, y = normal(70_000), normal(70_000)
    check(stages, x, y, ulp=3000, scale=100.0)
    assert wg.jit(stages).report(x, y).operations < 70_000 * 12 * 4.5
    report = wg.jit(loss_and_gradient).report(x, y)
    assert report.operations < 70_000 * 12


def test_few_arrays_go_through_one_loop() -> None:
    def scaled(x: Any, y: Any) -> Any:
        return [x * k for k in range(30)], np.sum(x), [np.sum(x * x + k) for k in range(30)]

    x, y = normal(70_000), normal(70_000)
    check(scaled, x, y, ulp=3000, scale=100.0)
    assert 1 <= max(nest.text.count("along") for nest in wg.jit(scaled).report(x, y).nests) <= 8


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_short_rows(dtype: str) -> None:
    x = (9 * normal(30_000, 3)).astype(dtype)
    check(rows, x, x, ulp=100, scale=10.0)
    if 3 * x.itemsize < host().vector_bytes:
        assert along(rows, x, x) == 0


def test_small_maps_stay_apart() -> None:
    assert along(loss_and_gradient, normal(100, 25), normal(100, 25)) == 0


@pytest.mark.parametrize(
    "shape", [pytest.param((65_537,), marks=pytest.mark.exhaustive), (1 << 17,), (1000, 67), (3, 43_691)]
)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_rest_of_a_sum(shape: tuple[int, ...], threads: int) -> None:
    """Sums of more than whole parts, of more than whole vectors; the map is written everywhere, and once."""
    before = wg.get_threads()
    wg.set_threads(threads)
    try:
        x, y = normal(*shape, dtype="float32"), normal(*shape, dtype="float32")
        check(several_sums, x, y, ulp=3000, scale=300.0)
        check(wg.value_and_grad(lambda x: np.sum(x**3)), x, ulp=3000, scale=300.0)
    finally:
        wg.set_threads(before)


def test_in_place() -> None:
    """A map overwrites an operand of the sum: the sum reads the values before."""

    def step(x: Any, g: Any) -> Any:
        return x - 0.1 * g, np.sum(x * g), np.sum(x)

    x, g = normal(90_001), normal(90_001)
    expected = step(x, g)
    check(step, np.array(x), g, ulp=1000, scale=100.0, compiled=wg.jit(step, donate=0))
    assert along(step, x, g, donate=0) == 1
    np.testing.assert_allclose(expected[0], x - 0.1 * g)


def test_a_sum_of_what_is_overwritten_in_another_order() -> None:
    def step(x: Any) -> Any:
        return x[::-1] * 2, np.sum(x), np.sum(x[::2])

    x = normal(90_001)
    check(step, np.array(x), ulp=1000, scale=100.0, compiled=wg.jit(step, donate=0))


def test_in_a_loop() -> None:
    def descent(x: Any, y: Any) -> Any:
        def body(x: Any, _: Any) -> Any:
            value, gradient = loss_and_gradient(x, y)
            return x - 100 * gradient, value

        return wg.scan(body, x, np.arange(4))

    check(descent, normal(70_000), normal(70_000), ulp=1000, scale=10.0)


@pytest.mark.usefixtures("small")
@examples(60)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.sampled_from([*BOTH]),
    st.sampled_from(["float32", "float64"]),
)
def test_drawn_shapes(shape: list[int], name: str, dtype: str) -> None:
    x, y = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype)
    check(BOTH[name], x, y, ulp=2000, scale=30.0)


@pytest.mark.usefixtures("small")
def test_integers() -> None:
    x = RNG.integers(-9, 9, (40, 37))
    check(lambda x: (np.sum(x * x), x + 1, np.sum(x, axis=1)), x)
