"""What `custom_jvp` and `custom_vjp` share: one call of a function that has a rule of its own.

A call is a function of flat values with its rule: the object that a line of a list, or an equation of a graph, refers to.
Under `vmap` the call is replaced by one for many examples, so that the rule goes on holding.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wengert import tree
from wengert.control.programs import Flags, mapped
from wengert.control.recording import record
from wengert.control.values import flatten_numbers, is_followable, pack
from wengert.dtypes import is_float
from wengert.errors import ArgumentError, DtypeError, LostDerivativeError, ShapeError, message
from wengert.ir.graph import Graph
from wengert.ir.types import type_of
from wengert.primitive import Primitive
from wengert.trace import CONSTANT, Box, concrete, newest, running
from wengert.transforms.batching import Batched, BatchTrace
from wengert.transforms.staging import GraphTrace, evaluate, stage


class Call:
    """One call of a function with a rule: its followed arguments are flat values, the rest is settled."""

    operation: str

    def __init__(self, function: CustomFunction, arguments: tuple[Any, ...]) -> None:
        self.operation = function.operation
        self.function = function
        self.settings = [arguments[number] for number in function.nondiff_argnums]
        operands, self.packed = pack(
            tuple(None if i in function.nondiff_argnums else x for i, x in enumerate(arguments)), is_followable
        )
        self.operands: Sequence[Any] = operands
        self.types = list(map(type_of, operands))
        self.structure: tree.Structure | None = None
        """The containers of the output, once the function or its rule has run."""

    def __repr__(self) -> str:
        return self.function.name

    def primals(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments that are no settings, with other values for the followed leaves."""
        inside = self.packed.rebuild(values)
        return tuple(x for i, x in enumerate(inside) if i not in self.function.nondiff_argnums)

    def arguments(self, values: Sequence[Any]) -> list[Any]:
        """Return all positional arguments with other values for the followed leaves."""
        inside = list(self.packed.rebuild(values))
        for number, setting in zip(self.function.nondiff_argnums, self.settings, strict=True):
            inside[number] = setting
        return inside

    def value(self, *values: Any) -> tuple[Any, ...]:
        """Call the function."""
        return self.output(self.function.fun(*self.arguments(values)))

    def output(self, value: Any) -> tuple[Any, ...]:
        """Return the flat output, whose containers are kept in mind."""
        leaves, self.structure = flatten_numbers(self.operation, f"the output of {self!r}", value)
        return tuple(map(_unwrapped, leaves))

    def mapped(self, size: int, batched: Flags) -> Any:
        """Return the call for many examples."""
        raise NotImplementedError


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
        self.size = size
        self.batched = list(batched)

    def __repr__(self) -> str:
        return f"vmap({self.call!r})"

    def value(self, *values: Any) -> tuple[Any, ...]:
        """Call the function on all examples."""
        with running(BatchTrace(self.size)) as trace:
            assert isinstance(trace, BatchTrace)
            return tuple(map(trace.value, self.call.value(*self.boxed(trace, values))))

    def boxed(self, trace: BatchTrace, values: Sequence[Any], batched: Flags | None = None) -> list[Any]:
        """Box the values that lead with the axis of examples."""
        pairs = zip(values, self.batched if batched is None else batched, strict=True)
        return [trace.box(Batched(x)) if flag and x is not None else x for x, flag in pairs]

    def mapped(self, size: int, batched: Flags) -> Any:
        """Return the call for many examples of many examples."""
        return type(self)(self, size, batched)


class CustomFunction:
    """A function with a rule for its derivative; what the two kinds of rule have in common."""

    operation: str
    primitive: Primitive
    call_type: type[Call]

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.name: str = getattr(fun, "__name__", type(fun).__name__)
        self.nondiff_argnums = tuple(nondiff_argnums)

    def __repr__(self) -> str:
        return f"{self.operation}({self.name})"

    def diff_argnums(self, count: int) -> list[int]:
        """Return the positions of the arguments that have derivatives."""
        return [number for number in range(count) if number not in self.nondiff_argnums]

    def check_rule(self) -> None:
        """Raise `ArgumentError` where no rule was given yet."""
        raise NotImplementedError

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.check_rule()
        operands, call = self.call(self._positional(arguments, options))
        results = _bind(self.primitive, call, operands)
        assert call.structure is not None
        return tree.unflatten(call.structure, results)

    def _positional(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position, with defaults filled in, as rules are given them."""
        try:
            signature = inspect.signature(self.fun)
        except (TypeError, ValueError):  # some functions in C have none
            bound = None
        else:
            bound = signature.bind(*arguments, **options)
            bound.apply_defaults()
        if (options if bound is None else bound.kwargs):
            hint = "declare its parameters so that they can be given by position"
            raise ArgumentError(message(repr(self), "keyword-only arguments have no place in a rule", hint=hint))
        arguments = arguments if bound is None else bound.args
        if any(not 0 <= number < len(arguments) for number in self.nondiff_argnums):
            requirement = f"nondiff_argnums must name some of the {len(arguments)} arguments"
            raise ArgumentError(message(repr(self), requirement, str(self.nondiff_argnums)))
        return arguments


def _bind(primitive: Primitive, call: Call) -> Sequence[Any]:
    """Carry out a call by the newest transform among its operands."""
    operands = call.operands
    top = newest(operands)
    if top is None:
        return call.value(*operands)
    graph, captured = None, list[Any]()
    if isinstance(top, GraphTrace) and any(concrete(operand) is None for operand in operands):
        graph, captured, _ = record(call.value, operands)
    results = primitive(*captured, *operands, graph=graph, call=call, captured=len(captured))
    for result in results:
        _check_closure(call, top.level, result)
    return results


def _check_closure(call: Call, level: int, result: Any) -> None:
    """Raise where a result depends on a value of the transform that came neither by an operand nor from outside."""
    if isinstance(result, Box) and result.owner.level == level:
        inner = [getattr(result.state, part, None) for part in ("value", "primal", "tangent")]
        if any(isinstance(one, Box) and one.owner.level >= level for one in inner):
            raise closure_error(call)
    elif isinstance(result, Box) and result.owner.level > level:
        raise closure_error(call)


def closure_error(call: Any) -> LostDerivativeError:
    """Return the error for a function that closes over a value that a transform follows."""
    requirement = f"{call!r} closes over a value that a transform follows, of which its rule knows nothing"
    return LostDerivativeError(message(call.operation, requirement, hint="pass it as an argument"))


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
    graph, call, captured = params["graph"], params["call"], params["captured"]
    if graph is not None:
        graph, _ = mapped(graph, size, batched, [True] * len(graph.outputs))
    return op(*operands, graph=graph, call=call.mapped(size, batched[captured:]), captured=captured)


def source(*operands: str, graph: Graph | None, call: Any, captured: int) -> str:
    """Write the call."""
    return f"{call!r}({', '.join(operands[captured:])})"


def check_like(call: Any, what: str, value: Any, like: Any) -> Any:
    """Return a derivative that a rule gave, or raise where it has another shape or dtype than its value."""
    found, expected = type_of(value), type_of(like)
    if found.shape != expected.shape:
        requirement = f"{what} must have the shape of its value, {expected}"
        raise ShapeError(message(f"{call.operation} rule of {call!r}", requirement, str(found)))
    if found.dtype != expected.dtype and not (found.weak and is_float(found.dtype)):
        requirement = f"{what} must have the dtype of its value, {expected}"
        raise DtypeError(message(f"{call.operation} rule of {call!r}", requirement, str(found)))
    return value
