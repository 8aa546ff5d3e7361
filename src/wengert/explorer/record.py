"""The content of a page about a function: its steps, programs, source and costs, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.compiler.report import Report
from wengert.engine.core import tree
from wengert.engine.core.dtypes import is_float
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.garbage import collector_paused
from wengert.engine.core.notebooks import readable
from wengert.engine.core.progress import Bar
from wengert.engine.ir.graph import Atom, Graph, Literal, Var
from wengert.engine.primitive import REGISTRY, Linear, Partials
from wengert.explorer.compiled import COMPILED, compiled, staged_report
from wengert.explorer.derivatives import Derivatives, Handle, Step, differentiate
from wengert.explorer.encoding import Encoder, Table, number, tensor, type_text
from wengert.explorer.path import Decision, Path, follow
from wengert.explorer.sources import excerpts
from wengert.explorer.writer import ADJOINT
from wengert.inspect.notation import adjoint_term, all_values, formula, show, symbol
from wengert.inspect.statements import Body, Names, Settings, needs_exact_scalars

#: Letters of the longest formula.
_LONGEST = 120


def record(fun: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data that the page of a function shows.

    `ArgumentError` if no argument or no result is a floating-point number.
    """
    with Bar("explore") as bar:
        bar.stage("run the function")
        path = follow(fun, arguments, options)
        return _recorded(path, lambda: staged_report(fun, arguments, options), bar)


def _recorded(path: Path, staged: Callable[[], Report], bar: Bar) -> dict[str, Any]:
    listing = path.listing
    if not any(is_float(var.dtype) for var in listing.inputs):
        hint = "write 2.0 instead of 2"
        got = ", ".join(map(str, listing.input_types)) or "no arguments"
        raise ArgumentError(
            message("explore", "an argument must be a floating-point number or array", got, hint)
        )
    if not any(is_float(atom.type.dtype) for atom in listing.outputs):
        got = ", ".join(map(str, listing.output_types)) or "nothing"
        raise ArgumentError(message("explore", "a result must be a floating-point number or array", got))
    bar.stage(f"derivatives of {len(listing.equations):,} operations")
    with collector_paused():
        derivatives = differentiate(listing)
        bar.stage("values")
        return _Record(path, derivatives).data(staged, bar)


class _Record:
    """The data of one page."""

    def __init__(self, path: Path, derivatives: Derivatives) -> None:
        self.path, self.listing, self.derivatives = path, path.listing, derivatives
        graph = derivatives.graph
        tangents = self._directions()
        with np.errstate(all="ignore"):
            self.values = all_values(graph, [*self.listing.arguments, *tangents])
            self.primal = all_values(self.listing, self.listing.arguments)
        self.encoder = Encoder(graph, self.values)
        self.texts, self.places = Table(), Table()
        self.files = {
            file: position
            for position, file in enumerate(dict.fromkeys(place.file for place in path.places.values()))
        }
        self.labels: dict[Var, str] = {}
        self.terms: dict[Any, str] = {}
        self._constants: dict[Any, list[Var]] = {}
        """Those that are equal, which have one label."""
        self._label()

    def _directions(self) -> list[Any]:
        """Return the tangents at first: ones along the first input, zeros along the others."""
        moving = self.derivatives.moving
        return [np.full(var.shape, float(n == 0), var.dtype)[()] for n, var in enumerate(moving)]

    def _label(self) -> None:
        """Name the values as the evaluation trace does: v₋₁, v₀ the inputs, then v₁, v₂, ..."""
        inputs = self.listing.inputs
        self.labels.update((var, symbol(n + 1 - len(inputs))) for n, var in enumerate(inputs))
        for var, value in self.listing.constants:
            self._constants.setdefault((var.type, value.tobytes()), []).append(var)
        for count, equal in enumerate(self._constants.values(), 1):
            self.labels.update(dict.fromkeys(equal, symbol(count, "c")))
        count = 0
        for step in self.derivatives.steps:
            for var in step.equation.outputs:
                count += 1
                self.labels[var] = symbol(count)

    def data(self, staged: Callable[[], Report], bar: Bar) -> dict[str, Any]:
        """Return all of it.

        Args:
            staged: describes the program of all paths.
            bar: shows the stages.
        """
        derivatives = self.derivatives
        adjoint = derivatives.adjoint_program()
        bar.stage("compile the derivative")
        has_paths = bool(self.path.decisions) or len(adjoint.equations) > COMPILED
        program = compiled(adjoint, staged if has_paths else None)
        for nest in program.get("nests", ()):
            nest["place"] = self.place(nest["location"])
        return {
            "name": self.listing.name,
            "inputs": [self.input(n, var) for n, var in enumerate(self.listing.inputs)],
            "constants": self.constants(),
            "outputs": self.outputs(),
            "steps": [self.step(step) for step in derivatives.steps],
            "adjoint": self.statements(adjoint),
            "compiled": program,
            "costs": self.costs(program),
            "decisions": [
                self.decision(decision)
                for decision in self.path.decisions
                if decision.var in derivatives.primal
            ],
            "texts": self.texts.entries,
            "places": self.places.entries,
            "sources": excerpts(self.path.places),
            "program": self.encoder.data(),
            "recorded": self.encoder.recorded,
        }

    # -- the parts ---------------------------------------------------------------------------------------

    def at(self, handle: Handle | None) -> int | None:
        """Return the number of a wanted value in the encoded program."""
        return None if handle is None else self.encoder.outputs[handle]

    def place(self, location: str) -> int | None:
        """Return the number of a line of the user."""
        plain = readable(location.replace(ADJOINT, ""))
        place = self.path.places.get(plain)
        if place is None:
            return None
        return self.places.number(plain, [self.files[place.file], place.line, place.function])

    def input(self, position: int, var: Var) -> dict[str, Any]:
        """Return an input: its place in the arguments, type and numbers."""
        moving, derivatives = self.derivatives.moving, self.derivatives
        return {
            "place": self.listing.places[position],
            "label": self.labels[var],
            "type": str(var.type),
            "value": self.at(derivatives.inputs[position]),
            "input": position,
            "direction": len(derivatives.inputs) + moving.index(var) if var in moving else None,
            "tangent": self.at(derivatives.tangents.get(var)),
            "adjoint": self.at(derivatives.adjoints.get(var)),
        }

    def constants(self) -> list[dict[str, Any]]:
        """Return the different arrays that the function holds: where the program has them, or their elements."""
        variables, values = self.encoder.variables, dict(self.listing.constants)
        constants: list[dict[str, Any]] = []
        for equal in self._constants.values():
            var = equal[0]
            value = next((variables[var] for var in equal if var in variables), None)
            elements = {"elements": tensor(values[var])} if value is None else {}
            named = {"label": self.labels[var], "type": type_text(var.type), "value": value}
            constants.append({**named, **elements})
        return constants

    def outputs(self) -> list[dict[str, Any]]:
        """Return the results."""
        free = (letter for letter in ("y", "z", "w", "f") if letter not in self.listing.places)
        names = tree.paths(self.listing.structure, next(free, "f(…)"))
        results: list[dict[str, Any]] = []
        for name, (atom, value, tangent, adjoint) in zip(names, self.derivatives.outputs, strict=True):
            numbers = {"value": self.at(value), "tangent": self.at(tangent), "adjoint": self.at(adjoint)}
            results.append({"name": name, "label": self.label(atom), "type": str(atom.type), **numbers})
        return results

    def label(self, atom: Atom) -> str:
        """Return the symbol of a value, or a literal as it is written."""
        return show(atom.value, 6) if isinstance(atom, Literal) else self.labels[atom]

    def number_of(self, atom: Atom) -> int | None:
        """Return the number of an operand in the encoded program; None for a constant that was folded away."""
        if isinstance(atom, Literal):
            return None
        handle = self.derivatives.primal.get(atom)
        return self.encoder.variables.get(atom) if handle is None else self.at(handle)

    def step(self, step: Step) -> dict[str, Any]:
        """Return an operation with its numbers."""
        equation = step.equation
        tokens = [f"⟨{position}⟩" for position in range(len(step.operands))]
        text = formula(equation.primitive, tokens, equation.params)
        if len(text) > _LONGEST:
            text = f"{equation.primitive}({', '.join(tokens)})"
        return {
            "labels": [self.labels[var] for var in equation.outputs],
            "types": [str(var.type) for var in equation.outputs],
            "primitive": self.texts.number(equation.primitive),
            "formula": self.texts.number(text),
            "operands": [[self.label(atom), self.number_of(atom)] for atom in step.operands],
            "place": self.place(equation.location),
            "values": [self.at(handle) for handle in step.values],
            "tangents": [self.at(handle) for handle in step.tangents],
            "adjoints": [self.at(handle) for handle in step.adjoints],
            "partials": {position: self.at(handle) for position, handle in step.partials.items()},
            "terms": [
                [
                    *(term.position, self.at(term.term), self.at(term.total), term.is_first),
                    self.texts.number(self.term(step, term.position)),
                ]
                for term in step.terms
            ],
            **({"chooses": True} if _chooses(equation.primitive) else {}),
        }

    def term(self, step: Step, position: int) -> str:
        """Return the term of an adjoint as a formula; empty where there is no short one."""
        equation = step.equation
        values = self.primal[equation.outputs[0]], [self._number(atom) for atom in equation.operands]
        if _chooses(equation.primitive):
            return _term(equation.primitive, position, equation.params, values)
        types = equation.outputs[0].type, *(atom.type for atom in equation.operands)
        key = equation.primitive, position, repr(equation.params), types
        if key not in self.terms:
            self.terms[key] = _term(equation.primitive, position, equation.params, values)
        return self.terms[key]

    def _number(self, atom: Atom) -> Any:
        return atom.value if isinstance(atom, Literal) else self.primal[atom]

    def decision(self, decision: Decision) -> dict[str, Any]:
        """Return a number that decided the path."""
        return {
            "value": self.at(self.derivatives.primal[decision.var]),
            "was": number(decision.value),
            "label": self.labels.get(decision.var, ""),
        }

    # -- programs ----------------------------------------------------------------------------------------

    def statements(self, graph: Graph) -> dict[str, Any]:
        """Return the adjoint program as NumPy statements with the numbers of their results."""
        derivatives = self.derivatives
        names = Names({"np"})
        inputs = {var: names.new(var.name or f"x{n}") for n, var in enumerate(graph.inputs, 1)}
        pairs = [(primal, handle) for primal, handle in self._last_adjoints().items()]
        adjoints: dict[Var, Var] = {}
        for primal, handle in pairs:
            adjoint, value = derivatives.atom(handle), derivatives.atom(derivatives.primal[primal])
            if isinstance(adjoint, Var) and isinstance(value, Var):
                adjoints.setdefault(adjoint, value)
        body = Body(graph, inputs, names, Settings(needs_exact_scalars(graph), adjoints, {}))
        lines = [
            {
                "text": statement.text,
                "place": self.place(statement.location),
                "adjoint": statement.depth > 0,
                "values": [self.encoder.variables.get(var) for var in statement.outputs],
            }
            for statement in [*body.setup, *body.statements]
        ]
        arguments = ", ".join(inputs.values())
        return {
            "head": f"def grad_{self.listing.name}({arguments}):",
            "lines": lines,
            "result": ", ".join(body.results),
        }

    def _last_adjoints(self) -> dict[Var, Handle]:
        """Return the complete adjoint of each value."""
        adjoints = dict(self.derivatives.adjoints)
        for step in self.derivatives.steps:
            for var, handle in zip(step.equation.outputs, step.adjoints, strict=True):
                if handle is not None:
                    adjoints[var] = handle
        return adjoints

    def costs(self, program: Mapping[str, Any]) -> dict[str, int]:
        """Return the operations of each of the user's lines in the compiled derivative, by the number of the line."""
        totals: dict[str, int] = {}
        for location, count in program.get("lines", {}).items():
            place = self.place(location)
            if place is not None:
                totals[str(place)] = totals.get(str(place), 0) + count
        return totals


def _chooses(primitive: str) -> bool:
    """Return whether a term of an adjoint depends on a choice at the point."""
    rule = REGISTRY[primitive].derivative
    return primitive == "where" or (isinstance(rule, Partials) and bool(rule.kinks))


def _term(primitive: str, position: int, params: Mapping[str, Any], values: tuple[Any, Sequence[Any]]) -> str:
    statement = REGISTRY[primitive]
    rule = statement.derivative
    if not (isinstance(rule, Partials) or (isinstance(rule, Linear) and statement.elementwise)):
        return ""
    tokens = [f"⟨{n}⟩" for n in range(len(values[1]))]
    with np.errstate(all="ignore"):
        text = adjoint_term(statement, position, ("⟨y⟩", tokens), values, params)
    return text if len(text) <= _LONGEST else ""
