"""The evaluation trace: the values of a function, computed forwards, beside its adjoints, computed backwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.dtypes import dtype_of, is_inexact
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.markup import element, in_notebook, scrollable
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.primitive import REGISTRY
from wengert.engine.transforms.reverse_mode import vjp
from wengert.inspect.notation import PRIME, adjoint_term, formula, passes, show, symbol
from wengert.inspect.statements import renames

HEADS = "Forward primal trace ↓", "Reverse adjoint trace ↑"


class Step(NamedTuple):
    """``symbol = formula = detail = value``; the detail has numbers, or the partial derivative written out."""

    symbol: str
    formula: str
    detail: str
    value: Any


class Row(NamedTuple):
    """A line of the table: a step of the primal trace, a step of the adjoint trace, or both."""

    forward: Step | None
    reverse: Step | None


class Table:
    """The evaluation trace of a function as a table; it prints as text, and as HTML in a notebook."""

    def __init__(self, rows: Sequence[Row], digits: int) -> None:
        self.rows = tuple(rows)
        self.digits = digits

    def _cells(self, step: Step | None) -> list[str]:
        if step is None:
            return [""] * 4
        parts = step.formula, step.detail, show(step.value, self.digits)
        return [step.symbol, *(f"= {part}" if part else "" for part in parts)]

    def __str__(self) -> str:
        halves = [[self._cells(row[side]) for row in self.rows] for side in (0, 1)]
        texts = [_aligned(half) for half in halves]
        widths = [max(len(head), *map(len, text)) for head, text in zip(HEADS, texts, strict=True)]
        lines = [f"{HEADS[0]:{widths[0]}} │ {HEADS[1]}", f"{'─' * widths[0]}─┼─{'─' * widths[1]}"]
        lines += [f"{left:{widths[0]}} │ {right}" for left, right in zip(*texts, strict=True)]
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heads = (element("th", head, scope="colgroup", colspan=4, class_="text") for head in HEADS)
        rows = [
            element("tr", *(element("td", cell, class_="text") for side in row for cell in self._cells(side)))
            for row in self.rows
        ]
        parts = element("thead", element("tr", *heads)), element("tbody", *rows)
        return in_notebook(scrollable(element("table", *parts), "Evaluation trace"))


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Align cells in columns, without the empty columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = (zip(line, widths, strict=True) for line in lines)
    return [" ".join(f"{cell:{width}}" for cell, width in row if width).rstrip() for row in rows]


def tabulate(graph: Graph, places: Sequence[str], values: Mapping[Var, Any], digits: int) -> Table:
    """Return the evaluation trace of a graph with one floating-point scalar as its output.

    ``places`` are the user's names of the inputs; numbers are shown with ``digits`` decimals.
    """
    if len(graph.outputs) != 1 or graph.outputs[0].type.shape or not is_inexact(graph.outputs[0].type.dtype):
        got = ", ".join(map(str, graph.output_types)) or "nothing"
        raise ArgumentError(message("table", "the function must return one floating-point scalar", got))
    return Table(_Trace(eliminate_dead(graph), places, values, digits).rows(), digits)


class _Trace:
    """The steps of one graph, and the adjoints that the way back has reached so far."""

    def __init__(self, graph: Graph, places: Sequence[str], values: Mapping[Var, Any], digits: int) -> None:
        self.graph = graph
        self.places = places
        self.values = values
        self.digits = digits
        self.same: dict[Var, Atom] = {}
        self.symbols = {var: symbol(i + 1 - len(graph.inputs)) for i, var in enumerate(graph.inputs)}
        self.symbols.update((var, symbol(i, "c")) for i, (var, _) in enumerate(graph.constants, 1))
        self.active = {var for var in graph.inputs if is_inexact(var.dtype)}
        self.adjoints: dict[Var, Any] = {}
        self.equations: list[Equation] = []
        number = 0
        for equation in graph.equations:
            if renames(equation):
                self.same[equation.outputs[0]] = self.atom(equation.operands[0])
                continue
            self.equations.append(equation)
            for var in equation.outputs:
                number += 1
                self.symbols[var] = symbol(number)
            if any(self._follows(equation, position) for position in range(len(equation.operands))):
                self.active.update(var for var in equation.outputs if is_inexact(var.dtype))

    def _follows(self, equation: Equation, position: int) -> bool:
        operand = self.atom(equation.operands[position])
        return operand in self.active and passes(equation.primitive, position)

    def atom(self, atom: Atom) -> Atom:
        """Return the value behind a renaming."""
        return atom if isinstance(atom, Literal) else self.same.get(atom, atom)

    def value(self, atom: Atom) -> Any:
        return atom.value if isinstance(atom, Literal) else self.values[atom]

    def name(self, atom: Atom) -> str:
        atom = self.atom(atom)
        return show(atom.value, self.digits) if isinstance(atom, Literal) else self.symbols[atom]

    def rows(self) -> list[Row]:
        """Return the rows, with forward steps downwards and adjoints upwards."""
        output = self.atom(self.graph.outputs[0])
        y = next(letter for letter in ("y", "z", "w", "f", "f(…)") if letter not in self.places)
        last = Step(y, self.name(output), "", self.value(output))
        seed = None
        if isinstance(output, Var) and output in self.active:
            self.adjoints[output] = dtype_of(self.value(output)).type(1)
            seed = Step(self.symbols[output] + PRIME, y + PRIME, "", self.adjoints[output])
        rows = [Row(last, seed)]
        for equation in reversed(self.equations):
            reverse: list[Step | None] = [*self.back(equation)]
            forward: list[Step | None] = [None] * max(len(reverse) - 1, 0)
            rows += map(Row, [*forward, self.forward(equation)], reverse or [None])
        for var, place in reversed(list(zip(self.graph.inputs, self.places, strict=True))):
            rows.append(Row(Step(self.symbols[var], place, "", self.values[var]), self.gradient(var, place)))
        return rows[::-1]

    def forward(self, equation: Equation) -> Step:
        """Return the step of an operation, with its numbers."""
        texts = [show(self.value(operand), self.digits) for operand in equation.operands]
        names = list(map(self.name, equation.operands))
        written, numbers = (formula(equation.primitive, row, equation.params) for row in (names, texts))
        results = tuple(self.values[var] for var in equation.outputs)
        shown = results[0] if len(results) == 1 else results
        symbols = ", ".join(self.symbols[var] for var in equation.outputs)
        return Step(symbols, written, "" if numbers == written else numbers, shown)

    def gradient(self, var: Var, place: str) -> Step | None:
        """Return the derivative with respect to an input."""
        if not is_inexact(var.dtype):
            return None
        adjoint = self.adjoints.get(var, np.zeros(var.shape, var.dtype))
        return Step(place + PRIME, self.symbols[var] + PRIME, "", adjoint)

    def back(self, equation: Equation) -> list[Step]:
        """Pass the adjoints of an operation's results on to its operands, the first operand first."""
        positions = [i for i in range(len(equation.operands)) if self._follows(equation, i)]
        outputs = [var for var in equation.outputs if var in self.adjoints]
        if not positions or not outputs:
            return []
        symbols = self.symbols[outputs[0]], list(map(self.name, equation.operands))
        values = self.values[outputs[0]], list(map(self.value, equation.operands))
        steps: list[Step] = []
        for position, contribution in zip(positions, self._pull(equation, positions), strict=True):
            operand = self.atom(equation.operands[position])
            assert isinstance(operand, Var)
            own = self.symbols[operand]
            formula = " + ".join(f"{self.symbols[v]}{PRIME} ∂{self.symbols[v]}/∂{own}" for v in outputs)
            detail = adjoint_term(REGISTRY[equation.primitive], position, symbols, values, equation.params)
            before = self.adjoints.get(operand)
            total = contribution if before is None else before + contribution
            if before is not None:
                formula, detail = _sum(own + PRIME, formula), _sum(own + PRIME, detail)
            self.adjoints[operand] = total
            steps.append(Step(own + PRIME, formula, detail, total))
        return steps

    def _pull(self, equation: Equation, positions: Sequence[int]) -> tuple[Any, ...]:
        """Return the contributions of an operation to the adjoints of some of its operands."""
        operands = list(map(self.value, equation.operands))

        def operation(*chosen: Any) -> Any:
            arguments = list(operands)
            for position, value in zip(positions, chosen, strict=True):
                arguments[position] = value
            return REGISTRY[equation.primitive](*arguments, **equation.params)

        results, pullback = vjp(operation, *(operands[position] for position in positions))
        seeds = [self.adjoints.get(var, np.zeros(var.shape, var.dtype)[()]) for var in equation.outputs]
        return pullback(tuple(seeds) if isinstance(results, tuple) else seeds[0])


def _sum(adjoint: str, term: str) -> str:
    """Write the sum of an adjoint and a term; an empty text for an empty term."""
    if not term:
        return ""
    return f"{adjoint} - {term[1:]}" if term.startswith("-") else f"{adjoint} + {term}"
