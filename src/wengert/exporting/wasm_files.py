"""A function as WebAssembly: a module without imports, JavaScript that calls it, and TypeScript declarations.

The memory of the module holds an array for each leaf. The JavaScript shows these arrays as typed arrays: it writes
arguments into them, runs the program, and reads the results.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wengert._version import __version__
from wengert.compiler.freestanding.function import Leaf
from wengert.compiler.freestanding.program import ALIGNMENT, Freestanding, data, parameters
from wengert.engine.core.errors import MissingExtraError, WengertError, message
from wengert.engine.core.files import replace_all
from wengert.exporting.c_types import elements

_STACK = 1 << 18
_ARRAYS = {
    "bool": "Uint8Array",
    "float16": "Uint16Array",
    "float32": "Float32Array",
    "float64": "Float64Array",
    "complex64": "Float32Array",
    "complex128": "Float64Array",
    "int64": "BigInt64Array",
    "uint64": "BigUint64Array",
}


class LinkError(WengertError, RuntimeError):
    """The linker refused a module."""


def array_type(leaf: Leaf) -> str:
    """Return the typed array of JavaScript for a leaf."""
    name = str(leaf.type.dtype)
    return _ARRAYS.get(name, f"{name[0].upper()}{name[1:]}Array")


def resident(program: Freestanding) -> str:
    """Return the program with an array for each leaf in its own memory, and an entry without parameters."""
    function, name = program.function, program.name
    values = dict(zip((leaf.name for leaf in function.arguments), function.values, strict=True))
    state = {function.arguments[number].name for number in function.places.values()}
    lines: list[str] = []
    for leaf, _ in parameters(function):
        dtype = leaf.type.dtype
        size = max(elements(leaf) * dtype.itemsize // (2 if dtype.kind == "c" else 1), 1)
        if leaf.name in state:
            raw: Any = np.ascontiguousarray(values[leaf.name])
            lines.append(data(f"{name}.{leaf.name}", raw.tobytes(), ALIGNMENT, "global"))
        else:
            lines.append(f"@{name}.{leaf.name} = global [{size} x i8] zeroinitializer, align {ALIGNMENT}")
    passed = ", ".join(f"ptr @{name}.{leaf.name}" for leaf, _ in parameters(function))
    lines.append(f"""
define i32 @{name}.run() nounwind {{
  %code = call i32 @{name}_static({passed})
  ret i32 %code
}}
""")
    return "\n".join([program.text, *lines])


# -- linking ---------------------------------------------------------------------------------------------


@functools.cache
def linker() -> list[str]:
    """Return the command of a linker for WebAssembly; an empty list if there is none."""
    for name in ("wasm-ld", *(f"wasm-ld-{version}" for version in range(30, 13, -1))):
        if path := shutil.which(name):
            return [path]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "wasm-ld"]
    return []


def link(objects: bytes, programs: Sequence[Freestanding], stem: Path) -> bytes:
    """Return the linked module; without a linker, the object file is written, and the error has the command."""
    exports = [f"--export={symbol}" for program in programs for symbol in _symbols(program)]
    flags = ["--no-entry", "--strip-all", "--gc-sections", "-O2", "-z", f"stack-size={_STACK}", *exports]
    if not linker():
        (place,) = replace_all({stem.with_suffix(".o"): objects})
        command = " ".join(["wasm-ld", *flags, str(place), "-o", str(stem.with_suffix(".wasm"))])
        requirement = "a linker for WebAssembly is required"
        hint = f"install wasm-ld (the package lld), or pip install 'wengert[wasm]', or run {command}"
        raise MissingExtraError(message("export", requirement, hint=hint))
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "f.o"), Path(folder, "f.wasm")
        source.write_bytes(objects)
        done = subprocess.run(
            [*linker(), *flags, str(source), "-o", str(made)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise LinkError(message("export", "the linker must accept the module", done.stderr.strip()))
        return made.read_bytes()


def _symbols(program: Freestanding) -> list[str]:
    name = program.name
    return [
        f"{name}.run",
        f"{name}_error",
        *(f"{name}.{leaf.name}" for leaf, _ in parameters(program.function)),
    ]


# -- JavaScript ------------------------------------------------------------------------------------------

#: The JavaScript, with the parts that depend on the functions between two underscores each.
_SCRIPT = Path(__file__).with_name("module.mjs")


def _facts(program: Freestanding) -> dict[str, Any]:
    reads = {leaf.name for leaf in program.function.arguments}
    return {
        "name": program.name,
        "leaves": [
            {
                "name": leaf.name,
                "path": leaf.path,
                "dtype": str(leaf.type.dtype),
                "shape": list(leaf.type.shape),
                "array": array_type(leaf),
                "size": elements(leaf),
                "reads": leaf.name in reads,
                "writes": writes,
            }
            for leaf, writes in parameters(program.function)
        ],
    }


def script(programs: Sequence[Freestanding]) -> str:
    """Return the text of the JavaScript module."""
    facts = [_facts(program) for program in programs]
    example = ", ".join(leaf["name"] for leaf in facts[0]["leaves"] if leaf["reads"] and not leaf["writes"])
    parts = {
        "__VERSION__": __version__,
        "__NAME__": programs[0].name,
        "__EXAMPLE__": example,
        "__FACTS__": json.dumps(facts, indent=2),
    }
    text = _SCRIPT.read_text("utf-8")
    for place, part in parts.items():
        text = text.replace(place, part)
    return text


def declarations(programs: Sequence[Freestanding]) -> str:
    """Return the TypeScript declarations."""
    texts = [_declared(program) for program in programs]
    more = "".join(f"  readonly {program.name}: {_interface_name(program)};\n" for program in programs)
    return f"""\
// Made by Wengert {__version__}.
{"".join(texts)}
/** Loads the module: an address, a path of Node.js, bytes, or a response. */
export function load(
  source: string | URL | ArrayBuffer | ArrayBufferView | Response,
): Promise<{_interface_name(programs[0])} & {{
{more}}}>;

export default load;
"""


def _interface_name(program: Freestanding) -> str:
    return "".join(part.capitalize() for part in program.name.split("_")) + "Function"


def _declared(program: Freestanding) -> str:
    reads = {leaf.name for leaf in program.function.arguments}

    def comment(leaf: Leaf) -> str:
        return f"    /** {leaf.path}: {leaf.type} */\n"

    arguments = "".join(
        f"{comment(leaf)}    {leaf.name}{'?' if writes else ''}: {_accepted(leaf)};\n"
        for leaf, writes in parameters(program.function)
        if leaf.name in reads
    )
    results = "".join(
        f"{comment(leaf)}    {leaf.name}: {array_type(leaf) if leaf.type.shape else _number(leaf)};\n"
        for leaf, _ in parameters(program.function)
        if leaf.name not in reads
    )
    arrays = "".join(f"    {leaf.name}: {array_type(leaf)};\n" for leaf, _ in parameters(program.function))
    return f"""
export interface {_interface_name(program)} {{
  (given: {{
{arguments}  }}): {{
{results}  }};
  /** Runs the function on the numbers that its arrays hold. */
  run(): {{
{results}  }};
  /** Views of the memory of the module: arguments, results, and the state between calls. */
  readonly arrays: {{
{arrays}  }};
}}
"""


def _number(leaf: Leaf) -> str:
    return "bigint" if array_type(leaf).startswith("Big") else "number"


def _accepted(leaf: Leaf) -> str:
    return f"{array_type(leaf)} | {_number(leaf)}[]" + ("" if leaf.type.shape else f" | {_number(leaf)}")


def write_wasm(programs: Sequence[Freestanding], objects: bytes, stem: Path) -> list[Path]:
    """Write all files, and return their paths."""
    contents = {
        f"{stem.name}.wasm": link(objects, programs, stem),
        f"{stem.name}.mjs": script(programs).encode(),
        f"{stem.name}.d.ts": declarations(programs).encode(),
    }
    return replace_all({stem.parent / file: content for file, content in contents.items()})
