"""`wengert.scipy.linalg` against SciPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import CASES, HypothesisDraw, examples, many
from tests.scipy.checks import check, check_signatures, close
from wengert.engine.core.errors import WengertError
from wengert.scipy import linalg

theirs = pytest.importorskip("scipy.linalg")

RNG = np.random.default_rng(29)
A = RNG.uniform(-1, 1, (3, 3)) + 2 * np.eye(3)
B = RNG.uniform(-1, 1, (3, 2))
V = RNG.uniform(-1, 1, 3)
STACK = RNG.uniform(-1, 1, (2, 3, 3)) + 2 * np.eye(3)
SPD = A @ A.T
TALL = RNG.uniform(-1, 1, (4, 3))
COMPLEX = A + 0.3j * RNG.uniform(-1, 1, (3, 3))
SMALL = RNG.uniform(-0.4, 0.4, (3, 3))

#: For each call that both modules have: the function of a module, and arguments.
CALLS: dict[str, tuple[Any, ...]] = {
    "solve": (lambda m, a, b: m.solve(a, b), A, B),
    "solve vector": (lambda m, a, b: m.solve(a, b, transposed=True), A, V),
    "solve stack": (lambda m, a, b: m.solve(a, b), STACK, B),
    "solve positive": (lambda m, a, b: m.solve(a, b, assume_a="pos"), SPD, B),
    "solve symmetric": (lambda m, a, b: m.solve(a, b, assume_a="sym", lower=True), A, V),
    "solve upper": (lambda m, a, b: m.solve(np.triu(a), b, assume_a="upper triangular"), A, B),
    "solve tridiagonal": (
        lambda m, a, b: m.solve(np.triu(np.tril(a, 1), -1), b, assume_a="tridiagonal"),
        A,
        V,
    ),
    "triangular": (lambda m, a, b: m.solve_triangular(a, b), A, V),
    "triangular lower": (lambda m, a, b: m.solve_triangular(a, b, lower=True, trans="T"), A, B),
    "triangular unit": (lambda m, a, b: m.solve_triangular(a, b, unit_diagonal=True), A, B),
    "solve_toeplitz": (lambda m, c, r, b: m.solve_toeplitz((c, r), b), np.array([3.0, 1, 0.5]), V, V),
    "solve_toeplitz of a list": (lambda m, x, b: m.solve_toeplitz([3.0, 1.0, 0.5], x * b), np.array(1.5), B),
    "solve_toeplitz symmetric": (lambda m, c, b: m.solve_toeplitz(c, b), np.array([3.0, 1, 0.5]), B),
    "solve_circulant": (lambda m, c, b: m.solve_circulant(c, b), np.array([3.0, 1, 0.5]), V),
    "inv": (lambda m, a: m.inv(a), A),
    "det": (lambda m, a: m.det(a), STACK),
    "norm": (lambda m, a: (m.norm(a), m.norm(a, 1), m.norm(a[0], 3), m.norm(a, axis=0)), A),
    "lstsq": (lambda m, a, b: m.lstsq(a, b)[:2], TALL, RNG.uniform(-1, 1, (4, 2))),
    "lstsq vector": (lambda m, a, b: m.lstsq(a, b)[:2], TALL, RNG.uniform(-1, 1, 4)),
    "pinv": (lambda m, a: m.pinv(a), TALL),
    "cholesky": (lambda m, a: (m.cholesky(a), m.cholesky(a, lower=True)), SPD),
    "cho_factor": (lambda m, a: m.cho_factor(a)[0], SPD),
    "cho_factor lower": (lambda m, a: m.cho_factor(a, lower=True)[0], SPD),
    "cho_solve": (lambda m, a, b: m.cho_solve(m.cho_factor(a), b), SPD, V),
    "cho_solve lower": (lambda m, a, b: m.cho_solve(m.cho_factor(a, True), b), SPD, B),
    "lu": (lambda m, a: m.lu(a), A[[1, 2, 0]]),
    "lu wide": (lambda m, a: m.lu(a, permute_l=True), TALL.T.copy()),
    "lu tall": (lambda m, a: m.lu(a), TALL),
    "lu_factor": (lambda m, a: m.lu_factor(a)[0], A[[1, 2, 0]]),
    "lu_solve": (lambda m, a, b: m.lu_solve(m.lu_factor(a), b), A[[1, 2, 0]], V),
    "lu_solve transposed": (lambda m, a, b: m.lu_solve(m.lu_factor(a), b, trans=1), A[[1, 2, 0]], B),
    "qr": (lambda m, a: m.qr(a, mode="economic"), TALL),
    "qr_multiply": (lambda m, a, c: m.qr_multiply(a, c), TALL, RNG.uniform(-1, 1, (2, 4))),
    "qr_multiply left": (lambda m, a, c: m.qr_multiply(a, c, mode="left"), TALL, V),
    "qr_multiply conjugate": (lambda m, a, c: m.qr_multiply(a, c, conjugate=True), COMPLEX, B.T),
    "hessenberg": (lambda m, a: m.hessenberg(a, calc_q=True), RNG.uniform(-1, 1, (5, 5))),
    "hessenberg complex": (lambda m, a: m.hessenberg(a, calc_q=True), COMPLEX),
    "hessenberg stack": (lambda m, a: m.hessenberg(a), STACK),
    "funm": (lambda m, a: m.funm(a, lambda x: np.sin(x) * x), A),
    "funm complex": (lambda m, a: m.funm(a, np.exp), COMPLEX),
    "qr r": (lambda m, a: m.qr(a, mode="r"), A),
    "polar": (lambda m, a: m.polar(a), TALL),
    "polar left": (lambda m, a: m.polar(a, "left"), TALL.T.copy()),
    "svd": (lambda m, a: m.svd(a, full_matrices=False), TALL),
    "svdvals": (lambda m, a: m.svdvals(a), A),
    "eigvalsh": (lambda m, a: m.eigvalsh(a, subset_by_index=(1, 2)), SPD),
    "eigvalsh of two": (lambda m, a, b: m.eigvalsh(a, b), SPD, SPD @ SPD + np.eye(3)),
    "eigh": (lambda m, a: np.abs(m.eigh(a)[1]), SPD),
    "eigh of two": (lambda m, a, b: np.abs(m.eigh(a, b, lower=False)[1]), SPD, SPD @ SPD + np.eye(3)),
    "expm": (lambda m, a: m.expm(a), A),
    "expm stack": (lambda m, a: m.expm(a), STACK),
    "expm large": (lambda m, a: m.expm(a), 10 * A),
    "expm_frechet": (lambda m, a, e: m.expm_frechet(a, e), A, SMALL),
    "logm": (lambda m, a: m.logm(a), A),
    "sqrtm": (lambda m, a: m.sqrtm(a), A),
    "power": (lambda m, a: m.fractional_matrix_power(a, 0.3), A),
    "cosm": (lambda m, a: (m.cosm(a), m.sinm(a)), A),
    "tanm": (lambda m, a: (m.tanm(a), m.tanhm(a)), SMALL),
    "coshm": (lambda m, a: (m.coshm(a), m.sinhm(a)), A),
    "sylvester": (lambda m, a, b, q: m.solve_sylvester(a, b, q), A, SPD[:2, :2], B),
    "lyapunov": (lambda m, a, q: m.solve_continuous_lyapunov(a, q), A, SPD),
    "discrete lyapunov": (lambda m, a, q: m.solve_discrete_lyapunov(a, q), SMALL, SPD),
    "discrete lyapunov bilinear": (
        lambda m, a, q: m.solve_discrete_lyapunov(a, q, "bilinear"),
        SMALL,
        SPD,
    ),
    "continuous are": (lambda m, a, b, q: m.solve_continuous_are(a, b, q + q.T, np.eye(2) * 3), A, B, SPD),
    "discrete are": (lambda m, a, b, q: m.solve_discrete_are(a, b, q + q.T, np.eye(2) * 3), A, B, SPD),
    "general are": (
        lambda m, a, b, q, r, e, s: (
            m.solve_continuous_are(a, b, q + q.T, r + r.T, e, s),
            m.solve_discrete_are(a, b, q + q.T, r + r.T, e, s),
        ),
        *(A, B, SPD, SPD[:2, :2], 2 * np.eye(3) + SMALL.T, 0.1 * B),
    ),
    "toeplitz": (lambda m, c, r: (m.toeplitz(c), m.toeplitz(c, r)), V, V[:2]),
    "hankel": (lambda m, c, r: (m.hankel(c), m.hankel(c, r)), V, V[:2]),
    "circulant": (lambda m, c: m.circulant(c), V),
    "block_diag": (lambda m, a, b, v: m.block_diag(a, b, v, 2.0), A, B, V),
    "companion": (lambda m, a: m.companion(a), V),
    "leslie": (lambda m, f, s: m.leslie(f, s), V, V[:2]),
    "khatri_rao": (lambda m, a, b: m.khatri_rao(a, b), A, TALL),
    "convolution_matrix": (
        lambda m, a: tuple(
            m.convolution_matrix(a, n, mode) for n in (2, 4) for mode in ("full", "same", "valid")
        ),
        V,
    ),
}
#: Under vmap, SciPy's functions of one matrix become functions of stacks; these two are of one matrix alone.
UNBATCHED = {"lstsq", "lstsq vector"}


@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str) -> None:
    call, *arguments = CALLS[name]
    check(
        lambda *x: call(linalg, *x),
        lambda *x: call(theirs, *x),
        *arguments,
        rtol=1e-11 if "large" in name else 1e-12,
        batched=name not in UNBATCHED,
    )


@pytest.mark.parametrize(
    "name", ["solve", "triangular", "inv", "det", "cholesky", "lu", "expm", "logm", "sqrtm", "cosm", "polar"]
)
def test_complex_matrices(name: str) -> None:
    call, _, *others = CALLS[name]
    matrix = COMPLEX @ np.conj(COMPLEX.T) if name == "cholesky" else COMPLEX
    own = call(linalg, matrix, *others)
    close(own, call(theirs, matrix, *others), 1e-12, dtypes=name != "lu")
    wg.check_grads(lambda *x: call(linalg, *x), (matrix, *others), order=1)


@pytest.mark.parametrize(
    "name", ["expm", "logm", "sqrtm", "sylvester", "lu_factor", "polar", "triangular", "discrete are"]
)
def test_second_derivatives(name: str) -> None:
    call, *arguments = CALLS[name]
    wg.check_grads(lambda *x: call(linalg, *x), tuple(arguments), order=2)


def test_riccatis_equations_of_complex_matrices() -> None:
    hermitian = COMPLEX @ np.conj(COMPLEX.T)
    for name in ("solve_continuous_are", "solve_discrete_are"):

        def solved(a: Any, b: Any, name: str = name, module: Any = linalg) -> Any:
            return getattr(module, name)(a, b, hermitian, np.eye(2))

        close(solved(COMPLEX, B), solved(COMPLEX, B, module=theirs), 1e-12)
        wg.check_grads(solved, (COMPLEX, B + 0.2j * B[::-1]), order=1)


@examples(30)
@given(data=st.data())
def test_drawn_equations_of_riccati_have_the_derivatives_of_differences(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    rows, columns, name = draw.integer(1, 5), draw.integer(1, 3), draw.choice(["continuous", "discrete"])
    a, b = draw.rng.standard_normal((rows, rows)), draw.rng.standard_normal((rows, columns))
    unit = np.eye(columns)

    def solved(a: Any, b: Any, q: Any) -> Any:
        return getattr(linalg, f"solve_{name}_are")(a, b, q @ q.T + np.eye(rows), unit)

    wg.check_grads(solved, (a, b, draw.rng.standard_normal((rows, rows))), order=1, rtol=1e-4)


def test_riccatis_equations_without_a_solution_raise() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        wg.grad(lambda a: theirs.solve_continuous_are(a, np.zeros((2, 1)), -np.eye(2), [[1.0]])[0, 0])(
            np.eye(2)
        )
    with pytest.raises(WengertError, match="solve_discrete_are: the shapes"):
        linalg.solve_discrete_are(A, B[:2], SPD, np.eye(2))


# -- drawn matrices --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [float, complex])
def test_general_riccati_equations(dtype: Any) -> None:
    """With e and s; SciPy's balanced equations fail for a third of these, or are not solved."""
    rng = np.random.default_rng(CASES)

    def drawn(*shape: int) -> Any:
        return rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype is complex else 0)

    for _ in range(many(10)):
        a, b, c, d, e, s = drawn(3, 3), drawn(3, 2), drawn(3, 3), drawn(2, 2), drawn(3, 3), drawn(3, 2)
        e, s, adjoint = np.eye(3) + 0.2 * e, 0.05 * s, lambda m: np.conj(m).T
        q, r = c @ adjoint(c) + np.eye(3), d @ adjoint(d) + np.eye(2)
        x = linalg.solve_continuous_are(a, b, q, r, e, s)
        gain = adjoint(b) @ x @ e + adjoint(s)
        rest = adjoint(a) @ x @ e + adjoint(e) @ x @ a - adjoint(gain) @ np.linalg.solve(r, gain) + q
        assert np.abs(rest).max() < 1e-9 * max(1.0, np.abs(x).max()) ** 2
        x = linalg.solve_discrete_are(a, b, q, r, e, s)
        gain = adjoint(b) @ x @ a + adjoint(s)
        weight = r + adjoint(b) @ x @ b
        rest = adjoint(a) @ x @ a - adjoint(e) @ x @ e - adjoint(gain) @ np.linalg.solve(weight, gain) + q
        assert np.abs(rest).max() < 1e-9 * max(1.0, np.abs(x).max()) ** 2


@examples(40)
@given(data=st.data())
def test_exponentials_of_matrices_of_all_sizes_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    rows, scale = draw.integer(1, 12), draw.choice([1e-8, 1e-3, 0.1, 1.0, 10.0, 300.0])
    a = draw.rng.standard_normal((*draw.choice([(), (2,)]), rows, rows)) * scale / rows
    a = np.triu(a) if draw.choice([False, True]) else a
    own, expected = linalg.expm(a), theirs.expm(a)
    assert np.max(np.abs(own - expected)) <= 1e-11 * max(scale, 1.0) * np.max(np.abs(expected))


def test_exponential_of_a_matrix_far_from_normal() -> None:
    """The number of squarings follows the powers of the matrix, and not its norm, which would lose all digits."""
    a = np.array([[1.0, 1e6], [0.0, -1.0]])
    exact = np.array([[np.e, 1e6 * np.sinh(1.0)], [0.0, 1 / np.e]])
    np.testing.assert_allclose(linalg.expm(a), exact, rtol=1e-14)


@examples(40)
@given(data=st.data())
def test_factors_of_drawn_matrices_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    lead, rows, columns = draw.choice([(), (2,)]), draw.integer(1, 5), draw.integer(1, 5)
    a = draw.rng.standard_normal((*lead, rows, columns))
    a[..., :, 0] = 0 if draw.choice([False, False, True]) else a[..., :, 0]  # singular
    options = {"permute_l": draw.choice([False, True]), "p_indices": draw.choice([False, True])}
    close(linalg.lu(a, **options), theirs.lu(a, **options), 1e-13, dtypes=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns of singular matrices
        close(linalg.lu_factor(a), theirs.lu_factor(a), 1e-13)
    lower, trans, unit = draw.choice([False, True]), draw.choice([0, 1, 2]), draw.choice([False, True])
    t, b = draw.rng.standard_normal((rows, rows)) + 4 * np.eye(rows), draw.rng.standard_normal((rows, 2))
    own = linalg.solve_triangular(t, b, trans, lower, unit)
    close(own, theirs.solve_triangular(t, b, trans, lower, unit), 1e-11)


@examples(30)
@given(data=st.data())
def test_toeplitz_hankel_and_blocks_of_drawn_sizes(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    c, r = (draw.integers((draw.integer(1, 5),), -9, 9) for _ in range(2))
    close(linalg.toeplitz(c, r), theirs.toeplitz(c, r), 0)
    close(linalg.hankel(c, r), theirs.hankel(c, r), 0)
    close(linalg.circulant(c), theirs.circulant(c), 0)
    blocks = [draw.array((draw.integer(0, 2), draw.integer(1, 3))) for _ in range(draw.integer(0, 3))]
    close(linalg.block_diag(*blocks), theirs.block_diag(*blocks), 0)


# -- choices and errors ----------------------------------------------------------------------------------


def test_only_what_a_structure_reads_has_a_derivative() -> None:
    for options, read in [
        ({"assume_a": "pos"}, np.triu(np.ones((3, 3)))),
        ({"assume_a": "sym", "lower": True}, np.tril(np.ones((3, 3)))),
        ({"assume_a": "diagonal"}, np.eye(3)),
        ({"assume_a": "upper triangular"}, np.triu(np.ones((3, 3)))),
    ]:
        derivative = wg.grad(lambda a: np.sum(linalg.solve(a, V, **options)))(SPD)  # noqa: B023
        np.testing.assert_array_equal(derivative != 0, read != 0)


def test_polar_factor_of_a_rotation_has_a_derivative() -> None:
    """The singular values are equal, so the derivative of the singular vectors is not defined."""
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    wg.check_grads(lambda a: linalg.polar(a), (turn,), order=2)


def test_single_precision_stays() -> None:
    single = A.astype(np.float32)
    for call in (linalg.expm, linalg.logm, linalg.sqrtm, linalg.inv, linalg.cosm, linalg.polar, linalg.svd):
        assert {np.asarray(leaf).dtype for leaf in wg.tree.leaves(call(single))} == {single.dtype}
    assert linalg.solve(single, V.astype(np.float32)).dtype == np.float32
    assert linalg.expm(np.eye(2, dtype=int)).dtype == np.float64


def test_roots_that_are_not_real_are_refused() -> None:
    negative = np.diag([1.0, -1.0])
    for call in (linalg.sqrtm, linalg.logm):
        with pytest.raises(
            np.linalg.LinAlgError, match=r"is not real; pass a.astype\(complex\).*test_linalg.py"
        ):
            wg.grad(lambda a: np.sum(call(a)))(negative)  # noqa: B023
        np.testing.assert_allclose(call(negative + 0j), getattr(theirs, call.__name__)(negative))


ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "square": (lambda: linalg.expm(B), "expm: square matrices are required"),
    "finite": (
        lambda: linalg.solve(np.full((2, 2), np.nan), V[:2]),
        "solve: infinities and NaNs are not allowed",
    ),
    "structure": (lambda: linalg.solve(A, V, assume_a="odd"), "solve: assume_a must be one of"),
    "trans": (lambda: linalg.solve_triangular(A, V, trans=3), "solve_triangular: trans must be"),
    "rows": (
        lambda: linalg.solve_triangular(A, V[:2]),
        "solve_triangular: the right-hand side must have a row",
    ),
    "zero": (lambda: linalg.solve_triangular(np.zeros((2, 2)), V[:2]), "resolution failed at diagonal 0"),
    "side": (lambda: linalg.polar(A, "up"), 'polar: side must be "right" or "left"'),
    "subset": (lambda: linalg.eigh(A, subset_by_index=(1, 7)), "eigh: subset_by_index"),
    "left": (lambda: linalg.eig(A, left=True), "eig: left="),
    "sylvester": (lambda: linalg.solve_sylvester(A, A, B), "solve_sylvester: q must have a row"),
    "method": (lambda: linalg.solve_discrete_lyapunov(A, A, "other"), "solve_discrete_lyapunov: method"),
    "singular": (
        lambda: linalg.solve_circulant(V, V, singular="lstsq"),
        'solve_circulant: singular must be "raise"',
    ),
    "companion": (lambda: linalg.companion([1.0]), "companion: at least two coefficients"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_the_operation(name: str) -> None:
    call, text = ERRORS[name]
    with pytest.raises(WengertError, match=text):
        call()


@pytest.mark.parametrize("name", linalg.__all__)
def test_signatures_are_scipys(name: str) -> None:
    if not hasattr(theirs, name):
        pytest.skip("not in this version of SciPy")
    check_signatures(getattr(linalg, name), getattr(theirs, name))


@pytest.mark.parametrize(
    "a", [np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 1.0], [1e-12, 1.0]])]
)
def test_functions_of_matrices_with_equal_eigenvalues_are_refused(a: Any) -> None:
    with pytest.raises(WengertError, match=r"funm: the eigenvalues must differ"):
        wg.vjp(lambda a: theirs.funm(a, np.exp), a)
    with pytest.raises(WengertError, match=r"funm: the eigenvalues must differ"):
        wg.jit(lambda a: theirs.funm(a, np.exp))(a)


def test_functions_of_real_matrices_that_are_not_real_are_refused() -> None:
    with pytest.raises(WengertError, match=r"funm: the function of a real matrix must be real"):
        wg.vjp(lambda a: theirs.funm(a, np.sqrt), np.diag([-1.0, 2.0]))
