from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wengert.engine.boxes import CONSTANT
from wengert.engine.core.errors import WengertError

RNG = np.random.default_rng(13)
A = RNG.uniform(-2, 2, (3, 4))
V = RNG.uniform(-2, 2, 3)

WIDTHS: dict[str, Any] = {
    "all": 2,
    "pair": (1, 2),
    "pairs": ((0, 2), (3, 1)),
    "much": ((1, 7), (0, 0)),
    "axes": {1: (2, 1)},
}
MODES = ["constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "minimum", "mean"]


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("mode", MODES)
def test_modes(check: Any, mode: Any, widths: str) -> None:
    if isinstance(WIDTHS[widths], dict) and np.lib.NumpyVersion(np.__version__) < "2.2.0":
        pytest.skip("this NumPy takes no dictionary of widths")
    check(lambda x: np.pad(x, WIDTHS[widths], mode=mode), A, order=1)


CASES: dict[str, tuple[Any, ...]] = {
    "default": (lambda x: np.pad(x, 1), A),
    "constant": (lambda x: np.pad(x, 1, constant_values=3.0), A),
    "constants": (lambda x: np.pad(x, 1, constant_values=((1.0, 2.0), (3.0, 4.0))), A),
    "ends": (lambda x: np.pad(x, 2, "linear_ramp", end_values=(1.0, -2.0)), A),
    "statistics": (lambda x: np.pad(x, 2, "mean", stat_length=2), A),
    "statistics of sides": (lambda x: np.pad(x, 2, "maximum", stat_length=((1, 2), (3, 2))), A),
    "odd": (lambda x: np.pad(x, 2, "reflect", reflect_type="odd"), A),
    "odd far": (lambda x: np.pad(x, (5, 7), "reflect", reflect_type="odd"), V),
    "odd symmetric": (lambda x: np.pad(x, 2, "symmetric", reflect_type="odd"), A),
    "odd symmetric far": (lambda x: np.pad(x, (4, 8), "symmetric", reflect_type="odd"), V),
}


@pytest.mark.parametrize("name", CASES)
def test_options(check: Any, name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments, order=1)


def test_a_constant_may_be_a_box(check: Any) -> None:
    check(lambda x, value: np.pad(x, 1, constant_values=value), V, np.array(0.5), order=1)
    check(lambda x, y: np.pad(x, 1, constant_values=((y[0], y[1]), (2.0, y[2]))), A, V, order=1)


@given(
    st.sampled_from(["edge", "reflect", "symmetric", "wrap"]),
    st.integers(1, 4),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_widths_may_exceed_the_array(mode: Any, extent: int, before: int, after: int) -> None:
    array = np.arange(extent)
    actual = np.pad(CONSTANT.constant(array), (before, after), mode)
    np.testing.assert_array_equal(actual.state.value, np.pad(array, (before, after), mode))


def test_dtypes_stay(values: Any) -> None:
    for dtype in (np.int32, np.float32):
        array = np.arange(6, dtype=dtype).reshape(2, 3)
        for mode in MODES:
            if mode != "linear_ramp" or dtype == np.float32:
                values(lambda x, mode=mode: np.pad(x, 2, mode), array, rtol=1e-6)


def test_errors_name_the_operation() -> None:
    box = CONSTANT.constant(A)
    for call, text in [
        (lambda: np.pad(box, -1), "pad: widths must not be negative"),
        (lambda: np.pad(box, 1, "unknown"), "pad: mode must be one of constant"),
        (lambda: np.pad(box, ((1, 1), (1, 1), (1, 1))), "pad: pad_width must be one value"),
        (lambda: np.pad(CONSTANT.constant(np.zeros((0, 2))), 1, "edge"), "pad: an empty axis"),
    ]:
        with pytest.raises(WengertError, match=text):
            call()
