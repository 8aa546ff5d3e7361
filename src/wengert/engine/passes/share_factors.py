"""Shared factors: operations that would factorise one matrix again and again take its factors, made once.

The derivative of ``solve`` solves with the transpose, that of ``slogdet`` takes the inverse. The factors are those of a
native program, or of LAPACK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var, equations_of
from wengert.engine.kernels import lapack
from wengert.engine.machine import costs
from wengert.engine.ops.linalg.blocked import Blocks
from wengert.engine.ops.linalg.lapack_programs import BandedRoutines
from wengert.engine.ops.linalg.square import swapped
from wengert.engine.passes.native_linalg import (
    OF_FACTORS,
    ROUTINES,
    has_banded_routine,
    native_equations,
    takes_banded_factors,
)
from wengert.engine.passes.rewrite import inlined, with_programs
from wengert.engine.passes.simplify import simplify
from wengert.engine.transforms.staging import stage


def share_factors(graph: Graph, *, leaves: bool = False) -> Graph:
    """Return the graph, the programs inside it included, with operations on the factors of matrices.

    A program that leaves Python has no LAPACK.
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
            case "inverse" | "cofactors" as name:
                result = getattr(blocks, name)(factors, matrix)
                return swapped(result) if transposed else result
            case name:
                return getattr(blocks, name)(factors, dtype_of(matrix))

    return _Factors(blocks.lu, apply)


def _of_bands(equation: Equation) -> _Factors:
    lower, upper = equation.params["lower"], equation.params["upper"]
    few = _is_real(equation) and lower + upper <= costs.COSTS.windowed_diagonals
    routines = BandedRoutines(lower, upper, in_registers=few)
    return _Factors(routines.lu, lambda equation, _, bands, factors, b: routines.solution(factors, bands, b))


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
        """Return the complex matrices whose factors several operations take, or one takes with profit."""
        uses: dict[Atom, list[Equation]] = {}
        for equation in () if self.leaves else self.graph.equations:
            if _takes_complex_factors(equation):
                uses.setdefault(self._matrix(equation)[0], []).append(equation)
        shared = {
            matrix
            for matrix, equations in uses.items()
            if (len(equations) > 1 and _have_one_form(equations)) or _is_large_inverse(equations[0])
        }
        return shared if shared and lapack.is_available() else set()

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
        is_banded = equation.primitive == "solve_banded"
        if not is_banded and equation.primitive not in OF_FACTORS:
            return None
        matrix, _ = self._matrix(equation)
        if matrix in self.shared and _takes_complex_factors(equation):
            return _of_bands(equation) if is_banded else _of_blocks(ROUTINES)
        if is_banded:
            return _of_bands(equation) if not self.leaves and has_banded_routine(equation) else None
        return _of_blocks(self.native[matrix]) if matrix in self.native and _is_real(equation) else None

    def run(self) -> Graph:
        constants, equations = list(self.graph.constants), list[Equation]()
        replacements: dict[Var, Atom] = {}

        def atom(value: Atom) -> Atom:
            return value if isinstance(value, Literal) else replacements.get(value, value)

        def write(program: Any, operands: Sequence[Atom], location: str) -> list[Atom]:
            inputs = tuple(map(atom, operands))
            traced = simplify(stage(program, [operand.type for operand in inputs])[0])
            added, results = inlined(traced, inputs, location)
            constants.extend(traced.constants)
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
            replacements.update(zip(equation.outputs, results, strict=True))
        if not self.made and all(map(_same, equations, self.graph.equations)):
            return self.graph
        outputs = tuple(map(atom, self.graph.outputs))
        return replace(self.graph, constants=tuple(constants), equations=tuple(equations), outputs=outputs)

    def _inside(self, graph: Graph) -> Graph:
        return _shared(graph, self.chosen, self.leaves)


def _takes_complex_factors(equation: Equation) -> bool:
    takes = equation.primitive in ("solve", "inverse") and _takes_factors_of_lapack(equation)
    takes = takes or (equation.primitive == "solve_banded" and takes_banded_factors(equation))
    return takes and is_complex(equation.operands[0].type.dtype)


def _is_real(equation: Equation) -> bool:
    return all(operand.type.dtype.kind == "f" for operand in equation.operands)


def _have_one_form(equations: Sequence[Equation]) -> bool:
    """Return whether operations read the elements of a matrix alike: as a full one, or as the same diagonals."""
    first, *others = ((e.primitive == "solve_banded", dict(e.params)) for e in equations)
    return all(form[0] == first[0] and (not first[0] or form[1] == first[1]) for form in others)


def _is_large_inverse(equation: Equation) -> bool:
    rows = equation.operands[0].type.shape[-1]
    return equation.primitive == "inverse" and rows >= costs.COSTS.factored_inverse_rows


def _same(before: Equation, after: Equation) -> bool:
    return all(before.params[name] is param for name, param in after.params.items())


def _exchanges_the_last(permutation: Sequence[int]) -> bool:
    rank = len(permutation)
    return tuple(permutation) == (*range(rank - 2), rank - 1, rank - 2)


def _takes_factors_of_lapack(equation: Equation) -> bool:
    """Return whether an operation can take LAPACK's factors: not of a matrix of few rows, or of mixed dtypes."""
    a, *others = (operand.type for operand in equation.operands)
    return a.shape[-1] >= costs.COSTS.shared_factor_rows and all(b.dtype == a.dtype for b in others)
