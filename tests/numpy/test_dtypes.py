"""Every function gives the dtype and the value that NumPy gives, whatever the dtype of its operands."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import tree
from wengert.array import FUNCTIONS
from wengert.boxes import CONSTANT, Box, Trace, concrete, running
from wengert.ir.types import TensorType
from wengert.ops.elementwise import UFUNCS
from wengert.transforms.staging import evaluate, stage

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"]
PAIRED = ["bool", "uint8", "int32", "int64", "float32", "float64"]
VALUES = np.array([[3, 1, 2], [1, 2, 0], [2, 0, 1]])
OTHERS = np.array([[1, 2, 1], [3, 1, 2], [1, 1, 1]])


def filled(x: Any) -> Any:
    np.fill_diagonal(y := x.copy(), 1)
    return y


def written(x: Any, y: Any) -> Any:
    z = x.copy()
    z[0] = y[0]
    return z


# A call of one square matrix of the dtype; the name is the function's, and what distinguishes the call.
ONE: dict[str, Callable[[Any], Any]] = {
    "all": lambda x: np.all(x, axis=0),
    "any": lambda x: np.any(x),
    "append": lambda x: np.append(x, x, axis=0),
    "argmax": lambda x: np.argmax(x, axis=1),
    "argmin": lambda x: np.argmin(x),
    "argpartition": lambda x: np.argpartition(x[0], 1)[1],
    "argsort": lambda x: np.argsort(x[0]),
    "array_split": lambda x: np.array_split(x, 2),
    "astype": lambda x: np.astype(x, np.float32),
    "atleast_1d": lambda x: np.atleast_1d(x),
    "atleast_2d": lambda x: np.atleast_2d(x[0]),
    "atleast_3d": lambda x: np.atleast_3d(x),
    "average": lambda x: np.average(x, axis=0),
    "average of one": lambda x: np.average(x),
    "average weighted": lambda x: np.average(x, weights=np.array([1, 2, 3]), axis=0),
    "average weighted float32": lambda x: np.average(
        x, weights=np.array([1, 2, 3], np.float32), axis=0, returned=True
    ),
    "block": lambda x: np.block([[x, x]]),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[0]),
    "broadcast_to": lambda x: np.broadcast_to(x[0], (2, 3)),
    "clip": lambda x: np.clip(x, 1, 2),
    "clip wide": lambda x: np.clip(x, 0, 100),
    "clip float": lambda x: np.clip(x, 0.5, 1.5),
    "clip array": lambda x: np.clip(x, np.ones(3, np.int64), None),
    "column_stack": lambda x: np.column_stack([x[0], x[1]]),
    "compress": lambda x: np.compress([True, False, True], x, axis=0),
    "concatenate": lambda x: np.concatenate([x, x]),
    "conjugate": lambda x: np.conjugate(x),
    "convolve": lambda x: np.convolve(x[0], x[1]),
    "copy": lambda x: np.copy(x),
    "corrcoef": lambda x: np.corrcoef(x),
    "corrcoef of one": lambda x: np.corrcoef(x[0]),
    "correlate": lambda x: np.correlate(x[0], x[1], "full"),
    "count_nonzero": lambda x: np.count_nonzero(x, axis=0),
    "cov": lambda x: np.cov(x),
    "cov of one": lambda x: np.cov(x[0]),
    "cov two": lambda x: np.cov(x[0], x[1]),
    "cov fweights": lambda x: np.cov(x, fweights=np.array([1, 2, 1])),
    "cov aweights": lambda x: np.cov(x, aweights=np.array([1.0, 0.5, 1.0], np.float32)),
    "cov float32": lambda x: np.cov(x, dtype=np.float32),
    "cumprod": lambda x: np.cumprod(x),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "cumulative_prod": lambda x: np.cumulative_prod(x, axis=0),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=0, include_initial=True),
    "deg2rad": lambda x: np.deg2rad(x),
    "degrees": lambda x: np.degrees(x),
    "delete": lambda x: np.delete(x, 1, axis=0),
    "diag": lambda x: np.diag(x[0]),
    "diagflat": lambda x: np.diagflat(x),
    "diagonal": lambda x: np.diagonal(x),
    "diff": lambda x: np.diff(x),
    "diff prepend": lambda x: np.diff(x, n=2),
    "digitize": lambda x: np.digitize(x, np.array([0.5, 1.5])),
    "dsplit": lambda x: np.dsplit(np.atleast_3d(x), 1),
    "dstack": lambda x: np.dstack([x, x]),
    "ediff1d": lambda x: np.ediff1d(x),
    "einsum": lambda x: np.einsum("ij,jk->ik", x, x),
    "einsum one": lambda x: np.einsum("ii", x),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "fill_diagonal": lambda x: filled(x),
    "fix": lambda x: np.fix(x),
    "flip": lambda x: np.flip(x),
    "fliplr": lambda x: np.fliplr(x),
    "flipud": lambda x: np.flipud(x),
    "full_like": lambda x: np.full_like(x, 1),
    "gradient": lambda x: np.gradient(x),
    "gradient spacing": lambda x: np.gradient(x[0], 0.5),
    "gradient coordinates": lambda x: np.gradient(x[0], np.array([0.0, 1.0, 3.0])),
    "hsplit": lambda x: np.hsplit(x, 3),
    "hstack": lambda x: np.hstack([x, x]),
    "imag": lambda x: np.imag(x),
    "insert": lambda x: np.insert(x, 1, 1, axis=0),
    "interp": lambda x: np.interp(x, np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 3.0], np.float32)),
    "isclose": lambda x: np.isclose(x, x),
    "iscomplex": lambda x: np.iscomplex(x),
    "isin": lambda x: np.isin(x, [1, 2]),
    "isneginf": lambda x: np.isneginf(x),
    "isposinf": lambda x: np.isposinf(x),
    "isreal": lambda x: np.isreal(x),
    "linalg.cholesky": lambda x: np.linalg.cholesky(x @ x.T + 20 * np.eye(3, dtype=x.dtype)),
    "linalg.det": lambda x: np.linalg.det(x),
    "linalg.diagonal": lambda x: np.linalg.diagonal(x),
    "linalg.inv": lambda x: np.linalg.inv(x + 3 * np.eye(3, dtype=x.dtype)),
    "linalg.matrix_norm": lambda x: np.linalg.matrix_norm(x),
    "linalg.matrix_power": lambda x: np.linalg.matrix_power(x, 3),
    "linalg.matrix_transpose": lambda x: np.linalg.matrix_transpose(x),
    "linalg.multi_dot": lambda x: np.linalg.multi_dot([x, x, x]),
    "linalg.norm": lambda x: np.linalg.norm(x),
    "linalg.norm 1": lambda x: np.linalg.norm(x, 1, axis=0),
    "linalg.norm 3": lambda x: np.linalg.norm(x, 3, axis=0),
    "linalg.norm inf": lambda x: np.linalg.norm(x, np.inf, axis=0),
    "linalg.norm 0": lambda x: np.linalg.norm(x, 0, axis=0),
    "linalg.norm fro": lambda x: np.linalg.norm(x, "fro"),
    "linalg.slogdet": lambda x: np.linalg.slogdet(x + 3 * np.eye(3, dtype=x.dtype)),
    "linalg.trace": lambda x: np.linalg.trace(x),
    "linalg.vector_norm": lambda x: np.linalg.vector_norm(x),
    "linalg.vector_norm 1": lambda x: np.linalg.vector_norm(x, ord=1),
    "matrix_transpose": lambda x: np.matrix_transpose(x),
    "max": lambda x: np.max(x, axis=0),
    "max initial": lambda x: np.max(x, initial=1),
    "mean": lambda x: np.mean(x),
    "mean axis": lambda x: np.mean(x, axis=1),
    "mean dtype": lambda x: np.mean(x, dtype=np.float32),
    "median": lambda x: np.median(x),
    "median even": lambda x: np.median(x[:2], axis=0),
    "meshgrid": lambda x: np.meshgrid(x[0], x[1]),
    "min": lambda x: np.min(x),
    "modf": lambda x: np.modf(x),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "nanargmax": lambda x: np.nanargmax(x),
    "nanargmin": lambda x: np.nanargmin(x),
    "nancumprod": lambda x: np.nancumprod(x),
    "nancumsum": lambda x: np.nancumsum(x),
    "nanmax": lambda x: np.nanmax(x, axis=0),
    "nanmean": lambda x: np.nanmean(x, axis=0),
    "nanmin": lambda x: np.nanmin(x),
    "nanprod": lambda x: np.nanprod(x),
    "nanstd": lambda x: np.nanstd(x),
    "nansum": lambda x: np.nansum(x),
    "nanvar": lambda x: np.nanvar(x, axis=0),
    "ones_like": lambda x: np.ones_like(x),
    "pad": lambda x: np.pad(x, 1),
    "pad value": lambda x: np.pad(x, 1, constant_values=1),
    "pad mean": lambda x: np.pad(x, 1, mode="mean"),
    "pad linear_ramp": lambda x: np.pad(x, 1, mode="linear_ramp"),
    "pad edge": lambda x: np.pad(x, 1, mode="edge"),
    "pad maximum": lambda x: np.pad(x, 1, mode="maximum"),
    "partition": lambda x: np.partition(x[0], 1)[1],
    "percentile": lambda x: np.percentile(x, 30),
    "percentile several": lambda x: np.percentile(x, [30, 50.0], axis=0),
    "percentile float32": lambda x: np.percentile(x, np.float32(30)),
    "percentile array": lambda x: np.percentile(x, np.array([30, 50], np.int32), axis=0),
    **{
        f"quantile {method}": lambda x, method=method: np.quantile(x, 0.3, method=method)
        for method in ("linear", "lower", "higher", "midpoint", "nearest")
    },
    "quantile several": lambda x: np.quantile(x, [0.2, 0.5], axis=1),
    "quantile float32": lambda x: np.quantile(x, np.array([0.2, 0.5], np.float32), axis=1),
    "quantile end": lambda x: np.quantile(x, 1),
    "piecewise": lambda x: np.piecewise(x, [x > 1], [2, 1]),
    "polyval": lambda x: np.polyval(np.array([1, 2]), x),
    "prod": lambda x: np.prod(x),
    "ptp": lambda x: np.ptp(x),
    "rad2deg": lambda x: np.rad2deg(x),
    "radians": lambda x: np.radians(x),
    "ravel": lambda x: np.ravel(x),
    "real": lambda x: np.real(x),
    "real_if_close": lambda x: np.real_if_close(x),
    "repeat": lambda x: np.repeat(x, 2),
    "reshape": lambda x: np.reshape(x, -1),
    "resize": lambda x: np.resize(x, (2, 2)),
    "roll": lambda x: np.roll(x, 1),
    "rollaxis": lambda x: np.rollaxis(x, 1),
    "rot90": lambda x: np.rot90(x),
    "round": lambda x: np.round(x),
    "round 1": lambda x: np.round(x, 1),
    "round -1": lambda x: np.round(x, -1),
    "around": lambda x: np.around(x),
    "searchsorted": lambda x: np.searchsorted(np.array([0, 1, 2]), x),
    "select": lambda x: np.select([x > 1], [x], 0),
    "sinc": lambda x: np.sinc(x),
    "sort": lambda x: np.sort(x),
    "split": lambda x: np.split(x, 3),
    "squeeze": lambda x: np.squeeze(x[:1]),
    "stack": lambda x: np.stack([x, x]),
    "std": lambda x: np.std(x),
    "std axis": lambda x: np.std(x, axis=0),
    "sum": lambda x: np.sum(x),
    "sum initial": lambda x: np.sum(x, initial=1),
    "sum dtype": lambda x: np.sum(x, dtype=np.float32),
    "prod initial": lambda x: np.prod(x, initial=2.0),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "take": lambda x: np.take(x, [0, 1], axis=0),
    "take_along_axis": lambda x: np.take_along_axis(x, np.zeros((3, 1), int), 1),
    "tile": lambda x: np.tile(x, 2),
    "trace": lambda x: np.trace(x),
    "transpose": lambda x: np.transpose(x),
    "trapezoid": lambda x: np.trapezoid(x),
    "trapezoid dx": lambda x: np.trapezoid(x, dx=0.5),
    "trapezoid x": lambda x: np.trapezoid(x, np.array([0, 1, 3])),
    "tril": lambda x: np.tril(x),
    "triu": lambda x: np.triu(x),
    "unstack": lambda x: np.unstack(x),
    "vander": lambda x: np.vander(x[0]),
    "var": lambda x: np.var(x),
    "var ddof": lambda x: np.var(x, axis=0, ddof=1),
    "var dtype": lambda x: np.var(x, dtype=np.float32),
    "vsplit": lambda x: np.vsplit(x, 3),
    "vstack": lambda x: np.vstack([x, x]),
    "where": lambda x: np.where(x > 1, x, 0),
    "where float": lambda x: np.where(x > 1, x, 0.5),
    "zeros_like": lambda x: np.zeros_like(x),
    "ldexp": lambda x: np.ldexp(x, np.array([1, 2, 3], np.int32)),
    "power 0": lambda x: np.power(x, 0),
    "power 1": lambda x: np.power(x, 1),
    "power 2": lambda x: np.power(x, 2),
    "power 3": lambda x: np.power(x, 3),
    "power 0.5": lambda x: np.power(x, 0.5),
    "power True": lambda x: np.power(x, True),
    "float_power 2": lambda x: np.float_power(x, 2),
    "** 0": lambda x: x**0,
    "** 1": lambda x: x**1,
    "** 2": lambda x: x**2,
    "** 3": lambda x: x**3,
    "** 0.5": lambda x: x**0.5,
    "** 2.0": lambda x: x**2.0,
    "** True": lambda x: x**True,
    "2 **": lambda x: 2**x,
    "True **": lambda x: True**x,
    "ufunc reduce": lambda x: np.add.reduce(x),
    "ufunc reduce multiply": lambda x: np.multiply.reduce(x),
    "ufunc reduce maximum": lambda x: np.maximum.reduce(x),
    "ufunc reduce logical_and": lambda x: np.logical_and.reduce(x),
    "ufunc accumulate": lambda x: np.add.accumulate(x),
    "ufunc accumulate multiply": lambda x: np.multiply.accumulate(x),
    "ufunc accumulate maximum": lambda x: np.maximum.accumulate(x),
    "ufunc accumulate logical_or": lambda x: np.logical_or.accumulate(x),
    "ufunc outer": lambda x: np.multiply.outer(x[0], x[1]),
    "method round": lambda x: x.round(),
    "method clip": lambda x: x.clip(1, 2),
    "method sum": lambda x: x.sum(axis=0),
    "method mean": lambda x: x.mean(),
    "method dot": lambda x: x.dot(x),
    "method conj": lambda x: x.conj(),
    "abs": lambda x: abs(x),
    "-": lambda x: -x,
    "+": lambda x: +x,
    "~": lambda x: ~x,
    "scalar element": lambda x: x[0, 0] * x,
    "scalar sum": lambda x: x.sum() * np.float32(2),
    "item times": lambda x: x[0, 0] + 2.0,
}

# A call of two matrices of two dtypes.
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "append": lambda x, y: np.append(x, y),
    "choose": lambda x, y: np.choose(np.array([0, 1, 0]), [x, y]),
    "clip": lambda x, y: np.clip(x, None, y),
    "clip low": lambda x, y: np.clip(x, y, 100.0),
    "concatenate": lambda x, y: np.concatenate([x, y]),
    "convolve": lambda x, y: np.convolve(x[0], y[0]),
    "cov": lambda x, y: np.cov(x, y),
    "corrcoef": lambda x, y: np.corrcoef(x, y),
    "cross": lambda x, y: np.cross(x, y),
    "diff": lambda x, y: np.diff(x, prepend=y),
    "divmod": lambda x, y: np.divmod(x, y),
    "dot": lambda x, y: np.dot(x, y),
    "einsum": lambda x, y: np.einsum("ij,ij", x, y),
    "inner": lambda x, y: np.inner(x, y),
    "insert": lambda x, y: np.insert(x, 0, y[0], axis=0),
    "interp": lambda x, y: np.interp(x[0], np.array([0, 1, 2]), y[0]),
    "isclose": lambda x, y: np.isclose(x, y),
    "kron": lambda x, y: np.kron(x, y),
    "ldexp": lambda x, y: np.ldexp(x, y),
    "linalg.cross": lambda x, y: np.linalg.cross(x, y),
    "linalg.matmul": lambda x, y: np.linalg.matmul(x, y),
    "linalg.outer": lambda x, y: np.linalg.outer(x[0], y[0]),
    "linalg.solve": lambda x, y: np.linalg.solve(x, y),
    "linalg.tensordot": lambda x, y: np.linalg.tensordot(x, y, axes=1),
    "linalg.vecdot": lambda x, y: np.linalg.vecdot(x, y),
    "matmul": lambda x, y: np.matmul(x, y),
    "matvec": lambda x, y: np.matvec(x, y[0]),
    "outer": lambda x, y: np.outer(x, y),
    "polyval": lambda x, y: np.polyval(x[0], y[0]),
    "power": lambda x, y: np.power(x, y),
    "float_power": lambda x, y: np.float_power(x, y),
    "quantile": lambda x, y: np.quantile(x, y[2] / 4),
    "searchsorted": lambda x, y: np.searchsorted(np.sort(x[0]), y),
    "select": lambda x, y: np.select([x > 1], [x], y),
    "stack": lambda x, y: np.stack([x, y]),
    "tensordot": lambda x, y: np.tensordot(x, y),
    "trapezoid": lambda x, y: np.trapezoid(x, np.cumsum(y, axis=1)),
    "vdot": lambda x, y: np.vdot(x, y),
    "vecdot": lambda x, y: np.vecdot(x, y),
    "vecmat": lambda x, y: np.vecmat(x[0], y),
    "vstack": lambda x, y: np.vstack([x, y]),
    "where": lambda x, y: np.where(x > 1, x, y),
    "average": lambda x, y: np.average(x, weights=y),
    "nan_to_num": lambda x, y: np.nan_to_num(x, nan=1.0) + y,
    "isin": lambda x, y: np.isin(x, y),
    "@": lambda x, y: x @ y,
    "+ sum": lambda x, y: x + y.sum(),
    "* element": lambda x, y: x * y[0, 0],
    "setitem": lambda x, y: written(x, y),
    "full_like": lambda x, y: np.full_like(x, y[0]),
    **{ufunc.__name__: lambda x, y, ufunc=ufunc: ufunc(x, y) for ufunc in UFUNCS if ufunc.nin == 2},
}
ONE |= {ufunc.__name__: lambda x, ufunc=ufunc: ufunc(x) for ufunc in UFUNCS if ufunc.nin == 1}

# Functions whose results have no dtype, or that make arrays of none.
NAMES = """allclose arange argwhere array array2string array_equal array_equiv array_repr array_str asanyarray asarray
ascontiguousarray asfortranarray bincount can_cast common_type copyto empty empty_like extract eye flatnonzero full
geomspace histogram histogram_bin_edges identity iscomplexobj isrealobj lexsort linspace logspace may_share_memory
min_scalar_type ndim nonzero ones place put put_along_axis putmask result_type shape shares_memory size
linalg.tensorsolve tri unique zeros amax amin"""
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
    """Assert that boxes and programs give what NumPy gives: values and dtypes, or an error of the same class."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(lambda *given: tree.leaves(function(*given)), *arguments)
        for run in (boxed, staged):
            found = outcome(run, function, *arguments)
            what = f"{run.__name__}: {[str(argument.dtype) for argument in arguments]}"
            if isinstance(expected, Exception):
                assert isinstance(found, wg.WengertError), f"{what}: NumPy says {expected!r}, we {found!r}"
                continue
            assert not isinstance(found, Exception), f"{what}: {found!r}"
            for one, other in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
                assert one.dtype == other.dtype, f"{what}: dtype {one.dtype}, NumPy's is {other.dtype}"
                tolerance = 1e-2 if one.dtype == np.float16 else 1e-5
                np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance / 10, err_msg=what)


def test_every_function_is_called() -> None:
    called = {name.split(" ")[0] for name in (*ONE, *TWO)}
    assert {named(function) for function in FUNCTIONS} - called - ELSEWHERE == set()
    assert {ufunc.__name__ for ufunc in UFUNCS} - called == set()


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one(name: str) -> None:
    for dtype in DTYPES:
        same_as_numpys(ONE[name], VALUES.astype(dtype))


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name: str) -> None:
    for one, other in itertools.product(PAIRED, repeat=2):
        if name == "setitem" and "float" in other and "float" not in one:
            continue  # would lose a derivative, and raises
        same_as_numpys(TWO[name], VALUES.astype(one), OTHERS.astype(other))


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


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_compiled_functions_of_numbers_give_what_python_gives(name: str) -> None:
    """Of Python's True its operators make numbers, and NumPy's functions truth values."""
    function = OF_NUMBERS[name]
    with np.errstate(all="ignore"):
        for number in NUMBERS:
            expected = outcome(function, number)
            if isinstance(expected, Exception):
                continue  # Python refuses a division by zero, which a program cannot
            found = outcome(wg.jit(function), number)
            if isinstance(found, Exception):
                assert number < 0  # the type depends on the value: NumPy's integers have no negative powers
                assert "pow" in name
                continue
            assert type(found) is type(expected)
            assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
            np.testing.assert_allclose(found, expected, rtol=1e-3 if name == "exp" else 1e-14)


# -- integers that do not fit ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("low", [-(10**20), -1, 1, None])
@pytest.mark.parametrize("high", [10**20, 300, 2, None])
def test_bounds_beyond_a_dtype_are_no_bounds(dtype: str, low: int | None, high: int | None) -> None:
    x = VALUES.astype(dtype)
    same_as_numpys(lambda x: np.clip(x, low, high), x)
    expected = np.clip(x, low, high)
    found = wg.jit(lambda x: np.clip(x, low, high))(x)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


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
    """A cotangent of zero times a finite slope is the zero that multiplication gives, and 0 inf = 0."""

    def function(x: Any, weight: Any) -> Any:
        return np.sum(weight * np.log(x))

    x, weight = np.array([2.0, -2.0, 0.0, np.inf]), np.array([-0.0, 0.0, 0.0, -0.0])
    with np.errstate(all="ignore"):
        whole = wg.grad(function)(x, weight)
        apart = np.array([wg.grad(function)(x[n : n + 1], weight[n : n + 1])[0] for n in range(4)])
        compiled = wg.jit(wg.grad(function))(x, weight)
    for found in (whole, apart, compiled):
        np.testing.assert_array_equal(found, np.zeros(4))
        np.testing.assert_array_equal(np.signbit(found), [True, True, False, True])
