from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import wengert as wg
from wengert.engine.core.errors import WengertError

RNG = np.random.default_rng(63)
A, V, C = RNG.uniform(-2, 2, (3, 5)), RNG.uniform(-2, 2, 7), RNG.uniform(-2, 2, (2, 3, 4))

CASES: dict[str, tuple[Any, ...]] = {
    "windows": (lambda x: sliding_window_view(x, 3), V),
    "windows of one": (lambda x: sliding_window_view(x, 1), V),
    "windows as long": (lambda x: sliding_window_view(x, 7), V),
    "windows of both axes": (lambda x: sliding_window_view(x, (2, 3)), A),
    "windows of an axis": (lambda x: sliding_window_view(x, 2, axis=0), A),
    "windows of an axis twice": (lambda x: sliding_window_view(x, (2, 3), axis=(-1, -1)), A),
    "moving mean": (lambda x: np.mean(sliding_window_view(x, 3), axis=-1), V),
    "each line": (lambda x: np.apply_along_axis(np.cumsum, 0, x), A),
    "sum of each line": (lambda x: np.apply_along_axis(np.sum, -1, x), C),
    "matrix of each line": (lambda x: np.apply_along_axis(lambda v: np.outer(v, v), 1, x), C),
    "norm of each line": (lambda x: np.apply_along_axis(np.linalg.norm, 1, x, 1), A),
}


@pytest.mark.parametrize("name", CASES)
def test_windows(check: Any, name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, bool])
def test_dtypes(values: Any, dtype: Any) -> None:
    x = (A * 3).astype(dtype)
    values(lambda x: (sliding_window_view(x, (2, 2)), np.apply_along_axis(np.sort, 1, x)), x)


def test_windows_are_not_copied_under_jit() -> None:
    """The mean of windows reads the array, not an array of all windows."""
    x = np.ones(10_000)
    report = wg.jit(lambda x: np.mean(sliding_window_view(x, 50), axis=-1)).report(x)
    assert report.bytes < 4 * x.nbytes


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: sliding_window_view(x, 8), "sliding_window_view: windows must not be longer"),
        (
            lambda x: sliding_window_view(x, (2, 2)),
            "sliding_window_view: one extent is required for each axis",
        ),
        (
            lambda x: sliding_window_view(x, 2, writeable=True),
            "sliding_window_view: windows cannot be written",
        ),
        (
            lambda x: np.apply_along_axis(np.sum, 0, x[:0, None] * np.ones((0, 0))),
            "apply_along_axis: at least one line",
        ),
    ],
)
def test_errors_name_the_operation(call: Any, text: str) -> None:
    with pytest.raises(WengertError, match=text):
        wg.jit(call)(V)
