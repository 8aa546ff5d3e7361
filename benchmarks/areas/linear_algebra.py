"""Systems of equations, factorisations, determinants and eigenvalues, with gradients, single and in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from areas.families import Case, Draw, family

DERIVATIVES = ("", "gradient")
PROGRAMS: dict[str, Callable[..., Any]] = {
    "solve": lambda xp, a, b: xp.linalg.solve(a, b),
    "inv": lambda xp, a, b: xp.linalg.inv(a),
    "cholesky": lambda xp, a, b: xp.linalg.cholesky(a),
    "det": lambda xp, a, b: xp.linalg.det(a),
    "slogdet": lambda xp, a, b: xp.linalg.slogdet(a)[1],
    "qr": lambda xp, a, b: xp.linalg.qr(a)[1] ** 2,
    "singular values": lambda xp, a, b: xp.linalg.svdvals(a),
    "eigh": lambda xp, a, b: xp.linalg.eigh(a + a.T)[0],
}


def _program(name: str, derivative: str) -> Callable[..., Any]:
    function = PROGRAMS[name]
    return (lambda xp, a, b: xp.sum(function(xp, a, b) ** 2)) if derivative else function


@family(name=tuple(PROGRAMS), n=(4, 30, 100, 300), derivative=DERIVATIVES)
def factorisation(draw: Draw, name: str, n: int, derivative: str) -> Case:
    arguments = (draw.positive_definite(n, n), draw(n, 1, dtype="f8"))
    return Case(_program(name, derivative), arguments, derivative, tolerance=1e-6)


@family(name=("solve", "inv", "cholesky", "det", "slogdet"), n=(3, 8, 16), derivative=DERIVATIVES)
def batch_of_1000(draw: Draw, name: str, n: int, derivative: str) -> Case:
    arguments = (draw.positive_definite(1000, n, n), draw(1000, n, 1, dtype="f8"))
    return Case(_program(name, derivative), arguments, derivative, tolerance=1e-6)


@family(matrices=(1, 1000), n=(3, 8, 16), derivative=DERIVATIVES)
def exponential(draw: Draw, matrices: int, n: int, derivative: str) -> Case:
    def program(xp: Any, a: Any) -> Any:
        result = xp.expm(a)
        return xp.sum(result**2) if derivative else result

    return Case(program, (draw.weights(matrices, n, n, dtype="f8"),), derivative, tolerance=1e-9)


@family(n=(10, 100, 500), derivative=DERIVATIVES)
def marginal_likelihood(draw: Draw, n: int, derivative: str) -> Case:
    def program(xp: Any, logarithms: Any, x: Any, y: Any) -> Any:
        variance, length, noise = (xp.exp(logarithms[i]) for i in range(3))
        squares = xp.sum((x[:, None] - x[None]) ** 2, axis=-1)
        k = variance * xp.exp(-0.5 * squares / length) + (noise + 1e-3) * xp.eye(n, dtype=xp.float64)
        factor = xp.linalg.cholesky(k)
        z = xp.solve_triangular(factor, y[:, None])
        return 0.5 * xp.sum(z**2) + xp.sum(xp.log(xp.diagonal(factor)))

    return Case(
        program,
        (draw(3, dtype="f8"), draw(n, 3, dtype="f8"), draw(n, dtype="f8")),
        derivative,
        tolerance=1e-6,
    )


@family(rows=(20, 1000), columns=(3, 50), derivative=DERIVATIVES)
def ridge_regression(draw: Draw, rows: int, columns: int, derivative: str) -> Case:
    def program(xp: Any, x: Any, y: Any) -> Any:
        w = xp.linalg.solve(x.T @ x + 0.1 * xp.eye(columns, dtype=xp.float64), x.T @ y)
        return xp.sum((x @ w - y) ** 2)

    return Case(
        program, (draw(rows, columns, dtype="f8"), draw(rows, 1, dtype="f8")), derivative, tolerance=1e-6
    )
