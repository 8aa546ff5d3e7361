"""Rules of the user's: primitives, vector spaces, and what programs ask about boxes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.autograd.numpy as anp
from wengert.autograd import core, elementwise_grad, grad, hessian, jacobian, make_jvp
from wengert.autograd.builtins import DictBox, SequenceBox
from wengert.autograd.builtins import isinstance as is_instance
from wengert.autograd.builtins import type as type_of
from wengert.autograd.extend import (
    SparseObject,
    VSpace,
    def_linear,
    defjvp,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
    register_notrace,
    vspace,
)
from wengert.autograd.numpy.numpy_boxes import ArrayBox
from wengert.autograd.numpy.numpy_vjps import balanced_eq, replace_zero, unbroadcast_f
from wengert.autograd.test_util import check_grads
from wengert.autograd.tracer import getval, isbox
from wengert.errors import ConcreteError, ShapeError

X = np.array([0.3, -1.2, 2.0])


@primitive
def logsumexp(x: Any) -> Any:
    """Get plain arrays alone."""
    assert type(x) is np.ndarray
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


defvjp(logsumexp, lambda ans, x: lambda g: anp.full(x.shape, g) * anp.exp(x - anp.full(x.shape, ans)))


@primitive
def scaled(x: Any, y: Any, power: int = 1, **_: Any) -> Any:
    return np.multiply(x, y**power)


defvjp(
    scaled,
    lambda ans, x, y, power=1, **_: unbroadcast_f(x, lambda g: g * y**power),
    lambda ans, x, y, power=1, **_: unbroadcast_f(y, lambda g: g * power * x * y ** (power - 1)),
)


def test_rules_to_the_second_order() -> None:
    weights = np.exp(X) / np.sum(np.exp(X))
    np.testing.assert_allclose(grad(logsumexp)(X), weights)
    np.testing.assert_allclose(
        hessian(logsumexp)(X), np.diag(weights) - np.outer(weights, weights), atol=1e-15
    )
    check_grads(lambda x: logsumexp(x**2) * logsumexp(x), modes=["fwd", "rev"], order=2)(X)
    check_grads(lambda x, y: scaled(x, y, 3), (0, 1), order=2)(X, 2.0)
    np.testing.assert_allclose(grad(lambda y: anp.sum(scaled(X, y, power=2)))(3.0), 6 * np.sum(X))


def test_rules_of_plain_arrays_in_matrices() -> None:
    """A rule that needs plain arrays gets them, one cotangent after the other."""

    @primitive
    def root(x: Any) -> Any:
        return np.array([float(element) ** 0.5 for element in x])

    defvjp(root, lambda ans, x: lambda g: np.array([float(element) for element in g]) * 0.5 / ans)
    np.testing.assert_allclose(jacobian(lambda x: root(x**2))(np.abs(X)), np.eye(3))


def test_both_rules() -> None:
    calls: list[str] = []

    @primitive
    def double(x: Any) -> Any:
        return 2.0 * x

    def pull(ans: Any, x: Any) -> Any:
        calls.append("vjp")
        return lambda g: 2.0 * g

    def push(g: Any, ans: Any, x: Any) -> Any:
        calls.append("jvp")
        return 2.0 * g

    defjvp(double, push)
    assert grad(double)(1.0) == 2.0  # transposed
    defvjp(double, pull)
    assert grad(double)(1.0) == make_jvp(double)(1.0)(1.0)[1] == 2.0
    assert calls == ["jvp", "vjp", "jvp"]


def test_rules_of_arguments() -> None:
    product, total, first = (
        primitive(f) for f in (lambda x, y: x * y, lambda *t: float(sum(t)), lambda x, n: x)
    )
    defvjp(product, lambda ans, x, y: lambda g: g * x, argnums=[1])
    assert grad(product, 1)(2.0, 3.0) == 2.0
    with pytest.raises(NotImplementedError, match="argnum 0 not defined"):
        grad(product)(2.0, 3.0)
    with pytest.raises(NotImplementedError, match=r"VJP of .* not defined"):
        grad(primitive(np.sin))(1.0)
    defvjp_argnum(total, lambda argnum, ans, args, kwargs: lambda g: g * (argnum + 1))
    assert grad(lambda x: total(x, x, x))(1.0) == 6.0
    defvjp(first, lambda ans, x, n: lambda g: g, None)
    assert grad(first, 1)(2.0, 3.0) == 0.0
    defvjp_argnums(product, lambda argnums, ans, args, kwargs: lambda g: [g * args[1 - i] for i in argnums])
    assert grad(lambda x: product(x, x))(3.0) == 6.0
    def_linear(total)
    assert make_jvp(total)(1.0)(2.0) == (1.0, 2.0)
    with pytest.raises(NotImplementedError, match="by name"):
        grad(lambda x: product(1.0, y=x))(2.0)
    with pytest.raises(TypeError, match="primitive"):
        defvjp(np.sin, None)


def test_containers_and_methods() -> None:
    @primitive
    def split(pair: Any) -> Any:
        return pair[0] * 2.0, {"square": pair[1] ** 2}

    defvjp(split, lambda ans, pair: lambda g: (2.0 * g[0], 2.0 * pair[1] * g[1]["square"]))
    assert grad(lambda x: split((x, x))[0] * split((x, x))[1]["square"])(3.0) == 54.0

    class Scale:
        factor = 3.0

        @primitive
        def times(self, x: Any) -> Any:
            return self.factor * np.asarray(x)

    defvjp(Scale.times, None, lambda ans, self, x: lambda g: self.factor * g)
    assert grad(lambda x: Scale().times(x) * x)(2.0) == 12.0


def test_sparse_vectors() -> None:
    @primitive
    def take(x: Any, index: Any) -> Any:
        return x[index]

    @primitive
    def untake(g: Any, index: Any, space: Any) -> Any:
        def add(x: Any) -> Any:
            np.add.at(x, index, g)
            return x

        return SparseObject(space, add)

    defvjp(take, lambda ans, x, index: lambda g: untake(g, index, vspace(x)))
    defvjp(untake, lambda ans, g, index, space: lambda h: take(h, index))
    index = np.array([0, 0, 2])
    np.testing.assert_allclose(grad(lambda x: anp.sum(take(x, index) ** 2))(X), [4 * X[0], 0, 2 * X[2]])
    np.testing.assert_allclose(
        hessian(lambda x: anp.sum(take(x, index) ** 3))(X), np.diag([12 * X[0], 0, 6 * X[2]])
    )


def test_a_wrong_rule_raises() -> None:
    wrong = primitive(np.sum)
    defvjp(wrong, lambda ans, x: lambda g: g * np.ones(2))
    with pytest.raises(ShapeError, match="cotangent"):
        grad(wrong)(X)
    defvjp(wrong, lambda ans, x: lambda g: g)  # one number stands for all
    np.testing.assert_allclose(grad(wrong)(X), np.ones(3))
    false = primitive(np.sin)
    defvjp(false, lambda ans, x: lambda g: g * anp.sin(x))
    with pytest.raises(AssertionError):
        check_grads(false, modes=["rev"], order=1)(1.0)


def test_functions_of_numpy_may_have_rules() -> None:
    """Each function of the namespace is a primitive; a rule of the user's replaces Wengert's."""
    assert anp.log2.__name__ == "log2"
    assert anp.add.reduce(X) == np.add.reduce(X)
    assert pickle.loads(pickle.dumps(anp.exp2)) is anp.exp2
    assert copy.deepcopy(logsumexp) is not None
    try:
        defvjp(anp.exp2, lambda ans, x: lambda g: 10.0 * g)
        assert grad(anp.exp2)(1.0) == 10.0
    finally:
        anp.exp2.is_followed = True
    np.testing.assert_allclose(grad(anp.exp2)(1.0), 2 * np.log(2.0))


def test_other_transforms_take_primitives() -> None:
    np.testing.assert_allclose(wg.grad(logsumexp)(X), grad(logsumexp)(X))
    np.testing.assert_allclose(wg.vmap(lambda y: scaled(X, y))(np.ones(2)), [X, X])
    np.testing.assert_allclose(wg.hessian(lambda y: anp.sum(scaled(X, y, 3)))(2.0), 12 * np.sum(X))


def test_questions_about_boxes() -> None:
    seen: list[Any] = []

    def function(params: Any) -> Any:
        x = params["x"]
        seen.extend([isbox(x), isbox(1.0), isinstance(x, ArrayBox), isinstance(X, ArrayBox)])
        seen.extend(
            [isinstance(params, DictBox), isinstance([x], SequenceBox), isinstance([1.0], SequenceBox)]
        )
        seen.extend([type_of(x) is np.ndarray, is_instance(x, np.ndarray), is_instance(params, dict)])
        seen.extend([type_of(1.0) is float, isbox(anp.zeros(2)), type(x._value) is np.ndarray])
        getval(params)["x"][0] = 5.0  # a copy
        return anp.sum(x * getval(x))

    np.testing.assert_allclose(grad(function)({"x": X})["x"], X)
    assert seen == [True, False, True, False, True, True, False, True, True, True, True, False, True]
    assert grad(lambda x: x * notrace_primitive(round)(x))(2.7) == 3.0
    step = primitive(np.floor)
    register_notrace(None, step)
    assert grad(lambda x: x * step(x))(2.5) == 2.0
    with pytest.raises(ConcreteError, match="getval"):
        wg.vmap(lambda x: x * getval(x))(X)


def test_vector_spaces() -> None:
    space = vspace({"w": X, "z": [1.0 + 1.0j]})
    assert space.size == 5
    assert len(list(space.standard_basis())) == 5
    assert space == vspace({"w": 2 * X, "z": [1.0j]}) != vspace(X)
    np.testing.assert_allclose(space.zeros()["w"], 0 * X)
    assert vspace(1.0j).ones() == 1 + 1j
    assert vspace(1.0j).covector(1.0j) == -1.0j
    assert vspace(1.0j).inner_prod(1.0j, 2.0j) == 2.0
    np.testing.assert_allclose(vspace(X).add(X, vspace(X).scalar_mul(X, 2.0)), 3 * X)
    assert vspace(X).randn().shape == X.shape

    class Own(VSpace):
        pass

    class Leaf(np.ndarray):
        pass

    Own.register(Leaf)
    assert isinstance(vspace(X.view(Leaf)), Own)
    VSpace.mappings.clear()


def test_helpers_of_rules() -> None:
    np.testing.assert_allclose(unbroadcast_f(1.0, lambda g: g)(np.ones((2, 3))), 6.0)
    np.testing.assert_allclose(
        unbroadcast_f(np.ones((2, 1)), lambda g: 1j * g + 2)(np.ones((2, 3))), [[6], [6]]
    )
    np.testing.assert_allclose(replace_zero(np.array([0.0, 2.0]), 1.0), [1, 2])
    np.testing.assert_allclose(balanced_eq(np.array([1.0, 2.0]), 2.0, np.array([2.0, 2.0])), [0, 0.5])
    pull, value = core.make_vjp(lambda x: x**2, 3.0)
    assert (pull(1.0), value, core.make_jvp(lambda x: x**2, 3.0)(1.0)[1]) == (6.0, 9.0, 6.0)
    np.testing.assert_allclose(
        elementwise_grad(lambda x: replace_zero(x, 1.0) * x)(np.array([0.0, 2.0])), [1, 4]
    )
