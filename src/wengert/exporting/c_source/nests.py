"""A nest as loops of C: reductions in variables, values that several places read in constants, then the stores."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from wengert.compiler import scalars
from wengert.engine.core.dtypes import BOOL, INT64
from wengert.engine.nest.expression import (
    CHECKS,
    CONDITIONS,
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
    indices_of,
    is_zero,
    may_lie_outside,
    may_report,
)
from wengert.engine.nest.index import Computed, Digit, Dim, Index, Term, flatten, without_unit
from wengert.engine.nest.nest import Nest, Store
from wengert.exporting.c_source import values as c
from wengert.exporting.c_source.layout import Names
from wengert.exporting.c_source.operations import Operations, Unsupported
from wengert.exporting.c_source.values import Value
from wengert.exporting.c_source.vectors import PARTS, ROW, UNROLLED, can_share_rows, can_split, is_cheap

INT_MAX = 2**31 - 1
_TOTALS = {"add": "sum", "multiply": "product", "maximum": "largest", "minimum": "smallest",
           "logical_and": "all", "logical_or": "any", "argmax": "largest", "argmin": "smallest"}  # fmt: skip
_Ranges = Mapping[Dim, Callable[[], tuple[str, str]]]
"""For some dimensions, what gives the first point of the loop and the one after the last."""


@dataclass
class Block:
    """A block of C that is being written."""

    dims: frozenset[Dim]
    """The dimensions whose counters are known in it."""
    names: set[str]
    is_guarded: bool = False
    """Whether it runs only where a condition holds."""
    lines: list[str] = field(default_factory=list[str])
    known: dict[int, Value] = field(default_factory=dict[int, Value])
    """The values that have names in it, by node."""


@dataclass
class Writer:
    """What the nests of a function share."""

    names: Names
    operations: Operations
    element: Callable[[Buffer, str], Value]
    """Returns an element of a buffer, by its position in row-major order."""
    error: Callable[[Apply], str]
    """Returns the statement that returns the code of an error."""
    vectors: bool
    """Whether loops are written so that compilers make vectors of them."""
    counters: dict[Dim, str] = field(default_factory=dict[Dim, str])
    """The counters of the open loops."""


class _Total(NamedTuple):
    """A reduction under way."""

    node: Reduce
    body: Expression
    cell: str
    """The variable or the element that holds it."""
    place: str = ""
    """The variable that holds the position of an extremum."""


class NestWriter:
    """Writes one nest."""

    def __init__(self, nest: Nest, writer: Writer, lines: list[str]) -> None:
        self.nest = nest
        self.writer = writer
        self.names, self.operations = writer.names, writer.operations
        self.blocks = [Block(frozenset(writer.counters), self.names.block, lines=lines)]
        self.written = {*nest.writes()}
        self.times = Counter(id(child) for node in nest.nodes() for child in children(node))
        self.times.update(map(id, nest.roots()))
        self._dims: dict[int, frozenset[Dim]] = {}
        self._kept: list[Expression] = []  # their identities are keys

    def write(self, declare: Callable[[Buffer], str]) -> None:
        """Write the loops; ``declare`` gives the beginning of the store that declares a variable."""
        if any(dim.extent == 0 for dim in self.nest.dims):
            return
        dims = without_unit(sorted(self.nest.dims, key=lambda dim: dim in self.nest.sequential))
        if self.writer.vectors and dims and can_share_rows(self.nest, dims[-1]):
            with self._loops(dims[:-1]):
                self._row(dims[-1])
            return
        with self._loops(dims):
            groups: dict[tuple[Dim, ...], list[Reduce]] = {}
            for node in self.nest.reductions():
                groups.setdefault(node.dims, []).append(node)
            for along, nodes in groups.items():
                self._reduce(nodes, [store for store in self.nest.stores if along and store.along == along])
            self._store([store for store in self.nest.stores if not store.along], declare)

    # -- blocks ------------------------------------------------------------------------------------------

    @property
    def _block(self) -> Block:
        return self.blocks[-1]

    def _line(self, text: str) -> None:
        self._block.lines.append(text)

    def _new(self, name: str) -> str:
        return self.names.new(name, self._block.names)

    @contextmanager
    def _apart(self, dims: Iterable[Dim] = (), *, is_guarded: bool = False) -> Generator[Block]:
        """Open a block whose lines are not written yet."""
        block = Block(self._block.dims.union(dims), self.names.open(), is_guarded)
        self.blocks.append(block)
        yield block
        self.names.close()
        self.blocks.pop()

    @contextmanager
    def _inside(self, head: str, dims: Iterable[Dim] = ()) -> Generator[None]:
        """Write a block behind a head."""
        with self._apart(dims) as block:
            yield
        self._block.lines += [f"{head} {{", *(f"    {line}" for line in block.lines), "}"]

    @contextmanager
    def _at(self, number: int) -> Generator[None]:
        """Write in a block further out for a while: before what is open inside it."""
        blocks, self.blocks = self.blocks, self.blocks[: number + 1]
        yield
        self.blocks = blocks

    @contextmanager
    def _loop(self, dim: Dim, start: str = "0", stop: str = "", step: int = 1) -> Generator[str]:
        """Open the loop over a dimension."""
        self.names.open()
        counter = self.writer.counters[dim] = self.names.counter()
        turn = f"{counter} += {step}" if step > 1 else f"{counter}++"
        with self._inside(f"for (int {counter} = {start}; {counter} < {stop or dim.extent}; {turn})", [dim]):
            yield counter
        del self.writer.counters[dim]
        self.names.close()

    @contextmanager
    def _loops(self, dims: Iterable[Dim], ranges: _Ranges | None = None) -> Generator[None]:
        """Open the loops over dimensions."""
        with ExitStack() as stack:
            for dim in dims:
                start, stop = ranges[dim]() if ranges and dim in ranges else ("0", "")
                stack.enter_context(self._loop(dim, start, stop))
            yield

    # -- stores ------------------------------------------------------------------------------------------

    def _store(self, stores: Sequence[Store], declare: Callable[[Buffer], str] = lambda buffer: "") -> None:
        """Compute all values before the first is stored."""
        written: set[Buffer] = set()
        pending: list[tuple[Store, str, Value]] = []
        for store in stores:
            value = self.value(store.value)
            if written.intersection(store.value.facts.buffers):
                value = self._named(value)
            position = self._position(store.buffer, store.indices)
            if any(written.intersection(node.facts.buffers) for node in computed(store.indices)):
                position = self._named(Value(position, c.SUM, INT64)).text
            pending.append((store, position, value))
            written.add(store.buffer)
        for store, position, value in pending:
            place = self.writer.element(store.buffer, position).text
            if store.combiner:
                self._line(self.operations.combined(store.combiner, place, value))
            else:
                is_int = value.dtype == BOOL and value.level == c.UNARY  # to some compilers
                self._line(f"{declare(store.buffer)}{place} = {'(bool)' * is_int}{value.text};")

    # -- reductions --------------------------------------------------------------------------------------

    def _reduce(self, nodes: Sequence[Reduce], along: Sequence[Store] = ()) -> None:
        """Write the loops of reductions over the same dimensions."""
        movable = not along and all(map(self._is_safe, nodes))
        home = self._home(frozenset[Dim]().union(*map(self.dims, nodes)), movable, False)
        with self._at(home):
            ranges, bodies = self._ranges(nodes)
            totals = [self._total(node, body) for node, body in zip(nodes, bodies, strict=True)]
            dims = without_unit(nodes[0].dims)
            if any(dim.extent == 0 for dim in dims):
                return
            if self.writer.vectors and not along and dims and can_split(nodes, dims[-1]):
                with self._loops(dims[:-1], ranges):
                    self._parts(dims[-1], totals)
            else:
                with self._loops(dims, ranges):
                    self._step(totals)
                    self._store(along)

    def _total(self, node: Reduce, body: Expression) -> _Total:
        """Declare the variables of a reduction."""
        name, start = self._new(_TOTALS[node.combiner]), self._neutral(node)
        self._line(f"{c.type_of(node.body.dtype)} {name} = {start};")
        place = self._new("place") if node.returns_index else ""
        if place:
            self._line(f"int64_t {place} = 0;")
        self._block.known[id(node)] = c.primary(place or name, node.dtype)
        return _Total(node, body, name, place)

    def _neutral(self, node: Reduce) -> str:
        return c.literal(scalars.neutral(node.combiner, node.body.dtype), node.body.dtype).text

    def _step(self, totals: Sequence[_Total]) -> None:
        """Write a turn of reductions."""
        for node, body, cell, place in totals:
            value = self.value(body)
            if not place:
                self._line(self.operations.combined(node.combiner, cell, value))
                continue
            value = self._named(value, "value")
            better = f"{value.text} {'>' if node.combiner == 'argmax' else '<'} {cell}"
            if body.dtype.kind == "f":
                self.operations.compares = True
                better += f" || (isnan({value.text}) && !isnan({cell}))"
            with self._inside(f"if ({better})"):
                self._line(f"{cell} = {value.text};")
                position = flatten(map(Index.of, node.dims), (dim.extent for dim in node.dims))
                self._line(f"{place} = {self.index(position).text};")

    def _row(self, dim: Dim) -> None:
        """Write the reductions of a row of points together, those of some points at a time in an array."""
        if dim.extent <= ROW:
            self._strip(dim, "", "")
            return
        self.names.open()
        first = self.names.new("first")
        with self._inside(f"for (int {first} = 0; {first} < {dim.extent}; {first} += {ROW})"):
            end = Value(f"{first} + {ROW}", c.SUM, INT64)
            if dim.extent % ROW:
                end = self._extreme([end, c.literal(dim.extent, INT64)], "<", "end")
            self._strip(dim, first, end.text)
        self.names.close()

    def _strip(self, dim: Dim, first: str, end: str) -> None:
        """Write the points of a row from the first up to the end."""
        nodes = self.nest.reductions()
        ranges, bodies = self._ranges(nodes)
        totals: list[_Total] = []
        for node, body in zip(nodes, bodies, strict=True):
            totals.append(_Total(node, body, self._new(f"{_TOTALS[node.combiner]}s")))
            self._line(f"{c.type_of(body.dtype)} {totals[-1].cell}[{min(dim.extent, ROW)}];")

        @contextmanager
        def points() -> Generator[list[_Total]]:
            with self._loop(dim, first or "0", end) as counter:
                at = f"[{counter} - {first}]" if first else f"[{counter}]"
                yield [total._replace(cell=total.cell + at) for total in totals]

        with points() as cells:
            for total in cells:
                self._line(f"{total.cell} = {self._neutral(total.node)};")
        *outer, dim_of_sum = without_unit(nodes[0].dims)
        with self._loops(outer, ranges):
            for start, stop, turns in _spans(nodes, dim_of_sum, ranges):
                with self._loop(dim_of_sum, start, stop, turns), points() as cells:
                    self._turns(cells, dim_of_sum, turns)
        with points() as cells:
            for total in cells:
                self._block.known[id(total.node)] = c.primary(total.cell, total.node.dtype)
            self._store(self.nest.stores)

    def _turns(self, totals: Sequence[_Total], dim: Dim, count: int) -> None:
        """Write some turns of sums at once, which load and store each sum once."""
        if count == 1:
            self._step(totals)
            return
        counter = self.writer.counters[dim]
        for node, body, cell, _ in totals:
            value = c.primary(cell, node.dtype)
            for number in range(count):
                self.writer.counters[dim] = f"{counter} + {number}" if number else counter
                known = [(block, dict(block.known)) for block in self.blocks if dim in block.dims]
                value = c.infix("+", value, self.value(body), node.dtype)
                for block, before in known:  # what it learned is that of one turn
                    block.known = before
            self._line(f"{cell} = {value.text};")
        self.writer.counters[dim] = counter

    def _parts(self, dim: Dim, totals: Sequence[_Total]) -> None:
        """Write sums along a dimension as some sums each, which are those of a vector, and add these up in pairs."""
        whole = dim.extent // PARTS * PARTS
        parts = [self._new("parts") for _ in totals]
        for total, name in zip(totals, parts, strict=True):
            self._line(f"{c.type_of(total.body.dtype)} {name}[{PARTS}] = {{0}};")
        with self._loop(dim, "0", str(whole), PARTS) as first:
            place = self.names.counter()
            with self._inside(f"for (int {place} = 0; {place} < {PARTS}; {place}++)"):
                self.writer.counters[dim] = f"{first} + {place}"
                pairs = zip(totals, parts, strict=True)
                self._step([total._replace(cell=f"{name}[{place}]") for total, name in pairs])
        self.names.open()
        half, place = self.names.new("half"), self.names.counter()
        inner = f"for (int {place} = 0; {place} < {half}; {place}++)"
        with self._inside(f"for (int {half} = {PARTS // 2}; {half} > 0; {half} /= 2)"), self._inside(inner):
            for name in parts:
                self._line(f"{name}[{place}] += {name}[{place} + {half}];")
        self.names.close()
        for total, name in zip(totals, parts, strict=True):
            self._line(f"{total.cell} += {name}[0];")
        if whole < dim.extent:
            with self._loop(dim, str(whole)):
                self._step(totals)

    def _ranges(self, nodes: Sequence[Reduce]) -> tuple[_Ranges, list[Expression]]:
        """Return the loops of a sum that leave out what its guard sets to zero, and the bodies without that guard."""
        match nodes:
            case [Reduce(combiner="add", body=Guard(otherwise=otherwise) as guard)] if is_zero(otherwise):
                pass
            case _:
                return {}, [node.body for node in nodes]
        bounds: dict[Dim, list[tuple[Index, int]]] = {}
        left: list[tuple[Index, int]] = []
        for index, extent in guard.conditions:
            reduced = [dim for dim in index.dims() if dim in nodes[0].dims]
            if index.is_affine and len(reduced) == 1 and abs(index.coefficient(reduced[0])) == 1:
                bounds.setdefault(reduced[0], []).append((index, extent))
            else:
                left.append((index, extent))
        body = replace(guard, conditions=tuple(left)) if left else guard.body
        self.times[id(body)] = max(self.times[id(body)], 1)
        self._kept.append(body)
        return {dim: functools.partial(self._range, dim, tests) for dim, tests in bounds.items()}, [body]

    def _range(self, dim: Dim, tests: Sequence[tuple[Index, int]]) -> tuple[str, str]:
        """Return the first point of a dimension at which conditions hold, and the one after the last."""
        starts, stops = [Index(0)], [Index(dim.extent)]
        for index, extent in tests:
            base = index - Index.of(dim) * index.coefficient(dim)
            low = base * -1 if index.coefficient(dim) == 1 else base - (extent - 1)
            starts.append(low)
            stops.append(low + extent)
        lowest = [index for index in starts if not any(_is_below(index, other) for other in starts)]
        highest = [index for index in stops if not any(_is_below(other, index) for other in stops)]
        start = self._extreme(map(self.index, dict.fromkeys(lowest)), ">", "start")
        return start.text, self._extreme(map(self.index, dict.fromkeys(highest)), "<", "stop").text

    def _extreme(self, values: Iterable[Value], sign: str, name: str) -> Value:
        """Return the largest or the smallest of some integers."""

        def better(x: Value, y: Value) -> Value:
            return self._named(c.choice(c.infix(sign, x, y, BOOL), x, y), name, "int")

        return functools.reduce(better, values)

    # -- dependence --------------------------------------------------------------------------------------

    def dims(self, node: Expression) -> frozenset[Dim]:
        """Return the dimensions that a value depends on."""
        found = self._dims.get(id(node))
        if found is None:
            dims = {dim for index in indices_of(node) for dim in index.dims()}
            dims.update(*map(self.dims, children(node)))
            if isinstance(node, Reduce):
                dims -= set(node.dims)
            found = self._dims[id(node)] = frozenset(dim for dim in dims if dim.extent > 1)
        return found

    def _is_safe(self, node: Expression) -> bool:
        """Return whether a value may be computed where nobody reads it, and before the nest stores anything."""
        is_fixed = self.written.isdisjoint(node.facts.buffers)
        return is_fixed and not may_lie_outside(node) and not may_report(node)

    def _home(self, dims: frozenset[Dim], movable: bool, has_reductions: bool) -> int:
        """Return the number of the outermost block in which a value may be computed."""
        number = len(self.blocks) - 1
        while movable and number:
            around = self.blocks[number - 1]
            if not self.blocks[number].is_guarded and (has_reductions or not dims <= around.dims):
                break
            number -= 1
        return number

    # -- values ------------------------------------------------------------------------------------------

    def value(self, node: Expression) -> Value:
        """Return the value of an expression, and write the constants that it needs."""
        if isinstance(node, Const):
            return c.literal(node.value, node.dtype)
        for block in reversed(self.blocks):
            if id(node) in block.known:
                return block.known[id(node)]
        if isinstance(node, Reduce):
            self._reduce([node])
            return self.value(node)
        home = self._home(self.dims(node), self._is_safe(node), node.facts.has_reductions)
        leaves_loop = any(not block.is_guarded for block in self.blocks[home + 1 :])
        is_dear = isinstance(node, Apply) and node.operation not in CHECKS and not is_cheap(node)
        is_short = isinstance(node, Iota) or (isinstance(node, Load) and not any(computed(node.indices)))
        if (self.times[id(node)] < 2 or is_short) and not (is_dear and leaves_loop):
            return self._text(node)
        with self._at(home):
            value = self._block.known[id(node)] = self._named(self._text(node))
        return value

    def _named(self, value: Value, name: str = "", kind: str = "") -> Value:
        """Write a constant of a value, unless it has a name."""
        if value.is_name:
            return value
        names = self._block.names
        chosen = self.names.new(name, names) if name else self.names.numbered("t", names)
        self._line(f"const {kind or c.type_of(value.dtype)} {chosen} = {value.text};")
        return c.primary(chosen, value.dtype)

    def _text(self, node: Expression) -> Value:
        match node:
            case Load(buffer=buffer, indices=indices):
                return self.writer.element(buffer, self._position(buffer, indices))
            case Iota(index=index, dtype=dtype):
                return self.operations.cast(self.index(index), dtype)
            case Guard():
                return self._guard(node)
            case Apply() if node.operation in CONDITIONS:
                value, holds = map(self.value, node.operands)
                return self._checked(node, c.negation(holds), self._named(value))
            case Apply() if node.operation in CHECKS:
                return self._inside_range(node)
            case Apply():
                return self._apply(node)
            case _:
                raise AssertionError(node)

    def _apply(self, node: Apply) -> Value:
        operation = node.operation
        if operation == "multiply_no_nan" and any(map(_is_ordinary, node.operands)):
            operation = "multiply"
        try:
            operands = [*map(self.value, node.operands)]
            if operation == "multiply" and node.dtype.kind == "f" and operands[0].text in ("1.0", "1.0f"):
                return operands[1]
            return self.operations.apply(operation, operands, node.dtype, node.param, self._named)
        except Unsupported as problem:
            if len(problem.args) < 2:
                problem.args = (operation, node.location or self.nest.location)
            raise

    # -- checks and guards -------------------------------------------------------------------------------

    def _checked(self, node: Apply, wrong: Value, value: Value) -> Value:
        with self._inside(f"if ({wrong.text})"):
            self._line(self.writer.error(node))
        self._block.known[id(node)] = value
        return value

    def _inside_range(self, node: Apply) -> Value:
        """Count a negative index from the end where that is allowed, and return an error for one outside."""
        (operand,), extent = node.operands, node.param
        value = self.value(operand)
        if isinstance(operand, Apply) and operand.operation == "position" and operand.param <= extent:
            return value
        zero, end = c.literal(0, INT64), c.literal(extent, INT64)
        value = self.operations.cast(value, INT64)
        if not node.requirement:
            value = value if value.level == c.PRIMARY else self._named(value)
            value = c.choice(c.infix("<", value, zero, BOOL), c.infix("+", value, end, INT64), value)
        value = self._named(value, "at")
        wrong = c.infix("<", value, zero, BOOL)
        if extent < 1 << 63:
            wrong = c.infix("||", wrong, c.infix(">=", value, end, BOOL), BOOL)
        return self._checked(node, wrong, value)

    def _guard(self, node: Guard) -> Value:
        """Write one of two values; what the other one needs is not computed."""
        condition = self._condition(node)
        name = self.names.numbered("t", self._block.names)
        ways: list[tuple[Value, list[str]]] = []
        for inner in (node.body, node.otherwise):
            with self._apart(is_guarded=True) as block:
                ways.append((self.value(inner), block.lines))
        if not any(lines for _, lines in ways):
            self._block.names.remove(name)
            return c.choice(condition, ways[0][0], ways[1][0])
        self._line(f"{c.type_of(node.dtype)} {name};")
        for head, (value, lines) in zip((f"if ({condition.text}) {{", "} else {"), ways, strict=True):
            self._line(head)
            self._block.lines += [f"    {line}" for line in [*lines, f"{name} = {value.text};"]]
        self._line("}")
        return c.primary(name, node.dtype)

    def _condition(self, node: Guard) -> Value:
        """Return whether the indices of a guard lie inside, without what holds for certain."""
        tests: list[Value] = []
        for index, extent in node.conditions:
            low, high = index.bounds
            for sign, bound, is_open in ((">=", 0, low < 0), ("<", extent, high >= extent)):
                if is_open:
                    number = c.literal(bound - index.offset, INT64)
                    tests.append(c.infix(sign, self.index(index - index.offset), number, BOOL))
        return functools.reduce(lambda x, y: c.infix("&&", x, y, BOOL), tests or [c.literal(True, BOOL)])

    # -- indices -----------------------------------------------------------------------------------------

    def _position(self, buffer: Buffer, indices: Sequence[Index]) -> str:
        return self.index(flatten(indices, buffer.shape)).text

    def index(self, index: Index) -> Value:
        """Return an index as an expression: of ints, unless those may overflow."""
        low, high = index.bounds
        is_wide = low < -INT_MAX or high > INT_MAX
        parts = [(coefficient, self._term(term)) for term, coefficient in index.terms if not _is_fixed(term)]
        parts += [(index.offset, c.literal(1, INT64))] if index.offset or not parts else []
        total: Value | None = None
        for coefficient, value in sorted(parts, key=lambda part: part[0] < 0):
            size = c.literal(abs(coefficient), INT64)
            if is_wide:
                value = Value(f"(int64_t){c.parenthesised(value, c.UNARY)}", c.UNARY, INT64)
            product = (
                value if size.text == "1" else size if value.text == "1" else c.infix("*", size, value, INT64)
            )
            if coefficient == 1:
                product = product._replace(level=max(product.level, c.PRODUCT))  # a sum needs no parentheses
            if total is not None:
                total = c.infix("-" if coefficient < 0 else "+", total, product, INT64)
            else:
                total = c.negative(product) if coefficient < 0 else product
        assert total is not None
        return total

    def _term(self, term: Term) -> Value:
        match term:
            case Dim():
                counter = self.writer.counters[term]
                return Value(counter, c.SUM if "+" in counter else c.PRIMARY, INT64)
            case Digit(index=inner, divisor=divisor, modulus=modulus):
                value = self.index(inner)
                value = c.infix("/", value, c.literal(divisor, INT64), INT64) if divisor > 1 else value
                return c.primary(f"({c.infix('%', value, c.literal(modulus, INT64), INT64).text})", INT64)
            case Computed(expression=expression):
                return self.operations.cast(self.value(expression), INT64)


def _spans(nodes: Sequence[Reduce], dim: Dim, ranges: _Ranges) -> Iterator[tuple[str, str, int]]:
    """Yield the first points of loops over a dimension, those after their last ones, and the steps."""
    if dim in ranges:
        yield *ranges[dim](), 1
        return
    is_sum = all(node.combiner == "add" and node.dtype.kind == "f" for node in nodes)
    whole = dim.extent // UNROLLED * UNROLLED if is_sum else 0
    if whole:
        yield "0", str(whole), UNROLLED
    if whole < dim.extent:
        yield str(whole), str(dim.extent), 1


def _is_fixed(term: Term) -> bool:
    return isinstance(term, Dim) and term.extent == 1


def _is_ordinary(node: Expression) -> bool:
    """Return whether a value is a number that is neither zero nor infinite nor NaN."""
    return isinstance(node, Const) and bool(node.value) and bool(np.isfinite(node.value))


def _is_below(x: Index, y: Index) -> bool:
    """Return whether one index is never above another one that is not the same."""
    return x != y and (y - x).bounds[0] >= 0
