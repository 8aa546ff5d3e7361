"""`custom_vjp`: a function with a rule of one's own for its cotangent."""

from __future__ import annotations

import dataclasses
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
from wengert.control.values import is_number, zeros
from wengert.core import tree
from wengert.core.dtypes import is_float
from wengert.core.errors import ArgumentError, DtypeError, message
from wengert.ir.graph import Graph
from wengert.ir.types import TensorType, is_weak, type_of
from wengert.nest.lowering import HoldsPrograms
from wengert.ops.reduction import reduce_sum
from wengert.primitive import HigherOrder, primitive
from wengert.transforms.batching import Batched, BatchTrace
from wengert.transforms.reverse import match, type_of_value, walk_back
from wengert.transforms.tape import Node, start_of


class CotangentCall(Call):
    """One call of a function with a rule for its cotangent."""

    function: custom_vjp

    def forward(self, primals: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
        """Apply the forward function: the outputs and the residuals."""
        assert self.function.forward is not None
        output, residuals = self.pair(self.function.forward(*self.arguments(primals)), "(output, residuals)")
        return self.output(output), residuals

    def backward(self, residuals: Any, cotangents: Sequence[Any]) -> list[Any]:
        """Apply the backward function: a cotangent for each operand (None: zero)."""
        assert self.function.backward is not None
        cotangent = tree.unflatten(self.structure, cotangents)
        result = self.function.backward(*self.settings, residuals, cotangent)
        count = len(self.packed.structure.children)
        if not isinstance(result, tuple) or len(result) != count:  # pyright: ignore[reportUnknownArgumentType]
            got = f"{len(result)}" if isinstance(result, tuple) else type(result).__name__  # pyright: ignore[reportUnknownArgumentType]
            requirement = "it must return a tuple with a cotangent, or None, for each argument"
            raise ArgumentError(message(self.rule, requirement, f"{got} for {count} arguments"))
        found = list[Any]()
        self._take(self.packed.structure, result, found)
        return [
            self._cotangent(found[i], type_)
            for i, type_ in zip(self.packed.positions, self.types, strict=True)
        ]

    def _take(self, structure: tree.Structure, value: Any, found: list[Any]) -> None:
        """Gather a leaf for each leaf of a structure; None stands for any part of it."""
        if value is None:
            found += [None] * structure.leaf_count()
        elif structure.kind is None:
            found.append(value)
        else:
            own = tree.flatten(value)[1]
            expected = structure.kind, structure.keys, len(structure.children)
            if (own.kind, own.keys, len(own.children)) != expected:
                requirement = f"a cotangent must have the containers of its argument, {tree.show(structure)}"
                raise ArgumentError(message(self.rule, requirement, tree.show(own)))
            for position, child in enumerate(structure.children):
                self._take(
                    child, _entry(value, structure.keys[position] if structure.keys else position), found
                )

    def _cotangent(self, cotangent: Any, expected: TensorType) -> Any:
        if cotangent is None or not is_float(expected.dtype):
            return None
        if not is_number(cotangent):
            requirement = "a cotangent must be an array or a number"
            raise DtypeError(message(self.rule, requirement, type(cotangent).__name__))
        return self.checked("a cotangent", cotangent, expected)

    def mapped(self, size: int, batched: Sequence[bool]) -> Any:
        """Return the call for many examples."""
        return MappedCotangentCall(self, size, batched)


def _entry(container: Any, key: Any) -> Any:
    """Return what a container, a dataclass included, holds at a place."""
    return getattr(container, key) if dataclasses.is_dataclass(container) else container[key]


class MappedCotangentCall(MappedCall):
    """The call for many examples."""

    def forward(self, primals: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
        """Apply the forward function to all examples."""
        with running(BatchTrace(self.size)) as trace:
            assert isinstance(trace, BatchTrace)
            outputs, residuals = self.call.forward(self.operands(trace, primals))
            leaves, structure = tree.flatten(residuals)
            flags = [isinstance(leaf, Box) and leaf.owner is trace for leaf in leaves]
            kept = [trace.value(leaf) if flag else leaf for leaf, flag in zip(leaves, flags, strict=True)]
            return self.outputs(trace, outputs), (kept, flags, list(map(is_weak, leaves)), structure)

    def backward(self, residuals: Any, cotangents: Sequence[Any]) -> list[Any]:
        """Apply the backward function to all examples; what they share gets the sum."""
        kept, flags, weak, structure = residuals
        with running(BatchTrace(self.size)) as trace:
            assert isinstance(trace, BatchTrace)
            rows = zip(kept, flags, weak, strict=True)
            leaves = [trace.box(Batched(x, one)) if flag else x for x, flag, one in rows]
            inside = tree.unflatten(structure, leaves)
            arriving = [trace.box(Batched(cotangent)) for cotangent in cotangents]
            found = [None if ct is None else trace.value(ct) for ct in self.call.backward(inside, arriving)]
        pairs = zip(found, self.batched, strict=True)
        return [ct if flag or ct is None else reduce_sum(ct, axes=(0,)) for ct, flag in pairs]

    def mapped(self, size: int, batched: Sequence[bool]) -> Any:
        """Return the call for many examples of many examples."""
        return MappedCotangentCall(self, size, batched)


def _pull(
    primals: Sequence[Any], active: Sequence[bool], graph: Graph | None, call: Any, captured: int
) -> Any:
    if any(active[:captured]):
        raise closure_error(call)
    outputs, residuals = call.forward(primals[captured:])

    def walk(cotangents: Sequence[Any]) -> list[Any]:
        pairs = zip(cotangents, outputs, strict=True)
        given = [zeros(type_of(value)) if ct is None else ct for ct, value in pairs]
        return [None] * captured + call.backward(residuals, given)

    return outputs, walk


def _push(
    primals: Sequence[Any], tangents: Sequence[Any], graph: Graph | None, call: Any, captured: int
) -> Any:
    """Transpose the backward function: it is linear in the cotangent."""
    if any(tangent is not None for tangent in tangents[:captured]):
        raise closure_error(call)
    outputs, residuals = call.forward(primals[captured:])
    types = list(map(type_of, outputs))
    starts = [
        Node(type_of_value(value)) if is_float(t.dtype) else None
        for value, t in zip(outputs, types, strict=True)
    ]
    with transposing(call):
        with running(RuleTrace()) as trace:
            pairs = zip(starts, types, strict=True)
            boxes = [zeros(type_) if start is None else start_of(trace, start) for start, type_ in pairs]
            found = call.backward(residuals, boxes)
        seeds = [
            (ct.state.node, match(tangent, ct.state.value))
            for ct, tangent in zip(found, tangents[captured:], strict=True)
            if tangent is not None and isinstance(ct, Box) and ct.owner is trace
        ]
        moved = iter(walk_back(seeds, [start for start in starts if start is not None]))
    return outputs, [None if start is None else next(moved) for start in starts]


custom_vjp_primitive = primitive(
    name="custom_vjp",
    doc="a function with a rule of its own for its cotangent",
    type_rule=type_rule,
    evaluate=evaluation,
    derivative=HigherOrder(_push, _pull),
    batch=batching,
    lowering=HoldsPrograms(),
    source=source,
    samples=None,
)


class custom_vjp(CustomFunction):  # noqa: N801 (JAX's name)
    """Give a function a rule for its cotangent, which reverse mode uses instead of differentiating the function.

    Forward mode transposes the backward function, which then must be made of operations that Wengert knows. For higher
    derivatives both functions of the rule are differentiated.

    Args:
        fun: a function of containers of arrays and numbers.
        nondiff_argnums: positions of arguments that are settings; the backward function takes them first.

    Example:
        >>> import numpy as np, wengert as wg
        >>> @custom_vjp
        ... def clipped(x, limit):
        ...     return x
        >>> clipped.defvjp(
        ...     lambda x, limit: (x, limit),
        ...     lambda limit, cotangent: (np.clip(cotangent, -limit, limit), None),
        ... )
        >>> wg.grad(lambda x: clipped(x, 1.0) ** 2)(5.0)
        1.0
    """

    operation = "custom_vjp"
    primitive = custom_vjp_primitive
    call_type = CotangentCall

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        super().__init__(fun, nondiff_argnums)
        self.forward: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None

    @property
    def has_rule(self) -> bool:
        """Whether a rule was given."""
        return self.forward is not None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set the rule.

        Args:
            fwd: takes the arguments of the function; returns ``(output, residuals)``, residuals being any container.
            bwd: ``bwd(*settings, residuals, cotangent)`` returns a tuple with the cotangent of each argument that is no
                setting: of its containers, shapes and dtypes, or None for zero.
        """
        self.forward, self.backward = fwd, bwd
