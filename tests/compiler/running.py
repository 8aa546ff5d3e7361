"""Programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BEGINNING = "import numpy as np\nimport wengert as wg\n"


def run(program: str, *, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program as ``user.py``, with changes to the environment.

    The cache is off unless the changes say where it is.
    """
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    given = {**os.environ, "PYTHONPATH": path, "WENGERT_CACHE": "off", **environment}
    code = f"exec({_BEGINNING!r})\nexec(compile({program!r}, 'user.py', 'exec'))"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=given,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def output(program: str, *, timeout: float = 120, **environment: str) -> str:
    """Run a program that must succeed, and return its output."""
    done = run(program, timeout=timeout, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
