"""Fourier transforms of a few points as expressions, and the roots of unity."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.nest.expression import Apply, Const, Expression

_TINY = 1e-12


class Complex(NamedTuple):
    """A complex number as expressions; the imaginary part None is 0."""

    re: Expression
    im: Expression | None


def _is_negative(x: Expression) -> TypeGuard[Apply]:
    """Return whether an expression is the negative of another one."""
    return isinstance(x, Apply) and x.operation == "negative"


def plus(x: Expression | None, y: Expression | None) -> Expression | None:
    """Return a sum; None is 0."""
    if x is not None and y is not None and _is_negative(y):
        return minus(x, y.operands[0])
    if x is None or y is None:
        return y if x is None else x
    return Apply("add", (x, y), x.dtype)


def minus(x: Expression | None, y: Expression | None) -> Expression | None:
    """Return a difference; None is 0."""
    if y is None:
        return x
    if _is_negative(y):
        return plus(x, y.operands[0])
    if x is None:
        return Apply("negative", (y,), y.dtype)
    return Apply("subtract", (x, y), x.dtype)


def _scaled(x: Expression | None, factor: float) -> Expression | None:
    if x is None or abs(factor) < _TINY:
        return None
    if abs(abs(factor) - 1) < _TINY:
        return x if factor > 0 else minus(None, x)
    return Apply("multiply", (x, Const(x.dtype.type(factor), x.dtype)), x.dtype)


def _number(re: Expression | None, im: Expression | None) -> Complex:
    assert re is not None
    return Complex(re, im)


def _sum(x: Complex, y: Complex) -> Complex:
    return _number(plus(x.re, y.re), plus(x.im, y.im))


def _difference(x: Complex, y: Complex) -> Complex:
    return _number(minus(x.re, y.re), minus(x.im, y.im))


def _turned(x: Complex, factor: complex) -> Complex:
    """Multiply by a constant of absolute value 1."""
    c, s = factor.real, factor.imag
    if x.im is not None and abs(abs(c) - abs(s)) < _TINY:  # an odd eighth of a turn: one sum, one product
        added = plus(x.re, x.im)
        re, im = (minus(x.re, x.im), added) if c * s > 0 else (added, minus(x.im, x.re))
        return _number(_scaled(re, c), _scaled(im, c))
    re = minus(_scaled(x.re, c), _scaled(x.im, s))
    im = plus(_scaled(x.im, c), _scaled(x.re, s))
    if re is None:  # a quarter of a turn of a real number
        re = Const(x.re.dtype.type(0), x.re.dtype)
    return Complex(re, im)


def _root(count: int, power: int, sign: int) -> complex:
    """Return ``e^(sign 2 pi i power / count)``."""
    cosine, sine = turn(np.array(power), count)
    return complex(cosine, sign * sine)


def turn(powers: Any, count: int) -> tuple[Any, Any]:
    """Return the cosines and sines of ``2 pi powers / count``, from angles of at most an eighth of a turn."""
    eighth, place = np.divmod(8 * (powers % count), count)
    folded = place + eighth % 2 * (count - 2 * place)
    angles = folded * (2 * np.pi / (8 * count))
    near, far = np.cos(angles), np.sin(angles)
    cosines = np.choose(eighth, (near, far, -far, -near, -near, -far, far, near))
    sines = np.choose(eighth, (far, near, near, far, -far, -near, -near, -far))
    return cosines, sines


def short_transform(xs: Sequence[Complex], sign: int) -> list[Complex]:
    """Transform a few numbers."""
    count = len(xs)
    if count == 1:
        return list(xs)
    if count == 2:
        return [_sum(*xs), _difference(*xs)]
    first = next((factor for factor in (4, 2) if count > factor and count % factor == 0), 0)
    if count == 4:
        first = 2
    return _composite(xs, sign, first) if first else _prime(xs, sign)


def _composite(xs: Sequence[Complex], sign: int, first: int) -> list[Complex]:
    count, second = len(xs), len(xs) // first
    columns = [short_transform(xs[column::second], sign) for column in range(second)]
    outputs: list[Complex | None] = [None] * count
    for k in range(first):
        row = [_turned(columns[column][k], _root(count, k * column, sign)) for column in range(second)]
        outputs[k::first] = short_transform(row, sign)
    return [x for x in outputs if x is not None]


def _prime(xs: Sequence[Complex], sign: int) -> list[Complex]:
    """Transform a prime number of points: pairs of points have the same cosines, and sines of opposite signs."""
    count = len(xs)
    half = range(1, (count + 1) // 2)
    sums = {j: _sum(xs[j], xs[count - j]) for j in half}
    differences = {j: _difference(xs[j], xs[count - j]) for j in half}
    outputs = [functools.reduce(_sum, sums.values(), xs[0])] * count
    for k in half:
        even = xs[0]
        odd: tuple[Expression | None, Expression | None] = (None, None)
        for j in half:
            root = _root(count, j * k, sign)
            even = _number(
                plus(_scaled(sums[j].re, root.real), even.re), plus(_scaled(sums[j].im, root.real), even.im)
            )
            turned = (_scaled(differences[j].re, root.imag), _scaled(differences[j].im, root.imag))
            odd = (plus(turned[0], odd[0]), plus(turned[1], odd[1]))
        # i times the odd part
        outputs[k] = _number(minus(even.re, odd[1]), plus(even.im, odd[0]))
        outputs[count - k] = _number(plus(even.re, odd[1]), minus(even.im, odd[0]))
    return outputs


def times(x: Complex, c: Expression, s: Expression) -> Complex:
    """Multiply by the number ``c + i s``."""

    def product(a: Expression | None, b: Expression) -> Expression | None:
        return None if a is None else Apply("multiply", (a, b), b.dtype)

    return _number(minus(product(x.re, c), product(x.im, s)), plus(product(x.im, c), product(x.re, s)))
