"""The verifier: the invariants of a program of nests, which every pass keeps.

Every buffer is written before it is read; extents and dtypes agree; every access lies inside its buffer at all points;
combiners are legal; no two parallel points write the same element.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from wengert.compiler.passes.interference import keeps_apart
from wengert.engine.core.errors import WengertError
from wengert.engine.nest.expression import (
    SUMS,
    Apply,
    Buffer,
    Const,
    Expression,
    Guard,
    Iota,
    Load,
    Reduce,
    children,
    computed,
    factors,
    indices_of,
)
from wengert.engine.nest.index import Computed, Digit, Dim, Index, Term
from wengert.engine.nest.nest import (
    Branch,
    Call,
    Host,
    Loop,
    Nest,
    Program,
    Sort,
    Step,
    Store,
    While,
    inner_blocks,
    reads,
    writes,
)
from wengert.engine.nest.printer import Names, step_lines

_REDUCERS = frozenset("add multiply maximum minimum logical_and logical_or argmax argmin".split())  # noqa: SIM905
_STORE_COMBINERS = frozenset(("", "add", "multiply", "maximum", "minimum", "logical_and", "logical_or"))
_MOST_POINTS = 20_000
"""The most points at which an access or a store is evaluated if bounds decide nothing; beyond, that many are drawn."""

Condition: TypeAlias = tuple[Index, int]
"""An index, and the extent that it is below; it is not negative."""
Case: TypeAlias = tuple[tuple[Condition, ...], bool]
"""Conditions, and whether all of them hold."""


class VerificationError(WengertError, AssertionError):
    """A pass of the compiler broke an invariant of nests. This is a bug of Wengert."""


class Verifier:
    """Checks the program after each pass; a nest that passes leave alone is checked once.

    Example:
        >>> from wengert.compiler.passes.lower import lower
        >>> from wengert.engine.ir.parser import parse
        >>> verify = Verifier()
        >>> verify(lower(parse("graph(x: f64[3]) { v1: f64[3] = negative(x) return v1 }")), "lower")
    """

    def __init__(self) -> None:
        self._known: dict[int, Nest] = {}

    def __call__(self, program: Program, name: str) -> None:
        """Raise a `VerificationError` with pass, invariant and step, if the result of a pass is not valid."""
        written = {*program.inputs, *(buffer for buffer, _ in program.constants)}
        self._steps(program.steps, written, frozenset(), name)
        for buffer in program.outputs:
            if buffer not in written and buffer.size:
                raise VerificationError(f"pass {name}: the result {buffer!r} is never written")

    def _steps(self, steps: Sequence[Step], written: set[Buffer], around: frozenset[Dim], name: str) -> None:
        """Check steps in order, inside loops with some counters; add the buffers that they write."""
        for step in steps:
            self._step(step, written, around, name)

    def _step(self, step: Step, written: set[Buffer], around: frozenset[Dim], name: str) -> None:
        match step:
            case Loop(counter=counter, steps=steps):
                self._steps(steps, written, around | {counter}, name)
            case Branch(predicate=predicate, yes=yes, no=no):
                self._require((predicate,), written, step, name)
                ways = set(written), set(written)
                for block, way in zip((yes, no), ways, strict=True):
                    self._steps(block, way, around, name)
                written |= ways[0] & ways[1]
            case While(condition=condition, steps=steps, counter=counter):
                self._steps(condition, written, around, name)
                self._require(step.controls, written, step, name)
                # The rows of turns that do not happen are never read.
                inside = set(written) if counter is None else written
                self._steps(steps, inside, around if counter is None else around | {counter}, name)
            case Host() | Sort() | Call():
                self._require(reads(step), written, step, name)
                written.update(writes(step))
            case Nest():
                combined = {store.buffer for store in step.stores if store.combiner}
                missing = set(step.reads()) - (set(step.writes()) - combined) - written
                if missing:
                    alive = {load.buffer for load in _live_loads(step)} | combined
                    self._require(missing & alive, written, step, name)
                if self._known.get(id(step)) is not step:
                    _Nest(step, around, name).check()
                    self._known[id(step)] = step
                written.update(step.writes())

    def _require(self, buffers: Iterable[Buffer], written: Collection[Buffer], step: Step, name: str) -> None:
        for buffer in buffers:
            if buffer not in written and buffer.size:
                _fail(name, f"{buffer!r} is read before it is written", step)


def _live_loads(nest: Nest) -> Iterator[Load]:
    """Yield the loads of a nest that are not behind conditions that never hold."""
    waiting, seen = list(nest.roots()), set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Load):
            yield node
        if isinstance(node, Guard) and any(
            index.bounds[1] < 0 or index.bounds[0] >= extent for index, extent in node.conditions
        ):
            waiting.append(node.otherwise)
        else:
            waiting += children(node)


def _fail(name: str, problem: str, step: Step) -> NoReturn:
    text = "\n".join(step_lines(step, Names())) if not inner_blocks(step) else type(step).__name__
    where = f" [{step.location}]" if step.location else ""
    raise VerificationError(f"pass {name}: {problem}{where}\n{text}")


class _Nest:
    """The checks of one nest, which a pass ``name`` made, inside loops with the counters."""

    def __init__(self, nest: Nest, counters: frozenset[Dim], name: str) -> None:
        self.nest = nest
        self.name = name
        self.around = frozenset(part for dim in counters for part in dim.parts) | counters
        self.forms = _Forms()
        self.computed: dict[tuple[int, int], Computed] = {}
        self.visited: set[tuple[int, tuple[Case, ...]]] = set()

    def fail(self, problem: str) -> NoReturn:
        """Raise the error."""
        _fail(self.name, problem, self.nest)

    def check(self) -> None:
        """Check the stores and their values, and that parallel points write different elements."""
        nest = self.nest
        if len(set(nest.dims)) != len(nest.dims) or not nest.sequential <= set(nest.dims):
            self.fail("the dimensions of a nest must differ, and the sequential ones must be among them")
        reduced = {dim for node in nest.nodes() if isinstance(node, Reduce) for dim in node.dims}
        for store in nest.stores:
            if store.combiner not in _STORE_COMBINERS:
                self.fail(f"a store cannot combine by {store.combiner!r}")
            if not set(store.along) <= reduced:
                self.fail("a store along a reduction needs its dimensions")
            if store.value.dtype != store.buffer.dtype:
                self.fail(f"{store.value.dtype} is stored into {store.buffer.dtype}")
            dims = {*nest.dims, *store.along, *self.around}
            self.access(store.buffer, store.indices, dims, ())
            self.expression(store.value, dims, ())
            self.races(store)
        self.dependences()

    # -- expressions -------------------------------------------------------------------------------------

    def expression(self, node: Expression, dims: Collection[Dim], cases: tuple[Case, ...]) -> None:
        """Check an expression in which the dimensions are known and the conditions hold."""
        if (id(node), cases) in self.visited:
            return
        self.visited.add((id(node), cases))
        match node:
            case Load(buffer=buffer, indices=indices):
                self.access(buffer, indices, dims, cases)
            case Iota(index=index):
                self.known((index,), dims)
            case Guard(conditions=conditions, body=body, otherwise=otherwise):
                self.known([index for index, _ in conditions], dims)
                if otherwise.dtype != body.dtype:
                    self.fail("the two values of a guard have different dtypes")
                self.expression(body, dims, (*cases, (conditions, True)))
                self.expression(otherwise, dims, (*cases, (conditions, False)))
            case Reduce(combiner=combiner, dims=own, body=body):
                if combiner not in _REDUCERS:
                    self.fail(f"a reduction cannot combine by {combiner!r}")
                self.expression(body, {*dims, *own}, cases)
            case Apply(operands=operands):
                if node.operation in SUMS and node.param and factors(operands[node.param - 1]) is None:
                    self.fail("a sum names an operand that it does not round, and that is not a product")
                for operand in operands:
                    self.expression(operand, dims, cases)
            case _:
                pass
        for inner in computed(indices_of(node)):
            self.expression(inner, dims, cases)

    def known(self, indices: Sequence[Index], dims: Collection[Dim]) -> None:
        """Check that indices depend on dimensions that are known where they stand."""
        parts = {part for dim in dims for part in dim.parts}
        for index in indices:
            for dim in index.dims():
                if dim not in dims and dim not in parts and dim.extent > 1:
                    self.fail(f"the index {index} follows the dimension {dim!r}, which is not known there")

    def access(
        self, buffer: Buffer, indices: Sequence[Index], dims: Collection[Dim], cases: tuple[Case, ...]
    ) -> None:
        """Check that an element lies inside its buffer wherever the conditions hold."""
        if len(indices) != len(buffer.shape):
            self.fail(f"{buffer!r} is read or written with {len(indices)} indices")
        self.known(indices, dims)
        if any(dim.extent == 0 for dim in dims):
            return
        for index, extent in zip(indices, buffer.shape, strict=True):
            low, high = index.bounds
            if (low < 0 or high >= extent) and not self.lies_inside(index, extent, cases):
                self.fail(f"the index {index} leaves the axis of {extent} elements of {buffer!r}")

    def lies_inside(self, index: Index, extent: int, cases: tuple[Case, ...]) -> bool:
        """Return whether an index lies in ``[0, extent)`` in some cases."""
        same = [
            (tuple((self.canonical(condition), bound) for condition, bound in conditions), hold)
            for conditions, hold in cases
        ]
        return _lies_inside(self.canonical(index), extent, same)

    def canonical(self, index: Index) -> Index:
        """Return an index with one object for all computed terms that are written alike."""

        def replaced(term: Term) -> Index | None:
            if not isinstance(term, Computed):
                return None
            return Index.of(self.computed.setdefault((term.extent, self.forms(term.expression)), term))

        return index.substitute(replaced)

    # -- parallel points ---------------------------------------------------------------------------------

    def races(self, store: Store) -> None:
        """Check that points which differ in a parallel dimension write different elements."""
        parallel = [dim for dim in self.nest.dims if dim not in self.nest.sequential]
        if not _is_injective(store.indices, parallel, (*self.nest.dims, *store.along)):
            self.fail(f"two parallel points write the same element of {store.buffer!r}")

    def dependences(self) -> None:
        """Check that a point reads no element that another point writes, unless the points run in order."""
        if self.nest.sequential or math.prod(dim.extent for dim in self.nest.dims) <= 1:
            return
        places: dict[Buffer, set[tuple[Index, ...]]] = {}
        for store in self.nest.stores:
            places.setdefault(store.buffer, set()).add(tuple(map(self.canonical, store.indices)))
        for load in _live_loads(self.nest):
            if load.buffer not in places:
                continue
            same = places[load.buffer] == {tuple(map(self.canonical, load.indices))}
            # A point computes all values before it stores the first: those of its own elements are still there.
            if not same and not keeps_apart(self.nest, {load.buffer}, {load.buffer}):
                self.fail(f"{load.buffer!r} is read where another point writes")


class _Forms:
    """Numbers expressions and indices: those that are written alike have the same number."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._known: dict[int, tuple[Expression | Index, int]] = {}

    def __call__(self, node: Expression | Index) -> int:
        known = self._known.get(id(node))
        if known is None:
            form = self._of_index(node) if isinstance(node, Index) else self._of_expression(node)
            known = self._known[id(node)] = node, self._numbers.setdefault(form, len(self._numbers))
        return known[1]

    def _of_expression(self, node: Expression) -> Any:
        match node:
            case Const(value=value, dtype=dtype):
                return repr(value), dtype
            case Iota(index=index, dtype=dtype):
                return self(index), dtype
            case Load(buffer=buffer, indices=indices):
                return buffer, tuple(map(self, indices))
            case Apply(operation=operation, operands=operands, dtype=dtype, param=param):
                return operation, dtype, param, tuple(map(self, operands))
            case Guard(conditions=conditions, body=body, otherwise=otherwise):
                tests = tuple((self(index), extent) for index, extent in conditions)
                return tests, self(body), self(otherwise)
            case Reduce():
                return "Reduce", id(node)

    def _of_index(self, index: Index) -> Any:
        return index.offset, tuple((self._of_term(term), coefficient) for term, coefficient in index.terms)

    def _of_term(self, term: Term) -> Any:
        match term:
            case Computed(expression=expression, extent=extent):
                return self(expression), extent
            case Digit(index=inner, divisor=divisor, modulus=modulus):
                return self(inner), divisor, modulus
            case _:
                return term


def _lies_inside(index: Index, extent: int, cases: Sequence[Case]) -> bool:
    """Return whether an index lies in ``[0, extent)`` in some cases."""
    for condition, bound in (pair for conditions, hold in cases if hold for pair in conditions):
        low, high = (index - condition).bounds
        if low >= 0 and high + bound - 1 < extent:
            return True
    terms = _terms([index, *(condition for conditions, _ in cases for condition, _ in conditions)])
    points = _points([max(term.extent, 1) for term in terms])
    values = dict(zip(terms, points, strict=True))
    wanted = np.ones(points.shape[1:], bool)
    for conditions, hold in cases:
        tests = [(_evaluate(condition, values), bound) for condition, bound in conditions]
        holds = np.all([(value >= 0) & (value < bound) for value, bound in tests], axis=0)
        wanted &= holds == hold
    position = _evaluate(index, values)
    return bool(np.all(~wanted | ((position >= 0) & (position < extent))))


def _is_injective(indices: Sequence[Index], parallel: Sequence[Dim], dims: Sequence[Dim]) -> bool:
    """Return whether points that differ in a parallel dimension have different elements, where all dimensions vary."""
    unknown, wanted = _parts(dims), _parts(parallel)
    affine = [index for index in indices if index.is_affine]
    while unknown & wanted:
        determined = {dim for index in affine for dim in _determined(index, unknown)}
        if not determined:
            break
        unknown -= determined
    if not unknown & wanted:
        return True
    varying = list(_parts(dims))
    if any(isinstance(term, Computed) for term in _terms(indices)):
        return False
    if math.prod(dim.extent for dim in varying) > _MOST_POINTS:
        return all(any(dim in _parts(index.dims()) for index in indices) for dim in unknown & wanted)
    points = _points([dim.extent for dim in varying])
    values = dict(zip(varying, points, strict=True))
    constant = {term: np.int64(0) for term in _terms(indices) if term not in values}
    element = [np.broadcast_to(_evaluate(index, values | constant), points.shape[1:]) for index in indices]
    point = [values[dim] for dim in varying if dim in wanted]
    both = np.unique(np.stack([*element, *point], axis=1), axis=0)
    return len(both) == len(np.unique(both[:, : len(element)], axis=0))


def _parts(dims: Iterable[Dim]) -> set[Dim]:
    """Return the dimensions of more than one point that some consist of."""
    return {part for dim in dims for part in dim.parts if part.extent > 1}


def _determined(index: Index, unknown: Collection[Dim]) -> Iterable[Dim]:
    """Return the unknown dimensions if the value of an index determines them, as digits of a mixed radix."""
    terms = sorted(
        (abs(coefficient), number, dim)
        for number, (dim, coefficient) in enumerate(_coefficients(index).items())
        if dim in unknown
    )
    reach = 0
    for coefficient, _, dim in terms:
        if coefficient <= reach:
            return ()
        reach += coefficient * (dim.extent - 1)
    return [dim for _, _, dim in terms]


def _coefficients(index: Index) -> dict[Dim, int]:
    """Return the coefficients of an affine index, those of a dimension with parts for each part."""
    coefficients: dict[Dim, int] = {}
    for term, coefficient in index.terms:
        assert isinstance(term, Dim)
        stride = coefficient
        for part in reversed(term.parts):
            coefficients[part] = coefficients.get(part, 0) + stride
            stride *= part.extent
    return coefficients


def _terms(indices: Iterable[Index]) -> list[Any]:
    """Return the dimensions and the computed terms of indices, each once."""
    distinct: dict[Any, None] = {}
    for index in indices:
        for term, _ in index.terms:
            if isinstance(term, Digit):
                distinct.update(dict.fromkeys(_terms([term.index])))
            elif isinstance(term, Dim):
                distinct.update(dict.fromkeys(term.parts))
            else:
                distinct[term] = None
    return list(distinct)


def _points(extents: Sequence[int]) -> Any:
    """Return the points of a grid as columns, or as many of them as are evaluated, corners first."""
    count = math.prod(extents)
    if count <= _MOST_POINTS:
        return (
            np.indices(extents, np.int64).reshape(len(extents), -1) if extents else np.zeros((0, 1), np.int64)
        )
    corners = list(itertools.islice(itertools.product(*((0, n - 1) for n in extents)), 4096))
    drawn = np.random.default_rng(count).integers(0, np.array(extents), (_MOST_POINTS, len(extents)))
    return np.concatenate([np.array(corners, np.int64), drawn]).T


def _evaluate(index: Index, values: Mapping[Any, Any]) -> Any:
    """Return an index at points, given the values of computed terms and of parts of dimensions."""

    def value(term: Dim | Computed) -> Any:
        if isinstance(term, Computed) or len(term.parts) == 1:
            return values[term]
        number: Any = np.int64(0)
        for part in term.parts:
            number = number * part.extent + values[part]
        return number

    return index.at(value)
