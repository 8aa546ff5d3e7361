"""Data of the page: the signs of zeros."""

from __future__ import annotations

import base64

import numpy as np
import pytest

import wengert as wg
from wengert.explorer.encoding import tensor


@pytest.mark.parametrize("elements", [[0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0], [0.0, 0.0], [1.0, 1.0]])
def test_an_array_keeps_the_signs_of_its_zeros(elements):
    written = tensor(np.array(elements))
    fill, data = written.get("fill"), base64.b64decode(written.get("data", ""))
    read = np.frombuffer(data, "<f8") if fill is None else np.full(2, fill)
    assert read.tobytes() == np.array(elements).tobytes()


def test_zeros_of_both_signs_are_two_literals():
    page = wg.explore(lambda x: np.where(x > 0, 0.0, x) + np.where(x > 1, -0.0, x))(2.0)
    zeros = [
        value for _, value in page.recorded["program"]["literals"] if type(value) is float and value == 0
    ]
    assert {str(zero) for zero in zeros} == {"0.0", "-0.0"}
