"""A function as files of C that people can read: a header, the source, and a program that tests it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wengert._version import __version__
from wengert.compiler.freestanding.function import Function
from wengert.compiler.freestanding.program import Freestanding, parameters
from wengert.engine.core.files import replace_all
from wengert.engine.machine.target import Target
from wengert.exporting.c_files import described_leaves, header_of, parameter, self_test
from wengert.exporting.c_source.layout import arguments, indented, wrapped
from wengert.exporting.c_source.operations import Operations
from wengert.exporting.c_source.program import Source, write_function

_FLAGS = """\
/* Nothing reads errno or the flags of the floating-point unit: choices and roots may be those of vectors. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-math-errno", "no-trapping-math")
#endif
"""
_CONTRACTION = """\
/* Products and sums are rounded apart, so that the same formula has the same bits wherever it is compared. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif
"""
_NOT_FAST = """\
#ifdef __FAST_MATH__
#error "NaN and infinity count: compile without -ffast-math"
#endif
"""


def write_source(programs: Sequence[Freestanding], stem: Path, fun: Any) -> list[Path]:
    """Write the header, the source and the test, and return their paths."""
    name = stem.name
    sources, contents = texts(
        {program.name: program.function for program in programs}, name, programs[0].target, fun
    )
    contents[f"{name}_test.c"] = self_test(programs, name, [bool(source.memory) for source in sources])
    return replace_all({stem.parent / file: text.encode() for file, text in contents.items()})


def texts(
    functions: Mapping[str, Function], name: str, target: Target, fun: Any
) -> tuple[list[Source], dict[str, str]]:
    """Return functions as C by their names, and the header and the source that hold them."""
    operations = Operations()
    sources = [write_function(function, own, target, operations, fun) for own, function in functions.items()]
    is_fast = any(function.unit.options.flags for function in functions.values())
    return sources, {
        f"{name}.h": header_of(name, "as source", map(_declarations, sources)),
        f"{name}.c": _source(sources, name, operations, is_fast),
    }


def _declarations(source: Source) -> str:
    function, name = source.function, source.name
    taken = [parameter(leaf, writes) for leaf, writes in parameters(function)]
    described = "\n".join(described_leaves(function))
    work, note = "", ""
    if source.memory:
        taken.append(f"struct {name}_work *work")
        fields = indented(
            f"{part.kind} {part.name}[{part.size}]; /* {part.shapes} */" for part in source.memory
        )
        members = "\n".join(fields)
        work = (
            f"\n/* The intermediate arrays of a call of {name}. */\nstruct {name}_work {{\n{members}\n}};\n"
        )
        note = " Calls with different work may run at the same time."
    return f"""{work}
/* {name}{described}

   Returns 0, or a code that {name}_error explains; results are then not complete. Arrays are in row-major order, and do
   not overlap.{note} */
int {name}({arguments(taken)});

/* Returns the text of an error. */
const char *{name}_error(int code);
"""


def _source(sources: Sequence[Source], name: str, operations: Operations, is_fast: bool) -> str:
    functions = "\n".join(f"{source.text}\n\n{_explanation(source)}" for source in sources)
    helpers = "\n".join(operations.functions.values())
    body = "\n".join(line for long in f"{helpers}\n{functions}".split("\n") for line in wrapped(long))
    includes = ["math.h"] * bool(re.search(r"\b\w+\(|NAN|INFINITY", body))
    includes += ["stdbool.h"] * bool(re.search(r"\bbool\b|\btrue\b|\bfalse\b", body))
    text = f"""\
/* Made by Wengert {__version__}. C99 with math.h: no allocation, no recursion, no thread. */
#include "{name}.h"

{"".join(f"#include <{header}>{chr(10)}" for header in includes)}
{"" if is_fast else _NOT_FAST}
{_FLAGS}
{_CONTRACTION if operations.compares else ""}
{body.lstrip()}"""
    return re.sub(r"\n{3,}", "\n\n", text)


def _explanation(source: Source) -> str:
    """Return the function that gives the text of an error."""
    texts = ["no error", *source.errors]
    listed = ",\n        ".join(map(_quoted, texts))
    return f"""\
const char *{source.name}_error(int code)
{{
    static const char *const texts[] = {{
        {listed},
    }};
    return code >= 0 && code < {len(texts)} ? texts[code] : "no such error";
}}
"""


def _quoted(text: str) -> str:
    """Return a string of C."""
    parts: list[str] = []
    for byte in text.encode():
        plain = 32 <= byte < 127 and byte not in b'"\\?'
        parts.append(chr(byte) if plain else f"\\{byte:03o}")
    return f'"{"".join(parts)}"'
