"""Staging: a function runs once on types alone, and its operations form a graph; `evaluate` runs a graph."""

from __future__ import annotations

import contextlib
import math
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import RUNNING, Box, Trace, below, running, snapshot
from wengert.engine.core.dtypes import (
    BOOL,
    UINT64,
    Dtype,
    as_float,
    check_known,
    is_inexact,
    is_int64,
    show_integer,
)
from wengert.engine.core.errors import RangeError, StagingError, message, user_location
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.nest.lowering import Elementwise, check_integers
from wengert.engine.ops.comparison import require_valid
from wengert.engine.ops.reduction import reduce_all
from wengert.engine.primitive import REGISTRY, Primitive
from wengert.engine.transforms import turns
from wengert.engine.transforms.guards import note_truth


class _State(threading.local):
    origin = ""
    """The source line whose cotangent reverse mode is computing."""
    line = ""
    """The source line of the equation that is being evaluated."""
    written = 0
    """How many equations this thread has written."""
    provisional_level = -1
    """Traces older than this write provisional equations."""


_state = _State()


@contextlib.contextmanager
def provisionally() -> Generator[None]:
    """Write equations that may have to be written again; a graph keeps only those that its outputs depend on."""
    before = _state.provisional_level
    _state.provisional_level = Trace().level
    try:
        yield
    finally:
        _state.provisional_level = before


def equations_written() -> int:
    """Return how many equations this thread has written so far."""
    return _state.written


#: Functions of a graph trace that is about to finish: `wengert.engine.staged` adds its checks.
FINISHING: list[Callable[[Any], None]] = []


def _float_errors_raise() -> bool:
    """Return whether NumPy raises `FloatingPointError`, for which a program may ask by ``np.errstate``."""
    return "raise" in np.geterr().values()


class GraphTrace(Trace):
    """Staging: boxes hold variables of the graph under construction.

    Boxes of older transforms that the function closes over become further inputs of the graph: ``captured``.
    ``adjoints`` maps variables that reverse mode computed to the variables of which they are the complete cotangents.
    """

    traced = True
    staging = True

    def __init__(self, name: str = "trace") -> None:
        super().__init__()
        self.name = name
        self.inputs: list[Var] = []
        self.captured: list[Any] = []
        self.equations: list[Equation] = []
        self.constants: list[tuple[Var, Any]] = []
        self.adjoints: dict[Var, Var] = {}
        self.locations: dict[Var, str] = {}
        self.checks: list[tuple[Any, str]] = []
        """Truth values that must hold, or the program raises the exception that a text stands for."""
        self.calls: list[tuple[Any, str]] = []
        """The same for calls whose results depend on them; a program may read none of these results."""
        self._raises, self._location = _float_errors_raise(), ""
        self._provisional: set[Var] = set()
        self._lifted: dict[int, tuple[Any, Var]] = {}
        self._known: dict[int, tuple[Any, Var]] = {}

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Infer the type of the result, and append an equation."""
        self.check_open(primitive.name)
        if any(type(x) is int and not is_int64(x) for x in operands):
            operands = _as_64_bits(primitive, operands, params)
        atoms = tuple(map(self.atom, operands))
        inferred = primitive.infer(*(atom.type for atom in atoms), **params)
        several = not isinstance(inferred, TensorType)
        if not several and isinstance(primitive.lowering, Elementwise):
            _check_integers(primitive.name, primitive.lowering, atoms, inferred)
        outputs = self.append(primitive, atoms, inferred if several else (inferred,), params)
        if not several and inferred.weak and inferred.dtype == BOOL:
            note_truth()
        boxes = tuple(map(self.box, outputs))
        return boxes if several else boxes[0]

    def append(
        self,
        primitive: Primitive,
        operands: tuple[Atom, ...],
        types: Iterable[TensorType],
        params: dict[str, Any],
    ) -> tuple[Var, ...]:
        """Append an equation and return the variables that it defines."""
        outputs = tuple(map(Var, types))
        _state.written += 1
        location = f"adjoint of {_state.origin}" if _state.origin else self.location()
        if location != self._location:
            self._check_float_errors(primitive.name)
            self._location = location
        if RUNNING.traced and not _state.origin:
            turns.note(primitive.name, location, self, max(self.level, _state.provisional_level))
        self.equations.append(Equation(primitive.name, operands, outputs, params, location))
        self.locations.update(dict.fromkeys(outputs, location))
        if self.level < _state.provisional_level:
            self._provisional.update(outputs)
        return outputs

    def _check_float_errors(self, operation: str) -> None:
        """Refuse operations for whose errors a new line asks."""
        if not self._raises and _float_errors_raise():
            hint = "test the operands with if, or call the function outside of wg.jit"
            raise StagingError(message("errstate", "a program raises no FloatingPointError", operation, hint))

    def constant(self, array: Any) -> Any:
        """Return a box of the trace that stands for an array."""
        return self.box(self.atom(array))

    def variable(self, state: Any) -> Var:
        """Return the variable that a box of this trace holds."""
        return state

    def give_up(self, first: int) -> None:
        """Keep equations from a number on only if an output depends on them: the run that has written them is over."""
        self._provisional.update(output for equation in self.equations[first:] for output in equation.outputs)

    def location(self) -> str:
        """Return the user's own line that the next equation comes from."""
        return _state.line or user_location()

    def new_input(self, type_: TensorType) -> Any:
        """Add an input to the graph and return its box."""
        var = Var(type_)
        self.inputs.append(var)
        if type_.weak and type_.dtype == BOOL:
            note_truth()
        return self.box(var)

    def atom(self, value: Any) -> Atom:
        """Return a value as a variable, a literal, a constant or a captured input of the graph."""
        if isinstance(value, Box):
            value.refresh()
            if value.owner is self:
                return self.variable(value.state)
            value = snapshot(value)
        if isinstance(value, Box):
            return self._capture(value)
        type_ = type_of(value)
        check_known("constant", type_.dtype)
        if isinstance(value, (bool, int, float, complex, np.generic)):
            if type(value) is int and not is_int64(value):
                raise _beyond("constant", value)
            return Literal(value, type_)
        return self._constant(np.asarray(value), type_)

    def _capture(self, value: Box) -> Var:
        value.owner.check_open(self.name)
        entry = self._lifted.get(id(value.state))
        if entry is None:
            entry = value.state, Var(value.type)
            self._lifted[id(value.state)] = entry
            self.captured.append(value)
        return entry[1]

    def _constant(self, value: Any, type_: TensorType) -> Var:
        entry = self._known.get(id(value))
        if entry is not None and entry[1].type == type_ and _is_same(entry[0], value):
            return entry[1]
        constant = value.copy() if value.flags.writeable or value.base is not None else value
        constant.flags.writeable = False  # readers need not copy it
        var = Var(type_)
        self._known[id(value)] = constant, var
        self.constants.append((var, constant))
        return var

    def source(self, var: Var) -> Any:
        """Return the captured value that an input stands for; None for other variables."""
        return next((value for value in self.captured if self._lifted[id(value.state)][1] is var), None)

    def finish(self, outputs: Sequence[Any]) -> Graph:
        """Return the graph; its first inputs are the captured values."""
        for finish in FINISHING:
            finish(self)
        checks = [*self.checks, *(self.take_unread(outputs) if len(outputs) else ())]
        checks = [check for check in checks if check[0] is not True]
        atoms = tuple(map(self.atom, self._checked(outputs, checks) if checks else outputs))
        captured = tuple(self._lifted[id(value.state)][1] for value in self.captured)
        return Graph((*captured, *self.inputs), tuple(self.constants), tuple(self._kept(atoms)), atoms)

    def _checked(self, outputs: Sequence[Any], checks: Sequence[tuple[Any, str]]) -> Sequence[Any]:
        """Have the smallest output depend on all checks: a program computes no value that no output depends on.

        In a part of a program, such as the body of a loop, each output does, because the program may drop any.
        """
        sizes = [size(shape_of(output)) for output in outputs]
        if not any(sizes):
            requirement = "a function that may raise an exception as only a run knows returns no number"
            hint = "return one: a program raises an exception together with its results"
            raise StagingError(message("raise", requirement, checks[0][1], hint))
        found = [*outputs]
        smallest = min((n for n in range(len(outputs)) if sizes[n]), key=sizes.__getitem__)
        for position in range(len(outputs)) if RUNNING.traced > 1 else [smallest]:
            for holds, text in checks:
                found[position] = require_valid(found[position], holds, operation="raise", requirement=text)
        return found

    def take_unread(self, outputs: Sequence[Any]) -> list[tuple[Any, str]]:
        """Return the checks of calls on which no output depends, through their results or derivatives.

        Args:
            outputs: all that the trace computes; what is no box of it does not count.
        """
        if not self.calls:
            return []
        live = {self.variable(x.state) for x in outputs if isinstance(x, Box) and x.owner is self}
        read: set[Atom] = set()
        for equation in reversed(self.equations):
            if not live.isdisjoint(equation.outputs):
                live.update(operand for operand in equation.operands if isinstance(operand, Var))
                if equation.primitive == require_valid.name:
                    read.add(equation.operands[1])
        unread: list[tuple[Any, str]] = []
        for holds, text in self.calls:
            var = self.variable(holds.state)
            if var not in read and var not in self._provisional:
                read.add(var)
                unread.append((all_hold(holds), text))
        self.calls = []
        return unread

    def _kept(self, outputs: Sequence[Atom]) -> Sequence[Equation]:
        """Return the equations without unused provisional ones."""
        if not self._provisional:
            return self.equations
        kept: list[Equation] = []
        live = set(outputs)
        for equation in reversed(self.equations):
            if not (live.isdisjoint(equation.outputs) and self._provisional.issuperset(equation.outputs)):
                live.update(equation.operands)
                kept.append(equation)
        return kept[::-1]


def all_hold(holds: Any) -> Any:
    """Return one truth value: whether all hold."""
    shape = shape_of(holds)
    if 0 in shape:
        return True
    return reduce_all(holds, axes=tuple(range(len(shape)))) if shape else holds


def _is_same(constant: Any, value: Any) -> bool:
    """Compare an array with the one that was kept, by bits: another array may have the same id, or it has changed."""
    return constant is value or constant.tobytes() == value.tobytes()


def _as_64_bits(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> tuple[Any, ...]:
    """Convert operands that are integers beyond 64 bits as NumPy does.

    Floating-point operations take floats; comparisons take infinity, because no other integer is equal or beyond.
    """
    if not isinstance(primitive.lowering, Elementwise):
        return tuple(operands)
    types = [type_of(x) for x in operands]
    inferred = primitive.infer(*types, **params)
    dtypes = primitive.lowering.dtypes(types, inferred)
    return tuple(
        _converted(primitive.name, x, dtype, inferred.dtype) if type(x) is int and not is_int64(x) else x
        for x, dtype in zip(operands, dtypes, strict=True)
    )


def _converted(operation: str, number: int, dtype: Dtype, result: Dtype) -> Any:
    if is_inexact(dtype):
        return as_float(operation, number)
    if dtype == UINT64 and 0 <= number < 2**64:
        return np.uint64(number)
    if result == BOOL:
        return math.copysign(math.inf, number)
    check_integers(operation, [number], [dtype])
    raise _beyond(operation, number)


def _beyond(operation: str, number: int) -> RangeError:
    requirement = "a Python integer must fit in 64 bits"
    return RangeError(message(operation, requirement, show_integer(number), "write a float"))


def _check_integers(
    operation: str, lowering: Elementwise, operands: Sequence[Atom], result: TensorType
) -> None:
    values = [atom.value if isinstance(atom, Literal) else None for atom in operands]
    if any(type(value) is int for value in values):
        check_integers(operation, values, lowering.dtypes([atom.type for atom in operands], result))


class Walk:
    """The notes that reverse mode leaves in a graph under construction.

    Equations written during the walk back are the ``adjoint of`` the source line that it has reached.
    """

    __slots__ = ("_before",)

    def __enter__(self) -> Walk:
        self._before = _state.origin
        return self

    def __exit__(self, *problem: object) -> None:
        _state.origin = self._before

    def at(self, value: Any, cotangent: Any) -> None:
        """Note that the walk has reached a value, whose cotangent is complete."""
        trace, var = _staged(value)
        if trace is not None:
            _state.origin = trace.locations.get(var, "") or _state.origin
        owner, adjoint = _staged(cotangent)
        if trace is not None and owner is trace:
            trace.adjoints.setdefault(adjoint, var)


def _staged(value: Any) -> tuple[GraphTrace | None, Any]:
    while isinstance(value, Box):
        if isinstance(value.owner, GraphTrace):
            return value.owner, value.owner.variable(value.state)
        value = below(value)
    return None, None


def stage(
    function: Callable[..., Sequence[Any]], types: Sequence[TensorType], name: str = "trace"
) -> tuple[Graph, list[Any]]:
    """Trace a function of flat arguments to a graph.

    Args:
        function: takes one value for each type and returns a flat sequence of values.
        types: the types of the arguments.
        name: the user's name for the transform, for error messages.

    Returns:
        The graph, and the values of outer transforms that the function closes over: the graph's first inputs.
    """
    with running(GraphTrace(name)) as trace:
        graph = trace.finish(function(*map(trace.new_input, types)))
    return graph, trace.captured


#: Operations whose derivatives are functions of the user's, with lines of their own.
_USERS_RULES = frozenset({"custom_jvp", "custom_vjp"})


def evaluate(graph: Graph, *arguments: Any, prepare: Callable[..., Any] | None = None) -> list[Any]:
    """Evaluate a graph on arrays or boxes; what a trace records of it keeps the lines of the graph.

    Args:
        graph: the graph.
        arguments: a value for each input.
        prepare: ``(operation, operands, params) -> (operands, params)``: what each operation gets instead.
    """
    values: dict[Var, Any] = dict(zip(graph.inputs, arguments, strict=True))
    values.update(graph.constants)
    last_use = _uses.get(graph)
    if last_use is None:
        last_use = _uses[graph] = _last_uses(graph)

    def read(atom: Atom) -> Any:
        return atom.value if isinstance(atom, Literal) else values[atom]

    before = _state.line
    try:
        for position, equation in enumerate(graph.equations):
            operation = REGISTRY[equation.primitive]
            operands, params = map(read, equation.operands), equation.params
            if prepare is not None:
                operands, params = prepare(operation, [*operands], dict(params))
            _state.line = "" if equation.primitive in _USERS_RULES else equation.location
            results = operation(*operands, **params)
            if len(equation.outputs) == 1 and not isinstance(results, tuple):
                results = (results,)
            values.update(zip(equation.outputs, results, strict=True))
            for var in last_use.get(position, ()):
                del values[var]
    finally:
        _state.line = before
    return [read(atom) for atom in graph.outputs]


_uses: weakref.WeakKeyDictionary[Graph, dict[int, list[Var]]] = weakref.WeakKeyDictionary()


def _last_uses(graph: Graph) -> dict[int, list[Var]]:
    retained = {atom for atom in graph.outputs if isinstance(atom, Var)}
    last_use: dict[int, list[Var]] = {}
    for position in range(len(graph.equations) - 1, -1, -1):
        equation = graph.equations[position]
        for atom in (*equation.operands, *equation.outputs):
            if isinstance(atom, Var) and atom not in retained:
                retained.add(atom)
                last_use.setdefault(position, []).append(atom)
    return last_use
