"""Lowering: a graph becomes steps, a nest for each operation, loops and branches for control flow."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard, cast

import numpy as np

from wengert.compiler.passes.constant_patterns import recognise_constant
from wengert.compiler.passes.counters import combined, counters, stacked
from wengert.compiler.scalars import COMPARISONS, NATIVE, is_native
from wengert.engine.core.dtypes import BOOL, INT64, Dtype
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.expression import (
    PRODUCTS,
    SUMS,
    Apply,
    Buffer,
    Const,
    Expression,
    Load,
    Rewriter,
    computed,
    factors,
    zero,
)
from wengert.engine.nest.index import Dim, Index, without_unit
from wengert.engine.nest.lowering import (
    ControlFlow,
    Definition,
    Diagonal,
    Elementwise,
    Grid,
    Operand,
    Pieces,
    Pointwise,
    Section,
    Sorting,
    Source,
    Stage,
    Stages,
    Turns,
    View,
    check_integers,
    choice,
    converted,
    fitting,
    is_limited,
)
from wengert.engine.nest.nest import Branch, Call, Host, Loop, Nest, Program, Sort, Step, Store, While, writes
from wengert.engine.nest.routine import Routine
from wengert.engine.primitive import REGISTRY
from wengert.engine.transforms.staging import stage


def lower(graph: Graph, donated: Mapping[int, int] | None = None, *, contract: bool = True) -> Program:
    """Return the program of a graph.

    A value has one rounding, which is settled here: a product whose only use is a sum becomes a part of that sum,
    unless ``contract`` is false, and is not rounded itself; every other product is. So wherever later passes compute a
    value again, it has the same bits, and comparisons decide the same. ``donated`` maps a result to the position of the
    argument in whose place it is written.
    """
    constants: list[tuple[Buffer, Any]] = []
    inputs = tuple(Buffer(var.dtype, var.shape, var.name or f"x{n}") for n, var in enumerate(graph.inputs, 1))
    block = _Block(constants, contract)
    block.settled.update(inputs)
    results = block.graph(graph, inputs)
    places = donated or {}
    outputs: list[Buffer] = []
    moved: list[tuple[TensorType, Source, Buffer]] = []
    for number, (atom, source) in enumerate(zip(graph.outputs, results, strict=True)):
        if number in places:
            outputs.append(inputs[places[number]])
            moved.append((atom.type, source, outputs[-1]))
        else:
            outputs.append(Buffer(atom.type.dtype, atom.type.shape, f"out{number}"))
            block.copy(Operand(atom.type, source), outputs[-1])
    if moved:
        block.update(*zip(*moved, strict=True))
    return Program(inputs, tuple(constants), tuple(outputs), tuple(block.steps))


class _Block:
    """A list of steps under construction."""

    def __init__(
        self, constants: list[tuple[Buffer, Any]], contract: bool, outer: _Block | None = None
    ) -> None:
        self.constants = constants
        self.contract = contract
        self.outer = outer
        self.is_turn = False
        """Whether a loop carries the block out again and again."""
        self.unwritten: set[Buffer] = set() if outer is None else outer.unwritten
        """The buffers that no step writes: of their copies the first element alone is written."""
        self.begun: dict[Buffer, tuple[Index, ...]] = {} if outer is None else outer.begun
        """The part that is written of a buffer of which nothing else is specified."""
        self.settled: set[Buffer] = set()
        """The buffers that a step of this block writes, once."""
        self.steps: list[Step] = []
        self._sources: dict[Var, Source] = {}
        self._parts: dict[Atom, Equation] = {}
        """The products that are parts of sums."""
        self._sorts: dict[tuple[Atom, int], int] = {}
        """The place among the steps of the sort of a value along an axis."""

    def inner(self) -> _Block:
        """Return a block for the steps inside a step."""
        return _Block(self.constants, self.contract, self)

    def keeps(self, buffer: Buffer) -> bool:
        """Return whether a buffer stays as it is in all turns of the loop around.

        What a turn makes may be the memory in which a later step writes its result.
        """
        if self.is_turn and self.outer is not None:
            return self.outer.has(buffer)
        return self.has(buffer) if self.outer is None else self.outer.keeps(buffer)

    def has(self, buffer: Buffer) -> bool:
        """Return whether a step of this block, or of one around it, writes a buffer, once."""
        return buffer in self.settled or (self.outer is not None and self.outer.has(buffer))

    # -- graphs ------------------------------------------------------------------------------------------

    def graph(self, graph: Graph, arguments: Sequence[Source]) -> list[Source]:
        """Write down a graph and return where its results are."""
        self._sources.update(zip(graph.inputs, arguments, strict=True))
        for var, value in graph.constants:
            self._sources[var] = self.constant(value)
        if self.contract:
            self._parts.update(_parts_of_sums(graph))
        for equation in graph.equations:
            self.equation(equation)
        return [self.source(atom) for atom in graph.outputs]

    def source(self, atom: Atom) -> Source:
        """Return where a value is."""
        if isinstance(atom, Literal):
            return Const(atom.type.dtype.type(atom.value), atom.type.dtype)
        return self._sources[atom]

    def operand(self, atom: Atom) -> Operand:
        """Return a value as the rules see it."""
        return Operand(atom.type, self.source(atom))

    def constant(self, value: Any) -> Source:
        """Return where a constant array is: in an expression where one says it, else in a buffer."""
        pattern = recognise_constant(value) if value.dtype in NATIVE and value.size else None
        return pattern or self.stored(value)

    def stored(self, value: Any) -> Buffer:
        """Return the buffer of a constant array."""
        buffer = Buffer(value.dtype, value.shape, f"c{len(self.constants) + 1}")
        self.constants.append((buffer, value))
        self.settled.add(buffer)
        return buffer

    # -- equations ---------------------------------------------------------------------------------------

    def equation(self, equation: Equation) -> None:
        """Write down one equation."""
        lowering = REGISTRY[equation.primitive].lowering
        types = [atom.type for atom in (*equation.operands, *equation.outputs)]
        if isinstance(lowering, ControlFlow):
            sources = _PROGRAMS[equation.primitive](self, equation)
            self._sources.update(zip(equation.outputs, sources, strict=True))
        elif not all(type_.dtype in NATIVE for type_ in types):
            self.host(equation)
        elif isinstance(lowering, Elementwise):
            self.elementwise(equation, lowering)
        elif isinstance(lowering, Pointwise):
            self.pointwise(equation, lowering)
        elif isinstance(lowering, Sorting):
            self.sort(equation, lowering)
        elif isinstance(lowering, Routine):
            self.routine(equation, lowering)
        else:
            self.host(equation)

    def elementwise(self, equation: Equation, lowering: Elementwise) -> None:
        """Write down a scalar operation for every element."""
        (out,) = equation.outputs
        if lowering.program is not None:
            self._sources[out] = self.composition(equation, lowering)
            return
        if out in self._parts:
            return
        if out.dtype == INT64 and not out.shape:
            number = combined(equation.primitive, list(map(self.source, equation.operands)))
            if number is not None:
                self._sources[out] = number
                return
        dims = tuple(map(Dim, out.shape))
        value = self.scalar(equation, lowering, [Index.of(dim) for dim in dims])
        if value is None:
            self.host(equation)
        else:
            self.define(equation, out, dims, value)

    def scalar(
        self, equation: Equation, lowering: Elementwise, indices: Sequence[Index]
    ) -> Expression | None:
        """Return an element of the result of a scalar operation; None if there is no native form."""
        (out,) = equation.outputs
        wanted = lowering.dtypes([atom.type for atom in equation.operands], out.type)
        operation = lowering.operation or equation.primitive
        if operation in COMPARISONS:
            wanted = compared_dtypes([atom.type for atom in equation.operands], wanted)
        values = [atom.value if isinstance(atom, Literal) else None for atom in equation.operands]
        check_integers(operation, values, wanted)
        param = equation.params.get(lowering.param, 0)
        if not is_native(operation, wanted, out.dtype, param):
            return None
        operands = tuple(
            self.taken(operation, atom, indices, dtype)
            for atom, dtype in zip(equation.operands, wanted, strict=True)
        )
        if lowering.checked is not None:
            operands = tuple(lowering.checked(operands, equation.location))
        if operation == "positive":
            return operands[0]
        if operation in COMPARISONS and wanted[0] != wanted[1]:
            return _compared(operation, *operands)
        return Apply(operation, operands, out.dtype, param, equation.location)

    def taken(self, operation: str, atom: Atom, indices: Sequence[Index], dtype: Dtype) -> Expression:
        """Return an element of an operand as an operation takes it."""
        part = self._parts.get(atom)
        if part is not None:
            lowering = REGISTRY[part.primitive].lowering
            assert isinstance(lowering, Elementwise)
            product = self.scalar(part, lowering, indices)
            assert product is not None
            return product
        operand = self.operand(atom)
        element = operand.broadcast_at(indices)
        is_python_integer = operand.type.weak and operand.dtype == INT64 != dtype
        if is_python_integer and not isinstance(element, Const) and is_limited(operation, dtype):
            return fitting(operation, element, dtype)
        return converted(element, dtype)

    def composition(self, equation: Equation, lowering: Elementwise) -> Source:
        """Write down an operation that is a composition of others, and return where its result is."""
        types = [atom.type for atom in equation.operands]
        dtypes = lowering.dtypes(types, equation.outputs[0].type)

        def program(*operands: Any) -> list[Any]:
            assert lowering.program is not None
            taken = [_cast(x, dtype) for x, dtype in zip(operands, dtypes, strict=True)]
            return [lowering.program(*taken, **equation.params)]

        graph = stage(program, types)[0]
        equations = tuple(replace(inner, location=equation.location) for inner in graph.equations)
        (result,) = self.graph(replace(graph, equations=equations), list(map(self.source, equation.operands)))
        return result

    def pointwise(self, equation: Equation, lowering: Pointwise) -> None:
        """Lower an elementwise equation by its rule."""
        (out,) = equation.outputs
        dims = tuple(map(Dim, out.shape))
        if 0 in out.shape:
            self.define(equation, out, dims, zero(out.dtype))
            return
        buffer = self.new(out)
        operands = map(self.operand, equation.operands)
        indices = tuple(map(Index.of, dims))
        lowered = lowering.rule(indices, Operand(out.type, buffer), *operands, **equation.params)
        if not isinstance(lowered, (Definition, Pieces, Stages)):
            if self.follows_turns(lowered, dims):
                self._sources[out] = View(lowered.buffer, lowered.indices, dims)
            else:
                self.define(equation, out, dims, lowered)
            return
        self._sources[out] = buffer
        if isinstance(lowered, Pieces):
            stores = (Store(buffer, indices, value) for indices, value in lowered.stores)
            self.nest(equation, lowered.dims, *stores)
            return
        if isinstance(lowered, Stages):
            self.stages(equation, lowered)
            return
        if lowered.initial is not None:
            before = self.source(equation.operands[0])
            if isinstance(before, Buffer) and before in self.unwritten:
                self.begin(buffer)
                if not any(inside.facts.buffers or inside.facts.dims for inside in computed(lowered.indices)):
                    self.begun[buffer] = lowered.indices
            else:
                self.nest(equation, dims, Store(buffer, indices, lowered.initial(indices)))
        combiner = "" if lowered.combiner == "assign" else lowered.combiner
        # Points that write over one another do so in the order of NumPy.
        apart = {index.only for index in lowered.indices}
        sequential = lowered.sequential or frozenset(lowered.dims) - apart
        store = Store(buffer, lowered.indices, lowered.value, combiner)
        self.nest(equation, lowered.dims, store, sequential=sequential)

    def follows_turns(self, element: Expression, dims: tuple[Dim, ...]) -> TypeGuard[Load]:
        """Return whether a value is the part of a settled buffer to which the turns of loops lead."""
        return (
            isinstance(element, Load)
            and self.keeps(element.buffer)
            and all(index.is_affine for index in element.indices)
            and not {dim for index in element.indices for dim in index.dims()}.issubset(dims)
        )

    def stages(self, equation: Equation, stages: Stages) -> None:
        """Append nests inside loops, of which threads share the outermost."""
        steps = self.in_order(equation, stages.nests)
        counters = [counter for counter in stages.counters if counter.extent != 1]
        for counter in reversed(counters):
            shared = counter is counters[0]
            steps = (Loop(counter, False, steps, equation.location, shared=shared),)
        self.steps += steps
        if stages.remainder is not None:
            self.stages(equation, stages.remainder)

    def in_order(self, equation: Equation, stages: Sequence[Stage]) -> tuple[Step, ...]:
        """Return the steps of stages, and loops around those that are repeated."""
        inner = self.inner()
        for stage_ in stages:
            if isinstance(stage_, Turns):
                steps = inner.in_order(equation, stage_.stages)
                inner.steps.append(Loop(stage_.counter, stage_.reverse, steps, equation.location))
            else:
                buffer, pieces = stage_
                stores = (Store(buffer, indices, value) for indices, value in pieces.stores)
                inner.nest(equation, pieces.dims, *stores)
        return tuple(inner.steps)

    def define(self, equation: Equation, out: Var, dims: tuple[Dim, ...], value: Expression) -> None:
        """Give a variable a buffer of its own, stored by one nest."""
        self._sources[out] = buffer = self.new(out)
        self.nest(equation, dims, Store(buffer, tuple(map(Index.of, dims)), value))

    def nest(
        self,
        equation: Equation,
        dims: tuple[Dim, ...],
        *stores: Store,
        sequential: frozenset[Dim] = frozenset(),
    ) -> None:
        """Append a nest whose operations name the user's line, without dimensions of extent one.

        A nest without points is left out: it does nothing.
        """
        if not all(dim.extent for dim in dims):
            return
        located = Rewriter(lambda node: self.located(node, equation.location))
        written = tuple(
            replace(store, indices=tuple(map(located.index, store.indices)), value=located(store.value))
            for store in stores
        )
        dims = without_unit(dims)
        parts = (self._parts[atom].primitive for atom in equation.operands if atom in self._parts)
        origin = (*parts, equation.primitive)
        self.steps.append(Nest(dims, written, sequential & frozenset(dims), equation.location, origin))

    def located(self, node: Expression, location: str) -> Expression:
        """Return a node that names the user's line; a sum says which product among its operands it does not round."""
        if not isinstance(node, Apply):
            return node
        if self.contract and node.operation in SUMS and node.dtype.kind == "f":
            places = (n for n, operand in enumerate(node.operands, 1) if factors(operand))
            node = replace(node, param=next(places, 0))
        return node if node.location else replace(node, location=location)

    def host(self, equation: Equation) -> None:
        """Leave an operation to NumPy."""
        outputs = tuple(self.new(var) for var in equation.outputs)
        operands = tuple(self._whole(atom) for atom in equation.operands)
        weak = tuple(atom.type.weak and not atom.type.shape for atom in equation.operands)
        self.steps.append(
            Host(equation.primitive, equation.params, operands, outputs, weak, equation.location)
        )
        self._sources.update(zip(equation.outputs, outputs, strict=True))

    def routine(self, equation: Equation, lowering: Routine) -> None:
        """Append the calls of a routine, with the memory that it works in."""
        operands, outputs = equation.operands, equation.outputs
        made = tuple(self.new(var) for var in outputs)
        self._sources.update(zip(outputs, made, strict=True))
        calls = lowering.stacked([x.type for x in operands], [var.type for var in outputs], equation.params)
        if not (calls.matrices and any(math.prod(var.shape) for var in outputs)):
            return
        memory = Buffer(np.dtype(np.uint8), (calls.call.memory,)) if calls.call.memory else None
        self.steps.append(Call(calls, tuple(map(self._whole, operands)), made, memory, equation.location))

    def sort(self, equation: Equation, lowering: Sorting) -> None:
        """Append a sort, or let an earlier one of the same value give this result, too."""
        (operand,), (out,), axis = equation.operands, equation.outputs, equation.params["axis"]
        if out.type.shape[axis] <= 1 or 0 in out.shape:
            dims = tuple(map(Dim, out.shape))
            element = self.operand(operand).at(tuple(map(Index.of, dims)))
            self.define(equation, out, dims, zero(INT64) if lowering.positions else element)
            return
        self._sources[out] = result = self.new(out)
        place = self._sorts.get((operand, axis))
        if place is None:
            sort = Sort(self._whole(operand), axis, None, None, equation.location)
            self._sorts[operand, axis] = place = len(self.steps)
            self.steps.append(sort)
        sort = self.steps[place]
        assert isinstance(sort, Sort)
        changed = replace(sort, positions=result) if lowering.positions else replace(sort, values=result)
        self.steps[place] = changed

    def _whole(self, atom: Atom) -> Any:
        """Return a value as NumPy takes it: a buffer, or a number."""
        if isinstance(atom, Literal):
            return atom.value
        source = self.source(atom)
        return source if isinstance(source, Buffer) else self.copy(self.operand(atom))

    # -- copies ------------------------------------------------------------------------------------------

    def new(self, var: Var) -> Buffer:
        """Return a buffer for a variable."""
        buffer = Buffer(var.dtype, var.shape, var.name)
        self.settled.add(buffer)
        return buffer

    def copy(self, operand: Operand, target: Buffer | None = None, lead: tuple[Index, ...] = ()) -> Buffer:
        """Copy a value to a buffer, or to the part of one at leading indices."""
        target = target or Buffer(operand.dtype, operand.shape)
        if isinstance(operand.source, Buffer) and operand.source in self.unwritten:
            return self.begin(target, lead)
        if isinstance(operand.source, Buffer) and operand.source in self.begun:
            self.begin(target, lead)
            part = self.begun[operand.source]
            fresh: dict[Any, Dim] = {dim: Dim(dim.extent) for index in part for dim in index.dims()}
            dims = tuple(fresh.values())
            indices = tuple(
                index.substitute(lambda x: Index.of(fresh[x]) if x in fresh else None) for index in part
            )
        else:
            dims = tuple(map(Dim, operand.shape))
            indices = tuple(map(Index.of, dims))
        store = Store(target, (*lead, *indices), operand.at(indices))
        self.steps.append(Nest(without_unit(dims), (store,), origin=("copy",)))
        return target

    def carried(self, types: Sequence[TensorType], sources: Sequence[Source]) -> list[Buffer]:
        """Return buffers for values that change from step to step, holding their first values."""
        return [self.copy(Operand(type_, source)) for type_, source in zip(types, sources, strict=True)]

    def begin(self, buffer: Buffer, lead: tuple[Index, ...] = ()) -> Buffer:
        """Write the first element of a buffer, or of its part, of which none is specified: it is there from here on."""
        indices = (*lead, *(Index(0) for _ in buffer.shape[len(lead) :]))
        store = Store(buffer, indices, zero(buffer.dtype))
        self.steps.append(Nest((), (store,), origin=("unwritten",)))
        return buffer

    def update(
        self, types: Sequence[TensorType], sources: Sequence[Source], targets: Sequence[Buffer]
    ) -> None:
        """Give the carried values their next values, all at once."""
        moved = set(targets)
        ready: list[tuple[TensorType, Source, Buffer]] = []
        for type_, source, target in zip(types, sources, targets, strict=True):
            if source is target:
                continue
            if _buffer_of(source) in moved:  # it would be overwritten before it is read
                source = self.copy(Operand(type_, source))
            ready.append((type_, source, target))
        for type_, source, target in ready:
            self.copy(Operand(type_, source), target)


def _parts_of_sums(graph: Graph) -> dict[Atom, Equation]:
    """Return the products of floats whose only use is a sum with as many elements, at most one for each sum."""
    uses = Counter(atom for equation in graph.equations for atom in equation.operands)
    uses.update(graph.outputs)
    products: dict[Atom, Equation] = {}
    parts: dict[Atom, Equation] = {}
    for equation in graph.equations:
        (out, *_) = equation.outputs
        if out.dtype.kind != "f" or not all(atom.type.dtype in NATIVE for atom in (out, *equation.operands)):
            continue
        if equation.primitive in PRODUCTS and equation.params.get("exponent", 2) == 2:
            products[out] = equation
        elif equation.primitive in SUMS:
            for atom in equation.operands:
                alike = (atom.type.dtype, atom.type.shape) == (out.dtype, out.shape)
                if atom in products and uses[atom] == 1 and alike:
                    parts[atom] = products[atom]
                    break
    return parts


def _cast(x: Any, dtype: Dtype) -> Any:
    return x if x.dtype == dtype else REGISTRY["cast"](x, dtype=dtype)


def compared_dtypes(types: Sequence[TensorType], wanted: Sequence[Dtype]) -> Sequence[Dtype]:
    """Return the dtypes to compare in: a Python integer need not be one of the other operand's dtype."""
    own = [type_.dtype for type_ in types]
    if not any(type_.weak for type_ in types) or any(dtype.kind not in "iu" for dtype in own):
        return wanted
    return own if np.dtype(np.uint64) in own else [INT64, INT64]


def _compared(operation: str, x: Expression, y: Expression) -> Expression:
    """Compare a signed with an unsigned integer: a negative one is below all that are unsigned."""
    signed, order = (x, (-1, 0)) if x.dtype.kind == "i" else (y, (0, -1))
    below = Apply("less", (signed, zero(signed.dtype)), BOOL)
    unsigned = y.dtype if signed is x else x.dtype
    beside = Apply(operation, (converted(x, unsigned), converted(y, unsigned)), BOOL)
    return choice(below, Const(getattr(np, operation)(*order), BOOL), beside)


def _buffer_of(source: Source) -> Buffer | None:
    if isinstance(source, Buffer):
        return source
    return source.buffer if isinstance(source, (Section, View)) else None


# -- operations that hold programs -----------------------------------------------------------------------


def _inlined(name: str) -> Any:
    def steps(block: _Block, equation: Equation) -> list[Source]:
        return block.graph(equation.params[name], [block.source(atom) for atom in equation.operands])

    return steps


def _cond(block: _Block, equation: Equation) -> list[Source]:
    predicate, *operands = equation.operands
    sources = [block.source(atom) for atom in operands]
    outputs = [block.new(var) for var in equation.outputs]
    branches: list[tuple[Step, ...]] = []
    for name in ("on_true", "on_false"):
        inner = block.inner()
        graph: Graph = equation.params[name]
        results = inner.graph(graph, sources)
        for source, output in zip(results, outputs, strict=True):
            inner.copy(Operand(TensorType(output.dtype, output.shape), _as(source, output.dtype)), output)
        branches.append(tuple(inner.steps))
    flag = _truth(block, block.operand(predicate))
    block.steps.append(Branch(flag, branches[0], branches[1], equation.location))
    return list(outputs)


def _as(source: Source, dtype: Dtype) -> Source:
    """Return a number as one of another dtype: branches may give Python scalars where arrays are expected."""
    return Const(dtype.type(source.value), dtype) if isinstance(source, Const) else source


def _truth(block: _Block, operand: Operand, target: Buffer | None = None) -> Buffer:
    target = target or Buffer(BOOL, ())
    indices = [Index(0)] * len(operand.shape)
    value = converted(operand.at(indices), BOOL)
    block.steps.append(Nest((), (Store(target, (), value),), origin=("test",)))
    return target


def _while(block: _Block, equation: Equation) -> list[Source]:
    params = equation.params
    sources = [block.source(atom) for atom in equation.operands]
    middle = params["tested"] + params["fixed"]
    types = [var.type for var in equation.outputs]
    carries = block.carried(types, [_as(s, t.dtype) for s, t in zip(sources[middle:], types, strict=True)])
    test, body = block.inner(), block.inner()
    test.is_turn = body.is_turn = True
    (going,) = test.graph(params["condition"], [*sources[: params["tested"]], *carries])
    flag = _truth(test, Operand(params["condition"].output_types[0], going))
    results = body.graph(params["body"], [*sources[params["tested"] : middle], *carries])
    body.update(types, [_as(s, t.dtype) for s, t in zip(results, types, strict=True)], carries)
    counter = None if params.get("most") is None else Dim(params["most"], "t")
    block.steps.append(While(flag, tuple(test.steps), tuple(body.steps), equation.location, counter))
    return list(carries)


class _Turns(NamedTuple):
    """The turns of a scan."""

    counter: Dim
    steps: tuple[Step, ...]
    results: list[Source]


def _turns(block: _Block, equation: Equation, sources: Sequence[Source]) -> _Turns:
    """Write down one turn of a scan, given its constants, carries and slices."""
    params = equation.params
    body_graph: Graph = params["body"]
    constants, count = params["constants"], params["carries"]
    types = [var.type for var in equation.outputs]
    middle = constants + count
    firsts = [_as(s, t.dtype) for s, t in zip(sources[constants:middle], types, strict=False)]
    counter = Dim(params["length"], "t")
    step = Index(0, ((counter, 1),))
    is_complete = equation.primitive == "scan"
    numbers = counters(equation, firsts, counter) if is_complete or not params["reverse"] else {}
    # How many turns another loop takes, and so the last number, is known only when it runs.
    moved = [n for n in range(count) if n not in numbers or not is_complete]
    buffers = block.carried([types[n] for n in moved], [firsts[n] for n in moved])
    carries: list[Source] = [
        numbers[n].inside if n in numbers else buffers[moved.index(n)] for n in range(count)
    ]
    sliced = [atom.type for atom in equation.operands[-len(sources) :][middle:]]
    rows = [_row(block, source, type_, step) for source, type_ in zip(sources[middle:], sliced, strict=True)]
    body = block.inner()
    body.is_turn = True
    results = body.graph(body_graph, [*sources[:constants], *carries, *rows])
    results = [_as(s, t.dtype) for s, t in zip(results, types, strict=True)]
    stacks, copies = _stacks(block, equation.outputs[count:], results[count:], counter)
    body.steps[:] = _placed(body.steps, copies)
    body.update([types[n] for n in moved], [results[n] for n in moved], buffers)
    ends = [buffers[moved.index(n)] if n in moved else numbers[n].last for n in range(count)]
    return _Turns(counter, tuple(body.steps), [*ends, *stacks])


#: A step that copies a source.
_Copy = tuple[Source, Step]


def _stacks(
    block: _Block, outputs: Sequence[Var], sources: Sequence[Source], counter: Dim
) -> tuple[list[Source], list[_Copy]]:
    """Return arrays of what all turns of a loop have for values, and the steps of a turn that fill them."""
    stacks: list[Source] = []
    copies = block.inner()
    copied: list[Source] = []
    for var, source in zip(outputs, sources, strict=True):
        known: Source | None = stacked(source, counter)
        if isinstance(source, View) and block.keeps(source.buffer):
            known = View(source.buffer, source.indices, (counter, *source.axes))
        if known is None:
            known = block.new(var)
            row = Operand(TensorType(var.dtype, var.shape[1:]), source)
            copies.copy(row, known, (Index(0, ((counter, 1),)),))
            copied.append(source)
        stacks.append(known)
    return stacks, list(zip(copied, copies.steps, strict=True))


def _placed(steps: Sequence[Step], copies: Sequence[_Copy]) -> list[Step]:
    """Put each copy behind the step that makes its source: a later one may write in the place of that."""
    made = {buffer: place for place, step in enumerate(steps, 1) for buffer in writes(step)}
    at: defaultdict[int, list[Step]] = defaultdict(list)
    for source, copy in copies:
        buffer = _buffer_of(source)
        at[0 if buffer is None else made.get(buffer, 0)].append(copy)
    return [*at[0], *(x for place, step in enumerate(steps, 1) for x in (step, *at[place]))]


def _scan(block: _Block, equation: Equation) -> list[Source]:
    turns = _turns(block, equation, list(map(block.source, equation.operands)))
    block.steps.append(Loop(turns.counter, equation.params["reverse"], turns.steps, equation.location))
    return turns.results


def _bounded_scan(block: _Block, equation: Equation) -> list[Source]:
    params = equation.params
    count, *sources = map(block.operand, equation.operands)
    is_length = isinstance(count.source, Const) and count.source.value == params["length"]
    number = None if is_length else block.copy(count)
    turns = _turns(block, equation, [operand.source for operand in sources])
    always = Operand(TensorType(BOOL, ()), Const(np.True_, BOOL))
    going = cast("Buffer", turns.results[0]) if params.get("stops") else _truth(block, always)
    block.steps.append(
        While(going, (), turns.steps, equation.location, turns.counter, number, params["reverse"])
    )
    return turns.results


def _unwritten(block: _Block, equation: Equation) -> list[Source]:
    """Return a buffer that no step writes: its copies are new buffers."""
    (var,) = equation.outputs
    buffer = block.new(var)
    block.unwritten.add(buffer)
    return [buffer]


def _row(block: _Block, source: Source, type_: TensorType, step: Index) -> Source:
    match source:
        case Buffer():
            return Section(source, (step,))
        case Section(buffer=buffer, lead=lead):
            return Section(buffer, (*lead, step))
        case View():
            return source.row(step)
        case Grid(offset=offset, strides=strides):
            return replace(source, offset=offset + step * strides[0], strides=strides[1:])
        case Diagonal():
            return Section(block.copy(Operand(type_, source)), (step,))
        case Const():
            return source


_PROGRAMS: dict[str, Any] = {
    "cond": _cond,
    "while": _while,
    "scan": _scan,
    "bounded_scan": _bounded_scan,
    "checkpointed_scan": _bounded_scan,
    "checkpoint": _inlined("program"),
    "custom_jvp": _inlined("graph"),
    "custom_vjp": _inlined("graph"),
    "unwritten": _unwritten,
}
