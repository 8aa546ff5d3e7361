"""Powers with a constant integer exponent, in particular at 0, where a factor x^(n-1) may be infinite."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

MODES: dict[str, Callable[..., Any]] = {
    "reverse": wg.grad,
    "forward": lambda f: lambda x: wg.jvp(f, (x,), (1.0,))[1],
    "series": wg.derivative,
    "compiled": lambda f: wg.jit(wg.grad(f)),
    "batched": lambda f: lambda x: wg.vmap(wg.grad(f))(np.array([x, x]))[1],
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("exponent", range(6))
def test_derivatives_of_every_order(mode, exponent):
    derive = MODES[mode]
    for x in (0.0, -1.5):

        def function(x):
            return x**exponent

        for order in range(1, 4) if mode in ("reverse", "forward") else (1,):
            function = derive(function)
            factor = math.perm(exponent, order)
            expected = factor * x ** (exponent - order) if factor else 0.0
            np.testing.assert_allclose(function(x), expected, rtol=1e-14)
