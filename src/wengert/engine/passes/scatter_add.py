"""Scatter-add fusion: an array plus values that a sum scatters into zeros adds them in place, without the zeros.

The sum may be one scatter, several, the carry of a loop that adds to zeros turn by turn, as reverse mode adds up the
cotangent of an array of which each turn reads a part, or the result of a branch. The loop then begins with the array,
and the branches take it as one more operand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wengert.engine.core.dtypes import INT64
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.passes.rewrite import is_zero, with_programs_inside


def fuse_scatter_add(graph: Graph) -> Graph:
    """Return the graph with ``x + scatter_add(y, i)`` as ``add_at(x, y, i)``, the programs inside it included.

    As where eager mode adds to a buffer, an element that nothing is added to stays as it is, -0 too.
    """
    return _fused(graph, is_inside=False)


def _fused(graph: Graph, is_inside: bool) -> Graph:
    """Return the fused graph; it ``is_inside`` of another one as the body of a loop or a branch.

    There what the derivative of ``x[2]`` adds to a sum of many turns goes into the element. Elsewhere a sum of such
    arrays is one nest over all elements.
    """
    key = _fused, is_inside
    if key not in graph.derived:
        inside = with_programs_inside(graph, lambda program: _fused(program, is_inside=True))
        changed = _Sums(inside, is_inside).run()
        fused = changed if changed is inside else eliminate_dead(changed)
        graph.derived[key] = fused.derived[key] = fused
    return graph.derived[key]


#: What a sum begins with: a variable, or None for zeros.
_Start = Var | None


class _Step(NamedTuple):
    """The last step of a sum: an equation that adds to an array."""

    place: _Place
    """Where the equation stands."""
    operand: int | None
    """Which of its operands is the array before; None for a scatter into zeros, or a branch on one."""
    output: int
    """Which of its results is the array after."""
    scatters: bool
    """Whether it, or a step before, adds to a part of the array alone."""


_Place = tuple[int, int]


class _Sums:
    """The sums in a graph, which can begin with other arrays."""

    def __init__(self, graph: Graph, is_inside: bool) -> None:
        self._graph = graph
        self._is_inside = is_inside
        self._equations: dict[_Place, Equation] = {(n, 0): one for n, one in enumerate(graph.equations)}
        self._uses = Counter(atom for equation in graph.equations for atom in equation.operands)
        self._uses.update(graph.outputs)
        self._places: dict[Var, _Place] = {}
        # Each value that one equation alone reads, or the caller, may be a sum.
        self._sums: dict[Var, dict[_Start, _Step | None]] = {var: {var: None} for var in graph.inputs}
        self._zeros = {var for var, value in graph.constants if is_zero(value)}

    def run(self) -> Graph:
        """Return the rewritten graph: the same object where nothing changes."""
        for number, equation in enumerate(self._graph.equations):
            if not (equation.primitive == "add" and self._fuse((number, 0))):
                self._note((number, 0), self._equations[number, 0])
        equations = tuple(self._equations[place] for place in sorted(self._equations))
        same = len(equations) == len(self._graph.equations) and all(
            map(_is, equations, self._graph.equations)
        )
        return self._graph if same else replace(self._graph, equations=equations)

    def starts(self, atom: Atom) -> dict[_Start, _Step | None]:
        """Return what a value may be regarded as beginning with, with the last step from there."""
        if isinstance(atom, Literal):
            return {}
        if atom in self._zeros:
            return {None: None}
        return self._sums.get(atom, {}) if self._uses[atom] == 1 else {}

    def _note(self, place: _Place, equation: Equation) -> None:
        for var in equation.outputs:
            self._places[var] = place
            self._sums.pop(var, None)
        is_element = self._is_inside and equation.primitive == "embed" and _element(equation)
        if equation.primitive == "scatter_add" or is_element:
            self._sums[equation.outputs[0]] = {None: _Step(place, None, 0, scatters=True)}
        if equation.primitive == "cond":
            for output in _scattering(list(equation.graphs())):
                self._sums[equation.outputs[output]] = {None: _Step(place, None, output, scatters=True)}
        for operand, output, scatters in _additions(equation):
            found = self._sums.setdefault(equation.outputs[output], {})
            for start, before in self.starts(equation.operands[operand]).items():
                is_partial = scatters or (before is not None and before.scatters)
                found.setdefault(start, _Step(place, operand, output, is_partial))

    def _fuse(self, place: _Place) -> bool:
        """Let a sum of zeros begin with what is added to it; return whether that can be done."""
        equation = self._equations[place]
        (result,) = equation.outputs
        for x, addend in (equation.operands, equation.operands[::-1]):
            if not isinstance(addend, Literal) and x.type == addend.type == result.type:
                steps = self._steps(addend)
                if (
                    steps
                    and steps[-1].scatters
                    and self._may_begin(x, steps)
                    and self._begin(x, steps, place)
                ):
                    return True
        return False

    def _may_begin(self, x: Atom, steps: Sequence[_Step]) -> bool:
        """Return whether a sum may begin with a value; where it begins with an element, with what turns add up."""
        is_element = self._equations[steps[0].place].primitive == "embed"
        return not is_element or any(start is not None for start in self.starts(x))

    def _steps(self, atom: Atom) -> list[_Step]:
        """Return the steps of a sum of zeros; none if a value is no such sum."""
        steps: list[_Step] = []
        while None in (starts := self.starts(atom)):
            step = starts[None]
            if step is None:
                break
            steps.append(step)
            if step.operand is None:
                break
            atom = self._equations[step.place].operands[step.operand]
        return steps[::-1]

    def _begin(self, x: Atom, steps: list[_Step], place: _Place) -> bool:
        """Let the steps of a sum begin with a value, in the place of the equation that adds both."""
        first = steps[0].place
        is_there = isinstance(x, Literal) or self._places.get(x, (-1, 0)) < first
        if not is_there and any(len(self._equations[step.place].outputs) > 1 for step in steps):
            return False
        (result,) = self._equations.pop(place).outputs
        before = x
        for number, step in enumerate(steps):
            equation = _begun(self._equations.pop(step.place), step, before)
            before = equation.outputs[step.output]
            if number == len(steps) - 1:
                outputs = list(equation.outputs)
                outputs[step.output] = result
                equation = replace(equation, outputs=tuple(outputs))
            at = step.place if is_there else (place[0], number)
            self._equations[at] = equation
            self._note(at, equation)
        return True


def _additions(equation: Equation) -> list[tuple[int, int, bool]]:
    """Return the operands to which an equation adds, with the results, and whether it adds to a part alone."""
    match equation.primitive:
        case "add_at":
            return [(0, 0, True)]
        case "add":
            (result,) = equation.outputs
            return [(n, 0, False) for n in (0, 1) if equation.operands[n].type == result.type]
        case "scan" | "bounded_scan":
            first = equation.params["constants"]
            found = _summing(equation.params["body"], first, equation.params["carries"])
            first += equation.primitive == "bounded_scan"  # the number of turns
            return [(first + n, n, scatters) for n, scatters in found.items()]
        case "while":
            params = equation.params
            found = _summing(params["body"], params["fixed"], len(equation.outputs))
            tested = read_inputs(params["condition"])[params["tested"] :]
            first = params["tested"] + params["fixed"]
            return [(first + n, n, scatters) for n, scatters in found.items() if not tested[n]]
        case "cond":
            return _adding(list(equation.graphs()))
        case _:
            return []


def read_inputs(graph: Graph) -> list[bool]:
    """Return which inputs equations or outputs of a graph read."""
    read = {atom for equation in graph.equations for atom in equation.operands} | set(graph.outputs)
    return [var in read for var in graph.inputs]


def _summing(body: Graph, constants: int, carries: int) -> dict[int, bool]:
    """Return the carries to which each turn of a loop only adds, and whether it adds to a part alone."""
    starts = _starts(body)
    found: dict[int, bool] = {}
    for number in range(carries):
        step = starts[number].get(body.inputs[constants + number])
        if step is not None:
            found[number] = step.scatters
    return found


def _adding(branches: Sequence[Graph]) -> list[tuple[int, int, bool]]:
    """Return the operands of a `cond` to which both branches only add, with the results."""
    found: list[tuple[int, int, bool]] = []
    for output, starts in enumerate(_starts_of(branches)):
        for operand, inputs in enumerate(zip(*(branch.inputs for branch in branches), strict=True), 1):
            if all(var in each for var, each in zip(inputs, starts, strict=True)):
                steps = [each[var] for var, each in zip(inputs, starts, strict=True)]
                found.append((operand, output, any(step is not None and step.scatters for step in steps)))
    return found


def _scattering(branches: Sequence[Graph]) -> list[int]:
    """Return the results of a `cond` that are sums of zeros in both branches, and a scatter in one."""
    return [
        output
        for output, starts in enumerate(_starts_of(branches))
        if all(None in each for each in starts)
        and any(step is not None and step.scatters for step in (each[None] for each in starts))
    ]


def _starts_of(branches: Sequence[Graph]) -> list[tuple[dict[_Start, _Step | None], ...]]:
    """Return what each result may be regarded as beginning with, in each branch."""
    return list(zip(*map(_starts, branches), strict=True))


def _starts(graph: Graph) -> list[dict[_Start, _Step | None]]:
    """Return what each output of a program may be regarded as beginning with; each level of nesting asks."""
    if _starts not in graph.derived:
        sums = _Sums(graph, is_inside=True)
        sums.run()
        graph.derived[_starts] = list(map(sums.starts, graph.outputs))
    return graph.derived[_starts]


def _begun_branch(branch: Graph, output: int, type_: TensorType) -> Graph:
    """Return a branch whose result begins with one more input."""
    before, after = Var(type_), Var(type_)
    addend = branch.outputs[output]
    zeros = {var for var, value in branch.constants if is_zero(value)}
    outputs, equations = list(branch.outputs), branch.equations
    if addend in zeros:
        outputs[output] = before
    else:
        outputs[output] = after
        equations = (*equations, Equation("add", (before, addend), (after,)))
    changed = replace(branch, inputs=(*branch.inputs, before), equations=equations, outputs=tuple(outputs))
    return _fused(changed, is_inside=True)


def _element(equation: Equation) -> tuple[Literal, ...] | None:
    """Return the indices of the element, or of the row, that an `embed` fills; None for other parts."""
    index, shape = equation.params["index"], equation.params["shape"]
    first = [entry for entry in index if isinstance(entry, int)]
    whole = [(0, extent, 1) for extent in shape[len(first) :]]
    if not first or list(index) != [*first, *whole[: len(index) - len(first)]]:
        return None
    return tuple(Literal(entry, TensorType(INT64, (), True)) for entry in first)


def _begun(equation: Equation, step: _Step, before: Atom) -> Equation:
    """Return the equation of a step with another array before it."""
    if equation.primitive == "cond" and step.operand is None:
        params = {
            name: _begun_branch(branch, step.output, before.type) for name, branch in equation.params.items()
        }
        return replace(equation, operands=(*equation.operands, before), params=params)
    if step.operand is None:
        indices = (_element(equation) or ()) if equation.primitive == "embed" else ()
        operands = before, *equation.operands, *indices
        return replace(equation, primitive="add_at", operands=operands, params={})
    operands = list(equation.operands)
    operands[step.operand] = before
    return replace(equation, operands=tuple(operands))


def _is(one: object, other: object) -> bool:
    return one is other
