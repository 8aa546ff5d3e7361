"""A function as C: a header, an object file, a program that tests it, and a description as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wengert._version import __version__
from wengert.compiler.freestanding.function import Function, Leaf
from wengert.compiler.freestanding.program import ALIGNMENT, Freestanding, parameters
from wengert.engine.core.files import replace_all
from wengert.exporting.c_types import MEANINGS, c_type, elements
from wengert.exporting.vectors import Slope, Vectors, vectors


def header(programs: Sequence[Freestanding], name: str) -> str:
    """Return the text of the header."""
    target = programs[0].target
    return header_of(name, f"for {target.triple} ({target.cpu})", map(_declarations, programs))


def header_of(name: str, about: str, declarations: Iterable[str]) -> str:
    """Return the text of a header with some declarations."""
    guard = f"WENGERT_{name.upper()}_H"
    parts = "\n".join(declarations)
    return f"""\
/* Made by Wengert {__version__} {about}. */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif
{parts}
#ifdef __cplusplus
}}
#endif

#endif
"""


def _declarations(program: Freestanding) -> str:
    function = program.function
    upper, name = program.name.upper(), program.name
    listed = ",\n".join(f"    {parameter(leaf, writes)}" for leaf, writes in parameters(function))
    described = "\n".join(described_leaves(function))
    empty = "" if listed else "void"
    subnormals = _FLUSHES if program.flushes else ""
    return f"""
/* {name}{described}

   Returns 0, or a code that {name}_error explains; results are then not complete. Arrays are in row-major order, and do
   not overlap.{subnormals} */
#define {upper}_ARENA_BYTES {program.arena}
#define {upper}_ARENA_ALIGN {ALIGNMENT}

/* Uses the memory at arena, {upper}_ARENA_BYTES bytes at a multiple of {upper}_ARENA_ALIGN; calls with different memory
   may run at the same time. */
int {name}(
{listed + ("," if listed else "")}
    void *arena);

/* Uses memory of its own: one call at a time. */
int {name}_static({empty}
{listed});

/* Returns the text of an error. */
const char *{name}_error(int code);
"""


_FLUSHES = """ Subnormal numbers count as zeros: a call sets the processor's flags, and restores them when it
   returns."""


def parameter(leaf: Leaf, writes: bool) -> str:
    """Return the declaration of a parameter."""
    return f"{'' if writes else 'const '}{c_type(leaf.type.dtype)} *{leaf.name}"


def described_leaves(function: Function) -> Iterator[str]:
    """Yield a line for each address: its place in the containers, its shape, its direction."""
    yield ""
    inputs = {leaf.name: leaf for leaf in function.arguments}
    outputs = {leaf.name: leaf for leaf in function.results}
    for leaf, _ in parameters(function):
        name = leaf.name
        direction = "in, out" if name in inputs and name in outputs else "in" if name in inputs else "out"
        shape = "".join(f"[{n}]" for n in leaf.type.shape) or "[1]"
        place = leaf.path.replace("*/", "* /")  # a key must not end the comment
        yield f"   {name}{shape}: {direction}, {place}{MEANINGS.get(str(leaf.type.dtype), '')}"


# -- the test --------------------------------------------------------------------------------------------

_HELPERS = """\
static int failures;

static double spread(uint32_t i, uint32_t number) {
    return (double)(uint32_t)(i * 2654435761u + number * 40503u) / 2147483648.0 - 1.0;
}

static void check_error(int code, const char *text) {
    if (code) {
        printf("error %d: %s\\n", code, text);
        failures++;
    }
}

static void check_bits(const char *name, const void *result, const void *expected, size_t bytes) {
    if (memcmp(result, expected, bytes)) {
        printf("%s: the bits differ\\n", name);
        failures++;
    }
}
"""

_CLOSE = """\
static void check_close_{kind}(const char *name, const {kind} *result, const {kind} *expected, size_t count) {{
    double largest = 0.0, error = 0.0;
    size_t i;
    for (i = 0; i < count; i++) {{
        double size = fabs((double)expected[i]), off = fabs((double)result[i] - (double)expected[i]);
        if (size > largest)
            largest = size;
        if (off > error)
            error = off;
    }}
    if (!(error <= {tolerance} * largest)) {{
        printf("%s: off by %g where the largest number is %g\\n", name, error, largest);
        failures++;
    }}
}}
"""
_TOLERANCES = {"float": 1e-5, "double": 1e-12}


def self_test(programs: Sequence[Freestanding], name: str, works: Sequence[bool] | None = None) -> str:
    """Return the text of a program that runs each function on its examples, and returns 0 if all is as expected.

    ``works`` tells of functions that are source whether they take a struct for their intermediate arrays.
    """
    takes = works or [None] * len(programs)
    tests = [_Test(program, vectors(program), work) for program, work in zip(programs, takes, strict=True)]
    bodies = "\n".join(test.text() for test in tests)
    used = sorted({kind for test in tests for kind in test.close})
    close = "\n".join(_CLOSE.format(kind=kind, tolerance=_TOLERANCES[kind]) for kind in used)
    calls = "\n".join(f"    test_{test.name}();" for test in tests)
    helpers = _HELPERS
    if not any(test.bits for test in tests):
        helpers = helpers[: helpers.index("static void check_bits")]
    if not any(test.slope for test in tests):
        first, second = helpers.index("static double spread"), helpers.index("static void check_error")
        helpers = helpers[:first] + helpers[second:]
    includes = "".join(f"#include <{header}.h>\n" for header in ["math", "stdio", "string"])
    return f"""\
/* Tests {name}.{"c" if works else "o"}: made by Wengert {__version__}. Returns 0 if all results are as expected. */
#include "{name}.h"
{includes}
{helpers}
{close}
{bodies}
int main(void) {{
{calls}
    printf(failures ? "%d failures\\n" : "all results are as expected\\n", failures);
    return failures != 0;
}}
"""


class _Test:
    """The test of one function."""

    def __init__(self, program: Freestanding, expected: Vectors, work: bool | None) -> None:
        self.name, self.function = program.name, program.function
        self.expected = expected if work is None else expected._replace(is_exact=False)
        self.work = work
        self.slope: Slope | None = expected.slope
        self.bits: set[str] = set()
        self.close: set[str] = set()

    def text(self) -> str:
        """Return the data and the function ``test_NAME``."""
        function, name = self.function, self.name
        upper = name.upper()
        data = [self._array(f"given_{name}_{leaf.name}", leaf, x) for leaf, x in zip(
            function.arguments, function.values, strict=True)]  # fmt: skip
        data += [
            self._array(f"expected_{name}_{leaf.name}", leaf, x)
            for leaf, x in zip(function.results, self.expected.results, strict=True)
        ]
        buffers = [
            f"static {c_type(leaf.type.dtype)} buffer_{name}_{leaf.name}[{max(elements(leaf), 1)}];"
            for leaf, _ in parameters(function)
        ]
        checks = "\n".join(map(self._check, function.results))
        passed = ", ".join(f"buffer_{name}_{leaf.name}" for leaf, _ in parameters(function))
        arena = f"memory_{name}"
        memory = f"static unsigned char {arena}[{upper}_ARENA_BYTES + {upper}_ARENA_ALIGN];"
        align = f"""\
    size_t past = (size_t)(uintptr_t){arena} % {upper}_ARENA_ALIGN;
    void *arena = {arena} + (past ? {upper}_ARENA_ALIGN - past : 0);
"""
        second = f"""\
    set_{name}();
    check_{name}({name}({passed + ", " if passed else ""}arena));
"""
        if self.work is not None:
            memory, align, second = f"static struct {name}_work {arena};" * self.work, "", ""
        return f"""
{chr(10).join([*data, *buffers])}
{memory}

static void set_{name}(void) {{
{chr(10).join(self._set(leaf) for leaf in function.arguments)}
}}

static void check_{name}(int code) {{
    check_error(code, {name}_error(code));
{checks}
}}
{self._slope_test()}
static void test_{name}(void) {{
{align}{second}    set_{name}();
    check_{name}({self._call()});
{f"    slope_{name}();" if self.slope else ""}
}}
"""

    def _call(self) -> str:
        """Return a call that needs no other memory."""
        passed = [f"buffer_{self.name}_{leaf.name}" for leaf, _ in parameters(self.function)]
        if self.work is None:
            return f"{self.name}_static({', '.join(passed)})"
        return f"{self.name}({', '.join([*passed, *[f'&memory_{self.name}'] * self.work])})"

    def _array(self, name: str, leaf: Leaf, value: Any) -> str:
        """Write numbers as the integers of their bits."""
        size = leaf.type.dtype.itemsize // (2 if leaf.type.dtype.kind == "c" else 1)
        words = np.ascontiguousarray(value).reshape(-1).view(f"u{size}").tolist() or [0]
        suffix = "u" if size < 8 else "ull"
        numbers = _wrapped([f"0x{word:0{2 * size}x}{suffix}" for word in words])
        return f"static const uint{8 * size}_t {name}[{len(words)}] = {{{numbers}}};"

    def _set(self, leaf: Leaf) -> str:
        name = f"{self.name}_{leaf.name}"
        return f"    memcpy(buffer_{name}, given_{name}, sizeof buffer_{name});"

    def _check(self, leaf: Leaf) -> str:
        name, kind = f"{self.name}_{leaf.name}", c_type(leaf.type.dtype)
        if self.expected.is_exact or kind not in _TOLERANCES:
            self.bits.add(kind)
            return f'    check_bits("{leaf.name}", buffer_{name}, expected_{name}, {_size(leaf)});'
        self.close.add(kind)
        return f"""\
    {{
        static {kind} expected[{max(elements(leaf), 1)}];
        memcpy(expected, expected_{name}, sizeof expected);
        check_close_{kind}("{leaf.name}", buffer_{name}, expected, {elements(leaf)});
    }}"""

    def _slope_test(self) -> str:
        """Write the check of the directional derivative."""
        slope, function, name = self.slope, self.function, self.name
        if slope is None:
            return ""
        moves = "\n".join(
            f"""\
    for (i = 0; i < {elements(function.arguments[n])}; i++)
        buffer_{name}_{function.arguments[n].name}[i] = ({c_type(function.arguments[n].type.dtype)})\
(buffer_{name}_{function.arguments[n].name}[i] + distance * spread(i, {n}));"""
            for n in slope.leaves
        )
        sums = "\n".join(
            f"""\
    for (i = 0; i < {elements(function.results[n])}; i++)
        total += spread(i, {n}) * buffer_{name}_{function.results[n].name}[i];"""
            for n in slope.weighted
        )
        return f"""
/* The sum of weighted results where arguments are moved along a direction. */
static double along_{name}(double distance) {{
    uint32_t i;
    double total = 0.0;
    int code;
    set_{name}();
{moves}
    code = {self._call()};
    check_error(code, {name}_error(code));
{sums}
    return total;
}}

/* The difference quotient along the direction approximates the derivative that forward mode gives. */
static void slope_{name}(void) {{
    const double step = {slope.step!r}, slope = {slope.slope!r};
    const double quotient = (along_{name}(step) - along_{name}(-step)) / (2.0 * step);
    if (!(fabs(quotient - slope) <= {slope.tolerance!r})) {{
        printf("{name}: the slope is %.17g, not %.17g\\n", quotient, slope);
        failures++;
    }}
}}
"""


def _size(leaf: Leaf) -> str:
    return str(leaf.type.dtype.itemsize * int(np.prod(leaf.type.shape, dtype=np.int64)))


def _wrapped(words: Sequence[str]) -> str:
    """Write numbers of one length as a list, broken into lines."""
    count = 108 // (len(words[0]) + 2)
    lines = [", ".join(words[start : start + count]) for start in range(0, len(words), count)]
    return lines[0] if len(lines) == 1 else "\n    " + ",\n    ".join(lines)


# -- all files -------------------------------------------------------------------------------------------


def description(programs: Sequence[Freestanding]) -> str:
    """Return the description as JSON: for each function its leaves, memory and errors."""
    target = programs[0].target
    facts = {
        "wengert": __version__,
        "target": {"triple": target.triple, "cpu": target.cpu, "features": target.features},
        "functions": [
            {
                "name": program.name,
                "parameters": [
                    {
                        "name": leaf.name,
                        "dtype": str(leaf.type.dtype),
                        "shape": leaf.type.shape,
                        "written": writes,
                    }
                    for leaf, writes in parameters(program.function)
                ],
                "arguments": [program.function.arguments[n].path for n in program.function.argument_order],
                "results": {leaf.path: leaf.name for leaf in program.function.results},
                "arena": {"bytes": program.arena, "alignment": ALIGNMENT},
                "errors": program.errors,
                "flushes_subnormals": program.flushes,
            }
            for program in programs
        ],
    }
    return json.dumps(facts, indent=2) + "\n"


def write_c(programs: Sequence[Freestanding], objects: bytes, stem: Path) -> list[Path]:
    """Write all files, and return their paths."""
    name = stem.name
    contents: dict[str, bytes] = {
        f"{name}.h": header(programs, name).encode(),
        f"{name}.o": objects,
        f"{name}_test.c": self_test(programs, name).encode(),
        f"{name}.json": description(programs).encode(),
    }
    return replace_all({stem.parent / file: content for file, content in contents.items()})
