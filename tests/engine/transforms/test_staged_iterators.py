"""Iterators that a program goes through more than once, or in parts: Python's result, or a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

ITERATORS = (
    "zip(x, x[::-1])",
    "enumerate(x)",
    "zip(range(6), x)",
    "enumerate([0.01 * k for k in range(40)])",
    "reversed([*zip(range(6), x)])",
    "map(lambda v: (v, 2.0), x)",
    "iter([(v, 1.0) for v in x])",
    "((v, 1.0) for v in x)",
    "itertools.product(range(3), range(4))",
)
USES = (
    "for u, v in z: s = step(s, u, v)\n    for u, v in z: s = s + 100.0",
    "for k in range(2):\n        for u, v in z: s = step(s, u, v)",
    "for k in range(6):\n        s = step(s, *next(z, (1.0, 1.0)))",
    "s = s + sum(u * v for u, v in z) + sum(u + v for u, v in z)",
    "s = s + next(z)[1]\n    for u, v in z: s = step(s, u, v)",
    "for u, v in z:\n        s = step(s, u, v)\n        if s > 1.0: break\n    for u, v in z: s = s + u",
    "if x[1] > 0.5:\n        for u, v in z: s = step(s, u, v)\n    for u, v in z: s = s + 10.0 * v",
    "l = [u for u, v in z if v > 0.3]\n    s = s + sum(l) + sum(v for u, v in z)",
    "s = s + (5.0 if any(v > 0.65 for u, v in z) else 1.0) + sum(v for u, v in z)",
    "s = s + (5.0 if all(v > 0.35 for u, v in z) else 1.0) + sum(v for u, v in z)",
    "s = s + (5.0 if (x[3], x[2]) in z else 1.0) + sum(v for u, v in z)",
    "s = s + max(v for u, v in z) + sum(v for u, v in z)",
    "while s < 2.0:\n        s = s + 0.5\n        for u, v in z: s = step(s, u, v)",
    "a, b = list(z), list(z)\n    s = s + len(a) + 10.0 * len(b) + a[0][1]",
    "for u, v in zip(x, z): s = step(s, u, v[1])\n    s = s + sum(v for u, v in z)",
)


@pytest.mark.parametrize("iterator", ITERATORS)
def test_iterators(iterator: str, tmp_path: Path) -> None:
    x = np.array([0.3, 0.7, 0.6, 0.9, 0.4, 0.2])
    right = 0
    for number, use in enumerate(USES):
        source = f"""import itertools
def step(s, u, v):
    return s + u * v if v > 0.35 else 0.5 * s
def program(x):
    z, s = {iterator}, 0.0
    if x[0] > 0.1:
        s = x[0]
    {use}
    return s
"""
        file = tmp_path / f"program{number}.py"
        file.write_text(source)
        scope: dict[str, Any] = {}
        exec(compile(source, str(file), "exec"), scope)
        try:
            found = wg.jit(scope["program"])(x)
        except (wg.errors.StagingError, wg.errors.ConcreteError):
            continue
        assert found == pytest.approx(scope["program"](x), rel=1e-13), use
        right += 1
    assert right >= 2


def test_an_iterator_is_gone_through_where_it_is_made() -> None:
    def program(x: Any) -> Any:
        s = 0.0
        for _ in range(3):
            for i, (u, v) in enumerate(zip(x, x[::-1], strict=True)):
                s = s + i * u if v > 0.35 else 0.5 * s
        return s

    x = np.array([0.3, 0.7, 0.6, 0.9, 0.4, 0.2])
    assert wg.jit(program)(x) == pytest.approx(program(x), rel=1e-14)
    np.testing.assert_allclose(wg.jit(wg.grad(program))(x), wg.grad(program)(x), rtol=1e-13)
