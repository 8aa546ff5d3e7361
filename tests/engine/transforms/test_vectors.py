"""Values of several shapes as one vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from wengert.engine.transforms.vectors import count, joined, split

SHAPES = st.lists(st.lists(st.integers(0, 3), max_size=3).map(tuple), max_size=4)


def drawn(shapes: list[tuple[int, ...]]) -> list[Any]:
    rng = np.random.default_rng(len(shapes))
    return [rng.standard_normal(shape) for shape in shapes]


@given(SHAPES)
@examples(30)
def test_a_vector_is_split_into_what_was_joined(shapes: list[tuple[int, ...]]) -> None:
    values = drawn(shapes)
    vector = joined(values)
    assert vector.shape == (count(values),)
    for part, value in zip(split(vector, shapes), values, strict=True):
        np.testing.assert_array_equal(part, value)


@pytest.mark.parametrize("transform", [wg.jit, lambda f: lambda x: wg.vmap(f)(x[None])[0]])
def test_values_inside_transforms(transform: Any) -> None:
    shapes = [(2,), (), (1, 3)]

    def doubled(vector: Any) -> Any:
        return joined([2 * part for part in split(vector, shapes)])

    x = np.arange(6.0)
    np.testing.assert_array_equal(transform(doubled)(x), 2 * x)
    np.testing.assert_array_equal(wg.jacobian(doubled)(x), 2 * np.eye(6))


def test_dtypes() -> None:
    single = np.ones(2, np.float32)
    assert joined([single, single]).dtype == np.float32
    assert joined([single, np.ones(1)]).dtype == np.float64
    assert joined([1, single], np.dtype(np.float64)).dtype == np.float64
    assert joined([]).shape == (0,)
