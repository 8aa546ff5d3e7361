"""`jit`: what a compiled function is called with, and what it gives back."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import assert_same, check, read_only, unaligned
from wengert.engine.core.errors import ArgumentError, ConcreteError, DtypeError, ShapeError
from wengert.engine.core.tree import static

X = np.linspace(-1.0, 1.0, 7)


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any
    name: str = static("dense")

    def __call__(self, x: Any) -> Any:
        return np.tanh(x @ self.weight + self.bias)


# -- containers ------------------------------------------------------------------------------------------


def test_containers_in_and_out() -> None:
    def function(layers: list[Layer], pair: Pair, options: Any) -> Any:
        x = pair.first
        for layer in layers:
            x = layer(x)
        return OrderedDict(z=x, a=Pair(x * options["scale"], None)), [layers[0].name, layers[0]]

    layers = [Layer(np.eye(3) * n, np.ones(3), f"layer{n}") for n in (1, 2)]
    found = check(function, layers, Pair(np.ones((2, 3)), ()), {"scale": 2.0, "empty": {}})
    assert type(found[0]) is OrderedDict
    assert found[1][1].name == "layer1"


def test_leaves_that_are_no_arrays_come_back_as_they_are() -> None:
    marker = object()

    def function(x: Any) -> Any:
        return {
            "kind": x.dtype,
            "text": "seven",
            "x": x * 2,
            "marker": marker,
            "shape": x.shape,
            "none": None,
        }

    compiled = wg.jit(function)
    for _ in range(2):
        found = compiled(X)
        assert found["marker"] is marker
        assert (found["kind"], found["text"], found["shape"], found["none"]) == (X.dtype, "seven", (7,), None)
        np.testing.assert_array_equal(found["x"], X * 2)
        assert type(found["shape"][0]) is int


def test_results_are_arrays_of_the_callers_own() -> None:
    constant = np.arange(4.0)
    compiled = wg.jit(lambda x: (x, x, constant, constant * 2, np.zeros(3)))
    one, other = compiled(X), compiled(X)
    arrays = [*one, *other, X, constant]
    for n, x in enumerate(arrays):
        assert not any(np.shares_memory(x, y) for y in arrays[:n])
    for x in one:
        assert x.flags.carray
        assert x.flags.owndata
        x[...] = -1
    assert_same(compiled(X), other)


def test_a_constant_is_what_it_was_when_the_function_was_compiled() -> None:
    offset = np.ones(7)
    compiled = wg.jit(lambda x: x + offset)
    np.testing.assert_array_equal(compiled(X), X + 1)
    offset[:] = 5
    np.testing.assert_array_equal(compiled(X), X + 1)


def test_a_method_is_bound() -> None:
    @dataclasses.dataclass
    class Scale:
        factor: Any

        @wg.jit
        def __call__(self, x: Any) -> Any:
            return x * self.factor

    np.testing.assert_array_equal(Scale(3.0)(X), 3 * X)
    assert Scale.__call__.report(Scale(3.0), X).operations == 7


def test_it_tells_what_it_is() -> None:
    compiled = wg.jit(Layer.__call__)
    assert repr(compiled) == "<jit of Layer.__call__, compiled for 0 types of arguments>"
    compiled(Layer(np.eye(3), np.ones(3)), np.ones((2, 3)))
    assert repr(compiled) == "<jit of Layer.__call__, compiled for 1 type of arguments>"


def test_it_keeps_name_and_documentation() -> None:
    @wg.jit
    def documented(x: Any) -> Any:
        """Say something."""
        return x

    assert (documented.__name__, documented.__doc__) == ("documented", "Say something.")


# -- inside and around other transforms ------------------------------------------------------------------


def loss(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(x * w) ** 2)


TRANSFORMED: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "grad": wg.grad,
    "value_and_grad": wg.value_and_grad,
    "hessian": wg.hessian,
    "jvp": lambda f: lambda w, x: wg.jvp(f, (w, x), (x, w)),
    "vmap": lambda f: wg.vmap(f, in_axes=(None, 0)),
    "scan": lambda f: lambda w, x: wg.scan(lambda c, y: (c + f(w, y), c), 0.0, x),
    "fori_loop": lambda f: lambda w, x: wg.fori_loop(0, 3, lambda i, c: c + f(c, x), w),
    "cond": lambda f: lambda w, x: wg.cond(np.sum(x) > 0, f, lambda w, x: f(x, w), w, x),
    "checkpoint": lambda f: wg.grad(wg.checkpoint(f)),
}


@pytest.mark.parametrize("transform", TRANSFORMED.values(), ids=TRANSFORMED)
def test_it_goes_with_the_other_transforms(transform: Callable[..., Any]) -> None:
    w, x = X, np.linspace(0.5, 1.5, 7)
    expected = transform(loss)(w, x)
    for function in (transform(wg.jit(loss)), wg.jit(transform(loss)), wg.jit(transform(wg.jit(loss)))):
        assert_same(function(w, x), expected, ulp=1e4, scale=1.0)


def test_a_value_of_an_outer_transform_may_be_closed_over() -> None:
    def outer(scale: Any) -> Any:
        inner = wg.jit(lambda x: np.sum(np.sin(x * scale)))
        return inner(X) + wg.jit(wg.grad(lambda x: inner(x) * scale))(X)[0]

    def plain(scale: Any) -> Any:
        def inner(x: Any) -> Any:
            return np.sum(np.sin(x * scale))

        return inner(X) + wg.grad(lambda x: inner(x) * scale)(X)[0]

    assert wg.grad(outer)(0.3) == pytest.approx(wg.grad(plain)(0.3))
    np.testing.assert_allclose(wg.vmap(outer)(X), [plain(one) for one in X], rtol=1e-12)


def test_arguments_may_be_written_to_inside() -> None:
    def function(x: Any, y: Any) -> Any:
        y[2:4] += x[:2]
        x *= 2
        view = x[1:]
        view[0] = 7.0
        return x, y

    x, y = X.copy(), np.ones(7)
    expected = function(x.copy(), y.copy())
    assert_same(wg.jit(function)(x, y), expected)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, np.ones(7))


# -- arrays as they come ---------------------------------------------------------------------------------


AS_THEY_COME: dict[str, Callable[[Any], Any]] = {
    "Fortran": np.asfortranarray,
    "reversed": lambda x: x[::-1].copy()[::-1],
    "strided": lambda x: np.repeat(x, 3, axis=1)[:, ::3],
    "transposed": lambda x: x.T.copy().T,
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "unaligned": unaligned,
    "swapped": lambda x: x.astype(x.dtype.newbyteorder("S")),
    "read-only": read_only,
    "memmap-like": lambda x: x.view(np.memmap),
}


@pytest.fixture(scope="module")
def summing() -> Any:
    return wg.jit(lambda x: (x * 2 + 1, x.sum(0), x[::-1, 1]))


@pytest.mark.parametrize("change", AS_THEY_COME.values(), ids=AS_THEY_COME)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_arrays_however_they_lie(summing: Any, change: Callable[[Any], Any], dtype: str) -> None:
    x = (np.random.default_rng(0).normal(size=(5, 3)) * 10).astype(dtype)
    changed = change(x)
    expected = changed.astype(x.dtype)
    for found, other in zip(
        summing(changed), (expected * 2 + 1, expected.sum(0), expected[::-1, 1]), strict=True
    ):
        assert found.dtype == other.dtype
        np.testing.assert_allclose(found, other, rtol=1e-6)
    np.testing.assert_array_equal(changed, expected)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 0, 2)])
def test_empty_arrays(shape: tuple[int, ...]) -> None:
    found = check(lambda x: (x + 1, x.sum(), np.tanh(x).sum(0), x.reshape(-1)), np.zeros(shape))
    assert found[0].shape == shape


def test_arrays_without_axes() -> None:
    found = check(lambda x, y: (x + y, x * y[0], -x), np.array(2.0), X)
    assert type(found[2]) is np.float64


@pytest.mark.parametrize(
    "value", [np.array([1, None]), np.zeros(2, np.clongdouble), np.zeros(2, "S3"), np.zeros(2, "M8[s]")]
)
def test_arrays_of_other_things(value: Any) -> None:
    with pytest.raises(DtypeError, match=r"jit: numbers or booleans are required; got .*test_jit.py"):
        wg.jit(lambda x: x)(value)


def test_a_contiguous_argument_is_not_copied() -> None:
    x = np.ones(4_000_000)
    compiled = wg.jit(lambda x: x[::1000] * 2)
    compiled(x)
    tracemalloc.start()
    try:
        compiled(x)
        compiled(x.view(np.memmap))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


# -- errors ----------------------------------------------------------------------------------------------


def test_arguments_that_make_no_sense() -> None:
    compiled = wg.jit(lambda x, y, z=(): x, static_argnums=2)
    with pytest.raises(ArgumentError, match="a static argument must be hashable; got list; pass a tuple"):
        compiled(X, X, [1])
    with pytest.raises(ArgumentError, match="jit: a function is required; got int"):
        wg.jit(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="jit: a function is required; got NoneType"):
        wg.jit(None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        compiled(X)  # pyright: ignore[reportCallIssue]


def test_a_trace_that_fails_leaves_everything_as_it_was() -> None:
    compiled = wg.jit(lambda x, y: range(2)[np.argmax(x)] * y)
    for _ in range(2):
        with pytest.raises(ConcreteError, match=r"index: .*\[test_jit.py:\d+\]"):
            compiled(X, X)
    product = wg.jit(lambda x, y: x @ y)
    with pytest.raises(ShapeError, match="matmul"):
        product(X, X[1:])
    assert product(X, X) == pytest.approx(X @ X)


# -- looking inside --------------------------------------------------------------------------------------


def test_looking_inside() -> None:
    def dense(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        return np.sum(hidden**2)

    compiled = wg.jit(wg.grad(dense))
    w, x = np.ones((20, 30)), np.ones((40, 20))
    report = compiled.report(w, x)
    assert report.operations >= 2 * 2 * 40 * 20 * 30
    assert report.arena == compiled.memory(w, x) > 0
    assert report.bytes > w.nbytes + x.nbytes
    assert any("tanh" in nest.fused for nest in report.nests)
    lines = {line.split(":")[-1] for line in report.lines if "test_jit.py" in line}
    start = dense.__code__.co_firstlineno
    assert lines == {str(start + 1), str(start + 2)}
    assert sum(report.lines.values()) == report.operations
    shown = str(report)
    assert all(part in shown for part in ("operations by line:", "in the arena", "lanes"))
    assert compiled.graph(w, x).text().startswith("graph(")
    assert compiled.nests(w, x).startswith("program(")
    assert "define void @main" in compiled.llvm(w, x)
    assert "main" in compiled.assembly(w, x)
    np.testing.assert_allclose(compiled(w, x), wg.grad(dense)(w, x), rtol=1e-12)


def test_a_report_names_what_is_left_to_numpy() -> None:
    (host,) = wg.jit(lambda x: wg.scipy.linalg.sqrtm(x) * 2).report(np.eye(99)).hosts
    assert host.startswith("sqrtm [test_jit.py:")


def test_memory_of_a_result_alone_is_none() -> None:
    assert wg.jit(lambda x: np.tanh(x) + 1).memory(X) == 0


def test_there_is_nothing_to_look_at_inside_another_transform() -> None:
    compiled = wg.jit(np.tanh)
    with pytest.raises(ArgumentError, match="inside another transform there is nothing compiled"):
        wg.grad(lambda x: compiled.memory(x))(1.0)
