"""`custom_jvp`: a function with a rule of one's own for its tangent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.boxes import Box, running
from wengert.control.custom import (
    Call,
    CustomFunction,
    MappedCall,
    RuleTrace,
    batching,
    closure_error,
    evaluation,
    source,
    transposing,
    type_rule,
)
from wengert.control.programs import spread
from wengert.control.values import fit, flatten_numbers, is_number, strong, zeros
from wengert.core import tree
from wengert.core.dtypes import is_float
from wengert.core.errors import ArgumentError, message
from wengert.ir.graph import Graph
from wengert.ir.types import type_of
from wengert.nest.lowering import HoldsPrograms
from wengert.primitive import HigherOrder, primitive
from wengert.transforms.batching import Batched, BatchTrace
from wengert.transforms.reverse import match, type_of_value, walk_back
from wengert.transforms.tape import Node, start_of


class TangentCall(Call):
    """One call of a function with a rule for its tangent."""

    function: custom_jvp

    def tangents(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """Apply the rule: the outputs, and their tangents (None: zero)."""
        assert self.function.rule is not None
        pairs = zip(tangents, self.types, strict=True)
        directions = [zeros(strong(type_)) if one is None else one for one, type_ in pairs]
        still = [zeros(strong(type_of(leaf))) if is_number(leaf) else leaf for leaf in self.packed.others]
        inside = self.packed.rebuild(primals), self.packed.fill(still, directions)
        output, tangent = self.pair(self.function.rule(*self.settings, *inside), "(output, tangent)")
        outputs = self.output(output)
        found, structure = flatten_numbers(self.operation, f"the tangent of {self!r}", tangent)
        tree.check_same(self.rule, self.structure, structure)
        return outputs, list(map(self._tangent, found, outputs))

    def _tangent(self, tangent: Any, output: Any) -> Any:
        expected = strong(type_of(output))
        if not is_float(expected.dtype):
            return None
        return fit(self.checked("a tangent", tangent, expected), expected)

    def mapped(self, size: int, batched: Sequence[bool]) -> Any:
        """Return the call for many examples."""
        return MappedTangentCall(self, size, batched)


class MappedTangentCall(MappedCall):
    """The call for many examples."""

    def tangents(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """Apply the rule to all examples."""
        with running(BatchTrace(self.size)) as trace:
            assert isinstance(trace, BatchTrace)
            pairs = zip(tangents, self.batched, strict=True)
            moving = [trace.box(Batched(t)) if flag and t is not None else t for t, flag in pairs]
            outputs, found = self.call.tangents(self.operands(trace, primals), moving)
            return self.outputs(trace, outputs), [None if t is None else trace.value(t) for t in found]

    def mapped(self, size: int, batched: Sequence[bool]) -> Any:
        """Return the call for many examples of many examples."""
        return MappedTangentCall(self, size, batched)


def _push(
    primals: Sequence[Any], tangents: Sequence[Any], graph: Graph | None, call: Any, captured: int
) -> Any:
    if any(tangent is not None for tangent in tangents[:captured]):
        raise closure_error(call)
    return call.tangents(primals[captured:], tangents[captured:])


def _pull(
    primals: Sequence[Any], active: Sequence[bool], graph: Graph | None, call: Any, captured: int
) -> Any:
    """Write the rule down as a list of linear operations, to walk back along."""
    if any(active[:captured]):
        raise closure_error(call)
    starts = [Node(type_of_value(p)) if flag else None for p, flag in zip(primals, active, strict=True)]
    with running(RuleTrace()) as trace:
        boxes = [None if start is None else start_of(trace, start) for start in starts]
        outputs, tangents = call.tangents(primals[captured:], boxes[captured:])
    ends = [t.state if isinstance(t, Box) and t.owner is trace else None for t in tangents]

    def walk(cotangents: Sequence[Any]) -> list[Any]:
        seeds = [
            (end.node, match(cotangent, end.value))
            for end, cotangent in zip(ends, cotangents, strict=True)
            if end is not None and cotangent is not None
        ]
        with transposing(call):
            return spread(walk_back(seeds, [start for start in starts if start is not None]), active)

    return outputs, walk


custom_jvp_primitive = primitive(
    name="custom_jvp",
    doc="a function with a rule of its own for its tangent",
    type_rule=type_rule,
    evaluate=evaluation,
    derivative=HigherOrder(_push, _pull),
    batch=batching,
    lowering=HoldsPrograms(),
    source=source,
    samples=None,
)


class custom_jvp(CustomFunction):  # noqa: N801 (JAX's name)
    """Give a function a rule for its tangent, which both modes use instead of differentiating the function.

    The rule takes the primals and the tangents and returns the output and its tangent, linear in the tangents; reverse
    mode transposes it. For higher derivatives the rule is differentiated itself.

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
        ...     return log1pexp(x), dx / (1.0 + np.exp(-x))
        >>> wg.grad(log1pexp)(0.0)
        0.5
    """

    operation = "custom_jvp"
    primitive = custom_jvp_primitive
    call_type = TangentCall

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        super().__init__(fun, nondiff_argnums)
        self.rule: Callable[..., Any] | None = None

    @property
    def has_rule(self) -> bool:
        """Whether a rule was given."""
        return self.rule is not None

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule ``jvp(*settings, primals, tangents) -> (output, tangent of the output)``, and return it.

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
            >>> import wengert as wg
            >>> @custom_jvp
            ... def product(x, y):
            ...     return x * y
            >>> product.defjvps(lambda dx, out, x, y: dx * y, None)
            >>> wg.grad(product, argnums=(0, 1))(2.0, 3.0)
            (3.0, 0.0)
        """
        if self.nondiff_argnums:
            got = str(self.nondiff_argnums)
            raise ArgumentError(message("defjvps", "there may be no nondiff_argnums", got, "use defjvp"))

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                got = f"{len(jvps)} for {len(primals)} arguments"
                raise ArgumentError(message("defjvps", "a rule for each argument is needed", got))
            output = self(*primals)
            total = tree.map_tree(lambda value: zeros(strong(type_of(value))), output)
            for jvp, tangent in zip(jvps, tangents, strict=True):
                if jvp is not None:
                    part = jvp(tangent, output, *primals)
                    total = tree.map_tree(lambda one, other: one + other, total, part)
            return output, total

        self.rule = rule
