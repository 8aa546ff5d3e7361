"""Every registered primitive through every property. A new primitive is tested by being registered."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
import random
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import CASES, HypothesisDraw, SeededDraw, examples
from wengert.engine.core.dtypes import SHORT_NAMES, complex_dtype, dtype_of, is_complex, is_inexact
from wengert.engine.core.errors import DtypeError
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir import parse, verify
from wengert.engine.ir.types import TensorType, is_weak, type_of
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.primitive import REGISTRY, HigherOrder, NonDifferentiable, Primitive
from wengert.engine.transforms import tape
from wengert.engine.transforms.staging import evaluate, stage

SAMPLED = [primitive for primitive in REGISTRY if primitive.samples is not None]
CONSTANT = [primitive for primitive in SAMPLED if isinstance(primitive.derivative, NonDifferentiable)]
SMOOTH = [primitive for primitive in SAMPLED if primitive not in CONSTANT]

# Shuffled, their matrices could be singular or not positive definite, or have equal eigenvalues or overlapping rows.
OF_MATRICES = {
    *(
        "inverse",
        "solve",
        "cholesky",
        "cholesky_by_rows",
        "cholesky_tangent",
        "cholesky_cotangent",
    ),
    *("cofactors", "determinant", "log_determinant", "determinant_sign"),
    *("lapack_cholesky", "lapack_lu_inverse", "lapack_lu_solution", "lapack_orthogonal"),
    *("banded_substitution", "lapack_banded_solution", "lapack_triangular"),
    *(
        "solve_banded",
        "solve_triangular",
        "ldl",
        "lu",
        "polar",
        "logm",
        "logm_tangent",
        "sqrtm",
        "solve_sylvester",
    ),
    *("eigh", "eigvalsh", "svd", "svdvals", "qr", "pinv", "lstsq", "sparse_product", "sparse_solve"),
}

STEP = 2.0**-18  # far below `draws.SHIFT`: differences cross no kink; a power of two: x +- STEP is exact
EXAMPLES = 25
LONGER = 8


def each(primitives: Sequence[Primitive]) -> Any:
    return pytest.mark.parametrize("primitive", primitives, ids=[primitive.name for primitive in primitives])


def sampled(primitives: Sequence[Primitive], share: float = 1.0) -> Callable[[Callable[..., None]], Any]:
    """Run a property on drawn samples of each primitive; a share of 0.5 halves the number of samples.

    The quick run takes few samples of each primitive through all of them (`check_operation`).
    """

    def decorate(check: Callable[..., None]) -> Any:
        @pytest.mark.rest
        @each(primitives)
        @examples(share * EXAMPLES)
        @given(data=st.data())
        def test(primitive: Primitive, data: st.DataObject) -> None:
            check(Sample(primitive, HypothesisDraw(data)))

        CHECKS.append((check, primitives))
        test.check = check
        return test

    return decorate


CHECKS: list[tuple[Callable[..., None], Sequence[Primitive]]] = []


class Sample:
    """A drawn application of a primitive, as a function of its floating-point operands."""

    def __init__(self, primitive: Primitive, draw: HypothesisDraw) -> None:
        assert primitive.samples is not None
        self.primitive, self.draw = primitive, draw
        self.operands, self.params = primitive.samples(draw)
        self.followed = [i for i, x in enumerate(self.operands) if is_inexact(dtype_of(x))]
        self.point = tuple(self.operands[i] for i in self.followed)

    def __repr__(self) -> str:
        return f"{self.primitive.name}({', '.join(map(repr, self.operands))}, {self.params})"

    def apply(self, *operands: Any) -> Any:
        return self.primitive(*operands, **self.params)

    def __call__(self, *point: Any) -> Any:
        operands = list(self.operands)
        for position, value in zip(self.followed, point, strict=True):
            operands[position] = value
        return self.apply(*operands)

    def direction(self) -> tuple[Any, ...]:
        return tuple(map(self.normal, self.point))

    def normal(self, like: Any) -> Any:
        """Draw numbers of the shape of a value, complex ones for a complex value."""
        values = self.draw.rng.standard_normal(shape_of(like))
        if is_complex(dtype_of(like)):
            values = values + 1j * self.draw.rng.standard_normal(shape_of(like))
        return np.asarray(values)

    def cotangent(self) -> Any:
        return self.normal(self(*self.point))


def differences(function: Callable[..., Any], point: Sequence[Any], direction: Sequence[Any]) -> Any:
    """Return the derivative along a direction by central differences, extrapolated once (Richardson)."""

    def central(step: float) -> Any:
        after = function(*(x + step * u for x, u in zip(point, direction, strict=True)))
        before = function(*(x - step * u for x, u in zip(point, direction, strict=True)))
        return [(a - b) / (2 * step) for a, b in zip(flat(after), flat(before), strict=True)]

    return [(4 * near - far) / 3 for near, far in zip(central(STEP), central(2 * STEP), strict=True)]


def flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def assert_close(found: Any, expected: Any, rtol: float, scale: float = 1.0) -> None:
    for result, reference in zip(flat(found), flat(expected), strict=True):
        assert shape_of(result) == shape_of(reference)
        np.testing.assert_allclose(result, reference, rtol=rtol, atol=rtol * scale)


def assert_same_to_rounding(found: Any, expected: Any) -> None:
    for part in (np.real, np.imag):
        np.testing.assert_array_max_ulp(part(found), part(expected), 4)


def inner(left: Any, right: Any) -> tuple[float, float]:
    """Return the inner product over the reals, and that of the absolute values: the scale of its rounding errors."""
    products = [np.real(np.multiply(a, b)) for a, b in zip(flat(left), flat(right), strict=True)]
    return sum(float(np.sum(p)) for p in products), sum(float(np.sum(np.abs(p))) for p in products)


def assert_adjoint(pushed: Any, cotangent: Any, pulled: Any, direction: Any) -> None:
    (left, left_scale), (right, right_scale) = inner(cotangent, pushed), inner(pulled, direction)
    assert abs(left - right) <= 1e-10 * (left_scale + right_scale)


# -- statements ------------------------------------------------------------------------------------------


def test_operations_of_control_flow_are_known_before_they_load() -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith("wengert.engine.control.")]
    values = [value for module in modules for value in vars(module).values()]
    of_control = {
        value.name
        for value in values
        if isinstance(value, Primitive) and value.type_rule.__module__.startswith("wengert.engine.control")
    }
    assert of_control >= {"cond", "scan", "while"}
    assert of_control <= REGISTRY.elsewhere.keys()


@each(list(REGISTRY))
def test_statement_is_complete(primitive: Primitive) -> None:
    assert REGISTRY[primitive.name] is primitive
    assert primitive.doc.strip() == primitive.doc != ""
    # A file's operands and parameters must fit these annotations (`exporting.checked`).
    arguments = inspect.signature(primitive.type_rule).parameters.values()
    holds_programs = (
        isinstance(primitive.lowering, ControlFlow)
        or isinstance(primitive.derivative, HigherOrder)
        or any("Graph" in str(one.annotation) for one in arguments)
    )
    # Most random operands of Riccati's equation, and many linear programs, have no solution to compare;
    # tests/scipy/test_linalg.py and tests/optimize/test_linear_programs.py draw some that do.
    has_none = primitive.name in ("riccati", "linear_program")
    assert (primitive.samples is None) == (holds_programs or has_none)
    assert all(one.annotation is not one.empty for one in arguments)
    if isinstance(primitive.derivative, HigherOrder):
        assert all(one.kind is not one.VAR_KEYWORD for one in arguments)
    if isinstance(primitive.derivative, NonDifferentiable):
        assert primitive.derivative.reason


@each(list(REGISTRY))
def test_each_primitive_is_documented_as_a_function(primitive: Primitive) -> None:
    assert (primitive.__doc__, primitive.__name__) == (primitive.doc, primitive.name)
    kinds = {parameter.kind for parameter in inspect.signature(primitive).parameters.values()}
    if primitive.elementwise:
        assert kinds <= {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY}


@sampled(SAMPLED, 0.1)
def test_signature_takes_what_samples_give(sample: Sample) -> None:
    inspect.signature(sample.primitive).bind(*sample.operands, **sample.params)


@sampled(SAMPLED, 0.2)
def test_source_names_the_operands(sample: Sample) -> None:
    names = [f"operand_{i}" for i in range(len(sample.operands))]
    source = sample.primitive.source(*names, **sample.params)
    compile(source, "<source>", "eval")
    assert all(name in source for name in names)


# -- types -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def any_values():
    """Allow values outside the domain of a function, and lost imaginary parts: only types matter here."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        yield


def converted(draw: HypothesisDraw, operand: Any, scalars: Sequence[Any]) -> Any:
    """Return an operand converted to a drawn dtype, or a Python number."""
    kind = draw.choice([*SHORT_NAMES, *(scalars if shape_of(operand) == () else [])])
    return kind(operand) if isinstance(kind, type) else np.asarray(operand).astype(kind)


def same_type(result: Any, expected: Any) -> bool:
    """Return whether a result, or several, have the types that a type rule gives."""
    if not isinstance(expected, TensorType):
        return all(same_type(*pair) for pair in zip(result, expected, strict=True))
    return type_of(result) == expected and is_weak(result) == expected.weak


@sampled(SAMPLED)
def test_type_rule_describes_the_evaluation(sample: Sample) -> None:
    expected = sample.primitive.infer(*map(type_of, sample.operands), **sample.params)
    assert same_type(sample.apply(*sample.operands), expected)


@sampled(SAMPLED, 2.0)
def test_type_rule_follows_numpy_for_every_dtype(sample: Sample) -> None:
    scalars = [
        float,
        float,
        int,
        *([bool] if sample.primitive.name != "multiply_no_nan" else []),
    ]  # of floats alone
    with any_values():
        followed = [converted(sample.draw, x, scalars) for x in sample.point]
    operands = list(sample.operands)
    for position, value in zip(sample.followed, followed, strict=True):
        operands[position] = value
    with any_values():
        try:
            result = sample.apply(*operands)
        except DtypeError:
            with pytest.raises(DtypeError):
                sample.primitive.infer(*map(type_of, operands), **sample.params)
            return
        except (
            ValueError,
            ArithmeticError,
        ):  # values, not types, are wrong: integers to negative powers
            return
    assert same_type(result, sample.primitive.infer(*map(type_of, operands), **sample.params))


@sampled(SMOOTH, 0.4)
def test_derivatives_have_the_dtype_of_their_operands(sample: Sample) -> None:
    point = [rounded(x, sample.draw.choice([np.float32, np.float64])) for x in sample.point]
    out, tangent = wg.jvp(sample, point, point)
    assert dtype_of(tangent) == dtype_of(out)
    pulled, pushed = wg.jvp(lambda *point: wg.vjp(sample, *point)[1](out), point, point)
    for derivatives in (pulled, pushed):
        assert [dtype_of(one) for one in derivatives] == [x.dtype for x in point]


def rounded(x: Any, dtype: Any) -> Any:
    """Return a value in a precision; complex values stay complex."""
    return x.astype(complex_dtype(np.dtype(dtype)) if is_complex(x.dtype) else dtype)


INTEGERS = ("int64", "int8", "uint8", "uint64", "bool")


@sampled([primitive for primitive in SMOOTH if primitive.elementwise], 0.5)
def test_integers_with_floats_count_as_their_values(sample: Sample) -> None:
    """Unsigned integers and truth values do not wrap around in a derivative."""
    as_floats = list(sample.operands)
    for position in sample.followed[1:] if sample.draw.choice([True, False]) else sample.followed[:-1]:
        as_floats[position] = np.abs(np.ceil(as_floats[position]))
    moving = [i for i in sample.followed if as_floats[i] is sample.operands[i]]
    dtype = sample.draw.choice(INTEGERS)
    if dtype == "bool":
        as_floats = [x if i in moving else np.minimum(x, 1) for i, x in enumerate(as_floats)]
    as_integers = [
        x.astype(dtype) if i in sample.followed and i not in moving else x for i, x in enumerate(as_floats)
    ]
    point = [sample.operands[i] for i in moving]

    def derivatives(operands: list[Any]) -> Any:
        def function(*values: Any) -> Any:
            replaced = dict(zip(moving, values, strict=True))
            return sample.apply(*(replaced.get(i, x) for i, x in enumerate(operands)))

        out, tangent = wg.jvp(function, point, point)
        return out, tangent, *wg.vjp(function, *point)[1](np.ones(shape_of(out)))

    with any_values():
        assert_close(derivatives(as_integers), derivatives(as_floats), 1e-12)


# -- derivatives -----------------------------------------------------------------------------------------


@sampled(CONSTANT, 0.2)
def test_no_derivative_passes_through_constants(sample: Sample) -> None:
    out, tangent = wg.jvp(sample, sample.point, sample.direction())
    for found, expected in zip(flat(out), flat(sample(*sample.point)), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert not any(map(np.any, flat(tangent)))
    cotangents = tuple(np.ones(shape_of(part)) for part in flat(out))
    pulled = wg.vjp(sample, *sample.point)[1](cotangents if isinstance(out, tuple) else cotangents[0])
    assert not any(map(np.any, pulled))


@sampled(SMOOTH)
def test_first_derivatives(sample: Sample) -> None:
    point, direction, cotangent = sample.point, sample.direction(), sample.cotangent()
    value = sample(*point)
    out, pushed = wg.jvp(sample, point, direction)
    assert_same_to_rounding(out, value)  # NumPy's own results depend on strides
    scale = np.max(np.abs(value), initial=1.0)
    assert_close(pushed, differences(sample, point, direction)[0], 1e-6, scale)

    out, pullback = wg.vjp(sample, *point)
    assert_same_to_rounding(out, value)
    assert_adjoint(pushed, cotangent, pullback(cotangent), direction)
    _, linear = wg.linearize(sample, *point)
    assert_close(linear(*direction), pushed, 1e-12)


@sampled(SMOOTH, 0.1)
def test_power_series_are_nested_forward_mode(sample: Sample) -> None:
    point, direction = sample.point, sample.direction()
    zeros = tuple(map(np.zeros_like, direction))

    def slope(*point: Any) -> Any:
        return wg.jvp(sample, point, direction)[1]

    value, (first, second) = wg.jet(
        sample, point, [[step, zero] for step, zero in zip(direction, zeros, strict=True)]
    )
    assert_same_to_rounding(value, sample(*point))
    for found, expected in zip((first, second), wg.jvp(slope, point, direction), strict=True):
        assert dtype_of(found) == dtype_of(value)
        assert_close(found, expected, 1e-9, np.max(np.abs(expected), initial=1.0))


@sampled(SMOOTH, 0.3)
def test_values_that_no_rule_reads_need_not_be_kept(sample: Sample) -> None:
    cotangent, count = sample.cotangent(), len(sample.point)
    for chosen in {(n,) for n in range(count)} | {tuple(range(count))}:

        def function(*values: Any, chosen: tuple[int, ...] = chosen) -> Any:
            replaced = dict(zip(chosen, values, strict=True))
            return sample(*(replaced.get(n, x) for n, x in enumerate(sample.point)))

        values = [sample.point[n] for n in chosen]
        expected = wg.vjp(function, *values)[1](cotangent)
        with mock.patch.object(tape, "_LARGE", 0):
            found = wg.vjp(function, *values)[1](cotangent)
        # LAPACK may round an array at another address otherwise.
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(
                one, other, rtol=1e-13, atol=1e-14 * np.max(np.abs(other), initial=0.0)
            )


@sampled(SMOOTH, 0.6)
def test_second_derivatives(sample: Sample) -> None:
    point, direction, other, cotangent = (
        sample.point,
        sample.direction(),
        sample.direction(),
        sample.cotangent(),
    )

    def gradient(*point: Any) -> Any:
        return wg.vjp(sample, *point)[1](cotangent)

    def tangent(*point: Any) -> Any:
        return wg.jvp(sample, point, direction)[1]

    over_reverse, pushed = wg.jvp(gradient, point, direction)
    scale = max(np.max(np.abs(one), initial=1.0) for one in over_reverse)
    assert_close(pushed, tuple(differences(gradient, point, direction)), 1e-6, scale)

    pulled = wg.vjp(gradient, *point)[1](other)
    assert_adjoint(pushed, other, pulled, direction)
    assert_close(wg.vjp(tangent, *point)[1](cotangent), pushed, 1e-9, scale)
    twice = wg.jvp(tangent, point, other)[1]
    assert_adjoint(twice, cotangent, pushed, other)


# -- batching --------------------------------------------------------------------------------------------


def shuffled_examples(sample: Sample, operand: Any, size: int) -> Any:
    """Return several operands along a leading axis: the same values shuffled, and moved a little."""
    stacked = np.empty((size, *shape_of(operand)), dtype_of(operand))
    for position in range(size):
        shuffled = np.array(operand)
        if sample.primitive.name not in OF_MATRICES:
            shuffled = sample.draw.rng.permutation(shuffled.ravel()).reshape(shape_of(operand))
        stacked[position] = shuffled * (1 - position / 64) if is_inexact(shuffled.dtype) else shuffled
    return stacked


def assert_batches(
    function: Callable[..., Any], size: int, operands: Sequence[Any], flags: Sequence[bool]
) -> None:
    """Compare `vmap` with a loop."""
    batched = wg.vmap(function, in_axes=tuple(0 if flag else None for flag in flags))(*operands)
    rows = [
        flat(function(*(x[i] if flag else x for x, flag in zip(operands, flags, strict=True))))
        for i in range(size)
    ]
    for position, found in enumerate(flat(batched)):
        assert shape_of(found)[0] == size
        for example in range(size):
            expected = rows[example][position]
            assert dtype_of(found) == dtype_of(expected)
            assert_close(found[example], np.asarray(expected)[()], 1e-12)


def batched_operands(sample: Sample, operands: Sequence[Any]) -> Any:
    size = sample.draw.choice([2, 3, 1, 0])
    for flags in itertools.product([False, True], repeat=len(operands)):
        if any(flags):
            stacked = [
                shuffled_examples(sample, x, size) if f else x for x, f in zip(operands, flags, strict=True)
            ]
            yield size, stacked, flags


@sampled(SAMPLED)
def test_batching_is_a_loop(sample: Sample) -> None:
    for size, operands, flags in batched_operands(sample, sample.operands):
        assert_batches(sample.apply, size, operands, flags)


@sampled(SMOOTH, 0.3)
def test_batching_of_derivatives_is_a_loop(sample: Sample) -> None:
    cotangent, direction = sample.cotangent(), sample.direction()
    for size, point, flags in batched_operands(sample, sample.point):
        assert_batches(lambda *point: wg.vjp(sample, *point)[1](cotangent), size, point, flags)
        assert_batches(lambda *point: wg.jvp(sample, point, direction)[1], size, point, flags)


@sampled(SMOOTH, 0.3)
def test_derivatives_of_a_batch_are_those_of_its_examples(sample: Sample) -> None:
    size = sample.draw.choice([2, 3, 1, 0])
    point = [shuffled_examples(sample, x, size) for x in sample.point]
    direction = list(map(sample.normal, point))
    out, pushed = wg.jvp(wg.vmap(sample), point, direction)
    cotangent = sample.normal(out)
    pulled = wg.vjp(wg.vmap(sample), *point)[1](cotangent)
    for example in range(size):
        one = [x[example] for x in point]
        assert_close(pushed[example], wg.jvp(sample, one, [u[example] for u in direction])[1], 1e-10)
        expected = wg.vjp(sample, *one)[1](cotangent[example])
        assert_close(tuple(p[example] for p in pulled), expected, 1e-10)


# -- staging, print and parse ----------------------------------------------------------------------------


def staged(function: Callable[..., Any], *operands: Any) -> Any:
    """Stage a function, print and parse its graph, and evaluate that."""
    graph, captured = stage(lambda *boxes: flat(function(*boxes)), [type_of(x) for x in operands])
    assert not captured
    verify(graph)
    text = graph.text(full=True)
    graph = parse(text)
    assert graph.text(full=True) == text
    results = evaluate(graph, *operands)
    assert [type_of(one) for one in results] == list(graph.output_types)
    return tuple(results)


@sampled(SAMPLED, 0.6)
def test_graph_gives_what_eager_evaluation_gives(sample: Sample) -> None:
    assert_close(staged(sample.apply, *sample.operands), sample.apply(*sample.operands), 0.0)


@sampled(SMOOTH, 0.4)
def test_graph_of_derivatives_gives_what_eager_evaluation_gives(sample: Sample) -> None:
    point, direction, cotangent = sample.point, sample.direction(), sample.cotangent()

    def both(*values: Any) -> Any:
        point, direction = values[: len(values) // 2], values[len(values) // 2 :]
        return (wg.jvp(sample, point, direction)[1], *wg.vjp(sample, *point)[1](cotangent))

    assert_close(staged(both, *point, *direction), both(*point, *direction), 1e-12)


# -- all of this, shorter and longer ---------------------------------------------------------------------


class FewDraw(SeededDraw):
    """Draws arrays that have one of some numbers of elements."""

    def __init__(self, seed: int, sizes: range) -> None:
        super().__init__(seed)
        self.sizes = sizes

    def shape(self, min_rank: int = 0, max_rank: int = 3) -> tuple[int, ...]:
        shapes = [super(FewDraw, self).shape(min_rank, max_rank) for _ in range(50)]
        # The first that fits, if any does.
        return min(shapes, key=lambda shape: math.prod(shape) not in self.sizes)


#: What takes an operation through a mode; and of these, what takes three samples, one with one element or none.
OF_MODES = [
    test_first_derivatives,
    test_second_derivatives,
    test_power_series_are_nested_forward_mode,
    test_batching_is_a_loop,
    test_type_rule_follows_numpy_for_every_dtype,
]
FAST = [test_first_derivatives, test_batching_is_a_loop, test_type_rule_follows_numpy_for_every_dtype]
#: Operations whose derivatives take long: the quick run takes them through these alone.
HEAVY = {
    "logm",
    "logm_tangent",
    "f_quantile",
    "f_upper_quantile",
    "betaincinv",
    "betainccinv",
    "student_slope",
}
HEAVY |= {"hyp2f1_by_a", "hyp2f1_by_b", "hyp2f1_by_c"}
HEAVY |= {"betainc", "betaincc", "betainc_slope", "log_beta_density", "log_binomial_mass", "log_f_density"}


class FirstDraw(SeededDraw):
    """Draws the first of all choices, a sample with several elements along several axes, of random values."""

    def integer(self, low: int, high: int) -> int:
        return low


def check_operation(primitive: Primitive) -> None:
    seed = int.from_bytes(primitive.name.encode(), "little") % 2**31 + 10 * CASES
    modes, fast = ({test.check for test in tests} for tests in (OF_MODES, FAST))
    is_heavy = primitive.name in HEAVY
    some = FewDraw(seed, range(2, 7) if is_heavy else range(6, 17))
    thrice = [FirstDraw(seed), some, FewDraw(seed, range(2))]
    for check, primitives in CHECKS:
        if primitive in primitives and (check in modes or not is_heavy):
            for draw in thrice if check in fast and not is_heavy else [some]:
                sample = Sample(primitive, draw)
                try:
                    check(sample)
                except BaseException as error:
                    error.add_note(f"{check.__name__}: {sample}")
                    raise


@pytest.mark.modes("batching", "forward", "reverse", "second order", "series")
@each(SMOOTH)
def test_a_smooth_operation(primitive: Primitive) -> None:
    check_operation(primitive)


@pytest.mark.modes("batching")
@each(CONSTANT)
def test_an_operation_without_a_derivative(primitive: Primitive) -> None:
    check_operation(primitive)


PAIRS = [pytest.param(c, p, id=f"{p.name}-{c.__name__}") for c, primitives in CHECKS for p in primitives]


@pytest.mark.long
@pytest.mark.parametrize(("check", "primitive"), random.Random(CASES).sample(PAIRS, len(PAIRS) // 20))
@examples(EXAMPLES)
@given(data=st.data())
def test_a_share(check: Callable[..., None], primitive: Primitive, data: st.DataObject) -> None:
    check(Sample(primitive, HypothesisDraw(data)))


@pytest.mark.slow
@pytest.mark.parametrize(("check", "primitive"), PAIRS)
@examples(LONGER * EXAMPLES)
@given(data=st.data())
def test_longer(check: Callable[..., None], primitive: Primitive, data: st.DataObject) -> None:
    check(Sample(primitive, HypothesisDraw(data)))
