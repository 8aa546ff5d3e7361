"""The evaluation trace: what a function computes forwards, and its adjoints backwards, with every number."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.dtypes import dtype_of, is_float
from wengert.core.errors import ArgumentError, message
from wengert.inspect.formatting import PRIME, show, symbol
from wengert.inspect.formulas import formula, passes, product, renames
from wengert.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.passes.dead import eliminate_dead
from wengert.primitive import REGISTRY
from wengert.transforms.reverse_mode import vjp

HEADS = "Forward primal trace ↓", "Reverse adjoint trace ↑"


class Statement(NamedTuple):
    """``symbol = formula = detail = value``; the formula with numbers, or with the partial derivative written out."""

    symbol: str
    formula: str
    detail: str
    value: Any


class Row(NamedTuple):
    """A line of the table: a statement of the primal trace, one of the adjoint trace, or both."""

    forward: Statement | None
    reverse: Statement | None


class Table:
    """The evaluation trace of a function as a table; it prints as text, and as HTML in a notebook."""

    def __init__(self, rows: Sequence[Row], digits: int) -> None:
        self.rows = tuple(rows)
        self.digits = digits

    def _cells(self, statement: Statement | None) -> list[str]:
        if statement is None:
            return [""] * 4
        value = show(statement.value, self.digits)
        parts = statement.formula, statement.detail, value
        return [statement.symbol, *(f"= {part}" if part else "" for part in parts)]

    def __str__(self) -> str:
        halves = [[self._cells(row[side]) for row in self.rows] for side in (0, 1)]
        texts = [_aligned(half) for half in halves]
        widths = [max(len(head), *map(len, text)) for head, text in zip(HEADS, texts, strict=True)]
        lines = [f"{HEADS[0]:{widths[0]}} │ {HEADS[1]}", f"{'─' * widths[0]}─┼─{'─' * widths[1]}"]
        lines += [f"{left:{widths[0]}} │ {right}" for left, right in zip(*texts, strict=True)]
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f'<th colspan="4">{head}</th>' for head in HEADS)
        rows = ([html.escape(cell) for side in row for cell in self._cells(side)] for row in self.rows)
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        return f"<table><tr>{head}</tr>{body}</table>"


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Write cells in columns; a column that is empty throughout takes no room."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = (zip(line, widths, strict=True) for line in lines)
    return [" ".join(f"{cell:{width}}" for cell, width in row if width).rstrip() for row in rows]


def tabulate(graph: Graph, places: Sequence[str], known: Mapping[Var, Any], digits: int) -> Table:
    """Return the evaluation trace of a graph.

    Args:
        graph: a graph with one floating-point scalar as its output.
        places: what the user calls each input.
        known: the value of each variable.
        digits: how many decimals to show.
    """
    if len(graph.outputs) != 1 or graph.outputs[0].type.shape or not is_float(graph.outputs[0].type.dtype):
        got = ", ".join(str(one) for one in graph.output_types) or "nothing"
        raise ArgumentError(message("table", "the function must return one floating-point scalar", got))
    return Table(_Trace(eliminate_dead(graph), places, known, digits).rows(), digits)


class _Trace:
    """The statements of one graph, and the adjoints met so far on the way back."""

    def __init__(self, graph: Graph, places: Sequence[str], known: Mapping[Var, Any], digits: int) -> None:
        self.graph = graph
        self.places = places
        self.known = known
        self.digits = digits
        self.same: dict[Var, Atom] = {}
        self.symbols = {var: symbol(i + 1 - len(graph.inputs)) for i, var in enumerate(graph.inputs)}
        self.symbols.update((var, symbol(i, "c")) for i, (var, _) in enumerate(graph.constants, 1))
        self.active = {var for var in graph.inputs if is_float(var.dtype)}
        self.adjoints: dict[Var, Any] = {}
        self.equations = [equation for equation in graph.equations if not self._renames(equation)]
        self._name()

    def _renames(self, equation: Equation) -> bool:
        """Take a conversion that only makes a Python scalar one of NumPy's for the value itself."""
        if renames(equation):
            self.same[equation.outputs[0]] = self.atom(equation.operands[0])
        return renames(equation)

    def _name(self) -> None:
        number = 0
        for equation in self.equations:
            for var in equation.outputs:
                number += 1
                self.symbols[var] = symbol(number)
            if any(self._follows(equation, position) for position in range(len(equation.operands))):
                self.active.update(var for var in equation.outputs if is_float(var.dtype))

    def _follows(self, equation: Equation, position: int) -> bool:
        operand = self.atom(equation.operands[position])
        return operand in self.active and passes(equation.primitive, position)

    def atom(self, atom: Atom) -> Atom:
        """Return the value that another only renames."""
        return atom if isinstance(atom, Literal) else self.same.get(atom, atom)

    def value(self, atom: Atom) -> Any:
        return atom.value if isinstance(atom, Literal) else self.known[atom]

    def name(self, atom: Atom) -> str:
        atom = self.atom(atom)
        return show(atom.value, self.digits) if isinstance(atom, Literal) else self.symbols[atom]

    def rows(self) -> list[Row]:
        """Return the rows, forward statements downwards and adjoints upwards."""
        output = self.atom(self.graph.outputs[0])
        y = next(letter for letter in ("y", "z", "w", "f", "f(…)") if letter not in self.places)
        last = Statement(y, self.name(output), "", self.value(output))
        seed = None
        if isinstance(output, Var) and output in self.active:
            self.adjoints[output] = dtype_of(self.value(output)).type(1)
            seed = Statement(self.symbols[output] + PRIME, y + PRIME, "", self.adjoints[output])
        rows = [Row(last, seed)]
        for equation in reversed(self.equations):
            reverse: list[Statement | None] = [*self.back(equation)]
            forward: list[Statement | None] = [None] * max(len(reverse) - 1, 0)
            rows += map(Row, [*forward, self.forward(equation)], reverse or [None])
        for var, place in reversed(list(zip(self.graph.inputs, self.places, strict=True))):
            given = Statement(self.symbols[var], place, "", self.known[var])
            rows.append(Row(given, self.gradient(var, place)))
        return rows[::-1]

    def forward(self, equation: Equation) -> Statement:
        """Return the statement of an operation, with the numbers that it works on."""
        texts = [show(self.value(operand), self.digits) for operand in equation.operands]
        names = list(map(self.name, equation.operands))
        called = ", ".join(self.symbols[var] for var in equation.outputs)
        written, numbers = (formula(equation.primitive, one, equation.params) for one in (names, texts))
        results = [self.known[var] for var in equation.outputs]
        shown = results[0] if len(results) == 1 else tuple(results)
        return Statement(called, written, "" if numbers == written else numbers, shown)

    def gradient(self, var: Var, place: str) -> Statement | None:
        """Return what the derivative with respect to an input is."""
        if not is_float(var.dtype):
            return None
        adjoint = self.adjoints.get(var, np.zeros(var.shape, var.dtype))
        return Statement(place + PRIME, self.symbols[var] + PRIME, "", adjoint)

    def back(self, equation: Equation) -> list[Statement]:
        """Hand the adjoints of an operation's results on to its operands, the first operand first."""
        positions = [i for i in range(len(equation.operands)) if self._follows(equation, i)]
        outputs = [var for var in equation.outputs if var in self.adjoints]
        if not positions or not outputs:
            return []
        names, statements = list(map(self.name, equation.operands)), list[Statement]()
        contributions = self._pull(equation, positions)
        for position, contribution in zip(positions, contributions, strict=True):
            operand = self.atom(equation.operands[position])
            assert isinstance(operand, Var)
            out, mine = self.symbols[outputs[0]], self.symbols[operand]
            formula = " + ".join(f"{self.symbols[v]}{PRIME} ∂{self.symbols[v]}/∂{mine}" for v in outputs)
            detail = product(equation.primitive, position, out + PRIME, out, names, equation.params)
            before = self.adjoints.get(operand)
            total = contribution if before is None else before + contribution
            if before is not None:
                formula, detail = _after(mine + PRIME, formula), _after(mine + PRIME, detail)
            self.adjoints[operand] = total
            statements.append(Statement(mine + PRIME, formula, detail, total))
        return statements

    def _pull(self, equation: Equation, positions: Sequence[int]) -> tuple[Any, ...]:
        """Return the contributions of an operation to the adjoints of some of its operands."""
        operands = list(map(self.value, equation.operands))

        def operation(*chosen: Any) -> Any:
            given = list(operands)
            for position, value in zip(positions, chosen, strict=True):
                given[position] = value
            return REGISTRY[equation.primitive](*given, **equation.params)

        results, pullback = vjp(operation, *(operands[position] for position in positions))
        seeds = [self.adjoints.get(var, np.zeros(var.shape, var.dtype)[()]) for var in equation.outputs]
        return pullback(tuple(seeds) if isinstance(results, tuple) else seeds[0])


def _after(adjoint: str, term: str) -> str:
    """Write a term added to what an adjoint is already."""
    if not term:
        return ""
    return f"{adjoint} - {term[1:]}" if term.startswith("-") else f"{adjoint} + {term}"
