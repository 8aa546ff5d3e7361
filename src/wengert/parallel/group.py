"""The processes of a job: what each of them does, and results that do not depend on their number."""

from __future__ import annotations

import itertools
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, TypeVar, cast

import numpy as np

from wengert.engine.core.errors import ArgumentError, WengertError, message
from wengert.parallel.layout import Layout
from wengert.parallel.mpi import communicator_of_all
from wengert.parallel.reduction import Reduction
from wengert.parallel.tree import share

_T = TypeVar("_T")
_KEPT = 8
"""The number of kinds of sums whose buffers a group keeps."""


class GroupError(WengertError, RuntimeError):
    """The processes of a group cannot work together, or some of them failed.

    Every process of the group raises it, so the first can report it for all.
    """


class RankMemoryError(GroupError, MemoryError):
    """A process of a group is out of memory."""


class Group:
    """The processes that carry out one program together; each has a number, its rank.

    ``Group()`` is this process alone. `from_mpi` returns the processes that ``mpiexec`` started; with one process, or
    without MPI, it is the same as ``Group()``, so a program needs no cases. All processes must call the methods in the
    same order.

    Args:
        communicator: of mpi4py; None for this process alone.

    Example:
        >>> import numpy as np
        >>> group = Group.from_mpi()
        >>> x = np.arange(8.0).reshape(4, 2)  # four parts
        >>> group.sum((x[part] ** 2 for part in group.share(4)), parts=4)
        array([56., 84.])
        >>> group.all(lambda power: 2**power, [1, 2, 3])
        [2, 4, 8]
    """

    def __init__(self, communicator: Any = None) -> None:
        self.communicator = communicator
        """Of mpi4py; None for one process."""
        self.rank: int = 0 if communicator is None else communicator.Get_rank()
        """The number of this process, from 0."""
        self.size: int = 1 if communicator is None else communicator.Get_size()
        """The number of processes."""
        self._reductions: dict[tuple[Layout, int], Reduction] = {}

    @classmethod
    def from_mpi(cls, communicator: Any = None) -> Group:
        """Return the processes that ``mpiexec`` (or Slurm's ``srun``) started.

        If one of them ends by an exception that it does not catch, all of them end.

        Args:
            communicator: of mpi4py; by default, that of all processes.

        Returns:
            A group; this process alone if it was not started as one of several.

        Raises:
            MissingExtraError: several processes were started, but mpi4py or its MPI cannot be loaded.

        Example:
            >>> group = Group.from_mpi()
            >>> group.rank, group.size
            (0, 1)
        """
        if communicator is None:
            communicator = communicator_of_all()
        if communicator is None or communicator.Get_size() == 1:
            return cls()
        group = cls(communicator)
        _end_all_after_an_error(group)
        return group

    def share(self, parts: int) -> range:
        """Return the numbers of the parts that this process computes; the processes' numbers differ by at most one.

        Args:
            parts: the number of parts.

        Returns:
            Consecutive numbers from ``range(parts)``.

        Example:
            >>> Group().share(3)
            range(0, 3)
        """
        return share(parts, self.rank, self.size)

    def sum(self, summands: Iterable[Any], *, parts: int) -> Any:
        """Return the sum of a tree of numbers over all parts, in the same bits for every number of processes.

        A fixed binary tree over the parts says who is added to whom: see `wengert.parallel.tree`.

        Args:
            summands: a container of numbers and arrays for each part in ``group.share(parts)``, in this order.
            parts: the number of parts, at least that of the processes.

        Returns:
            The sum, in each process.

        Raises:
            ArgumentError: there are fewer parts than processes, or another number of summands than of parts.
            ShapeError: the summands differ in a shape or a dtype.
            GroupError: the processes' summands have different types.

        Example:
            >>> group = Group()
            >>> group.sum(({"loss": part / 2} for part in group.share(4)), parts=4)
            {'loss': np.float64(3.0)}
        """
        if parts < self.size:
            requirement = f"parts must be at least the number of processes, {self.size}"
            raise ArgumentError(message("sum", requirement, str(parts)))
        own = self.share(parts)
        trees = iter(summands)
        first = next(trees, None)
        reduction = self.reduction(Layout.of(first), parts)
        reduction.clear()
        count = 0
        for count, tree in enumerate(itertools.chain([first], trees) if first is not None else (), 1):
            if count <= len(own):
                reduction.add(own[count - 1], reduction.packed(tree))
        if count != len(own):
            requirement = f"this process must give {len(own)} summands, those of group.share({parts})"
            raise ArgumentError(message("sum", requirement, str(count)))
        return reduction.layout.unpack(reduction.finish(reduction.layout.buffer()))

    def reduction(self, layout: Layout, parts: int) -> Reduction:
        """Return the reduction that adds trees of a layout; the same one for the same layout and number of parts."""
        key = layout, parts
        if key not in self._reductions:
            self.agree("the types of the summands", layout.described())
            if len(self._reductions) == _KEPT:
                self._reductions.pop(next(iter(self._reductions)))
            self._reductions[key] = Reduction(layout, parts, self.communicator)
        return self._reductions[key]

    def all(self, f: Callable[[Any], _T], xs: Sequence[Any]) -> list[_T]:
        """Return ``[f(x) for x in xs]`` in each process; each computes its share.

        Args:
            f: a function; its results are pickled.
            xs: the arguments; every process gives the same ones.

        Returns:
            The results in the order of the arguments.

        Raises:
            GroupError: the function failed in a process; if that is the first one, it raises its own error.

        Example:
            >>> Group().all(abs, [-1, 2])
            [1, 2]
        """
        own = self.together(lambda: [f(xs[number]) for number in self.share(len(xs))])
        return [result for results in self.gather(own) for result in results]

    # -- agreement -------------------------------------------------------------------------------------------

    def gather(self, value: _T) -> list[_T]:
        """Return the values of all processes, in the order of their ranks.

        Example:
            >>> Group().gather("value")
            ['value']
        """
        return [value] if self.communicator is None else self.communicator.allgather(value)

    def any(self, flag: bool) -> bool:
        """Return whether the flag is true in some process.

        Example:
            >>> Group().any(False)
            False
        """
        if self.communicator is None:
            return flag
        mine, result = np.array([flag], np.int32), np.empty(1, np.int32)
        self.communicator.Allreduce(mine, result)
        return bool(result[0])

    def agree(self, name: str, value: Any) -> None:
        """Raise `GroupError` unless the value is the same in all processes.

        Args:
            name: what the value is, in the plural.
            value: any value that can be compared and shown.

        Raises:
            GroupError: two processes have different values; the message names them.

        Example:
            >>> Group().agree("the versions", "1.0")
        """
        values = self.gather((value, platform.node()))
        for rank, (own, host) in enumerate(values):
            if own != values[0][0]:
                raise GroupError(
                    f"{name} differ among the ranks: {values[0][0]} on rank 0 ({values[0][1]}), "
                    f"{own} on rank {rank} ({host})"
                )

    def together(self, f: Callable[[], _T]) -> _T:
        """Run a function in all processes and return its result; if it fails in one, raise an error in all.

        Raises:
            GroupError: it failed in a process; if that is the first one, it raises its own error.

        Example:
            >>> Group().together(lambda: 5)
            5
        """
        try:
            result, problem = f(), None
        except Exception as error:
            result, problem = None, error
        lacks_memory = isinstance(problem, MemoryError)
        reasons = self.gather(problem and (reason_of(problem), platform.node(), lacks_memory))
        failed = next((rank for rank, reason in enumerate(reasons) if reason), None)
        if failed is None:
            return cast("_T", result)
        if problem is not None and failed == self.rank == 0:
            raise problem
        reason, host, lacks_memory = reasons[failed] or ("", "", False)
        kind = RankMemoryError if lacks_memory else GroupError
        raise kind(f"rank {failed} on {host}: {reason}") from problem

    def from_first(self, f: Callable[[], _T]) -> _T:
        """Run a function in the first process alone, and return its result, or raise its error, in each.

        Example:
            >>> Group().from_first(lambda: 5)
            5
        """
        own = self.together(lambda: f() if self.rank == 0 else None)
        return cast("_T", self.gather(own)[0])

    def abort(self, code: int) -> None:
        """End all processes at once with an exit code."""
        if self.communicator is None:
            raise SystemExit(code)
        self.communicator.Abort(code)


def _end_all_after_an_error(group: Group) -> None:
    """Let an exception that nobody catches end all processes: the others would wait for this one for ever."""
    before = sys.excepthook

    def report(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
        try:
            before(kind, problem, trace)
            sys.stderr.flush()
        finally:
            group.abort(1)

    sys.excepthook = report


def reason_of(problem: BaseException) -> str:
    """Return an error as the end of a line."""
    if isinstance(problem, MemoryError) and not isinstance(problem, GroupError):
        return "out of memory: try more --micro-batches, or a smaller --batch-size"
    text = " ".join(str(problem).split())
    return text if isinstance(problem, (WengertError, OSError)) else f"{type(problem).__name__}: {text}"
