"""Powers of what a loop does not change: the logarithm is computed once, and the bits stay the same."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import wengert as wg

BASES = [1.5, 0.7, 1.0, 0.0, -0.0, -1.0, -2.5, np.inf, -np.inf, np.nan, 5e-324, 1e30]
EXPONENTS = [0.0, -0.0, 1.0, -3.0, 2.5, 1e9, -1e9, np.inf, -np.inf, np.nan, 0.1, 745.0]


def of_a_fixed_base(base: Any, exponents: Any) -> Any:
    results, last = np.zeros_like(exponents), 0.0
    for k in range(len(exponents)):
        if last == 3.0:
            break
        last = base ** exponents[k]
        results[k] = last
    return results


def with_a_fixed_exponent(base: Any, exponents: Any) -> Any:
    results, last = np.zeros_like(exponents), base
    for k in range(len(exponents)):
        if last == 3.0:
            break
        last = (base + exponents[k]) ** exponents[0]
        results[k] = last
    return results


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits_are_those_of_powers_out_of_loops(dtype: str) -> None:
    in_loop, apart = wg.jit(of_a_fixed_base), wg.jit(np.power)
    exponents = np.array(EXPONENTS, dtype)
    for base in np.array(BASES, dtype):
        expected = [apart(base, exponent) for exponent in exponents]
        np.testing.assert_array_equal(in_loop(base, exponents).view("u1"), np.array(expected).view("u1"))


def test_powers_of_a_fixed_base_alone_are_copied_into_the_loop() -> None:
    for function, is_copied in ((of_a_fixed_base, True), (with_a_fixed_exponent, False)):
        text = wg.jit(function).llvm(np.float64(1.1), np.array(EXPONENTS))
        calls = re.findall(r"call double @wengert.power.*", text)
        assert calls
        assert all(("alwaysinline" in call) == is_copied for call in calls)


def test_derivatives_are_those_of_eager_mode(rng: np.random.Generator) -> None:
    exponents = rng.normal(size=7)

    def total(base: Any) -> Any:
        return np.sum(of_a_fixed_base(base, exponents) * np.arange(7))

    for base, order in itertools.product((0.4, 2.0), (1, 2)):
        slope = total
        for _ in range(order):
            slope = wg.grad(slope)
        np.testing.assert_allclose(wg.jit(slope)(base), slope(base), rtol=1e-12)
