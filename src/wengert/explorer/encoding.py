"""A graph as data for the evaluator of the page, and the values that the page cannot compute itself."""

from __future__ import annotations

import base64
import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import BOOL, FLOAT32, FLOAT64, SHORT_NAMES, Dtype
from wengert.engine.core.shapes import size
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType
from wengert.engine.kernels.special import PROGRAMS
from wengert.engine.nest.lowering import Elementwise
from wengert.engine.primitive import REGISTRY
from wengert.engine.transforms.staging import stage

#: Arrays of more elements are not written whole: a page shows a picture of them.
LARGEST = 1 << 18
#: Elementary products or sums of an operation, and of all of them, that a page computes at each change of an input.
HEAVIEST, BUDGET = 1 << 26, 1 << 28
#: The largest integer up to which a float64, JavaScript's number, tells all integers apart.
_EXACT = 1 << 53
_THUMBNAIL = 32
_INTEGERS = {np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")}
_KNOWN = {BOOL, FLOAT32, FLOAT64, *_INTEGERS}


@functools.cache
def script(name: str) -> str:
    """Return an asset of the page."""
    return files("wengert.explorer").joinpath(name).read_text("utf-8")


@functools.cache
def evaluated() -> frozenset[str]:
    """Return the names of the primitives that the page evaluates: those that evaluate.js defines."""
    return frozenset(re.findall(r"^define\(\"(\w+)\"", script("evaluate.js"), re.MULTILINE))


# -- numbers ---------------------------------------------------------------------------------------------


def number(value: Any) -> Any:
    """Return a scalar as JSON has it: NaN and infinities are strings."""
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, complex):
        return str(value)
    if isinstance(plain, bool):
        return int(plain)
    return plain if math.isfinite(plain) else str(plain)


def tensor(value: Any) -> Any:
    """Return an array: its elements, a number that all of them are, or, where it is large, a picture of it."""
    array = np.asarray(value)
    if array.ndim == 0:
        return number(array[()])
    if array.size > LARGEST or array.dtype.kind == "c":
        return picture(array)
    first = array.reshape(-1)[:1]
    # NaN equals nothing, and zeros of both signs are equal.
    if array.size and (array == first).all() and (np.signbit(array) == np.signbit(first)).all():
        return {"fill": number(first[0])}
    stored = np.float32 if array.dtype == FLOAT32 else np.float64
    data = np.ascontiguousarray(array, stored).astype(np.dtype(stored).newbyteorder("<"))
    return {"data": base64.b64encode(data.tobytes()).decode()}


def picture(array: Any) -> Any:
    """Return the extrema, the mean and a small picture of an array that the page does not hold."""
    real = np.asarray(array.real if array.dtype.kind == "c" else array, np.float64)
    finite = real[np.isfinite(real)]
    low, high, mean = (f(finite) if finite.size else math.nan for f in (np.min, np.max, np.mean))
    rows = real.reshape(-1, real.shape[-1]) if real.ndim and real.shape[-1] else real.reshape(1, -1)
    steps = [max(1, -(-extent // _THUMBNAIL)) for extent in rows.shape]
    small = rows[:: steps[0], :: steps[1]].astype("<f4")
    return {
        "low": number(low),
        "high": number(high),
        "mean": number(mean),
        "bad": int(real.size - finite.size),
        "rows": list(small.shape),
        "picture": base64.b64encode(small.tobytes()).decode(),
    }


@functools.lru_cache(maxsize=1024)
def type_text(type_: TensorType) -> str:
    """Return a type as the page reads it."""
    return f"{SHORT_NAMES.get(type_.dtype, str(type_.dtype))}[{','.join(map(str, type_.shape))}]"


# -- programs --------------------------------------------------------------------------------------------


class Table:
    """Data that occurs often, each piece once."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, key: Any, entry: Any = None) -> int:
        """Return the number of an entry."""
        if key not in self._numbers:
            self._numbers[key] = len(self.entries)
            self.entries.append(key if entry is None else entry)
        return self._numbers[key]


class Encoder:
    """Writes a graph as data.

    An operation is ``[number of the primitive, operands, results, number of the parameters]``. A variable is its
    number; a literal its number in a table, counted from -1 downwards. An operation that the page does not compute has
    null in place of the primitive, and its results as recorded: a program inside an operation, for which ``values`` is
    None, has no such operations.
    """

    def __init__(self, graph: Graph, values: Mapping[Var, Any] | None) -> None:
        self.values = values
        self.types, self.primitives, self.params = Table(), Table(), Table()
        self.literals = Table()
        self.variables: dict[Var, int] = {}
        self.kinds: list[int] = []
        self.held: dict[int, Any] = {}
        self.missing: set[Var] = set()
        """The variables whose values the page does not hold."""
        self.recorded: dict[str, int] = {}
        """The operations that the page does not compute, by the reason."""
        self.work = 0
        self.inputs = [self.define(var) for var in graph.inputs]
        for var in graph.inputs:
            self._hold(var)
        for var, value in graph.constants:
            self.define(var)
            self._hold(var, value)
        self.equations = [encoded for equation in graph.equations for encoded in self.equation(equation)]
        self.outputs = list(map(self.atom, graph.outputs))

    def data(self) -> dict[str, Any]:
        """Return the program."""
        return {
            "types": self.types.entries,
            "kinds": self.kinds,
            "primitives": self.primitives.entries,
            "params": self.params.entries,
            "literals": self.literals.entries,
            "held": [[key, value] for key, value in self.held.items()],
            "inputs": self.inputs,
            "equations": self.equations,
            "outputs": self.outputs,
        }

    def define(self, var: Var) -> int:
        """Return the number of a new variable."""
        self.variables[var] = len(self.kinds)
        self.kinds.append(self.types.number(type_text(var.type)))
        return self.variables[var]

    def _hold(self, var: Var, value: Any = None) -> None:
        """Write a value down; note it as missing if it is too large."""
        if value is None:
            if self.values is None:
                return
            value = self.values[var]
        self.held[self.variables[var]] = tensor(value)
        if size(var.shape) > LARGEST or var.dtype not in _KNOWN:
            self.missing.add(var)

    def atom(self, atom: Atom, dtype: Any = None) -> int:
        """Return the number of a value; a literal is rounded to a dtype first."""
        if isinstance(atom, Var):
            return self.variables[atom]
        value = np.asarray(atom.value, dtype)[()] if dtype is not None else atom.value
        kind = type_text(atom.type if dtype is None else atom.type._replace(dtype=dtype))
        entry = [self.types.number(kind), number(value)]
        return -1 - self.literals.number(repr(entry), entry)  # 0.0 and -0.0 are equal, and two literals

    def equation(self, equation: Equation) -> list[Any]:
        """Return an operation, after the conversions of its operands."""
        composed = _composed(equation)
        if composed is not None and not self._refused(composed):
            equation = composed
        reason = self._refused(equation)
        before: list[Any] = []
        rounded = _rounded(equation)
        operands = [
            self._as_float32(atom, before) if position in rounded else self.atom(atom)
            for position, atom in enumerate(equation.operands)
        ]
        results = [self.define(var) for var in equation.outputs]
        if reason:
            self.recorded[reason] = self.recorded.get(reason, 0) + 1
            for var in equation.outputs:
                self._hold(var)
            return [*before, [None, operands, results, 0]]
        if self.values is not None:
            self.work += _work(equation)
        primitive = self.primitives.number(equation.primitive)
        params = {name: self._param(value) for name, value in equation.params.items()}
        return [*before, [primitive, operands, results, self.params.number(repr(params), params)]]

    def _as_float32(self, atom: Atom, before: list[Any]) -> int:
        """Return a value that is rounded to float32, by an operation of its own where it is a variable."""
        if isinstance(atom, Literal):
            return self.atom(atom, FLOAT32)
        rounded = Var(atom.type._replace(dtype=FLOAT32))
        primitive, params = self.primitives.number("cast"), self.params.number("{}", {})
        before.append([primitive, [self.variables[atom]], [self.define(rounded)], params])
        return self.variables[rounded]

    def _refused(self, equation: Equation) -> str:
        """Return why the page does not compute an operation; empty if it does."""
        if equation.primitive not in evaluated():
            return f"{equation.primitive} has no evaluation in the page"
        for atom in (*equation.operands, *equation.outputs):
            if atom.type.dtype not in _KNOWN:
                return f"numbers of {atom.type.dtype} are not computed in the page"
            value = atom.value if isinstance(atom, Literal) else 0
            if isinstance(value, (int, np.integer)) and abs(int(value)) > _EXACT:
                return "integers beyond 2^53 are not computed in the page"
        if any(var in self.missing for var in equation.operands):
            return "the page does not hold the large operands"
        if max((size(var.shape) for var in equation.outputs), default=0) > LARGEST:
            return "the result is too large for the page"
        work = _work(equation)
        if work > HEAVIEST or self.work + work > BUDGET:
            return "the operation takes too long in the page"
        for graph in equation.graphs():
            if reasons := _inner(graph).recorded:
                return next(iter(reasons))
        return ""

    def _param(self, value: Any) -> Any:
        if isinstance(value, Graph):
            return {"program": _inner(value).data()}
        if isinstance(value, (tuple, list)):
            return [self._param(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, np.dtype):
            return SHORT_NAMES.get(value, str(value))  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(value, (bool, str, type(None))):
            return value
        if isinstance(value, (int, float, np.generic)):
            return number(value)
        return str(value)


def program_of(primitive: str) -> Callable[..., Any] | None:
    """Return the program of other primitives that stands for an elementwise one, if it has one."""
    form = REGISTRY[primitive].lowering
    return PROGRAMS.get(primitive) or (form.program if isinstance(form, Elementwise) else None)


def _composed(equation: Equation) -> Equation | None:
    """Return an operation that the page does not define as one that holds its program, if it has one."""
    program = program_of(equation.primitive)
    if program is None or equation.primitive in evaluated():
        return None
    types = tuple(atom.type for atom in equation.operands)
    graph = _staged(program, equation.outputs[0].dtype, types, tuple(equation.params.items()))
    return Equation("checkpoint", equation.operands, equation.outputs, {"program": graph, "length": 1})


@functools.lru_cache(maxsize=256)
def _staged(program: Callable[..., Any], dtype: Dtype, types: tuple[TensorType, ...], params: Any) -> Graph:
    return stage(lambda *xs: [program(*(x.astype(dtype) for x in xs), **dict(params))], types)[0]


@functools.lru_cache(maxsize=256)
def _inner(graph: Graph) -> Encoder:
    """Return a program inside an operation as data."""
    return Encoder(graph, None)


def _rounded(equation: Equation) -> Sequence[int]:
    """Return the operands that NumPy rounds to float32 before the operation."""
    lowering = REGISTRY[equation.primitive].lowering
    types = [atom.type for atom in equation.operands]
    if len(types) < 2 or not isinstance(lowering, Elementwise):
        return ()
    if all(type_.dtype == types[0].dtype for type_ in types):
        return ()
    dtypes = lowering.dtypes(types, equation.outputs[0].type)
    pairs = enumerate(zip(types, dtypes, strict=True))
    return [position for position, (type_, dtype) in pairs if dtype == FLOAT32 != type_.dtype]


def _work(equation: Equation) -> int:
    """Return about how many elementary operations an operation has."""
    inner = sum(_work(line) for graph in equation.graphs() for line in graph.equations)
    if inner:
        return inner * int(equation.params.get("length") or equation.params.get("most") or 64)
    shapes: Sequence[Any] = [atom.type.shape for atom in (*equation.operands, *equation.outputs)]
    return math.prod(equation.params.get("extents", ())) + max(map(size, shapes), default=1)
