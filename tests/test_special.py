from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import wengert as wg
from wengert import special
from wengert.engine.boxes import CONSTANT
from wengert.engine.core.errors import ArgumentError
from wengert.engine.ir.types import TensorType
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.jacobians import jacrev
from wengert.engine.transforms.reverse_mode import grad, vjp
from wengert.engine.transforms.staging import evaluate, stage
from wengert.testing import check_grads

scipy_special = pytest.importorskip("scipy.special")

RNG = np.random.default_rng(21)
A = RNG.uniform(-2, 2, (3, 4))
P = RNG.uniform(0.1, 0.9, (3, 4))
B = RNG.uniform(0.5, 2, (3, 4))

CASES: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "erf": (special.erf, scipy_special.erf, (A,)),
    "erfc": (special.erfc, scipy_special.erfc, (A * 3,)),
    "erfinv": (special.erfinv, scipy_special.erfinv, (P - 0.5,)),
    "lgamma": (special.lgamma, scipy_special.gammaln, (B,)),
    "gammaln": (special.gammaln, scipy_special.gammaln, (B * 10,)),
    "digamma": (special.digamma, scipy_special.digamma, (B,)),
    "polygamma 0": (lambda x: special.polygamma(0, x), lambda x: scipy_special.polygamma(0, x), (B,)),
    "polygamma 1": (lambda x: special.polygamma(1, x), lambda x: scipy_special.polygamma(1, x), (B,)),
    "polygamma 2": (lambda x: special.polygamma(2, x), lambda x: scipy_special.polygamma(2, x), (B,)),
    "i0": (special.i0, scipy_special.i0, (A * 12,)),
    "i1": (special.i1, scipy_special.i1, (A * 12,)),
    "expit": (special.expit, scipy_special.expit, (A * 3,)),
    "logit": (special.logit, scipy_special.logit, (P,)),
    "log_expit": (special.log_expit, scipy_special.log_expit, (A * 5,)),
    "softplus": (special.softplus, lambda x: np.logaddexp(x, 0), (A * 5,)),
    "xlogy": (special.xlogy, scipy_special.xlogy, (A, B)),
    "xlogy broadcast": (special.xlogy, scipy_special.xlogy, (A, B[0])),
    "xlog1py": (special.xlog1py, scipy_special.xlog1py, (A, B - 1)),
    "entr": (special.entr, scipy_special.entr, (B,)),
    "logsumexp": (special.logsumexp, scipy_special.logsumexp, (A,)),
    "logsumexp axis": (lambda x: special.logsumexp(x, 1), lambda x: scipy_special.logsumexp(x, 1), (A,)),
    "logsumexp of complex numbers": (
        lambda x, b: np.abs(special.logsumexp(x + 1j * b, 1)),
        lambda x, b: np.abs(scipy_special.logsumexp(x + 1j * b, 1)),
        (A, B),
    ),
    "logsumexp axes": (
        lambda x: special.logsumexp(x, (0, 1), keepdims=True),
        lambda x: scipy_special.logsumexp(x, (0, 1), keepdims=True),
        (A,),
    ),
    "logsumexp factors": (
        lambda x, b: special.logsumexp(x, axis=0, b=b),
        lambda x, b: scipy_special.logsumexp(x, axis=0, b=b),
        (A, B),
    ),
    "logsumexp sign": (
        lambda x: special.logsumexp(x, axis=0, b=np.array([[1.0], [-3.0], [0.5]]), return_sign=True),
        lambda x: scipy_special.logsumexp(x, axis=0, b=np.array([[1.0], [-3.0], [0.5]]), return_sign=True),
        (A,),
    ),
    "logaddexp.reduce": (np.logaddexp.reduce, lambda x: scipy_special.logsumexp(x, 0), (A,)),
    "logaddexp.reduce initial": (
        lambda x: np.logaddexp.reduce(x, axis=1, initial=0.5),
        lambda x: np.logaddexp.reduce(x, axis=1, initial=0.5),
        (A,),
    ),
    "softmax": (lambda x: special.softmax(x), lambda x: scipy_special.softmax(x, -1), (A,)),
    "softmax all": (lambda x: special.softmax(x, None), scipy_special.softmax, (A,)),
    "softmax axis": (lambda x: special.softmax(x, 0), lambda x: scipy_special.softmax(x, 0), (A,)),
    "log_softmax": (lambda x: special.log_softmax(x), lambda x: scipy_special.log_softmax(x, -1), (A,)),
    "log_softmax axis": (
        lambda x: special.log_softmax(x, 0),
        lambda x: scipy_special.log_softmax(x, 0),
        (A,),
    ),
}


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("name", CASES)
def test_functions(name: str) -> None:
    function, reference, arguments = CASES[name]
    expected = _flat(reference(*arguments))

    def agree(actual: Any) -> None:
        for value, other in zip(_flat(actual), expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-12, atol=1e-13)
            assert np.asarray(value).dtype == np.float64

    agree(function(*arguments))
    agree(vjp(function, *arguments)[0])
    types = [TensorType(np.asarray(value).dtype, np.shape(value)) for value in arguments]
    graph, captured = stage(lambda *values: _flat(function(*values)), types)
    agree(tuple(evaluate(graph, *captured, *arguments)))
    check_grads(function, arguments, order=2)
    rows = [np.stack([value, value * 0.9]) for value in arguments]
    for position, value in enumerate(_flat(vmap(function)(*rows))):
        looped = [_flat(function(*(row[number] for row in rows)))[position] for number in range(2)]
        np.testing.assert_allclose(value, np.stack(looped), rtol=1e-12)


@pytest.mark.parametrize("name", sorted(set(CASES) - {"logsumexp sign"}))
def test_single_precision_stays(name: str) -> None:
    function, reference, arguments = CASES[name]
    single = [np.asarray(value, np.float32) for value in arguments]
    for value, other in zip(_flat(function(*single)), _flat(reference(*arguments)), strict=True):
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, other, rtol=2e-4, atol=2e-5)
    boxed = _flat(function(*map(CONSTANT.constant, single)))
    assert all(value.dtype == np.float32 for value in boxed)


@pytest.mark.parametrize(
    "function", [special.logsumexp, special.softmax, special.log_softmax, special.entr, special.logit]
)
def test_integers_become_double(function: Any) -> None:
    with np.errstate(divide="ignore"):
        actual = function(np.array([1, 0, 1]))
    assert actual.dtype == np.float64
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(actual, function(np.array([1.0, 0.0, 1.0])))


# -- extremes --------------------------------------------------------------------------------------------

EXTREMES = [
    np.array([1e4, -1e4]),
    np.array([1e4, 1e4]),
    np.array([-1e4, -1e4, -1e4]),
    np.array([-np.inf, 3.0]),
    np.array([1e4, -np.inf]),
    np.array([700.0, 710.0, -745.0]),
]


@pytest.mark.parametrize("logits", EXTREMES, ids=str)
def test_sums_of_exponentials_are_exact_at_extremes(logits: Any) -> None:
    shares = scipy_special.softmax(logits)
    assert special.logsumexp(logits) == pytest.approx(scipy_special.logsumexp(logits), rel=1e-15)
    np.testing.assert_allclose(grad(special.logsumexp)(logits), shares, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(special.softmax(logits), shares, rtol=1e-12)
    np.testing.assert_allclose(special.log_softmax(logits), scipy_special.log_softmax(logits), rtol=1e-14)
    jacobian = jacrev(special.log_softmax)(logits)
    np.testing.assert_allclose(jacobian, np.eye(len(logits)) - shares, atol=1e-12)
    direction = np.ones(len(logits))
    assert jvp(special.logsumexp, (logits,), (direction,))[1] == pytest.approx(1.0)


def test_a_sum_of_no_terms_has_derivative_zero() -> None:
    nothing = np.full((2, 3), -np.inf)
    nothing[1] = [0.0, -np.inf, 1.0]
    actual = special.logsumexp(nothing, axis=1)
    assert actual[0] == -np.inf
    jacobian = jacrev(lambda x: special.logsumexp(x, axis=1))(nothing)
    np.testing.assert_array_equal(jacobian[0], np.zeros((2, 3)))
    np.testing.assert_allclose(jacobian[1, 1], scipy_special.softmax(nothing[1]))
    assert special.logsumexp(np.array([1.0, np.inf])) == np.inf
    with np.errstate(divide="ignore"):
        assert special.logsumexp(np.zeros(0)) == -np.inf
    assert special.softmax(np.zeros((0, 2))).shape == (0, 2)
    assert special.log_softmax(np.zeros((0, 2))).shape == (0, 2)


def test_factors_of_zero_leave_terms_out() -> None:
    a, b = np.array([1e4, 1.0, 2.0]), np.array([0.0, 1.0, 2.0])
    assert special.logsumexp(a, b=b) == pytest.approx(np.log(np.e + 2 * np.e**2))
    np.testing.assert_allclose(grad(lambda a: special.logsumexp(a, b=b))(a)[0], 0.0)
    with np.errstate(invalid="ignore"):
        assert np.isnan(special.logsumexp(np.array([1.0]), b=np.array([-1.0])))


@given(hnp.arrays(float, st.integers(1, 6), elements=st.floats(-1e4, 1e4)))
def test_shares_add_up_to_one(logits: Any) -> None:
    shares = special.softmax(logits)
    assert np.sum(shares) == pytest.approx(1.0)
    np.testing.assert_allclose(np.sum(np.exp(special.log_softmax(logits))), 1.0, rtol=1e-11)
    shifted = special.logsumexp(logits + 5.0) - special.logsumexp(logits)
    assert shifted == pytest.approx(5.0, abs=1e-9)
    assert np.isfinite(grad(lambda x: special.log_softmax(x)[0])(logits)).all()


@pytest.mark.parametrize(("x", "y"), [(0.0, 2.0), (0.0, 0.5), (0.0, 1e-300), (1.5, 2.0), (-1.0, 3.0)])
def test_xlogy_has_its_derivatives_at_zero(x: float, y: float) -> None:
    assert grad(special.xlogy, argnums=(0, 1))(x, y) == pytest.approx((np.log(y), x / y))
    assert jvp(special.xlogy, (x, y), (1.0, 0.0))[1] == pytest.approx(np.log(y))
    assert grad(grad(special.xlogy, 0), 1)(x, y) == pytest.approx(1 / y)


def test_xlogy_at_the_edge() -> None:
    x = np.zeros(5)
    y = np.array([0.0, -1.0, np.inf, np.nan, -np.inf])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(special.xlogy(x, y), scipy_special.xlogy(x, y))
        np.testing.assert_array_equal(special.xlog1py(x, y), scipy_special.xlog1py(x, y))
    assert special.xlog1py(0.0, -1.0) == 0.0
    assert grad(special.xlogy, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert grad(special.xlog1py, argnums=0)(0.0, 0.5) == pytest.approx(np.log1p(0.5))
    np.testing.assert_array_equal(
        special.entr(np.array([0.0, -1.0])), scipy_special.entr(np.array([0.0, -1.0]))
    )
    assert grad(special.entr)(0.0) == 0.0


def test_logistic_functions_at_extremes() -> None:
    far = np.array([-1e4, -800.0, 0.0, 800.0, 1e4])
    np.testing.assert_array_equal(special.softplus(far), [0.0, 0.0, np.log(2), 800.0, 1e4])
    np.testing.assert_array_equal(special.log_expit(far), [-1e4, -800.0, -np.log(2), 0.0, 0.0])
    slopes = grad(lambda x: np.sum(special.softplus(x)))(far)
    np.testing.assert_allclose(slopes, [0.0, 0.0, 0.5, 1.0, 1.0], atol=1e-300)
    np.testing.assert_allclose(
        grad(lambda x: np.sum(special.log_expit(x)))(far), [1.0, 1.0, 0.5, 0.0, 0.0], atol=1e-300
    )


def test_boxes_may_stand_in_lists() -> None:
    assert grad(lambda x: special.logsumexp([x, 0.0]))(0.0) == pytest.approx(0.5)
    np.testing.assert_allclose(grad(lambda x: special.softmax([[x, 0.0], [1.0, 1.0]])[0, 0])(0.0), 0.25)


def test_polygamma_takes_orders_from_zero() -> None:
    with pytest.raises(ArgumentError, match="polygamma: the order must not be negative"):
        special.polygamma(-1, 1.0)


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (0.5, 0.5), (1.5, -0.3), (-0.5, 0.5), (-0.9, 3.0)])
def test_rules_of_gauss(a: float, b: float) -> None:
    """Also where SciPy takes another formula: for equal parameters, and for those whose sum is 0."""
    for n in (1, 2, 7):
        found = wg.vjp(lambda a, b, n=n: scipy_special.roots_jacobi(n, a, b, True), a, b)[0]
        for ours, theirs in zip(found, scipy_special.roots_jacobi(n, a, b, True), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)
    for program in (
        lambda a: scipy_special.roots_jacobi(4, a, b),
        lambda b: scipy_special.roots_jacobi(4, a, b),
        lambda a: scipy_special.roots_genlaguerre(4, a),
        lambda a: scipy_special.roots_gegenbauer(4, 1.0 + a),
    ):
        wg.check_grads(program, (0.3 + a,), order=2, rtol=1e-4)
        total = lambda x, program=program: np.sum(np.sin(np.stack(program(x))))  # noqa: E731
        assert wg.jit(wg.grad(total))(a + 0.3) == pytest.approx(wg.grad(total)(a + 0.3), rel=1e-9)
    with pytest.raises(wg.errors.ArgumentError, match="roots_jacobi: n must be"):
        wg.special.roots_jacobi(0, a, b)


@pytest.mark.skipif(not hasattr(scipy_special, "legendre_p"), reason="SciPy 1.15 brought them")
def test_legendre_functions_of_all_degrees() -> None:
    z, angle = np.array([0.3, -0.8]), np.array([-0.4, 2.0])
    for program, x in (
        (lambda z: scipy_special.legendre_p(3, z), z),
        (lambda z: scipy_special.legendre_p_all(3, z), z),
        (lambda z: scipy_special.assoc_legendre_p([[3], [1]], -2, z, norm=True), z),
        (lambda z: scipy_special.assoc_legendre_p_all(2, 3, z), z),
        (lambda z: scipy_special.assoc_legendre_p_all(3, 2, z, norm=True), z),
        (lambda x: scipy_special.sph_legendre_p(3, 1, x), angle),
        (lambda x: scipy_special.sph_legendre_p_all(3, 2, x), angle),
        (lambda x: scipy_special.sph_harm_y_all(3, 2, x, 0.3).real, angle),
    ):
        expected = program(x)
        found = wg.vjp(program, x)[0]
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
        wg.check_grads(program, (x,), order=2, rtol=1e-4)
    for refused, words in (
        (lambda z: scipy_special.legendre_p(3, z, diff_n=1), "diff_n must be 0"),
        (lambda z: scipy_special.assoc_legendre_p(3, 1, z, branch_cut=3), "branch_cut must be 2"),
    ):
        with pytest.raises(ArgumentError, match=words):
            wg.grad(refused)(0.3)
