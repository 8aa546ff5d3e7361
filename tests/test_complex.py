"""Complex numbers: every primitive that takes them, through every property, on samples moved off the real line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, examples
from tests.test_registry import CHECKS, SMOOTH, Sample, assert_close, each, flat, staged
from wengert.engine.core.dtypes import dtype_of, is_complex, is_inexact
from wengert.engine.core.errors import DtypeError
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.ops.linalg.decompositions import parts
from wengert.engine.ops.linalg.square import adjoint, multiply
from wengert.engine.primitive import REGISTRY, Primitive

#: Operations whose derivative is linear over the real numbers alone.
NOT_HOLOMORPHIC = {
    *("real", "imag", "conjugate", "absolute", "cast", "from_parts", "irdft"),
    *(
        "cholesky",
        "log_determinant",
        "determinant_sign",
        "eigh",
        "eigvalsh",
        "svd",
        "svdvals",
        "qr",
        "pinv",
        "ldl",
        "polar",
        "lstsq",
    ),
    *("eig",),  # its vectors have a normalisation
}
#: Operations whose complex samples need more than a complex disturbance.
OF_HERMITIAN = {"cholesky", "eigh", "eigvalsh"}
#: Orders by the real part first: a step along the imaginary axis keeps it.
KEPT = 0.25


class ComplexSample(Sample):
    """A drawn application of a primitive at a point with complex operands."""

    def __init__(self, primitive: Primitive, draw: HypothesisDraw) -> None:
        super().__init__(primitive, draw)
        for position in self.followed:
            x = self.operands[position]
            if not is_complex(dtype_of(x)):
                self.operands = (*self.operands[:position], self.moved(x), *self.operands[position + 1 :])
        self.point = tuple(self.operands[i] for i in self.followed)

    def apply(self, *operands: Any) -> Any:
        """Apply the primitive; of factors whose phases are a choice, return what does not depend on it."""
        out = self.primitive(*operands, **self.params)
        if self.primitive.name == "eigh":
            values, vectors = parts(out, 1, shape_of(out)[-1])
            return multiply(vectors * np.sin(values), adjoint(vectors))
        if self.primitive.name == "svd":
            rows, columns = shape_of(operands[0])[-2:]
            u, s, v = parts(out, rows, 1, columns)
            return multiply(u * np.sin(s), adjoint(v))
        return out

    def moved(self, x: Any) -> Any:
        disturbance = self.draw.rng.uniform(-KEPT, KEPT, shape_of(x))
        if self.primitive.name in OF_HERMITIAN:
            disturbance = disturbance - np.swapaxes(disturbance, -1, -2)
        return x + 1j * disturbance


def takes_complex(primitive: Primitive) -> bool:
    """Return whether the type rule accepts complex types in place of the real ones of a sample."""

    class Plain:
        rng = np.random.default_rng(0)
        integer = staticmethod(lambda low, high: high)
        choice = staticmethod(lambda options: options[0])
        shape = staticmethod(lambda min_rank=0, max_rank=3: (2,) * max(min_rank, 1))
        broadcastable = staticmethod(lambda count: [(2,)] * count)
        array = staticmethod(lambda shape, low=-2.0, high=2.0: Plain.rng.uniform(low, high, shape))
        integers = staticmethod(lambda shape, low, high: Plain.rng.integers(low, high, shape, endpoint=True))

    assert primitive.samples is not None
    operands, params = primitive.samples(Plain())
    types = [type_of(x) for x in operands]
    moved = [TensorType(np.dtype(complex), t.shape) if t.dtype.kind in "fc" else t for t in types]
    try:
        result = primitive.infer(*moved, **params)
    except DtypeError:
        return False
    return result.dtype.kind in "fc"


OF_COMPLEX = [
    primitive
    for primitive in SMOOTH
    if takes_complex(primitive) and primitive.name not in ("cast", "from_parts")
]


def sampled(share: float) -> Any:
    def decorate(check: Any) -> Any:
        @each(OF_COMPLEX)
        @examples(share * 12)
        @given(data=st.data())
        def test(primitive: Primitive, data: st.DataObject) -> None:
            check(ComplexSample(primitive, HypothesisDraw(data)))

        return test

    return decorate


def test_most_operations_take_complex_numbers() -> None:
    names = {primitive.name for primitive in OF_COMPLEX}
    assert {
        "add",
        "multiply",
        "divide",
        "power",
        "exp",
        "log",
        "sqrt",
        "arctanh",
        "contract",
        "solve",
    } <= names
    assert {"reduce_sum", "reduce_prod", "cumsum", "gather", "scatter", "where", "concatenate"} <= names
    assert "erf" not in names
    assert {primitive.name for primitive in REGISTRY} >= NOT_HOLOMORPHIC


#: The registry's checks of real samples, by name.
CHECK = {check.__name__: check for check, _ in CHECKS}
test_first_derivatives = sampled(1.0)(CHECK["test_first_derivatives"])
test_second_derivatives = sampled(0.4)(CHECK["test_second_derivatives"])


@sampled(0.5)
def test_the_equations_of_cauchy_and_riemann(sample: ComplexSample) -> None:
    """Only the operations that are listed are not holomorphic."""
    direction, pushed = sample.direction(), []
    for factor in (1, 1j):
        pushed.append(wg.jvp(sample, sample.point, tuple(factor * u for u in direction))[1])
    if sample.primitive.name not in NOT_HOLOMORPHIC:
        assert_close(pushed[1], 1j * pushed[0], 1e-9, np.max(np.abs(pushed[0]), initial=1.0))


@sampled(0.3)
def test_derivatives_by_a_real_operand_are_real(sample: ComplexSample) -> None:
    """The parts of a complex operand, as real inputs, have the parts of its gradient as their derivatives."""
    cotangent = sample.cotangent()
    parts = [part for z in sample.point for part in (z.real.copy(), z.imag.copy())]

    def of_parts(*parts: Any) -> Any:
        return sample(*(x + 1j * y for x, y in zip(parts[::2], parts[1::2], strict=True)))

    of_complex = wg.vjp(sample, *sample.point)[1](cotangent)
    of_real = wg.vjp(of_parts, *parts)[1](cotangent)
    assert all(dtype_of(x) == np.float64 for x in of_real)
    for gradient, dx, dy in zip(of_complex, of_real[::2], of_real[1::2], strict=True):
        assert_close(gradient, dx - 1j * dy, 1e-10, np.max(np.abs(gradient), initial=1.0))


@sampled(0.3)
def test_batching_is_a_loop(sample: ComplexSample) -> None:
    stacked = [np.stack([x, x * 0.99 if is_inexact(dtype_of(x)) else x]) for x in sample.operands]
    found = wg.vmap(sample.apply)(*stacked)
    for position in range(2):
        expected = sample.apply(*(x[position] for x in stacked))
        for part, reference in zip(flat(found), flat(expected), strict=True):
            assert dtype_of(part) == dtype_of(reference)
            assert_close(part[position], reference, 1e-11, np.max(np.abs(reference), initial=1.0))


@sampled(0.3)
def test_graph_gives_what_eager_evaluation_gives(sample: ComplexSample) -> None:
    assert_close(staged(sample.apply, *sample.operands), sample.apply(*sample.operands), 0.0)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@each([primitive for primitive in OF_COMPLEX if primitive.elementwise])
@examples(2)
@given(data=st.data())
def test_single_precision_stays_single(primitive: Primitive, dtype: Any, data: st.DataObject) -> None:
    sample = ComplexSample(primitive, HypothesisDraw(data))
    point = [x.astype(dtype) for x in sample.point]
    out, tangent = wg.jvp(sample, point, point)
    assert dtype_of(tangent) == dtype_of(out)
    assert all(dtype_of(x) == dtype for x in wg.vjp(sample, *point)[1](out))
