"""Lines of processes with the number of the process."""

from __future__ import annotations

import io
import random
import sys

import pytest

from wengert.parallel.output import AT_ONCE, Lines, label_lines, tell


@pytest.mark.parametrize("seed", range(20))
def test_pieces_make_whole_lines(seed):
    draw = random.Random(seed)
    text = "".join(draw.choice("ab\n") for _ in range(40)) + "\n"
    shown, place = io.StringIO(), 0
    lines = Lines(shown, "rank 1: ", "*")
    while place < len(text):
        size = draw.randrange(6)
        lines.write(text[place : place + size])
        assert shown.getvalue().endswith("\n") or not shown.getvalue()
        place += size
    assert shown.getvalue() == "".join(f"*rank 1: {line}\n" for line in text[:-1].split("\n"))


@pytest.mark.parametrize(
    ("rank", "is_launched", "out", "err"),
    [
        (0, False, "x\n", "x\ny\n"),
        (0, True, "x\n", f"{AT_ONCE}x\n{AT_ONCE}y\n"),
        (2, False, "rank 2: x\n", "rank 2: x\ny\n"),
        (2, True, "rank 2: x\n", f"{AT_ONCE}rank 2: x\n{AT_ONCE}y\n"),
    ],
)
def test_ranks_label_their_lines(rank, is_launched, out, err, monkeypatch):
    streams = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    label_lines(rank, is_launched=is_launched)
    print("x")
    print("x", file=sys.stderr)
    tell("y")
    assert [stream.getvalue() for stream in streams] == [out, err]
