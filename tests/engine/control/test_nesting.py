"""Control flow inside control flow, and transforms inside both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.control.running import TRANSFORMS, assert_close, check_everywhere, staged


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_scan_in_cond_in_scan(transform: str) -> None:
    def nested(x: Any, w: Any) -> Any:
        def outer(c: Any, y: Any) -> tuple[Any, Any]:
            def many(c: Any) -> Any:
                return wg.scan(lambda d, z: (np.sin(d * w) + z * c, d), c, np.array([0.1, 0.2]))[0]

            c = wg.cond(c + y > 0.5, many, lambda c: c * c - w, c)
            return c, c * y

        c, ys = wg.scan(outer, x, np.array([0.3, -0.4, 0.8]))
        return c + np.sum(ys)

    def python(x: Any, w: Any) -> Any:
        total = 0.0
        for y in (0.3, -0.4, 0.8):
            if x + y > 0.5:
                c = x
                for z in (0.1, 0.2):
                    x = np.sin(x * w) + z * c
            else:
                x = x * x - w
            total = total + x * y
        return x + total

    check_everywhere(nested, python, [(0.7, 1.1), (-0.5, 0.4)], only=[transform])


@pytest.mark.parametrize("transform", ["value", "jvp", "forward over forward"])
def test_while_in_scan_and_cond_in_while(transform: str) -> None:
    def nested(x: Any) -> Any:
        def grow(v: Any) -> Any:
            return wg.cond(v > 2.0, lambda v: v * v, lambda v: v + x, v)

        def step(c: Any, limit: Any) -> tuple[Any, None]:
            return wg.while_loop(lambda v: v < limit, grow, c), None

        return wg.scan(step, x, np.array([3.0, 30.0]))[0]

    def python(x: Any) -> Any:
        v = x
        for limit in (3.0, 30.0):
            while v < limit:
                v = v * v if v > 2.0 else v + x
        return v

    examples = [(0.7,), (1.9,), (5.0,)]
    check_everywhere(nested, python, examples, only=[transform])
    slopes = np.array([wg.grad(python)(*item) for item in examples])
    assert_close(wg.vmap(wg.grad(nested))(np.ravel(examples)), slopes)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_scan_over_a_batch_of_checkpointed_blocks(transform: str) -> None:
    def deep(x: Any, w: Any) -> Any:
        block = wg.checkpoint(lambda h, u: np.tanh(h * u) + np.sin(h) * w)
        return wg.scan(lambda h, u: (block(h, u), None), x, np.array([0.5, 1.5, -1.0]))[0]

    def python(x: Any, w: Any) -> Any:
        for u in (0.5, 1.5, -1.0):
            x = np.tanh(x * u) + np.sin(x) * w
        return x

    check_everywhere(deep, python, [(0.3, 0.9), (-1.0, 0.2)], only=[transform])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_checkpoint_around_loops_and_branches(transform: str) -> None:
    @wg.checkpoint
    def body(x: Any, w: Any) -> Any:
        x = wg.fori_loop(0, 3, lambda i, v: np.sin(v * w) + i, x)
        return wg.cond(x > 2, lambda x: x * w, lambda x: x + w, x)

    def python(x: Any, w: Any) -> Any:
        for i in range(3):
            x = np.sin(x * w) + i
        return x * w if x > 2 else x + w

    check_everywhere(body, python, [(0.3, 0.9), (1.0, -0.2)], only=[transform])


@pytest.mark.parametrize("transform", ["value", "grad", "jvp", "forward over reverse"])
def test_a_solver_inside_a_gradient_inside_a_scan(transform: str) -> None:
    """Gradient descent by scan on an energy whose gradient contains a scan."""

    def energy(x: Any, k: Any) -> Any:
        return wg.scan(lambda e, i: (e + k * np.sin(x * i) ** 2, None), 0.0, np.array([1.0, 2.0]))[0]

    def descend(x: Any, k: Any) -> Any:
        return wg.scan(lambda x, _: (x - 0.1 * wg.grad(energy)(x, k), None), x, length=2)[0]

    def python(x: Any, k: Any) -> Any:
        for _ in range(2):
            slope = sum(2 * k * i * np.sin(x * i) * np.cos(x * i) for i in (1.0, 2.0))
            x = x - 0.1 * slope
        return x

    check_everywhere(descend, python, [(0.5, 1.2), (1.0, 0.3)], only=[transform])


def test_perturbations_of_two_levels_stay_apart() -> None:
    def inner(y: Any) -> Any:
        return wg.grad(lambda x: wg.scan(lambda c, _: (c * x * y, None), x, length=2)[0])(2.0)

    # x^3 y^2: the gradient in x is 3 x^2 y^2 = 12 y^2, whose derivative in y is 24 y.
    for run in (lambda f: f, staged):
        assert_close(run(wg.grad(inner))(3.0), 72.0)
        assert_close(run(lambda y: wg.jvp(inner, (y,), (np.float64(1.0),))[1])(3.0), 72.0)


def test_third_derivatives() -> None:
    def cubic(x: Any) -> Any:
        return wg.fori_loop(0, 3, lambda i, v: v * x, 1.0)

    for run in (lambda f: f, staged):
        assert_close(run(wg.grad(wg.grad(wg.grad(cubic))))(1.7), 6.0)
        assert_close(run(wg.grad(wg.jacfwd(wg.grad(cubic))))(1.7), 6.0)


def test_linearize_keeps_python_control_flow() -> None:
    def program(x: Any) -> Any:
        y = wg.while_loop(lambda v: v < 10, lambda v: v * x, x)
        return wg.cond(y > 10, lambda y: wg.fori_loop(0, 2, lambda i, v: np.sin(v), y), lambda y: y, y)

    value, linear = wg.linearize(program, 1.7)
    expected = wg.jvp(program, (1.7,), (2.0,))
    assert_close((value, linear(2.0)), expected)


def test_variables_record_loops() -> None:
    x = wg.Variable(0.7)
    wg.scan(lambda c, y: (np.sin(c) * y, None), x, np.array([1.0, 2.0]))[0].backward()
    assert_close(x.grad, TRANSFORMS["grad"](lambda x: 2 * np.sin(np.sin(x)))(0.7)[0])
