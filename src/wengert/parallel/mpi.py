"""MPI: the processes that ``mpiexec`` started, and sums whose slices travel among them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert._startup import is_rank
from wengert.engine.core.errors import MissingExtraError
from wengert.parallel.layout import Buffer, Layout, slices
from wengert.parallel.tree import Node, nodes_of, total

_SMALL = 1 << 12
"""Sums of at most this many bytes are sent whole: one message instead of two."""


def load() -> Any:
    """Return mpi4py's module, which starts MPI; `MissingExtraError` without it, or without the library of an MPI."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:  # RuntimeError: mpi4py found no MPI
        hint = "pip install 'wengert[mpi]'"
        if getattr(problem, "name", None) == "mpi4py":
            raise MissingExtraError(f"several processes need mpi4py: {hint}") from None
        reason = str(problem).strip().splitlines()[0]
        raise MissingExtraError(f"mpi4py cannot load an MPI ({reason}): {hint}") from None
    return MPI


def is_of_mpi(problem: BaseException) -> bool:
    """Return whether an error comes from MPI itself, such as that of a message to a process that has died."""
    return type(problem).__module__.partition(".")[0] == "mpi4py"


def communicator_of_all() -> Any:
    """Return the communicator of all processes; None if this process was not started as one of several."""
    return load().COMM_WORLD if is_rank() else None


class Exchange:
    """Finishes sums over the processes of a communicator: each process finishes the tree of one slice of the buffer.

    The shares are the consecutive parts of each process.
    """

    def __init__(self, communicator: Any, layout: Layout, shares: Sequence[range]) -> None:
        self.communicator, self.parts = communicator, shares[-1].stop
        rank, size = communicator.Get_rank(), communicator.Get_size()
        self._whole = layout.size <= _SMALL
        self._slices = [slice(0, layout.size)] * size if self._whole else slices(layout.size, size)
        nodes = [nodes_of(own) for own in shares]
        held, lengths = len(nodes[rank]), [part.stop - part.start for part in self._slices]
        self._sent = _Counts([held * layout.size] if self._whole else [held * length for length in lengths])
        self._received = _Counts([len(theirs) * lengths[rank] for theirs in nodes])
        self._finished = _Counts(lengths)
        self._outgoing = np.empty(self._sent.total, np.uint8)
        self._incoming = np.empty(self._received.total, np.uint8)
        begin, length = int(self._slices[rank].start), int(lengths[rank])
        self._sums = {
            node: layout.part(self._incoming[number * length : (number + 1) * length], begin)
            for number, node in enumerate(itertools.chain.from_iterable(nodes))
        }

    def finish(self, held: dict[Node, Buffer], out: Any) -> None:
        """Write the sum over all processes into the bytes of a buffer, from this process's sums by their nodes."""
        outgoing, incoming = self._packed(list(held.values())), self._received.of(self._incoming)
        if self._whole:
            self.communicator.Allgatherv([outgoing, self._sent.total, load().BYTE], incoming)
            out[...] = self._total()
        else:
            self.communicator.Alltoallv(self._sent.of(outgoing), incoming)
            result = self._total()
            self.communicator.Allgatherv([result, len(result), load().BYTE], self._finished.of(out))

    def _total(self) -> Any:
        """Return the sum of the slices that have come."""
        return total(self._sums, self.parts, Buffer.add).content

    def _packed(self, buffers: list[Buffer]) -> Any:
        """Return the buffers' slices in the order in which they are sent."""
        if len(buffers) == 1:
            return buffers[0].content
        begin = 0
        for part in self._slices[:1] if self._whole else self._slices:
            for buffer in buffers:
                end = begin + part.stop - part.start
                self._outgoing[begin:end] = buffer.content[part]
                begin = end
        return self._outgoing


class _Counts:
    """The bytes of a buffer that belong to each process, in order."""

    def __init__(self, counts: list[int]) -> None:
        self.counts, self.total = counts, sum(counts)
        self.begins = [sum(counts[:number]) for number in range(len(counts))]

    def of(self, buffer: Any) -> list[Any]:
        """Return a buffer with its parts, as mpi4py takes it."""
        return [buffer, self.counts, self.begins, load().BYTE]
