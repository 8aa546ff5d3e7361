"""autograd's operators with autograd's meaning: arguments, results, errors and warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert.autograd as ag
import wengert.autograd.numpy as anp
from tests.draws import many
from wengert.errors import DtypeError

X = np.array([0.3, -1.2, 2.0])
A = np.array([[1.0, 0.5, -0.3], [0.2, 2.0, 0.7], [0.1, -0.4, 1.5]])
Z = np.array([1.0 + 2.0j, -0.5 + 0.1j])


def weights(params: Any) -> Any:
    return params["a"] * anp.sum(params["b"][0] ** 2) + params["b"][1]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (lambda: ag.grad(lambda x, y: anp.sum(x * y), 1)(X, X + 1), X),
        (lambda: ag.grad(lambda x, y: anp.sum(x * y), [0, 1])(X, X + 1), (X + 1, X)),
        (lambda: ag.grad(lambda x, n=2: anp.sum(x**n))(X, n=3), 3 * X**2),
        (lambda: ag.grad(lambda x: x[:1] ** 2)(X), [0.6, 0, 0]),
        (lambda: ag.grad(lambda x: anp.sum(anp.sin(x)))(np.arange(3)), np.cos(np.arange(3))),
        (lambda: ag.value_and_grad(lambda x: anp.sum(x**2))(X), (np.sum(X**2), 2 * X)),
        (lambda: ag.elementwise_grad(lambda x: x**2 * anp.sum(x))(X), 2 * X * np.sum(X) + np.sum(X**2)),
        (lambda: ag.grad_named(lambda x, y: anp.sum(x * y), "y")(X, X), X),
        (lambda: ag.grad_and_aux(lambda x: (anp.sum(x**2), 2 * x))(X), (2 * X, 2 * X)),
        (lambda: ag.multigrad(lambda x, y: anp.sum(x * y), [1])(X, X), (X,)),
        (lambda: ag.multigrad_dict(lambda x, *y, z=2.0: x * y[0] * z)(3.0, 5.0)["y"][0], 6.0),
        (lambda: ag.jacobian(lambda x: anp.outer(x, x))(X)[0, 1], [X[1], X[0], 0]),
        (lambda: ag.jacobian(lambda x: anp.array([x, x**2]))(2.0), [1, 4]),
        (lambda: ag.jacobian(lambda x: x)(np.ones(200)), np.eye(200)),
        (lambda: ag.hessian(lambda x: x @ A @ x)(X), A + A.T),
        (lambda: ag.hessian_vector_product(lambda x: anp.sum(x**4))(X, A[0]), 12 * X**2 * A[0]),
        (lambda: ag.tensor_jacobian_product(lambda x: A @ x)(X, X), X @ A),
        (
            lambda: ag.tensor_jacobian_product(lambda x: anp.outer(x, x))(X, X),
            X @ X * np.eye(3) + np.outer(X, X),
        ),
        (lambda: ag.make_vjp(lambda x: A @ x)(X)[0](X), X @ A),
        (lambda: ag.make_jvp(lambda x, y: x * y, 1)(X, X)(A[0]), (X**2, X * A[0])),
        (lambda: ag.make_jvp_reversemode(lambda x: x**3)(X)(A[0]), 3 * X**2 * A[0]),
        (lambda: ag.make_hvp(lambda x: anp.sum(x**3))(X)[0](A[0]), 6 * X * A[0]),
        (lambda: ag.make_ggnvp(lambda x: A @ x)(X)(X), A.T @ A @ X),
        (lambda: ag.make_ggnvp(lambda x: A @ x, lambda y: anp.sum(y**3))(X)(X), A.T @ (6 * A @ X * (A @ X))),
        (lambda: ag.deriv(lambda x: x**3)(X), 3 * X**2),
        (lambda: ag.grad(lambda p: weights(p))({"a": 2.0, "b": (X, 1.0)})["b"], (4 * X, 1.0)),
        (lambda: ag.grad(lambda x: x * ag.grad(lambda y: y**2 * x)(x))(3.0), 54.0),
        (lambda: ag.grad(ag.checkpoint(lambda x, n=2: anp.sum(anp.sin(x) ** n)))(X), np.sin(2 * X)),
        (lambda: ag.grad(lambda z: anp.sum(anp.abs(z) ** 2))(Z), 2 * np.conj(Z)),
        (lambda: ag.holomorphic_grad(lambda z: anp.sum(z**3))(Z), 3 * Z**2),
        (lambda: ag.make_vjp(lambda z: z**2)(Z)[0](Z), 2 * Z**2),
        (lambda: ag.jacobian(lambda z: anp.real(z[0] * z))(Z)[1], np.array([Z[1], Z[0]])),
    ],
)
def test_meaning(got: Any, expected: Any) -> None:
    result = got()
    pairs = zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]
    for value, number in pairs:
        np.testing.assert_allclose(value, number, rtol=1e-12, atol=1e-12)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: ag.grad(lambda x: x**2)(X), TypeError),
        (lambda: ag.grad(lambda x: x**2)(3), TypeError),
        (lambda: ag.grad(lambda z: z**2)(1.0 + 1.0j), TypeError),
        (lambda: ag.jacobian(lambda z: z**2)(Z), TypeError),
        (lambda: ag.jacobian(lambda x: (x, x))(X), DtypeError),
        (lambda: ag.tensor_jacobian_product(lambda x: x)(X, np.ones(2)), ValueError),
        (lambda: ag.core.vspace(3), TypeError),
    ],
)
def test_what_has_no_meaning_raises(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_an_output_without_derivative_warns() -> None:
    with pytest.warns(UserWarning, match="independent"):
        assert ag.grad(lambda x: 3.0)(1.0) == 0.0
    with pytest.warns(UserWarning, match="not complex"):
        ag.holomorphic_grad(lambda x: x**2)(1.0)


def test_second_derivatives_at_kinks_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ag.grad(ag.grad(lambda x: anp.abs(x) * x))(0.0) == 0.0


def test_a_function_runs_as_it_is() -> None:
    """Code that asks for a type in a way that no box can answer goes on as with autograd's boxes."""

    def plain(x: Any) -> Any:
        return x**3 if type(x) is np.ndarray else x**2

    np.testing.assert_allclose(ag.elementwise_grad(plain)(X), 2 * X)
    np.testing.assert_allclose(ag.jacobian(lambda x: np.array([x[0], 2 * x[1]]))(X), np.diag([1, 2, 0])[:2])


def test_drawn_compositions_agree_in_both_modes(rng) -> None:
    functions = [
        anp.sin,
        anp.tanh,
        anp.cumsum,
        lambda x: anp.where(x > 0, x, 2 * x),
        lambda x: A @ x,
        anp.sort,
    ]
    for _ in range(many(20)):
        chosen = [functions[i] for i in rng.integers(len(functions), size=4)]

        def composed(x: Any, chosen: Any = chosen) -> Any:
            for function in chosen:
                x = function(x)
            return x

        x, v = rng.standard_normal((2, 3))
        jacobian = ag.jacobian(composed)(x)
        np.testing.assert_allclose(ag.make_jvp(composed)(x)(v)[1], jacobian @ v, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(ag.make_vjp(composed)(x)[0](v), v @ jacobian, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(
            ag.make_jvp_reversemode(composed)(x)(v), jacobian @ v, rtol=1e-10, atol=1e-12
        )
