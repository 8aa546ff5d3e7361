"""Sets of positions, many at once: a set is a number, and arrays of numbers say which set each element has."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.shapes import size
from wengert.sparse.packages import scipy_sparse

#: The number of the set without members, and of the set of all positions.
EMPTY, ALL = 0, 1
#: The numbers of the sets of one position follow.
_FIRST = 2
#: The largest number of members that one union of sets reads; larger ones become the set of all positions.
_MOST_READ = 1 << 27
#: Multipliers of the hash that finds equal lists of numbers.
_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


class IndexSets:
    """Sets of the positions 0, 1, ... below ``count``, each with a number.

    Elements that have the same set share its number, so copies and broadcasts of elements cost no sets. Equal sets may
    have different numbers.

    Example:
        >>> sets = IndexSets(5)
        >>> first, second = sets.single(np.array([0, 3]))
        >>> either = sets.merge(np.array([first, EMPTY]), np.array([second, EMPTY]))
        >>> sets.rows(either).toarray().astype(int)
        array([[1, 0, 0, 1, 0],
               [0, 0, 0, 0, 0]])
    """

    def __init__(self, count: int) -> None:
        self.count = count
        every = np.arange(count, dtype=np.int64)
        self._members = _Growing(np.concatenate([every, every]))
        self._starts = _Growing(np.concatenate([[0, 0, count], count + every + 1]))

    def __len__(self) -> int:
        return self._starts.count - 1

    def single(self, positions: Any) -> Any:
        """Return the numbers of the sets of one position."""
        return positions + _FIRST if self.count != 1 else np.full_like(positions, ALL)

    def lengths(self, numbers: Any) -> Any:
        """Return how many members sets have."""
        starts = self._starts.array
        return starts[numbers + 1] - starts[numbers]

    def rows(self, numbers: Any) -> Any:
        """Return sets as the rows of a Boolean CSR array."""
        lengths = self.lengths(numbers)
        ends = np.cumsum(lengths)
        pointers = np.concatenate([[0], ends])
        shift = np.repeat(self._starts.array[numbers] - pointers[:-1], lengths)
        members = self._members.array[np.arange(len(shift)) + shift]
        shape = (len(numbers), self.count)
        return scipy_sparse("sparse_jacobian").csr_array(
            (np.ones(len(members), bool), members, pointers), shape=shape
        )

    # -- unions ------------------------------------------------------------------------------------------

    def merge(self, *arrays: Any) -> Any:
        """Return the union of the sets of each element of arrays that broadcast."""
        merged = arrays[0]
        for array in arrays[1:]:
            merged = self._merge(merged, array)
        return merged

    def _merge(self, left: Any, right: Any) -> Any:
        if left is right:
            return left
        left, right = np.broadcast_arrays(left, right)
        low, high = np.minimum(left, right), np.maximum(left, right)
        # EMPTY and ALL are the least numbers.
        merged = np.where(low == ALL, ALL, high)
        both = (low > ALL) & (low != high)
        if both.any():
            keys, which = np.unique(low[both] * np.int64(len(self)) + high[both], return_inverse=True)
            pairs = np.stack(np.divmod(keys, len(self)), 1)
            merged[both] = self._append(pairs.reshape(-1), np.arange(len(keys) + 1) * 2)[which.reshape(-1)]
        return merged

    def reduce(self, numbers: Any, axes: tuple[int, ...]) -> Any:
        """Return the union of the sets along axes, which stay with extent one."""
        axes = tuple(axis for axis in axes if numbers.shape[axis] != 1)
        if not axes:
            return numbers
        extents = [1 if axis in axes else extent for axis, extent in enumerate(numbers.shape)]
        groups = np.broadcast_to(np.arange(size(tuple(extents))).reshape(extents), numbers.shape)
        return self.unite(groups.reshape(-1), numbers.reshape(-1), size(tuple(extents))).reshape(extents)

    def unite(self, groups: Any, numbers: Any, count: int) -> Any:
        """Return the union of the sets of each group.

        Args:
            groups: the group of each set, in ``[0, count)``.
            numbers: the sets.
            count: how many groups there are.
        """
        result = np.full(count, EMPTY, np.int64)
        keys = np.unique((groups * np.int64(len(self)) + numbers)[numbers != EMPTY])
        groups, numbers = np.divmod(keys, len(self))
        result[groups[numbers == ALL]] = ALL
        is_limited = result[groups] != ALL
        groups, numbers = groups[is_limited], numbers[is_limited]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        lengths = np.diff(starts, append=len(groups))
        result[groups[starts]] = numbers[starts]
        several = lengths > 1
        if several.any():
            listed = numbers[np.repeat(several, lengths)]
            pointers = np.concatenate([[0], np.cumsum(lengths[several])])
            which, first = _distinct(listed, pointers)
            chosen = np.zeros(len(pointers) - 1, bool)
            chosen[first] = True
            is_member = np.repeat(chosen, np.diff(pointers))
            ends = np.cumsum(np.diff(pointers)[chosen])
            place = np.cumsum(chosen) - 1
            united = self._append(listed[is_member], np.concatenate([[0], ends]))
            result[groups[starts[several]]] = united[place[first[which]]]
        return result

    def _append(self, numbers: Any, pointers: Any) -> Any:
        """Return the numbers of the unions of the sets between two pointers: new ones, unless one set holds all."""
        count = len(pointers) - 1
        sizes = np.concatenate([[0], np.cumsum(self.lengths(numbers))])[pointers]
        result = np.full(count, ALL, np.int64)
        within = int(np.searchsorted(sizes, _MOST_READ, side="right")) - 1
        if not within:
            return result
        listed, pointers = numbers[: pointers[within]], pointers[: within + 1]
        used, which = np.unique(listed, return_inverse=True)
        csr_array = scipy_sparse("sparse_jacobian").csr_array
        shape = (within, len(used))
        choice = csr_array((np.ones(len(listed), bool), which.reshape(-1), pointers), shape=shape)
        rows = choice @ self.rows(used)
        lengths = np.diff(rows.indptr)
        largest, size_of_largest = self._largest(listed, pointers)
        whole = lengths == self.count
        old = (lengths == size_of_largest) & ~whole
        result[:within][old] = largest[old]
        new = ~old & ~whole
        result[:within][new] = len(self) + np.arange(int(new.sum()))
        members = rows.indices[np.repeat(new, lengths)]
        self._starts.extend(self._members.count + np.cumsum(lengths[new]))
        self._members.extend(members)
        return result

    def _largest(self, numbers: Any, pointers: Any) -> tuple[Any, Any]:
        """Return the number and the length of a largest set of those between two pointers."""
        lengths = self.lengths(numbers)
        most = np.maximum.reduceat(lengths, pointers[:-1])
        candidates = np.where(lengths == np.repeat(most, np.diff(pointers)), numbers, EMPTY)
        return np.maximum.reduceat(candidates, pointers[:-1]), most


class _Growing:
    """Integers in memory that doubles when it is full."""

    def __init__(self, numbers: Any) -> None:
        self.count = len(numbers)
        self.array = numbers.astype(np.int64)

    def extend(self, numbers: Any) -> None:
        """Append numbers."""
        end = self.count + len(numbers)
        if end > len(self.array):
            grown = np.empty(end + max(end, 1024), np.int64)
            grown[: self.count] = self.array[: self.count]
            self.array = grown
        self.array[self.count : end] = numbers
        self.count = end


def _distinct(listed: Any, pointers: Any) -> tuple[Any, Any]:
    """Find equal lists: for each list the number of its class, and for each class its first list."""
    mixed = listed.astype(np.uint64) * _MIX[0]
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX[1]
    sums = np.add.reduceat(mixed ^ (mixed >> np.uint64(32)), pointers[:-1])
    _, first, which = np.unique(sums, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    lengths = np.diff(pointers)
    model = first[which]
    same = lengths[model] == lengths
    if same.all():
        shift = np.repeat(pointers[model] - pointers[:-1], lengths)
        same = listed[np.arange(len(listed)) + shift] == listed
    if same.all():
        return which, first
    every = np.arange(len(lengths))  # two lists have one hash
    return every, every
