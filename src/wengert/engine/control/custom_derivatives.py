"""`custom_jvp` and `custom_vjp`: functions with a user's rule for their tangent or cotangent.

A call is a function of flat values with its rule: the object that a node of a tape, or an equation of a graph, refers
to. Under `vmap` a call for many examples replaces it, so the rule still applies.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, ClassVar

from wengert.engine.boxes import Box, concrete, newest, own, running, state_of
from wengert.engine.control.recording import record
from wengert.engine.control.subgraphs import (
    Flags,
    Values,
    batch_graph,
    batch_results,
    batched_types,
    may_raise,
    or_zero,
    select,
    unchecked_graph,
)
from wengert.engine.control.values import (
    Packed,
    fit,
    flatten_numbers,
    is_followable,
    pack,
    strong,
    zeros,
)
from wengert.engine.core import tree
from wengert.engine.core.dtypes import is_inexact
from wengert.engine.core.errors import (
    ArgumentError,
    DtypeError,
    LostDerivativeError,
    MatrixError,
    ShapeError,
    UnsupportedError,
    message,
)
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.types import TensorType, is_weak, show, type_of
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.ops.reduction import reduce_sum
from wengert.engine.primitive import (
    Derivative,
    HigherOrder,
    Linear,
    NonDifferentiable,
    Partials,
    Primitive,
    primitive,
)
from wengert.engine.transforms.arguments import is_number
from wengert.engine.transforms.batching import Batched, BatchTrace
from wengert.engine.transforms.reverse_mode import type_of_value, unbroadcast, walk_back
from wengert.engine.transforms.staging import GraphTrace, evaluate, stage
from wengert.engine.transforms.substitution import current, runs
from wengert.engine.transforms.tape import LinearTrace, Node, boxes_of

# -- calls -----------------------------------------------------------------------------------------------


class Call:
    """One call of a function with a rule; its operands are the leaves that a transform may follow."""

    def __init__(
        self, function: CustomFunction, packed: Packed, settings: list[Any], types: list[TensorType]
    ) -> None:
        self.function: Any = function
        self.operation = function.operation
        self.__qualname__ = function.name  # its name in the text of a graph
        self.packed = packed
        """The arguments without the settings."""
        self.settings = settings
        self.types = types
        """Of the operands."""
        self.structure = tree.LEAF
        """Of the output, once the function or its rule has run."""

    @property
    def pushes(self) -> bool:
        """Whether the function has a rule for its tangent; else that for the cotangent is transposed."""
        return hasattr(self, "tangents")

    @property
    def pulls(self) -> bool:
        """Whether the function has a rule for its cotangent; else that for the tangent is transposed."""
        return hasattr(self, "backward")

    def __repr__(self) -> str:
        return self.function.name

    @property
    def rule(self) -> str:
        """The name of the rule, for error messages."""
        return f"{self.operation} rule of {self!r}"

    def arguments(self, values: Values) -> list[Any]:
        """Return all positional arguments."""
        arguments = list(self.packed.rebuild(values))
        for number, setting in zip(self.function.nondiff_argnums, self.settings, strict=True):
            arguments.insert(number, setting)
        return arguments

    def value(self, *values: Any) -> tuple[Any, ...]:
        """Call the function."""
        function = self.function.fun
        for again in runs(function):  # not `attempt`: its frames count where calls nest deeply
            with again:
                return self.output(current(function)(*self.arguments(values)))
        raise AssertionError

    def output(self, value: Any) -> tuple[Any, ...]:
        """Flatten the output, and remember its structure."""
        leaves, self.structure = flatten_numbers(self.operation, f"the output of {self!r}", value)
        return tuple(map(_unwrapped, leaves))

    def pair(self, result: Any, form: str) -> tuple[Any, Any]:
        """Return the pair that a rule must return, or raise `ArgumentError`."""
        if not (isinstance(result, tuple) and len(result) == 2):  # pyright: ignore[reportUnknownArgumentType]
            raise ArgumentError(message(self.rule, f"it must return a pair {form}", type(result).__name__))
        return result  # pyright: ignore[reportUnknownVariableType]

    def leaves(self, structure: tree.Structure, value: Any, name: str = "a cotangent") -> list[Any]:
        """Return a leaf of a derivative for each leaf of a structure; None stands for any part of it."""
        if value is None:
            return [None] * structure.leaf_count()
        if structure.kind is None:
            return [value]
        got = tree.flatten(value)[1]
        if (got.kind, got.keys, len(got.children)) != (
            structure.kind,
            structure.keys,
            len(structure.children),
        ):
            requirement = f"{name} must have the containers of its argument, {tree.show(structure)}"
            raise ArgumentError(message(self.rule, requirement, tree.show(got)))
        parts = zip(structure.children, (tree.children(value) or {}).values(), strict=True)
        return [leaf for child, part in parts for leaf in self.leaves(child, part, name)]

    def checked(self, name: str, derivative: Any, expected: TensorType) -> Any:
        """Return a derivative from the rule, or raise if it has not the shape and dtype of its value."""
        got, requirement = type_of(derivative), f"{name} must have the type of its value, {expected}"
        if got.shape != expected.shape:
            raise ShapeError(message(self.rule, requirement, str(got)))
        if got.dtype != expected.dtype and not (got.weak and is_inexact(got.dtype)):
            raise DtypeError(message(self.rule, requirement, str(got), "convert it with astype"))
        return derivative


def _unwrapped(value: Any) -> Any:
    if isinstance(value, Box):
        value.refresh()
        return value.state.value if value.owner.plain else value
    return value


class BatchedCall:
    """A call for many examples: all its functions run under `vmap`."""

    def __init__(self, call: Any, size: int, batched: Flags) -> None:
        self.call = call
        self.operation: str = call.operation
        self.__qualname__ = f"vmap.{call.__qualname__}"
        self.size = size
        self.batched = list(batched)
        self.types: list[TensorType] = batched_types(call.types, size, batched)
        """Of the operands."""
        self.pushes: bool = call.pushes
        self.pulls: bool = call.pulls
        self.weak: list[bool] = []
        """Which outputs are Python scalars for one example, once the function or its rule has run."""

    def __repr__(self) -> str:
        return f"vmap({self.call!r})"

    def value(self, *values: Any) -> tuple[Any, ...]:
        """Call the function on all examples."""
        with running(BatchTrace(self.size)) as trace:
            return self.outputs(trace, self.call.value(*self.operands(trace, values)))

    def operands(self, trace: BatchTrace, values: Values) -> list[Any]:
        """Box the operands that have an axis of examples."""
        rows = zip(values, self.batched, self.call.types, strict=True)
        return [trace.box(Batched(x, type_.weak)) if flag else x for x, flag, type_ in rows]

    def outputs(self, trace: BatchTrace, values: Values) -> tuple[Any, ...]:
        """Return the outputs with the axis of examples."""
        self.weak = list(map(is_weak, values))
        return tuple(map(trace.value, values))

    def tangents(self, primals: Values, tangents: Values) -> tuple[tuple[Any, ...], list[Any]]:
        """Apply a rule for tangents to all examples."""
        with running(BatchTrace(self.size)) as trace:
            pairs = zip(tangents, self.batched, strict=True)
            moving = [trace.box(Batched(t)) if flag and t is not None else t for t, flag in pairs]
            outputs, results = self.call.tangents(self.operands(trace, primals), moving)
            return self.outputs(trace, outputs), [None if t is None else trace.value(t) for t in results]

    def forward(self, primals: Values) -> tuple[tuple[Any, ...], Any]:
        """Apply a forward function to all examples."""
        with running(BatchTrace(self.size)) as trace:
            outputs, residuals = self.call.forward(self.operands(trace, primals))
            leaves, structure = tree.flatten(residuals)
            flags = [state_of(trace, leaf) is not None for leaf in leaves]
            saved = [trace.value(leaf) if flag else leaf for leaf, flag in zip(leaves, flags, strict=True)]
            return self.outputs(trace, outputs), (saved, flags, list(map(is_weak, leaves)), structure)

    def backward(self, residuals: Any, cotangents: Values, active: Flags) -> list[Any]:
        """Apply a backward function to all examples; operands that the examples share get the sum."""
        saved, flags, weak, structure = residuals
        with running(BatchTrace(self.size)) as trace:
            rows = zip(saved, flags, weak, strict=True)
            leaves = [trace.box(Batched(x, scalar)) if flag else x for x, flag, scalar in rows]
            inside = [trace.box(Batched(cotangent)) for cotangent in cotangents]
            results = self.call.backward(tree.unflatten(structure, leaves), inside, active)
            results = [None if ct is None else trace.value(ct) for ct in results]
        pairs = zip(results, self.batched, strict=True)
        return [ct if flag or ct is None else reduce_sum(ct, axes=(0,)) for ct, flag in pairs]


class CustomFunction:
    """A function with a rule for its derivative: the base of `custom_jvp` and `custom_vjp`."""

    operation: ClassVar[str]
    doc: ClassVar[str]
    """Of the primitive, which has the name of the operation."""
    primitive: ClassVar[Primitive]
    call_type: ClassVar[type[Call]]

    def __init_subclass__(cls) -> None:
        if "operation" in vars(cls):
            cls.primitive = _primitive(cls.operation, cls.doc)

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun
        self.name: str = getattr(fun, "__name__", type(fun).__name__)
        self.nondiff_argnums = tuple(sorted(nondiff_argnums))
        self.has_rule = False
        try:
            self.signature = inspect.signature(fun)
        except (TypeError, ValueError):  # some functions written in C have no signature
            self.signature = None

    def __repr__(self) -> str:
        return f"{self.operation}({self.name})"

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function; transforms that follow its arguments use its rule."""
        if not self.has_rule:
            hint = f"define it: {self.name}.def{self.operation.removeprefix('custom_')}"
            raise ArgumentError(message(repr(self), "the function has no rule yet", hint=hint))
        values = self._positional(arguments, options)
        chosen = tuple(x for number, x in enumerate(values) if number not in self.nondiff_argnums)
        return self.bind(chosen, [values[number] for number in self.nondiff_argnums])

    def bind(self, chosen: tuple[Any, ...], settings: list[Any]) -> Any:
        """Call the function on the arguments that are no settings, and on the settings."""
        operands, packed = pack(chosen, is_followable)
        call = self.call_type(self, packed, settings, list(map(type_of, operands)))
        results = _bind(self.primitive, call, operands)
        return tree.unflatten(call.structure, results)

    def _positional(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position, with defaults filled in, as rules take them."""
        if self.signature is not None:
            bound = self.signature.bind(*arguments, **options)
            bound.apply_defaults()
            arguments, options = bound.args, bound.kwargs
        if options:
            requirement, hint = "a rule takes positional arguments", "declare the parameters as positional"
            raise ArgumentError(message(repr(self), requirement, f"{list(options)}", hint))
        if any(not 0 <= number < len(arguments) for number in self.nondiff_argnums):
            requirement = f"nondiff_argnums must name some of the {len(arguments)} arguments"
            raise ArgumentError(message(repr(self), requirement, str(self.nondiff_argnums)))
        return arguments


def _bind(primitive: Primitive, call: Any, operands: Values) -> Values:
    top = newest(operands)
    if top is None:
        return tuple(map(own, call.value(*operands)))
    graph, captured = None, list[Any]()
    if isinstance(top, GraphTrace) and any(concrete(operand) is None for operand in operands):
        graph, captured, _ = record(call.value, operands)
    results = primitive(*captured, *operands, graph=graph, call=call, captured=len(captured))
    for result in results:
        if isinstance(result, Box) and _is_entangled(result, top.level):
            raise _closure_error(call)
    return results


def _is_entangled(result: Box, level: int) -> bool:
    """Return whether a result holds a value of its own trace or a newer one, rather than of an older trace."""
    if result.owner.level != level:
        return result.owner.level > level
    parts = (getattr(result.state, name, None) for name in ("value", "tangent"))
    return any(isinstance(part, Box) and part.owner.level >= level for part in parts)


def _closure_error(call: Any) -> LostDerivativeError:
    requirement = (
        f"{call!r} closes over a value that a transform follows, which its rule cannot differentiate"
    )
    return LostDerivativeError(message(call.operation, requirement, hint="pass it as an argument"))


# -- rules must be linear --------------------------------------------------------------------------------


class RuleTrace(LinearTrace):
    """The operations of a rule on tangents or cotangents, to be transposed: they must be linear."""

    def evaluate(self, primitive: Primitive, values: Values, params: dict[str, Any]) -> Any:
        """Return the type of a result, or raise `UnsupportedError` if the operation is not linear."""
        if not _is_linear(primitive.derivative, values, params):
            requirement = (
                "a rule must be linear in tangents or cotangents, to be transposed for the other mode"
            )
            raise UnsupportedError(message(primitive.name, requirement, show(*map(type_of, values))))
        return super().evaluate(primitive, values, params)


class _Unknown:
    """Stands for a value that no operation may read."""

    __array_ufunc__ = None


def _is_linear(rule: Derivative, values: Values, params: Mapping[str, Any]) -> bool:
    """Return whether an operation is linear in the operands of which only the types are known."""
    moving = [isinstance(value, TensorType) for value in values]
    if isinstance(rule, Linear):
        joint = rule.jointly or sum(moving) == 1
        return joint and all(rule.linear_in(position) for position, flag in enumerate(moving) if flag)
    if isinstance(rule, Partials):
        unknown = _Unknown()
        states = [unknown if flag else value for flag, value in zip(moving, values, strict=True)]
        for partial in select(rule.partials, moving):
            try:
                factor = partial(unknown, *states, **params) if callable(partial) else partial
            except (TypeError, ValueError, AttributeError):  # the partial derivative reads an unknown value
                return False
            if factor is None or factor is unknown:
                return False
    return not isinstance(rule, NonDifferentiable)


@contextlib.contextmanager
def _transposing(call: Any) -> Generator[None]:
    """Raise `UnsupportedError` for a rule that cannot be transposed."""
    try:
        yield
    except MatrixError:
        raise
    except (TypeError, ValueError, AttributeError) as problem:
        mode = "reverse" if call.operation == "custom_jvp" else "forward"
        requirement = (
            f"{mode} mode transposes the rule, which must be linear and made of operations that Wengert knows"
        )
        hint = "change it, or define the other kind of rule"
        name = f"{call.operation} rule of {call!r}"
        raise UnsupportedError(message(name, requirement, str(problem).rstrip("."), hint)) from problem


# -- primitives ------------------------------------------------------------------------------------------


def _infer(*types: Any, graph: Graph | None, call: Any, captured: int) -> tuple[Any, ...]:
    return (stage(call.value, types)[0] if graph is None else graph).output_types


def _evaluate(*operands: Any, graph: Graph | None, call: Any, captured: int) -> tuple[Any, ...]:
    return call.value(*operands) if graph is None else tuple(evaluate(graph, *operands))


def _batch(
    op: Primitive, size: int, operands: Values, batched: Flags, params: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Replace the call by one for all examples."""
    graph, captured = params["graph"], params["captured"]
    call = BatchedCall(params["call"], size, batched[captured:])
    if graph is None:
        results = _bind(op, call, operands)
        return tuple(map(Batched, results, call.weak))
    # A rule may return derivatives for outputs that do not depend on the operands.
    forced = [True] * len(graph.outputs)
    program, _ = batch_graph(graph, size, batched, forced)
    results = op(*operands, graph=program, call=call, captured=captured)
    return batch_results(results, forced, size, graph.output_types)


def _unchecked(counts: Any, operands: Values, params: dict[str, Any]) -> tuple[Values, dict[str, Any]]:
    """Pass whether the example counts to the program; the rule does not get it."""
    graph = params["graph"]
    if graph is None or not may_raise(graph):
        return operands, params
    return [counts, *operands], {
        **params,
        "graph": unchecked_graph(graph),
        "captured": 1 + params["captured"],
    }


def _unstaged(graph: Graph | None, call: Any, captured: int) -> Graph | None:
    """Return the program of a call that no graph holds yet: one inside of a rule."""
    return stage(call.value, call.types)[0] if graph is None else None


def _push(primals: Values, tangents: Values, graph: Any, call: Any, captured: int) -> Any:
    """Return outputs and tangents; the rules take no captured values, which must not be active."""
    if any(tangent is not None for tangent in tangents[:captured]):
        raise _closure_error(call)
    push = call.tangents if call.pushes else functools.partial(_push_by_cotangents, call)
    return push(primals[captured:], tangents[captured:])


def _pull(primals: Values, active: Flags, graph: Any, call: Any, captured: int) -> Any:
    if any(active[:captured]):
        raise _closure_error(call)
    pull = _pull_cotangents if call.pulls else _pull_by_tangents
    outputs, pullback = pull(call, primals[captured:], active[captured:])
    return outputs, lambda cotangents: [None] * captured + pullback(cotangents)


def _pull_cotangents(call: Any, primals: Values, active: Flags) -> Any:
    outputs, residuals = call.forward(primals)

    def pullback(cotangents: Values) -> list[Any]:
        pairs = zip(cotangents, outputs, strict=True)
        return call.backward(residuals, [or_zero(ct, type_of(value)) for ct, value in pairs], active)

    return outputs, pullback


def _pull_by_tangents(call: Any, primals: Values, active: Flags) -> Any:
    """Record the rule as a list of linear operations, and walk back along that list."""
    nodes = [Node(type_of_value(p)) if flag else None for p, flag in zip(primals, active, strict=True)]
    with running(RuleTrace()) as trace:
        outputs, tangents = call.tangents(primals, boxes_of(trace, [None] * len(nodes), nodes))
    states = [state_of(trace, tangent) for tangent in tangents]

    def pullback(cotangents: Values) -> list[Any]:
        seeds = [
            (state.node, unbroadcast(cotangent, state.value))
            for state, cotangent in zip(states, cotangents, strict=True)
            if state is not None and cotangent is not None
        ]
        with _transposing(call):
            return walk_back(seeds, nodes)

    return outputs, pullback


def _push_by_cotangents(call: Any, primals: Values, tangents: Values) -> Any:
    """Transpose the backward function, which is linear in the cotangent."""
    outputs, residuals = call.forward(primals)
    types = list(map(type_of, outputs))
    pairs = zip(outputs, types, strict=True)
    nodes = [Node(type_of_value(value)) if is_inexact(type_.dtype) else None for value, type_ in pairs]
    active = [tangent is not None for tangent in tangents]
    with _transposing(call):
        with running(RuleTrace()) as trace:
            cotangents = boxes_of(trace, list(map(zeros, types)), nodes)
            states = [state_of(trace, term) for term in call.backward(residuals, cotangents, active)]
        seeds = [
            (state.node, unbroadcast(tangent, state.value))
            for state, tangent in zip(states, tangents, strict=True)
            if state is not None and tangent is not None
        ]
        return outputs, walk_back(seeds, nodes)


def _primitive(name: str, doc: str) -> Primitive:
    """Make the primitive of the functions with one kind of rules."""
    return primitive(
        name=name,
        doc=doc,
        type_rule=_infer,
        evaluate=_evaluate,
        derivative=HigherOrder(push=_push, pull=_pull),
        batch=_batch,
        lowering=ControlFlow(_unstaged),
        source=lambda *operands, graph, call, captured: f"{call!r}({', '.join(operands[captured:])})",
        samples=None,
        unchecked_programs=_unchecked,
    )


# -- custom_jvp ------------------------------------------------------------------------------------------


class TangentCall(Call):
    """One call of a function with a rule for its tangent."""

    def tangents(self, primals: Values, tangents: Values) -> tuple[tuple[Any, ...], list[Any]]:
        """Apply the rule: the outputs, and their tangents (None: zero)."""
        directions = [or_zero(tangent, type_) for tangent, type_ in zip(tangents, self.types, strict=True)]
        still = [zeros(type_of(leaf)) if is_number(leaf) else leaf for leaf in self.packed.others]
        arguments = self.packed.rebuild(primals), self.packed.rebuild(directions, still)
        output, tangent = self.pair(self.function.rule(*self.settings, *arguments), "(output, tangent)")
        outputs = self.output(output)
        leaves, structure = flatten_numbers(self.operation, f"the tangent of {self!r}", tangent)
        tree.check_same(self.rule, self.structure, structure)
        return outputs, list(map(self._tangent, leaves, outputs))

    def _tangent(self, tangent: Any, output: Any) -> Any:
        expected = strong(type_of(output))
        if not is_inexact(expected.dtype):
            return None
        return fit(self.checked("a tangent", tangent, expected), expected)


class custom_jvp(CustomFunction):  # noqa: N801 (JAX's name)
    """Give a function a rule for its tangent, which both modes use instead of differentiating the function.

    The rule maps primals and tangents to the output and its tangent, ``J x'``, which must be linear in the tangents:
    reverse mode transposes it. For higher derivatives the rule itself is differentiated.

    Args:
        fun: a function of containers of arrays and numbers.
        nondiff_argnums: positions of arguments that are settings; the rule takes them first, one by one.

    Raises:
        ArgumentError: it is called without a rule, or the rule returns other containers than the function.

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
    doc = "a function with a custom rule for its tangent"
    call_type = TangentCall

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule ``jvp(*settings, primals, tangents) -> (output, tangent of the output)``, and return it.

        ``primals`` and ``tangents`` are tuples with an entry for each argument that is not a setting; a tangent has the
        containers, shapes and dtypes of its primal.
        """
        self.rule, self.has_rule = jvp, True
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule for each argument: ``jvp(tangent, output, *primals) -> its part of the tangent``; None for zero.

        Raises:
            ArgumentError: there are nondiff_argnums, which only `defjvp` supports.

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
            requirement = "defjvps does not support nondiff_argnums"
            raise ArgumentError(message("defjvps", requirement, str(self.nondiff_argnums), "use defjvp"))

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                got = f"{len(jvps)} for {len(primals)} arguments"
                raise ArgumentError(message("defjvps", "a rule for each argument is needed", got))
            output = self(*primals)
            total = tree.map_tree(lambda value: zeros(type_of(value)), output)
            for jvp, tangent in zip(jvps, tangents, strict=True):
                if jvp is not None:
                    total = tree.map_tree(lambda x, y: x + y, total, jvp(tangent, output, *primals))
            return output, total

        self.defjvp(rule)


# -- custom_vjp ------------------------------------------------------------------------------------------


class CotangentCall(Call):
    """One call of a function with a rule for its cotangent."""

    def forward(self, primals: Values) -> tuple[tuple[Any, ...], Any]:
        """Apply the forward function: the outputs and the residuals."""
        output, residuals = self.pair(self.function.forward(*self.arguments(primals)), "(output, residuals)")
        return self.output(output), residuals

    def backward(self, residuals: Any, cotangents: Values, active: Flags) -> list[Any]:
        """Apply the backward function: a cotangent for each operand (None: zero), whether it is active or not."""
        cotangent = tree.unflatten(self.structure, cotangents)
        result = self.function.backward(*self.settings, residuals, cotangent)
        count = len(self.packed.structure.children)
        if not isinstance(result, tuple) or len(result) != count:  # pyright: ignore[reportUnknownArgumentType]
            got = f"{len(result)}" if isinstance(result, tuple) else type(result).__name__  # pyright: ignore[reportUnknownArgumentType]
            requirement = "it must return a tuple with a cotangent, or None, for each argument"
            raise ArgumentError(message(self.rule, requirement, f"{got} for {count} arguments"))
        leaves = self.leaves(self.packed.structure, result)
        return [self._cotangent(leaves[i], t) for i, t in zip(self.packed.positions, self.types, strict=True)]

    def _cotangent(self, cotangent: Any, expected: TensorType) -> Any:
        if cotangent is None or not is_inexact(expected.dtype):
            return None
        if not is_number(cotangent):
            requirement = "a cotangent must be an array or a number"
            raise DtypeError(message(self.rule, requirement, type(cotangent).__name__))
        return self.checked("a cotangent", cotangent, expected)


class custom_vjp(CustomFunction):  # noqa: N801 (JAX's name)
    """Give a function a rule for its cotangent, which reverse mode uses instead of differentiating the function.

    The backward function maps a cotangent ``v`` to ``J^T v``. Forward mode transposes it, so it must be made of
    operations that Wengert knows. For higher derivatives both functions of the rule are differentiated.

    Args:
        fun: a function of containers of arrays and numbers.
        nondiff_argnums: positions of arguments that are settings; the backward function takes them first.

    Raises:
        ArgumentError: it is called without a rule, or the rule returns other containers than the arguments.

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
    doc = "a function with a custom rule for its cotangent"
    call_type = CotangentCall

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set the rule.

        Args:
            fwd: takes the arguments of the function and returns ``(output, residuals)``; residuals are any container.
            bwd: ``bwd(*settings, residuals, cotangent)`` returns a tuple with the cotangent of each argument that is
                not a setting: of its containers, shapes and dtypes, or None for zero.
        """
        self.forward, self.backward, self.has_rule = fwd, bwd, True
