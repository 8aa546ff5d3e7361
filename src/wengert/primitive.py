"""What a primitive is: everything Wengert knows about one operation, said once; and the registry.

The derivative is written once and serves both modes, in one of these forms:

=====================  ==========================================================================
`Partials`             elementwise: the partial derivatives as expressions of output and operands
`Linear`               linear in its operands: itself forward, its transpose in reverse
`Explicit`             a rule for the tangent; reverse mode transposes the rule
`HigherOrder`         operations that hold programs: both directions, in terms of those programs
`NonDifferentiable`    locally constant or not real: no derivative passes
=====================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from wengert.boxes import RUNNING, Box, processing_trace
from wengert.core.dtypes import check_plain
from wengert.core.errors import MatrixError, ShapeError, WengertError, message
from wengert.ir.types import TensorType, show, type_of
from wengert.nest.lowering import Lowering

#: The partial derivative for one operand: ``(output, *operands, **params) -> value``, or a constant number.
#: The arities are spelled out so that a lambda's parameters have types.
Partial: TypeAlias = (
    float | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any] | Callable[[Any, Any, int], Any]
)

#: Operands, a number each.
Point: TypeAlias = tuple[float, ...]


class Partials:
    """Elementwise derivative: one partial for each operand, as an expression of output and operands.

    ``tangent = sum_i partial_i * tangent_i`` and ``cotangent_i = partial_i * cotangent``; the engine undoes
    broadcasting. In these products zero times anything is zero, so that the product along a path does not depend on the
    order in which a mode forms it.

    Args:
        partials: ``(output, *operands) -> partial``, or a number; None where nothing passes.
        singular: points, an operand each, at which a partial is infinite or NaN; where they fill a line, some on it.
        kinks: points at which the one-sided derivatives differ, so that the partials are a choice.
        at_once: of one operand, the partial shares its parts with the operation: reverse mode computes it along with
            the operation, not on the way back, and keeps it in place of what it is made of.
    """

    def __init__(
        self,
        *partials: Partial | None,
        singular: Sequence[Point] = (),
        kinks: Sequence[Point] = (),
        at_once: bool = False,
    ) -> None:
        self.partials = partials
        self.singular = tuple(singular)
        self.kinks = tuple(kinks)
        self.at_once = at_once
        self.reads = any(callable(partial) for partial in partials)


class Linear:
    """The operation is linear in its operands.

    Args:
        transposes: for each operand ``(cotangent, *operands, **params) -> cotangent of the operand``; None for operands
            that take no part (indices, masks), and for all that follow. A single function with ``variadic`` serves any
            number of operands and gets the operand's position first; with ``first_only`` the operands after the first
            are indices.
        jointly: linear in all operands together (``concatenate``) rather than in each with the others fixed
            (``contract``).
        accumulate: ``(buffer, cotangent, *operands, **params)`` adds the first operand's cotangent into a plain
            array, where that saves making one.
        onto: ``(sum, cotangent, *operands, **params) -> sum``: the same for a sum of which only the type may be known.
    """

    def __init__(
        self,
        *transposes: Callable[..., Any] | None,
        jointly: bool = True,
        variadic: bool = False,
        first_only: bool = False,
        accumulate: Callable[..., None] | None = None,
        onto: Callable[..., Any] | None = None,
    ) -> None:
        self.transposes = transposes
        self.jointly = jointly
        self.variadic = variadic
        self.first_only = first_only
        self.accumulate = accumulate
        self.onto = onto
        # A transpose reads the other operands: multilinear ones, and those with indices or masks.
        self.reads = not jointly or first_only or any(transpose is None for transpose in transposes)

    def linear_in(self, position: int) -> bool:
        """Tell whether a tangent passes through the operand at ``position``."""
        if self.first_only:
            return position == 0
        return self.variadic or any(self.transposes[position : position + 1])

    def transpose(
        self, position: int, cotangent: Any, operands: Sequence[Any], params: Mapping[str, Any]
    ) -> Any:
        """Return the cotangent of the operand at ``position``."""
        if self.variadic:
            rule = self.transposes[0]
            assert rule is not None
            return rule(position, cotangent, *operands, **params)
        rule = self.transposes[position]
        assert rule is not None
        return rule(cotangent, *operands, **params)


class Explicit:
    """A rule for the tangent, linear in the tangents; reverse mode transposes it.

    Args:
        jvp: ``(primals, tangents, output, **params) -> tangent of the output``; a tangent is None where it is zero.
        linear: for an operation that is linear in some operands with the others fixed, its transposes in these. So the
            rule may carry out the operation itself on tangents, as that of ``A x = b`` does.
    """

    reads = True

    def __init__(self, jvp: Callable[..., Any], linear: Linear | None = None) -> None:
        self.jvp = jvp
        self.linear = linear


class HigherOrder:
    """Both directions of an operation that holds programs (a loop, a branch, a custom rule).

    Args:
        push: ``(primals, tangents, **params) -> (outputs, tangents of the outputs)``; None is a zero tangent.
        pull: ``(primals, active, **params) -> (outputs, pullback)`` where ``active`` tells which operands are
            followed and ``pullback(cotangents) -> cotangents of the operands``.
        reach: ``(marks, **params) -> marks of the results``: a mark is a set of things that an operand depends on, as
            the bits of a number, and a result has those of the operands from which a derivative passes to it. None
            where one passes from each operand to each result.
    """

    reads = True

    def __init__(
        self,
        push: Callable[..., Any],
        pull: Callable[..., Any],
        reach: Callable[..., Sequence[int]] | None = None,
    ) -> None:
        self.push = push
        self.pull = pull
        self.reach = reach


class NonDifferentiable:
    """No derivative passes, and why."""

    reads = False

    def __init__(self, reason: str) -> None:
        self.reason = reason


#: What a user would catch, the narrower before the wider.
_BUILTIN = (
    *(IndexError, TypeError, OverflowError, ZeroDivisionError, FloatingPointError),
    *(ValueError, ArithmeticError),
)
#: The most axes that an array of NumPy's can have.
MOST_AXES = 64
#: Classes of operands that need no second look.
_USUAL = frozenset((np.ndarray, np.float64, float, int, bool))
Derivative = Partials | Linear | Explicit | HigherOrder | NonDifferentiable


class Draw(Protocol):
    """Where samples come from: in the tests, hypothesis."""

    def integer(self, low: int, high: int) -> int:
        """Draw an integer, both ends included."""
        ...

    def choice(self, options: Sequence[Any]) -> Any:
        """Draw one of several."""
        ...

    def shape(self, min_rank: int = 0, max_rank: int = 3) -> tuple[int, ...]:
        """Draw a shape; extents of zero and one are likely."""
        ...

    def broadcastable(self, count: int) -> list[tuple[int, ...]]:
        """Draw shapes that broadcast together."""
        ...

    def array(self, shape: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> Any:
        """Draw a float64 array, strided in some way."""
        ...

    def integers(self, shape: tuple[int, ...], low: int, high: int) -> Any:
        """Draw an int64 array, both ends included."""
        ...


#: ``draw -> (operands, params)``
Samples = Callable[[Draw], tuple[tuple[Any, ...], dict[str, Any]]]
#: ``(primitive, size, operands, batched, params) -> result``; batched operands and the result lead with the batch axis.
Batching = Callable[["Primitive", int, Sequence[Any], Sequence[bool], Mapping[str, Any]], Any]


@dataclass(frozen=True, eq=False, slots=True)
class Primitive:
    """One operation: type, evaluation, derivative, batching, lowering, NumPy source and samples, in one place.

    Calling it carries it out: on arrays by evaluation, on boxes by the newest transform among them.
    """

    name: str
    doc: str
    type_rule: Callable[..., Any]
    """``(*types, **params) -> TensorType``, or a tuple of them."""
    evaluate: Callable[..., Any]
    """``(*arrays, **params) -> array``, or a tuple of them."""
    derivative: Derivative
    batch: Batching
    lowering: Lowering
    """How the compiler says it as a loop nest."""
    source: Callable[..., str]
    """``(*operand names, **params) -> str``: the operation as a NumPy expression."""
    samples: Samples | None
    """None for operations that hold programs: they have tests of their own."""
    elementwise: bool = False

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Carry out the operation."""
        top = None
        for operand in operands:
            if isinstance(operand, Box):
                if operand.lens is not None:
                    operand.refresh()
                trace = operand.owner
                if top is None or trace.level > top.level:
                    top = trace
        if top is not None:
            for operand in operands:
                if type(operand) not in _USUAL and not isinstance(operand, Box):
                    check_plain(self.name, operand)
            if RUNNING.recorder is not None:
                top = processing_trace(top)
            return top.process(self, operands, params)
        try:
            return self.evaluate(*operands, **params)
        except WengertError:
            raise
        except (ValueError, TypeError, IndexError, ArithmeticError) as problem:
            raise self.explained(problem, operands, params) from None

    def explained(
        self, problem: Exception, operands: Sequence[Any], params: Mapping[str, Any]
    ) -> WengertError:
        """Turn NumPy's complaint into one that names the operation, what came and the user's line."""
        try:
            self.infer(*map(type_of, operands), **params)  # most often raises what should be said
        except WengertError as said:
            return said
        kind = type(problem)
        if issubclass(kind, np.linalg.LinAlgError):
            return MatrixError(message(self.name, str(problem), show(*operands)))
        known = next(
            (k for k in _BUILTIN if issubclass(kind, k)),
            ValueError,
        )
        error = type(f"Wengert{known.__name__}", (WengertError, known), {})
        return error(message(self.name, str(problem), show(*operands)))

    def infer(self, *types: TensorType, **params: Any) -> Any:
        """Return the type of the result, or raise what is wrong with the operands."""
        found = self.type_rule(*types, **params)
        if isinstance(found, TensorType) and len(found.shape) > MOST_AXES:
            requirement = f"an array has at most {MOST_AXES} axes"
            raise ShapeError(message(self.name, requirement, f"{len(found.shape)} for {show(*types)}"))
        return found

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"


class Registry:
    """All primitives, by name."""

    def __init__(self) -> None:
        self._primitives: dict[str, Primitive] = {}

    def add(self, primitive: Primitive) -> Primitive:
        """Register a primitive; each name is said once."""
        if primitive.name in self._primitives:
            raise ValueError(f"primitive {primitive.name} is stated twice")
        self._primitives[primitive.name] = primitive
        return primitive

    def __getitem__(self, name: str) -> Primitive:
        return self._primitives[name]

    def __contains__(self, name: str) -> bool:
        return name in self._primitives

    def __iter__(self) -> Any:
        return iter(self._primitives.values())


REGISTRY = Registry()


def primitive(**fields: Any) -> Primitive:
    """State a primitive: every field must be given, or the import fails."""
    return REGISTRY.add(Primitive(**fields))
