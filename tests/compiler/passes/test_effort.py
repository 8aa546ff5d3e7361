"""The work of passes grows with the length of a program, not with its square."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np

import wengert as wg

PASSES = ("block_batches.py", "narrow.py", "nest.py")


def unrolled(x: Any, turns: int) -> Any:
    for _ in range(turns):
        x = np.fft.rfft(np.sin(x)).real
        x = np.concatenate([x, x[1:4]])
    return x


def calls(turns: int) -> int:
    """Return how many functions of the passes a compilation to nests calls."""
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_filename.endswith(PASSES)

    program = wg.jit(lambda x: unrolled(x, turns))
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        program.nests(np.ones(9))
    finally:
        sys.setprofile(before)
    return count


def test_unrolled_loops_of_twice_the_turns_take_twice_the_work():
    calls(1)  # imports
    assert calls(32) < 2.5 * calls(16)
