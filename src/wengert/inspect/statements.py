"""The equations of a graph as NumPy statements, one a line."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.dtypes import BOOL, FLOAT64, INT64, PYTHON_TYPE
from wengert.engine.core.notebooks import readable
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ops.contraction import as_subscripts
from wengert.engine.primitive import REGISTRY
from wengert.inspect.numpy_source import array_source, as_index, as_product, as_sum, one_axis, scalar_source
from wengert.inspect.prelude import HELPERS

_ADJOINT = "adjoint of "
_INLINE = 24
_COMMENT_COLUMN = 60
_INDEXED = {
    "slice": "{0}[{i}]",
    "embed": "embed({0}, {shape}, np.s_[{i}])",
    "place": "place({0}, {1}, np.s_[{i}])",
}
_CALL = re.compile(r"\w\(")
#: Where Python scalars raise an error instead of giving infinity, or change their type.
_PYTHON_DIFFERS = {
    *("divide", "floor_divide", "remainder", "power", "integer_power"),
    *("left_shift", "right_shift", "invert"),
}
_PYTHON_AGREES = {"cast", "add", "subtract", "multiply", "negative", "positive"}
_NARROW_SUMS = {"reduce_sum", "reduce_prod", "cumsum", "cumprod"}


class Statement(NamedTuple):
    """A line of a program, or a function inside it, and the user's line behind it."""

    text: str
    location: str = ""
    outputs: tuple[Var, ...] = ()
    """The values that an operation defines."""

    @property
    def depth(self) -> int:
        """The number of passes of reverse mode: 0 for the primal program, 1 for its adjoint."""
        return self.location.count(_ADJOINT)


def written(statements: Iterable[Statement]) -> list[str]:
    """Return statements with the user's lines as comments in a column."""
    statements = list(statements)
    widths = [len(text) for text, location, _ in statements if "\n" not in text and location]
    column = max((width for width in widths if width <= _COMMENT_COLUMN), default=0)
    lines: list[str] = []
    for text, location, _ in statements:
        if "\n" in text:
            lines += [*([""] if lines and lines[-1] else []), *text.split("\n"), ""]
        else:
            lines.append(
                f"{text:{column}}  # {readable(location.replace(_ADJOINT, ''))}" if location else text
            )
    return lines


def renames(equation: Equation) -> bool:
    """Return whether an equation only converts a Python scalar to a NumPy scalar of the same dtype."""
    (out, *_) = equation.outputs
    return equation.primitive == "cast" and not out.weak and equation.operands[0].type.dtype == out.dtype


class Names:
    """Unique names, none of them ``taken``; names ``programs`` are for functions only."""

    def __init__(self, taken: Iterable[str], programs: Iterable[str] = ()) -> None:
        self._programs = set(programs)
        self._taken = {*taken, *self._programs}
        self._last = Counter[str]()
        """The last number of each letter: none before it is free."""

    def new(self, wanted: str) -> str:
        """Return a name, with underscores if it is taken."""
        while wanted in self._taken:
            wanted += "_"
        self._taken.add(wanted)
        return wanted

    def numbered(self, letter: str) -> str:
        """Return the first free name of a letter and a number."""
        for number in itertools.count(self._last[letter] + 1):
            if (name := f"{letter}{number}") not in self._taken:
                self._last[letter] = number
                return self.new(name)
        raise AssertionError("numbers do not end")

    def function(self, wanted: str) -> str:
        """Return a name for a function, with a number if it is taken."""
        if wanted in self._programs:
            self._programs.remove(wanted)
            return wanted
        names = itertools.chain([wanted], (f"{wanted}{number}" for number in itertools.count(2)))
        return self.new(next(name for name in names if name not in self._taken))

    def copy(self) -> Names:
        """Return a copy, for the inside of a function."""
        return Names(self._taken - self._programs, self._programs)


class Settings(NamedTuple):
    """The settings that a program and the functions inside it share."""

    exact: bool
    """Keep the types of scalars: they matter beside float32 and small integers."""
    adjoints: Mapping[Var, Var]
    """The value whose adjoint a variable is, for its name."""
    constants: dict[str, Any]
    """Receives the arrays that are too large to write out."""


def needs_exact_scalars(graph: Graph) -> bool:
    """Return whether a graph has types beside which a Python scalar and a NumPy scalar differ."""
    wide = all(var.dtype in (FLOAT64, INT64, BOOL) for var in graph.defined())
    return not wide or any(needs_exact_scalars(g) for equation in graph.equations for g in equation.graphs())


class Body:
    """The statements of one graph, with the given names of its inputs."""

    def __init__(self, graph: Graph, inputs: Mapping[Var, str], names: Names, settings: Settings) -> None:
        self.names = names
        self.settings = settings
        self.setup: list[Statement] = []
        """The first statements: they make constants and convert inputs."""
        self.statements: list[Statement] = []
        self._known = dict(inputs)
        differing = set[Var]() if settings.exact else _inputs_to_convert(graph)
        for var in graph.inputs:
            if var in differing:
                name = self._known[var]
                self.setup.append(Statement(f"{name} = np.{var.dtype.name}({name})"))
        for var, value in graph.constants:
            self._constant(var, value)
        for equation in graph.equations:
            self._equation(equation)
        self.results = [self.atom(atom) for atom in graph.outputs]

    def atom(self, atom: Atom) -> str:
        """Write an operand."""
        if isinstance(atom, Literal):
            return scalar_source(atom.value, self.settings.exact)
        return self._known[atom]

    def _constant(self, var: Var, value: Any) -> None:
        text = array_source(value)
        if text and len(text) <= _INLINE:
            self._known[var] = text
            return
        self._known[var] = name = self.names.numbered("c")
        if not text:
            key = f"c{len(self.settings.constants) + 1}"
            self.settings.constants[key] = value
            text = f'constants["{key}"]'
        self.setup.append(Statement(f"{name} = {text}"))

    def _equation(self, equation: Equation) -> None:
        if renames(equation) and not self.settings.exact:
            self._known[equation.outputs[0]] = self.atom(equation.operands[0])
            return
        expression = self._expression(equation)
        results = [self._name(var) for var in equation.outputs]
        left = ", ".join(results)
        if len(results) == 1 and any(equation.graphs()):
            left = f"({left},)"
        self._known.update(zip(equation.outputs, results, strict=True))
        self.statements.append(Statement(f"{left} = {expression}", equation.location, equation.outputs))

    def _name(self, var: Var) -> str:
        primal = self._known.get(self.settings.adjoints.get(var, var), "")
        return self.names.new(f"{primal}_bar") if primal.isidentifier() else self.names.numbered("v")

    def _expression(self, equation: Equation) -> str:
        """Write the right side of an equation."""
        operands = [self._operand(atom, equation) for atom in equation.operands]
        (out, *more) = equation.outputs
        if more or any(equation.graphs()):
            return self._call(equation, operands)
        if not self.settings.exact:
            return _text(equation, operands)
        if out.weak and equation.primitive not in _PYTHON_AGREES:
            if equation.primitive in _PYTHON_DIFFERS:
                operands[0] = f"np.{equation.operands[0].type.dtype.name}({operands[0]})"
            return f"{PYTHON_TYPE[out.dtype.kind].__name__}({_text(equation, operands)})"
        if equation.primitive in _NARROW_SUMS and out.dtype.kind in "iub":
            return f"{_text(equation, operands)}.astype(np.{out.dtype.name})"  # NumPy sums in int64
        return _text(equation, operands)

    def _operand(self, atom: Atom, equation: Equation) -> str:
        """Write an operand; a number beside a value of the same type needs no type."""
        if isinstance(atom, Literal) and REGISTRY[equation.primitive].elementwise:
            beside = (neighbour.type for neighbour in equation.operands if isinstance(neighbour, Var))
            if any(type_.dtype == atom.type.dtype and not type_.weak for type_ in beside):
                return scalar_source(atom.value, exact=False)
        return self.atom(atom)

    def _call(self, equation: Equation, operands: Sequence[str]) -> str:
        """Write the programs of an equation as functions, and the call of them."""
        if equation.params.get("length") == 0:
            return self._empty_scan(equation, operands)
        text = REGISTRY[equation.primitive].source(*operands, **equation.params)
        programs = {name: value for name, value in equation.params.items() if isinstance(value, Graph)}
        if programs and text.split("(")[0] not in HELPERS:  # the equation runs one program once: a plain call
            (param, graph), *_ = programs.items()
            name = re.sub(r"\W+", "_", str(equation.params.get("call", ""))).strip("_")
            name = self._function(name if name.isidentifier() else param, graph, equation)
            return f"{name}({', '.join(operands)})"
        for param, graph in programs.items():
            text = re.sub(rf"\b{param}\b(?!=)", self._function(param, graph, equation), text)
        return text

    def _empty_scan(self, equation: Equation, operands: Sequence[str]) -> str:
        """Write the results of a scan without steps: the first carries, and empty arrays."""
        start, count = equation.params["constants"], equation.params["carries"]
        rows = [array_source(np.zeros(var.shape, var.dtype)) for var in equation.outputs[count:]]
        results = [*operands[start : start + count], *rows]
        return f"({results[0]},)" if len(results) == 1 else ", ".join(results)

    def _function(self, wanted: str, graph: Graph, equation: Equation) -> str:
        """Add the function of a program of an equation, and return its name."""
        name = self.names.function(wanted)
        names = self.names.copy()
        called = (names.new(v.name) if v.name.isidentifier() else names.numbered("x") for v in graph.inputs)
        inputs = dict(zip(graph.inputs, called, strict=True))
        body = Body(graph, inputs, names, self.settings)
        results = f"({body.results[0]},)" if len(body.results) == 1 else ", ".join(body.results)
        lines = [*written([*body.setup, *body.statements]), f"return {results or '()'}"]
        inside = [f"    {line}".rstrip() for line in lines]
        text = "\n".join([f"def {name}({', '.join(inputs.values())}):", *inside])
        self.statements.append(Statement(text, equation.location))
        return name


def _text(equation: Equation, operands: list[str]) -> str:
    """Write an operation on the texts of its operands."""
    (out, *_) = equation.outputs
    if equation.primitive == "cast" and not out.weak:
        dtype = f"np.{out.dtype.name}"
        return f"{operands[0]}.astype({dtype})" if out.shape else f"{dtype}({operands[0]})"
    if equation.primitive == "multiply_no_nan":
        return f"multiply_no_nan({operands[0]}, {operands[1]})"
    if equation.primitive == "contract":
        return _contraction(operands, equation.params)
    if equation.primitive in _INDEXED:
        shape = equation.params.get("shape", equation.operands[0].type.shape)
        return _INDEXED[equation.primitive].format(
            *operands, shape=shape, i=as_index(equation.params["index"], shape)
        )
    if equation.primitive in ("power", "integer_power") and operands[0].startswith("-"):
        operands = [f"({operands[0]})", *operands[1:]]
    return one_axis(REGISTRY[equation.primitive].source(*operands, **equation.params))


def _contraction(operands: list[str], params: Mapping[str, Any]) -> str:
    subscripts = as_subscripts(params["extents"], params["accesses"], params["out"])
    if subscripts is None:
        return as_sum(operands, **params)
    return as_product(operands, **params) or f"np.einsum({subscripts!r}, {', '.join(operands)})"


def _inputs_to_convert(graph: Graph) -> set[Var]:
    """Return the inputs, Python scalars, that reach an operation with another result in Python than in NumPy."""
    reached: dict[Var, set[Var]] = {var: {var} for var in graph.inputs if var.weak}
    differing: set[Var] = set()
    for equation in graph.equations:
        variables = [operand for operand in equation.operands if isinstance(operand, Var)]
        if any(equation.graphs()) or not all(var in reached for var in variables):
            continue
        sources = set[Var]().union(*(reached[var] for var in variables))
        if equation.primitive in _PYTHON_DIFFERS:
            differing |= sources
        elif not renames(equation) and _CALL.search(_text(equation, ["x"] * len(equation.operands))):
            continue  # a NumPy function returns NumPy scalars
        reached[equation.outputs[0]] = sources
    return differing
