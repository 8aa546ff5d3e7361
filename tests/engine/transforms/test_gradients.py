"""`grad`, `value_and_grad` and `vjp`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.transforms.containers import TREE, Frozen, Layer, Pair, program
from wengert.engine.boxes import inside_transform
from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, DtypeError, LeakError, ShapeError, WengertError
from wengert.engine.core.shapes import shape_of

Array = np.ndarray[Any, Any]


def kinds(value: Any) -> list[tuple[type, Any, Any]]:
    return [(type(leaf), shape_of(leaf), dtype_of(leaf)) for leaf in tree.leaves(value)]


# -- containers ------------------------------------------------------------------------------------------


def test_a_gradient_has_the_containers_of_its_argument() -> None:
    gradient = wg.grad(program)(TREE)
    assert tree.flatten(gradient)[1] == tree.flatten(TREE)[1]
    assert kinds(gradient) == kinds(TREE)
    assert isinstance(gradient["named"], Pair)
    assert isinstance(gradient["layer"], Layer)
    assert gradient["layer"].power == 2
    assert isinstance(gradient["frozen"], Frozen)
    assert gradient["list"][1] == 0.0
    wg.check_grads(program, (TREE,), order=1)


def test_derivatives_agree_with_the_flat_program() -> None:
    leaves, structure = tree.flatten(TREE)
    flat = wg.grad(lambda leaves: program(tree.unflatten(structure, leaves)))(leaves)
    for item, other in zip(flat, tree.leaves(wg.grad(program)(TREE)), strict=True):
        np.testing.assert_array_equal(item, other)


def power_sum(a: Any, b: Any, c: Any, *, scale: float = 1.0, shift: Any = 0.0) -> Any:
    return scale * (a * b**2 + np.sum(c)) + shift * a


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [
        (0, 9.0),
        (-2, 12.0),
        ((0,), (9.0,)),
        ((1, 0), (12.0, 9.0)),
        ([0, -1], (9.0, np.ones(2))),
        (np.int64(1), 12.0),
    ],
)
def test_argnums(argnums: Any, expected: Any) -> None:
    arguments = (2.0, 3.0, np.zeros(2))
    actual = wg.grad(power_sum, argnums)(*arguments)
    assert type(actual) is type(expected)
    for item, other in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(item, other)
    value, again = wg.value_and_grad(power_sum, argnums=argnums)(*arguments)
    assert value == 18.0
    assert tree.flatten(again)[1] == tree.flatten(actual)[1]


def test_keyword_arguments_pass_through() -> None:
    assert wg.grad(power_sum)(2.0, 3.0, np.zeros(2), scale=10.0, shift=1.0) == 91.0
    assert wg.grad(power_sum)(2.0, 3.0, c=np.zeros(2)) == 9.0


def test_aux_comes_along() -> None:
    def loss(w: Any) -> Any:
        hidden = w * 2.0
        return np.sum(hidden**2), {"hidden": hidden, "name": "loss", "count": 3, "nothing": None}

    w = np.array([1.0, 2.0])
    (value, aux), gradient = wg.value_and_grad(loss, has_aux=True)(w)
    assert value == 20.0
    np.testing.assert_array_equal(gradient, [8.0, 16.0])
    np.testing.assert_array_equal(aux["hidden"], [2.0, 4.0])
    assert type(aux["hidden"]) is np.ndarray
    assert (aux["name"], aux["count"], aux["nothing"]) == ("loss", 3, None)
    again, aux = wg.grad(loss, has_aux=True)(w)
    np.testing.assert_array_equal(again, gradient)
    _, pullback, aux = wg.vjp(loss, w, has_aux=True)
    np.testing.assert_array_equal(pullback(1.0)[0], gradient)
    np.testing.assert_array_equal(aux["hidden"], [2.0, 4.0])


@pytest.mark.parametrize("transform", [wg.value_and_grad, wg.jacfwd, wg.jacrev])
def test_views_come_out_as_they_are_at_the_end(transform: Callable[..., Any]) -> None:
    def function(x: Any) -> Any:
        y = x * 1.0
        view = y[:2]
        y[0] = 7.0
        return np.sum(view), view

    result = transform(function, has_aux=True)(np.ones(3))
    aux = result[0][1] if transform is wg.value_and_grad else result[1]
    np.testing.assert_array_equal(aux, [7.0, 1.0])


def test_names_say_what_was_transformed() -> None:
    assert wg.grad(power_sum).__name__ == "grad(power_sum)"
    assert wg.vmap(wg.grad(power_sum)).__name__ == "vmap(grad(power_sum))"


# -- kinds of values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (0,), (1, 0)])
def test_dtypes_and_shapes_are_kept(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.5, dtype)
    value, gradient = wg.value_and_grad(lambda x: np.sum(np.sin(x) * 2.0 + x**2))(x)
    assert type(gradient) is np.ndarray
    assert (gradient.shape, gradient.dtype, dtype_of(value)) == (shape, x.dtype, x.dtype)
    for function in (
        lambda x: x * x,
        lambda x: np.sum(np.reshape(x, (1, 1))),
        lambda x: 1.0 * np.float32(2.0),
    ):
        assert type(wg.grad(function)(np.dtype(dtype).type(0.5))) is np.dtype(dtype).type


def test_python_floats_give_python_floats() -> None:
    value, gradient = wg.value_and_grad(lambda x, y: x * y + 1)(2.0, 3.0)
    assert (type(value), type(gradient)) == (float, float)
    mixed = wg.grad(lambda a, x: np.sum(a * x), (0, 1))(2.0, np.ones(3, np.float32))
    assert kinds(mixed) == [(float, (), np.float64), (np.ndarray, (3,), np.float32)]
    _, pullback = wg.vjp(lambda x: {"y": x * 2.0}, 1.5)
    assert pullback({"y": 3}) == (6.0,)


def test_other_byte_orders_and_memory_maps(tmp_path: Any) -> None:
    for x in (np.arange(3.0).astype(">f8"), np.memmap(tmp_path / "x", float, "w+", shape=3)):
        x[...] = [1.0, 2.0, 3.0]
        np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x * x))(x), [2.0, 4.0, 6.0])


def test_what_the_output_does_not_depend_on_has_zero_derivative() -> None:
    def constant(x: Any, y: Any) -> Any:
        return {"a": np.sum(y), "b": 3.0, "c": np.ones(2), "d": np.argmax(x)}

    x, y = np.ones(3, np.float32), 2.0
    output, pullback = wg.vjp(constant, x, y)
    cotangents = pullback({"a": 1.0, "b": 1.0, "c": np.ones(2), "d": 0})
    np.testing.assert_array_equal(cotangents[0], np.zeros(3))
    assert kinds(cotangents) == kinds((x, y))
    assert kinds(output) == kinds(constant(x, y))
    assert wg.grad(lambda x: 1.0)(2.0) == 0.0
    assert kinds(wg.grad(lambda x: np.float64(1.0))(x)) == kinds(x)


# -- memory ----------------------------------------------------------------------------------------------


def assert_own_memory(values: Any, *others: Any) -> None:
    arrays = [leaf for leaf in tree.leaves(values) if isinstance(leaf, np.ndarray)]
    assert arrays
    for position, array in enumerate(arrays):
        assert array.flags.writeable
        for other in (*arrays[:position], *tree.leaves(others)):
            assert not np.shares_memory(array, other)


LINEAR: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x,
    lambda x, y: x + y,
    lambda x, y: np.reshape(x, (4, 1)).T[0] - y,
    lambda x, y: np.broadcast_to(x, (4,)) + y[::-1],
    lambda x, y: np.concatenate([x[:2], y[2:]]),
    lambda x, y: +x + wg.stop_gradient(y),
]


@pytest.mark.parametrize("function", LINEAR)
def test_derivatives_own_their_memory(function: Callable[[Any, Any], Any]) -> None:
    x, y, v = np.arange(4.0), np.ones(4), np.full(4, 2.0)
    output, pullback = wg.vjp(function, x, y)
    first, second = pullback(v), pullback(v)
    assert_own_memory((first, second), x, y, v, output)
    assert_own_memory(wg.jvp(function, (x, y), (v, v))[1], x, y, v)
    _, linear = wg.linearize(function, x, y)
    assert_own_memory((linear(v, v), linear(v, v)), x, y, v)
    assert_own_memory(wg.grad(lambda x, y: np.sum(function(x, y)), (0, 1))(x, y), x, y)
    assert_own_memory(wg.jacrev(function, (0, 1))(x, y), x, y)
    assert_own_memory(wg.jacfwd(function, (0, 1))(x, y), x, y)
    assert_own_memory(wg.hvp(lambda x: 0.5 * np.sum(x * x))(x, v), x, v)


@pytest.mark.parametrize("combine", [np.multiply, np.divide, np.arctan2, np.power, np.matmul, np.hypot])
def test_plain_arrays_may_change_after_they_were_used(combine: Any) -> None:
    def function(x: Any) -> Any:
        buffer = np.array([1.0, 2.0])
        total = combine(x, buffer)
        buffer[:] = 100.0
        total = total + combine(buffer, x)
        buffer[:] = -7.0
        return np.sum(total)

    def expected(x: Any) -> Any:
        return np.sum(combine(x, np.array([1.0, 2.0])) + combine(np.full(2, 100.0), x))

    x = np.array([0.5, 1.5])
    for gradient in (wg.grad, wg.jacfwd, lambda f: lambda x: wg.linearize(f, x)[1]):
        actual, wanted = gradient(function)(x), gradient(expected)(x)
        if callable(actual):
            actual, wanted = actual(x), wanted(x)
        np.testing.assert_allclose(actual, wanted)


def test_index_arrays_and_masks_may_change_after_they_were_used() -> None:
    def function(x: Any) -> Any:
        index, mask = np.array([0, 0, 2]), np.array([True, False, True])
        taken, chosen = x[index] * 2.0, np.where(mask, x, 0.0)
        index[:], mask[:] = 1, False
        return np.sum(taken) + np.sum(chosen)

    np.testing.assert_array_equal(wg.grad(function)(np.ones(3)), [5.0, 0.0, 3.0])


def test_arguments_and_outputs_may_change_before_the_pullback() -> None:
    x = np.array([1.0, 2.0])
    output, pullback, aux = wg.vjp(lambda x: ((y := np.exp(x)), y * x), x, has_aux=True)
    expected = np.exp(x)
    for array in (x, output, aux):
        array[:] = 0.0
    np.testing.assert_array_equal(pullback(np.ones(2))[0], expected)

    x = np.array([1.0, 2.0])
    output, linear = wg.linearize(np.exp, x)
    x[:] = output[:] = 0.0
    np.testing.assert_array_equal(linear(np.ones(2)), expected)


def test_what_stop_gradient_gives_may_change() -> None:
    def function(x: Any) -> Any:
        y = np.exp(x)
        wg.stop_gradient(x)[:] = 7.0
        wg.stop_gradient(y)[:] = 7.0
        return np.sum(y * x)

    x = np.array([0.5, 1.5])
    for gradient in (wg.grad, wg.jacfwd):
        np.testing.assert_allclose(gradient(function)(x), np.exp(x) * (1 + x), rtol=1e-15)
    np.testing.assert_array_equal(x, [0.5, 1.5])


# -- what is refused -------------------------------------------------------------------------------------


class Metres(np.ndarray[Any, Any]):
    """A subclass of arrays, perhaps with other operators."""


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        (2, "write 2.0 for 2"),
        (True, "floating-point"),
        (np.arange(3), "x.astype(float)"),
        (np.array([True]), "got bool[1]"),
        ([1.0, 2], "got an integer"),
        (np.ones(2, np.longdouble), "write x.astype(np.float64)"),
        (np.ones(2, np.clongdouble), "write x.astype(np.complex128)"),
        (np.array([1.0], object), "got object"),
        ("text", "got str"),
        (np.ma.array([1.0]), "got MaskedArray"),
        (np.ones(2).view(Metres), "got Metres"),
    ],
)
@pytest.mark.parametrize("transform", [wg.grad, wg.jacfwd, wg.jacrev, wg.hessian])
def test_arguments_without_derivatives(transform: Callable[..., Any], argument: Any, says: str) -> None:
    with pytest.raises(DtypeError) as caught:
        transform(lambda x: 0.0)(argument)
    assert says in str(caught.value)
    assert "[test_gradients.py:" in str(caught.value)


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (lambda x: x, "got f64[3]; reduce it"),
        (lambda x: x[:, None], "got f64[3,1]; reduce it"),
        (lambda x: x[:0], "got f64[0]; reduce it"),
        (lambda x: x[:1] > 0, "got bool[1]; only floating-point values"),
        (lambda x: [np.sum(x)], "got a list of 1"),
        (lambda x: (np.sum(x), 1.0), "has_aux=True"),
        (lambda x: None, "got None"),
        (lambda x: "loss", "got str"),
        (lambda x: 1, "got an integer"),
        (lambda x: np.argmax(x), "got i64[]"),
        (lambda x: x[0] > 0, "got bool[]"),
    ],
)
def test_outputs_that_are_not_numbers(output: Callable[[Any], Any], says: str) -> None:
    for transform in (wg.grad, wg.value_and_grad, wg.hvp):
        arguments = (np.ones(3),) * (2 if transform is wg.hvp else 1)
        with pytest.raises((ArgumentError, DtypeError)) as caught:
            transform(output)(*arguments)
        assert says in str(caught.value)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("compiled", [lambda f: f, wg.jit])
def test_one_element_is_one_number_of_any_shape(shape: Any, dtype: Any, compiled: Any) -> None:
    def function(x: Any) -> Any:
        return np.reshape(np.sum(x**3), shape)

    x = np.array([1.0, 2.0], dtype)
    value, gradient = compiled(wg.value_and_grad(function))(x)
    assert (shape_of(value), dtype_of(value)) == (shape, dtype)
    np.testing.assert_array_equal(value, function(x))
    np.testing.assert_array_equal(gradient, 3 * x**2)
    assert gradient.dtype == dtype
    np.testing.assert_array_equal(compiled(wg.grad(function))(x), gradient)
    np.testing.assert_array_equal(compiled(wg.hvp(function))(x, x), 6 * x**2)
    loss, aux = compiled(wg.value_and_grad(lambda x: (function(x), x[0]), has_aux=True))(x)[0]
    assert (shape_of(loss), aux) == (shape, 1.0)


def test_a_value_of_one_element_has_its_own_memory() -> None:
    x = np.ones(1)
    value, gradient = wg.value_and_grad(lambda x: x)(x)
    assert_own_memory([value, gradient], x)


@pytest.mark.parametrize(
    ("argnums", "says"),
    [
        (1, "one of the 1 positional arguments; got 1"),
        (-2, "got -2"),
        ((0, 0), "each argument once"),
        ((0, -1), "each argument once"),
        ("x", "an integer or a tuple of integers; got 'x'"),
        (0.5, "got 0.5"),
    ],
)
def test_wrong_argnums(argnums: Any, says: str) -> None:
    for transform in (wg.grad, wg.jacfwd, wg.jacrev, wg.jacobian, wg.hessian):
        with pytest.raises(ArgumentError) as caught:
            transform(lambda x: x, argnums=argnums)(1.0)
        assert says in str(caught.value)


def test_wrong_aux() -> None:
    with pytest.raises(ArgumentError, match=r"must return \(output, aux\)"):
        wg.grad(lambda x: x, has_aux=True)(1.0)


def test_wrong_cotangents() -> None:
    _, pullback = wg.vjp(lambda x: {"y": x * x}, np.ones(3))
    with pytest.raises(ShapeError, match=r"shape of the output; got f64\[2\], f64\[3\]"):
        pullback({"y": np.ones(2)})
    with pytest.raises(ArgumentError, match=r"structure \{'y': \*\}; got \{'z': \*\}"):
        pullback({"z": np.ones(3)})
    for wrong in (np.full(3, 1j), np.array(["a"] * 3), np.array([None] * 3)):
        with pytest.raises(DtypeError):
            pullback({"y": wrong})


# -- what goes wrong, and what runs at the same time -----------------------------------------------------


class UsersOwnError(Exception):
    pass


def test_exceptions_leave_everything_usable() -> None:
    def failing(x: Any) -> Any:
        raise UsersOwnError(x * 2.0)

    for transform in (wg.grad, wg.jacfwd, wg.jacrev, wg.vmap, wg.trace, wg.derivative):
        with pytest.raises(UsersOwnError):
            transform(failing)(np.float64(1.0) if transform is wg.derivative else np.ones(3))
    with pytest.raises(UsersOwnError):
        wg.vmap(wg.grad(lambda x: wg.jvp(failing, (x,), (1.0,))[1]))(np.ones(3))
    assert not inside_transform()
    assert wg.grad(lambda x: wg.grad(lambda y: y**3 * x)(x))(2.0) == 36.0


LEAKY: list[Callable[[Callable[[Any], Any]], Any]] = [
    lambda keep: wg.grad(keep)(1.5),
    lambda keep: wg.jvp(keep, (1.5,), (1.0,)),
    lambda keep: wg.vmap(keep)(np.ones(3)),
    lambda keep: wg.linearize(keep, 1.5),
    lambda keep: wg.jacfwd(wg.grad(keep))(1.5),
    lambda keep: wg.trace(keep)(1.5),
]


@pytest.mark.parametrize("leak", LEAKY)
def test_values_that_outlive_their_transform(leak: Callable[..., Any]) -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x * 2.0)
        return x * x

    leak(keep)
    repr(kept[0])
    uses: list[Callable[[], Any]] = [
        lambda: kept[0] + 1.0,
        lambda: np.sin(kept[0]),
        lambda: wg.grad(lambda x: x * kept[0])(1.0),
        lambda: wg.grad(lambda x: kept[0])(1.0),
        lambda: wg.jvp(lambda x: kept[0], (1.0,), (1.0,)),
        lambda: wg.vmap(lambda x: x + kept[0])(np.ones(2)),
        lambda: wg.trace(lambda x: x + kept[0])(1.0),
    ]
    for use in uses:
        with pytest.raises(LeakError) as caught:
            use()
        assert "has ended" in str(caught.value)
        assert isinstance(caught.value, RuntimeError)
        assert isinstance(caught.value, WengertError)


def test_threads_do_not_disturb_one_another() -> None:
    failures: list[BaseException] = []
    together = threading.Barrier(4)

    def work(seed: int) -> None:
        try:
            x = np.random.default_rng(seed).uniform(0.5, 1.5, 5)
            third = wg.grad(lambda y: np.sum(wg.grad(lambda x: np.sum(x**4))(y) * y))
            together.wait()
            for _ in range(40):
                np.testing.assert_allclose(third(x), 16 * x**3, rtol=1e-12)
                np.testing.assert_allclose(wg.vmap(wg.grad(lambda x: x**3))(x), 3 * x**2, rtol=1e-12)
                assert not inside_transform()
        except BaseException as problem:
            failures.append(problem)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("transform", [wg.grad, wg.value_and_grad])
def test_errors_have_the_name_of_the_transform(transform: Any) -> None:
    name = transform.__name__
    with pytest.raises(ValueError, match=f"^{name}: argnums must name"):
        transform(lambda x: x)(x=1.0)
    with pytest.raises(TypeError, match=f"^{name}: derivatives need floating-point"):
        transform(lambda x: x)(1)
    with pytest.raises(ValueError, match=f"^{name}: "):
        transform(lambda x: x * np.ones(2))(1.0)
