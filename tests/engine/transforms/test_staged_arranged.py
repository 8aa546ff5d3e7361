"""Lists whose length only a run knows, sorted, reversed, joined and repeated: compiled, they are Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.transforms.staging import evaluate

_X = np.array([0.3, -1.2, 0.7, 2.5, -0.4, 0.9])


def median(x: Any) -> Any:
    chosen = sorted(v for v in x if v > -1)
    n = len(chosen)
    return chosen[n // 2] if n % 2 else 0.5 * (chosen[n // 2] + chosen[n // 2 - 1])


def ranked(x: Any) -> Any:
    chosen: list[Any] = []
    for v in x:
        if v > 0:
            chosen.append(v)
    chosen.sort(reverse=True)
    total = 0.0
    for k, v in enumerate(chosen):
        total += k * v
    return total + 0.1 * sorted(chosen)[0]


def two_sides(x: Any) -> Any:
    low, high = [0.0], [0.0]
    for v in x:
        (low if v < 0 else high).append(v)
    return sum(low) + 2.0 * sum(high) * len(low)


def merged(x: Any) -> Any:
    a = sorted(v for v in x[:3] if v > -9)
    b = sorted(v for v in x[3:] if v > -9)
    i, j = 0, 0
    out: list[Any] = []
    while i < len(a) and j < len(b):
        if a[i] < b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    out = out + a[i:] + b[j:]
    return out[0] + 2.0 * out[-1] + 3.0 * out[3] + len(out)


def joined(x: Any) -> Any:
    path: list[Any] = []
    for v in x:
        if v > 0:
            path = path + [v, -0.5 * v]  # noqa: RUF005 (what the test is about)
    path.reverse()
    wide = [1.0] + path * 2
    return wide[1] + wide[-1] * len(wide) + sum(wide[::2])


def of_three(x: Any) -> Any:
    total = 0.0
    for i in range(len(x) - 2):
        low, middle, high = sorted([x[i], x[i + 1], x[i + 2]])
        if middle > 0:
            total += high * middle - low
    return total + sorted(x, reverse=True)[1]


def extrema(x: Any) -> Any:
    least = min((v for v in x if v > 0), default=7.0)
    return least + max((v * v for v in x if v > 9), default=1.0)


PROGRAMS = [median, ranked, two_sides, merged, joined, of_three, extrema]


@pytest.mark.parametrize("function", [ranked, two_sides, joined])
def test_traces_of_programs_are_pythons(function: Any) -> None:
    graph = wg.trace(function)(_X)
    for x in (_X, -_X):
        np.testing.assert_allclose(evaluate(graph, x)[0], function(x), rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("function", PROGRAMS)
def test_programs_are_pythons(function: Any) -> None:
    for x in (_X, -_X):
        np.testing.assert_allclose(wg.jit(function)(x), function(x), rtol=1e-14)
        found = wg.jit(wg.grad(function))(x)
        np.testing.assert_allclose(found, wg.grad(function)(x), rtol=1e-13)
    np.testing.assert_allclose(
        wg.vmap(function)(np.stack([_X, -_X])), [function(_X), function(-_X)], rtol=1e-14
    )


def test_signs_of_zeros_keep_their_order() -> None:
    def program(x: Any) -> Any:
        chosen: list[Any] = []
        for v in x:
            if v < 5:
                chosen.append(v)
        up, down = sorted(chosen), sorted(chosen, reverse=True)
        return up[0], up[1], down[0], down[1]

    x = np.array([0.0, 9.0, -0.0])
    np.testing.assert_array_equal(np.signbit(wg.jit(program)(x)), np.signbit(program(x)))


@pytest.mark.slow
def test_bits_of_an_integer() -> None:
    def program(n: Any) -> Any:
        bits: list[Any] = []
        while n > 0:
            bits = bits + [n % 2]  # noqa: RUF005 (what the test is about)
            n //= 2
        bits.reverse()
        value = 0
        for bit in bits:
            value = 3 * value + bit
        return value, len(bits)

    for n in (9, 1, 0, 1000):
        assert wg.jit(program)(n) == program(n)


def test_tuples_that_known_parts_order() -> None:
    def program(x: Any) -> Any:
        pairs = sorted({"b": x[0], "a": x[1] > 0, "c": "text"}.items(), reverse=True)
        places = [(2, x[1], "q"), (1, x[0], None)]
        places.sort()
        return x[0] + 10.0 * (pairs[1][0] == "b") + places[0][1]

    assert wg.jit(program)(_X) == program(_X)
