"""Targets that LLVM knows: this machine's processor, lesser ones by name, and code generators for them."""

from __future__ import annotations

import functools
import os
import platform
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from wengert.compiler.llvm.binding import llvm
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.machine.target import Target, cache_sizes

#: The environment variable for the target of this process: ``avx512``, ``avx2`` or ``sse2``.
VARIABLE = "WENGERT_TARGET"

#: The parts of AVX-512 that vectors of every element type need: the first processors had only some of them.
_AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl")
#: The levels of the x86-64 manual: LLVM's name, and the vector instruction sets.
_LEVELS = {
    "sse2": ("x86-64",),
    "avx2": ("x86-64-v3", "avx", "avx2", "fma"),
    "avx512": ("x86-64-v4", "avx", "avx2", "fma", *_AVX512),
}
#: LLVM assumes that some processors prefer half of their vectors.
_WHOLE_VECTORS = "-prefer-256-bit"


def identity(target: Target) -> str:
    """Return the facts about a target that determine object code, for the key of a cached object."""
    version = ".".join(map(str, llvm.llvm_version_info))
    return f"{target.triple} {target.cpu} {target.features} llvm{version}"


def _x86(triple: str, cpu: str, features: dict[str, bool]) -> Target:
    """Return the target of an x86 processor with the given instruction sets."""
    wide = all(features.get(name) for name in _AVX512)
    vector = 64 if wide else 32 if features.get("avx") else 16
    text = ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features.items()))
    if wide:
        text += f",{_WHOLE_VECTORS}"
    return Target(triple, cpu, text, vector, 32 if wide else 16, bool(features.get("fma")), *cache_sizes())


def _level(vectors: str) -> Target:
    """Return the generic x86-64 of a level."""
    cpu, *features = _LEVELS[vectors]
    triple = llvm.get_process_triple() if _is_x86() else "x86_64-unknown-linux-gnu"
    return _x86(triple, cpu, dict.fromkeys(features, True))


def _is_x86() -> bool:
    """Return whether this process runs on x86-64."""
    return platform.machine().lower() in ("x86_64", "amd64")


def named(name: str) -> Target:
    """Return a target by name: ``avx512``, ``avx2``, ``sse2`` or ``aarch64``.

    Only code for this machine's processor can run; code for the others can be read.

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
    """Return the target with all features of this machine."""
    triple, cpu = llvm.get_process_triple(), llvm.get_host_cpu_name()
    features: dict[str, bool] = dict(llvm.get_host_cpu_features())
    if _is_x86():
        return _x86(triple, cpu, features)
    text = ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features.items()))
    return Target(triple, cpu, text, 16, 32, True, *cache_sizes())


@functools.cache
def _chosen(name: str) -> Target:
    """Return this machine's target, or a lesser one by name."""
    own = _detect()
    if not name:
        return own
    usual = "leave it unset for all that this processor has"
    if name not in _LEVELS:
        raise ArgumentError(message(VARIABLE, "must be avx512, avx2 or sse2", repr(name), usual))
    requested = named(name)
    if not _is_x86() or requested.vector_bytes > own.vector_bytes or requested.has_fma > own.has_fma:
        raise ArgumentError(message(VARIABLE, "must be what this processor can run", repr(name), usual))
    return requested


_agreed: list[Target] = []
"""The target that the processes of a job have in common, if they differ."""


def common(targets: Sequence[Target]) -> Target:
    """Return the target whose code runs on the processors of all the given ones.

    Example:
        >>> common([named("avx512"), named("avx2")]).cpu
        'x86-64-v3'
    """
    if len(set(targets)) == 1:
        return targets[0]
    least = min(targets, key=lambda target: (target.vector_bytes, target.has_fma))
    levels = [name for name in _LEVELS if _runs(name, least)]
    if not levels or len({target.triple for target in targets}) > 1:
        raise ArgumentError(message("target", "all processors must be of one kind", str(sorted({*targets}))))
    return _level(levels[-1])._replace(level1=least.level1, level2=least.level2)


def _runs(level: str, target: Target) -> bool:
    needed = _level(level)
    return needed.vector_bytes <= target.vector_bytes and needed.has_fma <= target.has_fma


def agree_on(target: Target) -> None:
    """Compile for a target from `common` from now on."""
    _agreed[:] = [target]


def host() -> Target:
    """Return the target of this process: the whole processor, or the one that ``WENGERT_TARGET`` names.

    In a job of processes on different processors, it is the one that all of them run.

    Example:
        >>> host().vector_bytes in (16, 32, 64)
        True
    """
    return _agreed[0] if _agreed else _chosen(os.environ.get(VARIABLE, "").strip().lower())


@functools.cache
def _initialise() -> None:
    """Initialise every target that LLVM was built for: ten milliseconds, once."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


_MACHINES: defaultdict[Target, list[llvm.TargetMachine]] = defaultdict(list)
"""LLVM's idle code generators: each serves one thread at a time."""


def _code_generator(target: Target) -> llvm.TargetMachine:
    is_bare = "-none-" in target.triple or target.triple.startswith("wasm")
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=3,
        reloc="static" if is_bare else "pic",
        codemodel="small",
        jit=True,
        abiname="lp64d" if target.triple.startswith("riscv64") else "",
    )


@contextmanager
def borrowed(target: Target) -> Generator[llvm.TargetMachine]:
    """Yield a code generator for a target that no other thread uses.

    Position-independent code within two gigabytes reads a constant in the same instruction that uses it.
    """
    try:
        machine = _MACHINES[target].pop()
    except IndexError:
        _initialise()
        machine = _code_generator(target)
    try:
        yield machine
    finally:
        _MACHINES[target].append(machine)
