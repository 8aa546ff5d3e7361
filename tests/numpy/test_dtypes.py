"""Each function returns NumPy's dtype and value for operands of all dtypes."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.numpy.calls import ONE, TWO
from wengert.engine.array.array import FUNCTIONS
from wengert.engine.boxes import CONSTANT, Box, Trace, concrete, running
from wengert.engine.core import tree
from wengert.engine.ir.types import TensorType
from wengert.engine.ops.elementwise import UFUNCS
from wengert.engine.transforms.staging import evaluate, stage

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"]
PAIRED = ["bool", "uint8", "int32", "int64", "float32", "float64"]
VALUES = np.array([[3, 1, 2], [1, 2, 0], [2, 0, 1]])
OTHERS = np.array([[1, 2, 1], [3, 1, 2], [1, 1, 1]])

# Functions whose results have no dtype, or whose arguments are not arrays.
NAMES = """allclose arange argwhere array array2string array_equal array_equiv array_repr array_str asanyarray asarray
ascontiguousarray asfortranarray bincount can_cast common_type copyto empty empty_like extract eye flatnonzero full
geomspace histogram histogram_bin_edges identity iscomplexobj isrealobj lexsort linspace logspace may_share_memory
min_scalar_type ndim nonzero ones place put put_along_axis putmask result_type shape shares_memory size
linalg.tensorsolve tri apply_over_axes fromiter unique unique_all unique_counts unique_inverse unique_values
polydiv union1d intersect1d setdiff1d setxor1d trim_zeros zeros amax amin einsum_path linalg.eig linalg.eigvals
roots"""
ELSEWHERE = set(NAMES.split())


def named(function: Any) -> str:
    """Return the name of a function in NumPy, without ``numpy``."""
    module = (getattr(function, "__module__", None) or "numpy").removeprefix("numpy").lstrip(".")
    return f"{module}.{function.__name__}".lstrip(".")


def boxed(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    with running(Trace()):
        result = function(*map(CONSTANT.constant, arguments))
    return [concrete(leaf) if isinstance(leaf, Box) else leaf for leaf in tree.leaves(result)]


def staged(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    graph, captured = stage(
        lambda *values: tree.leaves(function(*values)),
        [TensorType(argument.dtype, argument.shape) for argument in arguments],
    )
    results = evaluate(graph, *captured, *arguments)
    for result, inferred in zip(results, graph.output_types, strict=True):
        assert np.asarray(result).dtype == inferred.dtype
    return results


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return results or an error."""
    try:
        return function(*arguments)
    except (TypeError, ValueError, ArithmeticError, IndexError) as problem:
        return problem


def same_as_numpys(function: Callable[..., Any], *arguments: Any) -> None:
    """Assert that boxes and programs give NumPy's values and dtypes, or an error of the same class."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(lambda *given: tree.leaves(function(*given)), *arguments)
        for run in (boxed, staged):
            actual = outcome(run, function, *arguments)
            what = f"{run.__name__}: {[str(argument.dtype) for argument in arguments]}"
            if isinstance(expected, Exception):
                assert isinstance(actual, wg.WengertError), (
                    f"{what}: NumPy gives {expected!r}, Wengert {actual!r}"
                )
                continue
            assert not isinstance(actual, Exception), f"{what}: {actual!r}"
            for item, other in zip(map(np.asarray, actual), map(np.asarray, expected), strict=True):
                assert item.dtype == other.dtype, f"{what}: dtype {item.dtype}, NumPy's is {other.dtype}"
                tolerance = 1e-2 if item.dtype == np.float16 else 1e-5
                np.testing.assert_allclose(item, other, rtol=tolerance, atol=tolerance / 10, err_msg=what)


def test_every_function_is_called() -> None:
    called = {name.split(" ")[0] for name in (*ONE, *TWO)}
    names = {named(function) for function in FUNCTIONS}
    assert {name for name in names if not name.startswith("fft.")} - called - ELSEWHERE == set()
    assert {ufunc.__name__ for ufunc in UFUNCS} - called == set()


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one(name: str) -> None:
    for dtype in DTYPES:
        same_as_numpys(ONE[name], VALUES.astype(dtype))


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name: str) -> None:
    for item, other in itertools.product(PAIRED, repeat=2):
        if name == "setitem" and "float" in other and "float" not in item:
            continue  # would lose a derivative, and raises
        same_as_numpys(TWO[name], VALUES.astype(item), OTHERS.astype(other))


COMPLEX = {"complex64": VALUES + 1j * OTHERS, "complex128": OTHERS - 2j * VALUES}
#: Their results depend on the values, or NumPy drops imaginary parts or converts to plain arrays on the way.
OF_VALUES = {"real_if_close", "var dtype", "poly", "histogram2d"}


def accepts(function: Callable[..., Any], *arguments: Any) -> bool:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return not isinstance(outcome(function, *(x.copy() for x in arguments)), Exception)


@pytest.mark.parametrize("name", sorted(ONE.keys() - OF_VALUES))
def test_functions_of_a_complex_array(name: str) -> None:
    for dtype, values in COMPLEX.items():
        if accepts(ONE[name], values.astype(dtype)):
            same_as_numpys(ONE[name], values.astype(dtype))


@pytest.mark.parametrize("name", sorted(TWO.keys() - OF_VALUES))
def test_functions_of_complex_arrays(name: str) -> None:
    first, second = COMPLEX.values()
    for dtypes in (("complex64", "complex64"), ("complex64", "complex128"), ("float32", "complex64")):
        arguments = (
            (np.real(first) if dtypes[0] == "float32" else first).astype(dtypes[0]),
            second.astype(dtypes[1]),
        )
        if name == "setitem" and dtypes[0] == "float32":
            continue  # would lose an imaginary part, and raises
        if accepts(TWO[name], *arguments):
            same_as_numpys(TWO[name], *arguments)


OPERATORS = [
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift"),
    *("eq", "lt", "ge"),
]


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("number", [True, 2, 2.0, -1, 300])
def test_operators_with_numbers(name: str, number: float) -> None:
    function = getattr(operator, name)
    for dtype in DTYPES:
        same_as_numpys(lambda x: function(x, number), VALUES.astype(dtype))
        same_as_numpys(lambda x: function(number, x), OTHERS.astype(dtype))


@pytest.mark.parametrize("number", [True, 2, 2.0, -1, 300, np.True_, np.float32(2)])
def test_ufuncs_with_numbers(number: Any) -> None:
    for ufunc in UFUNCS:
        if ufunc.nin == 2:
            for dtype in ("bool", "uint8", "int64", "float32"):
                same_as_numpys(lambda x, ufunc=ufunc: ufunc(x, number), VALUES.astype(dtype))
                same_as_numpys(lambda x, ufunc=ufunc: ufunc(number, x), OTHERS.astype(dtype))


# -- Python's numbers ------------------------------------------------------------------------------------

NUMBERS = [True, False, 3, -2, 2.5]
OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    **{f"x {name} x": lambda x, name=name: getattr(operator, name)(x, x) for name in OPERATORS},
    **{f"x {name} True": lambda x, name=name: getattr(operator, name)(x, True) for name in OPERATORS},
    **{f"True {name} x": lambda x, name=name: getattr(operator, name)(True, x) for name in OPERATORS},
    "x ** 0": lambda x: x**0,
    "x ** 3": lambda x: x**3,
    "-x": lambda x: -x,
    "+x": lambda x: +x,
    "abs(x)": abs,
    "two tests": lambda x: (x > 0) + (x < 5),
    "a test times": lambda x: (x > 0) * 2.5,
    "a test less": lambda x: (x > 0) - (x < 5),
    "a test from": lambda x: 1 - (x > 0),
    "add": lambda x: np.add(x, True),
    "multiply": lambda x: np.multiply(x, x),
    "exp": np.exp,
    "square": np.square,
    "power": lambda x: np.power(x, 2),
    "maximum": lambda x: np.maximum(x, True),
    "sum": np.sum,
    "with truths": lambda x: x + np.ones(2, bool),
    "with bytes": lambda x: x * np.ones(2, np.int8),
    "with float32": lambda x: x - np.ones(2, np.float32),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", NUMBERS)
def test_compiled_functions_of_numbers_give_what_python_gives(number: float) -> None:
    """Python's operators treat True as a number, and NumPy's functions as a truth value."""
    with np.errstate(all="ignore"):
        results = {name: outcome(function, number) for name, function in OF_NUMBERS.items()}
        # Python raises at a division by zero, and a program cannot.
        results = {name: result for name, result in results.items() if not isinstance(result, Exception)}
        if number < 0:  # the type depends on the value: NumPy's integers have no negative powers
            powers = {name: wg.jit(function) for name, function in OF_NUMBERS.items() if "pow" in name}
            refused = {
                name for name, power in powers.items() if isinstance(outcome(power, number), Exception)
            }
            results = {name: result for name, result in results.items() if name not in refused}
        compiled = wg.jit(lambda x: {name: OF_NUMBERS[name](x) for name in results})(number)
    for name, expected in results.items():
        actual = compiled[name]
        assert type(actual) is type(expected), name
        assert getattr(actual, "dtype", None) == getattr(expected, "dtype", None), name
        np.testing.assert_allclose(actual, expected, rtol=1e-3 if name == "exp" else 1e-14, err_msg=name)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
@pytest.mark.parametrize("number", [1.0, -1.0, 2, True])
def test_zeros_of_python_keep_their_sign(name: str, number: float) -> None:
    for zero in (0.0, -0.0):
        expected = getattr(operator, name)(zero, number)
        value, _ = wg.value_and_grad(lambda x: getattr(operator, name)(x, number))(zero)
        assert type(value) is float
        assert (value, np.signbit(value)) == (expected, np.signbit(expected))


MADE_NUMPYS: list[Any] = [
    *(np.floor, np.ceil, np.trunc, np.rint, np.sign, np.round, np.fix, np.abs, np.sin, np.copy),
    lambda t: np.round(t, 1),
    lambda t: np.divmod(t, 0.25)[1],
    lambda t: np.modf(t)[0],
    lambda t: np.modf(t)[1],
    lambda t: np.floor_divide(t, 0.25),
    lambda t: np.clip(t, 0, 1),
    lambda t: np.clip(t, None, None),
    lambda t: wg.numpy.asarray(t),
    lambda t: wg.numpy.array(t),
]


@pytest.mark.parametrize("function", MADE_NUMPYS)
def test_functions_make_numpys_numbers_of_pythons(function: Callable[[Any], Any]) -> None:
    single = np.ones(2, np.float32)

    def program(t: Any) -> Any:
        return function(t) * single

    expected = program(0.625)
    assert expected.dtype == np.float64
    for actual in (
        wg.vjp(program, 0.625)[0],
        wg.jvp(program, (0.625,), (1.0,))[0],
        wg.jit(program)(0.625),
    ):
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=1e-15)


# -- integers that do not fit ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("low", [-(10**20), -1, 1, None])
@pytest.mark.parametrize("high", [10**20, 300, 2, None])
def test_bounds_beyond_a_dtype_are_no_bounds(dtype: str, low: int | None, high: int | None) -> None:
    x = VALUES.astype(dtype)
    same_as_numpys(lambda x: np.clip(x, low, high), x)
    expected = np.clip(x, low, high)
    actual = wg.jit(lambda x: np.clip(x, low, high))(x)
    np.testing.assert_array_equal(actual, expected)
    assert actual.dtype == expected.dtype


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 300,
        lambda x: np.maximum(x, -1),
        lambda x: np.clip(x, 300, None),
        lambda x: x & 256,
        lambda x: x**300,
        lambda x: np.full_like(x, 300),
        lambda x: np.insert(x, 0, 300),
        lambda x: np.max(x, initial=300),
    ],
)
def test_integers_that_do_not_fit_name_the_users_line(function: Callable[[Any], Any]) -> None:
    x = VALUES.astype("uint8")
    with pytest.raises(OverflowError):
        function(x)
    for run in (boxed, staged, lambda function, x: wg.jit(function)(x)):
        with pytest.raises(OverflowError, match=r"test_dtypes\.py:\d+") as caught:
            run(function, x)
        assert isinstance(caught.value, wg.WengertError)


# -- zero times anything ---------------------------------------------------------------------------------


def test_signs_of_zeros_do_not_depend_on_other_elements() -> None:
    """A zero cotangent times a finite slope has the sign of the product, and 0 inf = 0."""

    def function(x: Any, weight: Any) -> Any:
        return np.sum(weight * np.log(x))

    x, weight = np.array([2.0, -2.0, 0.0, np.inf]), np.array([-0.0, 0.0, 0.0, -0.0])
    with np.errstate(all="ignore"):
        whole = wg.grad(function)(x, weight)
        apart = np.array([wg.grad(function)(x[n : n + 1], weight[n : n + 1])[0] for n in range(4)])
        compiled = wg.jit(wg.grad(function))(x, weight)
    for actual in (whole, apart, compiled):
        np.testing.assert_array_equal(actual, np.zeros(4))
        np.testing.assert_array_equal(np.signbit(actual), [True, True, False, True])
