"""The command in its own process, and its result."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

_PATIENCE = 600.0
"""Seconds: a process on a busy machine can take a hundred times as long as on an idle one."""

_SLOW = " is still being "
"""In lines on stderr about compilations that take long, as any of them may on a busy machine."""


class Ended:
    """The exit code and the output of a command."""

    def __init__(self, code, out, err):
        self.code, self.out = code, out
        self.err = "".join(line for line in err.splitlines(keepends=True) if _SLOW not in line)
        assert "Traceback" not in out + err

    def failed(self, code, *message):
        """Check that stderr has exactly one line, with the given parts."""
        assert (self.code, self.err.count("\n"), self.err[:9]) == (code, 1, "wengert: "), self.err
        for words in message:
            assert words in self.err


def start(*arguments, cwd, program=(sys.executable, "-m", "wengert"), **options):
    """Start the command in a new process."""
    environment = {
        key: value for key, value in os.environ.items() if key not in ("WENGERT_DATA", "FORCE_COLOR")
    }
    environment |= {"COLUMNS": "100", "TERM": "xterm", "PYTHONUNBUFFERED": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen([*program, *map(str, arguments)], cwd=cwd, env=environment, text=True, **pipes)


@pytest.fixture
def processes_without_pictures(tmp_path_factory, monkeypatch):
    """Make as if matplotlib, whose import takes long, were not installed for the processes of a test."""
    folder = tmp_path_factory.mktemp("hiding")
    (folder / "matplotlib.py").write_text("raise ImportError\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(folder), *filter(None, sys.path))))


def end(process):
    """Wait for a process to end; if it does not, show its output."""
    try:
        out, err = process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{process.args} did not end: {process.communicate()}") from None
    return Ended(process.returncode, out, err)


def wait_for(condition, process):
    """Wait until a condition holds, or the process has ended."""
    deadline = time.monotonic() + _PATIENCE
    while not condition() and process.poll() is None:
        assert time.monotonic() < deadline, f"{process.args} waits for ever"
        time.sleep(0.02)


def mnist(folder):
    return ("--data", "mnist", "--data-dir", str(folder))
