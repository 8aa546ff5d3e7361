"""Gradient checks: both modes against differences and against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import tree
from wengert.dtypes import FLOAT64, dtype_of
from wengert.errors import ArgumentError, WengertError, message
from wengert.ir.types import show
from wengert.shapes import shape_of
from wengert.trace import Box
from wengert.transforms.arguments import follow
from wengert.transforms.gradients import vjp
from wengert.transforms.tangents import jvp

_STEP = {"float64": 1e-3, "float32": 3e-2, "float16": 1e-1}
_RTOL = {"float64": 1e-6, "float32": 5e-3, "float16": 1e-1}


class GradientError(WengertError, AssertionError):
    """A derivative that differs from what it is compared with."""


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
    ``J u = (8 (f(x + h u) - f(x - h u)) - (f(x + 2 h u) - f(x - 2 h u))) / 12 h + O(h^4)``, reverse mode with
    forward mode by ``<v, J u> = <J^T v, u>``; for higher orders the derivatives are checked in the same way.

    Args:
        fun: a function of arrays, numbers or containers of them.
        args: the point: a sequence with each argument, floating-point. Stay a few ``eps`` away from kinks.
        order: how many times to differentiate.
        modes: "fwd", "rev" or both.
        atol: absolute tolerance; by default that of the dtype, relative to the largest value met.
        rtol: relative tolerance; by default 1e-6 in float64, 5e-3 in float32.
        eps: the step ``h``; by default 1e-3 in float64.
        seed: of the random directions.

    Raises:
        GradientError: an `AssertionError` that says which mode disagrees, at which order, and by how much.

    Example:
        >>> import numpy as np
        >>> check_grads(lambda x: np.sum(np.sin(x) * x), (np.array([1.0, 2.0]),), order=2)
    """
    if unknown := set(modes) - {"fwd", "rev"}:
        raise ArgumentError(
            message("check_grads", 'modes must be "fwd" or "rev"', ", ".join(map(repr, unknown)))
        )
    check = _Check(tuple(modes), atol, rtol, eps, np.random.default_rng(seed))
    check.run(fun, tuple(args), order, "f")


class _Check:
    """The settings of one call of `check_grads`."""

    def __init__(
        self,
        modes: tuple[str, ...],
        atol: float | None,
        rtol: float | None,
        eps: float | None,
        rng: np.random.Generator,
    ) -> None:
        self.modes, self.atol, self.rtol, self.eps, self.rng = modes, atol, rtol, eps, rng

    def run(self, fun: Callable[..., Any], args: tuple[Any, ...], order: int, name: str) -> None:
        """Check one order, and the derivatives themselves for the next."""
        followed = follow("check_grads", fun, tuple(range(len(args))), args, {})
        if not followed.leaves or order < 1:
            return
        direction = self._direction(followed.leaves)
        tangents = tree.unflatten(followed.structure, direction)
        output, pushed = jvp(fun, args, tangents)
        self._against_differences(followed.call, followed.leaves, direction, pushed, f"jvp of {name}")
        if "rev" in self.modes:
            self._adjoint(fun, args, direction, output, pushed, f"vjp of {name}")
        if order == 1:
            return
        if "fwd" in self.modes:
            self.run(lambda *point: jvp(fun, point, tangents)[1], args, order - 1, f"the jvp of {name}")
        if "rev" in self.modes:
            cotangent = self._like(output)
            self.run(lambda *point: vjp(fun, *point)[1](cotangent), args, order - 1, f"the vjp of {name}")

    def _direction(self, leaves: Sequence[Any]) -> list[Any]:
        parts = [self.rng.standard_normal(shape_of(leaf)).astype(dtype_of(leaf)) for leaf in leaves]
        length = np.sqrt(sum(float(np.sum(np.square(part, dtype=FLOAT64))) for part in parts)) or 1.0
        return [np.asarray(part / length, dtype=dtype_of(part)) for part in parts]

    def _like(self, output: Any) -> Any:
        def draw(leaf: Any) -> Any:
            values = self.rng.standard_normal(shape_of(leaf))
            return values.astype(dtype_of(leaf)) if dtype_of(leaf).kind == "f" else np.zeros(shape_of(leaf))

        return tree.map_tree(draw, output)

    def _against_differences(
        self,
        call: Callable[[Sequence[Any]], Any],
        leaves: Sequence[Any],
        direction: Sequence[Any],
        pushed: Any,
        what: str,
    ) -> None:
        kind = str(np.result_type(*(dtype_of(leaf) for leaf in leaves)))
        step = self.eps or _STEP[kind]

        def at(distance: float) -> list[Any]:
            moved = [
                x + np.asarray(distance * u, dtype=dtype_of(x))
                for x, u in zip(leaves, direction, strict=True)
            ]
            return [np.asarray(_plain(leaf), dtype=FLOAT64) for leaf in tree.leaves(call(moved))]

        samples = {k: at(k * step) for k in (-2, -1, 1, 2)}
        for position, tangent in enumerate(tree.leaves(pushed)):
            near = samples[1][position] - samples[-1][position]
            far = samples[2][position] - samples[-2][position]
            self._compare(tangent, (8 * near - far) / (12 * step), kind, f"{what} against differences")

    def _adjoint(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        direction: Sequence[Any],
        output: Any,
        pushed: Any,
        what: str,
    ) -> None:
        cotangent = self._like(output)
        pulled = vjp(fun, *args)[1](cotangent)
        left = _inner(tree.leaves(cotangent), tree.leaves(pushed))
        right = _inner(tree.leaves(pulled), direction)
        kind = str(np.result_type(*(dtype_of(leaf) for leaf in tree.leaves(output))))
        self._compare(
            right, left, kind if kind in _RTOL else "float64", f"{what}: <J^T v, u> against <v, J u>"
        )

    def _compare(self, found: Any, expected: Any, kind: str, what: str) -> None:
        found, expected = np.asarray(_plain(found), FLOAT64), np.asarray(expected, FLOAT64)
        rtol = _RTOL[kind] if self.rtol is None else self.rtol
        finite = np.abs(expected[np.isfinite(expected)])
        atol = rtol * max(1.0, float(finite.max(initial=0.0))) if self.atol is None else self.atol
        if not np.allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True):
            error = np.max(np.abs(found - expected))
            got = f"{found} for {expected}, off by {error:.3g}"
            raise GradientError(
                message("check_grads", f"{what} must agree within rtol={rtol:g}, atol={atol:g}", got)
            )


def _plain(value: Any) -> Any:
    if isinstance(value, Box):
        raise ArgumentError(
            message("check_grads", "the function must be called with plain arrays", show(value))
        )
    return value


def _inner(left: Sequence[Any], right: Sequence[Any]) -> float:
    return sum(float(np.sum(np.asarray(a, FLOAT64) * b)) for a, b in zip(left, right, strict=True))
