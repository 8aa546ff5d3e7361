"""Lowerings of elementary and special functions, where ONNX has no operator or onnxruntime no kernel for float64.

Compositions of exp, log, sin and cos that keep full relative accuracy, and the programs of
`wengert.engine.kernels.special`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from wengert.engine.core.dtypes import BOOL, FLOAT32, FLOAT64
from wengert.engine.ir.types import TensorType
from wengert.engine.kernels.special import PROGRAMS
from wengert.engine.transforms.staging import stage
from wengert.exporting.onnx.elementwise import negative_sign, with_sign_of
from wengert.exporting.onnx.graphs import write
from wengert.exporting.onnx.table import Call, Single, lowers
from wengert.exporting.onnx.values import Value

_LARGEST = 1e300
Function: TypeAlias = Callable[[Value], Value]


def _states(name: str, operator: str = "") -> Callable[[Function], Function]:
    """Register a function of one operand; in float32 and less the operator takes its place, if one is named."""

    def register(function: Function) -> Function:
        def lowering(call: Call, x: Value) -> Value:
            return x.unary(operator) if operator and x.dtype != FLOAT64 else function(x)

        lowers(name)(lowering)
        return function

    return register


def _in_double(name: str) -> Callable[[Function], Function]:
    """Register a function that is computed in float64 and rounded once."""

    def register(function: Function) -> Function:
        lowers(name)(lambda call, x: function(x.cast(FLOAT64)).cast(x.dtype))
        return function

    return register


# -- exponentials and logarithms -------------------------------------------------------------------------


@_states("expm1")
def expm1(x: Value) -> Value:
    """Return e^x - 1 as (u - 1) x / log u with u = e^x, in which the error of u cancels (Kahan)."""
    u = x.unary("Exp")
    less = u - 1
    is_tame = (less > -1) & (u < math.inf) & ~u.equals(1)
    tame = is_tame.choose(u, 2)
    near = less * (x / tame.unary("Log"))
    return u.equals(1).choose(x, is_tame.choose(near, less))


@_states("log1p")
def log1p(x: Value) -> Value:
    """Return log(1 + x) as log(u) x / (u - 1) with u = 1 + x (Kahan)."""
    u = x + 1
    less = u - 1
    is_tame = (u < math.inf) & ~less.equals(0)
    near = u.unary("Log") * (x / is_tame.choose(less, 1))
    return less.equals(0).choose(x, is_tame.choose(near, u.unary("Log")))


@_states("exp2")
def exp2(x: Value) -> Value:
    """Return 2^x."""
    return x.like(2.0).binary("Pow", x)


@_in_double("log2")
def log2(x: Value) -> Value:
    """Return the logarithm to base 2."""
    return x.unary("Log") / math.log(2)


@_in_double("log10")
def log10(x: Value) -> Value:
    """Return the logarithm to base 10."""
    return x.unary("Log") / math.log(10)


@_in_double("cbrt")
def cbrt(x: Value) -> Value:
    """Return the cube root: a power, and one step of Newton's method."""
    size = abs(x)
    is_tame = (size > 0) & (size < math.inf)
    tame = is_tame.choose(size, 1)
    root = tame.binary("Pow", 1 / 3)
    root = root - (root - tame / (root * root)) / 3
    return is_tame.choose(with_sign_of(root, x), x)


def _logarithm_of_sum(exp: Function, log: Function) -> Single:
    def lowering(call: Call, x: Value, y: Value) -> Value:
        larger = x.binary("Max", y)
        distance = x.equals(y).choose(0, -abs(x - y))
        return larger + log(exp(distance))

    return lowering


lowers("logaddexp")(_logarithm_of_sum(lambda x: x.unary("Exp"), log1p))
lowers("logaddexp2")(_logarithm_of_sum(exp2, lambda x: log1p(x) * (1 / math.log(2))))


# -- circular and hyperbolic functions -------------------------------------------------------------------


_SMALL = 1e5
"""Below this number the rounding error of pi/2 - |x| has a negligible square."""


@_states("cos", "Cos")
def cos(x: Value) -> Value:
    """Return sin(pi/2 - |x|), with the rounding error of that; of large numbers 1 - 2 sin^2(x / 2)."""
    size = abs(x)
    high, low = math.pi / 2, 6.123233995736766e-17
    complement = high - size
    shadow = complement - high
    lost = (high - (complement - shadow)) - (size + shadow)
    slope = complement.cast(FLOAT32).unary("Cos").cast(FLOAT64)
    near = complement.unary("Sin") + slope * (lost + low)
    half = (size * 0.5).unary("Sin")
    return (size < _SMALL).choose(near, 1 - half * half * 2)


@_states("tan", "Tan")
def tan(x: Value) -> Value:
    """Return sin x / cos x."""
    return x.unary("Sin") / cos(x)


@_states("arctan", "Atan")
def arctan(x: Value) -> Value:
    """Correct the arctangent a in float32 by that of (x cos a - sin a) / (cos a + x sin a), which is small."""
    tame = x.binary("Max", -_LARGEST).binary("Min", _LARGEST)
    start = tame.cast(FLOAT32).unary("Atan").cast(FLOAT64)
    sine, cosine = start.unary("Sin"), cos(start)
    correction = (tame * cosine - sine) / (cosine + tame * sine)
    return (abs(tame) < 1e-8).choose(tame, start + correction)


@_states("arcsin", "Asin")
def arcsin(x: Value) -> Value:
    """Return arctan(x / sqrt(1 - x^2))."""
    return arctan(x / ((1 - x) * (x + 1)).unary("Sqrt"))


@_states("arccos", "Acos")
def arccos(x: Value) -> Value:
    """Return 2 arctan sqrt((1 - x) / (1 + x))."""
    return arctan(((1 - x) / (x + 1)).unary("Sqrt")) * 2


@lowers("arctan2")
def _arctan2(call: Call, y: Value, x: Value) -> Value:
    """Return the angle of a point: the arctangent of the quotient, in its half plane."""
    both = (y.equals(0) & x.equals(0)) | (y.unary("IsInf", BOOL) & x.unary("IsInf", BOOL))
    top = both.choose((~y.equals(0)).cast(y.dtype), abs(y))
    bottom = both.choose(1, abs(x))
    quotient = top / bottom
    angle = arctan(quotient) if x.dtype == FLOAT64 else quotient.unary("Atan")
    angle = negative_sign(x).choose(math.pi - angle, angle)
    return with_sign_of(angle, y)


@_states("sinh", "Sinh")
def sinh(x: Value) -> Value:
    """Return (e + e / (e + 1)) / 2 with e = expm1 |x|; from halves where that overflows."""
    size = abs(x)
    e = expm1(size)
    half = (size * 0.5).unary("Exp")
    return with_sign_of((size < 20).choose((e + e / (e + 1)) * 0.5, half * 0.5 * half), x)


@_states("cosh", "Cosh")
def cosh(x: Value) -> Value:
    """Return (e^|x| + e^-|x|) / 2, from halves of the exponent."""
    half = (abs(x) * 0.5).unary("Exp")
    return half * 0.5 * half + 0.5 / half / half


@_states("arcsinh")
def arcsinh(x: Value) -> Value:
    """Return log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))); of large numbers log |x| + log 2."""
    size = abs(x)
    is_large = size > 1e9
    tame = is_large.choose(1, size)
    square = tame * tame
    near = log1p(tame + square / ((square + 1).unary("Sqrt") + 1))
    return with_sign_of(is_large.choose(size.unary("Log") + math.log(2), near), x)


@_states("arccosh")
def arccosh(x: Value) -> Value:
    """Return log1p(t + sqrt(2 t + t^2)) with t = x - 1; of large numbers log x + log 2."""
    is_large = x > 1e9
    t = is_large.choose(1, x) - 1
    near = log1p(t + (t * 2 + t * t).unary("Sqrt"))
    return is_large.choose(x.unary("Log") + math.log(2), near)


@_states("arctanh")
def arctanh(x: Value) -> Value:
    """Return log1p(2 x / (1 - x)) / 2."""
    return with_sign_of(log1p(abs(x) * 2 / (1 - abs(x))) * 0.5, x)


@lowers("hypot")
def _hypot(call: Call, x: Value, y: Value) -> Value:
    """Return the larger size times the square root of 1 + quotient^2."""
    larger, smaller = abs(x).binary("Max", abs(y)), abs(x).binary("Min", abs(y))
    is_tame = (larger > 0) & (larger < math.inf)
    quotient = smaller / is_tame.choose(larger, 1)
    infinite = x.unary("IsInf", BOOL) | y.unary("IsInf", BOOL)
    result = is_tame.choose(larger * (quotient * quotient + 1).unary("Sqrt"), larger)
    return infinite.choose(math.inf, result)


# -- special functions -----------------------------------------------------------------------------------


def _written(program: Callable[..., Any]) -> Single:
    """Return the lowering by a program of NumPy's operations."""

    def lowering(call: Call, x: Value, **params: Any) -> Value:
        graph, _ = stage(lambda value: [program(value, **params)], [TensorType(x.dtype, x.shape)])
        return write(call.writer, graph, [x])[0]

    return lowering


for _name, _program in PROGRAMS.items():
    lowers(_name)(_written(_program))
