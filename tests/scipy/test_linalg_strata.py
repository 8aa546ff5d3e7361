"""Functions of `scipy.linalg` with their options, on drawn dtypes, domains and shapes: SciPy's result, or an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert.scipy.linalg as followed
from tests.draws import many
from tests.numpy import strata

la = pytest.importorskip("scipy.linalg")

_RANDOM = np.random.default_rng(5)
_HALF = _RANDOM.uniform(-0.6, 0.6, (3, 3))
#: Square matrices, a positive definite one, wide ones, vectors, bands.
SAMPLES: dict[str, Any] = {
    "A": _RANDOM.uniform(-1.0, 1.0, (3, 3)) + np.diag([2.0, 3.0, 4.0]),
    "B": _RANDOM.uniform(-1.0, 1.0, (3, 3)) - np.diag([1.0, 2.0, 3.0]),
    "S": _HALF @ _HALF.T + np.diag([1.0, 2.0, 3.0]),
    "x": _RANDOM.uniform(-2.0, 2.0, (3, 4)),
    "y": _RANDOM.uniform(-2.0, 2.0, (3, 4)),
    "c": _RANDOM.uniform(0.5, 2.0, 3),
    "d": _RANDOM.uniform(0.5, 2.0, 3),
    "t": _RANDOM.uniform(-2.0, 2.0, (3, 3)) + np.array([[0.0], [9.0], [0.0]]),
    "u": np.array([[0.0, 0.4, -0.3], [3.0, 4.0, 5.0]]),
    "s": np.array(0.7),
}
CALLS = """
la.inv(A); la.inv(A.T); la.det(A); la.norm(A); la.norm(A, 1); la.norm(A, -1); la.norm(A, 2)
la.norm(A, "nuc"); la.norm(A, np.inf); la.norm(c); la.norm(c, 3); la.norm(c, 0); la.norm(c, -np.inf)
la.norm(x, axis=0); la.norm(x, 1, axis=1, keepdims=True); la.pinv(x); la.pinv(x, rtol=0.3)
la.pinv(x, atol=0.5, return_rank=True); la.lstsq(x.T, y.T)[0]; la.lstsq(A, c)[0]; la.solve(A, B)
la.solve(A, c); la.solve(S, c, assume_a="pos"); la.solve(S, c, assume_a="sym")
la.solve(S, c, assume_a="her"); la.solve(A, c, transposed=True); la.solve(S, x, lower=True, assume_a="pos")
la.solve(A, c, assume_a="diagonal"); la.solve(A, c, assume_a="tridiagonal")
la.solve(A, x, assume_a="upper triangular"); la.solve(A, c, assume_a="lower triangular")
la.solve_triangular(A, c); la.solve_triangular(A, x, lower=True); la.solve_triangular(A, c, trans=1)
la.solve_triangular(A, c, trans="C", lower=True); la.solve_triangular(A, c, unit_diagonal=True)
la.solve_banded((1, 1), t, c); la.solve_banded((1, 1), t, x); la.solve_banded((0, 1), u, c)
la.solveh_banded(u, c); la.solveh_banded(u[::-1], c, lower=True); la.cholesky_banded(u)
la.cho_solve_banded((la.cholesky_banded(u[::-1], lower=True), True), c)
la.cho_solve_banded((la.cholesky_banded(u), False), c); np.triu(la.cho_factor(S)[0])
la.cho_solve(la.cho_factor(S), c); la.cho_solve((la.cholesky(S, lower=True), True), x); la.cholesky(S)
la.cholesky(S, lower=True); la.lu(A); la.lu(x); la.lu(A, permute_l=True); la.lu(x, p_indices=True)
la.lu_factor(A)[0]; la.lu_solve(la.lu_factor(A), c); la.lu_solve(la.lu_factor(A), x, trans=1)
la.lu_solve(la.lu_factor(A), c, trans=2); la.ldl(S)[:2]; la.ldl(S, lower=False)[:2]
la.ldl(A + A.T, hermitian=False)[:2]; np.abs(la.qr(A)[1]); np.abs(la.qr(x, mode="economic")[1])
la.qr(x, mode="r"); la.qr(A)[0] @ la.qr(A)[1]; la.qr(A, pivoting=True)[2]; la.qr(x, mode="raw")[1]
la.eigvals(A).sum(); np.prod(la.eig(A)[0]); la.eigvalsh(S); la.eigvalsh(A, B @ B.T)
la.eigvalsh(S, lower=False); la.eigvalsh(S, subset_by_index=[0, 1]); la.eigh(S)[0]
la.eigh(S, eigvals_only=True); la.eigh(S, A @ A.T, type=2)[0]; la.eigh(S, subset_by_index=[1, 2])[0]
la.eigh(S, driver="ev")[0]; la.svd(x)[1]; la.svd(x, compute_uv=False); la.svd(x, full_matrices=False)[1]
la.svd(A, lapack_driver="gesvd")[1]; la.svdvals(x)
(lambda u, s, v: (u * s) @ v)(*la.svd(x, full_matrices=False)); la.polar(A); la.polar(x.T)
la.polar(A, side="left"); la.expm(A); la.logm(S); la.logm(A); la.sqrtm(S); la.sqrtm(A); la.cosm(A)
la.sinm(A); la.tanm(S); la.coshm(A); la.sinhm(A); la.tanhm(A); la.fractional_matrix_power(S, 0.5)
la.fractional_matrix_power(A, 2); la.fractional_matrix_power(A, -1.3); la.expm_frechet(A, B)
la.expm_frechet(A, B, compute_expm=False); la.solve_sylvester(A, B, x[:, :3])
la.solve_continuous_lyapunov(A, B); la.solve_lyapunov(A, S); la.solve_discrete_lyapunov(A, B)
la.solve_discrete_lyapunov(A, S, method="direct"); la.solve_discrete_lyapunov(A, S, method="bilinear")
la.toeplitz(c); la.toeplitz(c, d); la.circulant(c); la.hankel(c); la.hankel(c, d); la.companion(c)
la.leslie(c, d[1:]); la.block_diag(A, x); la.block_diag(c, s); la.block_diag(x, A, s); la.khatri_rao(A, B)
la.convolution_matrix(c, 4); la.convolution_matrix(c, 4, mode="same")
la.convolution_matrix(c, 3, mode="valid"); la.solve_toeplitz(c + 5, d)
la.solve_toeplitz((c + 5, d + 5), x[:, 0]); la.solve_circulant(c, d); la.solve_circulant(c, x[:, 0])
np.abs(la.orth(A).T @ la.orth(A)); la.orth(x) @ la.orth(x).T; la.null_space(x) @ la.null_space(x).T
la.inv(A, check_finite=False); la.det(A, check_finite=False); la.expm(s); la.norm(s)
la.inv(np.stack([A, B])); la.det(np.stack([A, B])); la.expm(np.stack([A, B])); la.solve(np.stack([A, B]), x)
la.cholesky(np.stack([S, S])); la.svdvals(np.stack([A, B])); la.sqrtm(np.stack([S, S]))
la.lu(np.stack([A, B])); la.eigvalsh(np.stack([S, S]))
"""
TEXTS = [text.strip() for text in re.split("[;\n]", CALLS) if text.strip()]


def names(text: str) -> list[str]:
    return [name for name in SAMPLES if re.search(rf"\b{name}\b", text.replace("s, v: (u * s)", ""))]


def program(text: str, room: Any) -> Any:
    """Return a call with the functions of a room."""
    return eval(f"lambda {', '.join(names(text))}: {text}", {"np": np, "la": room})


def drawn(seed: int, mode: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield each call with arrays of a drawn stratum; a quarter of the arrays lie in Fortran order."""
    for text in TEXTS:
        generator = np.random.default_rng([seed, *text.encode()])
        arrays, stratum = strata.draw({n: SAMPLES[n] for n in names(text)}, frozenset(SAMPLES), generator)
        arguments = [np.asfortranarray(one) if generator.random() < 0.25 else one for one in arrays.values()]
        if mode == "on_tape" and any(one.dtype.kind not in "fc" for one in arguments):
            continue
        yield f"{text} [{stratum}]", arguments


#: Calls in which SciPy 1.17 fails in its own code, or computes with integers that wrap, or that no matrix allows.
_OPEN: tuple[tuple[str, str], ...] = (
    ("la.logm(", "no rows"),  # it takes the largest of no elements
    ("la.lu(x", "no columns"),  # its L has no rows
    ("la.hankel(c)", "numbers"),  # it asks a number for its length
    ("hm(", "bool"),  # it negates the matrix
    ("hm(", "uint"),  # the negated matrix wraps
    *((name, "one element") for name in ("la.expm(", "hm(")),  # of small integers in half precision
    *(("solve_discrete_lyapunov", dtype) for dtype in ("int8", "bool")),  # products of small integers wrap
    *(("transposed=True", dtype) for dtype in ("complex", "imaginary")),  # it has no such equations
    # The matrices are not Hermitian.
    *((kind, f"S: {dtype}") for kind in ('"her"', '"pos"') for dtype in ("complex", "imaginary")),
)


def is_open(said: str) -> bool:
    return any(text in said and stratum in said for text, stratum in _OPEN)


def compared(mode: str, actual: Any, expected: Any, said: str, arguments: list[Any]) -> str:
    """Return how results differ from SciPy's in the precision of the operands, which Wengert keeps.

    Integers count as double precision: some of SciPy's functions compute in float32. Operands of both precisions allow
    either. SciPy may give complex numbers for a real power of a real matrix.
    """
    is_short = any(one.dtype.kind in "biu" and one.dtype.itemsize <= 2 for one in arguments)
    if (
        not isinstance(expected, Exception)
        and not isinstance(actual, Exception)
        and len(actual) == len(expected)
    ):
        precisions = {np.finfo(one.dtype).bits if one.dtype.kind in "fc" else 64 for one in arguments}
        kinds = {"f": "f4", "c": "c8"} if precisions == {32} else {"f": "f8", "c": "c16"}
        pairs = list(zip(expected, actual, strict=True))
        if len(precisions) > 1 and all(one.dtype.kind == other.dtype.kind for one, other in pairs):
            expected = [one.astype(other.dtype) for one, other in pairs]
        else:
            real = [
                one.dtype.kind == "c" and other.dtype.kind == "f" and np.allclose(one.imag, 0)
                for one, other in pairs
            ]
            expected = [one.real if is_real else one for (one, _), is_real in zip(pairs, real, strict=True)]
            expected = [one.astype(kinds.get(one.dtype.kind, one.dtype)) for one in expected]
    return strata.difference(mode, actual, expected, narrow=is_short or strata.narrow(said, arguments))


def differing(mode: str, seed: int, step: int = 1) -> list[str]:
    """Return how the results of a mode differ from SciPy's."""
    found: list[str] = []
    run = strata.MODES[mode]
    for said, arguments in list(drawn(seed, mode))[seed % step :: step]:
        text = said.partition(" [")[0]
        if is_open(said):
            continue
        expected = strata.outcome(program(text, la), *(one.copy(order="K") for one in arguments))
        inside = program(text, followed)
        actual = strata.outcome(
            lambda *x, inside=inside: run(inside, *x), *(one.copy(order="K") for one in arguments)
        )
        if problem := compared(mode, actual, expected, said, arguments):
            found.append(f"{said}: {problem}")
    return found


COUNTS = {"boxed": 600, "on_tape": 300, "batched": 100, "staged": 100, "compiled": 20}


@pytest.mark.parametrize(("mode", "count"), COUNTS.items())
def test_options_and_dtypes(mode: str, count: int) -> None:
    found = differing(mode, 0, step=max(1, len(TEXTS) // many(count)))
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("mode", strata.MODES)
def test_options_and_dtypes_of_all_calls(mode: str) -> None:
    seeds = range(1, 2 if mode == "compiled" else 5)
    found = [one for seed in seeds for one in differing(mode, seed)]
    assert not found, "\n".join(found)
