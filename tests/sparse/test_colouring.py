"""Colourings: valid on drawn patterns, and few colours on those of practice."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from tests.draws import examples
from wengert.sparse.colouring import colour, colour_star
from wengert.sparse.compression import compress


def csr(matrix: Any) -> Any:
    pattern = scipy.sparse.csr_array(matrix).astype(bool)
    pattern.sort_indices()
    return pattern


def drawn(seed: int, *, square: bool) -> Any:
    rng = np.random.default_rng(seed)
    height, width = rng.integers(0, 15, 2)
    shape = (height, height) if square else (height, width)
    return rng.random(shape) < rng.random() ** 2


def products(matrix: Any, colouring: Any) -> tuple[Any, Any]:
    """Return the products of a matrix with the directions of a colouring, from the right and from the left."""

    def directions(colours: Any, count: int) -> Any:
        return (np.arange(count)[:, None] == colours).astype(float)

    right = left = None
    if colouring.columns is not None:
        right = directions(colouring.columns, colouring.column_count) @ matrix.T
    if colouring.rows is not None:
        left = directions(colouring.rows, colouring.row_count) @ matrix
    return right, left


def recovered(matrix: Any, colouring: Any) -> Any:
    compression = compress(csr(matrix), colouring)
    every = [product.ravel() for product in products(matrix, colouring) if product is not None]
    return np.concatenate(every)[compression.places]


@pytest.mark.parametrize("mode", ["forward", "reverse", "both", "auto"])
@examples(300)
@given(seed=st.integers(0, 2**31))
def test_every_element_is_read_from_the_products(mode: str, seed: int) -> None:
    pattern = drawn(seed, square=False)
    matrix = np.where(pattern, np.random.default_rng(seed).normal(size=pattern.shape), 0.0)
    colouring = colour(csr(pattern), mode)
    assert np.array_equal(recovered(matrix, colouring), matrix[pattern])
    assert colouring.direction == mode or mode in ("auto", "both")


@examples(300)
@given(seed=st.integers(0, 2**31))
def test_star_colouring_has_no_path_of_four_vertices_with_two_colours(seed: int) -> None:
    pattern = drawn(seed, square=True)
    pattern |= pattern.T
    matrix = np.where(pattern, np.random.default_rng(seed).normal(size=pattern.shape), 0.0)
    matrix = matrix + matrix.T
    colouring = colour_star(csr(pattern))
    assert np.allclose(recovered(matrix, colouring), matrix[pattern], rtol=1e-15)
    colours = colouring.columns
    near = [set(np.flatnonzero(row)) - {vertex} for vertex, row in enumerate(pattern)]
    for v, w in itertools.permutations(range(len(near)), 2):
        if w in near[v]:
            assert colours[v] != colours[w]
            for x in near[w] - {v}:
                assert colours[x] != colours[v] or all(colours[y] != colours[w] for y in near[x] - {w})


def grid(height: int, width: int) -> Any:
    """Return the pattern of a five-point stencil."""

    def line(count: int) -> Any:
        return scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(count, count))

    identity = scipy.sparse.eye_array
    return csr(
        scipy.sparse.kron(line(height), identity(width)) + scipy.sparse.kron(identity(height), line(width))
    )


def arrowhead(count: int) -> Any:
    matrix = np.eye(count)
    matrix[0] = matrix[:, 0] = 1
    return csr(matrix)


def tridiagonal(count: int) -> Any:
    return csr(scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(count, count)))


@pytest.mark.parametrize(
    ("pattern", "most", "most_of_a_star"),
    [
        (tridiagonal(500), 3, 3),
        (grid(20, 31), 6, 6),
        (grid(32, 32), 6, 6),
        (arrowhead(200), 3, 2),
        (csr(np.eye(40)), 1, 1),
        (csr(np.kron(np.eye(9), np.ones((4, 4)))), 4, 4),
        (csr(np.ones((7, 7))), 7, 7),
    ],
)
def test_few_colours_are_needed(pattern: Any, most: int, most_of_a_star: int) -> None:
    assert colour(pattern, "auto").count <= most
    assert colour_star(pattern).count <= most_of_a_star


def test_dense_rows_and_columns_are_derived_from_both_sides() -> None:
    pattern = np.eye(50, dtype=bool)
    pattern[[7, 31]] = pattern[:, [3, 9, 20]] = True
    colouring = colour(csr(pattern), "auto")
    assert colouring.direction == "both"
    assert colouring.count <= 6
    flipped = colour(csr(pattern.T), "auto")
    assert flipped.direction == "both"
    assert flipped.count <= 6
    assert colour(csr(pattern), "forward").count == 50
