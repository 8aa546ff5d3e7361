"""What a run prints: texts, throttling, closed outputs; and Ctrl-C, and threads."""

from __future__ import annotations

import ctypes
import io
import itertools
import logging
import math
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from wengert.data import digit_set
from wengert.train import steps
from wengert.train.console import Console, duration, progress_text
from wengert.train.interrupts import Interrupts
from wengert.train.loop import EpochResult, Progress, train
from wengert.train.tasks import TASKS
from wengert.train.threads import one_thread

PROGRESS = Progress(4, 5, 228, 600, 0.13941, 0.95718, 5349.4, 113.2)


class Terminal(io.StringIO):
    """A terminal that remembers."""

    def isatty(self):
        return True


@pytest.fixture
def listening():
    """Listen to Ctrl-C, which a shell lets the jobs in its background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def printed(monkeypatch, stream, use, columns="80"):
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "xterm")
    with Console(TASKS["cnn"]) as console:
        use(console)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (5.4, "0:05"), (59.6, "1:00"), (3599, "59:59"), (3661, "1:01:01")]
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_progress_in_a_line():
    line = "epoch 4/5  228/600  loss 0.1394  accuracy 95.72%  5,349 examples/s  1:53 left"
    assert progress_text(TASKS["cnn"], PROGRESS) == line
    assert len(line) < 80
    assert "accuracy" not in progress_text(TASKS["autoencoder"], PROGRESS)


def test_time_that_is_not_known_is_not_told():
    unknown = PROGRESS._replace(rate=float("nan"), remaining=float("nan"))
    assert progress_text(TASKS["cnn"], unknown) == "epoch 4/5  228/600  loss 0.1394  accuracy 95.72%"


class Listener:
    """Notes how a run goes."""

    def __init__(self):
        self.told = []

    def on_steps(self, progress, state):
        self.told.append(progress)

    def on_epoch(self, result, state):
        pass


@pytest.mark.parametrize("compiled", [True, False])
def test_the_time_that_is_left_does_not_count_compiling(monkeypatch, compiled):
    def slow_at_first(function):
        waiting = [2.0]  # seconds, which would make 14 of the time that is left

        def call(*arguments):
            time.sleep(waiting.pop() if waiting else 0)
            return function(*arguments)

        return call

    monkeypatch.setattr(steps, "jit", slow_at_first)
    monkeypatch.setattr(steps, "_EXAMPLES", 20)
    task, told = TASKS["mlp"], Listener()
    settings = task.settings("digits", epochs=2, batch_size=10)
    train(task, settings, digit_set(train=80, test=10), told, compiled=compiled)
    first, *others = told.told
    assert math.isnan(first.remaining) is compiled
    assert math.isnan(first.rate) is compiled
    assert others
    assert all(0 <= progress.remaining < 4 for progress in others)


def test_plain_lines_come_now_and_then(monkeypatch):
    def use(console):
        console.step(PROGRESS)  # too early
        now = time.perf_counter()
        monkeypatch.setattr(time, "perf_counter", lambda: now + 6)
        console.step(PROGRESS)
        console.step(PROGRESS)

    assert printed(monkeypatch, io.StringIO(), use) == progress_text(TASKS["cnn"], PROGRESS) + "\n"


@pytest.mark.parametrize("columns", ["80", "30"])
def test_a_terminal_has_one_live_line(monkeypatch, columns):
    def use(console):
        clock = itertools.count(time.perf_counter() + 1)
        monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
        for step in range(3):
            console.step(PROGRESS._replace(step=step))
        console.epoch(EpochResult(1, 0.5, 0.9, 0.4, 0.91, 12.0, 5000.0))

    shown = printed(monkeypatch, Terminal(), use, columns)
    lines = [line.split("\x1b[2K")[-1] for line in shown.replace("\r\n", "\n").split("\n")]
    assert all(f"4/5  {step}/600" in shown for step in range(3))
    assert "epoch 1   loss 0.5000, test loss 0.4000, test accuracy 91.00%, 12.0 s" in lines
    assert sum("examples/s" in line for line in lines) <= 2, "the line is written over"
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1


class Broken(io.StringIO):
    """An output that fails after a while."""

    def __init__(self, error, allowed):
        super().__init__()
        self.error, self.allowed = error, allowed

    def write(self, text):
        self.allowed -= 1
        if self.allowed < 0:
            raise self.error
        return super().write(text)

    def fileno(self):
        raise io.UnsupportedOperation


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    "error", [BrokenPipeError(32, "Broken pipe"), OSError(28, "No space left on device")]
)
def test_an_output_that_fails_is_closed(monkeypatch, error, terminal):
    monkeypatch.setattr("os.dup2", lambda *numbers: None)  # the output of the tests themselves
    stream = Broken(error, allowed=2)
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    console = Console(TASKS["cnn"])
    with console:
        for _ in range(3):
            console.say("network", "a line")
        console.table([EpochResult(1, 0.5, 0.9, 0.4, 0.91, 12.0, 5000.0)])
    assert console.closed


@pytest.mark.usefixtures("listening")
def test_the_first_ctrl_c_waits_and_the_second_does_not():
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        assert not interrupts.noted
        signal.raise_signal(signal.SIGINT)
        assert interrupts.noted
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_goes_on_meaning_what_it_means():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as for a job in the background
    try:
        with Interrupts() as interrupts:
            signal.raise_signal(signal.SIGINT)
            assert not interrupts.noted
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_one_thread(monkeypatch):
    found = [*Path(np.__file__).parent.with_name("numpy.libs").glob("*openblas*")]
    if not found:
        pytest.skip("this build of NumPy brings no OpenBLAS along")
    library = ctypes.CDLL(str(found[0]))
    threads, set_threads = (
        getattr(library, f"scipy_openblas_{verb}_num_threads64_") for verb in ("get", "set")
    )
    before = threads()
    try:
        set_threads(2)
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        one_thread()
        assert threads() == 2, "the environment decides"
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS"):
            monkeypatch.delenv(name, raising=False)
        one_thread()
        assert threads() == 1
    finally:
        set_threads(before)


def test_what_the_compiler_tells_is_said_on_the_console(monkeypatch, capsys):
    log = logging.getLogger("wengert.jit")

    def use(console):
        log.info("jit: compiled")
        log.warning("jit: it takes long")

    assert printed(monkeypatch, io.StringIO(), use) == "note      jit: it takes long\n"
    assert not log.handlers
    monkeypatch.setattr(log, "handlers", [logging.NullHandler()])
    assert printed(monkeypatch, io.StringIO(), use) == "", "who listens already is told, and nobody else"
    assert capsys.readouterr().err == ""
