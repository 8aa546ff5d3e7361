"""Targets of export by name: processors with their vectors and caches, and the systems whose files LLVM writes."""

from __future__ import annotations

import subprocess
import sys

from wengert.compiler.llvm.host import host, named
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.machine.target import Target

_KB = 1 << 10


#: The vectors of every target are at least this long: without vector registers, four numbers at a time.
_SHORTEST = 16


def _microcontroller(triple: str, cpu: str, features: str, *, fma: bool) -> Target:
    """Return a processor whose memory is as fast as a cache."""
    return Target(f"{triple}-none-none-eabihf", cpu, features, _SHORTEST, 8, fma, 16 * _KB, 64 * _KB)


#: Targets other than this machine's and the levels of x86-64.
_TARGETS = {
    "aarch64": Target(
        "aarch64-unknown-linux-gnu", "cortex-a72", "+neon", 16, 32, True, 32 * _KB, 1024 * _KB
    ),
    "macos-arm64": Target(
        "arm64-apple-macosx11.0.0", "apple-m1", "+neon", 16, 32, True, 128 * _KB, 4096 * _KB
    ),
    "armv7": Target(
        "armv7-unknown-linux-gnueabihf", "cortex-a15", "+neon", 16, 16, True, 32 * _KB, 1024 * _KB
    ),
    "riscv64": Target(
        "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", _SHORTEST, 8, True, 32 * _KB, 512 * _KB
    ),
    "cortex-m4f": _microcontroller("thumbv7em", "cortex-m4", "", fma=False),
    "cortex-m7": _microcontroller("thumbv7em", "cortex-m7", "", fma=True),
    "cortex-m55": _microcontroller(
        "thumbv8.1m.main", "cortex-m55", "+mve.fp", fma=True
    ),
    "wasm32": Target(
        "wasm32-unknown-unknown", "generic", "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint",
        16, 16, False, 32 * _KB, 1024 * _KB,
    ),
}  # fmt: skip
#: For a level of x86-64, the name by which ``WENGERT_TARGET`` knows the vectors of its code, and LLVM's processor.
_LEVELS = {"x86-64-v2": "sse2", "x86-64-v3": "avx2", "x86-64-v4": "avx512"}
_LINUX, _WINDOWS = "x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc"

NAMES = ("host", *_LEVELS, *_TARGETS, "windows-x86-64")
"""The names of targets."""


def target_named(name: str) -> Target:
    """Return a target by name, or of the form ``triple:cpu:+feature,-feature``.

    Raises:
        ArgumentError: no target has this name, or LLVM does not know the processor or a feature.

    Example:
        >>> target_named("cortex-m4f").cpu
        'cortex-m4'
        >>> target_named("riscv64-unknown-linux-gnu:sifive-u74:+m,+a,+f,+d,+c").triple
        'riscv64-unknown-linux-gnu'
    """
    if name == "host":
        return host()
    if name in _TARGETS:
        return _TARGETS[name]
    if name in _LEVELS or name == "windows-x86-64":
        triple = _WINDOWS if name == "windows-x86-64" else _LINUX
        level = "x86-64-v3" if name == "windows-x86-64" else name
        cpu = "x86-64-v2" if level == "x86-64-v2" else None
        target = named(_LEVELS[level])
        return target._replace(triple=triple, cpu=cpu or target.cpu)
    parts = str(name).split(":")
    if len(parts) == 3:
        _check_known(*parts)
        return _described(*parts)
    requirement = f"the target must be {', '.join(NAMES)}, or triple:cpu:+features"
    raise ArgumentError(message("export", requirement, repr(name)))


#: For a process of its own: LLVM writes names that it does not know to standard error, and may end the process.
_TRIAL = """
import sys
from llvmlite import binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
triple, cpu, features = sys.argv[1:]
machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features)
module = llvm.parse_assembly("define void @f() { ret void }")
module.triple = triple
machine.emit_object(module)
"""


def _check_known(triple: str, cpu: str, features: str) -> None:
    """Raise `ArgumentError` if LLVM does not know a part of a target."""
    command = [sys.executable, "-c", _TRIAL, triple, cpu, features]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stderr.split("\n")
    unknown = [line.split(" (ignoring")[0] for line in lines if "is not a recognized" in line]
    if done.returncode and not unknown:
        unknown = [line for line in lines if line][-1:]
    if unknown:
        requirement = "a target must have a triple, a processor and features that LLVM knows"
        said = f"LLVM says: {'; '.join(dict.fromkeys(unknown))}"
        raise ArgumentError(message("export", requirement, repr(f"{triple}:{cpu}:{features}"), said))


def _described(triple: str, cpu: str, features: str) -> Target:
    """Return the target that a triple, LLVM's name of a processor and its features describe."""
    parts = set(features.split(","))
    architecture = triple.split("-")[0]
    if "+avx512f" in parts:
        vector, registers = 64, 32
    elif {"+avx", "+avx2"} & parts:
        vector, registers = 32, 16
    elif architecture in ("x86_64", "aarch64", "arm64") or {"+simd128", "+neon", "+mve.fp"} & parts:
        vector, registers = 16, 32 if architecture in ("aarch64", "arm64") else 16
    else:
        vector, registers = _SHORTEST, 8
    fma = architecture in ("aarch64", "arm64", "riscv64") or bool({"+fma", "+vfp4", "+mve.fp"} & parts)
    return Target(triple, cpu, features, vector, registers, fma, 32 * _KB, 512 * _KB)


def can_follow(target: Target, like: Target) -> bool:
    """Return whether a target can do its operations in the order of another one, with the same roundings.

    LLVM fuses multiplications and additions where the processor has the instruction; on x86-64 it can be switched off.
    """
    if like.has_avx512 and not target.has_avx512:  # its elementary functions have instructions of their own
        return False
    return target.has_fma == like.has_fma or (target.has_fma and target.triple.split("-")[0] == "x86_64")


def in_the_order_of(target: Target, like: Target) -> Target:
    """Return a target whose code does its operations in the order of another one's, for equal bits.

    The vectors of the other target are operations on as many of this one's registers as they need. `ArgumentError` if
    the target cannot round as the other one does.
    """
    if not can_follow(target, like):
        requirement = (
            "like must name a target with the same instructions for multiply-add, and without more of AVX-512"
        )
        raise ArgumentError(message("export", requirement, f"{like.cpu} for {target.cpu}"))
    without = "-fma" if target.has_fma and not like.has_fma else ""
    features = ",".join(filter(None, [target.features, without]))
    return like._replace(triple=target.triple, cpu=target.cpu, features=features)
