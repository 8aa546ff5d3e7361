"""Functions as ONNX models: names, operators, refusals, and results by onnxruntime."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from tests.exporting.onnx_models import assert_same, inputs_of, run
from tests.exporting.programs import CASES, WITHOUT_ONNX, copied
from wengert.engine.core.errors import UnsupportedError


def written(path: Any, fun: Any, *arguments: Any) -> Any:
    (file,) = wg.export(fun, *arguments).onnx(path / "model.onnx")
    return onnx.load(file)


@pytest.mark.parametrize("name", sorted(CASES.keys() - WITHOUT_ONNX.keys()))
def test_programs_give_the_results_of_python(name) -> None:
    fun, arguments = CASES[name]()
    export = wg.export(fun, *arguments)
    with np.errstate(all="ignore"):
        expected = fun(*copied(arguments))
    assert_same(run(export, inputs_of(export, arguments)), expected)


@pytest.mark.parametrize(("name", "operation"), WITHOUT_ONNX.items())
def test_factors_of_large_matrices_are_refused(name, operation) -> None:
    fun, arguments = CASES[name]()
    with pytest.raises(UnsupportedError, match=rf"without a form in ONNX.*got {operation}; .*programs\.py:"):
        wg.export(fun, *arguments).onnx("model.onnx")


@examples(20)
@given(data=st.data())
def test_a_value_may_be_several_factors_of_a_product(data) -> None:
    values = {name: np.arange(1.0, 10.0).reshape(3, 3) + n for n, name in enumerate("xy")}
    names = data.draw(st.lists(st.sampled_from("xy"), min_size=2, max_size=3))
    reads = data.draw(
        st.lists(st.text("ijk", min_size=2, max_size=2), min_size=len(names), max_size=len(names))
    )
    written = data.draw(st.sets(st.sampled_from(sorted(set("".join(reads)))), max_size=2))
    subscripts = f"{','.join(reads)}->{''.join(sorted(written))}"

    def product(x: Any, y: Any) -> Any:
        return np.einsum(subscripts, *({"x": x, "y": y}[name] for name in names))

    export = wg.export(product, *values.values())
    assert_same(run(export, values), product(**values))


@examples(30)
@given(data=st.data())
def test_orders_and_extrema_with_nan_beside_infinities(data) -> None:
    dtype = data.draw(st.sampled_from(["f4", "f8"]))
    shape = data.draw(st.tuples(*[st.integers(1, 5)] * 3))
    numbers = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, 1.0, 2.0])
    x = np.array(data.draw(st.lists(numbers, min_size=math.prod(shape), max_size=math.prod(shape))), dtype)
    x, axis = x.reshape(shape), data.draw(st.integers(0, 2))

    def orders(x: Any) -> Any:
        every = (np.sort, functools.partial(np.argsort, stable=True), np.argmax, np.argmin, np.max, np.min)
        return [function(x, axis=axis) for function in every]

    with np.errstate(all="ignore"):
        expected = orders(x)
    export = wg.export(orders, x)
    for found, known in zip(run(export, inputs_of(export, (x,))), expected, strict=True):
        np.testing.assert_array_equal(found, known)


INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


@examples(30)
@given(data=st.data())
def test_comparisons_of_integers_that_share_no_dtype(data) -> None:
    first, second = (data.draw(st.sampled_from(INTEGERS)) for _ in "xy")
    x = np.array([0, 1, 2, 127, -128, -1, 100, -3]).astype(first)
    y = data.draw(
        st.one_of(
            st.just(np.array([1, 1, -1, 128, 255, -1, 100, -4]).astype(second)),
            st.sampled_from([200, -1, 300, -129, 65536, 2**40, -(2**40), 2**63, 100]),
        )
    )

    def compared(x: Any) -> Any:
        every = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
        return [result for compare in every for result in (compare(x, y), compare(y, x))]

    export = wg.export(compared, x)
    for found, known in zip(run(export, inputs_of(export, (x,))), compared(x), strict=True):
        np.testing.assert_array_equal(found, known)


@pytest.mark.parametrize("dtype", [*INTEGERS, "?"])
def test_integers_of_every_dtype_are_sorted(dtype) -> None:
    x = np.array([3, 127, 0, 128, 2, 2, 255, -1, 2**31, -(2**63)]).astype(dtype)
    export = wg.export(lambda x: (np.sort(x), np.argsort(x, stable=True)), x)
    for found, known in zip(
        run(export, inputs_of(export, (x,))), (np.sort(x), np.argsort(x, stable=True)), strict=True
    ):
        np.testing.assert_array_equal(found, known)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_of_integers_wrap_around(dtype) -> None:
    x = np.array([3, 2, -3, 126, 7, 1, 0, 5]).astype(dtype)
    y = np.array([39, 8, 7, 6, 120, 0, 0, 65], dtype)

    def powers(x: Any, y: Any) -> Any:
        return x**y, x[:1] ** y, x**100, 3**y

    export = wg.export(powers, x, y)
    for found, known in zip(run(export, inputs_of(export, (x, y))), powers(x, y), strict=True):
        np.testing.assert_array_equal(found, known)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_quotients_of_infinities_and_zeros(dtype) -> None:
    values = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 2.5, -2.5, 7.0], dtype)
    x, y = (axes.ravel() for axes in np.meshgrid(values, values))
    export = wg.export(np.divmod, x, y)
    with np.errstate(all="ignore"):
        expected = np.divmod(x, y)
    for found, known in zip(run(export, inputs_of(export, (x, y))), expected, strict=True):
        np.testing.assert_array_equal(found, known)


@pytest.mark.parametrize("fun", [lambda d: d @ d, lambda d: d * (d @ d), wg.grad(lambda d: (d @ d) ** 2)])
def test_an_inner_product_of_a_value_with_itself_is_a_sum_of_squares(fun) -> None:
    d = np.array([1.0, 2.0, 3.0])
    assert_same(run(wg.export(fun, d), {"d": d}), fun(d))


def test_leaves_name_inputs_and_outputs(tmp_path) -> None:
    @wg.jit(donate=0)
    def step(params: Any, x: Any) -> Any:
        return {key: value - x for key, value in params.items()}, x * 2

    model = written(tmp_path, step, {"b": np.ones(3), "w": np.ones((2, 3))}, np.ones(3))
    assert [given.name for given in model.graph.input] == ["params_b", "params_w", "x"]
    assert [result.name for result in model.graph.output] == ["params_b_out", "params_w_out", "out_1"]
    assert (model.ir_version, model.opset_import[0].version) == (10, 21)


def test_each_added_function_is_a_file(tmp_path) -> None:
    files = wg.export(np.sum, np.ones(3)).add(np.ones((2, 2))).onnx(tmp_path / "out" / "total.onnx")
    assert [file.name for file in files] == ["total.onnx", "total_2.onnx"]
    assert [len(onnx.load(file).graph.input[0].type.tensor_type.shape.dim) for file in files] == [1, 2]


def test_a_refusal_names_the_line_and_writes_no_file(tmp_path) -> None:
    export = wg.export(lambda a: np.linalg.svd(a)[1], np.ones((3, 3)))
    with pytest.raises(UnsupportedError, match=r"svd.*\[test_onnx.py:\d+"):
        export.onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_refusal_names_one_line(tmp_path) -> None:
    export = wg.export(lambda z: z * z, np.ones(3) + 1j)
    with pytest.raises(UnsupportedError, match=r"got multiply of c128\[3\]\. \[test_onnx.py:\d+\]$"):
        export.onnx(tmp_path / "model.onnx")


def test_nodes_name_the_line_of_the_user(tmp_path) -> None:
    model = written(tmp_path, lambda x: np.sin(x), np.ones(3))
    assert model.graph.node[0].doc_string.startswith("test_onnx.py:")


def test_matrices_are_written_out_up_to_a_size(tmp_path) -> None:
    def slope(a: Any, b: Any) -> Any:
        return wg.value_and_grad(lambda a: np.sum(np.linalg.solve(a, b)))(a)

    def draw(rows: int) -> Any:
        return np.random.default_rng(0).normal(size=(rows, rows)) + rows * np.eye(rows), np.ones(rows)

    export = wg.export(slope, *draw(4))
    assert_same(run(export, inputs_of(export, draw(4))), slope(*draw(4)))
    with pytest.raises(UnsupportedError, match=r"solve.*more than 4096"):
        wg.export(np.linalg.solve, *draw(40)).onnx(tmp_path / "model.onnx")


@wg.custom_jvp
def halved(x: Any) -> Any:
    return np.tanh(x)


halved.defjvp(lambda primals, tangents: (np.tanh(primals[0]), 0.5 * tangents[0]))


def of_rules(x: Any) -> Any:
    return halved(x) * np.sin(halved(2 * x))


def of_root(x: Any) -> Any:
    return wg.implicit.root(lambda y: y**3 + y - x, x)


def of_loop(x: Any) -> Any:
    return wg.while_loop(lambda v: np.sum(v) < 40, lambda v: halved(v) + v, x, max_bytes=1000)


def of_equations(x: Any) -> Any:
    return wg.linear_solve(lambda v: 2.0 * v + np.roll(v, 1) / 4, x, solver="gmres")


def of_integral(x: Any) -> Any:
    return wg.integrate.quad(lambda t: np.exp(-x[0] * t) * np.cos(x[1] * t), 0.0, x[2])[0]


#: Programs whose operations hold programs with rules of their own, or stand for other programs.
OF_PROGRAMS = (of_rules, of_root, of_loop, of_equations, of_integral)
TRANSFORMS = ("value", "grad", "vmap", "jit", "nested")
#: The loops that carry out turns again, and those of many lengths, have no form in ONNX.
REFUSED = {("of_loop", "grad")}


@pytest.mark.parametrize(
    ("fun", "transform"),
    [(fun, kind) for fun in OF_PROGRAMS for kind in TRANSFORMS if (fun.__name__, kind) not in REFUSED],
)
def test_operations_of_programs(fun, transform, rng) -> None:
    changed = {
        "value": fun,
        "grad": wg.grad(lambda x: np.sum(fun(x) ** 2)),
        "vmap": lambda x: wg.vmap(fun)(np.stack([x, 1.25 * x])),
        "jit": wg.jit(fun),
        "nested": lambda x: wg.cond(x[0] > 0, fun, lambda x: fun(x + 1.0), x),
    }[transform]
    x = rng.uniform(0.3, 1.5, 3)
    export = wg.export(changed, x)
    assert_same(run(export, {"x": x}), changed(x))


def of_minimum(x: Any) -> Any:
    return wg.optimize.lbfgs(lambda y: np.sum((y - x) ** 4 + y * y), x, gtol=1e-10, ftol=0.0).x


@pytest.mark.parametrize("transform", [lambda fun: fun, lambda fun: wg.grad(lambda x: np.sum(fun(x) ** 2))])
def test_minima_leave_to_the_accuracy_of_their_solver(transform, rng) -> None:
    fun, x = transform(of_minimum), rng.uniform(0.3, 1.5, 3)
    (found,) = run(wg.export(fun, x), {"x": x})
    np.testing.assert_allclose(found, fun(x), rtol=1e-7)


def test_the_slope_of_a_loop_without_a_bound_is_refused(tmp_path) -> None:
    with pytest.raises(UnsupportedError, match=r"without a form in ONNX.*test_onnx\.py:"):
        wg.export(wg.grad(lambda x: np.sum(of_loop(x))), np.ones(3)).onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
