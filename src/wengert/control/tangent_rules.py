"""`custom_jvp`: a function with a rule of one's own for its tangent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert import tree
from wengert.control.custom import (
    Call,
    CustomFunction,
    MappedCall,
    batching,
    check_like,
    closure_error,
    evaluation,
    source,
    type_rule,
)
from wengert.control.programs import spread
from wengert.control.values import flatten_numbers, strong, zeros
from wengert.dtypes import dtype_of, is_float
from wengert.errors import ArgumentError, message
from wengert.ir.graph import Graph
from wengert.ir.types import type_of
from wengert.primitive import Structured, primitive
from wengert.trace import Box, running
from wengert.transforms.batching import BatchTrace
from wengert.transforms.forward import like as matched
from wengert.transforms.reverse import LinearTrace, Node, match, type_of_value, walk_back


class custom_jvp(CustomFunction):  # noqa: N801 (JAX's name)
    """Give a function a rule for its tangent, which both modes use instead of differentiating the function.

    The rule takes the primals and the tangents and returns the output and its tangent, linear in the tangents; reverse mode
    transposes it. It is made of operations that are differentiated themselves for higher derivatives.

    Args:
        fun: a function of containers of arrays and numbers.
        nondiff_argnums: positions of arguments that are settings; the rule takes them first, each by itself.

    Example:
        >>> import numpy as np, wengert as wg
        >>> @custom_jvp
        ... def log1pexp(x):
        ...     return np.log(1.0 + np.exp(x))
        >>> @log1pexp.defjvp
        ... def rule(primals, tangents):
        ...     (x,), (dx,) = primals, tangents
        ...     return log1pexp(x), dx * (1.0 - 1.0 / (1.0 + np.exp(x)))
        >>> float(wg.grad(log1pexp)(100.0))
        1.0
    """

    operation = "custom_jvp"

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        super().__init__(fun, nondiff_argnums)
        self.rule: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule ``jvp(*settings, primals, tangents) -> (output, tangent of the output)``; return it.

        ``primals`` and ``tangents`` are tuples with an entry for each argument that is no setting; a tangent has the
        containers, shapes and dtypes of its primal.
        """
        self.rule = jvp
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule for each argument: ``jvp(tangent, output, *primals) -> its part of the tangent``; None for zero.

        Raises:
            ArgumentError: there are nondiff_argnums, for which only `defjvp` has a place.

        Example:
            >>> import numpy as np, wengert as wg
            >>> @custom_jvp
            ... def product(x, y):
            ...     return x * y
            >>> product.defjvps(lambda dx, out, x, y: dx * y, None)
            >>> wg.grad(product, argnums=(0, 1))(2.0, 3.0)
            (3.0, 0.0)
        """
        if self.nondiff_argnums:
            raise ArgumentError(message("defjvps", "there may be no nondiff_argnums", str(self.nondiff_argnums), "use defjvp"))

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            output = self(*primals)
            if len(jvps) != len(primals):
                got = f"{len(jvps)} rules for {len(primals)} arguments"
                raise ArgumentError(message("defjvps", "an entry for each argument is needed", got))
            total = tree.map_tree(lambda value: zeros(strong(type_of(value))), output)
            for jvp, tangent in zip(jvps, tangents, strict=True):
                if jvp is not None:
                    total = tree.map_tree(lambda one, other: one + other, total, jvp(tangent, output, *primals))
            return output, total

        self.rule = rule

    def check_rule(self) -> None:
        if self.rule is None:
            raise ArgumentError(message(repr(self), "there is no rule yet", hint="give it one: defjvp or defjvps"))


class TangentCall(Call):
    """One call of a function with a rule for its tangent."""

    function: custom_jvp

    def tangents(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """Apply the rule: the outputs and their tangents (None: zero)."""
        assert self.function.rule is not None
        directions = [_tangent(p, t) for p, t in zip(primals, tangents, strict=True)]
        result = self.function.rule(*self.settings, self.rebuild(primals), self._directions(directions))
        if not (isinstance(result, tuple) and len(result) == 2):  # pyright: ignore[reportUnknownArgumentType]
            requirement = f"the rule of {self!r} must return a pair (output, tangent)"
            raise ArgumentError(message(self.operation, requirement, type(result).__name__))
        output, tangent = result  # pyright: ignore[reportUnknownVariableType]
        outputs = self.output(output)
        found, structure = flatten_numbers(self.operation, f"the tangent of {self!r}", tangent)
        assert self.structure is not None
        tree.check_same(f"custom_jvp rule of {self!r}", self.structure, structure)
        checked = [
            matched(check_like(self, "a tangent", t, value), value) if is_float(dtype_of(value)) else None
            for t, value in zip(found, outputs, strict=True)
        ]
        return outputs, checked

    def _directions(self, tangents: Sequence[Any]) -> Any:
        """Return the tangents in the containers of the arguments; those of settings among the leaves are zero."""
        replaced = self.rebuild([_Mark(tangent) for tangent in tangents])
        return tree.map_tree(lambda leaf: leaf.tangent if isinstance(leaf, _Mark) else _nothing(leaf), replaced)

    def mapped(self, size: int, batched: Sequence[bool]) -> Any:
        return MappedTangentCall(self, size, batched)


class _Mark:
    """A leaf that is a tangent, among others that are not."""

    __slots__ = ("tangent",)

    def __init__(self, tangent: Any) -> None:
        self.tangent = tangent


def _nothing(leaf: Any) -> Any:
    return zeros(strong(type_of(leaf))) if isinstance(leaf, (bool, int)) or hasattr(leaf, "dtype") else leaf


def _tangent(primal: Any, tangent: Any) -> Any:
    return zeros(strong(type_of(primal))) if tangent is None else tangent


class MappedTangentCall(MappedCall):
    """The call for many examples."""

    def tangents(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """Apply the rule to all examples."""
        with running(BatchTrace(self.size)) as trace:
            assert isinstance(trace, BatchTrace)
            inside = self.boxed(trace, primals), self.boxed(trace, tangents)
            outputs, found = self.call.tangents(*inside)
            return tuple(map(trace.value, outputs)), [None if t is None else trace.value(t) for t in found]


# -- the primitive ---------------------------------------------------------------------------------------


def _push(primals: Sequence[Any], tangents: Sequence[Any], graph: Graph | None, call: Any, captured: int) -> Any:
    if any(tangent is not None for tangent in tangents[:captured]):
        raise closure_error(call)
    return call.tangents(primals[captured:], tangents[captured:])


def _pull(primals: Sequence[Any], active: Sequence[bool], graph: Graph | None, call: Any, captured: int) -> Any:
    """Write the rule down as a list of linear operations, to walk back along."""
    if any(active[:captured]):
        raise closure_error(call)
    trace = LinearTrace()
    starts = [Node(type_of_value(p)) if flag else None for p, flag in zip(primals, active, strict=True)]
    with running(trace):
        boxes = [None if start is None else trace.box(start) for start in starts]
        outputs, tangents = call.tangents(primals[captured:], boxes[captured:])
    ends = [t.state if isinstance(t, Box) and t.owner is trace else None for t in tangents]

    def walk(cotangents: Sequence[Any]) -> list[Any]:
        seeds = [
            (end, match(cotangent, end.value))
            for end, cotangent in zip(ends, cotangents, strict=True)
            if end is not None and cotangent is not None
        ]
        return spread(walk_back(seeds, [start for start in starts if start is not None]), active)

    return outputs, walk


custom_jvp_primitive = primitive(
    name="custom_jvp",
    doc="a function with a rule of its own for its tangent",
    type_rule=type_rule,
    evaluate=evaluation,
    derivative=Structured(_push, _pull),
    batch=batching,
    source=source,
    samples=None,
)
custom_jvp.primitive = custom_jvp_primitive
custom_jvp.call_type = TangentCall
