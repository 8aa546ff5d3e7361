"""While the command loads its modules: Ctrl-C ends the process at once, and an error of a rank ends its whole job.

An import of this module suffices. It has an effect only in the ``wengert`` command.
"""

from __future__ import annotations

import os
import sys
import threading
from types import FrameType, TracebackType

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 plus the number of SIGINT."""
_OF_RANKS = "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"
"""Variables by which Open MPI, MPICH, Intel MPI and Slurm number the processes that they start."""


def is_rank() -> bool:
    """Return whether ``mpiexec`` or ``srun`` started this process as one of several."""
    return any(name in os.environ for name in _OF_RANKS)


def _exit(number: int, frame: FrameType | None) -> None:
    # An importing module could catch an exception, or turn it into another.
    os._exit(INTERRUPTED)


def _is_command() -> bool:
    """Return whether this process is ``wengert`` or ``python -m wengert``, and still imports its modules."""
    program: str = next(iter(getattr(sys, "argv", ())), "")  # an embedded Python may have no argv
    if program == "-m":  # until the module has been found
        return "-m" in sys.orig_argv and sys.orig_argv[sys.orig_argv.index("-m") + 1 :][:1] == ["wengert"]
    return os.path.basename(program) in ("wengert", "wengert.exe", "wengert-script.py")


def _end_job(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    # MPICH waits for ever for a rank that ends before it has started MPI, unless a signal ends it.
    try:
        if issubclass(kind, MemoryError):
            print("wengert: out of memory while a rank loads its modules", file=sys.stderr)
        else:
            sys.__excepthook__(kind, problem, trace)
        sys.stderr.flush()
    finally:
        import signal  # `import wengert` takes no time for it

        os.kill(os.getpid(), signal.SIGTERM)


def end_startup() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again, once the command can catch it, and other errors as usual."""
    import signal

    if signal.getsignal(signal.SIGINT) is _exit:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.excepthook is _end_job:
        sys.excepthook = sys.__excepthook__


def _begin() -> None:
    import signal

    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a background job ignores it
    if usual and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _exit)
    if is_rank():
        sys.excepthook = _end_job


if _is_command():
    _begin()
