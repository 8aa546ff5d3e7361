"""Statistics of samples of `wengert.scipy.stats` against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.scipy.checks import check, close
from wengert.engine.core.errors import WengertError
from wengert.scipy import stats

theirs = pytest.importorskip("scipy.stats")

RNG = np.random.default_rng(32)
A = RNG.uniform(0.5, 2.0, (3, 5))
B = RNG.uniform(0.5, 2.0, (3, 5))
W = RNG.uniform(0.5, 1.5, (3, 5))

CALLS: dict[str, tuple[Any, ...]] = {
    "gmean": (lambda m, a: m.gmean(a, axis=1), A),
    "gmean weighted": (lambda m, a, w: m.gmean(a, axis=None, weights=w), A, W),
    "hmean": (lambda m, a: m.hmean(a), A),
    "hmean weighted": (lambda m, a, w: m.hmean(a, axis=1, weights=w), A, W),
    "sem": (lambda m, a: (m.sem(a), m.sem(a, axis=None, ddof=0)), A),
    "variation": (lambda m, a: m.variation(a, axis=1, ddof=1), A),
    "zscore": (lambda m, a: (m.zscore(a, axis=1), m.zscore(a, axis=None, ddof=1)), A),
    "skew": (lambda m, a: (m.skew(a, axis=1), m.skew(a, axis=1, bias=False)), A),
    "kurtosis": (lambda m, a: (m.kurtosis(a, axis=1), m.kurtosis(a, 1, False, False)), A),
    "circmean": (lambda m, a: (m.circmean(a, axis=1), m.circmean(a, 2.0, -1.0, nan_policy="omit")), A),
    "circvar": (lambda m, a: (m.circvar(a), m.circvar(a, axis=0, keepdims=True)), A),
    "circstd": (lambda m, a: (m.circstd(a, 360.0, axis=(0, 1)), m.circstd(a, 3, axis=1, normalize=True)), A),
    "describe": (lambda m, a: tuple(m.describe(a, axis=1))[1:], A),
    "entropy": (
        lambda m, a, b: (m.entropy(a, base=2), m.entropy(a, b, axis=1), m.entropy(a, axis=None)),
        A,
        B,
    ),
    "linregress": (lambda m, a, b: tuple(m.linregress(a[0], b[0])), A, B),
    "linregress error": (lambda m, a, b: m.linregress(a[0], b[0]).intercept_stderr, A, B),
    "pearsonr": (lambda m, a, b: tuple(m.pearsonr(a[0], b[0])), A, B),
    "pearsonr of rows": (lambda m, a, b: tuple(m.pearsonr(a, b, axis=1, alternative="less")), A, B),
    "pearsonr greater": (lambda m, a, b: m.pearsonr(a[1], b[1], alternative="greater").pvalue, A, B),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str) -> None:
    call, *arguments = CALLS[name]
    check(lambda *x: call(stats, *x), lambda *x: call(theirs, *x), *arguments, rtol=1e-11, order=2)


def test_forms_of_arguments() -> None:
    for call in (
        lambda m: m.gmean([1, 2, 4]),
        lambda m: m.gmean(A.astype(np.float32), dtype=np.float64),
        lambda m: m.hmean(A, axis=1, weights=W[0], keepdims=True),
        lambda m: m.skew(A, axis=1, keepdims=True),
        lambda m: m.zscore(np.arange(4)),
        lambda m: m.sem(A.astype(np.float32)),
        lambda m: m.describe([1, 2, 6]).mean,
        lambda m: m.pearsonr([1, 2], [3, 1]).pvalue,
        lambda m: tuple(m.linregress([1.0, 2.0], [3.0, 1.0])),
        lambda m: m.entropy([0.0, 1.0, 3.0], [0.5, 0.5, 1.0], keepdims=True),
    ):
        close(call(stats), call(theirs), 1e-6)
    assert stats.describe(A).nobs == theirs.describe(A).nobs
    assert np.isnan(stats.skew(np.ones(4)))
    r = np.array([1.0, 2.0, 3.0])
    assert stats.pearsonr(r, 2 * r).statistic == pytest.approx(1.0, rel=1e-15)
    slope = wg.grad(lambda x: stats.pearsonr(x, 2 * r).statistic)(r)
    np.testing.assert_allclose(slope, np.zeros(3), atol=1e-15)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("change", [lambda f: f, wg.jit])
def test_angles_that_are_one(count: int, change: Any) -> None:
    """The spread is 0 there, and it is not where SciPy's length of the mean vector rounds to 1."""
    for function in (stats.circstd, stats.circvar):
        value, slope = change(wg.value_and_grad(function))(np.full(count, 0.3))
        np.testing.assert_allclose([value, *slope], 0.0, atol=1e-15)
    near = 0.3 + 1e-10 * np.arange(count)
    value, slope = change(wg.value_and_grad(stats.circstd))(near)
    np.testing.assert_allclose(value, np.std(near), atol=1e-16)
    np.testing.assert_allclose(slope, wg.grad(np.std)(near), atol=1e-5)
    missing = np.array([0.3, np.nan, 0.7])
    assert stats.circstd(missing, nan_policy="omit") == stats.circstd(missing[::2])
    assert np.isnan(stats.circstd(missing))


def test_errors_name_the_function() -> None:
    for call, text in (
        (lambda: stats.skew(A, nan_policy="omit"), r"scipy\.stats\.skew: nan_policy must be 'propagate'"),
        (lambda: stats.pearsonr(A[0], B[0], alternative="more"), "pearsonr: alternative must be"),
        (lambda: stats.pearsonr(A[0], B[0, :3]), "pearsonr: two or more pairs of samples are required"),
        (lambda: stats.pearsonr(A[0], B[0], method=1), "pearsonr: method must be None"),
        (lambda: stats.gmean(A, axis=2), "gmean"),
        (lambda: stats.circvar(A, nan_policy="raise"), r"circvar: nan_policy must be 'propagate' or 'omit'"),
    ):
        with pytest.raises(WengertError, match=text):
            call()
