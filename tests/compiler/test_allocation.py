"""A call of a compiled program allocates no memory from the system, as an allocator before the C library counts.

The interpreter is not counted in the first test: it makes lists and dicts of its own, whatever a program does. The
second counts all of a step, in Python too: nothing of the size of an array is among it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PYTHONS_OWN = 4096
"""Bytes. A list or a dict of the interpreter's is smaller, and comes from its own store up to 512."""

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs LD_PRELOAD"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the counting allocator."""
    path = tmp_path_factory.mktemp("allocation") / "allocation.so"
    made = subprocess.run(
        ["cc", "-O1", "-shared", "-fPIC", "-o", path, HERE / "allocation.c", "-ldl"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return path


@pytest.fixture(scope="module")
def counted(library: Path) -> Any:
    """Return the output of `allocating.py`."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHONMALLOC")}
    environment |= {"LD_PRELOAD": str(library), "WENGERT_CACHE": str(library.parent)}
    command = [sys.executable, "-m", "tests.compiler.allocating", "cnn"]
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=environment,
        cwd=HERE.parents[1],
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_programs_ask_for_no_memory(counted: Any) -> None:
    for threads in ("1", "2"):
        found = counted["programs"][threads]
        assert (found["requests"], found["largest"]) == (0, 0)
    assert counted["control"]["largest"] >= 80_000, "the pseudoinverse of NumPy's is counted"


def test_steps_make_no_arrays(counted: Any) -> None:
    actual = counted["steps"]
    assert actual["arena"] > 100 * PYTHONS_OWN
    least = 1 if sys.version_info < (3, 13) else 0  # Python 3.13 itself requests nothing
    for threads in ("1", "2"):
        assert actual[threads]["learns"]
        assert least <= actual[threads]["largest"] < PYTHONS_OWN
    assert actual["2"]["threads"] == actual["1"]["threads"] + 1
