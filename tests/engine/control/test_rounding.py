"""Choices of the pass backward are those of the pass forward, where it computes again what they compare."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.engine.control.writing import function

N = 12


def _check(program: Any, seed: int) -> None:
    x, w = np.random.default_rng(seed).normal(size=(2, N))
    slope: Any = wg.grad(program, (0, 1))
    for value, item in zip(wg.jit(slope)(x, w), slope(x, w), strict=True):
        np.testing.assert_allclose(value, item, rtol=1e-9, atol=1e-11)


def _of_numbers(x: Any, w: Any) -> Any:
    """A product of which a sum is a part, and of which something else is one, too."""
    if x[0] < -1e300:
        raise ValueError("so small")
    total = 0.0
    for i in range(len(x)):
        product = w[i] * x[i]
        y = np.maximum(product + 0.3, 0.0)
        total += y * y + 0.3 * product
    return total


def _of_arrays(x: Any, w: Any) -> Any:
    if x[0] < -1e300:
        raise ValueError("so small")
    total, s = 0.0, np.sin(w)
    for i in range(len(x)):
        product = x[i] * s
        y = np.maximum(product + w, 0.0)
        total += np.sum(y * np.sin(s) + 0.3 * product)
        s = np.cos(s + y) * y
    return total


def _of_tapes(x: Any, w: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        s, k = 1.0, 0
        while s < 3.0 and k < 20:
            product = s * x[i]
            y = np.minimum(product + 0.1, 0.7)
            s = 1.1 * s + 0.01 * y + 0.01 * product + 0.01 * np.maximum(w[i] * x[i] + 0.2, 0.1 * s)
            k += 1
        total += s
    return total


@pytest.mark.parametrize("program", [_of_numbers, _of_arrays, _of_tapes])
def test_gradients_of_choices_are_those_of_python(program: Any) -> None:
    _check(program, 1)


_CHOICES = (
    *("np.maximum({u}, {v})", "np.minimum({u}, 0.1)", "np.abs({u})", "np.clip({u}, -0.4, 0.4)"),
    *("np.where({u} > {v}, {v}, 0.2 * {u})", "np.maximum({u}, 0.0)"),
)
_SMOOTH = (
    "np.sin({u})",
    "{u} * {v}",
    "{u} + {v}",
    "{u} * {v} + 0.3",
    "{u} - {v} * {v}",
    "np.tanh({u} * {v})",
    "0.3 * {u}",
)


def _drawn(seed: int) -> str:
    """Return a program whose loops choose between sums of products that it uses elsewhere as well."""
    draw = random.Random(seed)
    is_array, kind = draw.random() < 0.4, draw.choice(("for", "for", "while", "nest"))
    lines = ["s, t = w.copy(), 0.0" if is_array else "s, t = 0.5, 0.0", "for i in range(1, len(x)):"]
    inside = "    "
    if kind == "nest":
        lines.append("    for j in range(i % 3):")
        inside = "        "
    elif kind == "while":
        lines += ["    k = 0", "    while k < 4 and np.sum(s) < 50.0:", "        k += 1"]
        inside = "        "
    names = ["s", "x[i]", "w[i]", "x[i - 1]", *(("x", "w") if is_array else ())]
    for number in range(draw.randint(3, 7)):
        forms = _CHOICES if draw.random() < 0.35 else _SMOOTH
        u, v = draw.choice(names), draw.choice(names)
        lines.append(f"{inside}y{number} = {draw.choice(forms).format(u=u, v=v)}")
        names += [f"y{number}"] * 3
    lines.append(f"{inside}t += np.sum({' + '.join(draw.choices(names, k=3))})")
    lines.append(f"{inside}s = np.tanh({draw.choice(names)} + 0.7 * s)")
    body = "".join(f"    {line}\n" for line in lines)
    head = 'def program(x, w):\n    if x[0] < -1e300:\n        raise ValueError("so small")\n'
    return f"{head}{body}    return t + np.sum(s)\n"


@pytest.mark.parametrize("seed", range(many(1)))
def test_gradients_of_drawn_choices_are_those_of_python(seed: int) -> None:
    _check(function(_drawn(seed)), seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 1_100, 20))
def test_gradients_of_many_drawn_choices_are_those_of_python(first: int) -> None:
    for seed in range(first, first + 20):
        _check(function(_drawn(seed)), seed)
