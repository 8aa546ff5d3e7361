"""Draws have the documented distributions, also in the tails, and derivatives with respect to their parameters."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import random
from wengert.engine.core.errors import ShapeError
from wengert.testing import check_grads

stats = pytest.importorskip("scipy.stats")

COUNT = 50_000
#: The probability that a test fails for a correct generator; all keys are fixed, so that a test fails always or never.
LEVEL = 1e-4
DISTRIBUTIONS = {
    "uniform": (lambda key, dtype: random.uniform(key, COUNT, dtype=dtype), stats.uniform()),
    "uniform -1 3": (lambda key, dtype: random.uniform(key, COUNT, -1, 3, dtype), stats.uniform(-1, 4)),
    "normal": (lambda key, dtype: random.normal(key, COUNT, dtype=dtype), stats.norm()),
    "normal 2 3": (lambda key, dtype: random.normal(key, COUNT, 2.0, 3.0, dtype), stats.norm(2, 3)),
    "exponential": (lambda key, dtype: random.exponential(key, COUNT, 0.5, dtype), stats.expon(0, 0.5)),
    "gumbel": (lambda key, dtype: random.gumbel(key, COUNT, dtype), stats.gumbel_r()),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("seed", [0, 2**40 + 1])
def test_distributions(name, dtype, seed):
    draw, distribution = DISTRIBUTIONS[name]
    drawn = draw(random.key(seed), dtype)
    assert drawn.dtype == dtype
    assert stats.kstest(drawn.astype(float), distribution.cdf).pvalue > LEVEL
    error = abs(np.mean(drawn, dtype=float) - distribution.mean()) / distribution.std()
    assert error < 4 / np.sqrt(COUNT)
    assert abs(np.std(drawn, dtype=float) / distribution.std() - 1) < 12 / np.sqrt(COUNT)


def test_neighbours_keys_and_dtypes_are_independent():
    """Neighbouring numbers, draws of neighbouring seeds and draws of split keys are not correlated."""
    first, second = random.split(random.key(1))
    series = [random.normal(key, COUNT) for key in (random.key(1), random.key(2), first, second)]
    pairs = [(left, right) for i, left in enumerate(series) for right in series[:i]]
    pairs += [(left[:-lag], left[lag:]) for left in series for lag in (1, 2, 64)]
    for left, right in pairs:
        for power in (1, 2):
            assert abs(np.corrcoef(left**power, right**power)[0, 1]) < 4.5 / np.sqrt(COUNT)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tails_of_the_normal_distribution(dtype):
    """The numbers of draws beyond two, three and four standard deviations are right, on either side."""
    drawn = wg.jit(lambda key: random.normal(key, 1_000_000, dtype=dtype))(random.key(5))
    for bound in (2.0, 3.0, 4.0):
        for count in (np.sum(drawn > bound), np.sum(drawn < -bound)):
            expected = stats.norm.sf(bound) * drawn.size
            assert abs(count - expected) < 4 * np.sqrt(expected)


@pytest.mark.parametrize(("dtype", "reach"), [(np.float32, 6.7), (np.float64, 9.4)])
def test_the_ends_of_the_distributions(monkeypatch, dtype, reach):
    """The lowest and the highest block, which a test never draws, give finite numbers."""
    from wengert.random import sampling

    for block in (0, 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1):
        monkeypatch.setattr(sampling, "blocks", lambda operation, key, shape, first=0, b=block: np.uint64(b))
        unit = random.uniform(random.key(0), dtype=dtype)
        assert 0 <= unit < 1
        drawn = [random.normal, random.exponential, random.gumbel]
        values = [draw(random.key(0), dtype=dtype) for draw in drawn]
        assert all(np.isfinite(values))
        assert abs(values[0]) <= reach + 0.1
    monkeypatch.setattr(sampling, "blocks", lambda operation, key, shape, first=0: np.uint64(0))
    assert abs(random.normal(random.key(0), dtype=dtype)) > reach


def test_parameters_broadcast_to_the_shape():
    key, low, high = random.key(0), np.array([[0.0], [10.0]]), np.array([1.0, 2.0, 3.0])
    drawn = random.uniform(key, None, low, low + high)
    assert drawn.shape == (2, 3)
    np.testing.assert_array_equal(drawn, random.uniform(key, (2, 3), low, low + high))
    assert np.all((low <= drawn) & (drawn < low + high))
    for draw in (
        lambda: random.uniform(key, (2,), np.zeros(3)),
        lambda: random.normal(key, (), np.zeros(1)),
        lambda: random.normal(key, (3,), 0.0, np.ones((2, 3))),
        lambda: random.exponential(key, (1,), np.ones(2)),
    ):
        with pytest.raises(ShapeError):
            draw()


def test_derivatives_in_the_parameters():
    key = random.key(2)
    check_grads(lambda low, high: random.uniform(key, (3,), low, high), (0.5, np.array([1.0, 2.0, 3.0])))
    check_grads(
        lambda mean, deviation: random.normal(key, (2, 2), mean, deviation), (1.0, np.array([2.0, 0.5]))
    )
    check_grads(lambda scale: random.exponential(key, 4, scale), (1.5,))
    gradient = wg.jit(wg.grad(lambda s: np.sum(random.normal(key, 5, 0.0, s) ** 2)))(3.0)
    np.testing.assert_allclose(gradient, 2 * 3.0 * np.sum(random.normal(key, 5) ** 2))
