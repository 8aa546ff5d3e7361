"""``wengert sweep``: a run of ``wengert train`` for each point of a grid, several at a time, and one comparison."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wengert._version import versions
from wengert.app.report import COMPARISON, write_comparison
from wengert.compiler.runtime.threads.team import get_threads
from wengert.data import DataError
from wengert.engine.core.errors import WengertError
from wengert.engine.core.progress import Bar, duration
from wengert.train.reporters import Interrupts, counted, labelled
from wengert.train.runs import RUNS, SUMMARY, Run, check_place, make_new
from wengert.train.storage import read_json, write_file, writing
from wengert.train.user_models import SETTINGS

_SWEEP, _LOGS = "sweep.json", "logs"
_SECONDS_BETWEEN_LOOKS = 0.05
_PROGRAM = """from wengert.parallel.orphans import end_with_parent
end_with_parent({parent}, {number})
from wengert.app.cli import main
main()"""
"""The process of a run, which saves a checkpoint and ends when the sweep ends."""
_SECONDS_TO_SAVE = 60.0
"""The time that a run may take to save its checkpoint, before it is killed."""


class Point(NamedTuple):
    """A run of the sweep."""

    name: str
    """Of its folder."""
    options: list[str]
    """Of ``wengert train``."""


class _Running(NamedTuple):
    point: Point
    process: subprocess.Popen[bytes]
    began: float


def begin_sweep(points: Sequence[Point], workers: int | None, out: str | None) -> int:
    """Train all runs of a new sweep and compare them.

    By default one run per processor goes on at a time, in ``runs/sweep-DATE-TIME``. The exit code is 1 if a run failed,
    and 128 plus the number of the signal that ended the sweep.
    """
    check_place(out)
    workers = min(workers or get_threads(), len(points))
    folder = make_new(RUNS / f"sweep-{time.strftime('%Y%m%d-%H%M%S')}") if out is None else Path(out)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    threads = max(get_threads() // workers, 1)
    content = {
        "points": [point._asdict() for point in points],
        "threads": threads,
        "versions": versions(),
    }
    write_file(folder / _SWEEP, (json.dumps(content, indent=2) + "\n").encode())
    return _Sweep(folder, points, workers, threads).run()


def resume_sweep(folder: str, workers: int | None) -> int:
    """Finish the runs of a sweep, those in progress from their checkpoints; see `begin_sweep`."""
    path = Path(folder)
    try:
        content = read_json(path / _SWEEP)
        points = [Point(point["name"], point["options"]) for point in content["points"]]
        threads = int(content["threads"])
    except OSError as problem:
        raise DataError(f"{path}: this is not the folder of a sweep: {problem.strerror or problem}") from None
    except (KeyError, TypeError, ValueError) as problem:
        if isinstance(problem, WengertError):
            raise
        raise DataError(f"{path / _SWEEP}: the file is damaged: it lacks {problem}") from None
    return _Sweep(path, points, min(workers or get_threads(), len(points)), threads).run()


class _Sweep:
    """A sweep in progress."""

    def __init__(self, folder: Path, points: Sequence[Point], workers: int, threads: int) -> None:
        self.folder, self.points, self.workers, self.threads = folder, points, workers, threads
        self.running: list[_Running] = []
        self.problems: dict[str, str] = {}
        """The reasons why runs failed, by name."""

    def run(self) -> int:
        """Start runs until all have ended, or a signal comes; then compare them."""
        waiting = deque(point for point in self.points if not self._is_over(point))
        done = len(self.points) - len(waiting)
        more = f", {done} of them finished before" if done else ""
        _say("sweep", f"{counted(len(self.points), 'run')}{more}, {self.workers} at a time, in {self.folder}")
        with writing(self.folder / _LOGS):
            (self.folder / _LOGS).mkdir(exist_ok=True)
        with Interrupts() as interrupts, Bar("sweep", len(waiting)) as bar:
            most = len(waiting)
            try:
                while (waiting or self.running) and not interrupts.noted:
                    while waiting and len(self.running) < self.workers:
                        self.running.append(self._start(waiting.popleft()))
                    time.sleep(_SECONDS_BETWEEN_LOOKS)
                    self._look()
                    bar.show(most - len(waiting) - len(self.running))
            finally:
                self._stop()
        if interrupts.noted:
            return self._interrupted(interrupts.signal or signal.SIGINT)
        return self._compare()

    # -- runs --------------------------------------------------------------------------------------------

    def _is_over(self, point: Point) -> bool:
        """Return whether a run has ended in an earlier process, with a model or with a failure."""
        try:
            summary = read_json(self.folder / point.name / SUMMARY)
        except (OSError, DataError):
            return False
        if problem := summary.get("problem"):
            self.problems[point.name] = f"{problem} (delete its folder to train it again)"
        return not summary.get("interrupted")

    def _start(self, point: Point) -> _Running:
        place = self.folder / point.name
        if (place / SETTINGS).exists():
            options = ["--resume", str(place)]
        else:
            shutil.rmtree(place, ignore_errors=True)  # the process was killed before it began to train
            chosen = any(option.startswith("--threads=") for option in point.options)
            threads = [] if chosen else [f"--threads={self.threads}"]
            options = [*point.options, *threads, "--out", str(place)]
        program = _PROGRAM.format(parent=os.getpid(), number=int(signal.SIGTERM))
        command = [sys.executable, "-c", program, "train", *options]
        log = self._log(point)
        with writing(log), open(log, "ab") as stream:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True
            )
        return _Running(point, process, time.monotonic())

    def _log(self, point: Point) -> Path:
        return self.folder / _LOGS / f"{point.name}.txt"

    def _look(self) -> None:
        """Report the runs that have ended."""
        for job in [job for job in self.running if job.process.poll() is not None]:
            self.running.remove(job)
            took = duration(time.monotonic() - job.began)
            if job.process.returncode == 0:
                _say("finished", f"{job.point.name}  {_score(self.folder / job.point.name)}  {took}")
            else:
                self.problems[job.point.name] = reason = self._reason(job)
                _say("failed", f"{job.point.name}  {reason}")

    def _reason(self, job: _Running) -> str:
        """Return the last line that a run printed, which is its error."""
        lines = self._log(job.point).read_text("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        code = job.process.returncode
        if code < 0:
            return f"it was killed by signal {-code}"
        return last.removeprefix("wengert: ") or f"it ended with code {code}"

    def _stop(self) -> None:
        """End the runs in progress, which save checkpoints; kill those that take too long."""
        deadline = time.monotonic() + _SECONDS_TO_SAVE
        try:
            for job in self.running:
                job.process.terminate()
            for job in self.running:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    job.process.wait(max(deadline - time.monotonic(), 0.0))
        finally:
            for job in self.running:
                if job.process.poll() is None:
                    _say("killed", f"{job.point.name}  it did not end by SIGTERM")
                    job.process.kill()
                    job.process.wait()

    # -- the end -----------------------------------------------------------------------------------------

    def _interrupted(self, number: signal.Signals) -> int:
        name = "Ctrl-C" if number == signal.SIGINT else number.name
        _say("stopped", f"by {name}; the runs are saved in {self.folder}")
        _say("resume", f"wengert sweep --resume {self.folder}")
        return 128 + number

    def _compare(self) -> int:
        trained = [str(place) for point in self.points if _has_results(place := self.folder / point.name)]
        for name, problem in self.problems.items():
            print(f"wengert: {name} failed: {problem}; see {self.folder / _LOGS / name}.txt", file=sys.stderr)
        if trained:
            _say("report", str(write_comparison(trained, str(self.folder / COMPARISON), trust=True)))
        return 1 if self.problems else 0


def _has_results(folder: Path) -> bool:
    try:
        return bool(Run.open(folder, trust=True).history)
    except (OSError, WengertError):
        return False


def _score(folder: Path) -> str:
    """Return the last result of a run as text."""
    try:
        last: Any = read_json(folder / SUMMARY)["last_epoch"]
        return f"test loss {last['test_loss']:.4f}  test score {last['test_score']:.4f}"
    except (OSError, DataError, KeyError, TypeError):
        return ""


def _say(label: str, text: str) -> None:
    print(labelled(label, text), flush=True)
