"""Truth values, integers, orders and elements have the right probabilities; invalid arguments raise."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import random
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError
from wengert.random.sampling import _product

stats = pytest.importorskip("scipy.stats")
COUNT = 40_000


def assert_frequencies(drawn, probabilities):
    """Use Pearson's test; elements with probability zero must not occur."""
    counts = np.bincount(np.ravel(drawn), minlength=len(probabilities))
    expected = np.asarray(probabilities) * counts.sum()
    assert len(counts) == len(expected)
    assert np.all(counts[expected == 0] == 0)
    possible = expected > 0
    if np.sum(possible) > 1:
        assert stats.chisquare(counts[possible], expected[possible]).pvalue > 1e-4


# -- truth values and integers ---------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 1e-3, 0.3, 1.0, np.float32(0.7)])
def test_bernoulli(p):
    drawn = random.bernoulli(random.key(1), p, COUNT)
    assert drawn.dtype == bool
    assert_frequencies(drawn, [1 - p, p])


def test_bernoulli_of_an_array():
    p = np.array([[0.0, 1.0, 0.5]])
    drawn = random.bernoulli(random.key(1), p, (1000, 3))
    assert random.bernoulli(random.key(1), p).shape == (1, 3)
    np.testing.assert_allclose(drawn.mean(0), p[0], atol=0.06)
    for wrong in (-0.1, 1.5, np.nan, np.array([0.5, 2.0])):
        with pytest.raises(ArgumentError, match=r"\[0, 1\]"):
            random.bernoulli(random.key(1), wrong)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 7), (-3, 4), (100, 228)])
def test_randint(low, high):
    drawn = random.randint(random.key(6), COUNT, low, high)
    assert drawn.dtype == np.int64
    assert_frequencies(drawn - low, np.full(high - low, 1 / (high - low)))


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (-(2**63), 2**63 - 1, np.int64),
        (0, 3 * 2**62, np.uint64),
        (2**63 - 5, 2**63, np.int64),
        (-128, 128, np.int8),
        (0, 256, np.uint8),
        (2**64 - 3, 2**64, np.uint64),
        (-(2**31), 2**31, np.int32),
    ],
)
def test_wide_ranges_of_integers(low, high, dtype):
    """Each quarter of the range is equally frequent, which remainders of 64 bits are not."""
    drawn = random.randint(random.key(6), COUNT, low, high, dtype)
    assert drawn.dtype == dtype
    values = drawn.astype(object)
    assert min(values) >= low
    assert max(values) < high
    parts = min(4, high - low)
    assert_frequencies(np.array([(v - low) * parts // (high - low) for v in values]), sizes(low, high, parts))
    compiled = wg.jit(lambda key: random.randint(key, COUNT, low, high, dtype))
    np.testing.assert_array_equal(compiled(random.key(6)), drawn)


def sizes(low, high, parts):
    borders = [-(-(high - low) * i // parts) for i in range(parts + 1)]
    return np.diff(np.array(borders, dtype=float)) / float(high - low)


def test_products_of_64_bits(rng):
    """Both halves equal those of Python's integers, also at the edges."""
    edges = [0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1]
    numbers = np.array([*edges, *rng.integers(0, 2**64, 20, np.uint64).tolist()], np.uint64)
    x, y = np.meshgrid(numbers, numbers)
    upper, lower = _product(x, y)
    exact = x.astype(object) * y.astype(object)
    assert np.all(upper.astype(object) * 2**64 + lower.astype(object) == exact)


def test_traced_bounds():
    draw = wg.jit(lambda key, low, high: random.randint(key, (1000,), low, high))
    np.testing.assert_array_equal(draw(random.key(0), -2, 9), random.randint(random.key(0), 1000, -2, 9))
    assert set(draw(random.key(0), 5, 5)) == {5}
    assert set(draw(random.key(0), 5, -5)) == {5}
    low, high = np.array([0, 10, 20]), np.array([1, 12, 2**40])
    drawn = random.randint(random.key(0), (500, 3), low, high)
    assert np.all((low <= drawn) & (drawn < high))
    assert random.randint(random.key(0), None, low, high).shape == (3,)


def test_invalid_bounds():
    key = random.key(0)
    for low, high in ((3, 3), (4, 3), (np.array([0, 5]), 5)):
        with pytest.raises(ArgumentError, match="low must be below high"):
            random.randint(key, None, low, high)
    for low, high, dtype in ((0, 257, np.uint8), (-1, 5, np.uint8), (0, 2**31 + 1, np.int32)):
        with pytest.raises(ArgumentError, match="numbers must be of"):
            random.randint(key, 3, low, high, dtype)
    with pytest.raises(ArgumentError, match="bits"):
        random.randint(key, 3, -(2**63), 2**63)
    for low, high, dtype in ((0.0, 5, int), (0, 5.0, int), (0, 5, float)):
        with pytest.raises(DtypeError, match="integer"):
            random.randint(key, 3, low, high, dtype)
    with pytest.raises(ShapeError, match="broadcast"):
        random.randint(key, 3, 0, np.array([4, 5]))


# -- orders and elements ---------------------------------------------------------------------------------


def test_permutations_are_equally_likely():
    keys = random.split(random.key(3), 24 * 200)
    orders = wg.vmap(lambda key: random.permutation(key, 4))(keys)
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.broadcast_to(np.arange(4), orders.shape))
    assert_frequencies(np.unique(orders, axis=0, return_inverse=True)[1].ravel(), np.full(24, 1 / 24))


def test_permuted_arrays(rng):
    x = rng.standard_normal((3, 5))
    for axis in (0, 1, -1):
        drawn = random.permutation(random.key(1), x, axis)
        order = random.permutation(random.key(1), x.shape[axis])
        np.testing.assert_array_equal(drawn, np.take(x, order, axis))
    np.testing.assert_array_equal(
        wg.grad(lambda x: np.sum(random.permutation(random.key(1), x)[0] * 2))(x).sum(), 10
    )
    assert random.permutation(random.key(1), 0).shape == (0,)
    with pytest.raises(IndexError, match="axis"):
        random.permutation(random.key(1), x, 2)
    with pytest.raises(ArgumentError, match="must be >= 0"):
        random.permutation(random.key(1), -1)
    with pytest.raises(DtypeError, match="an integer or an array"):
        random.permutation(random.key(1), 2.5)


@pytest.mark.parametrize("p", [None, [0.1, 0.0, 0.6, 0.3], [0.0, 0.5, 0.5, 0.0]], ids=str)
def test_choice(p):
    drawn = random.choice(random.key(2), 4, COUNT, p=p)
    assert drawn.dtype == np.int64
    assert_frequencies(drawn, p or np.full(4, 0.25))
    traced = wg.jit(lambda key, p: random.choice(key, 4, 100, p=p))
    if p:
        np.testing.assert_array_equal(
            traced(random.key(2), np.array(p)), random.choice(random.key(2), 4, 100, p=p)
        )


def test_choice_without_replacement():
    keys = random.split(random.key(2), 12_000)
    for p in (None, [0.1, 0.2, 0.3, 0.4]):
        drawn = wg.vmap(lambda key, p=p: random.choice(key, 4, 2, replace=False, p=p))(keys)
        assert np.all(drawn[:, 0] != drawn[:, 1])
        w = np.array(p or [0.25] * 4)
        pairs = np.where(np.eye(4), 0, w[:, None] * w / (1 - w[:, None]))  # one after the other
        assert_frequencies(4 * drawn[:, 0] + drawn[:, 1], pairs.ravel())


def test_chosen_elements(rng):
    x = rng.standard_normal((3, 5))
    drawn = random.choice(random.key(0), x, (2, 2), axis=1)
    positions = random.choice(random.key(0), 5, (2, 2))
    np.testing.assert_array_equal(drawn, x[:, positions])
    assert sorted(random.choice(random.key(0), x[0], 5, replace=False)) == sorted(x[0])


def test_invalid_choices():
    key = random.key(0)
    with pytest.raises(ArgumentError, match="3 elements"):
        random.choice(key, 3, 4, replace=False)
    with pytest.raises(ArgumentError, match="0 elements"):
        random.choice(key, np.zeros((0, 2)), 1)
    assert random.choice(key, 0, 0).shape == (0,)
    for p in ([0.5, 0.6], [-0.5, 1.5], [np.nan, 1.0]):
        with pytest.raises(ArgumentError, match="sum to 1"):
            random.choice(key, 2, p=p)
    with pytest.raises(ShapeError, match="probability for each"):
        random.choice(key, 3, p=[0.5, 0.5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_categorical(dtype):
    p = np.array([0.1, 0.2, 0.0, 0.7])
    with np.errstate(divide="ignore"):
        logits = (np.log(p) + 3.0).astype(dtype)
    drawn = random.categorical(random.key(7), logits, COUNT)
    assert drawn.dtype == np.int64
    assert_frequencies(drawn, p)
    rows = np.stack([logits, logits[::-1]])
    for axis, given in ((-1, rows), (0, rows.T)):
        many = random.categorical(random.key(7), given, (COUNT, 2), axis)
        assert_frequencies(many[:, 0], p)
        assert_frequencies(many[:, 1], p[::-1])
        assert random.categorical(random.key(7), given, axis=axis).shape == (2,)


def test_invalid_categories():
    for logits in (1.0, np.zeros((2, 0))):
        with pytest.raises(ShapeError, match="alternative"):
            random.categorical(random.key(0), logits)
    with pytest.raises(ShapeError, match="broadcast"):
        random.categorical(random.key(0), np.zeros((3, 4)), 2)
