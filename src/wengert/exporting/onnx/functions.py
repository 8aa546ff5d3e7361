"""Lowerings of elementary and special functions, where ONNX has no operator or onnxruntime no kernel for float64.

Compositions of exp, log, sin and cos that keep full relative accuracy, and the polynomials of
`wengert.engine.kernels.special`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from wengert.engine.core.dtypes import BOOL, FLOAT32, FLOAT64
from wengert.engine.kernels.tables import table
from wengert.exporting.onnx.elementwise import negative_sign, with_sign_of
from wengert.exporting.onnx.table import Call, Single, lowers
from wengert.exporting.onnx.values import Value

_LARGEST = 1e300
Function: TypeAlias = Callable[[Value], Value]
#: A function, and a point of its range.
Piece: TypeAlias = tuple[Function, float]


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


@lowers("expit")
def _expit(call: Call, x: Value) -> Value:
    decay = (-abs(x)).unary("Exp")
    return (x < 0).choose(decay, 1) / (decay + 1)


@lowers("expit_slope")
def _expit_slope(call: Call, x: Value) -> Value:
    decay = (-abs(x)).unary("Exp")
    return decay / ((decay + 1) * (decay + 1))


@lowers("tanh_slope")
def _tanh_slope(call: Call, x: Value) -> Value:
    decay = (-abs(x)).unary("Exp")
    half = decay * 2 / (decay * decay + 1)
    return half * half


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
    rest = high - size
    shadow = rest - high
    lost = (high - (rest - shadow)) - (size + shadow)
    slope = rest.cast(FLOAT32).unary("Cos").cast(FLOAT64)
    near = rest.unary("Sin") + slope * (lost + low)
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
    rest = (tame * cosine - sine) / (cosine + tame * sine)
    return (abs(tame) < 1e-8).choose(tame, start + rest)


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


def polynomial(name: str | Sequence[float], x: Value) -> Value:
    """Return a polynomial of `wengert.engine.kernels.special` at x."""
    *rest, last = table(name) if isinstance(name, str) else name
    total = x.like(last)
    for coefficient in reversed(rest):
        total = total * x + coefficient
    return total


def _by_range(x: Value, edges: Sequence[float], functions: Sequence[Piece]) -> Value:
    """Return each function on its own range, computed elsewhere at a point of that range."""
    result: Value | None = None
    for number in reversed(range(len(functions))):
        function, inside = functions[number]
        low = edges[number - 1] if number else -math.inf
        high = edges[number] if number < len(edges) else math.inf
        outside = (x < low) | (x >= high) if number < len(edges) else x < low
        value = function(outside.choose(inside, x))
        result = value if result is None else (x < high).choose(value, result)
    assert result is not None
    return result


def _ratio(x: Value, centre: float) -> Value:
    return (x - centre) / (x + centre)


def _erf_near_0(x: Value) -> Value:
    return x + x * polynomial("ERF", x * x)


def _erfc_tail(x: Value) -> Value:
    """Return erfc for x >= 0.5, from exp(-x^2) with a correction for the rounding error of the square."""
    x = x.binary("Min", 28.0)
    high = x.cast(FLOAT32).cast(FLOAT64)
    scaled = polynomial("ERFC", _ratio(x, 3.0)) / (x + 0.5)
    scaled = scaled + scaled * expm1((high - x) * (high + x))
    return (-(high * high)).unary("Exp") * scaled


@_in_double("erf")
def erf(x: Value) -> Value:
    """Return the error function."""
    near: Piece = (_erf_near_0, 0.0)
    return with_sign_of(_by_range(abs(x), [1.0], [near, (lambda size: 1 - _erfc_tail(size), 2.0)]), x)


@_in_double("erfc")
def erfc(x: Value) -> Value:
    """Return 1 - erf x without cancellation."""
    near: Piece = (lambda x: 1 - _erf_near_0(x), 0.0)
    return _by_range(x, [-1.0, 0.5], [(lambda x: 2 - _erfc_tail(-x), -2.0), near, (_erfc_tail, 2.0)])


@_in_double("erfinv")
def erfinv(y: Value) -> Value:
    """Return the x for which erf x = y (Giles, 2010)."""

    def tail(w: Value) -> Value:
        root = w.unary("Sqrt")
        return root * polynomial("ERFINV_TAIL", _ratio(root, 4.0))

    w = -((1 - y) * (y + 1)).unary("Log")
    x = y * _by_range(w, [6.0], [(lambda w: polynomial("ERFINV", w - 3), 3.0), (tail, 9.0)])
    return abs(y).equals(1).choose(with_sign_of(abs(y) * math.inf, y), x)


_NEAR, _MID = math.sqrt(1.25), math.sqrt(31.25)
_STIRLING = 0.5 * math.log(2 * math.pi) - 0.5


def _lgamma_near(x: Value) -> Value:
    return (x - 1) * (x - 2) * polynomial("LGAMMA", _ratio(x, _NEAR))


def _lgamma_mid(x: Value) -> Value:
    return (x - 1) * (x - 2) * polynomial("LGAMMA_MID", _ratio(x, _MID))


def _lgamma_tail(x: Value) -> Value:
    inverse = 1 / x
    correction = inverse * polynomial("LGAMMA_TAIL", inverse * inverse)
    result = (x - 0.5) * (x.unary("Log") - 1) + (correction + _STIRLING)
    return x.equals(math.inf).choose(x, result)


def _lgamma_right(x: Value) -> Value:
    return _by_range(x, [2.5, 12.5], [(_lgamma_near, 1.25), (_lgamma_mid, 5.0), (_lgamma_tail, 20.0)])


def _lgamma_left(x: Value) -> Value:
    """Return log |pi / sin(pi x)| - log Gamma(1 - x)."""
    rest = x - x.unary("Round")
    sine = abs((rest * math.pi).unary("Sin"))
    reflected = (math.pi / rest.equals(0).choose(1, sine)).unary("Log") - _lgamma_right(1 - x)
    return rest.equals(0).choose(math.inf, reflected)


@_in_double("lgamma")
def lgamma(x: Value) -> Value:
    """Return log |Gamma(x)|, infinite at 0, -1, -2, ..."""
    return _by_range(x, [0.5], [(_lgamma_left, 0.25), (_lgamma_right, 1.25)])


def _digamma_near(x: Value) -> Value:
    high, low = table("DIGAMMA_ROOT")
    return ((x - high) - low) * polynomial("DIGAMMA", _ratio(x, _NEAR))


def _digamma_tail(x: Value) -> Value:
    inverse = 1 / x
    square = inverse * inverse
    return x.unary("Log") - (inverse * 0.5 + square * polynomial("DIGAMMA_TAIL", square))


def _digamma_right(x: Value) -> Value:
    mid: Piece = (lambda x: polynomial("DIGAMMA_MID", _ratio(x, _MID)), 5.0)
    return _by_range(x, [2.5, 12.5], [(_digamma_near, 1.25), mid, (_digamma_tail, 20.0)])


def _digamma_left(x: Value) -> Value:
    """Return psi(1 - x) - pi cot(pi x)."""
    rest = x - x.unary("Round")
    tame = rest.equals(0).choose(0.25, rest)
    reflected = _digamma_right(1 - x) - 1 / tame + tame * polynomial("COTANGENT", tame * tame)
    poles = (x < 0).choose(math.nan, negative_sign(x).choose(x.like(math.inf), -math.inf))
    return rest.equals(0).choose(poles, reflected)


@_in_double("digamma")
def digamma(x: Value) -> Value:
    """Return the derivative of log Gamma(x)."""
    return _by_range(x, [0.5], [(_digamma_left, 0.25), (_digamma_right, 1.25)])


_DIRECT = 12


@lowers("polygamma")
def _polygamma(call: Call, x: Value, order: int) -> Value:
    """Return the derivative of digamma of an order; see `wengert.engine.kernels.special.polygamma`."""
    x, dtype = x.cast(FLOAT64), x.dtype
    if not order:
        return digamma(x).cast(dtype)
    left: Piece = (lambda x: _series_left(x, order), -0.25)
    series = _by_range(x, [0.0], [left, (lambda x: _series(x, order), 1.0)])
    return (series if order % 2 else -series).cast(dtype)


def _term(x: Value, order: int, exponent: int) -> Value:
    half = x.binary("Pow", -exponent / 2)
    return half * float(math.factorial(order)) * half


def _series(x: Value, order: int) -> Value:
    """Return order! times the sum of 1 / (x + k)^(order + 1) for x >= 0 (Euler and Maclaurin)."""
    total = _term(x, order, order + 1)
    for k in range(1, _DIRECT):
        total = total + _term(x + k, order, order + 1)
    rest = x + _DIRECT
    inverse = 1 / rest
    terms = enumerate(table("DIGAMMA_TAIL"))
    bernoulli = [term * math.comb(order + 1 + 2 * j, 2 * j + 1) for j, term in terms]
    correction = inverse * (inverse * polynomial(bernoulli, inverse * inverse) + 0.5)
    return total + _term(rest, order, order) * (correction + 1 / order)


def _series_left(x: Value, order: int) -> Value:
    rest = x - x.unary("Round")
    size, parity = abs(rest), 1.0 if order % 2 else -1.0
    everywhere = _series(size, order) + _series(1 - size, order) * parity
    sign = (rest < 0).choose(rest.like(parity), 1.0)
    return rest.equals(0).choose(math.inf, sign * everywhere - _series(1 - x, order) * parity)
