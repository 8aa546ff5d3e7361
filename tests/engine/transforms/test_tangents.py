"""`jvp`, `linearize`, `derivative`, `hvp`, `hessp` and `gnvp`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.transforms.containers import TREE, program
from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError
from wengert.engine.core.shapes import shape_of


def directions(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return tree.map_tree(
        lambda leaf: rng.standard_normal(leaf.shape) if isinstance(leaf, np.ndarray) else float(rng.normal()),
        TREE,
    )


def inner(left: Any, right: Any) -> float:
    return sum(float(np.sum(a * b)) for a, b in zip(tree.leaves(left), tree.leaves(right), strict=True))


def test_directions_have_the_containers_of_the_arguments() -> None:
    direction = directions(1)
    value, slope = wg.jvp(program, (TREE,), (direction,))
    np.testing.assert_allclose(slope, inner(wg.grad(program)(TREE), direction), rtol=1e-12)
    assert value == program(TREE)
    again, linear = wg.linearize(program, TREE)
    assert again == value
    for seed in (1, 2):
        expected = inner(wg.grad(program)(TREE), directions(seed))
        np.testing.assert_allclose(linear(directions(seed)), expected, rtol=1e-12)


def test_outputs_keep_their_containers() -> None:
    def function(x: Any) -> Any:
        return {"twice": 2 * x, "parts": [x[0], (x[1:], None)], "fixed": 7.0, "where": np.argmax(x)}

    x = np.array([1.0, 2.0, 3.0])
    for output, tangent in (
        wg.jvp(function, (x,), (np.ones(3),)),
        (wg.linearize(function, x)[0], wg.linearize(function, x)[1](np.ones(3))),
    ):
        assert tree.flatten(output)[1] == tree.flatten(tangent)[1] == tree.flatten(function(x))[1]
        assert list(map(shape_of, tree.leaves(tangent))) == list(map(shape_of, tree.leaves(output)))
        np.testing.assert_array_equal(tangent["twice"], [2.0, 2.0, 2.0])
        np.testing.assert_array_equal(tangent["parts"][1][0], [1.0, 1.0])
        assert (tangent["parts"][0], tangent["fixed"], tangent["where"]) == (1.0, 0.0, 0)


def test_several_arguments_and_aux() -> None:
    value, slope, aux = wg.jvp(lambda x, y: (x * y, {"sum": x + y}), [2.0, 5.0], (1.0, 10.0), has_aux=True)
    assert (value, slope, aux) == (10.0, 25.0, {"sum": 7.0})


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_dtypes_are_kept(dtype: str) -> None:
    x = np.ones(3, dtype)
    output, tangent = wg.jvp(lambda x: np.sin(x) * 2.0, (x,), (np.ones(3),))
    assert output.dtype == tangent.dtype == x.dtype
    assert wg.linearize(lambda x: x * 2.0, x)[1]([1, 2, 3] * np.ones(3)).dtype == x.dtype
    assert wg.hvp(lambda x: np.sum(x**3))(x, x).dtype == x.dtype
    assert dtype_of(wg.derivative(lambda t: x * t)(np.dtype(dtype).type(2))) == x.dtype


def test_python_floats_give_python_floats() -> None:
    for value in wg.jvp(lambda x: x * x, (3.0,), (1,)):
        assert type(value) is float
    assert type(wg.linearize(lambda x: x * x, 3.0)[1](1.0)) is float
    assert type(wg.derivative(lambda x: x * x)(3.0)) is float
    assert type(wg.hvp(lambda x: x**3)(3.0, 1.0)) is float


def test_linearize_runs_the_function_once() -> None:
    calls: list[Any] = []

    def function(x: Any, y: Any) -> Any:
        calls.append(x)
        return np.sin(x) * y, x[0] if y > 0 else x[1]

    x = np.array([0.5, 1.5])
    _, linear = wg.linearize(function, x, 2.0)
    for scale in (1.0, -2.0):
        actual = linear(scale * np.ones(2), scale)
        np.testing.assert_allclose(actual[0], scale * (np.cos(x) * 2.0 + np.sin(x)), rtol=1e-15)
        assert actual[1] == scale
    assert len(calls) == 1


def test_linearize_of_values_of_outer_transforms() -> None:
    def slope(x: Any) -> Any:
        _, linear = wg.linearize(lambda y: np.sin(y) * x * y, x)
        return linear(1.0) + linear(x)

    x = 0.75
    first = np.cos(x) * x * x + np.sin(x) * x
    second = -np.sin(x) * x * x + 2 * np.cos(x) * x + np.cos(x) * x + np.sin(x)
    np.testing.assert_allclose(slope(x), (1 + x) * first, rtol=1e-14)
    for derivative in (wg.grad, wg.derivative):
        np.testing.assert_allclose(derivative(slope)(x), (1 + x) * second + first, rtol=1e-13)
    xs = np.array([0.25, 0.75])
    np.testing.assert_allclose(wg.vmap(slope)(xs), [slope(x) for x in xs], rtol=1e-14)


def test_derivative_of_a_scalar_to_anything() -> None:
    def path(t: Any, scale: float = 1.0) -> Any:
        return {"position": np.stack([np.cos(t), np.sin(t)]) * scale, "time": t, "fixed": np.ones(2)}

    actual = wg.derivative(path)(0.5, scale=2.0)
    np.testing.assert_allclose(actual["position"], [-2 * np.sin(0.5), 2 * np.cos(0.5)], rtol=1e-15)
    assert actual["time"] == 1.0
    np.testing.assert_array_equal(actual["fixed"], np.zeros(2))
    assert wg.derivative(lambda a, t: a * t**2, argnums=1)(3.0, 2.0) == 12.0
    assert wg.derivative(wg.derivative(wg.derivative(lambda t: t**4)))(2.0) == 48.0
    np.testing.assert_array_equal(wg.derivative(lambda t: t * t)(np.array(3.0)), 6.0)


def test_hvp_is_hessian_times_direction() -> None:
    def function(x: Any, y: Any) -> Any:
        return np.sum(np.sin(x["a"]) * y**2) + np.prod(x["a"]) * y[0]

    x, y = {"a": np.array([0.5, 1.5])}, np.array([2.0, 3.0])
    u, v = {"a": np.array([1.0, -1.0])}, np.array([0.5, 0.25])
    hessian = wg.hessian(function, (0, 1))(x, y)
    actual = wg.hvp(function, (0, 1))(x, y, (u, v))
    np.testing.assert_allclose(
        actual[0]["a"], hessian[0]["a"][0]["a"] @ u["a"] + hessian[0]["a"][1] @ v, rtol=1e-13
    )
    np.testing.assert_allclose(actual[1], hessian[1][0]["a"] @ u["a"] + hessian[1][1] @ v, rtol=1e-13)
    np.testing.assert_allclose(wg.hvp(function, 1)(x, y, v), hessian[1][1] @ v, rtol=1e-13)


def residuals(x: Any, y: Any) -> Any:
    return {"a": np.sin(x["a"]) * y[:1] + x["a"][::-1] ** 2, "b": np.prod(y) * x["a"][0]}


@pytest.mark.parametrize("compiled", [lambda f: f, wg.jit])
def test_gnvp_is_the_jacobian_twice(compiled: Any) -> None:
    x, y = {"a": np.array([0.5, 1.5])}, np.array([2.0, 3.0])
    u, v = {"a": np.array([1.0, -1.0])}, np.array([0.5, 0.25])
    jacobian = wg.jacobian(residuals, (0, 1))(x, y)
    by_x = np.vstack([jacobian[key][0]["a"] for key in ("a", "b")])
    J = np.hstack([by_x, np.vstack([jacobian[key][1] for key in ("a", "b")])])
    w = np.concatenate([u["a"], v])
    actual = compiled(wg.gnvp(residuals, (0, 1)))(x, y, (u, v))
    np.testing.assert_allclose(np.concatenate([actual[0]["a"], actual[1]]), J.T @ (J @ w), rtol=1e-13)
    np.testing.assert_allclose(compiled(wg.gnvp(residuals, 1))(x, y, v), J.T[2:] @ (J[:, 2:] @ v), rtol=1e-13)


@pytest.mark.parametrize("compiled", [lambda f: f, wg.jit])
def test_gnvp_with_the_hessian_of_a_loss(compiled: Any) -> None:
    def logits(w: Any, x: Any) -> Any:
        return np.tanh(x @ w)

    def loss(z: Any) -> Any:
        return np.sum(np.log(np.sum(np.exp(z), axis=1)) - z[:, 0])

    rng = np.random.default_rng(0)
    w, x, v = rng.normal(size=(2, 3)), rng.normal(size=(4, 2)), rng.normal(size=(2, 3))
    J = wg.jacobian(logits)(w, x).reshape(12, 6)
    H = wg.hessian(loss)(logits(w, x)).reshape(12, 12)
    actual = compiled(wg.gnvp(logits, loss=loss))(w, x, v)
    np.testing.assert_allclose(actual.reshape(-1), J.T @ (H @ (J @ v.reshape(-1))), rtol=1e-12)
    quadratic = wg.gnvp(logits, loss=lambda z: 0.5 * np.sum(z * z))(w, x, v)
    np.testing.assert_allclose(quadratic, wg.gnvp(logits)(w, x, v), rtol=1e-13)
    # The Hessian of a function of a linear map has no second derivatives of the map.
    linear = wg.hvp(lambda w: loss(x @ w))(w, v)
    np.testing.assert_allclose(wg.gnvp(lambda w: x @ w, loss=loss)(w, v), linear, rtol=1e-13)


def test_gnvp_batches_and_nests() -> None:
    def f(x: Any) -> Any:
        return np.stack([x[0] * x[1], np.exp(x[0]), x[1] ** 3])

    rng = np.random.default_rng(1)
    x, v = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    each = [wg.gnvp(f)(a, b) for a, b in zip(x, v, strict=True)]
    for transform in (wg.vmap, lambda g: wg.jit(wg.vmap(g))):
        np.testing.assert_allclose(transform(wg.gnvp(f))(x, v), each, rtol=1e-13)
    columns = wg.jacobian(lambda b: wg.gnvp(f)(x[0], b))(v[0])
    J = wg.jacobian(f)(x[0])
    np.testing.assert_allclose(columns, J.T @ J, rtol=1e-13)
    wg.check_grads(lambda a: wg.gnvp(f)(a, v[0]), (x[0],))
    np.testing.assert_array_equal(wg.gnvp(lambda x: np.ones(2))(x[0], v[0]), np.zeros(2))
    assert wg.gnvp(lambda t: t * t)(3.0, 1.0) == 36.0


# -- what is refused -------------------------------------------------------------------------------------


def test_wrong_directions() -> None:
    x = np.ones(3)
    with pytest.raises(
        ShapeError, match=r"jvp: a tangent must have the shape of its primal; got f64\[2\], f64\[3\]"
    ):
        wg.jvp(np.sin, (x,), (np.ones(2),))
    with pytest.raises(ShapeError, match="linearize"):
        wg.linearize(np.sin, x)[1](1.0)
    with pytest.raises(ShapeError, match=r"hvp: the direction, the last argument, .* got f64\[2\], f64\[3\]"):
        wg.hvp(np.sum)(x, np.ones(2))
    with pytest.raises(ArgumentError, match="structure"):
        wg.jvp(np.sin, (x,), (x, x))
    with pytest.raises(ArgumentError, match="tuples or lists"):
        wg.jvp(np.sin, x, x)
    for wrong in (1j, "a", None, object()):
        with pytest.raises((DtypeError, ArgumentError)):
            wg.jvp(lambda x: x * x, (2.0,), (wrong,))


def test_a_derivative_needs_a_scalar_argument() -> None:
    for wrong in (np.ones(3), [1.0, 2.0], {}):
        with pytest.raises(ShapeError, match=r"must be a scalar.*wg\.jacobian"):
            wg.derivative(lambda x: x)(wrong)
    with pytest.raises(DtypeError, match=r"2\.0 for 2"):
        wg.derivative(lambda x: x)(2)


def test_hessp_has_the_direction_second() -> None:
    def function(x: Any, scale: Any, *, power: int = 3) -> Any:
        return scale * np.sum(x) ** power

    x, p = np.array([1.0, -2.0, 4.0]), np.array([0.5, 1.0, 2.0])
    for compiled in (lambda f: f, wg.jit):
        actual = compiled(wg.hessp(function))(x, p, 10.0)
        np.testing.assert_allclose(actual, wg.hessian(function)(x, 10.0) @ p, rtol=1e-13)
    np.testing.assert_array_equal(
        wg.hessp(function)(x, p, 10.0, power=2), wg.hvp(function)(x, 10.0, p, power=2)
    )
    with pytest.raises(ShapeError, match=r"SciPy's order is wg\.hessp"):
        wg.hvp(function)(x, p, 10.0)
    with pytest.raises(ShapeError, match=r"^hessp: the direction, the second argument, .* got f64\[4\]"):
        wg.hessp(function)(x, np.ones(4), 10.0)
    with pytest.raises(TypeError, match=r"write wg\.hessp\(f\)"):
        wg.hessp(1.0)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov"])
@pytest.mark.parametrize("compiled", [lambda f: f, wg.jit])
def test_scipys_optimisers_take_the_derivatives_with_args(method: str, compiled: Any) -> None:
    optimize = pytest.importorskip("scipy.optimize")

    def rosenbrock(x: Any, a: Any, b: Any) -> Any:
        return np.sum(b * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2, keepdims=True)

    actual = optimize.minimize(
        compiled(wg.value_and_grad(rosenbrock)),
        np.array([-1.2, 1.0, 0.5]),
        args=(1.0, 100.0),
        jac=True,
        hessp=compiled(wg.hessp(rosenbrock)),
        method=method,
    )
    np.testing.assert_allclose(actual.x, np.ones(3), rtol=1e-4)


def test_hvp_needs_a_direction() -> None:
    with pytest.raises(ArgumentError, match="hvp"):
        wg.hvp(lambda x: x)()
    with pytest.raises(ArgumentError, match="hvp"):
        wg.hvp(lambda x: x)(1.0)


def test_gnvp_refuses_what_has_no_product() -> None:
    x = np.ones(3)
    with pytest.raises(
        ShapeError, match=r"^gnvp: the direction, the last argument, .* got f64\[2\], f64\[3\]"
    ):
        wg.gnvp(lambda x: x * x)(x, np.ones(2))
    with pytest.raises(ArgumentError, match=r"^gnvp: .* write gnvp\(f\)\(x, v\)"):
        wg.gnvp(lambda x: x)(x)
    with pytest.raises(DtypeError, match=r"^gnvp: the function must return floating-point values"):
        wg.gnvp(lambda x: x > 0)(x, x)
    with pytest.raises(ArgumentError, match="must return"):
        wg.gnvp(lambda x: x, loss=lambda y: y)(x, x)
