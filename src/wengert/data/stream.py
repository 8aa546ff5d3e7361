"""Shuffled batches of a source that does not fit memory, read ahead, and resumable at any batch."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from wengert.data.errors import DataError
from wengert.data.sources import Source
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.tree import leaves, map_tree


class _Window(NamedTuple):
    """Examples in memory, and their order."""

    examples: Any
    order: np.ndarray[Any, Any]

    def take(self, start: int, stop: int) -> Any:
        """Return some examples in order, in their own memory."""
        return map_tree(lambda column: column[self.order[start:stop]], self.examples)


class Stream:
    """Batches of a source in a random order, of which a bounded part is in memory.

    The order of an epoch is a function of the seed and the epoch alone: the shards are permuted; then as many of them
    as fit into the buffer (a window) are read, and their examples permuted. So batch ``n`` needs the shards of its
    window only, and a loop that begins at batch ``n`` gets the same batches, bit for bit, as one that was never
    interrupted. A thread reads the next window while the present one is used: two windows are in memory.

    Args:
        source: the examples.
        batch_size: examples of a batch.
        seed: of the order.
        buffer: the largest number of examples of a window; a shard is never divided.
        shuffle: whether the order is random; otherwise it is the source's.
        drop_last: whether to omit a last batch with fewer examples.

    Raises:
        ArgumentError: a number is out of its range, or the source is empty.

    Example:
        >>> from wengert.data import array_source
        >>> stream = Stream(array_source(np.arange(10), shard=2), batch_size=4, seed=0, buffer=6)
        >>> whole = [batch.tolist() for batch in stream.batches(epoch=0)]
        >>> rest = [batch.tolist() for batch in stream.batches(epoch=0, start=1)]
        >>> sorted(sum(whole, [])), whole[1:] == rest, len(stream)
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], True, 3)
    """

    def __init__(
        self,
        source: Source,
        batch_size: int,
        *,
        seed: int = 0,
        buffer: int = 10_000,
        shuffle: bool = True,
        drop_last: bool = False,
    ) -> None:
        for name, number in (
            ("batch_size", batch_size),
            ("buffer", buffer),
            ("the number of examples", len(source)),
        ):
            if number < 1:
                raise ArgumentError(message("Stream", f"{name} must be at least 1", str(number)))
        self.source, self.batch_size, self.seed, self.buffer = source, batch_size, seed, buffer
        self.shuffle, self.drop_last = shuffle, drop_last

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        whole, remainder = divmod(len(self.source), self.batch_size)
        return whole + bool(remainder and not self.drop_last)

    def batches(self, epoch: int = 0, start: int = 0) -> Generator[Any, None, None]:
        """Iterate over the batches of an epoch.

        Args:
            epoch: the number of the epoch, at least 0.
            start: the number of the first batch.

        Returns:
            An iterator over containers of arrays (examples, ...), as the source gives them.

        Raises:
            DataError: the source gives another number of examples than it was asked for.
        """
        if epoch < 0 or start < 0:
            raise ArgumentError(
                message("Stream.batches", "epoch >= 0 and start >= 0 are required", f"{epoch}, {start}")
            )
        windows = self._windows(epoch)
        skip = start * self.batch_size
        first = 0
        while first < len(windows) and skip >= (count := sum(b - a for a, b in windows[first])):
            skip -= count
            first += 1
        return self._batches(epoch, windows, first, skip)

    def _windows(self, epoch: int) -> list[list[tuple[int, int]]]:
        """Return the shards of each window, in order."""
        edges = zip(self.source.edges[:-1], self.source.edges[1:], strict=True)
        shards = [(start, stop) for start, stop in edges if start < stop]
        order = (
            np.random.default_rng((self.seed, epoch)).permutation(len(shards))
            if self.shuffle
            else range(len(shards))
        )
        windows: list[list[tuple[int, int]]] = []
        room = 0
        for number in order:
            count = shards[number][1] - shards[number][0]
            if count > room:
                windows.append([])
                room = max(self.buffer, count)
            windows[-1].append(shards[number])
            room -= count
        return windows

    def _window(self, epoch: int, number: int, shards: list[tuple[int, int]]) -> _Window:
        """Read a window."""
        parts = [self._shard(*shard) for shard in shards]
        joined = map_tree(lambda *columns: np.concatenate(columns), *parts)
        count = sum(stop - start for start, stop in shards)
        if not self.shuffle:
            return _Window(joined, np.arange(count))
        return _Window(joined, np.random.default_rng((self.seed, epoch, number)).permutation(count))

    def _shard(self, start: int, stop: int) -> Any:
        part = self.source.read(start, stop)
        if wrong := [len(column) for column in leaves(part) if len(column) != stop - start]:
            raise DataError(
                f"Stream: examples {start} to {stop - 1} are missing: the source gave {wrong[0]} of them"
            )
        return part

    def _batches(
        self, epoch: int, windows: list[list[tuple[int, int]]], first: int, skip: int
    ) -> Generator[Any, None, None]:
        size, partial, held = self.batch_size, None, 0
        for window in self._ahead(epoch, windows, first):
            place, count = skip, len(window.order)
            skip = 0
            if held:  # the batch that began in the window before
                place = min(size - held, count)
                partial = map_tree(lambda a, b: np.concatenate([a, b]), partial, window.take(0, place))
                held += place
                if held == size:
                    yield partial
                    held = 0
            while count - place >= size:
                yield window.take(place, place + size)
                place += size
            if place < count:
                partial, held = window.take(place, count), count - place
        if held and not self.drop_last:
            yield partial

    def _ahead(
        self, epoch: int, windows: list[list[tuple[int, int]]], first: int
    ) -> Generator[_Window, None, None]:
        """Yield windows; a thread reads the next while one is used."""
        with ThreadPoolExecutor(1, "wengert-data") as reader:
            ahead = None
            for number in range(first, len(windows)):
                window = (ahead or reader.submit(self._window, epoch, number, windows[number])).result()
                if number + 1 < len(windows):
                    ahead = reader.submit(self._window, epoch, number + 1, windows[number + 1])
                yield window
