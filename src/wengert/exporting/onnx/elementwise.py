"""Lowerings of arithmetic, comparisons, rounding and bits. Operands have the dtype of the operation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import BOOL, INT64
from wengert.engine.kernels.threefry import INJECTIONS, PARITY, ROTATIONS
from wengert.exporting.onnx.softmax import log_softmax, softmax
from wengert.exporting.onnx.table import Call, Single, lowers, lowers_by, lowers_each
from wengert.exporting.onnx.values import Value

_UNSIGNED = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}


def _ordered(x: Value) -> Value:
    """Return truth values as integers, which have an order."""
    return x.cast(np.dtype(np.uint8)) if x.dtype == BOOL else x


def holds(x: Value) -> Value:
    """Return whether elements are not zero."""
    return x if x.dtype == BOOL else ~x.equals(0)


lowers_each(
    {"exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "tanh": "Tanh"},
    lambda operator: lambda call, x: x.unary(operator),
)


def compared(name: str, x: Value, y: Value) -> Value:
    """Compare two values; a negative integer is below all that are unsigned."""
    if name == "not_equal":
        return ~compared("equal", x, y)
    signed, order = (x, (-1, 0)) if x.dtype.kind == "i" else (y, (0, -1))
    if x.dtype == y.dtype:
        return _ordered(x).binary(_COMPARISONS[name], _ordered(y), BOOL)
    unsigned = y.dtype if signed is x else x.dtype
    beside = x.cast(unsigned).binary(_COMPARISONS[name], y.cast(unsigned), BOOL)
    is_negative = signed < 0
    return is_negative | beside if getattr(np, name)(*order) else ~is_negative & beside


_COMPARISONS = {
    "equal": "Equal",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
}
lowers_each(
    {name: name for name in (*_COMPARISONS, "not_equal")},
    lambda name: lambda call, x, y: compared(name, x, y),
)
lowers_each(
    {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"},
    lambda operator: lambda call, x, y: holds(x).logical(operator, holds(y)),
)
lowers_each(
    {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"},
    lambda operator: lambda call, x, y: x.logical(operator, y),
)
lowers_by(
    {
        "logical_not": lambda call, x: ~holds(x),
        "invert": lambda call, x: ~x,
        "cast": lambda call, x, dtype, weak=False: holds(x) if dtype == BOOL else x.cast(dtype),
        "positive": lambda call, x: x,
        "stop_gradient": lambda call, x: x,
        "where": lambda call, condition, x, y: holds(condition).choose(x, y),
        "add": lambda call, x, y: x | y if x.dtype == BOOL else x + y,
        "negative": lambda call, x: -x,
        "square": lambda call, x: x * x,
        "absolute": lambda call, x: x if x.dtype == BOOL else abs(x),
        "fabs": lambda call, x: x if x.dtype == BOOL else abs(x),
        "signbit": lambda call, x: negative_sign(x) if x.dtype.kind == "f" else x < 0,
        "copysign": lambda call, x, y: with_sign_of(abs(x), y),
        "isfinite": lambda call, x: ~(_isnan(call, x) | _isinf(call, x)),
        "trunc": lambda call, x: with_sign_of(abs(x).unary("Floor"), x) if x.dtype.kind == "f" else x,
    }
)


@lowers("require")
@lowers("require_end")
@lowers("require_argument")
@lowers("require_valid")
def _require(call: Call, x: Value, condition: Value, **params: Any) -> Value:
    """Return x; a model raises no errors, so NaN where the requirement does not hold."""
    return condition.choose(x, math.nan) if x.dtype.kind == "f" else x.expand(call.result.shape)


# -- arithmetic ------------------------------------------------------------------------------------------


@lowers("subtract")
def _subtract(call: Call, x: Value, y: Value) -> Value:
    logarithm = log_softmax(x, y)
    return x - y if logarithm is None else logarithm


@lowers("divide")
def _divide(call: Call, x: Value, y: Value) -> Value:
    share = softmax(x, y)
    return x / y if share is None else share


@lowers("multiply")
def _multiply(call: Call, x: Value, y: Value) -> Value:
    return x & y if x.dtype == BOOL else x * y


@lowers("multiply_no_nan")
def _multiply_no_nan(call: Call, x: Value, y: Value) -> Value:
    if x.dtype.kind != "f":
        return _multiply(call, x, y)
    for factor, other in ((x, y), (y, x)):
        if factor.known is not None and np.all(np.isfinite(factor.known) & (factor.known != 0)):
            return factor * other
    return (x.equals(0) | y.equals(0)).choose(0, x * y)


@lowers("reciprocal")
def _reciprocal(call: Call, x: Value) -> Value:
    if x.dtype.kind == "f":
        return 1 / x
    is_zero = x.equals(0)
    smallest = np.iinfo(x.dtype).min if x.dtype.itemsize >= 4 else 0
    return is_zero.choose(smallest, 1 / is_zero.choose(1, x))


@lowers("sign")
def _sign(call: Call, x: Value) -> Value:
    return x.unary("IsNaN", BOOL).choose(x, x.unary("Sign")) if x.dtype.kind == "f" else x.unary("Sign")


def negative_sign(x: Value) -> Value:
    """Return whether the sign bit of a float is set; of NaN, whose sign ONNX does not show, false."""
    return (x < 0) | (x.equals(0) & ((1 / x) < 0))


def with_sign_of(size: Value, x: Value) -> Value:
    """Return numbers that are not negative with the signs of others."""
    return negative_sign(x).choose(-size, size)


@lowers("isnan")
def _isnan(call: Call, x: Value) -> Value:
    return _state(call, x, "IsNaN")


@lowers("isinf")
def _isinf(call: Call, x: Value) -> Value:
    return _state(call, x, "IsInf")


def _state(call: Call, x: Value, operator: str) -> Value:
    if x.dtype.kind == "f":
        return x.unary(operator, BOOL)
    return call.writer.constant(False).expand(x.shape)


def _extremum(operator: str) -> Single:
    def lowering(call: Call, x: Value, y: Value) -> Value:
        if x.dtype == BOOL:
            return x | y if operator == "Max" else x & y
        return x.binary(operator, y)

    return lowering


lowers_each({"maximum": "Max", "minimum": "Min"}, _extremum)


def _extremum_of_numbers(operator: str) -> Single:
    def lowering(call: Call, x: Value, y: Value) -> Value:
        if x.dtype.kind != "f":
            return _extremum(operator)(call, x, y)
        first, second = (value.unary("IsNaN", BOOL) for value in (x, y))
        return second.choose(x, first.choose(y, x.binary(operator, y)))

    return lowering


lowers_each({"fmax": "Max", "fmin": "Min"}, _extremum_of_numbers)


lowers_each(
    {"floor": "Floor", "ceil": "Ceil", "rint": "Round"},
    lambda operator: lambda call, x: x.unary(operator) if x.dtype.kind == "f" else x,
)


# -- quotients -------------------------------------------------------------------------------------------


def _safe(y: Value) -> Value:
    """Return divisors of integers that no processor traps on: 1 for 0 and for -1, whose quotient may not fit."""
    trap = y.equals(0) | y.equals(-1) if y.dtype.kind == "i" else y.equals(0)
    return trap.choose(1, y)


@lowers("remainder")
def _remainder(call: Call, x: Value, y: Value) -> Value:
    if x.dtype.kind == "f":
        rest = x.binary("Mod", y, fmod=1)
        rest = ((~rest.equals(0)) & ((rest < 0) ^ (y < 0))).choose(rest + y, rest)
        return rest.equals(0).choose(with_sign_of(rest * 0, y), rest)
    return (y.equals(0)).choose(0, x.binary("Mod", _safe(y)))


@lowers("fmod")
def _fmod(call: Call, x: Value, y: Value) -> Value:
    if x.dtype.kind == "f":
        return x.binary("Mod", y, fmod=1)
    return y.equals(0).choose(0, x.binary("Mod", _safe(y), fmod=1))


@lowers("floor_divide")
def _floor_divide(call: Call, x: Value, y: Value) -> Value:
    """Return floor(x / y): of floats, the integer nearest to (x - remainder) / y."""
    if x.dtype.kind == "f":
        quotient, ratio = ((x - _remainder(call, x, y)) / y).unary("Round"), x / y
        is_below = (x < 0) ^ (y < 0)
        of_infinity = (ratio.equals(0) & ~x.equals(0) & is_below).choose(
            -1, ratio
        )  # the remainder is infinite, too
        return y.equals(0).choose(ratio, _isinf(call, y).choose(of_infinity, quotient))
    safe = _safe(y)
    quotient = x / safe
    if x.dtype.kind == "i":
        rest = x - quotient * safe
        quotient = ((~rest.equals(0)) & ((rest < 0) ^ (safe < 0))).choose(quotient - 1, quotient)
        quotient = y.equals(-1).choose(0 - x, quotient)
    return y.equals(0).choose(0, quotient)


@lowers("heaviside")
def _heaviside(call: Call, x: Value, y: Value) -> Value:
    step = x.unary("IsNaN", BOOL).choose(x, (x > 0).cast(x.dtype))
    return x.equals(0).choose(y, step)


# -- powers ----------------------------------------------------------------------------------------------

_UNROLLED = 64
"""The largest exponent whose power is products."""


@lowers("power")
def _power(call: Call, x: Value, y: Value) -> Value:
    if x.dtype.kind == "f":
        return x.binary("Pow", y)
    power, square = x.like(1), x  # the operator rounds: it computes in float64
    for _ in range(8 * y.dtype.itemsize - (y.dtype.kind == "i")):
        half = y / 2
        power = (half * 2).equals(y).choose(power, power * square)
        y, square = half, square * square
    return power.expand(call.result.shape)


@lowers("integer_power")
def _integer_power(call: Call, x: Value, exponent: int) -> Value:
    if abs(exponent) > _UNROLLED and x.dtype.kind == "f":
        return x.binary("Pow", exponent)
    power, square, left = None, x, abs(exponent)
    while left:
        if left & 1:
            power = square if power is None else power * square
        left >>= 1
        square = square * square if left else square
    power = power if power is not None else x.like(1).expand(x.shape)
    return 1 / power if exponent < 0 else power


# -- bits ------------------------------------------------------------------------------------------------


def shifted(x: Value, count: Value | int, direction: str) -> Value:
    """Return unsigned integers shifted by fewer bits than they have."""
    return x.binary("BitShift", count, direction=direction)


def _shift(direction: str) -> Single:
    def lowering(call: Call, x: Value, y: Value) -> Value:
        bits, unsigned = 8 * x.dtype.itemsize, _UNSIGNED[x.dtype.itemsize]
        fits = (y >= 0) & (y < bits) if y.dtype.kind == "i" else y < bits
        count = fits.choose(y, 0).cast(unsigned)
        if direction == "LEFT" or x.dtype.kind == "u":
            moved = shifted(x.cast(unsigned), count, direction).cast(x.dtype)
            return fits.choose(moved, 0)
        flipped = (x < 0).choose(~x, x)  # not negative: zeros move in
        moved = fits.choose(shifted(flipped.cast(unsigned), count, direction).cast(x.dtype), 0)
        return (x < 0).choose(~moved, moved)

    return lowering


lowers_each({"left_shift": "LEFT", "right_shift": "RIGHT"}, _shift)


@lowers("bitwise_count")
def _bitwise_count(call: Call, x: Value) -> Value:
    """Add up neighbouring fields of bits (Warren, *Hacker's Delight*, 2012)."""
    word = (abs(x) if x.dtype.kind == "i" else x).cast(np.dtype(np.uint64))
    for width, mask in (
        (1, 0x5555555555555555),
        (2, 0x3333333333333333),
        (4, 0x0F0F0F0F0F0F0F0F),
        (8, 0x00FF00FF00FF00FF),
        (16, 0x0000FFFF0000FFFF),
        (32, 0x00000000FFFFFFFF),
    ):
        field = word.like(mask)
        word = (word & field) + (shifted(word, width, "RIGHT") & field)
    return word.cast(call.result.dtype)


@lowers("ldexp")
def _ldexp(call: Call, x: Value, exponent: Value) -> Value:
    """Multiply by two powers of 2, each of which is a number."""
    limit = 2 * (1074 if x.dtype.itemsize == 8 else 149)
    count = exponent.cast(INT64).binary("Max", -limit).binary("Min", limit)
    first = count / 2
    two = x.like(2.0)
    return x * two.binary("Pow", first.cast(x.dtype)) * two.binary("Pow", (count - first).cast(x.dtype))


@lowers("binary_exponent")
def _binary_exponent(call: Call, x: Value) -> Value:
    """Correct the logarithm where it is not exact; 0 of 0, infinities and NaN."""
    size = abs(x).cast(np.dtype(np.float64))
    is_number = (size > 0) & (size < math.inf)
    size = is_number.choose(size, 0.5)
    is_small = size < 2.0**-1022
    size = is_small.choose(size * 2.0**64, size)
    guess = (size.unary("Log") * (1 / math.log(2))).unary("Floor") + 1
    power = size.like(2.0).binary("Pow", guess)
    guess = guess + (size >= power).cast(size.dtype) - (size < power * 0.5).cast(size.dtype)
    guess = is_small.choose(guess - 64, guess)
    return is_number.choose(guess, 0).cast(call.result.dtype)


@lowers("threefry")
def _threefry(call: Call, key: Value, counter: Value, shape: tuple[int, ...]) -> Value:
    """Write the rounds of Threefry-2x32-20, as `wengert.engine.kernels.threefry` carries them out."""
    ones = (1,) * len(shape)
    key, counter = key.reshape((*key.shape, *ones)), counter.reshape((*counter.shape, *ones))
    counter = counter + call.writer.constant(np.arange(math.prod(shape)).reshape(shape), counter.dtype)
    return rounds(key, counter).expand(call.result.shape)


def rounds(key: Value, counter: Value) -> Value:
    """Return the blocks of counters under a key."""
    word = np.dtype(np.uint32)
    halves = [
        (shifted(x, 32, "RIGHT").cast(word), (x & x.like(0xFFFFFFFF)).cast(word)) for x in (key, counter)
    ]
    (high, low), (first, second) = halves
    keys = (high, low, high ^ low ^ high.like(PARITY))
    first, second = first + keys[0], second + keys[1]
    for injection in range(INJECTIONS):
        for distance in ROTATIONS[injection % 2]:
            first = first + second
            second = shifted(second, distance, "LEFT") | shifted(second, 32 - distance, "RIGHT")
            second = second ^ first
        first = first + keys[(injection + 1) % 3]
        second = second + (keys[(injection + 2) % 3] + (injection + 1))
    return shifted(first.cast(key.dtype), 32, "LEFT") | second.cast(key.dtype)
