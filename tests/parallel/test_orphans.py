"""Processes end when their parent is killed, by the signal that they choose."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from wengert.parallel import orphans

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")

CHILD = """
import signal, sys, time
from wengert.parallel.orphans import end_with_parent

def saved(number, frame):
    print("saved", flush=True)
    sys.exit()

signal.signal(signal.SIGTERM, saved)
end_with_parent(int(sys.argv[1]), signal.SIGTERM)
print("ready", flush=True)
time.sleep(600)
"""
PARENT = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", sys.argv[1], str(os.getpid())])
time.sleep(600)
"""


def test_a_child_gets_the_signal_when_its_parent_is_killed():
    with subprocess.Popen([sys.executable, "-c", PARENT, CHILD], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "ready\n"
        parent.kill()
        assert parent.stdout.read() == "saved\n"


def test_a_parent_that_ended_before():
    ended = subprocess.run(
        [sys.executable, "-c", CHILD, str(2**22)], capture_output=True, text=True, timeout=300
    )
    assert ended.stdout == "saved\n"


def test_a_thread_watches_where_the_kernel_does_not(monkeypatch):
    parents, signals = iter([7, 7, 1]), []
    monkeypatch.setattr(orphans, "_SECONDS_BETWEEN_LOOKS", 0.0)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(os, "kill", lambda process, number: signals.append((process, number)))
    orphans._watch(7, signal.SIGTERM)
    assert signals == [(os.getpid(), signal.SIGTERM)]
