"""Shared factors: operations that would factorise one matrix again and again take its factors, made once.

The derivative of ``solve`` solves with the transpose, that of ``slogdet`` takes the inverse. The factors are those of a
native program, or of LAPACK.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from wengert.engine.core.dtypes import dtype_of, is_inexact
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.machine import costs
from wengert.engine.ops.linalg.banded_factors import banded_factors, banded_solution
from wengert.engine.ops.linalg.blocked import Blocks
from wengert.engine.ops.linalg.kept_factors import lu_factors, lu_inverse, lu_solution
from wengert.engine.ops.linalg.lapack_programs import BandedRoutines
from wengert.engine.ops.linalg.square import swapped
from wengert.engine.passes.native_linalg import (
    OF_FACTORS,
    equations_of,
    has_banded_routine,
    native_equations,
    takes_banded_factors,
)
from wengert.engine.passes.rewrite import inlined, with_programs
from wengert.engine.passes.simplify import simplify
from wengert.engine.transforms.staging import stage


def share_factors(graph: Graph, *, leaves: bool = False) -> Graph:
    """Return the graph, the programs inside it included, with operations on the factors of matrices.

    Args:
        graph: the graph.
        leaves: whether the program leaves Python, where there is no LAPACK.
    """
    return _shared(graph, native_equations(equations_of(graph), leaves=leaves), leaves)


def _shared(graph: Graph, native: Mapping[Equation, Blocks], leaves: bool) -> Graph:
    changed = _Sharing(graph, native, leaves).run()
    return graph if changed is graph else simplify(changed)


class _Factors(NamedTuple):
    """A factorisation of a matrix, and an operation on its factors."""

    factorise: Callable[[Any], Sequence[Any]]
    """``matrix -> factors``"""
    apply: Callable[..., Any]
    """``(equation, transposed, matrix, factors, *operands) -> result``"""


def _of_blocks(blocks: Blocks) -> _Factors:
    def apply(equation: Equation, transposed: bool, matrix: Any, factors: Any, *operands: Any) -> Any:
        match equation.primitive:
            case "solve":
                return blocks.solution(factors, matrix, *operands, transposed=transposed)
            case "inverse":
                inverse = blocks.inverse(factors, matrix)
                return swapped(inverse) if transposed else inverse
            case name:
                return getattr(blocks, name)(factors, dtype_of(matrix))

    return _Factors(blocks.lu, apply)


def _of_bands(lower: int, upper: int) -> _Factors:
    few = lower + upper <= costs.COSTS.windowed_diagonals
    routines = BandedRoutines(lower, upper, in_registers=few)
    return _Factors(routines.lu, lambda equation, _, bands, factors, b: routines.solution(factors, bands, b))


def _kept_in_python(equation: Equation) -> _Factors:
    """Return how NumPy's arrays hold the factors of a complex matrix."""

    def apply(equation: Equation, transposed: bool, matrix: Any, factors: Any, *operands: Any) -> Any:
        (packed,) = factors
        match equation.primitive:
            case "solve":
                return lu_solution(packed, *operands, transposed=transposed)
            case "solve_banded":
                return banded_solution(packed, *operands, **equation.params)
            case name:
                assert name == "inverse"
                return swapped(lu_inverse(packed)) if transposed else lu_inverse(packed)

    if equation.primitive == "solve_banded":
        return _Factors(lambda bands: (banded_factors(bands, **equation.params),), apply)
    return _Factors(lambda a: (lu_factors(a),), apply)


class _Sharing:
    """A walk along a graph that writes another one."""

    def __init__(self, graph: Graph, native: Mapping[Equation, Blocks], leaves: bool) -> None:
        self.graph = graph
        self.chosen = native
        self.leaves = leaves
        self.transposed: dict[Var, Atom] = {
            equation.outputs[0]: equation.operands[0]
            for equation in graph.equations
            if equation.primitive == "transpose" and _exchanges_the_last(equation.params["permutation"])
        }
        self.native = {
            self._matrix(equation)[0]: native[equation]
            for equation in reversed(graph.equations)
            if equation.primitive in OF_FACTORS and equation in native
        }
        self.shared = self._shared()
        self.made: dict[tuple[Atom, Any], tuple[Atom, ...]] = {}
        """The factors of the matrices, as far as the walk has come."""

    def _shared(self) -> set[Atom]:
        """Return the matrices whose factors in Python several operations take, or one takes with profit."""
        if self.leaves or not _has_scipy():
            return set()
        uses: dict[Atom, list[Equation]] = {}
        for equation in self.graph.equations:
            if _takes_factors_in_python(equation):
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

    def _factors(self, equation: Equation) -> _Factors | None:
        """Return how an operation takes factors; None if it does not."""
        if equation.primitive == "solve_banded" and not self.leaves and has_banded_routine(equation):
            return _of_bands(**equation.params)
        matrix, _ = self._matrix(equation) if _takes_any_factors(equation) else (None, False)
        if matrix in self.native and equation.primitive in OF_FACTORS and _is_real(equation):
            return _of_blocks(self.native[matrix])
        return (
            _kept_in_python(equation)
            if matrix in self.shared and _takes_factors_in_python(equation)
            else None
        )

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
            how = self._factors(equation)
            if how is None:
                operands = tuple(map(atom, equation.operands))
                equations.append(with_programs(replace(equation, operands=operands), self._inside))
                continue
            matrix, transposed = self._matrix(equation)
            form = tuple(equation.params.items())
            if (matrix, form) not in self.made:
                factors = write(lambda a, how=how: list(how.factorise(a)), [matrix], equation.location)
                self.made[matrix, form] = tuple(factors)
            factors = self.made[matrix, form]

            def program(
                a: Any,
                *values: Any,
                of: Equation = equation,
                turned: bool = transposed,
                how: _Factors = how,
                count: int = len(factors),
            ) -> list[Any]:
                return [how.apply(of, turned, a, values[:count], *values[count:])]

            results = write(program, (matrix, *factors, *equation.operands[1:]), equation.location)
            known.update(zip(equation.outputs, results, strict=True))
        if not self.made and all(map(_same, equations, self.graph.equations)):
            return self.graph
        outputs = tuple(map(atom, self.graph.outputs))
        return replace(self.graph, constants=tuple(constants), equations=tuple(equations), outputs=outputs)

    def _inside(self, graph: Graph) -> Graph:
        return _shared(graph, self.chosen, self.leaves)


def _takes_any_factors(equation: Equation) -> bool:
    return equation.primitive == "solve_banded" or equation.primitive in OF_FACTORS


def _takes_factors_in_python(equation: Equation) -> bool:
    if equation.primitive == "solve_banded":
        return takes_banded_factors(equation)
    return equation.primitive in ("solve", "inverse") and _takes_factors_of_lapack(equation)


def _is_real(equation: Equation) -> bool:
    return all(operand.type.dtype.kind == "f" for operand in equation.operands)


def _have_one_form(equations: Sequence[Equation]) -> bool:
    """Return whether operations read the elements of a matrix alike: as a full one, or as the same diagonals."""
    first, *others = ((e.primitive == "solve_banded", dict(e.params)) for e in equations)
    return all(other[0] == first[0] and (not first[0] or other[1] == first[1]) for other in others)


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
    )


def _has_scipy() -> bool:
    """Return whether SciPy is installed."""
    try:
        return importlib.util.find_spec("scipy") is not None
    except ImportError:  # the interpreter is ending
        return False
