"""A nest as loops of C: reductions in variables, values that several places read in constants, then the stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

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
from wengert.engine.nest.index import Computed, Digit, Dim, Index, Term, flatten
from wengert.engine.nest.nest import Nest, Store
from wengert.exporting.c_source.layout import Names
from wengert.exporting.c_source.scalars import (
    BOTH,
    CHEAP,
    CHOICE,
    COMPARED,
    PRIMARY,
    PRODUCT,
    SUM,
    UNARY,
    Operations,
    Unsupported,
    Value,
    c_type,
    choice,
    infix,
    literal,
    negation,
    parenthesised,
    primary,
)
from wengert.exporting.c_source.vectors import PARTS, ROW, can_share_rows, can_split

INT_MAX = 2**31 - 1
_TOTALS = {"add": "sum", "multiply": "product", "maximum": "largest", "minimum": "smallest",
           "logical_and": "all", "logical_or": "any", "argmax": "largest", "argmin": "smallest"}  # fmt: skip
_TWICE = ("square", "integer_power", "absolute")
"""The operations that may name their operand more than once."""


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


class Writer:
    """What the nests of a function share.

    Args:
        names: the names of the function.
        operations: the operations of the file.
        element: ``(buffer, position) -> text``: an element of a buffer, by its position in row-major order.
        error: ``(check) -> statement``: returns the code of an error.
        vectors: whether loops are written so that compilers make vectors of them.
    """

    def __init__(
        self,
        names: Names,
        operations: Operations,
        element: Callable[[Buffer, str], Value],
        error: Callable[[Apply], str],
        *,
        vectors: bool,
    ) -> None:
        self.names = names
        self.operations = operations
        self.element = element
        self.error = error
        self.vectors = vectors
        self.counters: dict[Dim, str] = {}
        """The counters of the open loops."""


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
        self._safe: dict[int, bool] = {}

    def write(self, declare: Callable[[Buffer], str]) -> None:
        """Write the loops; ``declare`` gives the beginning of the store that declares a variable."""
        if any(dim.extent == 0 for dim in self.nest.dims):
            return
        sequential = self.nest.sequential
        ordered = sorted(self.nest.dims, key=lambda dim: dim in sequential)
        dims = [dim for dim in ordered if dim.extent > 1]
        nodes = self.nest.reductions()
        if self.writer.vectors and dims and can_share_rows(self.nest, dims[-1]):
            self._loops(dims[:-1], lambda: self._row(dims[-1], nodes))
        else:
            self._loops(dims, lambda: self._point(declare))

    # -- blocks ------------------------------------------------------------------------------------------

    @property
    def _block(self) -> Block:
        return self.blocks[-1]

    def _line(self, text: str) -> None:
        self._block.lines.append(text)

    @contextmanager
    def _inside(self, head: str, dims: Iterable[Dim] = (), *, is_guarded: bool = False) -> Generator[None]:
        """Write a block behind a head."""
        block = Block(self._block.dims.union(dims), self.names.open(), is_guarded)
        self.blocks.append(block)
        yield
        self.names.close()
        self.blocks.pop()
        self._line(f"{head} {{")
        self._block.lines += [f"    {line}" for line in block.lines]
        self._line("}")

    @contextmanager
    def _at(self, number: int) -> Generator[None]:
        """Write in a block further out for a while: before what is open inside it."""
        blocks, self.blocks = self.blocks, self.blocks[: number + 1]
        yield
        self.blocks = blocks

    def _loops(
        self,
        dims: Sequence[Dim],
        body: Callable[[], None],
        ranges: Mapping[Dim, Callable[[], tuple[str, str]]] | None = None,
    ) -> None:
        """Open the loops over dimensions around a body."""
        if not dims:
            body()
            return
        dim, *inner = dims
        start, stop = ranges[dim]() if ranges and dim in ranges else ("0", str(dim.extent))
        self.names.open()
        counter = self.writer.counters[dim] = self.names.counter()
        with self._inside(f"for (int {counter} = {start}; {counter} < {stop}; {counter}++)", [dim]):
            self._loops(inner, body, ranges)
        del self.writer.counters[dim]
        self.names.close()

    # -- a point -----------------------------------------------------------------------------------------

    def _point(self, declare: Callable[[Buffer], str]) -> None:
        groups: dict[tuple[Dim, ...], list[Reduce]] = {}
        for node in self.nest.reductions():
            groups.setdefault(node.dims, []).append(node)
        for dims, nodes in groups.items():
            self._reduce(
                dims, nodes, [store for store in self.nest.stores if store.along and store.along == dims]
            )
        self._store([store for store in self.nest.stores if not store.along], declare)

    def _store(self, stores: Sequence[Store], declare: Callable[[Buffer], str] = lambda buffer: "") -> None:
        """Compute all values before the first is stored."""
        written: set[Buffer] = set()
        pending: list[tuple[Store, str, Value]] = []
        for store in stores:
            value = self.value(store.value)
            if written.intersection(store.value.facts.buffers):
                value = self._named(value)
            position = self._position(store.buffer, store.indices)
            inside = {buffer for node in computed(store.indices) for buffer in node.facts.buffers}
            if written & inside:
                position = self._named(Value(position, SUM, INT64)).text
            pending.append((store, position, value))
            written.add(store.buffer)
        for store, position, value in pending:
            place = self.writer.element(store.buffer, position).text
            if store.combiner:
                self._line(self.operations.combined(store.combiner, place, value))
            else:
                is_test = store.buffer.dtype == BOOL and value.text.startswith(
                    "!"
                )  # an int to some compilers
                self._line(f"{declare(store.buffer)}{place} = {'(bool)' * is_test}{value.text};")

    # -- rows: the sums of neighbouring points together, which are those of a vector ------------------------

    def _row(self, dim: Dim, nodes: Sequence[Reduce]) -> None:
        """Write the reductions of a row of points in an array, and then the stores of the row."""
        if dim.extent <= ROW:
            self._strip(dim, nodes, "0", str(dim.extent))
            return
        self.names.open()
        first = self.names.new("first")
        with self._inside(f"for (int {first} = 0; {first} < {dim.extent}; {first} += {ROW})"):
            end = f"{first} + {ROW}"
            if dim.extent % ROW:
                text = f"{end} < {dim.extent} ? {end} : {dim.extent}"
                end = self._named(Value(text, CHOICE, INT64), "end", "int").text
            self._strip(dim, nodes, first, end)
        self.names.close()

    def _strip(self, dim: Dim, nodes: Sequence[Reduce], first: str, end: str) -> None:
        """Write the points of a row from the first up to the end."""
        points: dict[Dim, Callable[[], tuple[str, str]]] = {dim: lambda: (first, end)}
        arrays: dict[int, str] = {}
        for node in nodes:
            array = arrays[id(node)] = self.names.new(f"{_TOTALS[node.combiner]}s", self._block.names)
            self._line(f"{c_type(node.body.dtype)} {array}[{min(dim.extent, ROW)}];")

        def total(node: Reduce) -> str:
            counter = self.writer.counters[dim]
            return f"{arrays[id(node)]}[{counter if first == '0' else f'{counter} - {first}'}]"

        def begin() -> None:
            for node in nodes:
                start = literal(scalars.neutral(node.combiner, node.body.dtype), node.body.dtype)
                self._line(f"{total(node)} = {start.text};")

        def step() -> None:
            for node, body in zip(nodes, bodies, strict=True):
                self._line(self.operations.combined(node.combiner, total(node), self.value(body)))

        def end_of_sums() -> None:
            for node in nodes:
                self._block.known[id(node)] = primary(total(node), node.dtype)
            self._store(self.nest.stores)

        ranges, bodies = self._ranges(nodes)
        reduced = [reduced for reduced in nodes[0].dims if reduced.extent > 1]
        self._loops([dim], begin, points)
        self._loops(reduced, lambda: self._loops([dim], step, points), ranges)
        self._loops([dim], end_of_sums, points)

    # -- reductions --------------------------------------------------------------------------------------

    def _reduce(self, dims: tuple[Dim, ...], nodes: Sequence[Reduce], along: Sequence[Store]) -> None:
        """Write the loops of reductions over the same dimensions."""
        movable = not along and all(map(self._is_safe, nodes))
        home = self._home(frozenset[Dim]().union(*map(self.dims, nodes)), movable, False)
        with self._at(home):
            totals: list[tuple[Reduce, str, str]] = []
            for node in nodes:
                dtype, kind = node.body.dtype, c_type(node.body.dtype)
                total = self.names.new(_TOTALS[node.combiner], self._block.names)
                start = literal(scalars.neutral(node.combiner, dtype), dtype).text
                self._line(f"{kind} {total} = {start};")
                place = self.names.new("place", self._block.names) if node.returns_index else ""
                if place:
                    self._line(f"int64_t {place} = 0;")
                totals.append((node, total, place))
                self._block.known[id(node)] = primary(place or total, node.dtype)
            if any(dim.extent == 0 for dim in dims):
                return
            ranges, bodies = self._ranges(nodes)
            looped = [dim for dim in dims if dim.extent > 1]
            if self.writer.vectors and not along and looped and can_split(nodes, looped[-1]):
                self._loops(looped[:-1], lambda: self._parts(looped[-1], totals, bodies), ranges)
            else:
                self._loops(looped, lambda: self._step(totals, bodies, along), ranges)

    def _parts(
        self, dim: Dim, totals: Sequence[tuple[Reduce, str, str]], bodies: Sequence[Expression]
    ) -> None:
        """Write sums along a dimension as some sums each, which are those of a vector."""
        extent = dim.extent
        whole = extent - extent % PARTS
        parts = [self.names.new("parts", self._block.names) for _ in totals]
        for (node, _, _), name in zip(totals, parts, strict=True):
            self._line(f"{c_type(node.body.dtype)} {name}[{PARTS}] = {{0}};")
        self.names.open()
        first, place = self.names.counter(), self.names.counter()
        head = f"for (int {first} = 0; {first} < {whole}; {first} += {PARTS})"
        inner = f"for (int {place} = 0; {place} < {PARTS}; {place}++)"
        with self._inside(head), self._inside(inner, [dim]):
            self.writer.counters[dim] = f"{first} + {place}"
            for name, body in zip(parts, bodies, strict=True):
                self._line(f"{name}[{place}] += {self.value(body).text};")
            del self.writer.counters[dim]
        with self._inside(inner):
            for (_, total, _), name in zip(totals, parts, strict=True):
                self._line(f"{total} += {name}[{place}];")
        self.names.close()
        if extent > whole:
            rest: dict[Dim, Callable[[], tuple[str, str]]] = {dim: lambda: (str(whole), str(extent))}
            self._loops([dim], lambda: self._step(totals, bodies, ()), rest)

    def _step(
        self, totals: Sequence[tuple[Reduce, str, str]], bodies: Sequence[Expression], along: Sequence[Store]
    ) -> None:
        for (node, total, place), body in zip(totals, bodies, strict=True):
            value = self.value(body)
            if not place:
                self._line(self.operations.combined(node.combiner, total, value))
                continue
            value = self._named(value, "value")
            self.operations.compares |= body.dtype.kind == "f"
            sign = ">" if node.combiner == "argmax" else "<"
            better = f"{value.text} {sign} {total}"
            if body.dtype.kind == "f":
                better += f" || (isnan({value.text}) && !isnan({total}))"
            with self._inside(f"if ({better})"):
                self._line(f"{total} = {value.text};")
                position = flatten(map(Index.of, node.dims), (dim.extent for dim in node.dims))
                self._line(f"{place} = {self.index(position).text};")
        self._store(along)

    def _ranges(
        self, nodes: Sequence[Reduce]
    ) -> tuple[dict[Dim, Callable[[], tuple[str, str]]], list[Expression]]:
        """Return the loops of a sum that leave out what its guard sets to zero, and the bodies without that guard."""
        bodies = [node.body for node in nodes]
        body = bodies[0]
        if len(nodes) > 1 or nodes[0].combiner != "add" or not isinstance(body, Guard):
            return {}, bodies
        if not is_zero(body.otherwise):
            return {}, bodies
        bounds: dict[Dim, list[tuple[Index, int]]] = {}
        left: list[tuple[Index, int]] = []
        for index, extent in body.conditions:
            reduced = [dim for dim in index.dims() if dim in nodes[0].dims]
            fits = index.is_affine and len(reduced) == 1 and abs(index.coefficient(reduced[0])) == 1
            if fits:
                bounds.setdefault(reduced[0], []).append((index, extent))
            else:
                left.append((index, extent))
        inner = replace(body, conditions=tuple(left)) if left else body.body
        self.times[id(inner)] = max(self.times[id(inner)], 1)
        self._kept = inner  # its identity is a key
        return {dim: lambda d=dim, tests=tests: self._range(d, tests) for dim, tests in bounds.items()}, [
            inner
        ]

    def _range(self, dim: Dim, tests: Sequence[tuple[Index, int]]) -> tuple[str, str]:
        """Return the first point of a dimension at which conditions hold, and the one after the last."""
        starts, stops = [Index(0)], [Index(dim.extent)]
        for index, extent in tests:
            base = index - Index.of(dim) * index.coefficient(dim)
            if index.coefficient(dim) == 1:
                starts.append(base * -1)
                stops.append(base * -1 + extent)
            else:
                starts.append(base - (extent - 1))
                stops.append(base + 1)
        return self._extreme(starts, 1), self._extreme(stops, -1)

    def _extreme(self, numbers: Sequence[Index], sign: int) -> str:
        """Return the largest (smallest) of some numbers, without those that never are."""
        needed: list[Index] = []
        for index in dict.fromkeys(numbers):
            if not any(other != index and ((other - index) * sign).bounds[0] >= 0 for other in numbers):
                needed.append(index)
        text = self.index((needed or numbers)[0]).text
        for index in needed[1:]:
            other = self.index(index).text
            text = self._named(Value(f"{text} {'>' if sign > 0 else '<'} {other} ? {text} : {other}", CHOICE, INT64),
                               "start" if sign > 0 else "stop", "int").text  # fmt: skip
        return text

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
        found = self._safe.get(id(node))
        if found is None:
            found = self.written.isdisjoint(node.facts.buffers)
            found = self._safe[id(node)] = found and not may_lie_outside(node) and not may_report(node)
        return found

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
            return literal(node.value, node.dtype)
        for block in reversed(self.blocks):
            if id(node) in block.known:
                return block.known[id(node)]
        if isinstance(node, Reduce):
            self._reduce(node.dims, [node], ())
            return self.value(node)
        home = self._home(self.dims(node), self._is_safe(node), node.facts.has_reductions)
        leaves_loop = any(not block.is_guarded for block in self.blocks[home + 1 :])
        is_dear = isinstance(node, Apply) and node.operation not in {*CHEAP, *CHECKS}
        has_name = self.times[id(node)] > 1 and not self._is_short(node)
        if not has_name and not (is_dear and leaves_loop):
            return self._text(node)
        with self._at(home):
            value = self._text(node)
            value = value if value.level == PRIMARY and value.text.isidentifier() else self._named(value)
            self._block.known[id(node)] = value
        return value

    def _is_short(self, node: Expression) -> bool:
        """Return whether a value may be written again."""
        if isinstance(node, Load):
            return not any(True for _ in computed(node.indices))
        return isinstance(node, Iota)

    def _named(self, value: Value, name: str = "", kind: str = "") -> Value:
        """Write a constant of a value."""
        if value.text.isidentifier():
            return value
        names = self._block.names
        chosen = self.names.new(name, names) if name else self.names.numbered("t", names)
        self._line(f"const {kind or c_type(value.dtype)} {chosen} = {value.text};")
        return primary(chosen, value.dtype)

    def _text(self, node: Expression) -> Value:
        match node:
            case Load():
                value = self.writer.element(node.buffer, self._position(node.buffer, node.indices))
                return value
            case Iota(dtype=dtype):
                return self.operations.cast(self.index(node.index), dtype)
            case Apply():
                return self._apply(node)
            case Guard():
                return self._guard(node)
            case _:
                raise AssertionError(node)

    def _apply(self, node: Apply) -> Value:
        if node.operation in CONDITIONS:
            value, holds = map(self.value, node.operands)
            value = value if value.text.isidentifier() else self._named(value)
            return self._checked(node, negation(holds), value)
        if node.operation in CHECKS:
            return self._inside_range(node)
        operands = [*map(self.value, node.operands)]
        if node.operation == "multiply_no_nan" and (plain := _plain_product(node, operands)):
            return plain
        if node.operation in _TWICE and operands[0].level < PRIMARY:
            operands[0] = self._named(operands[0])
        try:
            return self.operations.apply(node.operation, operands, node.dtype, node.param)
        except Unsupported as problem:
            problem.args = (node.operation, node.location or self.nest.location)
            raise

    # -- checks ------------------------------------------------------------------------------------------

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
        value = self.operations.cast(value, INT64)
        if not node.requirement:
            once = value if value.level == PRIMARY else self._named(value)
            value = choice(
                Value(f"{once.text} < 0", COMPARED, BOOL), Value(f"{once.text} + {extent}", SUM, INT64), once
            )
        value = self._named(value, "at")
        wrong = f"{value.text} < 0 || {value.text} >= {extent}"
        if extent >= 1 << 63:
            wrong = f"{value.text} < 0"
        return self._checked(node, Value(wrong, BOTH, BOOL), value)

    # -- guards ------------------------------------------------------------------------------------------

    def _guard(self, node: Guard) -> Value:
        """Write one of two values; what the other one needs is not computed."""
        condition = self._condition(node)
        name = self.names.numbered("t", self._block.names)
        ways = [self._apart(inner) for inner in (node.body, node.otherwise)]
        if not any(lines for _, lines in ways):
            self._block.names.remove(name)
            return choice(condition, ways[0][0], ways[1][0])
        self._line(f"{c_type(node.dtype)} {name};")
        for head, (value, lines) in zip((f"if ({condition.text}) {{", "} else {"), ways, strict=True):
            self._line(head)
            self._block.lines += [f"    {line}" for line in [*lines, f"{name} = {value.text};"]]
        self._line("}")
        return primary(name, node.dtype)

    def _apart(self, node: Expression) -> tuple[Value, list[str]]:
        """Return a value and the statements that it needs, which run only where it is chosen."""
        block = Block(self._block.dims, self.names.open(), is_guarded=True)
        self.blocks.append(block)
        value = self.value(node)
        self.names.close()
        self.blocks.pop()
        return value, block.lines

    def _condition(self, node: Guard) -> Value:
        tests: list[str] = []
        for index, extent in node.conditions:
            low, high = index.bounds
            terms, offset, signs = index - index.offset, index.offset, (">=", "<")
            first, end = -offset, extent - offset
            if all(coefficient < 0 for _, coefficient in index.terms):
                terms, signs = terms * -1, ("<=", ">")
                first, end = -first, -end
            text = parenthesised(self.index(terms), SUM)
            tests += [f"{text} {signs[0]} {first}"] if low < 0 else []
            tests += [f"{text} {signs[1]} {end}"] if high >= extent else []
        return Value(" && ".join(tests) or "true", BOTH if len(tests) > 1 else COMPARED, BOOL)

    # -- indices -----------------------------------------------------------------------------------------

    def _position(self, buffer: Buffer, indices: Sequence[Index]) -> str:
        return self.index(flatten(indices, buffer.shape)).text

    def index(self, index: Index) -> Value:
        """Return an index as an expression."""
        low, high = index.bounds
        wide = "" if low >= -INT_MAX and high <= INT_MAX else "(int64_t)"
        parts: list[tuple[str, str]] = []
        for term, coefficient in sorted(index.terms, key=lambda pair: pair[1] < 0):
            if isinstance(term, Dim) and term.extent == 1:
                continue
            value = self._term(term)
            size = abs(coefficient)
            text = f"{wide}{parenthesised(value, SUM if coefficient == 1 and not wide else UNARY)}"
            text = text if size == 1 else f"{size} * {text}"
            parts.append(("-" if coefficient < 0 else "+", text))
        if index.offset or not parts:
            offset = ("-" if index.offset < 0 else "+", str(abs(index.offset)))
            parts.insert(0 if parts and parts[0][0] == "-" and index.offset > 0 else len(parts), offset)
        (sign, text), *others = parts
        text = f"-{text}" if sign == "-" else text
        if not others:
            level = PRODUCT if "*" in text else UNARY if sign == "-" or wide else PRIMARY
            return Value(text, level, INT64)
        return Value(text + "".join(f" {sign} {part}" for sign, part in others), SUM, INT64)

    def _term(self, term: Term) -> Value:
        match term:
            case Dim():
                counter = self.writer.counters[term]
                return Value(counter, SUM if "+" in counter else PRIMARY, INT64)
            case Digit(index=inner, divisor=divisor, modulus=modulus):
                text = parenthesised(self.index(inner), UNARY)
                text = f"{text} / {divisor}" if divisor > 1 else text
                return Value(f"({text} % {modulus})", PRIMARY, INT64)
            case Computed(expression=expression):
                return self.operations.cast(self.value(expression), INT64)


def _plain_product(node: Apply, operands: Sequence[Value]) -> Value | None:
    """Return the product with a number that is neither zero nor infinite nor NaN; None for others."""
    for number, (factor, other) in enumerate(zip(node.operands, reversed(operands), strict=True)):
        if (
            isinstance(factor, Const)
            and factor.dtype.kind == "f"
            and factor.value
            and np.isfinite(factor.value)
        ):
            return other if factor.value == 1 else infix("multiply", operands[number], other, node.dtype)
    return None
