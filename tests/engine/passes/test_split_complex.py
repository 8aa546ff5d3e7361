"""Complex programs: every operation, control flow, borders, special values, accuracy.

NumPy evaluates what the pass makes of each operation, and the quick run compiles a share of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import assert_same, check, eager
from tests.compiler.test_registry_compiled import LongDraw, seed_of
from tests.test_complex import OF_COMPLEX, ComplexSample
from tests.test_registry import each
from wengert.compiler.llvm.host import host
from wengert.compiler.pipeline import advance
from wengert.compiler.unit import Options, Unit
from wengert.engine.core import tree
from wengert.engine.passes.complex_arithmetic import OF_PARTS
from wengert.engine.primitive import REGISTRY, Primitive
from wengert.engine.transforms.staging import evaluate

Z = np.array([1.0 + 2.0j, -0.5 + 0.25j, 0.3 - 1.5j, -2.0 - 0.1j])
X = np.array([0.3, -0.7, 1.2, 2.0])


def on_parts(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that evaluates the graph after the pass with NumPy, and returns the leaves of the results."""

    def paired(x: Any) -> Any:
        return np.stack([x.real, x.imag], -1) if np.iscomplexobj(x) else x

    def joined(x: Any, dtype: Any) -> Any:
        if dtype.kind != "c":
            return x
        result = np.empty(x.shape[:-1], dtype)
        result.real, result.imag = x[..., 0], x[..., 1]
        return result

    def call(*arguments: Any) -> list[Any]:
        graph = wg.jit(function).graph(*arguments)
        split = advance(Unit(graph, {}, host(), Options()), "split_complex").graph
        types = [atom.type for atom in (*split.inputs, *split.defined())]
        assert not any(type_.dtype.kind == "c" for type_ in types)
        with np.errstate(all="ignore"):
            results = evaluate(split, *map(paired, tree.leaves(arguments)))
        return [joined(x, atom.type.dtype) for x, atom in zip(results, graph.outputs, strict=True)]

    return call


def with_derivatives(primitive: Primitive) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function of an operation and its derivatives, and its arguments."""
    sample = ComplexSample(primitive, LongDraw(seed_of(primitive, 300)))
    point, direction, cotangent = list(sample.point), list(sample.direction()), sample.cotangent()

    def all_of(point: Any, direction: Any, cotangent: Any) -> Any:
        value, pushed = wg.jvp(sample, point, direction)
        return value, pushed, wg.vjp(sample, *point)[1](cotangent)

    return all_of, (point, direction, cotangent)


@pytest.mark.exhaustive
@each(OF_COMPLEX)
def test_operations_and_their_derivatives(primitive: Primitive) -> None:
    all_of, arguments = with_derivatives(primitive)
    assert_same(on_parts(all_of)(*arguments), tree.leaves(eager(all_of, *arguments)), 5000.0, 1.0)


@each(OF_COMPLEX)
def test_compiled_operations_and_their_derivatives(primitive: Primitive) -> None:
    all_of, arguments = with_derivatives(primitive)
    check(all_of, *arguments, ulp=5000.0, scale=1.0)


def operands_of(operation: Primitive) -> int:
    parameters = inspect.signature(operation).parameters.values()
    return sum(parameter.kind is inspect.Parameter.POSITIONAL_ONLY for parameter in parameters)


def check_near_the_axes(name: str, mode: Callable[..., Any]) -> None:
    """Compare with NumPy on both sides of the branch cuts, and in both precisions."""
    operation = REGISTRY[name]
    values = np.array(
        [x + 1j * y for x in (-2.5, -1.0, -0.25, 0.0, 0.75, 3.0) for y in (-1.5, -1e-3, 1e-3, 0.5, 2.0)]
    )
    params: dict[str, Any] = {"exponent": -3} if name == "integer_power" else {}
    for z in (values, values.astype(np.complex64)):
        operands = (z, z[::-1].copy())[: operands_of(operation)]
        with np.errstate(all="ignore"):
            expected = operation(*operands, **params)
        (actual,) = mode(lambda *xs: [operation(*xs, **params)])(*operands)
        tolerance = 2e-14 if z.dtype == np.complex128 else 1e-5
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


WITH_RULES = sorted(OF_PARTS.keys() & {p.name for p in REGISTRY if p.elementwise})


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", WITH_RULES)
def test_rules_for_parts_give_what_numpy_gives(name: str) -> None:
    check_near_the_axes(name, on_parts)


@pytest.mark.parametrize("name", WITH_RULES)
def test_compiled_rules_for_parts_give_what_numpy_gives(name: str) -> None:
    check_near_the_axes(name, wg.jit)


ACCURATE = {
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "tan": np.tan,
}  # fmt: skip


@pytest.mark.parametrize("name", ACCURATE)
def test_elementary_functions_are_accurate_in_each_part(name: str) -> None:
    rng = np.random.default_rng(5)
    z = rng.normal(size=200) * 10.0 ** rng.uniform(-3, 0.7, 200) + 1j * rng.normal(size=200)
    actual = wg.jit(ACCURATE[name])(z)
    with mpmath.workdps(40):
        exact = getattr(mpmath, name) if name != "log1p" else lambda w: mpmath.log(1 + w)
        expected = np.array([complex(exact(mpmath.mpc(w.real, w.imag))) for w in z])
    for part in (np.real, np.imag):
        error = np.abs(part(actual) - part(expected)) / np.spacing(np.abs(part(expected)))
        assert np.percentile(error, 95) <= 4, name
        assert np.max(error) <= 60, name  # near a zero of a part


@pytest.mark.parametrize("constant", [1j * X, X + 0j], ids=["imaginary", "real"])
def test_a_constant_without_a_real_or_an_imaginary_part_costs_no_operation_on_it(constant: Any) -> None:
    fast = wg.jit(lambda z: z * constant)
    assert dict(fast.stages(Z))["split_complex"].count("multiply") == 2
    check(lambda z: (z * constant, np.exp(z * constant), z / constant, constant - z), Z, ulp=10.0, scale=1.0)


# -- borders ---------------------------------------------------------------------------------------------


def test_arguments_and_results_of_every_kind() -> None:
    check(lambda z, x: (z * x, z.real, z[0], 1j, x), Z, X)
    check(lambda z: (z * 2, z + 1j, z.real), 1.5 - 2j)
    check(lambda z: (z * 2, abs(z)), np.complex64(1.5 - 2j))
    check(lambda z, x: z * x, 2j, X.astype(np.float32))
    check(lambda z: z.T @ z, np.asfortranarray(Z.reshape(2, 2)))
    check(lambda z: z[::-1], Z[::2])
    check(lambda z: z * 1j, np.zeros((0, 3), complex))
    check(lambda x: np.exp(1j * x) * np.array([1j, 2.0, 3.0, 4.0]), X)


def test_a_donated_complex_array_is_updated_in_place() -> None:
    step = wg.jit(lambda z: z * np.exp(0.1j), donate=0)
    z = Z.copy()
    np.testing.assert_allclose(step(z), Z * np.exp(0.1j), rtol=1e-15)


def test_control_flow() -> None:
    def program(z: Any, x: Any) -> Any:
        chosen = wg.cond(x[0] > 0, lambda z: z * 1j, lambda z: z.conj(), z)
        last, stacked = wg.scan(lambda carry, w: (carry * w + 1j, carry.real), chosen[0], chosen)
        return (
            last,
            stacked,
            wg.checkpoint(np.sin)(chosen),
            wg.fori_loop(0, 3, lambda i, w: w * w.conj() + i, last),
        )

    check(program, Z, X, ulp=100.0, scale=1.0)  # fused products leave no exact zeros
    check(program, Z, -X, ulp=100.0, scale=1.0)
    check(lambda z: wg.while_loop(lambda w: np.abs(w) < 10, lambda w: w * (1 + 1j), z[0] + 0.1), Z)
    loss = wg.grad(lambda z, x: sum(np.sum(np.abs(part)) for part in program(z, x)))
    check(loss, Z, X, ulp=2000.0, scale=1.0)


def test_custom_rules_are_written_in_place() -> None:
    @wg.custom_vjp
    def cube(z: Any) -> Any:
        return z**3

    cube.defvjp(lambda z: (z**3, z), lambda z, ct: (3 * z**2 * ct,))
    check(wg.grad(lambda z: np.sum(np.abs(cube(z)))), Z)
    check(cube, Z)


def test_views_of_parts() -> None:
    def written(z: Any) -> Any:
        w = z * 1
        w.imag[::2] += w.real[1::2]
        w.real = np.sort(w.real)
        return w

    check(written, Z)


def test_products_of_matrices() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 33, 17)) + 1j * rng.normal(size=(5, 33, 17))
    b = rng.normal(size=(17, 40)) + 1j * rng.normal(size=(17, 40))
    for dtype in (np.complex128, np.complex64):
        check(
            lambda a, b: (a @ b, np.einsum("kij,jl->kl", a, b.conj())),
            a.astype(dtype),
            b.astype(dtype),
            ulp=100.0,
            scale=10.0,
        )
    check(lambda a, b: a.real @ b, a, b, ulp=100.0, scale=10.0)


@pytest.mark.parametrize(
    "function", [np.linalg.eigvals, np.linalg.inv, np.sort, np.argmax, np.linalg.svdvals]
)
def test_operations_without_a_rule_are_left_to_numpy(function: Callable[[Any], Any]) -> None:
    check(function, np.outer(Z, Z[::-1]) + np.diag(Z), ulp=100.0, scale=1.0)


# -- special values --------------------------------------------------------------------------------------


def test_infinities_and_zeros_where_c_defines_them() -> None:
    """`exp(1000)` is infinite along the axis, without a NaN beside it; overflow does not come early."""
    huge = np.array([1000.0 + 0.0j, 1e200 + 1e200j, 3e-200 + 4e-200j])
    exp, quotient, root, magnitude = wg.jit(lambda z: (np.exp(z), 1 / z[1:], np.sqrt(z), np.abs(z)))(huge)
    assert exp[0] == complex(np.inf, 0)
    np.testing.assert_allclose(quotient, 1 / huge[1:], rtol=1e-15)
    np.testing.assert_allclose(root, np.sqrt(huge), rtol=1e-15)
    np.testing.assert_allclose(magnitude, np.abs(huge), rtol=1e-15)


OF_ONE = """absolute angle arccos arccosh arcsin arcsinh arctan arctanh conjugate cos cosh exp exp2 expm1 isfinite isinf
isnan log log10 log1p log2 negative reciprocal sign sin sinh sqrt square tan tanh"""
OF_TWO = "add divide equal fmax fmin greater less maximum minimum multiply not_equal power subtract"
#: Where NumPy has a NaN these may have a number, and `power` the other way round: see `docs/complex.md`.
OTHER_NANS = {"exp", "exp2", "expm1", "power"}


def drawn_points(name: str, count: int, draw: np.random.Generator, dtype: Any) -> list[Any]:
    """Draw complex numbers with infinite, NaN, zero, huge and tiny parts beside ordinary ones."""
    limits = np.finfo(dtype)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, np.inf, -np.inf, np.nan, *draw.normal(size=4)]
    if name != "power":  # its angle is lost there
        special += [limits.max / 2, -limits.max / 2, limits.max**0.6, limits.tiny * 8, -limits.tiny]
    real = np.dtype(dtype).type(0).real.dtype
    parts = draw.choice(np.array(special, real), (2, 2, count))
    points = [(pair.T.copy()).view(dtype)[:, 0] for pair in parts]
    if name == "log1p":  # NumPy's loses digits of small numbers
        points[0] = np.where(np.abs(points[0]) < 0.01, points[0].dtype.type(0), points[0])
    return points


def assert_as_numpy(name: str, actual: Any, expected: Any, points: list[Any]) -> None:
    """Compare numbers with numbers, to the tolerance of a dtype, and NaN with NaN."""
    assert actual.dtype == expected.dtype
    lost, expected_lost = np.isnan(actual), np.isnan(expected)
    limits, parts = np.finfo(points[0].dtype), (expected.real, expected.imag)
    size = np.hypot(*(np.where(np.isfinite(part), part, 0) / 2 for part in parts))
    bound = limits.eps * 1000 * size + 8 * limits.tiny
    right = ~lost
    for a, e in ((actual.real, expected.real), (actual.imag, expected.imag)):
        right &= (a == e) | (
            np.isfinite(a) & np.isfinite(e) & (np.abs(np.subtract(a, e, dtype=float)) <= bound)
        )
    if name in OTHER_NANS:
        right |= lost if name == "power" else expected_lost
    wrong = np.flatnonzero(~np.where(expected_lost, lost | (name in OTHER_NANS), right))[:5]
    assert not wrong.size, [(*(x[n] for x in points), expected[n], actual[n]) for n in wrong]


def check_infinite_parts(name: str, count: int, *modes: Callable[..., Any]) -> None:
    function, draw = getattr(np, name), np.random.default_rng(seed_of(REGISTRY["add"], count + len(name)))
    for dtype in (np.complex128, np.complex64):
        points = drawn_points(name, count, draw, dtype)[: 1 + (name in OF_TWO.split())]
        with np.errstate(all="ignore"):
            expected = function(*points)
            for mode in modes:
                (actual,) = mode(lambda *zs: [function(*zs)])(*points)
                assert_as_numpy(name, actual, expected, points)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*OF_ONE.split(), *OF_TWO.split()])
def test_infinite_parts_give_what_numpy_gives(name: str) -> None:
    """Infinite, huge, tiny, NaN and zero parts, after the pass, and on boxes.

    Products overflow as NumPy's do only where compiled code rounds them once with a sum.
    """
    check_infinite_parts(name, 400, wg.jit if name in ("multiply", "square") else on_parts, wg.vmap)


@pytest.mark.parametrize("count", [400, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [*OF_ONE.split(), *OF_TWO.split()])
def test_compiled_functions_of_infinite_parts_give_what_numpy_gives(name: str, count: int) -> None:
    check_infinite_parts(name, count, wg.jit, wg.vmap)


def test_a_zero_divisor_gives_what_numpy_gives() -> None:
    with np.errstate(all="ignore"):
        expected = Z / np.array([0, 0j, 1, 2])
    assert_same(np.isnan(wg.jit(lambda z, w: z / w)(Z, np.array([0, 0j, 1, 2]))), np.isnan(expected))


def test_branch_cuts_follow_the_signs_of_zeros() -> None:
    z = np.array([complex(-2.0, 0.0), complex(-2.0, -0.0)])
    check(lambda z: (np.log(z), np.sqrt(z), np.arctan2(z.imag, z.real)), z)


def test_zeros_that_a_program_writes() -> None:
    check(lambda z: (z + 0j, z - 0j, z * 0j, np.exp(z * 0j), np.abs(z - (-0.0 - 0j))), Z)
    with np.errstate(all="ignore"):
        assert np.all(np.isnan(wg.jit(lambda z: z / 0j)(np.array([0j]))))


def test_graphs_without_complex_values_stay() -> None:
    stages = dict(wg.jit(np.sin).stages(X))
    assert stages["split_complex"] == stages["expand_linalg"]
