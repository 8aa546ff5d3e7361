"""Shared factors: operations that LAPACK would factorise one matrix for, again and again, take its factors, made once.

The derivative of ``solve`` solves with the transpose, that of ``slogdet`` takes the inverse.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wengert.compiler.machine import costs
from wengert.core.dtypes import PART_DTYPE, is_inexact
from wengert.ir.graph import Atom, Equation, Graph, Literal, Var, map_graphs
from wengert.ops import kept_factors
from wengert.ops.kept_factors import lu_factors, lu_inverse, lu_solution
from wengert.ops.linalg import swapped
from wengert.passes.rewrite import inlined
from wengert.passes.simplify import simplify
from wengert.transforms.staging import stage


def share_factors(graph: Graph) -> Graph:
    """Return the graph, the programs inside it included, with operations on the factors of matrices."""
    changed = _Sharing(graph).run()
    return graph if changed is graph else simplify(changed)


def _by_factors(equation: Equation, transposed: bool, operands: Sequence[Any]) -> Any:
    """Return the result of an operation on a matrix, or on its transpose, from its factors and other operands."""
    packed, *others = operands
    match equation.primitive:
        case "solve":
            return lu_solution(packed, *others, transposed=transposed)
        case "inverse":
            return swapped(lu_inverse(packed)) if transposed else lu_inverse(packed)
        case name:
            return getattr(kept_factors, name)(packed)


_DETERMINANTS = ("determinant", "log_determinant", "determinant_sign")


class _Sharing:
    """A walk along a graph that writes another one."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.transposed: dict[Var, Atom] = {
            equation.outputs[0]: equation.operands[0]
            for equation in graph.equations
            if equation.primitive == "transpose" and _exchanges_the_last(equation.params["permutation"])
        }
        self.shared = self._shared()
        self.factors: dict[Atom, Atom] = {}
        """The factors of the matrices, as far as the walk has come."""

    def _shared(self) -> set[Atom]:
        """Return the matrices whose factors several operations take, or one takes with profit."""
        if not _has_scipy():
            return set()
        uses: dict[Atom, list[Equation]] = {}
        for equation in self.graph.equations:
            if _takes_factors(equation):
                uses.setdefault(self._matrix(equation)[0], []).append(equation)
        return {
            matrix
            for matrix, equations in uses.items()
            if len(equations) > 1 or _is_large_inverse(equations[0])
        }

    def _matrix(self, equation: Equation) -> tuple[Atom, bool]:
        """Return the matrix of an operation, and whether the operation takes its transpose."""
        matrix, is_transposed = equation.operands[0], False
        while not isinstance(matrix, Literal) and matrix in self.transposed:
            matrix, is_transposed = self.transposed[matrix], not is_transposed
        return matrix, is_transposed

    def run(self) -> Graph:
        constants, equations = list(self.graph.constants), list[Equation]()
        known: dict[Var, Atom] = {}

        def atom(given: Atom) -> Atom:
            return given if isinstance(given, Literal) else known.get(given, given)

        def write(program: Any, operands: Sequence[Atom], location: str) -> list[Atom]:
            given = tuple(map(atom, operands))
            found = simplify(stage(program, [operand.type for operand in given])[0])
            added, results = inlined(found, given, location)
            constants.extend(found.constants)
            equations.extend(added)
            return results

        for equation in self.graph.equations:
            matrix, transposed = self._matrix(equation) if _takes_factors(equation) else (None, False)
            if matrix is None or matrix not in self.shared:
                params = {name: map_graphs(share_factors, param) for name, param in equation.params.items()}
                equations.append(
                    replace(equation, operands=tuple(map(atom, equation.operands)), params=params)
                )
                continue
            if matrix not in self.factors:
                (self.factors[matrix],) = write(lambda a: [lu_factors(a)], [matrix], equation.location)
            operands = (self.factors[matrix], *equation.operands[1:])
            results = write(
                lambda *values, of=equation, turned=transposed: [_by_factors(of, turned, values)],
                operands,
                equation.location,
            )
            known.update(zip(equation.outputs, results, strict=True))
        if not self.shared and all(map(_same, equations, self.graph.equations)):
            return self.graph
        outputs = tuple(map(atom, self.graph.outputs))
        return replace(self.graph, constants=tuple(constants), equations=tuple(equations), outputs=outputs)


def _is_large_inverse(equation: Equation) -> bool:
    rows = equation.operands[0].type.shape[-1]
    return equation.primitive == "inverse" and rows >= costs.COSTS.factored_inverse_rows


def _same(one: Equation, other: Equation) -> bool:
    return all(one.params[name] is param for name, param in other.params.items())


def _exchanges_the_last(permutation: Sequence[int]) -> bool:
    rank = len(permutation)
    return tuple(permutation) == (*range(rank - 2), rank - 1, rank - 2)


def _takes_factors(equation: Equation) -> bool:
    """Return whether an operation can take the factors of its matrix: not one of few rows, or of mixed dtypes."""
    if equation.primitive not in ("solve", "inverse", *_DETERMINANTS):
        return False
    types = [operand.type for operand in equation.operands]
    a = types[0]
    return (
        a.shape[-1] >= costs.COSTS.shared_factor_rows
        and all(type_.dtype == a.dtype for type_ in types)
        and is_inexact(a.dtype)
        and not (a.dtype in PART_DTYPE and equation.primitive in _DETERMINANTS)
    )


def _has_scipy() -> bool:
    """Return whether SciPy is installed."""
    try:
        return importlib.util.find_spec("scipy") is not None
    except ImportError:  # the interpreter is ending
        return False
