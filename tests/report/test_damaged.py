"""Damaged files of a run: a reader raises a one-line error, or leaves out an incomplete last line."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.draws import many
from wengert.data import DataError
from wengert.engine.core.errors import WengertError
from wengert.report.compare import comparison, comparison_report
from wengert.report.run import costs, curves, headline, how_it_ended, settings
from wengert.train import Run
from wengert.train.checkpoint_files import checkpoints_in

CASES = 300
VALUES = (
    *("NaN", "Infinity", "-Infinity", "1e400", "-0.0", "5e-324", "1e308", "-1e308", "9" * 400, "9" * 5000),
    *(
        '"text"',
        '"\\ud800"',
        '"\\u0000"',
        "null",
        "true",
        "[]",
        "{}",
        "-1",
        "0",
        "1",
        "2",
        "3.5",
        "9007199254740993",
    ),
    *("[" * 100_000, '{"a":' * 50_000, "[" * 3000 + "]" * 3000),
)


def flipped(draw: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.randint(1, 3)):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut(draw: random.Random, content: bytes) -> bytes:
    return content[: draw.randrange(len(content))]


def inserted(draw: random.Random, content: bytes) -> bytes:
    place = draw.randrange(len(content) + 1)
    return content[:place] + draw.randbytes(draw.randint(1, 9)) + content[place:]


def removed(draw: random.Random, content: bytes) -> bytes:
    place = draw.randrange(len(content))
    return content[:place] + content[place + draw.randint(1, 30) :]


def replaced(draw: random.Random, content: bytes) -> bytes:
    """Replace one of the numbers and strings by another value."""
    places = [place for place, byte in enumerate(content) if content[place : place + 2] == b": "]
    start = draw.choice(places) + 2
    stop = min(actual for mark in b",}\n" if (actual := content.find(bytes([mark]), start)) >= 0)
    return content[:start] + draw.choice(VALUES).encode() + content[stop:]


def disordered(draw: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    draw.shuffle(lines)
    return b"".join(lines[: draw.randint(1, len(lines))])


def nested(draw: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    lines.insert(draw.randrange(len(lines) + 1), draw.choice(VALUES).encode() + b"\n")
    return b"".join(lines)


DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    *(flipped, cut, inserted, removed, replaced, replaced, replaced, disordered, nested),
)


def read(folder: Path) -> None:
    """Read all parts of a run that do not need the model."""
    run = Run.open(folder)
    assert all(result.epoch == number for number, result in enumerate(run.history, 1))
    for step in run.steps:
        assert step["epoch"] >= 1
    headline(run, None), how_it_ended(run), settings(run), curves(run, None), costs(run, None)
    comparison([run])
    comparison_report([run]).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory, small_mnist: Path) -> Path:
    """Return the folder of a run that has every file."""
    from wengert.app.train import run_training
    from wengert.train import TASKS

    folder = tmp_path_factory.mktemp("damaged") / "run"
    how = {"data_dir": str(small_mnist), "eager": True, "log_every": 1, "epochs": 3, "batch_size": 100}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        assert run_training(TASKS["mlp"].settings("mnist", profile=True, **how), str(folder)) == 0
    return folder


@pytest.mark.parametrize("name", ["metrics.jsonl", "settings.json", "summary.json", "profile.json"])
def test_random_damage(profiled: Path, tmp_path: Path, name: str) -> None:
    run = shutil.copytree(profiled, tmp_path / "run")
    whole = (run / name).read_bytes()
    read(run)
    draw = random.Random(27)
    for number in range(max(len(DAMAGES), many(CASES))):
        damage = DAMAGES[number % len(DAMAGES)]
        (run / name).write_bytes(damage(draw, whole))
        try:
            read(run)
        except WengertError as problem:
            text = str(problem)
        except Exception as problem:
            raise AssertionError(f"case {number}, {damage.__name__}: {problem!r}") from problem
        else:
            text = ""
        assert "\n" not in text
        assert len(text) < 1000


@pytest.mark.usefixtures("no_pictures")
def test_a_last_line_that_is_not_whole_is_left_out_and_told(
    profiled: Path, tmp_path: Path, wengert: Any, small_mnist: Path
) -> None:
    run = shutil.copytree(profiled, tmp_path / "run")
    metrics = run / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes()[:-20])
    opened = Run.open(run)
    assert [result.epoch for result in opened.history] == [1, 2]
    message = f"metrics.jsonl:{len(metrics.read_bytes().splitlines())}: the line is damaged"
    assert message in opened.left_out
    assert message in "".join(wengert("compare", "run").out.split("\n"))
    assert wengert("report", "run").code == 0
    assert message in (run / "report.html").read_text()
    ended = wengert("train", "--resume", "run", "--epochs", "4")
    assert ended.code == 0
    assert message in "".join(ended.out.split("\n"))
    assert [result.epoch for result in Run.open(run).history] == [1, 2, 3, 4]
    assert Run.open(run).left_out == ""


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    "line", [b"[", b'{"kind": "epoch", "epoch": "one"}', b'{"kind": []}', b"[" * 100_000]
)
def test_another_damaged_line_is_an_error_that_names_it(
    profiled: Path, tmp_path: Path, wengert: Any, line: bytes
) -> None:
    run = shutil.copytree(profiled, tmp_path / "run")
    metrics = run / "metrics.jsonl"
    metrics.write_bytes(line + b"\n" + metrics.read_bytes())
    for command in ("report", "compare"):
        wengert(command, "run").failed(1, "metrics.jsonl:1: the line is damaged: ", "remove the line")
    with pytest.raises(DataError, match=r"metrics\.jsonl:1: the line is damaged"):
        assert Run.open(run).steps
    ended = wengert("train", "--resume", "run", "--epochs", "4")
    assert ended.code == 0, "what a run goes on with is in its checkpoints"
    assert "metrics.jsonl:1: the line is damaged" in ended.out
    assert [result.epoch for result in Run.open(run).history] == [1, 2, 3, 4]


@pytest.mark.usefixtures("no_pictures")
def test_random_damage_of_checkpoints(
    profiled: Path, tmp_path: Path, wengert: Any, small_mnist: Path
) -> None:
    draw = random.Random(27)
    for number in range(max(7, many(24))):
        run = tmp_path / f"run-{number}"
        shutil.copytree(profiled, run)
        for described in checkpoints_in(run / "checkpoints"):
            file = described if number % 3 else described.with_suffix(".safetensors")
            damage = DAMAGES[number % 5]
            file.write_bytes(damage(draw, file.read_bytes()) if number % 7 else b'{"a":' * 50_000)
        ended = wengert("train", "--resume", run, "--epochs", "4")
        ended.failed(1, "is damaged", "no undamaged checkpoint is left")


@pytest.mark.usefixtures("no_pictures")
def test_deeply_nested_files_are_damaged_ones(profiled: Path, tmp_path: Path, wengert: Any) -> None:
    for name in ("settings.json", "summary.json", "profile.json"):
        run = tmp_path / name.removesuffix(".json")
        shutil.copytree(profiled, run)
        (run / name).write_text('{"a":' * 50_000)
        wengert("report", run).failed(1, f"{name}: the file is damaged: ")
    assert json.loads((profiled / "settings.json").read_text())["epochs"] == 3
