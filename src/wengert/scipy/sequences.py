"""SciPy's special functions of all orders up to one, and their slopes: those of each order, one after another."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.elementwise import check_real
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME
from wengert.engine.ops.special.table import evaluated
from wengert.scipy.registry import number
from wengert.special import spherical_jn, spherical_yn

Sequence = Callable[[Any, Any], Any]


def _enter(name: str, of_orders: Sequence, least: int = 0) -> None:
    """Enter a function of an order, which is known, and a number.

    Args:
        name: SciPy's.
        of_orders: gets the orders, from the fraction of the order on, and the number.
        least: of how many orders beyond the first one SciPy returns the function.
    """

    @substitutes(f"scipy.special.{name}")
    def call(order: Any, x: Any) -> Any:
        known = float(number(f"scipy.special.{name}", "the order", order))
        if known < 0 or shape_of(x):
            requirement = "an order of at least 0 and one number are supported inside of a transform"
            raise ArgumentError(message(f"scipy.special.{name}", requirement, f"{known:g} and {shape_of(x)}"))
        check_real(name, x)
        whole = int(known)
        return of_orders(np.arange(max(whole, least) + 1) + (known - whole), operand(x) * 1.0)


def _riccati(spherical: Callable[..., Any], orders: Any, x: Any) -> Any:
    orders = orders.astype(int)
    value = spherical(orders, x)
    return x * value, value + x * spherical(orders, x, True)


def _lambda(orders: Any, x: Any) -> Any:
    """Return ``gamma(v + 1) (2 / x)^v J_v(x)``, which is ``0F1(v + 1, -x^2 / 4)``, and its slope."""
    square = -0.25 * x * x
    slope = -0.5 * x / (orders + 1.0) * BY_NAME["hyp0f1"](orders + 2.0, square)
    return BY_NAME["hyp0f1"](orders + 1.0, square), slope


def _of_complex(orders: Any, x: Any) -> Any:
    return tuple(part + 0j for part in BY_NAME["pbdv"](orders, x))


def _enter_values(kind: str) -> None:
    @substitutes(f"scipy.special.{kind}_cv_seq")
    def call(m: Any, n: Any, c: Any) -> Any:
        first, last = (int(number(f"{kind}_cv_seq", "the order", order)) for order in (m, n))
        return BY_NAME[f"{kind}_cv"](first, np.arange(first, last + 1), c)


def _enter_second_kind(name: str) -> None:
    @substitutes(f"scipy.special.{name}")
    def call(*operands: Any) -> Any:
        *orders, x = operands
        check_real(name, x)
        known = [int(number(f"scipy.special.{name}", "the order", order)) for order in orders]
        indices = np.indices([order + 1 for order in known])
        places = [index.reshape(index.shape + (1,) * len(shape_of(x))) for index in indices]
        return tuple(evaluated(*places, operand(x), function=name, part=part) for part in range(2))


_enter("riccati_jn", functools.partial(_riccati, spherical_jn))
_enter("riccati_yn", functools.partial(_riccati, spherical_yn))
_enter("lmbda", _lambda)
_enter("pbdv_seq", BY_NAME["pbdv"], 1)
_enter("pbvv_seq", BY_NAME["pbvv"], 1)
_enter("pbdn_seq", _of_complex, 1)
for _kind in ("pro", "obl"):
    _enter_values(_kind)
for _name in ("lqn", "lqmn"):
    _enter_second_kind(_name)
