"""The examples of exported programs: built by their Makefiles in a copy, and run."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.exporting.test_c_files import installed, run

EXAMPLES = Path(__file__).parents[2] / "examples"


def copy(name: str, folder: Path, monkeypatch) -> None:
    """Copy an example, and make ``python`` this one."""
    shutil.copytree(EXAMPLES / name, folder / name)
    monkeypatch.chdir(folder / name)
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])


def test_c(tmp_path, monkeypatch) -> None:
    installed("cc", "make")
    copy("c", tmp_path, monkeypatch)
    run("make")
    assert run("./train").startswith("y = 2.000 x + 1.000, error")
    assert run("./kalman").startswith("-log p = 162.5550 at log variances -1.7591, -0.0185")


def test_microcontroller(tmp_path, monkeypatch) -> None:
    installed("arm-none-eabi-gcc", "qemu-system-arm", "make")
    copy("microcontroller", tmp_path, monkeypatch)
    printed = run("python", "step.py")
    assert printed == "loss 0.5406, after 200 steps 0.0292\n"
    assert "step   1: loss 0.5406\n" in (lines := run("make", "run"))
    assert "step 200: loss 0.0292\n" in lines
