"""Contestants in processes of their own: both ends of their requests, their environment, and how they take turns.

The programs of `benchmarks/` run on this.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TextIO, TypeVar

from wengert.engine.core.errors import WengertError

_BENCHMARKS = str(Path(__file__).parents[1])
"""The folder from which processes import their modules."""
_BUSY = 0.5
"""The load of the last minute above which other programs run: this one has just started."""


class ContestantError(WengertError, RuntimeError):
    """The process of a contestant ended early."""


class Process:
    """The process of a contestant, which answers requests: see `serve`.

    Args:
        command: the program and its arguments.
        environment: of the process.
    """

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
            start_new_session=True,  # Ctrl-C stops the parent only; without the parent, this process ends
        )

    def request(self, name: str, *arguments: Any) -> Any:
        """Return the answer to a request.

        Raises:
            ContestantError: the process has ended; the message is the last line of its standard error.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps([name, *arguments]), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            code = self._process.wait()
            self._errors.seek(0)
            lines = [line.strip() for line in self._errors if line.strip()]
            raise ContestantError(f"{self}: {lines[-1] if lines else f'it ended with code {code}'}")
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()


def serve(threads: int, start: Callable[[], object]) -> None:
    """Answer the requests of a `Process` until its input ends: each calls a method of the object that starts.

    A request is a JSON list of the method's name and its arguments, and an answer is JSON, a line each.

    Args:
        threads: the number of processors for the process, set before a library counts them.
        start: returns the object; libraries are imported here.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of a library goes to standard error, not among the answers
    contestant = start()
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(getattr(contestant, name)(*arguments)), file=answers, flush=True)


P = TypeVar("P", bound=Process)


class Contest(Generic[P]):
    """Contestants side by side, which take turns; a context manager that ends their processes.

    Args:
        failed: receives each contestant that fails, and its error. The others go on, unless this raises.
    """

    def __init__(self, failed: Callable[[P, ContestantError], None]) -> None:
        self.contestants: list[P] = []
        self._failed = failed
        self._processes = contextlib.ExitStack()

    def __enter__(self) -> Contest[P]:
        return self

    def __exit__(self, *error: object) -> None:
        self._processes.close()

    def add(self, contestant: P, prepare: Callable[[P], None]) -> None:
        """Add a contestant and prepare it."""
        self._processes.callback(contestant.close)
        self.contestants.append(contestant)
        self._take(contestant, prepare)

    def turn(self, step: Callable[[P], None]) -> None:
        """Let each contestant take a step, one after another."""
        for contestant in list(self.contestants):
            self._take(contestant, step)

    def _take(self, contestant: P, step: Callable[[P], None]) -> None:
        try:
            step(contestant)
        except ContestantError as error:
            self.contestants.remove(contestant)
            self._failed(contestant, error)


def environment(threads: int, cache: str | None = None) -> dict[str, str]:
    """Return the environment in which a library uses the given number of threads.

    Args:
        threads: their number.
        cache: an empty folder for compiled code; the user's own caches by default.
    """
    paths = os.pathsep.join(filter(None, (_BENCHMARKS, os.environ.get("PYTHONPATH"))))
    names = ("OMP", "OPENBLAS", "MKL", "NUMBA")
    caches = {} if cache is None else {"WENGERT_CACHE": cache, "TORCHINDUCTOR_CACHE_DIR": cache}
    return {
        **os.environ,
        "PYTHONPATH": paths,
        **{f"{name}_NUM_THREADS": str(threads) for name in names},
        **caches,
        "WENGERT_THREADS": str(threads),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


def warn_if_busy(file: TextIO | None = None) -> None:
    """Print a warning if other programs run."""
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > _BUSY:
        print("other programs are running: times will be too long, most of all on several threads", file=file)
