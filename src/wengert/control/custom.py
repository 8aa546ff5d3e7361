"""What `custom_jvp` and `custom_vjp` share: one call of a function that has a rule of its own.

A call is a function of flat values with its rule: the object that a line of a list, or an equation of a graph, refers
to. Under `vmap` the call is replaced by one for many examples, so that the rule goes on holding.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, ClassVar

from wengert.boxes import CONSTANT, Box, concrete, newest, own, running
from wengert.control.programs import Flags, batched_types, for_all, mapped, select
from wengert.control.recording import record
from wengert.control.values import Packed, flatten_numbers, is_followable, pack
from wengert.core import tree
from wengert.core.dtypes import is_float
from wengert.core.errors import (
    ArgumentError,
    DtypeError,
    LostDerivativeError,
    ShapeError,
    UnsupportedError,
    message,
)
from wengert.ir.graph import Graph
from wengert.ir.types import TensorType, is_weak, show, type_of
from wengert.primitive import Derivative, Linear, NonDifferentiable, Partials, Primitive
from wengert.transforms.batching import Batched, BatchTrace
from wengert.transforms.staging import GraphTrace, evaluate, stage
from wengert.transforms.tape import LinearTrace


class Call:
    """One call of a function with a rule: its operands are the leaves that may be followed, the rest is settled."""

    def __init__(
        self, function: CustomFunction, packed: Packed, settings: list[Any], types: list[TensorType]
    ) -> None:
        self.function = function
        self.operation = function.operation
        self.__qualname__ = function.name  # what the text of a graph calls it
        self.packed = packed
        """The arguments but for the settings."""
        self.settings = settings
        self.types = types
        """Of the operands."""
        self.structure = tree.LEAF
        """The containers of the output, once the function or its rule has run."""

    def __repr__(self) -> str:
        return self.function.name

    @property
    def rule(self) -> str:
        """The name of the rule, for error messages."""
        return f"{self.operation} rule of {self!r}"

    def arguments(self, values: Sequence[Any]) -> list[Any]:
        """Return all positional arguments."""
        inside = list(self.packed.rebuild(values))
        for number, setting in zip(self.function.nondiff_argnums, self.settings, strict=True):
            inside.insert(number, setting)
        return inside

    def value(self, *values: Any) -> tuple[Any, ...]:
        """Call the function."""
        return self.output(self.function.fun(*self.arguments(values)))

    def output(self, value: Any) -> tuple[Any, ...]:
        """Return the flat output, whose containers are kept in mind."""
        leaves, self.structure = flatten_numbers(self.operation, f"the output of {self!r}", value)
        return tuple(map(_unwrapped, leaves))

    def pair(self, result: Any, what: str) -> tuple[Any, Any]:
        """Return the two things that a rule must return, or raise `ArgumentError`."""
        if not (isinstance(result, tuple) and len(result) == 2):  # pyright: ignore[reportUnknownArgumentType]
            raise ArgumentError(message(self.rule, f"it must return a pair {what}", type(result).__name__))
        return result  # pyright: ignore[reportUnknownVariableType]

    def checked(self, what: str, derivative: Any, expected: TensorType) -> Any:
        """Return a derivative that the rule gave, or raise where it has another shape or dtype than its value."""
        found, requirement = type_of(derivative), f"{what} must have the type of its value, {expected}"
        if found.shape != expected.shape:
            raise ShapeError(message(self.rule, requirement, str(found)))
        if found.dtype != expected.dtype and not (found.weak and is_float(found.dtype)):
            raise DtypeError(message(self.rule, requirement, str(found), "convert it with astype"))
        return derivative


def _unwrapped(value: Any) -> Any:
    if isinstance(value, Box):
        value.refresh()
        return value.state.value if value.owner is CONSTANT else value
    return value


class MappedCall:
    """A call for many examples: whatever it does is done under `vmap`."""

    def __init__(self, call: Any, size: int, batched: Flags) -> None:
        self.call = call
        self.operation: str = call.operation
        self.__qualname__ = f"vmap.{call.__qualname__}"
        self.size = size
        self.batched = list(batched)
        self.types: list[TensorType] = batched_types(call.types, size, batched)
        """Of the operands."""
        self.weak: list[bool] = []
        """Which outputs are Python scalars for one example, once the function or its rule has run."""

    def __repr__(self) -> str:
        return f"vmap({self.call!r})"

    def value(self, *values: Any) -> tuple[Any, ...]:
        """Call the function on all examples."""
        with running(BatchTrace(self.size)) as trace:
            assert isinstance(trace, BatchTrace)
            return self.outputs(trace, self.call.value(*self.operands(trace, values)))

    def operands(self, trace: BatchTrace, values: Sequence[Any]) -> list[Any]:
        """Box the operands that lead with the axis of examples."""
        rows = zip(values, self.batched, self.call.types, strict=True)
        return [trace.box(Batched(x, type_.weak)) if flag else x for x, flag, type_ in rows]

    def outputs(self, trace: BatchTrace, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the outputs with the axis of examples."""
        self.weak = list(map(is_weak, values))
        return tuple(map(trace.value, values))


class CustomFunction:
    """A function with a rule for its derivative; what the two kinds of rule have in common."""

    operation: ClassVar[str]
    primitive: ClassVar[Primitive]
    call_type: ClassVar[type[Call]]

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun
        self.name: str = getattr(fun, "__name__", type(fun).__name__)
        self.nondiff_argnums = tuple(sorted(nondiff_argnums))
        """The positions of the arguments that are settings."""

    def __repr__(self) -> str:
        return f"{self.operation}({self.name})"

    @property
    def has_rule(self) -> bool:
        """Whether a rule was given."""
        raise NotImplementedError

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function; the transforms that follow its arguments are given its rule."""
        if not self.has_rule:
            hint = f"give it one: {self.name}.def{self.operation.removeprefix('custom_')}"
            raise ArgumentError(message(repr(self), "the function has no rule yet", hint=hint))
        given = self._positional(arguments, options)
        chosen = tuple(x for number, x in enumerate(given) if number not in self.nondiff_argnums)
        operands, packed = pack(chosen, is_followable)
        settings = [given[number] for number in self.nondiff_argnums]
        call = self.call_type(self, packed, settings, list(map(type_of, operands)))
        results = _bind(self.primitive, call, operands)
        return tree.unflatten(call.structure, results)

    def _positional(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position, with defaults filled in: what rules are given."""
        try:
            bound = inspect.signature(self.fun).bind(*arguments, **options)
        except ValueError:  # some functions written in C have no signature
            bound = None
        if bound is not None:
            bound.apply_defaults()
            arguments, options = bound.args, bound.kwargs
        if options:
            hint = "declare its parameters so that they can be given by position"
            raise ArgumentError(
                message(repr(self), "a rule takes positional arguments", f"{list(options)}", hint)
            )
        if any(not 0 <= number < len(arguments) for number in self.nondiff_argnums):
            requirement = f"nondiff_argnums must name some of the {len(arguments)} arguments"
            raise ArgumentError(message(repr(self), requirement, str(self.nondiff_argnums)))
        return arguments


def _bind(primitive: Primitive, call: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """Carry out a call by the newest transform among its operands."""
    top = newest(operands)
    if top is None:
        return tuple(map(own, call.value(*operands)))
    graph, captured = None, list[Any]()
    if isinstance(top, GraphTrace) and any(concrete(operand) is None for operand in operands):
        graph, captured, _ = record(call.value, operands)
    results = primitive(*captured, *operands, graph=graph, call=call, captured=len(captured))
    for result in results:
        if isinstance(result, Box) and _is_entangled(result, top.level):
            raise closure_error(call)
    return results


def _is_entangled(result: Box, level: int) -> bool:
    """Tell whether a result stands on a value of its own transform, or of a newer one, rather than on an older one."""
    if result.owner.level != level:
        return result.owner.level > level
    inside = (getattr(result.state, part, None) for part in ("value", "primal", "tangent"))
    return any(isinstance(one, Box) and one.owner.level >= level for one in inside)


def closure_error(call: Any) -> LostDerivativeError:
    """Return the error for a function that closes over a value that a transform follows."""
    requirement = f"{call!r} closes over a value that a transform follows, of which its rule knows nothing"
    return LostDerivativeError(message(call.operation, requirement, hint="pass it as an argument"))


# -- rules must be linear --------------------------------------------------------------------------------


class RuleTrace(LinearTrace):
    """What a rule does to tangents or cotangents, written down to be transposed: it must be linear in them."""

    def evaluate(self, primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
        """Return the type of a result, or raise `UnsupportedError` where the operation is not linear."""
        if not _is_linear(primitive.derivative, values, params):
            types = show(*(v if isinstance(v, TensorType) else type_of(v) for v in values))
            requirement = (
                "a rule must be linear in its tangents or cotangents, to be transposed for the other mode"
            )
            raise UnsupportedError(message(primitive.name, requirement, types))
        return super().evaluate(primitive, values, params)


class _Unknown:
    """Stands for a value that nothing may look at."""

    __array_ufunc__ = None


def _is_linear(rule: Derivative, values: Sequence[Any], params: Mapping[str, Any]) -> bool:
    """Tell whether an operation is linear in those of its operands of which only the types are known."""
    moving = [isinstance(value, TensorType) for value in values]
    if isinstance(rule, Linear):
        apart = rule.jointly or sum(moving) == 1
        return apart and all(rule.linear_in(position) for position, flag in enumerate(moving) if flag)
    if isinstance(rule, Partials):
        unknown = _Unknown()
        known = [unknown if flag else value for flag, value in zip(moving, values, strict=True)]
        for partial in select(rule.partials, moving):
            try:
                factor = partial(unknown, *known, **params) if callable(partial) else partial
            except (TypeError, ValueError, AttributeError):  # it looked
                return False
            if factor is None or factor is unknown:
                return False
    return not isinstance(rule, NonDifferentiable)


@contextlib.contextmanager
def transposing(call: Any) -> Generator[None, None, None]:
    """Say what is wrong where a rule cannot be transposed."""
    try:
        yield
    except (TypeError, ValueError, AttributeError) as problem:
        mode = "reverse" if call.operation == "custom_jvp" else "forward"
        requirement = (
            f"{mode} mode transposes the rule, which must be linear and made of operations that Wengert knows"
        )
        hint = "write it so, or give the function the other kind of rule"
        name = f"{call.operation} rule of {call!r}"
        raise UnsupportedError(message(name, requirement, str(problem).rstrip("."), hint)) from problem


# -- what the two primitives share -----------------------------------------------------------------------


def type_rule(*types: Any, graph: Graph | None, call: Any, captured: int) -> tuple[Any, ...]:
    """Return the types of the results, if need be by staging the function."""
    return (stage(call.value, types)[0] if graph is None else graph).output_types


def evaluation(*operands: Any, graph: Graph | None, call: Any, captured: int) -> tuple[Any, ...]:
    """Call the function, or carry out the graph of it."""
    return call.value(*operands) if graph is None else tuple(evaluate(graph, *operands))


def batching(
    op: Primitive, size: int, operands: Sequence[Any], batched: Flags, params: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Replace the call by one for all examples."""
    graph, captured = params["graph"], params["captured"]
    call = params["call"].mapped(size, batched[captured:])
    if graph is None:
        results = _bind(op, call, operands)
        return tuple(map(Batched, results, call.weak))
    leading = [True] * len(
        graph.outputs
    )  # a rule may have derivatives where the function does not depend on them
    program, _ = mapped(graph, size, batched, leading)
    results = op(*operands, graph=program, call=call, captured=captured)
    return for_all(results, leading, size, graph.output_types)


def source(*operands: str, graph: Graph | None, call: Any, captured: int) -> str:
    """Write the call."""
    return f"{call!r}({', '.join(operands[captured:])})"
