"""Static functions of the C: operations of NumPy that neither C's operators nor `math.h` have.

Each is a template: TYPE is the type of the operands, NAME what the function is called after it, F the suffix of the
functions of ``math.h``, WIDE the unsigned type in which integers wrap, BITS the width of a shift.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from wengert.compiler.mathlib.terms import FUNCTIONS
from wengert.engine.core.dtypes import Dtype
from wengert.engine.kernels.threefry import INJECTIONS, PARITY, ROTATIONS
from wengert.exporting.c_source import terms

_C_TYPES = {"float32": "float", "float64": "double", "bool": "bool"}
_NAMES = {"multiply_no_nan": "times", "expit": "logistic", "expit_slope": "logistic_slope"}

_EXTREMUM = """\
static TYPE {op}_NAME(TYPE x, TYPE y)
{{
    return {test} ? x : y;
}}
"""
_WRAPPED = """\
static TYPE {op}_NAME(TYPE x, TYPE y)
{{
    return (TYPE)((WIDE)x {sign} (WIDE)y);
}}
"""
_WRAPS = "/* x {sign} y modulo 2^BITS. */\n" + _WRAPPED
_TO_SIGNED = """\
/* The integer towards zero, the least one for NaN and for numbers beyond the type. */
static {to} to_{to}_NAME(TYPE x)
{{
    return x >= {low} && x < {high} ? ({to})x : {least};
}}
"""
_NAN_LAST = "of two numbers; NaN if one is NaN"

_OF_FLOATS = {
    "multiply_no_nan": """\
/* x y, and zero where either is zero, even if the other is infinite or NaN. */
static TYPE times_NAME(TYPE x, TYPE y)
{
    const TYPE product = x * y;
    const TYPE zero = copysignF(ZERO, x) * copysignF(ONE, y);
    return x != ZERO && y != ZERO ? product : zero;
}
""",
    "sign": """\
static TYPE sign_NAME(TYPE x)
{
    return x > ZERO ? ONE : x < ZERO ? -ONE : x == ZERO ? ZERO : x;
}
""",
    "maximum": f"/* The larger {_NAN_LAST}. */\n" + _EXTREMUM.format(op="maximum", test="x > y || isnan(x)"),
    "minimum": f"/* The smaller {_NAN_LAST}. */\n" + _EXTREMUM.format(op="minimum", test="x < y || isnan(x)"),
    "fmax": _EXTREMUM.format(op="fmax", test="x > y || isnan(y)"),
    "fmin": _EXTREMUM.format(op="fmin", test="x < y || isnan(y)"),
    "remainder": """\
/* x - y floor(x / y), with the sign of y. */
static TYPE remainder_NAME(TYPE x, TYPE y)
{
    const TYPE rest = fmodF(x, y);
    if (rest == ZERO) {
        return copysignF(ZERO, y);
    }
    return (rest < ZERO) != (y < ZERO) ? rest + y : rest;
}
""",
    "floor_divide": """\
/* floor(x / y), exact where x / y itself would be rounded up to an integer. */
static TYPE floor_divide_NAME(TYPE x, TYPE y)
{
    const TYPE rest = fmodF(x, y), plain = x / y;
    TYPE quotient = (x - rest) / y, low;
    if (y == ZERO) {
        return plain;
    }
    if (rest != ZERO && (rest < ZERO) != (y < ZERO)) {
        quotient -= ONE;
    }
    if (quotient == ZERO) {
        return copysignF(ZERO, plain);
    }
    low = floorF(quotient);
    return quotient - low > HALF ? low + ONE : low;
}
""",
    "ldexp": """\
static TYPE ldexp_NAME(TYPE x, int64_t exponent)
{
    return ldexpF(x, exponent < -9999 ? -9999 : exponent > 9999 ? 9999 : (int)exponent);
}
""",
    "binary_exponent": """\
/* The e with |x| = m 2^e, 1/2 <= m < 1; 0 for zeros, infinities and NaN. */
static int32_t binary_exponent_NAME(TYPE x)
{
    int exponent = 0;
    if (isfinite(x)) {
        (void)frexpF(x, &exponent);
    }
    return exponent;
}
""",
    "expit": """\
/* 1 / (1 + exp(-x)). */
static TYPE logistic_NAME(TYPE x)
{
    const TYPE e = expF(-fabsF(x));
    return (x < ZERO ? e : ONE) / (ONE + e);
}
""",
    "expit_slope": """\
/* The derivative of 1 / (1 + exp(-x)). */
static TYPE logistic_slope_NAME(TYPE x)
{
    const TYPE e = expF(-fabsF(x)), inverse = ONE / (ONE + e);
    return e * inverse * inverse;
}
""",
    "tanh_slope": """\
/* The derivative of tanh x: 1 / cosh(x)^2. */
static TYPE tanh_slope_NAME(TYPE x)
{
    const TYPE e = expF(-2 * fabsF(x)), inverse = ONE / (ONE + e);
    return 4 * e * inverse * inverse;
}
""",
    **{
        name: f"""\
/* log(exp(x) + exp(y)){base}. */
static TYPE {name}_NAME(TYPE x, TYPE y)
{{
    const TYPE larger = x > y ? x : y;
    return x == y ? x + {log} : larger + {scale}log1pF({exp}F(-fabsF(x - y)));
}}
""".replace("exp(x) + exp(y)", f"{exp}(x) + {exp}(y)")
        for name, exp, log, scale, base in (
            ("logaddexp", "exp", "LN2", "", ""),
            ("logaddexp2", "exp2", "ONE", "(ONE / LN2) * ", " / log(2)"),
        )
    },
    "to_int64": _TO_SIGNED.format(
        to="int64_t", low="-9223372036854775808.0F", high="9223372036854775808.0F", least="INT64_MIN"
    ),
    "to_int32": _TO_SIGNED.format(to="int32_t", low="LOW32", high="2147483648.0F", least="INT32_MIN"),
    "to_uint64": """\
/* The integer towards zero modulo 2^64, 2^63 for NaN and for numbers beyond the type. */
static uint64_t to_uint64_t_NAME(TYPE x)
{
    if (x >= 9223372036854775808.0F && x < 18446744073709551616.0F) {
        return (uint64_t)x;
    }
    return x >= -9223372036854775808.0F && x < ZERO ? (uint64_t)(int64_t)x :
        x >= ZERO && x < 9223372036854775808.0F ? (uint64_t)x : 9223372036854775808u;
}
""",
}
_OF_INTEGERS = {
    **{op: _WRAPS.format(op=op, sign=sign) for op, sign in (("add", "+"), ("subtract", "-"), ("multiply", "*"))},
    "negative": """\
static TYPE negative_NAME(TYPE x)
{
    return (TYPE)(0u - (WIDE)x);
}
""",
    "maximum": _EXTREMUM.format(op="maximum", test="x > y"),
    "minimum": _EXTREMUM.format(op="minimum", test="x < y"),
    "power": """\
/* x^n for n >= 0, modulo 2^BITS. */
static TYPE power_NAME(TYPE x, TYPE n)
{
    WIDE power = 1u, square = (WIDE)x;
    for (; n > 0; n = (TYPE)(n / 2)) {
        if (n % 2 != 0) {
            power *= square;
        }
        square *= square;
    }
    return (TYPE)power;
}
""",
    "left_shift": """\
static TYPE left_shift_NAME(TYPE x, TYPE distance)
{
    return (TYPE)((WIDE)distance < BITSu ? (WIDE)x << distance : 0u);
}
""",
    "right_shift": """\
static TYPE right_shift_NAME(TYPE x, TYPE distance)
{
    return (TYPE)((WIDE)distance < BITSu ? x >> distance : BEYOND);
}
""",
}  # fmt: skip
_OF_SIGNED = {
    "absolute": """\
static TYPE absolute_NAME(TYPE x)
{
    return (TYPE)(x < 0 ? 0u - (WIDE)x : (WIDE)x);
}
""",
    "sign": """\
static TYPE sign_NAME(TYPE x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}
""",
    "fmod": """\
/* x - y (x / y), with the sign of x; 0 for y = 0. */
static TYPE fmod_NAME(TYPE x, TYPE y)
{
    return (TYPE)(y == 0 || y == -1 ? 0 : x % y);
}
""",
    "remainder": """\
/* x modulo y, with the sign of y; 0 for y = 0. */
static TYPE remainder_NAME(TYPE x, TYPE y)
{
    const TYPE rest = (TYPE)(y == 0 || y == -1 ? 0 : x % y);
    return (TYPE)(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
}
""",
    "floor_divide": """\
/* x / y rounded down; 0 for y = 0. */
static TYPE floor_divide_NAME(TYPE x, TYPE y)
{
    if (y == 0 || y == -1) {
        return (TYPE)(y == 0 ? 0u : 0u - (WIDE)x);
    }
    return (TYPE)(x / y - (x % y != 0 && (x < 0) != (y < 0)));
}
""",
}
_OF_UNSIGNED = {
    "sign": """\
static TYPE sign_NAME(TYPE x)
{
    return x > 0u;
}
""",
    "fmod": """\
static TYPE fmod_NAME(TYPE x, TYPE y)
{
    return (TYPE)(y == 0 ? 0 : x % y);
}
""",
    "remainder": """\
static TYPE remainder_NAME(TYPE x, TYPE y)
{
    return (TYPE)(y == 0 ? 0 : x % y);
}
""",
    "floor_divide": """\
static TYPE floor_divide_NAME(TYPE x, TYPE y)
{
    return (TYPE)(y == 0 ? 0 : x / y);
}
""",
}
_ROWS = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in ROTATIONS)
_THREEFRY = f"""\
/* Random bits: Threefry-2x32, twenty rounds. */
static uint64_t threefry_uint64(uint64_t key, uint64_t counter)
{{
    static const int distances[2][4] = {{{_ROWS}}};
    const uint32_t high = (uint32_t)(key >> 32), low = (uint32_t)key;
    const uint32_t keys[3] = {{high, low, high ^ low ^ {PARITY}u}};
    uint32_t first = (uint32_t)(counter >> 32) + high, second = (uint32_t)counter + low;
    for (unsigned n = 0; n < {INJECTIONS}; n++) {{
        for (int round = 0; round < 4; round++) {{
            const int distance = distances[n % 2][round];
            first += second;
            second = ((second << distance) | (second >> (32 - distance))) ^ first;
        }}
        first += keys[(n + 1) % 3];
        second += keys[(n + 2) % 3] + n + 1;
    }}
    return ((uint64_t)first << 32) | second;
}}
"""


def c_type(dtype: Dtype) -> str:
    """Return the C type of a value."""
    return _C_TYPES.get(str(dtype), f"{dtype}_t")


def suffix(dtype: Dtype) -> str:
    """Return the end of a literal and of a function's name."""
    return "f" if dtype.kind == "f" and dtype.itemsize == 4 else ""


def name(operation: str, dtype: Dtype) -> str:
    """Return the name of a helper.

    Example:
        >>> import numpy as np
        >>> name("maximum", np.dtype("float32")), name("to_int64", np.dtype("float64"))
        ('maximum_float', 'to_int64_t_double')
    """
    kind = _C_TYPES.get(str(dtype), str(dtype))
    first = f"{operation}_t" if operation.startswith("to_") else _NAMES.get(operation, operation)
    return f"{first}_{kind}"


def is_reserved(text: str) -> bool:
    """Return whether a name may be that of a helper."""
    return bool(re.search(r"_(float|double|u?int\d+)$", text)) or text in terms.NAMES


def function(operation: str, dtype: Dtype) -> str:
    """Return the template of a helper; "" if there is none."""
    if operation == "threefry":
        return _THREEFRY
    if dtype.kind == "f":
        return _OF_FLOATS.get(operation, "")
    own = _OF_SIGNED if dtype.kind == "i" else _OF_UNSIGNED
    return own.get(operation) or _OF_INTEGERS.get(operation, "")


def exists(operation: str, dtype: Dtype) -> bool:
    """Return whether there is a helper for an operation."""
    return bool(function(operation, dtype)) or (dtype.kind == "f" and operation in FUNCTIONS)


def texts(used: Iterable[str]) -> str:
    """Return the static functions with some names."""
    return "\n".join(dict.fromkeys(text for helper in used for text in _texts(helper)))


def _texts(helper: str) -> list[str]:
    operation, _, kind = helper.rpartition("_")
    operation = {own: stated for stated, own in _NAMES.items()}.get(operation, operation)
    operation = operation.removesuffix("_t") if operation.startswith("to_") else operation
    dtype = Dtype({"float": "float32", "double": "float64"}.get(kind, kind))
    template = function(operation, dtype)
    if not template:
        return terms.definition(operation, dtype)
    bits, f = 8 * dtype.itemsize, suffix(dtype)
    words = {
        "TYPE": c_type(dtype),
        "NAME": kind,
        "WIDE": "uint64_t" if bits == 64 else "uint32_t",
        "BITS": str(bits),
        "BEYOND": f"(x >> {bits - 1})" if dtype.kind == "i" else "0",
        "ZERO": f"0.0{f}",
        "ONE": f"1.0{f}",
        "HALF": f"0.5{f}",
        "LN2": f"0.6931471805599453{f}",
        "LOW32": f"-2147483648.0{f}",
    }
    text = re.sub(r"\b({})\b".format("|".join(words)), lambda match: words[match[0]], template)
    text = re.sub(r"_NAME\b", f"_{kind}", text)
    text = re.sub(r"\bBITSu\b", f"{bits}u", text).replace("2^BITS", f"2^{bits}")
    return [re.sub(r"\b([a-z0-9]+|[\d.]+)F\b", rf"\1{f}", text)]
