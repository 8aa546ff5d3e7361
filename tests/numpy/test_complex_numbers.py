"""Complex numbers in NumPy programs: parts and their views, the convention of gradients, errors, linear algebra."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.modes import EAGER, TYPED, assert_same
from wengert.engine.core.errors import DtypeError
from wengert.engine.ops.arithmetic import sign
from wengert.testing import check_grads

Z = np.array([1.0 + 2.0j, -0.5 + 0.25j, 0.3 - 1.5j])
X = np.array([0.3, -0.7, 1.2])
A = np.array([[2.0 + 1.0j, 0.5 - 0.25j, 0.1j], [0.3, 1.5 - 0.5j, 0.25], [0.2 - 0.1j, 0.4j, 3.0]])
HERMITIAN = A @ A.conj().T


# -- the convention --------------------------------------------------------------------------------------


def test_the_gradient_of_a_real_function_is_df_dx_minus_i_df_dy() -> None:
    np.testing.assert_allclose(wg.grad(lambda z: np.sum(np.abs(z) ** 2))(Z), 2 * Z.conj())
    np.testing.assert_allclose(wg.grad(lambda z: np.sum(z.imag))(Z), np.full(3, -1j))
    by_x = wg.grad(lambda x: np.sum(np.abs(np.exp(x + 1j * Z.imag))))(Z.real)
    by_z = wg.grad(lambda z: np.sum(np.abs(np.exp(z))))(Z)
    np.testing.assert_allclose(by_z.real, by_x)


def test_a_step_against_the_conjugate_gradient_descends() -> None:
    def loss(z: Any) -> Any:
        return np.sum(np.abs(z**2 - Z) ** 2)

    start = np.ones(3, complex)
    assert loss(start - 0.01 * wg.grad(loss)(start).conj()) < loss(start)


def test_holomorphic_derivatives() -> None:
    np.testing.assert_allclose(wg.grad(lambda z: np.sum(z**3), holomorphic=True)(Z), 3 * Z**2)
    np.testing.assert_allclose(wg.derivative(np.exp, holomorphic=True)(1j), np.exp(1j))
    for transform in (wg.jacfwd, wg.jacrev, wg.jacobian):
        np.testing.assert_allclose(transform(np.sin, holomorphic=True)(Z), np.diag(np.cos(Z)))
    hessian = wg.hessian(lambda z: np.sum(z**3), holomorphic=True)(Z)
    np.testing.assert_allclose(hessian, np.diag(6 * Z))


@pytest.mark.parametrize("transform", [wg.jacfwd, wg.jacrev, wg.jacobian])
def test_jacobians_of_complex_numbers_need_holomorphic(transform: Callable[..., Any]) -> None:
    with pytest.raises(
        DtypeError, match=r"real arguments are required; got c128\[3\]; pass holomorphic=True"
    ):
        transform(np.sin)(Z)
    with pytest.raises(
        DtypeError, match=r"must return real values; got .*; return the real or the imaginary part"
    ):
        transform(lambda x: x * 1j)(X)
    with pytest.raises(DtypeError, match="complex arguments are required"):
        transform(np.sin, holomorphic=True)(X)


def test_gradients_of_complex_results_need_holomorphic() -> None:
    with pytest.raises(DtypeError, match="grad: the function must return real values"):
        wg.grad(np.sum)(Z)
    with pytest.raises(DtypeError, match="must return complex values"):
        wg.grad(lambda z: np.sum(z.real), holomorphic=True)(Z)


def test_a_real_input_has_a_real_derivative() -> None:
    def power(x: Any) -> Any:
        return np.sum(np.abs(np.exp(1j * x) + x * (2 - 1j)) ** 2)

    for derivative in (wg.grad(power)(X), wg.jvp(power, (X,), (X,))[1], wg.hessian(power)(X)):
        assert derivative.dtype == np.float64
    check_grads(power, (X,))


def test_tangents_and_cotangents_of_real_values_are_real() -> None:
    with pytest.raises(DtypeError, match=r"a real value has a real tangent; got c128\[3\], f64\[3\]"):
        wg.jvp(np.sin, (X,), (Z,))
    _, pullback = wg.vjp(np.sin, X)
    with pytest.raises(DtypeError, match="a real value has a real tangent"):
        pullback(Z)


def test_vjp_and_jvp_are_linear_over_the_reals() -> None:
    def f(z: Any) -> Any:
        return np.conj(z) * np.abs(z)

    _, pullback = wg.vjp(f, Z)
    u, v = Z[::-1].copy(), Z**2
    assert np.isclose(np.sum(v * wg.jvp(f, (Z,), (u,))[1]).real, np.sum(pullback(v)[0] * u).real)
    np.testing.assert_allclose(pullback(2 * v + u)[0], 2 * pullback(v)[0] + pullback(u)[0])


# -- parts -----------------------------------------------------------------------------------------------


def parts_written(z: Any) -> Any:
    w = z * 1
    w.real[1] = 3.0 * w.imag[0]
    w.imag *= 2
    part = w[::2].imag
    part += w.real[::2]
    w.real = w.real + 1
    return w


def polar(z: Any) -> Any:
    return (
        np.abs(z) * np.exp(1j * np.angle(z)),
        np.angle(z, deg=True),
        np.sign(z),
        np.isreal(z),
        np.iscomplex(z),
    )


def rounded(z: Any) -> Any:
    return (
        np.round(3 * z, 1),
        np.nan_to_num(z * np.array([1, np.nan, np.inf])),
        np.iscomplexobj(z),
        z.conj().T,
    )


def tables(z: Any) -> Any:
    w = np.zeros_like(z)
    w[1:] = z[:-1]
    return np.stack([w, z.real, z]), np.where(z.real > 0, z, 1j), np.cumprod(z), np.prod(z), np.vdot(z, w)


@pytest.mark.parametrize("function", [parts_written, polar, rounded, tables])
def test_programs_give_what_numpy_gives(function: Callable[..., Any]) -> None:
    expected = function(Z.copy())
    for mode in (*EAGER, *TYPED):
        assert_same(mode(function, Z.copy()), expected, rtol=1e-14)


@pytest.mark.parametrize("function", [parts_written, lambda z: polar(z)[0], tables])
def test_programs_have_the_right_derivatives(function: Callable[..., Any]) -> None:
    check_grads(function, (Z,))
    check_grads(lambda x, y: function(x + 1j * y), (Z.real, Z.imag), order=1)


def test_derivatives_in_loops_and_branches() -> None:
    def rotated(z: Any) -> Any:
        z = wg.cond(np.sum(np.abs(z)) > 1, lambda z: z * 1j, lambda z: z, z)
        last, _ = wg.scan(lambda carry, w: (carry * w + 1j, carry.real), z[0], z)
        return (
            np.abs(wg.fori_loop(0, 3, lambda i, w: w * (0.5 + 1j), last))
            + np.sum(wg.checkpoint(np.sin)(z)).real
        )

    check_grads(rotated, (Z,))
    np.testing.assert_allclose(wg.vmap(rotated)(np.stack([Z, Z])), rotated(Z))


def test_custom_rules_of_complex_functions() -> None:
    @wg.custom_jvp
    def cube(z: Any) -> Any:
        return z**3

    cube.defjvp(lambda primals, tangents: (primals[0] ** 3, 3 * primals[0] ** 2 * tangents[0]))
    check_grads(lambda z: cube(z) * np.conj(z), (Z,))


def test_an_imaginary_part_is_not_lost_silently() -> None:
    def into_real(z: Any) -> Any:
        x = np.zeros_like(z.real)
        x[0] = z[0]
        return np.sum(x)

    with pytest.raises(DtypeError, match="a complex value needs a complex array"):
        wg.grad(into_real)(Z)
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        wg.grad(lambda z: np.sum(z.astype(float)))(Z)
    with pytest.raises(DtypeError, match=r"divide by np\.abs"):
        wg.vmap(sign)(Z)


def test_weak_complex_numbers_keep_single_precision() -> None:
    single = Z.astype(np.complex64)
    for mode in (*EAGER, *TYPED):
        assert mode(lambda z: (z * 2j + 1.0, z.real * 1.0, z.real * 1j), single)[0].dtype == np.complex64
    assert wg.grad(lambda x: np.abs(1j * x))(np.float32(2)).dtype == np.float32
    assert wg.grad(lambda z: abs(z) ** 2)(1 + 2j) == 2 - 4j


# -- linear algebra --------------------------------------------------------------------------------------

FACTORISED: dict[str, Callable[[Any], Any]] = {
    "solve": lambda a: np.linalg.solve(a, Z),
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": lambda a: tuple(np.linalg.slogdet(a)),
    "matrix_power": lambda a: np.linalg.matrix_power(a, -3),
    "qr": lambda a: tuple(np.linalg.qr(a)),
    "svd": lambda a: (lambda u, s, v: (u * np.sqrt(s)) @ v)(*np.linalg.svd(a)),
    "svdvals": np.linalg.svdvals,
    "pinv": lambda a: np.linalg.pinv(a[:, :2]),
    "lstsq": lambda a: np.linalg.lstsq(a[:, :2], Z)[:2],
    "cholesky": lambda a: np.linalg.cholesky(a @ a.conj().T),
    "cholesky upper": lambda a: np.linalg.cholesky(a @ a.conj().T, upper=True),
    "eigvalsh": lambda a: np.linalg.eigvalsh(a + a.conj().T),
    "eigh": lambda a: (lambda w, v: (v * np.sin(w)) @ v.conj().T)(*np.linalg.eigh(a + a.conj().T)),
    "eig": lambda a: tuple(np.linalg.eig(a)),
    "eigvals": np.linalg.eigvals,
    "norm": lambda a: (
        np.linalg.norm(a),
        np.linalg.norm(a, 1),
        np.linalg.norm(a, "nuc"),
        np.linalg.norm(a[0], 3),
    ),
    "roots": lambda a: np.roots(a[0]),
}


@pytest.mark.parametrize("name", FACTORISED)
def test_linear_algebra_of_complex_matrices(name: str) -> None:
    function = FACTORISED[name]
    expected = function(A)
    for mode in (*EAGER, *TYPED):
        assert_same(mode(function, A), expected, rtol=1e-10)
    check_grads(function, (A,))


@pytest.mark.parametrize("name", ["eig", "eigvals", "roots"])
def test_eigenvalues_of_real_matrices_may_be_complex(name: str) -> None:
    turned = np.array([[0.5, 2.0, 0.1], [-1.5, 0.25, 0.3], [0.1, 0.2, 3.0]])
    assert_same(wg.jvp(FACTORISED[name], (turned,), (turned,))[0], FACTORISED[name](turned), rtol=1e-10)
    check_grads(FACTORISED[name], (turned,))
    symmetric = turned + turned.T
    result = wg.jvp(np.linalg.eigvals, (symmetric,), (symmetric,))[0]
    assert result.dtype == np.float64  # as in NumPy, where the values are known


@pytest.mark.parametrize(
    "matrix",
    [
        np.array([[2.0, 1.0], [1.0, 2.0]]),
        np.array([[0.0, 1.0], [-1.0, 0.0]]),
        np.roll(np.diag([1.0, 2.0, 3.0, 4.0]), 1, 0),
    ],
    ids=["symmetric", "rotation", "cyclic"],
)
def test_eigenvectors_with_components_of_one_magnitude(matrix: Any) -> None:
    """Any of them may be the largest; derivatives are finite, and keep ``A V = V diag(w)`` and the lengths."""
    direction = np.arange(1.0, 1.0 + matrix.size).reshape(matrix.shape)
    (w, v), (dw, dv) = wg.jvp(lambda a: tuple(np.linalg.eig(a)), (matrix,), (direction,))
    np.testing.assert_allclose(direction @ v + matrix @ dv, dv * w + v * dw, atol=1e-12)
    np.testing.assert_allclose(np.sum(v.conj() * dv, 0).real, 0, atol=1e-12)


@pytest.mark.parametrize(
    "function", [np.log, np.sqrt, np.arcsin, np.arccos, np.arccosh, np.arctanh, np.arcsinh]
)
def test_on_a_branch_cut_the_derivative_is_that_of_the_side_that_signed_zeros_name(function: Any) -> None:
    on_the_cut = -2.0 if function in (np.log, np.sqrt, np.arccosh) else 2.0
    turn = 1j if function is np.arcsinh else 1
    for side in (1.0, -1.0):
        z, beside = complex(on_the_cut, side * 0.0), complex(on_the_cut, side * 1e-9)
        if turn == 1j:  # its cuts lie on the imaginary axis
            z, beside = complex(side * 0.0, on_the_cut), complex(side * 1e-9, on_the_cut)
        found, near = (wg.derivative(function, holomorphic=True)(place) for place in (z, beside))
        np.testing.assert_allclose(found, near, rtol=1e-7)


def test_no_warning_of_lost_imaginary_parts() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.grad(lambda x: np.abs(np.sum(np.exp(1j * x) * x)))(X)
        wg.grad(lambda x: np.sum(np.linalg.eigvals(x * A.real).real))(1.5)


@pytest.mark.parametrize("transform", [wg.jacobian, wg.jacrev, wg.jacfwd], ids=lambda t: t.__name__)
def test_each_remedy_for_complex_values_works(transform: Any) -> None:
    x, f = np.array([0.3, -0.7]), lambda x: np.exp(1j * x)
    with pytest.raises(DtypeError, match=r"z\.real, z\.imag.*pass x \+ 0j with holomorphic=True"):
        transform(f)(x)
    expected = np.diag(1j * f(x))
    np.testing.assert_allclose(transform(lambda x: f(x).real)(x), expected.real)
    np.testing.assert_allclose(transform(lambda x: f(x).imag)(x), expected.imag)
    with pytest.raises(DtypeError, match=r"leave out holomorphic=True, or pass x \+ 0j"):
        transform(f, holomorphic=True)(x)
    np.testing.assert_allclose(transform(f, holomorphic=True)(x + 0j), expected)
    with pytest.raises(DtypeError, match="not holomorphic"):
        transform(np.abs, holomorphic=True)(x + 0j)
