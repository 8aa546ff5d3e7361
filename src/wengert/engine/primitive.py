"""`Primitive`, the statement of one operation, and the registry of all of them.

A derivative is written once and serves both modes, in one of these forms:

=====================  ==========================================================================
`Partials`             elementwise: the partial derivatives as expressions of output and operands
`Linear`               linear in the operands: forward mode applies it, reverse mode its transpose
`Explicit`             a rule for the tangent; reverse mode transposes the rule
`HigherOrder`          operations that hold programs: both directions, in terms of those programs
`NonDifferentiable`    locally constant or not real: no derivative passes
=====================  ==========================================================================
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from wengert.engine.boxes import RECORDERS, RUNNING, Box, processing_trace
from wengert.engine.core.dtypes import check_plain
from wengert.engine.core.errors import MatrixError, ShapeError, WengertError, message
from wengert.engine.core.raised import is_users_own
from wengert.engine.core.records import record
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.memory import Rule, jointly, placed
from wengert.engine.nest.lowering import Lowering

#: The partial derivative for one operand: ``(output, *operands, **params) -> value``, or a constant number.
Partial: TypeAlias = float | Callable[..., Any]

#: A number for each operand.
Point: TypeAlias = tuple[float, ...]


class Partials:
    """Elementwise derivative: one partial for each operand, as an expression of output and operands.

    ``tangent = sum_i partial_i * tangent_i`` and ``cotangent_i = partial_i * cotangent``; the engine undoes
    broadcasting. In these products zero times anything is zero, so the product along a path does not depend on the
    order of multiplication, which differs between modes.

    Args:
        partials: ``(output, *operands) -> partial``, or a number; None where no derivative passes.
        singular: points at which a partial is infinite or NaN; some points of each line of them.
        kinks: points at which the one-sided derivatives differ, so that the partials are a choice.
        at_once: the partial of the single operand shares subexpressions with the operation. Reverse mode computes both
            on the way forward, and keeps the partial in place of the operand and the result.
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
            without a derivative (indices, masks) and for all operands after them. With ``variadic`` a single function
            serves any number of operands and gets the operand's position first; with ``first_only`` the operands after
            the first are indices.
        jointly: linear in all operands together (``concatenate``) rather than in each with the others fixed
            (``contract``).
        accumulate: ``(buffer, cotangent, *operands, **params)`` adds the first operand's cotangent into a plain
            array, where that avoids a new array.
        onto: ``(sum, cotangent, *operands, **params) -> sum``: the same for values that may be staged.
        take_out: ``(buffer, *operands, **params) -> cotangent of the second operand`` takes it out of the result's
            cotangent, a plain array that becomes the first operand's.
        split: ``(wanted, cotangent, *operands, **params) -> cotangents``: those of all operands that are wanted, where
            the transposes one after the other take longer.
    """

    def __init__(
        self,
        *transposes: Callable[..., Any] | None,
        jointly: bool = True,
        variadic: bool = False,
        first_only: bool = False,
        accumulate: Callable[..., None] | None = None,
        onto: Callable[..., Any] | None = None,
        take_out: Callable[..., Any] | None = None,
        split: Callable[..., Sequence[Any]] | None = None,
    ) -> None:
        self.transposes = transposes
        self.jointly = jointly
        self.variadic = variadic
        self.first_only = first_only
        self.accumulate = accumulate
        self.onto = onto
        self.take_out = take_out
        self.split = split
        self.grows = accumulate is not None or onto is not None
        # A transpose reads the other operands: multilinear ones, and those with indices or masks.
        self.reads = not jointly or first_only or any(transpose is None for transpose in transposes)

    def linear_in(self, position: int) -> bool:
        """Return whether a tangent passes through the operand at ``position``."""
        if self.first_only:
            return position == 0
        return self.variadic or (position < len(self.transposes) and self.transposes[position] is not None)

    def reads_operand(self, position: int) -> bool:
        """Return whether a transpose may read the numbers of the operand at ``position``."""
        return not (self.jointly and self.linear_in(position))

    def transpose(
        self, position: int, cotangent: Any, operands: Sequence[Any], params: Mapping[str, Any]
    ) -> Any:
        """Return the cotangent of the operand at ``position``."""
        rule = self.transposes[0 if self.variadic else position]
        assert rule is not None
        leading = (position, cotangent) if self.variadic else (cotangent,)
        return rule(*leading, *operands, **params)


class Explicit:
    """A rule for the tangent, linear in the tangents; reverse mode transposes it.

    Args:
        jvp: ``(primals, tangents, output, **params) -> tangent of the output``; None stands for a zero tangent.
        linear: for an operation that is linear in some operands with the others fixed, its transposes in these. The
            rule may then apply the operation itself to tangents, as the rule of ``A x = b`` does.
        transpose: ``(cotangent, primals, output, **params) -> cotangent of the single operand``: the transpose of the
            rule, where it is known, so that reverse mode need not record the rule.
    """

    reads = True

    def __init__(
        self,
        jvp: Callable[..., Any],
        linear: Linear | None = None,
        transpose: Callable[..., Any] | None = None,
    ) -> None:
        self.jvp = jvp
        self.linear = linear
        self.transpose = transpose


class HigherOrder:
    """Both directions of an operation that holds programs (a loop, a branch, a custom rule).

    Args:
        extend: ``(algebra, primals, parts, **params) -> (outputs, parts of the outputs)``: the operation over an
            algebra such as dual numbers or power series (see `transforms/algebras.py`); None is a zero part. One
            operation carries all parts along, of any order.
        push: ``(primals, tangents, **params) -> (outputs, tangents of the outputs)``, None is a zero tangent: the rule
            for dual numbers, in place of ``extend``. Higher orders differentiate it again.
        pull: ``(primals, active, **params) -> (outputs, pullback)`` where ``active`` holds a flag for each operand,
            whether it has a derivative, and ``pullback(cotangents) -> cotangents of the operands``.
        reach: ``(marks, **params) -> marks of the results``: a mark is a bit set, and a result has the bits of all
            operands from which a derivative passes to it. None where derivatives pass from each operand to each result.
    """

    reads = True

    def __init__(
        self,
        *,
        extend: Callable[..., Any] | None = None,
        push: Callable[..., Any] | None = None,
        pull: Callable[..., Any],
        reach: Callable[..., Sequence[int]] | None = None,
    ) -> None:
        assert (extend is None) != (push is None)
        self.extend = extend
        self.push = push
        self.pull = pull
        self.reach = reach


class NonDifferentiable:
    """No derivative passes, for the reason given."""

    reads = False

    def __init__(self, reason: str) -> None:
        self.reason = reason


#: The rule of operations that passes alone write; they believe their operands, so that no file may hold them.
OF_PROGRAMS = NonDifferentiable("it stands in compiled programs only, whose derivatives are taken before")
#: The builtin errors that Wengert's errors subclass, narrow ones before wide ones.
_BUILTIN: tuple[type[Exception], ...] = (
    *(IndexError, TypeError, OverflowError, ZeroDivisionError, FloatingPointError),
    *(ValueError, ArithmeticError),
)
#: The errors of evaluations by NumPy.
NUMPYS_ERRORS = (ValueError, TypeError, IndexError, ArithmeticError)
#: The largest number of axes of a NumPy array.
MOST_AXES = 64
#: The classes of plain operands that need no check.
PLAIN = frozenset((np.ndarray, np.float64, float, int, bool))
Derivative = Partials | Linear | Explicit | HigherOrder | NonDifferentiable


class Draw(Protocol):
    """The source of samples: hypothesis, in the tests."""

    def integer(self, low: int, high: int) -> int:
        """Draw an integer, both ends included."""
        ...

    def choice(self, options: Sequence[Any]) -> Any:
        """Draw one of the options."""
        ...

    def shape(self, min_rank: int = 0, max_rank: int = 3) -> tuple[int, ...]:
        """Draw a shape; extents of zero and one are likely."""
        ...

    def broadcastable(self, count: int) -> list[tuple[int, ...]]:
        """Draw shapes that broadcast together."""
        ...

    def array(self, shape: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> Any:
        """Draw a float64 array of any memory layout."""
        ...

    def integers(self, shape: tuple[int, ...], low: int, high: int) -> Any:
        """Draw an int64 array, both ends included."""
        ...


#: ``draw -> (operands, params)``
Samples = Callable[[Draw], tuple[tuple[Any, ...], dict[str, Any]]]
#: ``(primitive, size, operands, batched, params) -> result``; the batch axis is the first of each batched value.
Batching = Callable[["Primitive", int, Sequence[Any], Sequence[bool], Mapping[str, Any]], Any]


class _OfInstance:
    """A descriptor that computes an attribute of instances, and leaves the class a value of its own."""

    def __init__(self, of_class: Any, of_instance: Callable[[Any], Any]) -> None:
        self.of_class = of_class
        self.of_instance = of_instance

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.of_class if instance is None else self.of_instance(instance)


def _not_given(*arrays: Any, **params: Any) -> Any:
    raise NotImplementedError


@record
class Primitive:
    """The statement of one operation: type, evaluation, derivative, batching, lowering, NumPy source and samples.

    A call applies the operation: arrays go to ``evaluate``, boxes to the newest transform among them. Users meet some
    primitives as functions, so each has the docstring and the signature of one.
    """

    __doc__ = _OfInstance(__doc__, lambda primitive: primitive.doc)  # pyright: ignore[reportAssignmentType]
    __name__ = _OfInstance("Primitive", lambda primitive: primitive.name)
    __signature__ = _OfInstance(None, lambda primitive: primitive.signature())

    name: str
    doc: str
    """The docstring: a line, which names the choice at each kink, or several paragraphs."""
    type_rule: Callable[..., Any]
    """``(*types, **params) -> TensorType``, or a tuple of them."""
    evaluate: Callable[..., Any]
    """``(*arrays, **params) -> array``, or a tuple of them."""
    derivative: Derivative
    batch: Batching
    lowering: Lowering
    """The operation as a loop nest."""
    source: Callable[..., str]
    """``(*operand names, **params) -> str``: the operation as a NumPy expression."""
    samples: Samples | None
    """None for operations that hold programs, which have their own tests."""
    elementwise: bool = False
    memory: Rule | None = None
    """How NumPy's result lies in memory; None: in rows, or for an elementwise operation as its operands."""
    operands: tuple[str, ...] = ()
    """The names of the operands, where the type rule does not name them."""
    parameters: tuple[str, ...] = ()
    """The names of the parameters, where the type rule does not name them."""
    of_arrays: Callable[..., Any] = _not_given
    """The evaluation where an operand is an array, if it is simpler than ``evaluate``."""
    unchecked: Callable[..., tuple[Any, ...]] | None = None
    """``(counts, *operands, **params) -> operands``, which raise no error where ``counts`` is false."""
    unchecked_programs: Callable[..., tuple[Sequence[Any], dict[str, Any]]] | None = None
    """``(counts, operands, params) -> (operands, params)``: the same for an operation that holds programs."""
    may_not_end: bool = False
    """Whether it may run for ever for some values of its operands."""

    def __post_init__(self) -> None:
        if self.of_arrays is _not_given:
            object.__setattr__(self, "of_arrays", self.evaluate)
        if self.elementwise and self.memory is None:
            object.__setattr__(self, "memory", jointly)

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Apply the operation."""
        return self.apply(operands, params)

    def without_errors(
        self, counts: Any, operands: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """Return operands and parameters that raise no error where ``counts`` is false, and mean the same elsewhere."""
        if self.unchecked_programs is not None:
            return self.unchecked_programs(counts, operands, params)
        return operands if self.unchecked is None else self.unchecked(counts, *operands, **params), params

    def apply(self, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply the operation to a tuple of operands: faster than a call, which gathers them."""
        top, evaluate = None, self.evaluate
        is_usual = in_rows = True
        for operand in operands:
            if type(operand) is np.ndarray:
                evaluate = self.of_arrays
                in_rows = in_rows and operand.flags.c_contiguous
            elif type(operand) in PLAIN:
                pass
            elif isinstance(operand, Box):
                if (lens := operand.lens) is not None:
                    in_rows = in_rows and lens.is_in_rows
                    if lens.origin is not lens.root.state:
                        operand.refresh()
                else:
                    in_rows = in_rows and operand.memory is None
                trace = operand.owner
                if top is None or trace.level > top.level:
                    top = trace
            else:
                is_usual = False
        if top is not None:
            if not is_usual:
                _check_all(self.name, operands)
            if RECORDERS and RUNNING.recorder is not None:
                top = processing_trace(top)
            result = top.process(self, operands, params)
            return result if in_rows else self._placed(result, operands, params)
        try:
            return evaluate(*operands, **params) if params else evaluate(*operands)
        except NUMPYS_ERRORS as problem:
            raise self.explained(problem, operands, params) from None

    def _placed(self, result: Any, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return result if self.memory is None else placed(self.memory, result, operands, params)

    def explained(self, problem: Exception, operands: Sequence[Any], params: Mapping[str, Any]) -> Exception:
        """Turn NumPy's error into one that names the operation, the operands and the user's line."""
        if isinstance(problem, WengertError) or is_users_own(problem):
            return problem
        try:
            self.infer(*map(type_of, operands), **params)  # most often raises the better error
        except WengertError as better:
            return better
        text = message(self.name, str(problem).removesuffix("."), show(*operands))
        if isinstance(problem, np.linalg.LinAlgError):
            return MatrixError(text)
        builtin = next((kind for kind in _BUILTIN if isinstance(problem, kind)), ValueError)
        return type(f"Wengert{builtin.__name__}", (WengertError, builtin), {})(text)

    def infer(self, *types: TensorType, **params: Any) -> Any:
        """Return the type of the result, or raise an error that explains what is wrong with the operands."""
        result = self.type_rule(*types, **params)
        if isinstance(result, TensorType) and len(result.shape) > MOST_AXES:
            requirement = f"an array has at most {MOST_AXES} axes"
            raise ShapeError(message(self.name, requirement, f"{len(result.shape)} for {show(*types)}"))
        return result

    def signature(self) -> inspect.Signature:
        """Return the signature of a call: the operands, then the parameters as keywords, without annotations."""
        rule = inspect.signature(self.type_rule).parameters.values()
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        stated = [
            *(inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in self.operands),
            *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in self.parameters),
        ]
        for position, parameter in enumerate(() if stated else rule):
            # A type rule takes the type of each operand, and parameters as they are.
            is_operand = position == 0 or parameter.annotation == TensorType.__name__
            kind = inspect.Parameter.POSITIONAL_ONLY if is_operand else inspect.Parameter.KEYWORD_ONLY
            kind = parameter.kind if parameter.kind in variadic else kind
            stated.append(parameter.replace(annotation=inspect.Parameter.empty, kind=kind))
        return inspect.Signature(stated)

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"


def _check_all(operation: str, operands: tuple[Any, ...]) -> None:
    for operand in operands:
        check_plain(operation, operand)


class Registry:
    """All primitives by name."""

    def __init__(self) -> None:
        self._primitives: dict[str, Primitive] = {}
        self.elsewhere: dict[str, Callable[[], Any]] = {}
        """Functions that load the modules of operations that programs load on first use, by the names of operations."""

    def add(self, primitive: Primitive) -> Primitive:
        """Register a primitive under its name, which must be new."""
        if primitive.name in self._primitives:
            raise ValueError(f"primitive {primitive.name} is stated twice")
        self._primitives[primitive.name] = primitive
        return primitive

    def __getitem__(self, name: str) -> Primitive:
        try:
            return self._primitives[name]
        except KeyError:
            self.elsewhere[name]()
            return self._primitives[name]

    def __contains__(self, name: str) -> bool:
        if name not in self._primitives and name in self.elsewhere:
            self.elsewhere[name]()
        return name in self._primitives

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self._primitives.values())


REGISTRY = Registry()


def primitive(**fields: Any) -> Primitive:
    """State and register a primitive; a missing field fails at import."""
    return REGISTRY.add(Primitive(**fields))
