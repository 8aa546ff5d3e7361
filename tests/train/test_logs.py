"""The log of a run: lines that survive a full disk and a killed process, and event files."""

from __future__ import annotations

import json

import pytest

from wengert.train.logs import JsonLines, epoch_line, step_lines
from wengert.train.loop import Progress
from wengert.train.state import EpochResult
from wengert.train.storage import RunError

RESULT = EpochResult(1, 0.5, 0.75, 0.25, 0.5, 2.0, 30.0)


def progress(step, count):
    losses = [float(number) for number in range(step - count + 1, step + 1)]
    return Progress(1, 5, step, 600, 0.5, 0.9, 1.0, 1.0, losses, losses)


@pytest.mark.parametrize("every", [0, 1, 3, 7, 100])
def test_steps_are_logged_at_an_interval(every):
    """The groups of steps do not matter; the losses here are the numbers of the steps."""
    lines = [line for step in range(4, 41, 4) for line in step_lines(progress(step, 4), every)]
    expected = [step for step in range(1, 41) if every and step % every == 0]
    assert [line["step"] for line in lines] == expected == [line["loss"] for line in lines]


def test_a_line_that_was_not_finished_is_left_out(tmp_path):
    lines = JsonLines(tmp_path / "metrics.jsonl")
    assert lines.read() == []
    lines.add(*step_lines(progress(4, 4), 2))
    with open(lines.path, "a") as stream:
        stream.write('{"kind": "st')
    assert [line["step"] for line in lines.read()] == [2, 4]
    lines.go_back(1, 2, [])
    assert lines.path.read_text() == '{"kind": "step", "epoch": 1, "step": 2, "loss": 2.0, "score": 2.0}\n'


def test_going_back(tmp_path):
    lines = JsonLines(tmp_path / "metrics.jsonl")
    for epoch in (1, 2, 3):
        steps = [line | {"epoch": epoch} for line in step_lines(progress(4, 4), 2)]
        lines.add(*steps, epoch_line(RESULT._replace(epoch=epoch)))
    lines.go_back(2, 3, [RESULT])
    assert [(line["kind"], line["epoch"], line.get("step")) for line in lines.read()] == [
        ("step", 1, 2), ("step", 1, 4), ("epoch", 1, None), ("step", 2, 2),
    ]  # fmt: skip


def test_a_full_disk_is_named(tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(RunError, match="full cannot be written: No space left on device"):
        JsonLines(tmp_path / "full").add({"kind": "step"})


def test_lines_are_json_with_the_numbers_as_they_are(tmp_path):
    lines = JsonLines(tmp_path / "metrics.jsonl")
    lines.add(epoch_line(RESULT))
    assert json.loads(lines.path.read_text()) == {"kind": "epoch"} | RESULT._asdict()
