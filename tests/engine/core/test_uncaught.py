"""Errors that end a script: the user's frames, and how to see the others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = """\
import numpy as np
import wengert as wg

def model(x):
    return {fault}

def loss(x):
    return np.sum(model(x) ** 2)

"""


def _stderr(folder: Path, text: str, **variables: str) -> list[str]:
    (folder / "script.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "script.py"]
    run = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    return run.stderr.splitlines()


def _frames(lines: list[str]) -> list[str]:
    return [line.split('"')[1].rpartition("/")[2] for line in lines if line.startswith("  File ")]


CALLS = (
    "wg.grad(loss)(np.ones(4))",
    "wg.jit(wg.grad(loss))(np.ones(4))",
    "wg.vmap(wg.grad(loss))(np.ones((2, 4)))",
)


@pytest.mark.parametrize("call", CALLS)
def test_an_error_of_wengert_shows_the_users_frames(tmp_path: Path, call: str) -> None:
    lines = _stderr(tmp_path, MODEL.format(fault="x @ np.ones(3)") + call)
    assert _frames(lines) == ["script.py"] * 3
    assert "[script.py:5]" in lines[-2]
    assert lines[-1].startswith("(")
    assert lines[-1].endswith(" frames of Wengert are left out; WENGERT_TRACEBACK=full shows them)")


def test_an_error_of_the_users_own_shows_the_users_frames(tmp_path: Path) -> None:
    lines = _stderr(tmp_path, MODEL.format(fault="{}[x.shape]") + CALLS[1])
    assert _frames(lines) == ["script.py"] * 3
    assert lines[-2].startswith("KeyError")


def test_all_frames_on_request(tmp_path: Path) -> None:
    text = MODEL.format(fault="x @ np.ones(3)") + CALLS[1]
    lines = _stderr(tmp_path, text, WENGERT_TRACEBACK="full")
    assert len(_frames(lines)) > 5
    assert "left out" not in lines[-1]


def test_a_fault_of_wengert_keeps_its_frames(tmp_path: Path) -> None:
    fault = "wg.engine.transforms.reverse_mode.Recording"
    text = (
        MODEL.format(fault="np.sin(x)")
        + f"import wengert.engine.transforms.reverse_mode\n{fault} = None\n{CALLS[0]}"
    )
    lines = _stderr(tmp_path, text)
    assert _frames(lines)[0] == "script.py"
    assert _frames(lines)[-1] == "reverse_mode.py"


def test_errors_that_led_to_others_are_short_too(tmp_path: Path) -> None:
    text = MODEL.format(fault="x @ np.ones(3)")
    lines = _stderr(
        tmp_path, f"{text}try:\n    {CALLS[0]}\nexcept ValueError as e:\n    raise RuntimeError('no') from e"
    )
    assert set(_frames(lines)) == {"script.py"}


def test_handlers_have_all_frames(tmp_path: Path) -> None:
    hook = """\
import sys, traceback
before = sys.excepthook

def hook(kind, problem, trace):
    before(kind, problem, trace)
    print(len(traceback.extract_tb(problem.__traceback__)), file=sys.stderr)

sys.excepthook = hook
"""
    lines = _stderr(tmp_path, MODEL.format(fault="x @ np.ones(3)") + hook + CALLS[0])
    assert _frames(lines) == ["script.py"] * 3
    assert int(lines[-1]) > 5


def test_programs_without_wengerts_frames_are_as_before(tmp_path: Path) -> None:
    lines = _stderr(tmp_path, "import wengert\n1 / 0")
    assert lines[-1] == "ZeroDivisionError: division by zero"
