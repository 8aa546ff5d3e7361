"""Gradient checks: both modes against differences and against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.core.dtypes import (
    COMPLEX128,
    FLOAT64,
    Dtype,
    dtype_of,
    is_complex,
    is_inexact,
    real_dtype,
)
from wengert.engine.core.errors import ArgumentError, WengertError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.transforms.arguments import select_inputs
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.reverse_mode import vjp

__all__ = ["GradientError", "check_grads"]
__dir__ = __all__.copy

_STEP = {"float64": 1e-3, "float32": 3e-2, "float16": 1e-1}
_RTOL = {"float64": 1e-6, "float32": 5e-3, "float16": 1e-1}


class GradientError(WengertError, AssertionError):
    """Two derivatives that must agree differ."""


@advising("wg.check_grads(f, (x,))")
def check_grads(
    fun: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    seed: int = 0,
) -> None:
    """Check the derivatives of a function in random directions.

    Forward mode is compared with five-point central differences,
    ``J u = (8 (f(x + h u) - f(x - h u)) - (f(x + 2 h u) - f(x - 2 h u))) / 12 h + O(h^4)``. Reverse mode is compared
    with forward mode (or with the differences, if it is checked alone) by ``<v, J u> = <J^T v, u>``, of complex numbers
    by the real parts ``Re(v J u) = Re(J^T v u)``. For higher orders
    the derivatives are checked in the same way.

    Args:
        fun: a function of arrays, numbers or containers of them.
        args: the point: a tuple with each argument, floating-point. Stay a few ``eps`` away from kinks.
        order: how many times to differentiate, at least once.
        modes: "fwd", "rev" or both.
        atol: absolute tolerance; by default ``rtol`` times the largest value, or ``rtol`` if that is below 1.
        rtol: relative tolerance; by default 1e-6 in float64, 5e-3 in float32, 0.1 in float16.
        eps: the step ``h``; by default 1e-3 in float64, 0.03 in float32, 0.1 in float16.
        seed: the seed of the random directions.

    Raises:
        GradientError: an `AssertionError` that names the mode, the order and the difference.
        ArgumentError: there is nothing to check.
        DtypeError: an argument is not floating-point.

    Example:
        >>> import numpy as np
        >>> check_grads(lambda x: np.sum(np.sin(x) * x), (np.array([1.0, 2.0]),), order=2)
    """
    if not isinstance(args, (tuple, list)):
        requirement = "args must be a tuple with each argument"
        raise ArgumentError(message("check_grads", requirement, type(args).__name__))
    if order < 1 or not tree.leaves(tuple(args)):
        got = f"order={order}, args={args!r}"
        raise ArgumentError(message("check_grads", "order >= 1 and at least one number are needed", got))
    if isinstance(modes, str) or not modes or not {"fwd", "rev"}.issuperset(modes):
        requirement = 'modes must be ("fwd",), ("rev",) or both'
        raise ArgumentError(message("check_grads", requirement, repr(modes)))
    check = _Check(tuple(modes), atol, rtol, eps, np.random.default_rng(seed))
    check.run(fun, tuple(args), order, "f")


@dataclass
class _Check:
    """The settings of one call of `check_grads`."""

    modes: tuple[str, ...]
    atol: float | None
    rtol: float | None
    eps: float | None
    rng: np.random.Generator
    coarsest: Dtype = FLOAT64
    """The shortest floating-point dtype of the function, which limits the accuracy."""

    def run(self, fun: Callable[..., Any], args: tuple[Any, ...], order: int, name: str) -> None:
        """Check one order, and the derivatives themselves for the next."""
        inputs = select_inputs("check_grads", fun, tuple(range(len(args))), args, {})
        direction = self._direction(inputs.leaves)
        tangents = tree.unflatten(inputs.structure, direction)
        dtypes = [dtype_of(leaf) for leaf in (*inputs.leaves, *tree.leaves(fun(*args)))]
        floats = [real_dtype(dtype) for dtype in dtypes if is_inexact(dtype)]
        self.coarsest = min(self.coarsest, *floats, key=lambda dtype: dtype.itemsize)
        pushed = self._differences(
            lambda leaves: fun(*tree.unflatten(inputs.structure, leaves)), inputs.leaves, direction
        )
        if "fwd" in self.modes:
            differences, pushed = pushed, tree.leaves(jvp(fun, args, tangents)[1])
            for tangent, difference in zip(pushed, differences, strict=True):
                self._compare(tangent, difference, f"jvp of {name} against differences")
            if order > 1:
                self.run(lambda *point: jvp(fun, point, tangents)[1], args, order - 1, f"the jvp of {name}")
        if "rev" in self.modes:
            output, pullback = vjp(fun, *args)
            cotangent = tree.map_tree(self._random, output)
            left, right = _inner(cotangent, pushed), _inner(pullback(cotangent), direction)
            self._compare(right, left, f"vjp of {name}: <J^T v, u> against <v, J u>")
            if order > 1:
                self.run(lambda *point: vjp(fun, *point)[1](cotangent), args, order - 1, f"the vjp of {name}")

    def _random(self, leaf: Any) -> Any:
        """Draw a value of the shape and dtype of a leaf; zero for integers, which have no derivative."""
        values = self.rng.standard_normal(shape_of(leaf))
        if is_complex(dtype_of(leaf)):
            values = values + 1j * self.rng.standard_normal(shape_of(leaf))
        return np.asarray(values if is_inexact(dtype_of(leaf)) else 0 * values, dtype_of(leaf))

    def _direction(self, leaves: Sequence[Any]) -> list[Any]:
        parts = [self._random(leaf) for leaf in leaves]
        length = np.sqrt(_inner(parts, [np.conjugate(part) for part in parts])) or 1.0
        return [np.asarray(part / length, dtype_of(part)) for part in parts]

    def _differences(
        self, call: Callable[[Sequence[Any]], Any], leaves: Sequence[Any], direction: Sequence[Any]
    ) -> list[Any]:
        """Return the derivative of each output by central differences."""
        step = _STEP[self.coarsest.name] if self.eps is None else self.eps

        def at(distance: float) -> list[Any]:
            pairs = zip(leaves, direction, strict=True)
            moved = [x + np.asarray(distance * u, dtype_of(x)) for x, u in pairs]
            return list(map(_double, tree.leaves(call(moved))))

        outputs = zip(*(at(places * step) for places in (-2, -1, 1, 2)), strict=True)
        with np.errstate(invalid="ignore"):  # infinite values give NaN, which agrees with no derivative
            return [(8 * (y3 - y2) - (y4 - y1)) / (12 * step) for y1, y2, y3, y4 in outputs]

    def _compare(self, derivative: Any, expected: Any, names: str) -> None:
        derivative, expected = _double(derivative), _double(expected)
        rtol = _RTOL[self.coarsest.name] if self.rtol is None else self.rtol
        size = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
        atol = rtol * float(size) if self.atol is None else self.atol
        if not np.allclose(derivative, expected, rtol=rtol, atol=atol):
            with np.errstate(invalid="ignore"):
                error = np.abs(derivative - expected)
            worst = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
            place = f" at {list(map(int, worst))}" if worst else ""
            got = f"{derivative[worst]:.10g} for {expected[worst]:.10g}{place}, off by {error[worst]:.3g}"
            requirement = f"{names} must agree within rtol={rtol:g}, atol={atol:.3g}"
            raise GradientError(message("check_grads", requirement, got))


def _double(value: Any) -> Any:
    if isinstance(value, Box):
        hint = "call check_grads outside of transforms"
        raise ArgumentError(message("check_grads", "plain arrays are needed", show(value), hint))
    return np.asarray(value, COMPLEX128 if is_complex(dtype_of(value)) else FLOAT64)


def _inner(left: Any, right: Any) -> float:
    pairs = zip(tree.leaves(left), tree.leaves(right), strict=True)
    return sum((float(np.sum(_double(a) * b).real) for a, b in pairs), 0.0)
