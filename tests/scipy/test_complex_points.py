"""SciPy's functions on complex points: SciPy's value and dtype, or an error, and never a lost imaginary part."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME

special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")

Z = np.array([0.3 + 0.4j, 0.6 - 0.2j])
REAL = (1.5, 0.7, 0.5, 2.5, 0.6)
DISTRIBUTIONS = (
    "norm",
    "expon",
    "gamma",
    "beta",
    "uniform",
    "t",
    "cauchy",
    "laplace",
    "lognorm",
    "chi2",
    "poisson",
)
METHODS = ("pdf", "logpdf", "logpmf", "cdf", "sf", "ppf", "logcdf", "isf")


def calls() -> dict[str, Callable[[Any], Any]]:
    """Return each function of one complex point among real numbers."""
    found: dict[str, Callable[[Any], Any]] = {}
    ufuncs = {name: getattr(special, name, None) for name in sorted(BY_NAME)}
    for name, ufunc in ufuncs.items():
        for place in range(ufunc.nin if isinstance(ufunc, np.ufunc) else 0):
            found[f"{name} {place}"] = lambda z, f=ufunc, place=place: f(
                *(z if i == place else REAL[i] for i in range(f.nin))
            )
    for name in DISTRIBUTIONS:
        family = getattr(stats, name)
        for method in METHODS:
            if hasattr(family, method):
                found[f"{name}.{method}"] = lambda z, f=family, m=method: getattr(f, m)(z, *REAL[: f.numargs])
    return found


CALLS = calls()


def outcome(run: Callable[..., Any], *arguments: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return run(*arguments)
        except Exception as problem:
            return problem


def compare(name: str, mode: Callable[..., Any]) -> None:
    expected, actual = outcome(CALLS[name], Z), outcome(mode, CALLS[name])
    if isinstance(actual, Exception):
        assert isinstance(actual, wg.WengertError), f"{name}: {actual!r}"
        return
    assert not isinstance(expected, Exception), f"{name}: SciPy raises {expected!r}, Wengert gives {actual}"
    assert np.asarray(actual).dtype == np.asarray(expected).dtype, name
    np.testing.assert_allclose(actual, expected, rtol=1e-10, err_msg=name)


def test_values_on_a_tape() -> None:
    for name in CALLS:
        compare(name, lambda f: wg.vjp(f, Z)[0])


def test_values_in_a_batch() -> None:
    for name in list(CALLS)[:: max(1, len(CALLS) // many(200))]:
        compare(name, lambda f: wg.vmap(f)(np.stack([Z, Z]))[1])


def test_compiled_values() -> None:
    for name in list(CALLS)[:: max(1, len(CALLS) // many(40))]:
        compare(name, lambda f: wg.jit(f)(Z))


@pytest.mark.parametrize("name", ["exp1", "expi", "psi", "loggamma", "gamma", "spence"])
def test_slopes_at_poles_are_not_finite(name: str) -> None:
    """Of Python's numbers, too, which raise errors where they are divided by 0."""
    function = getattr(special, name)
    for z in (0j, np.complex128(0)):
        assert not np.isfinite(wg.grad(function, holomorphic=True)(z)), z
