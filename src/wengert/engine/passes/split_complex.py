"""Split complex values: each becomes a pair of real values, so that the rest of the pipeline knows real numbers only.

Inside a program the real and the imaginary parts are arrays of their own, with layouts of their own. At the border
a complex array of n numbers is one of (n, 2) real numbers: the same memory.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.engine.core import tree
from wengert.engine.core.dtypes import BOOL, Dtype, dtype_of, is_complex, real_dtype
from wengert.engine.core.errors import DtypeError
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var, map_graphs
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.nest.lowering import ControlFlow, Elementwise, OnHost
from wengert.engine.ops.comparison import logical_or, not_equal
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.pairs import side_by_side
from wengert.engine.ops.shape import broadcast_to, concatenate, reshape, slice_, whole
from wengert.engine.passes.complex_arithmetic import OF_PARTS, Parts, both
from wengert.engine.passes.fast_transforms import goes_by_columns, is_native, transformed
from wengert.engine.passes.rewrite import inlined
from wengert.engine.passes.simplify import simplify
from wengert.engine.primitive import OF_PROGRAMS, REGISTRY, Linear, Primitive, primitive
from wengert.engine.transforms.staging import stage


def split_complex(graph: Graph) -> Graph:
    """Return the graph on real values; inputs and outputs that are complex get a last axis with their two parts."""
    return simplify(_Splitter(graph).outer())


def _part_type(type_: TensorType) -> TensorType:
    return type_._replace(dtype=real_dtype(type_.dtype))


def _paired_type(type_: TensorType) -> TensorType:
    """Return the type of the memory of a complex value: its parts side by side."""
    return TensorType(real_dtype(type_.dtype), (*type_.shape, 2))


# -- operations ------------------------------------------------------------------------------------------


def _carried_out(
    operation: Primitive, operands: Sequence[Any], types: Sequence[TensorType], result: Any, params: Any
) -> Any:
    """Return the result of an operation on values and `Parts`: as `Parts`, where it is complex."""
    rule = operation.derivative
    if operation.name in OF_PARTS:
        return OF_PARTS[operation.name](*_converted(operation, operands, types, result), **params)
    if operation.name == "cast":
        return _cast(operands[0], params["dtype"])
    if operation.name == "from_parts":
        dtype = real_dtype(result.dtype)
        return Parts(*(_as(x, dtype) for x in operands))
    if isinstance(rule, Linear) and _is_real(operation, types, params):
        apply = _jointly if rule.jointly else _multilinear
        return apply(operation, rule, operands, real_dtype(result.dtype), params)
    return None


def _is_real(operation: Primitive, types: Sequence[TensorType], params: Any) -> bool:
    """Return whether an operation takes real operands in place of complex ones, and has a real result then."""
    try:
        return not is_complex(operation.infer(*map(_part_type, types), **params).dtype)
    except DtypeError:
        return False


def _as(x: Any, dtype: Dtype) -> Any:
    """Return a value in a dtype; a Python number, which takes any, as it is."""
    is_number = getattr(x, "weak", not hasattr(x, "dtype"))
    return x if is_number or dtype_of(x) == dtype else cast(x, dtype=dtype)


def _as_parts(x: Any) -> Parts:
    return x if isinstance(x, Parts) else Parts(x, None)


def _converted(
    operation: Primitive, operands: Sequence[Any], types: Sequence[TensorType], result: Any
) -> list[Parts]:
    """Return the operands as `Parts` in the precision in which the operation works."""
    lowering = operation.lowering
    dtypes = lowering.dtypes(types, result) if isinstance(lowering, Elementwise) else [t.dtype for t in types]
    return [
        Parts(*(None if part is None else _as(part, real_dtype(dtype)) for part in _as_parts(x)))
        for x, dtype in zip(operands, dtypes, strict=True)
    ]


def _cast(z: Any, dtype: Dtype) -> Any:
    if is_complex(dtype):
        part_dtype = real_dtype(dtype)
        return Parts(*(None if part is None else cast(part, dtype=part_dtype) for part in _as_parts(z)))
    re, im = both(z)
    return logical_or(not_equal(re, 0), not_equal(im, 0)) if dtype == BOOL else cast(re, dtype=dtype)


def _jointly(operation: Primitive, rule: Linear, operands: Sequence[Any], dtype: Dtype, params: Any) -> Parts:
    """Apply an operation that is linear in some operands together to their real and to their imaginary parts."""
    linear = [(position, _as_parts(x)) for position, x in enumerate(operands) if rule.linear_in(position)]

    def part(number: int) -> Any:
        if all(z[number] is None for _, z in linear):
            return None
        values = list(operands)
        for position, z in linear:
            is_zero = z[number] is None
            values[position] = np.zeros(shape_of(z[1 - number]), dtype) if is_zero else _as(z[number], dtype)
        return operation(*values, **params)

    return Parts(part(0), part(1))


def _multilinear(
    operation: Primitive, rule: Linear, operands: Sequence[Any], dtype: Dtype, params: Any
) -> Parts:
    """Apply an operation that is linear in each of some operands to all choices of their parts.

    ``f(a + i b, c + i d) = f(a, c) - f(b, d) + i (f(a, d) + f(b, c))``.
    """
    choices = [
        [(number, part) for number, part in enumerate(_as_parts(x)) if part is not None] for x in operands
    ]
    total: list[Any] = [None, None]
    for choice in itertools.product(*choices):
        turns = sum(number for number, _ in choice)
        values = [_as(x, dtype) if rule.linear_in(n) else x for n, (_, x) in enumerate(choice)]
        term = operation(*values, **params)
        before = total[turns % 2]
        if turns % 4 >= 2:
            total[turns % 2] = -term if before is None else before - term
        else:
            total[turns % 2] = term if before is None else before + term
    return Parts(*total)


# -- operations left to NumPy ----------------------------------------------------------------------------


def _paired(z: Any) -> Any:
    """Return the memory of a complex array as real numbers with a last axis of two."""
    return np.ascontiguousarray(z).reshape(-1, 1).view(real_dtype(z.dtype)).reshape(*np.shape(z), 2)


def _complex(pairs: Any) -> Any:
    """Return the complex array in the memory of pairs of real numbers."""
    pairs = np.ascontiguousarray(pairs)
    return pairs.view(np.result_type(pairs.dtype, np.complex64)).reshape(pairs.shape[:-1])


def _on_pairs_type(*types: TensorType, operation: str, flags: Any, names: Any, values: Any) -> Any:
    inside = [
        TensorType(np.result_type(t.dtype, np.complex64), t.shape[:-1]) if flag else t
        for t, flag in zip(types, flags, strict=True)
    ]
    results = REGISTRY[operation].infer(*inside, **dict(zip(names, values, strict=True)))
    return _each(lambda type_: _paired_type(type_) if is_complex(type_.dtype) else type_, results)


def _each(function: Callable[[Any], Any], results: Any) -> Any:
    """Apply a function to the result of an operation, or to each of several."""
    several = isinstance(results, tuple) and not isinstance(results, TensorType)
    return tuple(map(function, results)) if several else function(results)


def _on_pairs(*operands: Any, operation: str, flags: Any, names: Any, values: Any) -> Any:
    inputs = [_complex(x) if flag else x for x, flag in zip(operands, flags, strict=True)]
    results = REGISTRY[operation].evaluate(*inputs, **dict(zip(names, values, strict=True)))
    return _each(lambda result: _paired(result) if is_complex(dtype_of(result)) else result, results)


def _on_pairs_source(*operands: str, operation: str, flags: Any, names: Any, values: Any) -> str:
    texts = [
        f"({x}[..., 0] + 1j * {x}[..., 1])" if flag else x for x, flag in zip(operands, flags, strict=True)
    ]
    return REGISTRY[operation].source(*texts, **dict(zip(names, values, strict=True)))


def _batch_on_pairs(
    operation: Primitive, size: int, operands: Sequence[Any], batched: Sequence[bool], params: Any
) -> Any:
    """Carry an operation out for one example after the other."""
    types = [TensorType(dtype_of(x), shape_of(x)[flag:]) for x, flag in zip(operands, batched, strict=True)]
    of_one = operation.infer(*types, **params)
    results = [_each(lambda type_: np.zeros((0, *type_.shape), type_.dtype), of_one)]
    for example in range(size):
        inputs = [_example(x, example) if flag else x for x, flag in zip(operands, batched, strict=True)]
        results.append(_each(lambda x: reshape(x, shape=(1, *shape_of(x))), operation(*inputs, **params)))
    if not isinstance(results[0], tuple):
        return concatenate(*results, axis=0)
    return tuple(concatenate(*columns, axis=0) for columns in zip(*results, strict=True))


def _example(x: Any, number: int) -> Any:
    index = whole(shape_of(x))
    return reshape(slice_(x, index=((number, 1, 1), *index[1:])), shape=shape_of(x)[1:])


on_pairs = primitive(
    name="on_pairs",
    doc="an operation on complex arrays, which come and go as pairs of real numbers along a last axis",
    type_rule=_on_pairs_type,
    evaluate=_on_pairs,
    derivative=OF_PROGRAMS,
    batch=_batch_on_pairs,
    lowering=OnHost("it has no rule for the parts of complex numbers"),
    source=_on_pairs_source,
    samples=lambda draw: (
        (np.stack([draw.array((3,)), draw.array((3,))], -1),),
        {"operation": "argsort", "flags": (True,), "names": ("axis",), "values": (0,)},
    ),
)


# -- the walk --------------------------------------------------------------------------------------------


class _Splitter:
    """A walk along a graph that writes one on real values."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.constants: list[tuple[Var, Any]] = []
        self.equations: list[Equation] = []
        self.known: dict[Var, Atom | tuple[Atom, Atom]] = {}
        """The values of the new graph, by those that they replace: two parts for a complex one."""
        self.zeros: dict[Atom, int] = {}
        """The part of a complex value that is certainly zero: 0 for the real one, 1 for the imaginary one."""
        self.transposed: dict[Var, tuple[Var, tuple[int, ...]]] = {}
        """The operands of transpositions, and their permutations, by the results."""

    # -- borders -----------------------------------------------------------------------------------------

    def outer(self) -> Graph:
        """Return the graph whose complex inputs and outputs are pairs along a last axis."""
        inputs: list[Var] = []
        for var in self.graph.inputs:
            if is_complex(var.dtype):
                inputs.append(Var(_paired_type(var.type), var.name))
                self.define([var], self.write(_apart, [inputs[-1]], ""))
            else:
                inputs.append(var)
        self.body()
        outputs = [self._joined(atom) for atom in self.graph.outputs]
        return Graph(tuple(inputs), tuple(self.constants), tuple(self.equations), tuple(outputs))

    def _joined(self, atom: Atom) -> Atom:
        if not is_complex(atom.type.dtype):
            return self.atom(atom)
        dtype = real_dtype(atom.type.dtype)
        return self.write(lambda *parts: [_side_by_side(parts, dtype)], self.parts(atom), "")[0]

    def inner(self) -> Graph:
        """Return the graph whose complex inputs and outputs are two values each."""
        inputs = self.variables(self.graph.inputs)
        self.body()
        outputs = self.flat(self.graph.outputs)
        return Graph(tuple(inputs), tuple(self.constants), tuple(self.equations), tuple(outputs))

    # -- values ------------------------------------------------------------------------------------------

    def atom(self, atom: Atom) -> Atom:
        """Return the value in the new graph that replaces a real one."""
        value = atom if isinstance(atom, Literal) else self.known.get(atom, atom)
        assert not isinstance(value, tuple)
        return value

    def parts(self, atom: Atom) -> tuple[Atom, Atom]:
        """Return the parts of a complex value."""
        if isinstance(atom, Literal):
            re, im = atom.value.real, atom.value.imag
            return Literal(re, type_of(re)), Literal(im, type_of(im))
        pair = self.known[atom]
        assert isinstance(pair, tuple)
        return pair

    def flat(self, atoms: Iterable[Atom]) -> list[Atom]:
        """Return values with two for each complex one."""
        values: list[Atom] = []
        for atom in atoms:
            values += self.parts(atom) if is_complex(atom.type.dtype) else (self.atom(atom),)
        return values

    def variables(self, originals: Iterable[Var]) -> list[Var]:
        """Return variables for values: two new ones for each complex value."""
        replacements: list[Var] = []
        for var in originals:
            if is_complex(var.dtype):
                pair = Var(_part_type(var.type)), Var(_part_type(var.type))
                self.known[var] = pair
                replacements += pair
            else:
                replacements.append(var)
        return replacements

    def define(self, variables: Iterable[Var], results: Sequence[Atom]) -> None:
        """Let results stand for values: two for each complex value."""
        supply = iter(results)
        for var in variables:
            self.known[var] = (next(supply), next(supply)) if is_complex(var.dtype) else next(supply)

    # -- equations ---------------------------------------------------------------------------------------

    def body(self) -> None:
        """Write the equations."""
        for var, value in self.graph.constants:
            if is_complex(var.dtype):
                self.known[var] = self._constant(value.real), self._constant(value.imag)
                if not (value.real.any() and value.imag.any()):
                    self.zeros[var] = int(bool(value.real.any()))
            else:
                self.constants.append((var, value))
        for equation in self.graph.equations:
            self.equation(equation)

    def _constant(self, value: Any) -> Var:
        array = np.ascontiguousarray(value)
        array.flags.writeable = False
        var = Var(TensorType(array.dtype, array.shape))
        self.constants.append((var, array))
        return var

    def equation(self, equation: Equation) -> None:
        """Write one equation."""
        operation = REGISTRY[equation.primitive]
        if equation.primitive == "transpose" and isinstance(equation.operands[0], Var):
            self.transposed[equation.outputs[0]] = equation.operands[0], equation.params["permutation"]
        if isinstance(operation.lowering, ControlFlow):
            self.control_flow(equation)
        elif any(is_complex(atom.type.dtype) for atom in (*equation.operands, *equation.outputs)):
            self.operation(operation, equation)
        else:
            operands = tuple(map(self.atom, equation.operands))
            self.equations.append(replace(equation, operands=operands))

    def operation(self, operation: Primitive, equation: Equation) -> None:
        """Write an operation on parts as operations on real values."""
        out = equation.outputs[0]
        types = [atom.type for atom in equation.operands]
        flags = [is_complex(type_.dtype) for type_ in types]
        if is_native(equation):
            self.transform(equation)
            return
        literals = [atom.value if isinstance(atom, Literal) else None for atom in equation.operands]
        zeros = [None if isinstance(x, Literal) else self.zeros.get(x) for x in equation.operands]
        atoms = self.given(equation)

        def program(*values: Any) -> list[Any]:
            supply = iter(values)
            operands = [_operand(*each, supply) for each in zip(flags, zeros, literals, strict=True)]
            with np.errstate(all="ignore"):  # numbers may be divided by a zero that the program writes
                result = _carried_out(operation, operands, types, out.type, equation.params)
            if result is None:
                return _by_numpy(operation, operands, types, flags, equation)
            if isinstance(result, Parts) and (result.re is None) != (result.im is None):
                self.zeros[out] = int(result.im is None)
            return _fitted(result, out.type)

        self.define(equation.outputs, self.write(program, atoms, equation.location))

    def given(self, equation: Equation) -> list[Atom]:
        """Return the values that an operation takes: both parts of a complex one, but for a part that is zero."""
        values: list[Atom] = []
        for atom in equation.operands:
            if not isinstance(atom, Literal):
                parts = self.flat([atom])
                values += [parts[1 - self.zeros[atom]]] if atom in self.zeros else parts
        return values

    def transform(self, equation: Equation) -> None:
        """Write a Fourier transform in native steps: of columns where the operand is a transposed array."""
        (operand,) = equation.operands
        assert isinstance(operand, Var)
        source, permutation = self.transposed.get(operand, (operand, ()))
        if not permutation or not goes_by_columns(source.type, permutation):
            source, permutation = operand, ()

        def program(*parts: Any) -> list[Any]:
            return transformed(equation, parts, permutation)

        atoms = self.flat([source])
        if equation.primitive == "dft" and self.zeros.get(operand) == 1:
            atoms = atoms[:1]
        self.define(equation.outputs, self.write(program, atoms, equation.location))

    def write(
        self, program: Callable[..., Sequence[Any]], operands: Sequence[Atom], location: str
    ) -> list[Atom]:
        """Write down the equations of a program, and return its results."""
        return self.inline(simplify(stage(program, [atom.type for atom in operands])[0]), operands, location)

    def inline(self, graph: Graph, operands: Sequence[Atom], location: str | None = None) -> list[Atom]:
        """Write down the equations of a graph, and return its results."""
        equations, results = inlined(graph, operands, location)
        self.constants += graph.constants
        self.equations += equations
        return results

    # -- control flow ------------------------------------------------------------------------------------

    def control_flow(self, equation: Equation) -> None:
        """Write an operation that holds programs, with two values for each complex one."""
        params = dict(equation.params)
        if "call" in params:
            self._custom(equation)
            return
        for name in _COUNTS.get(equation.primitive, ()):
            params[name] = self._count(equation, name)
        params = {
            name: map_graphs(lambda graph: _Splitter(graph).inner(), param) for name, param in params.items()
        }
        operands, outputs = tuple(self.flat(equation.operands)), tuple(self.variables(equation.outputs))
        self.equations.append(replace(equation, operands=operands, outputs=outputs, params=params))

    def _count(self, equation: Equation, name: str) -> int:
        """Return the number of operands that a parameter counts, with two for each complex one."""
        names = _COUNTS[equation.primitive]
        operands = equation.operands[1:] if equation.primitive in _COUNTED else equation.operands
        start = sum(equation.params[before] for before in names[: names.index(name)])
        counted = operands[start : start + equation.params[name]]
        return len(counted) + sum(is_complex(atom.type.dtype) for atom in counted)

    def _custom(self, equation: Equation) -> None:
        """Write the function itself: its derivative rule has been applied already."""
        types = [atom.type for atom in equation.operands]
        graph = equation.params["graph"] or stage(equation.params["call"].value, types)[0]
        self.define(equation.outputs, self.inline(_Splitter(graph).inner(), self.flat(equation.operands)))


#: The loops whose first operand is a number of turns.
_COUNTED = ("bounded_scan", "checkpointed_scan")
#: The parameters of control flow that count its leading operands, in order.
_COUNTS = {
    "scan": ("constants", "carries"),
    "bounded_scan": ("constants", "carries"),
    "checkpointed_scan": ("constants", "carries"),
    "while": ("tested", "fixed"),
}


def _operand(is_complex_: bool, zero: int | None, literal: Any, values: Any) -> Any:
    """Return an operand of a program: a number as it is, or the next values."""
    if zero is not None:
        return Parts(next(values), None) if zero else Parts(None, next(values))
    if literal is None:
        return Parts(next(values), next(values)) if is_complex_ else next(values)
    if not is_complex_:
        return literal
    re, im = literal.real, literal.imag
    return Parts(re, im) if literal == 0 else Parts(None if re == 0 else re, None if im == 0 else im)


def _by_numpy(
    operation: Primitive,
    operands: Sequence[Any],
    types: Sequence[TensorType],
    flags: Any,
    equation: Equation,
) -> list[Any]:
    """Return the parts of the results of NumPy's evaluation, on pairs of real numbers."""
    inputs = [
        _side_by_side(both(z), real_dtype(type_.dtype)) if isinstance(z, Parts) else z
        for z, type_ in zip(operands, types, strict=True)
    ]
    names, values = tuple(equation.params), tuple(equation.params.values())
    results = on_pairs(*inputs, operation=operation.name, flags=tuple(flags), names=names, values=values)
    parts = list[Any]()
    for out, result in zip(equation.outputs, tree.leaves(results), strict=True):
        parts += _apart(result) if is_complex(out.dtype) else [result]
    return parts


def _apart(pairs: Any) -> list[Any]:
    """Return the real and the imaginary part of pairs along the last axis."""
    index = whole(shape_of(pairs))[:-1]
    return [slice_(pairs, index=(*index, number)) for number in range(2)]


def _side_by_side(parts: Sequence[Any], dtype: Dtype) -> Any:
    shape = functools.reduce(np.broadcast_shapes, map(shape_of, parts))
    return side_by_side(*(broadcast_to(_as_array(x, dtype), shape=shape) for x in parts))


def _as_array(x: Any, dtype: Dtype) -> Any:
    return x if hasattr(x, "dtype") and dtype_of(x) == dtype else cast(x, dtype=dtype)


def _fitted(result: Any, type_: TensorType) -> list[Any]:
    """Return the parts of a result in its type."""
    wanted = _part_type(type_)
    parts = list(result) if isinstance(result, Parts) else [result]
    if is_complex(type_.dtype) and len(parts) == 1:
        parts.append(None)
    return [_of_type(0.0 if part is None else part, wanted) for part in parts]


def _of_type(x: Any, wanted: TensorType) -> Any:
    if shape_of(x) != wanted.shape:
        x = broadcast_to(x, shape=wanted.shape)
    is_typed = dtype_of(x) == wanted.dtype and (wanted.weak or hasattr(x, "dtype"))
    return x if is_typed else cast(x, dtype=wanted.dtype)
