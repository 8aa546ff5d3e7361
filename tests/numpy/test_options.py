"""Options that few programs use: `pad` by medians and functions, axes of `matmul` and `tensorsolve`, dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

RNG = np.random.default_rng(12)
A, B = RNG.normal(size=(2, 3, 4))


def framed(vector: Any, width: Any, axis: int, options: Any) -> None:
    vector[: width[0]] = options.get("before", vector[width[0]])
    if width[1]:
        vector[-width[1] :] = 2.0 * vector[-width[1] - 1]


@pytest.mark.parametrize("lengths", [{}, {"stat_length": 2}, {"stat_length": ((1, 2), (3, 1))}])
def test_padding_by_medians(check: Any, agrees: Any, lengths: Any) -> None:
    check(lambda x: np.pad(x, 2, "median", **lengths), A, order=1)
    agrees(lambda x: np.pad(x, ((1, 2), (0, 1)), "median", **lengths), np.arange(12).reshape(3, 4) ** 2 % 7)


def test_padding_by_a_function(check: Any) -> None:
    check(lambda x: np.pad(x, 1, framed), A)
    check(lambda x, y: np.pad(x, ((1, 0), (2, 1)), framed, before=y), A, np.array(3.0))


def test_axes_of_matmul(check: Any, agrees: Any) -> None:
    check(lambda x, y: np.matmul(x, y, axes=[(1, 0), (0, 1), (0, 1)]), A, B)
    check(lambda x, y: np.matmul(x, y, axes=[(1, 0), (0, 1), (1, 0)]), A, B)
    check(lambda x, y: np.matmul(x[0], y[1], axes=[(0,), (0,), ()]), A, B)
    agrees(lambda x, y: np.matmul(x, y, axes=[(0, 1), (1, 0)]), A, B)
    check(lambda x, y: np.matmul(x, y[0], axes=[(0, 1), (0,), (0,)]), A, B)
    stack = RNG.normal(size=(4, 2, 3))
    check(lambda x, y: np.matmul(x, y, axes=[(1, 0), (1, 2), (-1, -2)]), np.moveaxis(stack, 0, 2), stack)


@pytest.mark.parametrize("axes", [None, (0, 2), (1,), (1, 3), [2]])
def test_axes_of_tensorsolve(check: Any, agrees: Any, axes: Any) -> None:
    shapes: dict[Any, Any] = {
        None: ((2, 3, 6), (2, 3)), (0, 2): ((2, 2, 3, 3), (2, 3)), (1,): ((2, 6, 3), (2, 3)),
        (1, 3): ((2, 2, 3, 3), (2, 3)), (2,): ((2, 3, 6), (2, 3)),
    }  # fmt: skip
    shape, of = shapes[None if axes is None else tuple(axes)]
    order = [axis for axis in range(len(shape)) if axis not in (axes or ())] + list(axes or ())
    square = (4.0 * np.eye(6) + RNG.uniform(-1, 1, (6, 6))).reshape([shape[axis] for axis in order])
    a, b = np.transpose(square, np.argsort(order)), RNG.normal(size=of)
    check(lambda a, b: np.linalg.tensorsolve(a, b, axes), a, b, order=1, rtol=1e-9)
    agrees(lambda a, b: np.linalg.tensorsolve(a, b, (9,)), a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_of_clip(agrees: Any, dtype: Any) -> None:
    agrees(lambda x: np.clip(x, -1, 1, dtype=dtype), A, rtol=1e-6)
    agrees(lambda x: np.clip(x, -1, 1, dtype=dtype), np.arange(5))


@pytest.mark.parametrize("call", [
    lambda x: np.einsum("ii->i", x[:3, :3]),
    lambda x: np.einsum("ij->ji", x),
    lambda x: np.einsum("i...->...i", x),
])  # fmt: skip
def test_views_of_einsum_are_written_through(check: Any, call: Any) -> None:
    def written(x: Any) -> Any:
        y = x.copy()
        view = call(y)
        view *= 3.0
        view[0] = 1.0
        return y

    check(written, A)
