"""Shared factors: operations that would factorise one matrix again and again take its factors, made once.

The derivative of ``solve`` solves with the transpose, that of ``slogdet`` takes the inverse. The factors are those of a
native program, or of LAPACK.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import Any

from wengert.compiler.machine import costs
from wengert.core.dtypes import PART_DTYPE, dtype_of, is_inexact
from wengert.ir.graph import Atom, Equation, Graph, Literal, Var, map_graphs
from wengert.ir.types import type_of
from wengert.ops import blocked_linalg, kept_factors
from wengert.ops.banded_factors import banded_factors, banded_solution
from wengert.ops.kept_factors import lu_factors, lu_inverse, lu_solution
from wengert.ops.linalg import swapped
from wengert.passes.native_linalg import OF_FACTORS, blocks_of, equations_of, native_equations
from wengert.passes.rewrite import inlined
from wengert.passes.simplify import simplify
from wengert.transforms.staging import stage


def share_factors(graph: Graph, *, leaves: bool = False) -> Graph:
    """Return the graph, the programs inside it included, with operations on the factors of matrices.

    Args:
        graph: the graph.
        leaves: whether the program leaves Python, where there is no LAPACK.
    """
    return _shared(graph, native_equations(equations_of(graph), leaves=leaves))


def _shared(graph: Graph, native: Container[Equation]) -> Graph:
    changed = _Sharing(graph, native).run()
    return graph if changed is graph else simplify(changed)


def _by_native_factors(equation: Equation, transposed: bool, matrix: Any, operands: Sequence[Any]) -> Any:
    """Return the result of an operation on a matrix, or on its transpose, from factors of a native program."""
    packed, *others = operands
    blocks, dtype = blocks_of(type_of(matrix)), dtype_of(matrix)
    match equation.primitive:
        case "solve":
            return blocks.solution(packed, matrix, *others, transposed=transposed)
        case "inverse":
            return swapped(blocks.inverse(packed, matrix)) if transposed else blocks.inverse(packed, matrix)
        case name:
            return getattr(blocked_linalg, name)(packed, dtype)


def _by_factors(equation: Equation, transposed: bool, operands: Sequence[Any]) -> Any:
    """Return the result of an operation on a matrix, or on its transpose, from its factors and other operands."""
    packed, *others = operands
    match equation.primitive:
        case "solve":
            return lu_solution(packed, *others, transposed=transposed)
        case "solve_banded":
            return banded_solution(packed, *others, **equation.params)
        case "inverse":
            return swapped(lu_inverse(packed)) if transposed else lu_inverse(packed)
        case name:
            return getattr(kept_factors, name)(packed)


_DETERMINANTS = OF_FACTORS[2:]


class _Sharing:
    """A walk along a graph that writes another one."""

    def __init__(self, graph: Graph, native: Container[Equation]) -> None:
        self.graph = graph
        self.chosen = native
        self.transposed: dict[Var, Atom] = {
            equation.outputs[0]: equation.operands[0]
            for equation in graph.equations
            if equation.primitive == "transpose" and _exchanges_the_last(equation.params["permutation"])
        }
        self.native = {
            self._matrix(equation)[0]
            for equation in graph.equations
            if equation.primitive in OF_FACTORS and equation in native
        }
        self.shared = self.native | self._shared()
        self.factors: dict[Atom, Atom] = {}
        """The factors of the matrices, as far as the walk has come."""

    def _shared(self) -> set[Atom]:
        """Return the matrices whose factors several operations take, or one takes with profit."""
        if not _has_scipy():
            return set()
        uses: dict[Atom, list[Equation]] = {}
        for equation in self.graph.equations:
            if self._takes_factors(equation):
                uses.setdefault(self._matrix(equation)[0], []).append(equation)
        return {
            matrix
            for matrix, equations in uses.items()
            if (len(equations) > 1 and _have_one_form(equations)) or _is_large_inverse(equations[0])
        }

    def _matrix(self, equation: Equation) -> tuple[Atom, bool]:
        """Return the matrix of an operation, and whether the operation takes its transpose."""
        matrix, is_transposed = equation.operands[0], False
        if equation.primitive == "solve_banded":
            return matrix, False
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
            matrix, transposed = self._matrix(equation) if self._takes_factors(equation) else (None, False)
            if matrix is None or matrix not in self.shared:
                params = {name: map_graphs(self._inside, param) for name, param in equation.params.items()}
                equations.append(
                    replace(equation, operands=tuple(map(atom, equation.operands)), params=params)
                )
                continue
            native = matrix in self.native
            if matrix not in self.factors:
                factorise = blocks_of(matrix.type).lu if native else _factorisation(equation)
                (self.factors[matrix],) = write(
                    lambda a, factorise=factorise: [factorise(a)], [matrix], equation.location
                )
            operands = (matrix, self.factors[matrix], *equation.operands[1:])

            def program(
                a: Any,
                *values: Any,
                of: Equation = equation,
                turned: bool = transposed,
                native: bool = native,
            ) -> list[Any]:
                by_native = functools.partial(_by_native_factors, of, turned, a)
                return [(by_native if native else functools.partial(_by_factors, of, turned))(values)]

            results = write(program, operands, equation.location)
            known.update(zip(equation.outputs, results, strict=True))
        if not self.shared and all(map(_same, equations, self.graph.equations)):
            return self.graph
        outputs = tuple(map(atom, self.graph.outputs))
        return replace(self.graph, constants=tuple(constants), equations=tuple(equations), outputs=outputs)

    def _inside(self, graph: Graph) -> Graph:
        return _shared(graph, self.chosen)

    def _takes_factors(self, equation: Equation) -> bool:
        if equation.primitive == "solve_banded":
            return _takes_banded_factors(equation)
        if equation.primitive not in OF_FACTORS:
            return False
        return self._matrix(equation)[0] in self.native or _takes_factors_of_lapack(equation)


def _have_one_form(equations: Sequence[Equation]) -> bool:
    """Return whether operations read the elements of a matrix alike: as a full one, or as the same diagonals."""
    first, *others = ((e.primitive == "solve_banded", dict(e.params)) for e in equations)
    return all(other[0] == first[0] and (not first[0] or other[1] == first[1]) for other in others)


def _factorisation(equation: Equation) -> Callable[[Any], Any]:
    if equation.primitive == "solve_banded":
        return functools.partial(banded_factors, **equation.params)
    return lu_factors


def _takes_banded_factors(equation: Equation) -> bool:
    """Return whether LAPACK factorises the matrix: one with diagonals on both sides, of one dtype with b."""
    bands, b = (operand.type for operand in equation.operands)
    has_both = equation.params["lower"] > 0 and equation.params["upper"] > 0
    return has_both and bands.dtype == b.dtype and is_inexact(bands.dtype) and all(bands.shape)


def _is_large_inverse(equation: Equation) -> bool:
    rows = equation.operands[0].type.shape[-1]
    return equation.primitive == "inverse" and rows >= costs.COSTS.factored_inverse_rows


def _same(one: Equation, other: Equation) -> bool:
    return all(one.params[name] is param for name, param in other.params.items())


def _exchanges_the_last(permutation: Sequence[int]) -> bool:
    rank = len(permutation)
    return tuple(permutation) == (*range(rank - 2), rank - 1, rank - 2)


def _takes_factors_of_lapack(equation: Equation) -> bool:
    """Return whether an operation can take LAPACK's factors: not of a matrix of few rows, or of mixed dtypes."""
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
