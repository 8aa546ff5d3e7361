"""The block of memory that the threads of a team share: where each field is."""

from __future__ import annotations

#: Two cache lines: processors fetch them in pairs.
_APART = 128

#: Where each field of the block begins.
FIELDS = {
    # Written once, before there are workers.
    "grains": 0,  # i64: into how many grains a loop goes; 1 for a team of one
    "watchers": 8,  # i64: how many threads watch for regions; the others sleep whenever there is none
    "watch": 16,  # i64: how many looks at the word after a region, before a worker sleeps
    "yield": 24,  # i64: after how many of them it yields its processor, each time
    "wait": 32,  # i64: how many looks at what is done, before the owner sleeps
    "threads": 40,  # i64: how many threads run at the same time
    "surplus": 48,  # i64: how many workers are more than that, and do not watch
    "parts": 56,  # i64: a chunk is half of the grains, or those that are left if they are fewer, over this
    # The region.
    "word": _APART,  # i64: grains << 32 | back << 16 | front
    "function": _APART + 8,  # ptr
    "frame": _APART + 16,  # ptr
    "size": _APART + 24,  # i64: tiles of a grain
    "longer": _APART + 32,  # i64: how many grains, the first ones, have a tile more
    # How many grains the workers have done, ever.
    "done": 2 * _APART,  # i32
    "waiting": 2 * _APART + 4,  # i32: whether the owner sleeps
    "since": 2 * _APART + 8,  # i64: when it began to
    "usual": 2 * _APART + 16,  # i64: how long the owner takes for one of the longest chunks
    # What workers sleep on.
    "bell": 3 * _APART,  # i32: how often it was rung
    "sleepers": 3 * _APART + 4,  # i32
    "stop": 3 * _APART + 8,  # i32: whether the workers must leave
    "place": 3 * _APART + 12,  # i32: the processor of the owner
    # What only the owner writes: how many grains the workers were given, ever, without the region that is open.
    "expected": 4 * _APART,  # i32
}
#: The size of the block.
BLOCK_BYTES = 5 * _APART


def at(field: str, kind: str = "") -> str:
    """Write how to find a field of the block and, if it has a type here, to load it."""
    place = f"%{field}.at = getelementptr inbounds i8, ptr %team, i64 {FIELDS[field]}"
    return f"{place}\n  %{field} = load {kind}, ptr %{field}.at, align 8" if kind else place
