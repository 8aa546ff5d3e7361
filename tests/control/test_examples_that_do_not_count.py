"""Under `vmap`, examples that do not take a branch, or whose loop has ended, raise no error of their indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core.errors import WengertError

X = np.arange(1.0, 5.0)
transforms = pytest.mark.parametrize("transform", [lambda f: f, wg.jit], ids=["eager", "jit"])


def element(x: Any, i: Any) -> Any:
    return wg.cond(i < 4, lambda x, i: x[i] ** 2, lambda x, i: -x[0], x, i)


def written(x: Any, i: Any) -> Any:
    def write(x: Any, i: Any) -> Any:
        y = x.copy()
        y[i] = 10.0 * x[0]
        return np.sum(y)

    return wg.cond(i < 4, write, lambda x, i: x[1], x, i)


def every_nth(x: Any, n: Any) -> Any:
    def body(state: Any) -> Any:
        place, total = state
        return place + n, total + wg.numpy.take(x, place) ** 2

    return wg.while_loop(lambda state: state[0] < 4, body, (0, 0.0 * x[0]), most=5)[1]


@transforms
@pytest.mark.parametrize("program", [element, written, every_nth])
def test_examples_are_those_of_single_calls(program: Any, transform: Any) -> None:
    numbers = np.array([1, 3, 7, 2**40])
    together = transform(wg.vmap(program, (None, 0)))(X, numbers)
    np.testing.assert_allclose(together, [program(X, number) for number in numbers], rtol=1e-14)
    slopes = transform(wg.vmap(wg.grad(program), (None, 0)))(X, numbers)
    np.testing.assert_allclose(slopes, [wg.grad(program)(X, number) for number in numbers], rtol=1e-14)
    total = transform(wg.grad(lambda x: np.sum(wg.vmap(program, (None, 0))(x, numbers))))(X)
    np.testing.assert_allclose(total, np.sum(slopes, axis=0), rtol=1e-14)


@transforms
def test_an_index_of_a_branch_that_is_taken_raises(transform: Any) -> None:
    def beyond(x: Any, i: Any) -> Any:
        return wg.cond(i < 9, lambda x, i: x[i], lambda x, i: -x[0], x, i)

    with pytest.raises(WengertError, match="index 7 is out of bounds"):
        transform(wg.vmap(beyond, (None, 0)))(X, np.array([1, 7, 12]))
