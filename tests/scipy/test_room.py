"""`wengert.scipy` as a whole: its names, what it loads, and what errors of SciPy's functions say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import scipy as own
from wengert.engine.array.substitutes import SUBSTITUTES, name_of_substitute, substitute_for

theirs = pytest.importorskip("scipy")

MODULES = (
    own.fft,
    own.integrate,
    own.interpolate,
    own.linalg,
    own.ndimage,
    own.signal,
    own.spatial,
    own.spatial.distance,
    own.stats,
)
LOADED = """
import sys
import wengert as wg
assert "wengert.scipy" not in sys.modules
wg.scipy.linalg.expm([[0.0]]), wg.scipy.integrate.simpson([1.0, 2.0, 3.0]), wg.scipy.spatial.distance.pdist([[1.0]])
assert "scipy" not in sys.modules
wg.scipy.stats.expon.logpdf(1.0, 2.0), wg.scipy.stats.norm.pdf(1.0), wg.scipy.stats.norm.cdf(1.0)
assert "scipy" not in sys.modules
wg.scipy.linalg.hilbert, wg.scipy.optimize.brentq
assert "scipy.linalg" in sys.modules
"""


def test_scipy_loads_when_it_is_needed() -> None:
    subprocess.run([sys.executable, "-c", LOADED], check=True)


def test_other_names_are_scipys() -> None:
    assert own.optimize is theirs.optimize
    assert own.linalg.hadamard is theirs.linalg.hadamard
    assert own.fft.set_workers is theirs.fft.set_workers
    assert own.integrate.quad is theirs.integrate.quad
    assert own.interpolate.griddata is theirs.interpolate.griddata
    assert own.ndimage.label is theirs.ndimage.label
    assert own.signal.butter is theirs.signal.butter
    assert own.spatial.ConvexHull is theirs.spatial.ConvexHull
    assert own.spatial.distance.jaccard is theirs.spatial.distance.jaccard
    for module in (own, *MODULES):
        assert set(module.__all__) == set(dir(module))
        with pytest.raises(
            AttributeError, match=f"module '{module.__name__}' has no attribute 'nothing', nor has"
        ):
            module.nothing  # noqa: B018
        with pytest.raises(AttributeError):
            module._nothing  # noqa: B018


def test_each_name_stands_for_scipys_of_that_name() -> None:
    for module in MODULES:
        for name in module.__all__:
            function = getattr(module, name)
            if callable(function):
                full = f"{module.__name__.removeprefix('wengert.')}.{name}"
                assert SUBSTITUTES[full] is function
    substitute_for(theirs.stats.norm)  # enters what comes with SciPy's modules
    for name, function in list(SUBSTITUTES.items()):
        value: Any = theirs
        for part in name.split(".")[1:]:
            value = getattr(value, part, None)
        if value is not None:  # this version of SciPy has it
            assert substitute_for(value) is function
    assert substitute_for(theirs.stats.norm(1.0, 2.0).cdf) is SUBSTITUTES["scipy.stats.norm.cdf"]
    assert name_of_substitute(own.linalg.expm) == "wengert.scipy.linalg.expm"
    assert substitute_for(theirs.linalg.hadamard) is None


X = np.eye(3) + 0.1
CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "expm": (lambda x: theirs.linalg.expm(x), "scipy.linalg.expm"),
    "solve_triangular": (lambda x: theirs.linalg.solve_triangular(x, x), "scipy.linalg.solve_triangular"),
    "cho_factor": (lambda x: theirs.linalg.cho_factor(x)[0], "scipy.linalg.cho_factor"),
    "toeplitz": (lambda x: theirs.linalg.toeplitz(x[0]), "scipy.linalg.toeplitz"),
    "block_diag": (lambda x: theirs.linalg.block_diag(x, x), "scipy.linalg.block_diag"),
    "fft": (lambda x: np.abs(theirs.fft.fft(x)), "scipy.fft.fft"),
    "dctn": (lambda x: theirs.fft.dctn(x), "scipy.fft.dctn"),
    "map_coordinates": (
        lambda x: theirs.ndimage.map_coordinates(x, x[:, None]),
        "scipy.ndimage.map_coordinates",
    ),
    "gaussian_filter": (lambda x: theirs.ndimage.gaussian_filter(x, 1.0), "scipy.ndimage.gaussian_filter"),
    "CubicSpline": (
        lambda x: theirs.interpolate.CubicSpline(np.arange(3.0), x),
        "scipy.interpolate.CubicSpline",
    ),
    "interp1d": (lambda x: theirs.interpolate.interp1d(np.arange(3.0), x)(0.5), "scipy.interpolate.interp1d"),
    "lfilter": (lambda x: theirs.signal.lfilter([1.0], x[0], x[1]), "scipy.signal.lfilter"),
    "fftconvolve": (lambda x: theirs.signal.fftconvolve(x, x), "scipy.signal.fftconvolve"),
    "simpson": (lambda x: theirs.integrate.simpson(x[0]), "scipy.integrate.simpson"),
    "cdist": (lambda x: theirs.spatial.distance.cdist(x, x), "scipy.spatial.distance.cdist"),
    "euclidean": (
        lambda x: theirs.spatial.distance.euclidean(x[0], x[1]),
        "scipy.spatial.distance.euclidean",
    ),
    "norm.logpdf": (lambda x: theirs.stats.norm.logpdf(x), "scipy.stats.norm.logpdf"),
    "norm.cdf of a location": (lambda x: theirs.stats.norm.cdf(1.0, x[0]), "scipy.stats.norm.cdf"),
    "frozen.sf": (lambda x: theirs.stats.expon(0.0, 2.0).sf(x), "scipy.stats.expon.sf"),
    "distance_matrix": (lambda x: theirs.spatial.distance_matrix(x, x), "scipy.spatial.distance_matrix"),
}


@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("without_substitutes")
def test_errors_of_scipys_functions_name_what_to_write(name: str, transform: Any) -> None:
    call, written = CALLS[name]
    with pytest.raises(
        wg.WengertError, match=rf"SciPy computes with plain arrays: write wengert\.{written}[.;]"
    ):
        transform(lambda x: np.sum(call(x)))(X)
