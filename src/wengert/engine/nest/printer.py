"""Nests as text: what golden tests and reports show."""

from __future__ import annotations

from collections.abc import Iterator

from wengert.engine.core.dtypes import SHORT_NAMES
from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Guard, Iota, Load, Reduce
from wengert.engine.nest.index import Computed, Digit, Dim, Index, Term
from wengert.engine.nest.nest import Branch, Call, Host, Loop, Nest, Program, Sort, Step, Store, While

_INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
    "logical_and": "and",
    "logical_or": "or",
}


_LONG = 500
"""Nodes of a nest, counted with repetition, from which repeated values get names."""
_SHORT = 4
"""Nodes that are written again all the same."""


class Names:
    """Names for buffers and dimensions, given in the order in which they are met."""

    def __init__(self) -> None:
        self.values: dict[int, str] = {}
        """The names of values of the nest that is being written."""
        self._buffers: dict[Buffer, str] = {}
        self._dims: dict[Dim, str] = {}
        self._taken: set[str] = set()

    def buffer(self, buffer: Buffer) -> str:
        """Return the name of a buffer."""
        if buffer not in self._buffers:
            name = buffer.name
            if not name or name in self._taken:
                name = f"b{len(self._buffers) + 1}"
            self._taken.add(name)
            self._buffers[buffer] = name
        return self._buffers[buffer]

    def dim(self, dim: Dim) -> str:
        """Return the name of a dimension, or those of its parts."""
        if len(dim.parts) > 1:
            return "*".join(map(self.dim, dim.parts))
        if dim not in self._dims:
            number = len(self._dims)
            self._dims[dim] = "ijklmnpqrsuvwxyz"[number % 16] + ("" if number < 16 else str(number // 16))
        return self._dims[dim]


def text(program: Program, names: Names | None = None) -> str:
    """Write a program, a line a store, in the order in which it is carried out."""
    names = names or Names()
    lines = [line for step in program.steps for line in step_lines(step, names)]
    inputs = ", ".join(_typed(buffer, names) for buffer in program.inputs)
    outputs = ", ".join(names.buffer(buffer) for buffer in program.outputs)
    return "\n".join([f"program({inputs})", *(f"  {line}" for line in lines), f"  return {outputs}"])


def _typed(buffer: Buffer, names: Names) -> str:
    return f"{names.buffer(buffer)}: {SHORT_NAMES[buffer.dtype]}[{','.join(map(str, buffer.shape))}]"


def step_lines(step: Step, names: Names) -> Iterator[str]:
    """Yield the lines of one step."""
    match step:
        case Nest():
            yield from _nest_lines(step, names)
        case Loop(counter=counter, reverse=reverse, steps=steps, shared=shared):
            how = " at once" if shared else ""
            yield f"for {names.dim(counter)} {'down from' if reverse else '<'} {counter.extent}{how}:"
            yield from _indented(steps, names)
        case Branch(predicate=predicate, yes=yes, no=no):
            yield f"if {names.buffer(predicate)}:"
            yield from _indented(yes, names)
            yield "else:"
            yield from _indented(no, names)
        case While(predicate=predicate, condition=condition, steps=steps):
            yield _loop_line(step, names)
            yield from _indented(condition, names)
            yield f"  while {names.buffer(predicate)}:"
            yield from (f"  {line}" for line in _indented(steps, names))
        case Host(primitive=primitive, operands=operands, outputs=outputs):
            arguments = ", ".join(names.buffer(x) if isinstance(x, Buffer) else repr(x) for x in operands)
            yield f"{', '.join(map(names.buffer, outputs))} = numpy {primitive}({arguments})"
        case Call(calls=calls, operands=operands, outputs=outputs):
            made, arguments = (", ".join(map(names.buffer, buffers)) for buffers in (outputs, operands))
            yield f"{made} = {calls.call.name}({arguments})"
        case Sort(operand=operand, axis=axis, values=values, positions=positions):
            made = [(name, buffer) for name, buffer in (("sort", values), ("argsort", positions)) if buffer]
            results, how = (
                ", ".join(words) for words in zip(*((names.buffer(b), a) for a, b in made), strict=True)
            )
            yield f"{results} = {how}[axis={axis}]({names.buffer(operand)})"


def _loop_line(step: While, names: Names) -> str:
    if step.counter is None:
        return "loop:"
    most = step.counter.extent if step.turns is None else names.buffer(step.turns)
    return f"loop {names.dim(step.counter)} {'down from' if step.reverse else '<'} {most}:"


def _indented(steps: tuple[Step, ...], names: Names) -> Iterator[str]:
    for step in steps:
        yield from (f"  {line}" for line in step_lines(step, names))


def _nest_lines(nest: Nest, names: Names) -> Iterator[str]:
    dims = " ".join(
        f"{names.dim(dim)}<{dim.extent}{'!' if dim in nest.sequential else ''}" for dim in nest.dims
    )
    yield f"nest {dims}".rstrip() + ":"
    for number, value in enumerate(_repeated(nest), 1):
        line = f"  t{number} = {expression_text(value, names)}"
        names.values[id(value)] = f"t{number}"
        yield line
    for store in nest.stores:
        yield f"  {_store(store, names)}"
    names.values.clear()


def _repeated(nest: Nest) -> list[Expression]:
    """Return the values that a long nest computes once and would write several times, those inside others first."""
    sizes: dict[int, int] = {}
    times: dict[int, int] = {}
    repeated: list[Expression] = []

    def measure(node: Expression) -> int:
        times[id(node)] = times.get(id(node), 0) + 1
        if id(node) not in sizes:
            sizes[id(node)] = 1 + sum(map(measure, node.facts.children))
            repeated.append(node)
        return sizes[id(node)]

    if sum(map(measure, nest.roots())) < _LONG:
        return []
    return [node for node in repeated if times[id(node)] > 1 and sizes[id(node)] > _SHORT]


def _store(store: Store, names: Names) -> str:
    sign = f"{store.combiner}=" if store.combiner else "="
    loops = f"along {' '.join(map(names.dim, store.along))}: " if store.along else ""
    element = _element(store.buffer, store.indices, names)
    return f"{loops}{element} {sign} {expression_text(store.value, names)}"


def _element(buffer: Buffer, indices: tuple[Index, ...], names: Names) -> str:
    return f"{names.buffer(buffer)}[{', '.join(index_text(index, names) for index in indices)}]"


def index_text(index: Index, names: Names) -> str:
    """Write an index."""

    def term_text(term: Term) -> str:
        match term:
            case Dim():
                return names.dim(term)
            case Digit(index=inner, divisor=divisor, modulus=modulus):
                return f"(({index_text(inner, names)}) / {divisor} % {modulus})"
            case Computed(expression=expression):
                return expression_text(expression, names)

    return index.text(term_text)


def expression_text(expression: Expression, names: Names) -> str:
    """Write an expression."""

    def write(node: Expression) -> str:
        return expression_text(node, names)

    if id(expression) in names.values:
        return names.values[id(expression)]
    match expression:
        case Const(value=value):
            return str(value)
        case Iota(index=index):
            return f"({index_text(index, names)})"
        case Load(buffer=buffer, indices=indices):
            return _element(buffer, indices, names)
        case Guard(conditions=conditions, body=body, otherwise=otherwise):
            tests = " and ".join(
                f"0 <= {index_text(index, names)} < {extent}" for index, extent in conditions
            )
            return f"({write(body)} if {tests} else {write(otherwise)})"
        case Reduce(combiner=combiner, dims=dims, body=body):
            loops = " ".join(f"{names.dim(dim)}<{dim.extent}" for dim in dims)
            return f"{combiner}({loops}: {write(body)})"
        case Apply(operation=operation, operands=operands):
            if operation in _INFIX:
                return f"({write(operands[0])} {_INFIX[operation]} {write(operands[1])})"
            name = expression.dtype.name if operation == "cast" else operation
            return f"{name}({', '.join(map(write, operands))})"
