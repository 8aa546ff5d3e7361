"""A processor, as code generation sees it: its vectors, registers and caches."""

from __future__ import annotations

import os
import re
from pathlib import Path

from wengert.engine.core.named_tuples import NamedTuple

_CACHES = Path("/sys/devices/system/cpu")
#: Bytes of the first and the second level where the system reports none: those of x86-64 servers since 2017.
_USUAL_CACHES = 32 << 10, 1 << 20


class Target(NamedTuple):
    """A processor, as far as the choice of instructions and of tiles depends on it.

    Example:
        >>> Target("x86_64-unknown-linux-gnu", "x86-64-v3", "+avx2", 32, 16, True, 32 << 10, 1 << 20).lanes(4)
        8
    """

    triple: str
    """Architecture, vendor and system, as LLVM writes them."""
    cpu: str
    """LLVM's name of the model, which gives the latencies to schedule for."""
    features: str
    """The instruction sets beyond those of the model, as ``+avx2,-xop``."""
    vector_bytes: int
    """The width of a vector register."""
    registers: int
    """The number of vector registers."""
    has_fma: bool
    """Whether x y + z is one instruction."""
    level1: int
    """Bytes of the first-level data cache."""
    level2: int
    """Bytes of the second-level cache."""

    def lanes(self, item_bytes: int) -> int:
        """Return how many elements a vector register holds."""
        return self.vector_bytes // item_bytes

    @property
    def has_avx512(self) -> bool:
        """Whether registers hold 64 bytes, with what AVX-512 does to them."""
        return self.vector_bytes == 64


def _bytes(size: str) -> int:
    """Read the size of a cache as Linux writes it, such as ``48K``."""
    match = re.fullmatch(r"(\d+)([KMG]?)", size.strip())
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]] if match else 0


def cache_sizes(folder: Path = _CACHES) -> tuple[int, int]:
    """Return the bytes of the two private levels of data cache, as Linux reports them; otherwise usual sizes."""
    usable = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    sizes: dict[int, int] = {}
    for index in sorted(folder.glob(f"cpu{usable}/cache/index*")):
        try:
            kind, level = ((index / name).read_text().strip() for name in ("type", "level"))
            if kind in ("Data", "Unified"):
                sizes[int(level)] = _bytes((index / "size").read_text())
        except (OSError, ValueError):
            continue
    return sizes.get(1) or _USUAL_CACHES[0], sizes.get(2) or _USUAL_CACHES[1]


def available() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
