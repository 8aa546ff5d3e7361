"""Every registered primitive, compiled: what NumPy gives, and the derivatives of eager mode."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import FEW, assert_same, check, eager, oriented
from tests.draws import CASES, SPACING, HypothesisDraw, SeededDraw
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import DtypeError
from wengert.engine.core.shapes import shape_of
from wengert.engine.nest.lowering import OnHost
from wengert.engine.primitive import REGISTRY, NonDifferentiable, Primitive

SAMPLED = [primitive for primitive in REGISTRY if primitive.samples is not None]
SMOOTH = [primitive for primitive in SAMPLED if not isinstance(primitive.derivative, NonDifferentiable)]
CONSTANT = [primitive for primitive in SAMPLED if isinstance(primitive.derivative, NonDifferentiable)]
#: Where the compiled program calls NumPy or SciPy, special values are theirs.
ELEMENTWISE = [p for p in SAMPLED if p.elementwise and not isinstance(p.lowering, OnHost)]

#: For zeros of both signs, NumPy's choice depends on the processor.
EITHER_ZERO = {"maximum", "minimum", "fmax", "fmin"}
#: Near a zero of the function, NumPy's own error is more than a few units in the last place of the result.
CANCELLING = {"lgamma", "logaddexp", "logaddexp2"}
#: Sums of several larger terms.
DENSITIES = {
    primitive.name for primitive in SAMPLED if primitive.name.endswith(("_mass", "_density", "_half_step"))
}
DENSITIES |= {"kl_divergence", "rel_entropy"}
#: LAPACK's results depend on the memory layout of a matrix; so may sums of many terms.
SUMS = {primitive.name for primitive in SAMPLED if not primitive.elementwise}

EXTENTS = (0, 1, 1, 2, 3, 5, 15, 16, 17, 31, 33, 64, 65)
MOST = 4200
SHORT = ("float32", "float64", "int8", "int64", "uint32", "bool", "float16")
LONG = (*SHORT, "int16", "int32", "uint8", "uint16", "uint64")
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.0, -7.0, 0.1, 1e5, 1e300, 1e-310, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 100, -1, -2, -7]


class LongDraw(SeededDraw):
    """Draws whose extents lie around the lengths of vectors."""

    def shape(self, min_rank: int = 0, max_rank: int = 3) -> tuple[int, ...]:
        shape: list[int] = []
        for _ in range(self.integer(min_rank, max_rank)):
            room = MOST // max(1, int(np.prod(shape)))
            shape.append(self.choice([extent for extent in EXTENTS if extent <= room]))
        return tuple(shape)

    def array(self, shape: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> Any:
        if np.prod(shape) < (high - low) / SPACING - 2:
            return super().array(shape, low, high)
        return self._laid_out(self.rng.uniform(low, high, shape))


class Sample:
    """A drawn application of a primitive."""

    def __init__(self, primitive: Primitive, draw: HypothesisDraw) -> None:
        assert primitive.samples is not None
        self.primitive, self.draw = primitive, draw
        self.operands, self.params = primitive.samples(draw)
        self.followed = [i for i, x in enumerate(self.operands) if dtype_of(x).kind == "f"]

    def apply(self, operands: Sequence[Any]) -> Any:
        result = self.primitive(*operands, **self.params)
        return oriented(result) if self.primitive.name == "eigh" else result

    def converted(self) -> list[Any]:
        """Return the operands with drawn dtypes, or as Python numbers where they are scalars."""
        operands = list(self.operands)
        for position in self.followed:
            x = operands[position]
            kind = self.draw.choice([*SHORT, *LONG, *((float, float, int) if shape_of(x) == () else ())])
            operands[position] = kind(x) if isinstance(kind, type) else laid_out_as(x, kind)
        return operands

    def of_floats(self, point: Sequence[Any]) -> Any:
        operands = list(self.operands)
        for position, value in zip(self.followed, point, strict=True):
            operands[position] = value
        return self.apply(operands)


def laid_out_as(x: Any, dtype: str) -> Any:
    """Return an array converted, with the same memory layout."""
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(dtype, order="K")


def each(primitives: Sequence[Primitive]) -> Any:
    return pytest.mark.parametrize("primitive", primitives, ids=[primitive.name for primitive in primitives])


def seed_of(primitive: Primitive, salt: int = 0) -> int:
    return int.from_bytes(primitive.name.encode(), "little") % 2**31 + salt + 10_000 * (CASES - 1)


def takes(function: Callable[..., Any], operands: Sequence[Any]) -> bool:
    """Return whether NumPy has the operation for these types and values."""
    try:
        eager(function, operands)
    except (DtypeError, ValueError, ArithmeticError, TypeError, np.linalg.LinAlgError):
        return False
    return True


# -- values ----------------------------------------------------------------------------------------------


#: A function, its operands, and how far from eager mode its compiled results may be.
Application = tuple[Callable[..., Any], Sequence[Any], dict[str, float]]


def check_together(applications: Sequence[Application]) -> None:
    """Compile several applications of a primitive as one function, which is faster."""
    functions = [function for function, _, _ in applications]

    def all_of_them(operands: Any) -> Any:
        return [function(given) for function, given in zip(functions, operands, strict=True)]

    operands = [list(given) for _, given, _ in applications]
    for (_, _, how), actual, expected in zip(
        applications, wg.jit(all_of_them)(operands), eager(all_of_them, operands), strict=True
    ):
        assert_same(actual, expected, **how)


def tolerance(primitive: Primitive) -> dict[str, float]:
    # Terms of a density at its samples are up to 20 ln 20 = 60 times its scale, each with some roundings.
    if primitive.name in SUMS | DENSITIES:
        return {"ulp": 200.0, "scale": 1.0}
    return {"ulp": FEW, "scale": 1.0 if primitive.name in CANCELLING else 0.0}


def values(primitive: Primitive, seed: int, count: int) -> list[Application]:
    draws = [Sample(primitive, LongDraw(seed + number)) for number in range(count)]
    plain = [(sample.apply, sample.operands) for sample in draws]
    converted = [(sample.apply, sample.converted()) for sample in draws]
    return [(*pair, tolerance(primitive)) for pair in (*plain, *(pair for pair in converted if takes(*pair)))]


def specials(dtype: str) -> Any:
    """Return the special values of a dtype."""
    kind = np.dtype(dtype)
    with np.errstate(all="ignore"):
        if kind.kind == "f":
            return np.array(FLOATS).astype(kind)
        if kind.kind == "b":
            return np.array([True, False])
        limits = np.iinfo(kind)
        numbers = [*INTEGERS, limits.max, limits.max - 1, limits.min, limits.min + 1]
        return np.array([number for number in numbers if limits.min <= number <= limits.max], kind)


def every_pair(count: int, dtype: str, most: int | None) -> list[Any]:
    """Return all combinations of special values, or a drawn part of more than so many."""
    values = [np.array([True, False]) if count == 3 and n == 0 else specials(dtype) for n in range(count)]
    points = [one.ravel() for one in np.meshgrid(*values, indexing="ij")]
    if most is not None and points[0].size > most:
        chosen = np.random.default_rng(CASES).choice(points[0].size, most, replace=False)
        points = [one[chosen] for one in points]
    return points


def _without_large(operands: list[Any]) -> list[Any]:
    """Leave out the points with a finite number above 1,000."""
    large = np.any([np.isfinite(x) & (np.abs(1.0 * x) > 1e3) for x in operands], axis=0)
    return [x[~large] for x in operands]


def check_specials(primitive: Primitive, dtypes: Sequence[str], most: int | None = MOST) -> None:
    sample = Sample(primitive, LongDraw(0))
    if primitive.name == "cast":  # NumPy does not define conversions of values out of range
        return
    cases = [every_pair(len(sample.operands), dtype, most) for dtype in dtypes]
    if primitive.name in ("log_binomial_mass", "log_beta_density"):  # terms of large counts cancel
        cases = [_without_large(given) for given in cases]
    cases = [given for given in cases if takes(sample.apply, given)]
    apply = sample.apply
    if primitive.name in EITHER_ZERO:
        cases = [given for given in cases if given[0].dtype != bool]
        apply = lambda given: sample.apply(given) + 0  # noqa: E731
    is_scaled = primitive.name in DENSITIES | CANCELLING
    check_together([(apply, given, tolerance(primitive) if is_scaled else {}) for given in cases])


@pytest.mark.exhaustive
@each([primitive for primitive in ELEMENTWISE if primitive.name not in DENSITIES])
def test_special_values(primitive: Primitive) -> None:
    check_specials(primitive, ("float64", "int8", "bool"))


@each([primitive for primitive in ELEMENTWISE if primitive.name in DENSITIES])
def test_special_values_of_densities(primitive: Primitive) -> None:
    check_specials(primitive, ("float64", "int8", "bool"))


@each(ELEMENTWISE)
def test_special_values_of_other_dtypes(primitive: Primitive) -> None:
    check_specials(primitive, ("float32", "int64", "uint32"))


@pytest.mark.parametrize("number", [-1, 0, 127, 128, 255, 256, 2**40])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int64", "uint64"])
def test_python_integers_are_compared_by_value(dtype: str, number: int) -> None:
    signs = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]
    check(lambda x: [sign(x, number) for sign in signs] + [number < x, number == x], specials(dtype))


def test_python_integers_that_do_not_fit() -> None:
    for function in (lambda x: x + 300, lambda x: -1 - x, lambda x: np.maximum(x, 256)):
        with pytest.raises(OverflowError):
            eager(function, np.zeros(3, np.uint8))
        with pytest.raises(OverflowError):
            wg.jit(function)(np.zeros(3, np.uint8))
    check(lambda x: [x + 255, x << 9, 1 - x], np.arange(3, dtype=np.uint8))


# -- memory ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", ["bool", "int8", "uint16", "int32", "float32", "float64"])
def test_results_write_only_their_own_elements(after: str) -> None:
    """Results written into views of larger arrays leave the other elements unchanged."""
    sizes, dtypes = (1, 9, 15, 17, 33, 65), ("int8", "int16", "float32", "int64", "float64")
    given = [np.arange(size).astype(dtype) for size in sizes for dtype in dtypes]
    around = [np.ones(len(x) + 32, after) for x in given]
    places = [one[16:-16] for one in around]
    wg.jit(lambda places, given: [x.astype(after) for x in given], donate=0)(places, given)
    for x, one in zip(given, around, strict=True):
        np.testing.assert_array_equal(one[16:-16], x.astype(after))
        assert one[:16].all()
        assert one[-16:].all()


def test_arguments_at_odd_addresses() -> None:
    bytes_ = np.arange(8 * 65 + 1).astype(np.uint8)
    for dtype in ("float32", "int16", "uint64"):
        x = np.frombuffer(bytes_, dtype, 60, offset=1)
        assert not x.flags.aligned
        check(lambda x: [x.astype(np.int64) >> 1, x[::-3] > 5, np.max(x)], np.where(x == x, x, 0))
        check(lambda x: [x * x.dtype.type(2), np.isnan(x)], x)


# -- derivatives and batches -----------------------------------------------------------------------------


def derivatives(sample: Sample, seed: int) -> tuple[Callable[..., Any], list[Any]]:
    """Return both derivatives of an application as a function of its operands, directions and cotangents."""
    rng = np.random.default_rng(seed)
    point = [sample.operands[i] for i in sample.followed]
    directions = [np.asarray(rng.standard_normal(shape_of(x))) for x in point]
    cotangent = np.asarray(rng.standard_normal(shape_of(eager(sample.of_floats, point))))

    def both(given: Any) -> Any:
        point, directions, cotangent = given
        pushed = wg.jvp(lambda *point: sample.of_floats(point), point, directions)
        return pushed, wg.vjp(lambda *point: sample.of_floats(point), *point)[1](cotangent)

    return both, [point, directions, cotangent]


def both_derivatives(primitive: Primitive, seed: int, count: int) -> list[Application]:
    draws = [Sample(primitive, LongDraw(seed + number)) for number in range(count)]
    return [(*derivatives(one, seed), {"ulp": 2000.0, "scale": 1.0}) for one in draws]


@pytest.mark.modes("compiled", "compiled forward", "compiled reverse")
@each(SMOOTH)
def test_values_and_derivatives(primitive: Primitive) -> None:
    check_together(
        [
            *values(primitive, seed_of(primitive), 1),
            *both_derivatives(primitive, seed_of(primitive, 100), 1),
        ]
    )


@pytest.mark.modes("compiled")
@each(CONSTANT)
def test_values(primitive: Primitive) -> None:
    check_together(values(primitive, seed_of(primitive), 2))


def batch(sample: Sample, flags: Sequence[bool], size: int) -> tuple[Callable[..., Any], list[Any]]:
    """Return an application to examples along the leading axis of some operands."""
    stacked = [np.stack([x] * size) if flag else x for x, flag in zip(sample.operands, flags, strict=True)]
    axes = [0 if flag else None for flag in flags]
    return lambda given: wg.vmap(lambda *xs: sample.apply(xs), in_axes=tuple(axes))(*given), stacked


def check_batches(primitive: Primitive, seed: int, size: int) -> None:
    sample = Sample(primitive, LongDraw(seed))
    choices = itertools.product([True, False], repeat=len(sample.operands))
    cases = [batch(sample, flags, size) for flags in choices if any(flags)]
    check_together([(*case, tolerance(primitive)) for case in cases])


@each(SAMPLED)
def test_batches(primitive: Primitive) -> None:
    check_batches(primitive, seed_of(primitive, 200), 3)


# -- all of this, longer ---------------------------------------------------------------------------------


@pytest.mark.slow
@each(SAMPLED)
def test_longer(primitive: Primitive) -> None:
    for number in range(20):
        check_together(values(primitive, seed_of(primitive, 1000 + 10 * number), 6))
        check_batches(primitive, seed_of(primitive, 2000 + number), (1, 2, 17, 33)[number % 4])
        if primitive in SMOOTH:
            check_together(both_derivatives(primitive, seed_of(primitive, 3000 + 10 * number), 2))


@pytest.mark.slow
@each(ELEMENTWISE)
def test_special_values_of_every_dtype(primitive: Primitive) -> None:
    check_specials(primitive, LONG, None)
