"""Posteriors whose means are known: the references, those that are published, and the draws of `nuts`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.benchmarks import benchmark
from wengert.random import key

pytest.importorskip("scipy")
posteriors: Any = benchmark("problems.posteriors")
QUICK = ("births", "eight schools")
PUBLISHED = [
    ("light", {"mean": 26.2}, 0.05),  # Gelman and others, "Bayesian Data Analysis"
    ("births", {"share": 0.446}, 5e-4),
    ("stack loss", {"air flow": 0.7156, "water": 1.2953, "acid": -0.1521}, 1e-4),  # Brownlee's estimates
    ("rats", {"growth": 6.186, "at birth": 106.6, "deviation": 6.09}, 0.05),  # the examples of BUGS
]


def drawn(name: str, seed: int) -> Any:
    p = posteriors.PROBLEMS[name]
    return wg.fit.nuts(p.logdensity, p.start, key(seed), draws=p.draws, target=p.target)


@pytest.mark.parametrize(("name", "expected", "error"), PUBLISHED)
def test_references_are_the_published_means(name: str, expected: dict[str, float], error: float) -> None:
    found = posteriors.PROBLEMS[name].reference()
    for quantity, value in expected.items():
        assert found[quantity] == pytest.approx(value, abs=error)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in QUICK)) for n in posteriors.PROBLEMS]
)
def test_means_are_the_references(name: str) -> None:
    samples = drawn(name, 1)
    assert samples.warnings == []
    for each in posteriors.compared(posteriors.PROBLEMS[name], samples).values():
        assert abs(each.error) < 4
        assert each.size > 2000


@pytest.mark.slow
def test_standard_errors_are_those_of_the_means() -> None:
    """The errors of other seeds, in standard errors, have the mean square 1."""
    errors = list[float]()
    for p in posteriors.PROBLEMS.values():
        reference, density = p.reference(), wg.jit(p.logdensity)
        once = p._replace(reference=lambda reference=reference: reference)
        for seed in range(2, 10):
            samples = wg.fit.nuts(density, p.start, key(seed), draws=p.draws, target=p.target)
            errors += [each.error for each in posteriors.compared(once, samples).values()]
    assert 0.8 < np.sqrt(np.mean(np.square(errors))) < 1.2
