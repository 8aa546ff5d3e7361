"""The processor that code is made for: its vectors, registers and caches."""

from __future__ import annotations

import functools
import os
import platform
import re
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from llvmlite import binding as llvm

from wengert.errors import ArgumentError, message

#: What the target of this process is chosen by: ``avx512``, ``avx2`` or ``sse2``.
VARIABLE = "WENGERT_TARGET"

_CACHES = Path("/sys/devices/system/cpu")
#: Bytes of the first and the second level where the system does not tell: those of most x86-64 servers since 2017.
_USUAL_CACHES = 32 << 10, 1 << 20
#: Of AVX-512, what vectors of every element type need: the first processors had only a part of it.
_AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl")
#: The levels that the manual of x86-64 defines: LLVM's name, and what they have of vectors.
_LEVELS = {
    "sse2": ("x86-64",),
    "avx2": ("x86-64-v3", "avx", "avx2", "fma"),
    "avx512": ("x86-64-v4", "avx", "avx2", "fma", *_AVX512),
}
#: Some processors are taken to prefer half the vector that they have.
_WHOLE_VECTORS = "-prefer-256-bit"


class Target(NamedTuple):
    """A processor, as far as the choice of instructions and of tiles depends on it.

    Example:
        >>> named("avx2").lanes(4)
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

    @property
    def identity(self) -> str:
        """What object code for this target depends on: a part of the key of a cached object."""
        return f"{self.triple} {self.cpu} {self.features} llvm{'.'.join(map(str, llvm.llvm_version_info))}"


def _bytes(size: str) -> int:
    """Read the size of a cache as Linux writes it, such as ``48K``."""
    match = re.fullmatch(r"(\d+)([KMG]?)", size.strip())
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]] if match else 0


def cache_sizes(folder: Path = _CACHES) -> tuple[int, int]:
    """Return the bytes of the two levels of data cache that a processor has for itself, by what Linux tells of it.

    Where it tells nothing, the sizes are those of a usual processor.
    """
    usable = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    found: dict[int, int] = {}
    for index in sorted(folder.glob(f"cpu{usable}/cache/index*")):
        try:
            kind, level = ((index / name).read_text().strip() for name in ("type", "level"))
            if kind in ("Data", "Unified"):
                found[int(level)] = _bytes((index / "size").read_text())
        except (OSError, ValueError):
            continue
    return found.get(1) or _USUAL_CACHES[0], found.get(2) or _USUAL_CACHES[1]


def _x86(triple: str, cpu: str, features: dict[str, bool]) -> Target:
    """Return the target of an x86 processor with the given instruction sets."""
    wide = all(features.get(name) for name in _AVX512)
    vector = 64 if wide else 32 if features.get("avx") else 16
    text = ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features.items()))
    if wide:
        text += f",{_WHOLE_VECTORS}"
    return Target(triple, cpu, text, vector, 32 if wide else 16, bool(features.get("fma")), *cache_sizes())


def _level(vectors: str) -> Target:
    """Return the generic x86-64 of one of its levels."""
    cpu, *features = _LEVELS[vectors]
    triple = llvm.get_process_triple() if _is_x86() else "x86_64-unknown-linux-gnu"
    return _x86(triple, cpu, dict.fromkeys(features, True))


def _is_x86() -> bool:
    """Return whether this process runs on x86-64."""
    return platform.machine().lower() in ("x86_64", "amd64")


def named(name: str) -> Target:
    """Return a target by name: ``avx512``, ``avx2``, ``sse2`` or ``aarch64``.

    Only code for the processor at hand can run; code for the others can be looked at.

    Example:
        >>> named("aarch64").vector_bytes, named("sse2").registers
        (16, 16)
    """
    if name == "aarch64":
        return Target("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon", 16, 32, True, *cache_sizes())
    if name not in _LEVELS:
        raise ArgumentError(message("target", "must be avx512, avx2, sse2 or aarch64", repr(name)))
    return _level(name)


def _detect() -> Target:
    """Return the target that describes this machine in full."""
    triple, cpu = llvm.get_process_triple(), llvm.get_host_cpu_name()
    features: dict[str, bool] = dict(llvm.get_host_cpu_features())
    if _is_x86():
        return _x86(triple, cpu, features)
    text = ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features.items()))
    return Target(triple, cpu, text, 16, 32, True, *cache_sizes())


@functools.cache
def _chosen(name: str) -> Target:
    """Return this machine's target, or a lesser one by name if this machine can run it."""
    own = _detect()
    if not name:
        return own
    usual = "leave it unset for all that this processor has"
    if name not in _LEVELS:
        raise ArgumentError(message(VARIABLE, "must be avx512, avx2 or sse2", repr(name), usual))
    other = named(name)
    if not _is_x86() or other.vector_bytes > own.vector_bytes or other.has_fma > own.has_fma:
        raise ArgumentError(message(VARIABLE, "must be what this processor can run", repr(name), usual))
    return other


def host() -> Target:
    """Return the target of this process: the whole processor, or what ``WENGERT_TARGET`` limits it to.

    Example:
        >>> host().vector_bytes in (16, 32, 64)
        True
    """
    return _chosen(os.environ.get(VARIABLE, "").strip().lower())


@functools.cache
def _initialise() -> None:
    """Let LLVM make ready every processor that it was built for: ten milliseconds, once."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


_MACHINES: defaultdict[Target, list[llvm.TargetMachine]] = defaultdict(list)
"""LLVM's code generators that no one uses: each serves one thread at a time."""


@contextmanager
def borrowed(target: Target) -> Generator[llvm.TargetMachine]:
    """Have a code generator for a target to oneself.

    Position-independent code within two gigabytes reads a constant relative to the instruction, in the same
    instruction that uses it.
    """
    try:
        machine = _MACHINES[target].pop()
    except IndexError:
        _initialise()
        machine = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="small", jit=True
        )
    try:
        yield machine
    finally:
        _MACHINES[target].append(machine)
