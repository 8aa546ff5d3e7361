"""Schedules at and after their ends, and invalid ones; test_against_torch.py checks the values in between."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError
from wengert.optim import schedules

ENDS = {
    "linear": (schedules.linear(0.0, 2.0, 10), 0.0, 2.0, 10),
    "cosine": (schedules.cosine(1.0, 10, 0.25), 1.0, 0.25, 10),
    "warm_up_cosine": (schedules.warm_up_cosine(1.0, 3, 10, 0.5, 0.1), 0.5, 0.1, 10),
    "one_cycle": (schedules.one_cycle(1.0, 10, 0.3, 2.0, 4.0), 0.5, 0.125, 9),
    "piecewise": (schedules.piecewise([1.0, 0.5], [4]), 1.0, 0.5, 4),
}


@pytest.mark.parametrize("name", ENDS)
def test_ends(name):
    rate, first, last, end = ENDS[name]
    for function in (rate, wg.jit(rate)):
        assert float(function(0)) == pytest.approx(first, abs=1e-15)
        for step in (end, end + 1, 10 * end, 10**9):
            assert float(function(step)) == pytest.approx(last, abs=1e-15)


def test_peaks():
    assert float(schedules.warm_up_cosine(3.0, 5, 20)(5)) == 3.0
    assert float(schedules.one_cycle(3.0, 20, 0.25)(4)) == 3.0
    values = [float(schedules.one_cycle(3.0, 20)(t)) for t in range(20)]
    assert max(values) <= 3.0
    assert np.argmax(values) == 5


def test_joined_schedules_count_from_where_they_begin():
    rate = schedules.join([schedules.constant(1.0), np.sqrt], [2])
    with np.errstate(invalid="raise"):  # the root of a negative step would raise
        assert [float(rate(t)) for t in (0, 1, 2, 6)] == [1.0, 1.0, 0.0, 2.0]
    counted = schedules.join([lambda t: t, lambda t: 100 + t, lambda t: 200 + t], [2, 5])
    assert [int(counted(t)) for t in range(7)] == [0, 1, 100, 101, 102, 200, 201]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: schedules.linear(0.0, 1.0, 0),
        lambda: schedules.cosine(1.0, -5),
        lambda: schedules.step_decay(1.0, 0),
        lambda: schedules.exponential(1.0, 0.5, 0),
        lambda: schedules.warm_up_cosine(1.0, 5, 5),
        lambda: schedules.warm_up_cosine(1.0, 0, 5),
        lambda: schedules.one_cycle(1.0, 2),
        lambda: schedules.one_cycle(1.0, 10, rise=1.0),
        lambda: schedules.piecewise([1.0], [1]),
        lambda: schedules.piecewise([1.0, 2.0, 3.0], [4, 4]),
        lambda: schedules.join([schedules.constant(1.0)] * 2, [0]),
    ],
)
def test_invalid_schedules(wrong):
    with pytest.raises(ArgumentError):
        wrong()
