"""A function as one freestanding object file: entries with an address for each leaf, constants, error texts.

The file calls nothing but ``memcpy`` and ``memset``, which every C compiler takes for granted, and on 32-bit processors
the arithmetic of the C compiler's own library. Its only global symbols are the entries::

    int NAME(const float *x, ..., void *arena)      runs the program in memory of the caller
    int NAME_static(const float *x, ...)            runs it in memory of its own
    const char *NAME_error(int code)                explains what an entry returned
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.compiler.codegen.interface import ARENA, STATUS, Interface
from wengert.compiler.codegen.module import build
from wengert.compiler.codegen.subnormals import can_flush
from wengert.compiler.freestanding.function import Function, Leaf
from wengert.compiler.freestanding.support import support_functions
from wengert.compiler.pipeline import SCHEDULED, advance
from wengert.compiler.runtime.execute import reported
from wengert.engine.core.errors import UnsupportedError, located, message
from wengert.engine.machine.target import Target

ALIGNMENT = 64
"""The alignment of the arena and of constants: a cache line."""
_DEFINITION = re.compile(r"^define (?!internal|private)", re.MULTILINE)


@dataclass(frozen=True)
class Freestanding:
    """A function as LLVM IR that needs no other code."""

    name: str
    """The name of its entry."""
    function: Function
    target: Target
    text: str
    arena: int
    """Bytes of memory that a call needs."""
    errors: tuple[str, ...]
    """The text for each code that a call returns, from 1."""
    flushes: bool
    """Whether subnormal numbers count as zeros."""


def parameters(function: Function) -> list[tuple[Leaf, bool]]:
    """Return the leaves whose addresses an entry takes, and whether it writes there: each address once.

    The items of a dict stand in its own order.
    """
    written, places = frozenset(function.places.values()), function.places
    leaves = [(function.arguments[n], n in written) for n in function.argument_order]
    return leaves + [(function.results[n], True) for n in function.result_order if n not in places]


def freestanding(function: Function, name: str, target: Target) -> Freestanding:
    """Compile a function to LLVM IR that needs no other code; `UnsupportedError` where an operation calls NumPy."""
    unit = advance(function.unit_for(target), SCHEDULED)
    flushes = unit.options.flush_subnormals and can_flush(target)
    module = build(
        unit.program,
        unit.layouts,
        unit.arena,
        unit.schedules,
        target,
        unit.options.flags,
        flush_subnormals=flushes,
        hosted=False,
    )
    interface = module.interface
    if interface.hosts:
        first = interface.hosts[0]
        requirement = "an operation that NumPy or SciPy carries out cannot leave Python"
        got = first.primitive
        hint = "compute it in Python and pass the result as an argument; a saved function can hold it"
        if any(array.dtype == np.float16 for array in first.outputs):
            got, hint = f"{got} of float16", "convert the arguments to float32 in the function"
        raise UnsupportedError(located(message("export", requirement, got, hint), first.location))
    errors = tuple(str(reported(place)) for place in interface.places)
    program = _DEFINITION.sub("define internal ", module.text).replace(" @main(", f" @{_PROGRAM}(")
    parts = [
        support_functions(program, target.triple),
        program,
        *[data(f"wengert.constant{slot}", _raw(value)) for slot, value in interface.constants],
        _entries(function, name, interface, len(errors)),
        _explanation(name, errors),
    ]
    size = max(module.bytes(1), 1)
    return Freestanding(name, function, target, "\n".join(parts), size, errors, flushes)


_PROGRAM = "wengert.program"


_PLAIN = frozenset(range(32, 127)) - {*b'"\\'}
_ESCAPES = {byte: f"\\{byte:02X}" for byte in range(256) if byte not in _PLAIN}


def _bytes(raw: bytes) -> str:
    """Write bytes as LLVM does."""
    return raw.decode("latin-1").translate(_ESCAPES)


def data(name: str, raw: bytes, alignment: int = ALIGNMENT, kind: str = "internal constant") -> str:
    """Return the definition of bytes in LLVM IR."""
    raw = raw or b"\0"
    return f'@{name} = {kind} [{len(raw)} x i8] c"{_bytes(raw)}", align {alignment}'


def _raw(value: Any) -> bytes:
    array = np.asarray(value)
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


def _entries(function: Function, name: str, interface: Interface, errors: int) -> str:
    """Write the two entries, and the function behind both, which makes the block of addresses."""
    leaves = parameters(function)
    passed = [f"ptr %p{n}" for n in range(len(leaves))]
    arena = "wengert.arena"
    common = ", ".join([*passed, "ptr %arena"])
    own = ", ".join([*passed, f"ptr @{arena}"])
    size = max(interface.arena + interface.private, 1)
    return f"""
@{arena} = internal global [{size} x i8] zeroinitializer, align {ALIGNMENT}

define i32 @{name}({common}) nounwind {{
{_body(function, interface, errors)}
}}

define i32 @{name}_static({", ".join(passed)}) nounwind {{
  %code = call i32 @{name}({own})
  ret i32 %code
}}
"""


def _body(function: Function, interface: Interface, errors: int) -> str:
    """Write the body of the entry: the block of addresses, the call, the code."""
    addresses = {STATUS: "%status", ARENA: "%arena"}
    addresses |= {slot: f"@wengert.constant{slot}" for slot, _ in interface.constants}
    place = {leaf.name: f"%p{n}" for n, (leaf, _) in enumerate(parameters(function))}
    for slots, leaves in ((interface.inputs, function.arguments), (interface.outputs, function.results)):
        addresses |= {slot: place[leaf.name] for slot, leaf in zip(slots, leaves, strict=True)}
    lines = [
        f"  %block = alloca [{interface.slots} x ptr], align 16",
        "  %status = alloca [8 x i64], align 64",
        "  store i64 0, ptr %status, align 8",
    ]
    for slot, address in addresses.items():
        lines.append(f"  %s{slot} = getelementptr inbounds ptr, ptr %block, i32 {slot}")
        lines.append(f"  store ptr {address}, ptr %s{slot}, align 4")
    lines.append(f"  call void @{_PROGRAM}(ptr %block, ptr null)")
    if errors:
        lines += ["  %reported = load i64, ptr %status, align 8", "  %code = trunc i64 %reported to i32"]
    lines.append(f"  ret i32 {'%code' if errors else '0'}")
    return "\n".join(lines)


def _explanation(name: str, errors: Sequence[str]) -> str:
    """Write the function that returns the text of an error."""
    texts = ["no error", *errors, "no such error"]
    lines = [data(f"wengert.text{n}", text.encode() + b"\0", 1) for n, text in enumerate(texts)]
    cases = "\n".join(f"    i32 {n}, label %text{n}" for n in range(len(texts) - 1))
    blocks = "\n".join(f"text{n}:\n  ret ptr @wengert.text{n}" for n in range(len(texts)))
    return f"""
{chr(10).join(lines)}

define ptr @{name}_error(i32 %code) nounwind {{
  switch i32 %code, label %text{len(texts) - 1} [
{cases}
  ]
{blocks}
}}
"""
