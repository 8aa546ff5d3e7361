"""Scalar operations as instructions, with NumPy's results: signed zeros, NaN, wrapping, division by zero and all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.backend import elementary
from wengert.backend.builder import SCALARS, Builder, Kind, Value, constant
from wengert.dtypes import Dtype


class Context(NamedTuple):
    """What an emission has at hand."""

    builder: Builder
    dtype: Dtype
    """Of the operands."""
    result: Dtype
    param: int
    functions: set[tuple[str, Kind]]
    """The elementary functions that the module must define."""

    @property
    def is_float(self) -> bool:
        """Whether the operands are floating-point numbers."""
        return self.dtype.kind == "f"

    @property
    def is_signed(self) -> bool:
        """Whether the operands are signed integers."""
        return self.dtype.kind == "i"


Emit: TypeAlias = Callable[..., Value]
_EMITTERS: dict[str, Emit] = {}
#: The dtypes that there are instructions for; operations on others are left to NumPy.
NATIVE: frozenset[Dtype] = frozenset(map(np.dtype, SCALARS)) - {np.dtype(np.float16)}
_ONLY_FLOAT = {"copysign", "heaviside", "reciprocal", "signbit", "fabs"}


def is_native(operation: str, inputs: Sequence[Dtype], result: Dtype, param: int = 0) -> bool:
    """Tell whether there are instructions for an operation on dtypes."""
    if not all(dtype in NATIVE for dtype in (*inputs, result)):
        return False
    if operation == "positive":
        return True
    if operation == "integer_power":
        return abs(param) <= _MAX_POWER and (result.kind == "f" or param >= 0) and result.kind != "b"
    if operation in _EMITTERS:
        return result.kind == "f" or inputs[0].kind == "f" or operation not in _ONLY_FLOAT
    return elementary.supports(operation, Kind(SCALARS[result.name]))


def emit(context: Context, operation: str, operands: Sequence[Value]) -> Value:
    """Write the instructions of an operation.

    Args:
        context: where to, and on what dtypes.
        operation: a name that `is_native` knows.
        operands: values of equal lanes.
    """
    emitter = _EMITTERS.get(operation)
    if emitter is not None:
        return emitter(context, *operands)
    kind = operands[0].kind
    context.functions.add((operation, kind))
    given = ", ".join(map(str, operands))
    return context.builder.emit(f"call {kind} @{elementary.symbol(operation, kind)}({given})", kind)


def _operation(*names: str) -> Callable[[Emit], Emit]:
    def register(emitter: Emit) -> Emit:
        _EMITTERS.update(dict.fromkeys(names, emitter))
        return emitter

    return register


def _like(value: Value, number: float) -> Value:
    return constant(value.kind, number)


# -- arithmetic ------------------------------------------------------------------------------------------


def _arithmetic(name: str, on_floats: str, on_integers: str, on_bools: str) -> None:
    @_operation(name)
    def emitter(context: Context, x: Value, y: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        kind = context.dtype.kind
        name = on_floats if kind == "f" else on_bools if kind == "b" else on_integers
        return context.builder.binary(name, x, y)


_arithmetic("add", "fadd", "add", "or")
_arithmetic("subtract", "fsub", "sub", "xor")
_arithmetic("multiply", "fmul", "mul", "and")


@_operation("divide")
def _divide(context: Context, x: Value, y: Value) -> Value:
    return context.builder.fdiv(x, y)


@_operation("scale")
def _scale(context: Context, direction: Value, factor: Value) -> Value:
    b = context.builder
    if not context.is_float:
        return b.binary("and" if context.dtype.kind == "b" else "mul", direction, factor)
    finite = b.compare("olt", b.intrinsic("fabs", factor), _like(factor, float("inf")))
    moves = b.compare("une", direction, _like(direction, 0.0))
    return b.select(b.either(finite, moves), b.fmul(direction, factor), _like(direction, 0.0))


@_operation("negative")
def _negative(context: Context, x: Value) -> Value:
    return context.builder.fneg(x) if context.is_float else context.builder.binary("sub", _like(x, 0), x)


@_operation("reciprocal")
def _reciprocal(context: Context, x: Value) -> Value:
    return context.builder.fdiv(_like(x, 1.0), x)


@_operation("square")
def _square(context: Context, x: Value) -> Value:
    return _EMITTERS["multiply"](context, x, x)


@_operation("absolute", "fabs")
def _absolute(context: Context, x: Value) -> Value:
    if context.is_float:
        return context.builder.intrinsic("fabs", x)
    if not context.is_signed:
        return x
    b = context.builder
    return b.select(b.compare("slt", x, _like(x, 0)), b.binary("sub", _like(x, 0), x), x)


@_operation("sign")
def _sign(context: Context, x: Value) -> Value:
    b, zero, one = context.builder, _like(x, 0), _like(x, 1)
    if context.is_float:
        above = b.select(b.compare("ogt", x, zero), one, b.select(b.compare("uno", x, x), x, zero))
        return b.select(b.compare("olt", x, zero), _like(x, -1.0), above)
    positive = b.select(b.compare("sgt" if context.is_signed else "ugt", x, zero), one, zero)
    return b.select(b.compare("slt", x, zero), _like(x, -1), positive) if context.is_signed else positive


@_operation("copysign")
def _copysign(context: Context, x: Value, y: Value) -> Value:
    return context.builder.intrinsic("copysign", x, y)


@_operation("heaviside")
def _heaviside(context: Context, x: Value, y: Value) -> Value:
    b, zero = context.builder, _like(x, 0.0)
    beside = b.select(b.compare("olt", x, zero), zero, b.select(b.compare("uno", x, x), x, _like(x, 1.0)))
    return b.select(b.compare("oeq", x, zero), y, beside)


_MAX_POWER = 64


@_operation("integer_power")
def _integer_power(context: Context, x: Value) -> Value:
    """Multiply by repeated squaring."""
    exponent = abs(context.param)
    result: Value | None = None
    power = x
    while exponent:
        if exponent & 1:
            result = power if result is None else _EMITTERS["multiply"](context, result, power)
        exponent >>= 1
        if exponent:
            power = _EMITTERS["multiply"](context, power, power)
    one = _like(x, 1)
    if result is None:
        return one
    return context.builder.fdiv(one, result) if context.param < 0 else result


# -- extrema ---------------------------------------------------------------------------------------------


def _extremum(name: str, condition: str) -> None:
    @_operation(name)
    def emitter(context: Context, x: Value, y: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        b = context.builder
        if not context.is_float:
            return b.select(b.compare(("s" if context.is_signed else "u") + condition, x, y), x, y)
        best = b.select(b.compare("o" + condition, x, y), x, y)
        return b.select(b.compare("uno", x, x), x, best)

    @_operation("f" + name[:3])
    def ignoring_nan(context: Context, x: Value, y: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        b = context.builder
        if not context.is_float:
            return emitter(context, x, y)
        taken = b.either(b.compare("o" + condition, x, y), b.compare("uno", y, y))
        return b.select(taken, x, y)


_extremum("maximum", "gt")
_extremum("minimum", "lt")

# -- rounding and division with remainder ----------------------------------------------------------------


def _rounding(name: str) -> None:
    @_operation(name)
    def emitter(context: Context, x: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        return context.builder.intrinsic(name, x) if context.is_float else x


for _name in ("floor", "ceil", "trunc", "rint"):
    _rounding(_name)


def _safe_divisor(context: Context, y: Value) -> tuple[Value, Value]:
    """Return the divisor with 1 in place of what a division would trap on, and whether it was replaced."""
    b = context.builder
    unsafe = b.compare("eq", y, _like(y, 0))
    if context.is_signed:
        unsafe = b.either(unsafe, b.compare("eq", y, _like(y, -1)))
    return b.select(unsafe, _like(y, 1), y), unsafe


def _signs_differ(context: Context, x: Value, y: Value) -> Value:
    b, condition = context.builder, "olt" if context.is_float else "slt"
    return b.binary("xor", b.compare(condition, x, _like(x, 0)), b.compare(condition, y, _like(y, 0)))


@_operation("fmod")
def _fmod(context: Context, x: Value, y: Value) -> Value:
    b = context.builder
    if context.is_float:
        return b.binary("frem", x, y)
    divisor, unsafe = _safe_divisor(context, y)
    rest = b.binary("srem" if context.is_signed else "urem", x, divisor)
    return b.select(unsafe, _like(x, 0), rest)


@_operation("remainder")
def _remainder(context: Context, x: Value, y: Value) -> Value:
    b = context.builder
    rest = _fmod(context, x, y)
    if not (context.is_float or context.is_signed):
        return rest
    if not context.is_float:
        wrong = b.both(b.compare("ne", rest, _like(x, 0)), _signs_differ(context, rest, y))
        return b.select(wrong, b.binary("add", rest, y), rest)
    moved = b.select(_signs_differ(context, rest, y), b.fadd(rest, y), rest)
    return b.select(b.compare("oeq", rest, _like(x, 0.0)), b.intrinsic("copysign", _like(x, 0.0), y), moved)


@_operation("floor_divide")
def _floor_divide(context: Context, x: Value, y: Value) -> Value:
    if context.is_float:
        return _floor_divide_floats(context, x, y)
    b, zero = context.builder, _like(x, 0)
    divisor, _ = _safe_divisor(context, y)
    if not context.is_signed:
        return b.select(b.compare("eq", y, zero), zero, b.binary("udiv", x, divisor))
    quotient, rest = b.binary("sdiv", x, divisor), b.binary("srem", x, divisor)
    down = b.both(b.compare("ne", rest, zero), _signs_differ(context, rest, divisor))
    quotient = b.select(down, b.binary("sub", quotient, _like(x, 1)), quotient)
    quotient = b.select(b.compare("eq", y, _like(x, -1)), b.binary("sub", zero, x), quotient)
    return b.select(b.compare("eq", y, zero), zero, quotient)


def _floor_divide_floats(context: Context, x: Value, y: Value) -> Value:
    """Divide what the remainder leaves, and round: exact where x / y itself would round up to an integer."""
    b, zero = context.builder, _like(x, 0.0)
    rest = b.binary("frem", x, y)
    quotient = b.fdiv(b.fsub(x, rest), y)
    inexact = b.both(b.compare("une", rest, zero), _signs_differ(context, rest, y))
    quotient = b.select(inexact, b.fsub(quotient, _like(x, 1.0)), quotient)
    low = b.intrinsic("floor", quotient)
    low = b.select(b.compare("ogt", b.fsub(quotient, low), _like(x, 0.5)), b.fadd(low, _like(x, 1.0)), low)
    plain = b.fdiv(x, y)
    low = b.select(b.compare("oeq", quotient, zero), b.intrinsic("copysign", zero, plain), low)
    return b.select(b.compare("oeq", y, zero), plain, low)


# -- comparison and logic --------------------------------------------------------------------------------

COMPARISONS = {
    "equal": ("oeq", "eq"),
    "not_equal": ("une", "ne"),
    "less": ("olt", "lt"),
    "less_equal": ("ole", "le"),
    "greater": ("ogt", "gt"),
    "greater_equal": ("oge", "ge"),
}


def _comparison(name: str, on_floats: str, on_integers: str) -> None:
    @_operation(name)
    def emitter(context: Context, x: Value, y: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        sign = "" if on_integers in ("eq", "ne") else "s" if context.is_signed else "u"
        return context.builder.compare(on_floats if context.is_float else sign + on_integers, x, y)


for _name, _conditions in COMPARISONS.items():
    _comparison(_name, *_conditions)


def truth(context: Context, x: Value) -> Value:
    """Return whether a value is not zero."""
    if context.dtype.kind == "b":
        return x
    return context.builder.compare("une" if context.is_float else "ne", x, _like(x, 0))


def _logic(name: str, instruction: str) -> None:
    @_operation(name)
    def emitter(context: Context, x: Value, y: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        return context.builder.binary(instruction, truth(context, x), truth(context, y))


for _name, _instruction in (("logical_and", "and"), ("logical_or", "or"), ("logical_xor", "xor")):
    _logic(_name, _instruction)


@_operation("logical_not")
def _logical_not(context: Context, x: Value) -> Value:
    return context.builder.negate(truth(context, x))


def _always(context: Context, x: Value, value: bool) -> Value:
    return constant(x.kind.of("i1"), value)


@_operation("isnan")
def _isnan(context: Context, x: Value) -> Value:
    return context.builder.compare("uno", x, x) if context.is_float else _always(context, x, False)


@_operation("isinf")
def _isinf(context: Context, x: Value) -> Value:
    if not context.is_float:
        return _always(context, x, False)
    return context.builder.compare("oeq", context.builder.intrinsic("fabs", x), _like(x, float("inf")))


@_operation("isfinite")
def _isfinite(context: Context, x: Value) -> Value:
    if not context.is_float:
        return _always(context, x, True)
    return context.builder.compare("olt", context.builder.intrinsic("fabs", x), _like(x, float("inf")))


@_operation("signbit")
def _signbit(context: Context, x: Value) -> Value:
    bits = context.builder.emit(f"bitcast {x} to {x.kind.integer}", x.kind.integer)
    return context.builder.compare("slt", bits, _like(bits, 0))


@_operation("where")
def _where(context: Context, condition: Value, x: Value, y: Value) -> Value:
    return context.builder.select(condition, x, y)


# -- bits ------------------------------------------------------------------------------------------------


def _bitwise(name: str, instruction: str) -> None:
    @_operation(name)
    def emitter(context: Context, x: Value, y: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        return context.builder.binary(instruction, x, y)


for _name, _instruction in (("bitwise_and", "and"), ("bitwise_or", "or"), ("bitwise_xor", "xor")):
    _bitwise(_name, _instruction)


@_operation("invert")
def _invert(context: Context, x: Value) -> Value:
    return context.builder.binary("xor", x, _like(x, 1 if context.dtype.kind == "b" else -1))


@_operation("left_shift")
def _left_shift(context: Context, x: Value, y: Value) -> Value:
    return _shifted(context, "shl", x, y, _like(x, 0))


@_operation("right_shift")
def _right_shift(context: Context, x: Value, y: Value) -> Value:
    if not context.is_signed:
        return _shifted(context, "lshr", x, y, _like(x, 0))
    beyond = context.builder.binary("ashr", x, _like(x, x.kind.bits - 1))
    return _shifted(context, "ashr", x, y, beyond)


def _shifted(context: Context, instruction: str, x: Value, y: Value, beyond: Value) -> Value:
    """Shift; by the width or more, ``beyond``."""
    b = context.builder
    inside = b.compare("ult", y, _like(y, y.kind.bits))
    return b.select(inside, b.binary(instruction, x, b.select(inside, y, _like(y, 0))), beyond)


# -- conversion ------------------------------------------------------------------------------------------


@_operation("cast")
def _cast(context: Context, x: Value) -> Value:
    before, after = context.dtype, context.result
    if before == after:
        return x
    if after.kind == "b":
        return truth(context, x)
    if before.kind == "f":
        return _from_float(context, x, after)
    scalar = SCALARS[after.name]
    if after.kind == "f":
        return context.builder.convert("sitofp" if before.kind == "i" else "uitofp", x, scalar)
    return _resized(context.builder, x, scalar, before.kind == "i")


def _from_float(context: Context, x: Value, after: Dtype) -> Value:
    b, scalar = context.builder, SCALARS[after.name]
    if after.kind == "f":
        return b.convert("fpext" if x.kind.scalar == "float" else "fptrunc", x, scalar)
    if after.name == "uint64":
        return b.convert("fptoui", x, scalar)
    # As C does on x86: by way of a wider signed integer, whose upper bits are cut off.
    wide = "i64" if after.name in ("int64", "uint32") else "i32"
    return _resized(b, b.convert("fptosi", x, wide), scalar, signed=True)


def _resized(b: Builder, x: Value, scalar: str, signed: bool) -> Value:
    bits = Kind(scalar).bits
    if x.kind.bits == bits:
        return x
    return b.convert("trunc" if bits < x.kind.bits else "sext" if signed else "zext", x, scalar)


def neutral(combiner: str, dtype: Dtype) -> Any:
    """Return the number that a combiner leaves other values as they are with."""
    if combiner in ("add", "logical_or"):
        # -0 + x is x also for x = -0, but a sum of nothing is +0.
        return 0
    if combiner in ("multiply", "logical_and"):
        return 1
    lowest = combiner in ("maximum", "argmax")
    if dtype.kind == "f":
        return -float("inf") if lowest else float("inf")
    if dtype.kind == "b":
        return int(not lowest)
    bits = dtype.itemsize * 8
    if dtype.kind == "u":
        return 0 if lowest else 2**bits - 1
    return -(2 ** (bits - 1)) if lowest else 2 ** (bits - 1) - 1
