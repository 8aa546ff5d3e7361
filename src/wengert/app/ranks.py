"""``wengert train`` on several ranks: its processes, and the command that launches them."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from wengert._startup import INTERRUPTED, is_rank
from wengert.engine.core.errors import MissingExtraError, WengertError
from wengert.parallel import Group, GroupError
from wengert.parallel.group import reason_of
from wengert.parallel.launch import JOB, Job, check_size, explain, find_mpiexec, note
from wengert.parallel.mpi import is_of_mpi, load
from wengert.parallel.orphans import end_with_parent
from wengert.parallel.output import label_lines
from wengert.train.agreement import agree_on_target
from wengert.train.reporters import labelled
from wengert.train.settings import SettingsError

_GRACE = 2.0
"""Seconds before a rank reports an error, which the first one reports at once if it has it, too."""
_OWN = "--ranks", "--restarts", "--min-ranks"


# -- in each process -------------------------------------------------------------------------------------


def join_job() -> None:
    """Start MPI if this is one of several processes: it waits without end for one that ends before that."""
    if is_rank():
        with contextlib.suppress(MissingExtraError):
            label_lines(load().COMM_WORLD.rank, is_launched=JOB in os.environ)


def fail_job(code: int) -> None:
    """End all processes of the job of this one, if it is in one, by an error before they met in `all_ranks`."""
    if is_rank():
        with contextlib.suppress(MissingExtraError):
            ranks = load().COMM_WORLD
            note("ended", str(code))
            if ranks.size > 1:
                sys.stderr.flush()
                ranks.Abort(code)


@contextlib.contextmanager
def all_ranks() -> Generator[Group, None, None]:
    """Yield the group of all ranks; if one fails, all end, and one line says why.

    The exit code goes to the launching process, too.
    """
    group = Group.from_mpi()
    check_size(group.size)
    if group.size == 1:
        yield group
        return
    end_with_parent()
    if group.rank == 0:
        note("first", str(os.getpid()))
    try:
        agree_on_target(group)
        yield group
    except GroupError as problem:  # all ranks raise it
        if group.rank == 0:
            _report(problem, str(problem), 1)
        sys.exit(1)
    except (WengertError, OSError, MemoryError, KeyboardInterrupt) as problem:
        group.abort(_end_with(problem, group))
    except Exception as problem:
        if not is_of_mpi(problem):
            raise
        if JOB not in os.environ:  # the launching process says that a rank died
            _report(problem, _named(group, reason_of(problem)), 1)
        group.abort(1)


def _end_with(problem: BaseException, group: Group) -> int:
    """Report an error of this rank, and return the exit code."""
    text, code = reason_of(problem), 2 if isinstance(problem, SettingsError) else 1
    if isinstance(problem, KeyboardInterrupt):
        text, code = "stopped by Ctrl-C", INTERRUPTED
    if group.rank:
        time.sleep(_GRACE)
    if group.rank or isinstance(problem, MemoryError):
        text = _named(group, text)
    _report(problem, text, code)
    return code


def _named(group: Group, text: str) -> str:
    return f"rank {group.rank} on {platform.node()}: {text}"


def _report(problem: BaseException, text: str, code: int) -> None:
    """Print an error, and note the exit code for the launching process.

    A rank without memory has died, and the job may go on without it: then there is no exit code, and the launching
    process says what happened, unless it runs on another machine.
    """
    text = " ".join(text.split())
    if not isinstance(problem, MemoryError):
        note("ended", str(code))
    elif note("died", text):
        return
    explain(f"wengert: {text}")


# -- in the launching process ----------------------------------------------------------------------------


def launch(ranks: int, restarts: int, least: int) -> int:
    """Run the present command line on several ranks, and return its exit code."""
    if ranks < least:
        raise SettingsError(f"ranks is {ranks}, fewer than min-ranks, {least}")
    command = without_options(sys.argv[1:], _OWN)

    def program(folder: Path) -> Sequence[str]:
        run = folder / "run"
        arguments = ["train", "--resume", run.read_text(), "--trust"] if run.exists() else command
        return [sys.executable, "-m", "wengert", *arguments]

    job = Job(find_mpiexec(), lambda label, text: print(labelled(label, text), flush=True))
    return job.run(program, ranks, restarts=restarts, least=least)


def without_options(arguments: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return a command line without some options that have a value.

    Example:
        >>> without_options(
        ...     ["train", "--ranks", "4", "--lr=1", "--restarts=2", "cnn"], ["--ranks", "--restarts"]
        ... )
        ['train', '--lr=1', 'cnn']
    """
    retained: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        name, equals, _ = argument.partition("=")
        if name not in names:
            retained.append(argument)
        elif not equals:
            next(remaining, None)
    return retained
