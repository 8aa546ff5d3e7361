"""Nests as text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.machine import costs


def test_what_a_long_nest_writes_several_times_gets_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, rerolled_turns=1000))  # the turns stay apart

    def repeated(x: Any, times: int) -> Any:
        for i in range(times):
            x = np.where(x > i, x * 0.5, x + 1.0)
        return x

    x = np.ones(4)
    assert " t1 = " not in wg.jit(lambda x: repeated(x, 3)).nests(x)
    lines = wg.jit(lambda x: repeated(x, 60)).nests(x).splitlines()
    assert lines[2:4] == [
        "    t1 = where((x1[i] > 0.0), (x1[i] * 0.5), (x1[i] + 1.0))",
        "    t2 = where((t1 > 1.0), (t1 * 0.5), (t1 + 1.0))",
    ]
    assert len(lines) < 70
