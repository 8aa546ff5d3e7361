"""The console: texts, throttling and closed outputs; Ctrl-C and BLAS threads."""

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
from wengert.engine.core.blas_threads import limit_blas
from wengert.train import steps
from wengert.train.loop import EpochResult, Progress, train
from wengert.train.reporters import Console, Interrupts, progress_text
from wengert.train.tasks import TASKS

PROGRESS = Progress(4, 5, 228, 600, 0.13941, 0.95718, 5349.4, 113.2)


class Terminal(io.StringIO):
    """A terminal that records its output."""

    def isatty(self):
        return True


@pytest.fixture
def listening():
    """Handle Ctrl-C, which a shell's background jobs ignore."""
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


def test_progress_in_a_line():
    line = "epoch 4/5  228/600  loss 0.1394  accuracy 95.72%  5,349 examples/s  1:53 left"
    assert progress_text(TASKS["cnn"], PROGRESS) == line
    assert len(line) < 80
    assert "accuracy" not in progress_text(TASKS["autoencoder"], PROGRESS)


def test_unknown_time_is_not_shown():
    unknown = PROGRESS._replace(rate=float("nan"), remaining=float("nan"))
    assert progress_text(TASKS["cnn"], unknown) == "epoch 4/5  228/600  loss 0.1394  accuracy 95.72%"


class Listener:
    """Records the progress of a run."""

    def __init__(self):
        self.reports = []

    def on_steps(self, progress, state):
        self.reports.append(progress)

    def on_epoch(self, result, state):
        pass


@pytest.mark.parametrize("compiled", [True, False])
def test_the_time_that_is_left_does_not_count_compiling(monkeypatch, compiled):
    passed, clock = 0.0, time.perf_counter

    def slow_at_first(function, **options):
        waiting = [2.0]  # seconds, which would add 14 to the remaining time

        def call(*arguments):
            nonlocal passed
            passed += waiting.pop() if waiting else 0
            return function(*arguments)

        return call

    monkeypatch.setattr(time, "perf_counter", lambda: clock() + passed)
    monkeypatch.setattr(steps, "jit", slow_at_first)
    monkeypatch.setattr(steps, "_EXAMPLES_PER_CALL", 20)
    task, reports = TASKS["mlp"], Listener()
    settings = task.settings("digits", epochs=2, batch_size=10)
    train(task, settings, digit_set(train=80, test=10), reports, compiled=compiled)
    first, *others = reports.reports
    assert math.isnan(first.remaining) is compiled
    assert math.isnan(first.rate) is compiled
    assert others
    assert all(0 <= progress.remaining < 10 for progress in others)  # on a busy machine, too


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
    """An output that fails after some writes."""

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
    monkeypatch.setattr("os.dup2", lambda *numbers: None)  # keep the output of the tests
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
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as for a background job
    try:
        with Interrupts() as interrupts:
            signal.raise_signal(signal.SIGINT)
            assert not interrupts.noted
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_one_thread(monkeypatch):
    actual = [*Path(np.__file__).parent.with_name("numpy.libs").glob("*openblas*")]
    if not actual:
        pytest.skip("this build of NumPy brings no OpenBLAS along")
    library = ctypes.CDLL(str(actual[0]))
    threads, set_threads = (
        getattr(library, f"scipy_openblas_{verb}_num_threads64_") for verb in ("get", "set")
    )
    before = threads()
    try:
        set_threads(2)
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        limit_blas()
        assert threads() == 2, "the environment decides"
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS"):
            monkeypatch.delenv(name, raising=False)
        limit_blas()
        assert threads() == 1
    finally:
        set_threads(before)


def test_compiler_warnings_are_printed(monkeypatch, capsys):
    log = logging.getLogger("wengert.jit")

    def use(console):
        log.info("jit: compiled")
        log.warning("jit: it takes long")

    assert printed(monkeypatch, io.StringIO(), use) == "note      jit: it takes long\n"
    assert not log.handlers
    monkeypatch.setattr(log, "handlers", [logging.NullHandler()])
    assert printed(monkeypatch, io.StringIO(), use) == "", "only the user's own handler gets the message"
    assert capsys.readouterr().err == ""
