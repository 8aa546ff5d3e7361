"""Errors of new users: a lost derivative raises an error with the user's line and a remedy."""

from __future__ import annotations

import collections
import dataclasses
import fractions
import math
import pickle
import struct
import traceback

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ConcreteError

PLAIN = np.zeros(2)


def write(x):
    PLAIN[0] = x[0]
    return x[0]


def add_to(x):
    total = np.zeros(2)
    total += x
    return total.sum()


LOST = {
    "math": (lambda x: math.sin(x[0]), "np.sin for math.sin"),
    "float": (lambda x: float(x[0]), "wg.stop_gradient"),
    "item": (lambda x: x[0].item(), "wg.stop_gradient"),
    "tolist": (lambda x: x.tolist()[0], "wg.stop_gradient"),
    "int": (lambda x: int(x[0]) * x[0], "wg.stop_gradient"),
    "array": (lambda x: np.array([x[0], x[1]]).sum(), "wengert.numpy.array"),
    "asarray": (lambda x: np.asarray(x).sum(), "wengert.numpy.asarray"),
    "list": (lambda x: np.sum([x[0], x[1]]), "np.stack"),
    "full": (lambda x: np.full(3, x[0]).sum(), "wengert.numpy"),
    "write": (write, "wengert.numpy.zeros"),
    "in place": (add_to, "wengert.numpy.zeros"),
    "out": (lambda x: np.add(x, 1.0, out=np.zeros(2)).sum(), "wengert.numpy.zeros"),
    "copyto": (lambda x: (np.copyto(PLAIN, x), x[0])[1], "wengert.numpy.zeros"),
    "add.at": (lambda x: (np.add.at(PLAIN, [0], x[0]), x[0])[1], "wengert.numpy.zeros"),
}


@pytest.mark.parametrize("name", LOST)
@pytest.mark.parametrize(
    "transform", [wg.grad, lambda f: lambda x: wg.jvp(f, (x,), (x,))], ids=["grad", "jvp"]
)
@pytest.mark.usefixtures("without_substitutes")
def test_a_lost_derivative_raises(transform, name):
    program, remedy = LOST[name]
    with pytest.raises(TypeError) as caught:
        transform(program)(np.array([1.5, 2.5]))
    assert isinstance(caught.value, wg.WengertError)
    assert remedy in str(caught.value)
    assert "test_what_users_meet.py:" in str(caught.value)


UNSUPPORTED = {
    r"abs \(vectorized\)": lambda x: np.frompyfunc(abs, 1, 1)(x).sum(),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_functions_without_a_derivative_are_named_in_full(name):
    with pytest.raises(TypeError, match=rf"^{name}: .*wg\.custom_vjp"):
        wg.grad(UNSUPPORTED[name])(np.ones(2))


SCIPYS = {
    "logsumexp": "SciPy computes with plain arrays: write wengert.special.logsumexp. ",
    "softmax": "SciPy computes with plain arrays: write wengert.special.softmax. ",
    "factorial": r"SciPy computes with plain arrays in scipy\.special\.factorial: write it with operators",
}


@pytest.mark.usefixtures("without_substitutes")
@pytest.mark.parametrize("name", SCIPYS)
@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
def test_functions_of_scipys_name_the_counterpart(name, transform):
    function = getattr(pytest.importorskip("scipy.special"), name)
    with pytest.raises(TypeError, match=rf"{SCIPYS[name]}.*\[test_what_users_meet.py:\d+( \(scipy/.*\))?\]$"):
        transform(lambda x: np.sum(function(x)))(np.ones(2))


@pytest.mark.usefixtures("without_substitutes")
def test_functions_of_scipys_that_are_the_whole_program_name_wengerts():
    linalg = pytest.importorskip("scipy.linalg")
    with pytest.raises(
        TypeError, match=r"SciPy computes with plain arrays: write wengert\.scipy\.linalg\.det\. \[test_what"
    ):
        wg.grad(linalg.det)(np.eye(2))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.abs(1j * x),
        lambda x: np.abs(np.array([1j]) * x).sum(),
        lambda x: np.abs(np.concatenate([np.array([1j]), np.stack([x])])).sum(),
        lambda x: np.abs(np.where(np.array([True]), x, 1j)).sum(),
    ],
)
@pytest.mark.parametrize("transform", [wg.grad, wg.derivative])
def test_complex_values_between_real_ones(transform, program):
    assert transform(program)(2.0) == 1.0


@pytest.mark.parametrize("value", [None, "1", {}, object()])
def test_operands_that_are_not_numbers_are_named(value):
    with pytest.raises(TypeError, match=f"operand: .* got {type(value).__name__}"):
        wg.grad(lambda x: x + value)(1.0)


def test_only_the_error_that_explains_is_shown():
    with pytest.raises(ValueError, match="add: operands must broadcast") as caught:
        wg.grad(lambda x: np.sum(x + np.ones(4)))(np.ones(3))
    assert "During handling" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("function", [np.sqrt, np.cbrt, lambda x: x**0.5])
def test_an_infinite_slope_is_infinite_for_python_numbers_too(function):
    assert wg.grad(function)(0.0) == np.inf
    assert wg.derivative(function)(0.0) == np.inf
    assert wg.grad(lambda x: np.where(x > 0, function(x), 0.0))(0.0) == 0


def test_mistakes_in_calls():
    with pytest.raises(ValueError, match="arguments by position"):
        wg.grad(lambda x: x)(x=1.0)
    with pytest.raises(ValueError, match=r"write hvp\(f\)\(x, v\)"):
        wg.hvp(lambda x: x)(1.0)
    with pytest.raises(ValueError, match="in_axes=None"):
        wg.vmap(lambda x, y: x * y)(np.ones(2), 1.0)
    with pytest.raises(ValueError, match=r"got \[2, 3\] in f64\[3\], f64\[2\]"):
        wg.vmap(lambda w, x, y: w * x * y, in_axes=(None, 0, 0))(np.ones(4), np.ones(3), np.ones(2))
    with pytest.raises(ValueError, match="got an integer"):
        wg.grad(lambda x: 1)(1.0)


def test_a_container_comes_back_as_it_was():
    given = collections.defaultdict(list, a=3.0)
    gradient = wg.grad(lambda p: p["a"] ** 2)(given)
    assert gradient == {"a": 6.0}
    assert gradient.default_factory is list


def test_trace_is_the_function_whatever_was_imported():
    import wengert.numpy  # noqa: F401
    from wengert.engine.boxes import Box

    assert not isinstance(wg.trace, type(np))
    assert str(wg.trace(np.sin)(1.0)).startswith("graph(")
    assert isinstance(Box, type)


def test_a_variable_is_updated_in_place_while_nothing_is_recorded():
    scalar, array = wg.Variable(2.0), wg.Variable(np.array([1.0, 2.0]))
    (scalar * array.sum()).backward()
    with wg.no_grad():
        scalar -= 0.5 * scalar.grad
        array -= 0.5 * array.grad
        array[0] = 7.0
    assert (scalar.value, array.value.tolist()) == (0.5, [7.0, 1.0])
    for variable in (scalar, array):
        variable.zero_grad()
    (scalar * array.sum()).backward()
    assert (scalar.grad, array.grad.tolist()) == (8.0, [0.5, 0.5])
    scalar.update(2 * scalar)
    assert scalar.value == 1.0


@pytest.mark.parametrize(
    "transform", [wg.grad, wg.value_and_grad, wg.vmap, wg.jacobian, wg.hessian, wg.hvp, wg.hessp, wg.gnvp]
)
def test_only_functions_are_transformed(transform):
    name = transform.__name__
    with pytest.raises(TypeError, match=rf"{name}: a function is needed; got float64; write wg\.{name}\(f\)"):
        transform(np.sin(1.0))


def test_pickling_inside_a_transform_raises():
    with pytest.raises(TypeError, match="pickle: the derivative would be lost"):
        wg.grad(lambda x: np.sum(pickle.loads(pickle.dumps(x)) ** 2))(np.ones(3))


@pytest.mark.parametrize("value", [lambda x: x[0], lambda x: x])
@pytest.mark.usefixtures("without_substitutes")
def test_writing_into_a_plain_array_inside_jit_names_the_array_to_make(value):
    def function(x):
        result = np.zeros(3)
        result[0] = value(x)
        return result

    with pytest.raises(ConcreteError, match=r"wengert\.numpy\.zeros.* \[test_what_users_meet.py:\d+\]"):
        wg.jit(function)(np.ones(3))


@pytest.mark.usefixtures("without_substitutes")
def test_filling_with_a_traced_value_names_the_function_that_does():
    with pytest.raises(ConcreteError, match=r"write wengert\.numpy\.full for a value"):
        wg.jit(lambda x: np.full(3, x))(1.0)


@pytest.mark.parametrize("transform", [lambda f: f, wg.grad, wg.jit])
def test_a_jitter_is_found_by_trying(transform):
    def smallest(scale):
        for jitter in (0.0, 1e-6, 2.0):
            try:
                return np.sum(np.linalg.cholesky(scale * np.ones((3, 3)) - np.eye(3) + jitter * np.eye(3)))
            except np.linalg.LinAlgError:
                continue
        raise AssertionError

    if transform is wg.jit:  # runs long after the function returned
        with pytest.raises(
            np.linalg.LinAlgError, match=r"cholesky: .*; got f64\[3,3\]\. \[test_what_users_meet"
        ):
            transform(smallest)(1.0)
    else:
        assert np.isfinite(transform(smallest)(1.0))


def test_the_leaf_that_has_no_derivative_is_named():
    with pytest.raises(
        TypeError, match=r"got an integer in argument 0\[1\]\['n'\]; .*; keep values .*wengert\.tree\.static"
    ):
        wg.grad(lambda p: p[0])([1.0, {"n": 3}])


def test_the_argument_that_has_no_derivative_is_named_by_its_own_position():
    def product(a, b, c):
        return a * b * c

    named = r"got an integer in argument 2; .* or choose other argnums\. \[test_what"
    for argnums in (2, -1, (1, 2), (2, 0)):
        for transform in (wg.grad, wg.jacfwd, wg.hessian):
            with pytest.raises(TypeError, match=named):
                transform(product, argnums=argnums)(1.0, 2.0, 3)
    with pytest.raises(TypeError, match=named):
        wg.vjp(product, 1.0, 2.0, 3)
    with pytest.raises(
        TypeError, match=r"got str in argument 2\['w'\]; let the function take it from outside"
    ):
        wg.grad(product, argnums=(0, 2))(1.0, 2.0, {"w": "a name"})


@dataclasses.dataclass
class Named:
    weights: np.ndarray
    name: str


@dataclasses.dataclass
class Declared(Named):
    name: str = wg.tree.static()


@pytest.mark.parametrize("transform", [wg.grad, wg.jit, wg.vmap, wg.value_and_grad])
def test_a_text_in_an_argument_is_declared_as_a_setting(transform):
    program = transform(lambda model: np.sum(model.weights**2))
    with pytest.raises(
        (TypeError, ValueError), match=r"declare the field .* as a setting: wg\.tree\.static\(\)"
    ):
        program(Named(np.ones(2), "a name"))
    program(Declared(np.ones(2), "a name"))


@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
def test_errors_of_functions_written_in_c(transform):
    with pytest.raises(
        TypeError, match=r"not Array: the call takes no value inside a transform; compute it outside"
    ):
        transform(lambda x: x * len(bytes.fromhex(x)))(1.0)


@pytest.mark.parametrize(
    ("function", "instead"),
    [
        (lambda linalg, x: linalg.cholesky(x), "wengert.scipy.linalg.cholesky"),
        (lambda linalg, x: linalg.solve_triangular(x, np.ones(3)), "wengert.scipy.linalg.solve_triangular"),
    ],
)
@pytest.mark.usefixtures("without_substitutes")
def test_functions_of_scipys_linear_algebra_name_wengerts(function, instead):
    linalg = pytest.importorskip("scipy.linalg")
    with pytest.raises(TypeError, match=rf"write {instead}\."):
        wg.grad(lambda x: np.sum(function(linalg, x)))(np.eye(3))


@pytest.mark.parametrize(
    ("program", "kind", "said"),
    [
        (
            lambda x: x.at[0].set(1.0),
            AttributeError,
            r"at: an array inside a transform has no such attribute; write x\[i\] = v",
        ),
        (lambda x: x.detach(), AttributeError, r"write wg\.stop_gradient\(x\)"),
        (lambda x: x.shap, AttributeError, r"no attribute 'shap'"),
        (lambda x: x.resize(2), AttributeError, r"resize: .*; write y = x\[:n\].*\[test_what"),
        (
            lambda x: setattr(x, "shape", (3, 1)),
            AttributeError,
            r"shape=: .*; write y = y\.reshape.*\[test_what",
        ),
        (lambda x: setattr(x, "dtype", int), AttributeError, r"dtype=: .*; write y = y\.astype.*\[test_what"),
        (lambda x: fractions.Fraction(x[0]), wg.WengertError, r"Rational.*wg\.stop_gradient.*\[test_what"),
        (lambda x: struct.pack("d", x[0]), wg.WengertError, r"float\(x\): .*\[test_what"),
        (
            lambda x: wg.cond(x[0] > 0, 1.0, x),
            TypeError,
            r"cond: two functions are needed; got float; write np\.where",
        ),
        (
            lambda x: wg.scan(lambda c, x: ((c, c), x), 0.0, x),
            ValueError,
            r"scan: the carry must keep the structure \*",
        ),
        (lambda x: np.sum(x * "1"), TypeError, "a number, an array or a sequence of them is required"),
    ],
)
@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
def test_habits_of_other_libraries(transform, program, kind, said):
    with pytest.raises(kind, match=said):
        transform(program)(np.ones(3))
    assert not hasattr(wg.trace(lambda x: x)(np.ones(3)), "detach")


class Metres(float):
    """A number of a class of the user's own."""


@pytest.mark.parametrize("number", [Metres(2.0), np.float64(2.0), 2.0])
def test_numbers_of_a_class_of_ones_own_are_the_numbers_they_are(number):
    assert wg.grad(lambda x: x**3)(number) == 12.0
    assert wg.value_and_grad(lambda x: x * number)(2.0) == (4.0, 2.0)
    assert wg.jvp(lambda x: x**3, (number,), (number,)) == (8.0, 24.0)
    assert wg.grad(lambda p: p["a"] ** 2)({"a": number}) == {"a": 4.0}
    assert wg.hessian(lambda x: x**3)(number) == 12.0
    assert wg.derivative(lambda x: x**3)(number) == 12.0
    assert wg.jit(wg.grad(lambda x: x**3))(number) == 12.0
    variable = wg.Variable(number)
    (variable * number).backward()
    assert variable.grad == 2.0
    with pytest.raises(TypeError, match="floating-point"):
        wg.grad(lambda x: x)(type("Count", (int,), {})(2))


@pytest.mark.parametrize("transform", [wg.grad, lambda f: lambda x: wg.jvp(f, (x,), (x,))[1]])
def test_constants_convert_to_numbers(transform):
    import wengert.numpy as wnp

    def program(x):
        scale = wnp.array(2.5)
        table = wnp.arange(3.0)
        assert (float(scale), int(scale), scale.item(), math.sqrt(table[1])) == (2.5, 2, 2.5, 1.0)
        assert (table.tolist(), table.item(2), table.tobytes()) == (
            [0.0, 1.0, 2.0],
            2.0,
            np.arange(3.0).tobytes(),
        )
        return float(scale) * x

    assert transform(program)(2.0) in (2.5, 5.0)

    def written(x):
        scale = wnp.array([2.5])
        scale[0] = x
        return scale[0].item()

    with pytest.raises(TypeError, match=r"item\(\): the derivative would be lost"):
        transform(written)(2.0)


@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
@pytest.mark.parametrize(
    ("program", "kind", "said"),
    [
        (
            lambda x: sum(np.nditer(x)),
            wg.WengertError,
            r"write operations on whole arrays, or x\[i\] for i in np\.nd",
        ),
        (lambda x: np.broadcast(x, x).shape, wg.WengertError, "write operations on whole arrays"),
        (
            lambda x: np.frombuffer(x).sum(),
            wg.WengertError,
            "bytes-like .* takes no value inside a transform",
        ),
        (
            lambda x: memoryview(x)[0],
            wg.WengertError,
            r"takes no value inside a transform; compute it outside, .*wg\.stop_gradient",
        ),
        (lambda x: np.from_dlpack(x), wg.WengertError, "from_dlpack: "),
        (lambda x: x.view(np.int64), TypeError, r"write x\.astype\(dtype\)"),
        (lambda x: x.data, AttributeError, r"use the memory of wg\.stop_gradient\(x\)"),
        (lambda x: x[np.uint64(2**64 - 1)], IndexError, "index 18446744073709551615 is out of bounds"),
        (lambda x: x[2**64 - 1], IndexError, "index 18446744073709551615 is out of bounds"),
        (lambda x: np.take(x, np.array([2**64 - 1], np.uint64)), IndexError, "out of bounds"),
        (lambda x: x.reshape((3,) + (1,) * 64), ValueError, "an array has at most 64 axes; got 65"),
        (lambda x: x[(None,) * 64], ValueError, "an array has at most 64 axes; got 65"),
        (lambda x: np.broadcast_to(x, (1,) * 64 + (3,)), ValueError, "an array has at most 64 axes; got 65"),
    ],
)
def test_what_boxes_are_not(transform, program, kind, said):
    with pytest.raises(kind, match=rf"{said}.*\[test_what_users_meet\.py:\d+\]$"):
        transform(program)(np.ones(3))


def added(x):
    y = x.copy()
    np.add.at(y, np.array([0, 2, 0]), 1.0)
    return y**2


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x**2,
        lambda x: x.T * np.full(x.shape[::-1], 3.0),
        lambda x: x[np.array([0, 2, 0])] ** 2,
        lambda x: x @ np.full((1, 1), 2.0),
        lambda x: np.max(x, axis=0),
        added,
    ],
)
def test_what_has_64_axes_is_an_array(function):
    def loss(rank):
        return lambda x: np.sum(function(np.reshape(x, (3,) + (1,) * (rank - 1))))

    x = np.array([1.0, 2.0, 4.0])
    expected = wg.grad(loss(3))(x)
    np.testing.assert_allclose(wg.grad(loss(64))(x), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.jit(wg.grad(loss(64)))(x), expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (1, 3), (3, 1), (0, 2), (2, 1, 3)])
def test_flags_are_those_of_rows_after_one_another(shape):
    def program(x):
        expected = np.zeros(shape).flags
        for name in ("c_contiguous", "f_contiguous", "fnc", "forc", "contiguous", "aligned", "writeable"):
            assert getattr(x.flags, name) == getattr(expected, name)
        assert np.isfortran(x) is np.isfortran(np.zeros(shape))
        return x

    for transform in (lambda f: lambda x: wg.vjp(f, x)[0], wg.jit):
        assert transform(program)(np.zeros(shape)).shape == shape


def get(x, i):
    return x[i]


def set_(x, i):
    y = x.copy()
    y[i] = 5.0
    return y


def add(x, i):
    y = x.copy()
    np.add.at(y, i, 1.0)
    return y


@pytest.mark.parametrize("use", [get, set_, add, np.take, lambda x, i: np.take_along_axis(x, i, 0)])
def test_positions_without_a_sign_do_not_come_round(use):
    x, inside, beyond = np.arange(3.0), np.array([2, 0], np.uint64), np.array([1, 2**64 - 1], np.uint64)
    np.testing.assert_array_equal(wg.jit(use)(x, inside), use(x.copy(), inside.astype(int)))
    for call in (wg.jit(use), lambda x, i: wg.vjp(lambda x: use(x, i), x)):
        with pytest.raises(IndexError, match="is out of bounds"):
            call(x, beyond)
