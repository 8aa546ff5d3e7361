"""Functions of SciPy and polynomials of NumPy that are written in Python: the second run has copies of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Polynomial, chebyshev, legendre

import wengert as wg

pytest.importorskip("scipy")

from scipy import linalg, ndimage, optimize, signal, special, stats

U = np.array([1.3, 0.7, 0.8, 1.9, 2.2, 0.4])
V = np.array([0.3, 1.1, 2.4, 0.9, 1.6, 0.2])
GRID = np.arange(1.0, 17.0).reshape(4, 4) ** 1.3
LABELS = np.array([[1, 1, 2, 2]] * 4)
POINT = 0.7
RNG = np.random.default_rng(0)

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "Polynomial": lambda x: (Polynomial([x, 1.0, 2.0]) * Polynomial([1.0, x])).deriv().integ()(0.3),
    "Chebyshev": lambda x: Chebyshev([x, 1.0, 2.0])(x),
    "chebval": lambda x: chebyshev.chebval(0.3, [x, 1.0, x]),
    "chebfit": lambda x: chebyshev.chebfit(np.arange(4.0), x * U[:4], 2)[1],
    "legint": lambda x: legendre.legint([1.0, x, 2.0 * x]).sum(),
    "path of a class": lambda x: np.polynomial.Polynomial([x, 1.0, x])(2.0),
    "path of a function": lambda x: np.polynomial.legendre.legval(x, x * U),
    "rosen": lambda x: optimize.rosen(x * U) + optimize.rosen_der(x * U).sum(),
    "chirp": lambda x: signal.chirp(x, 1.0, 2.0, 3.0) + signal.sawtooth(x) + signal.gausspulse(x, fc=2),
    "decimate": lambda x: signal.decimate(x * np.arange(60.0), 2)[5],
    "medfilt": lambda x: signal.medfilt(x * U, 3).sum(),
    "wiener": lambda x: signal.wiener(x * U + U**2, 3).sum(),
    "firwin": lambda x: signal.firwin(5, x)[1],
    "freqs": lambda x: np.abs(signal.freqs([x, 1.0], [1.0, x], worN=[1.0, 2.0])[1]).sum(),
    "deconvolve": lambda x: signal.deconvolve(x * U, [1.0, 2.0])[0].sum(),
    "windows": lambda x: signal.windows.gaussian(5, x).sum() + signal.windows.tukey(9, x).sum(),
    "kaiser": lambda x: signal.windows.kaiser(8, x).sum() + signal.firwin(7, 0.3, window=("kaiser", x))[2],
    "cosines": lambda x: (
        signal.windows.general_hamming(9, x).sum() + signal.windows.taylor(9, 4, 30 + x).sum()
    ),
    "ndimage.mean": lambda x: ndimage.mean(x * GRID, LABELS, [1, 2]).sum() + ndimage.sum(x * GRID, LABELS, 1),
    "ndimage.center_of_mass": lambda x: ndimage.center_of_mass(GRID**x, LABELS, [1, 2])[1][0],
    "center_of_mass of one part": lambda x: ndimage.center_of_mass(GRID**x, LABELS, 1)[1],
    "ndimage.maximum": lambda x: ndimage.maximum(x * GRID, LABELS, [1, 2]).sum(),
    "ndimage.variance": lambda x: ndimage.variance(x * GRID, LABELS - 1, [0, 1]).sum(),
    "ndimage.median": lambda x: ndimage.median(x * GRID, LABELS, [1, 2]).sum(),
    "boxcox": lambda x: stats.boxcox(U, x).sum(),
    "moments": lambda x: stats.moment(x * U, 3) + stats.kstat(x * U, 3) + stats.iqr(x * U),
    "trim_mean": lambda x: stats.trim_mean(x * U, 0.2) + stats.median_abs_deviation(x * U),
    "tests": lambda x: stats.ttest_ind(x * U, V)[1] + stats.f_oneway(x * U, V)[0],
    "chisquare": lambda x: stats.chisquare(x * U, x * np.full(6, U.mean()))[0],
    "circmean": lambda x: stats.circmean(x * U) + stats.circvar(x * U),
    "comb": lambda x: special.comb(3.0 + x, 2.0) + special.polygamma(1, x),
    "comb of arrays": lambda x: special.comb(3.0 + x * U, 2).sum() + special.perm(3.0 + x * U, 2).sum(),
    "factorial of arrays": lambda x: special.factorial(x * U).sum(),
    "multigammaln": lambda x: special.multigammaln(3.0 + x, 2) + special.gammaln([x, 2.0 * x]).sum(),
    "jvp": lambda x: special.jvp(1, x) + special.kvp(1, x),
    "diric": lambda x: special.diric(x, 5) + special.legendre(3)(x),
    "fiedler": lambda x: linalg.fiedler(x * U).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_right(name: str) -> None:
    program, step = PROGRAMS[name], 1e-6
    slope = (program(POINT + step) - program(POINT - step)) / (2 * step)
    value, derivative = wg.value_and_grad(program)(POINT)
    assert value == pytest.approx(program(POINT), rel=1e-11)
    assert derivative == pytest.approx(slope, rel=1e-5, abs=1e-7)
    assert wg.derivative(program)(POINT) == pytest.approx(slope, rel=1e-5, abs=1e-7)


def test_an_error_of_scipys_stays() -> None:
    with pytest.raises(ValueError, match="d should be a positive integer"):
        wg.grad(lambda x: special.multigammaln(x, 2.5))(3.0)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "assignments": (
        lambda x: optimize.quadratic_assignment(np.outer(U, U) * x, np.outer(U, U), options={"rng": RNG}).fun,
        r"scipy\.optimize\.quadratic_assignment, write wg\.implicit\.root",
    ),
    "random numbers": (
        lambda x: RNG.normal(x),
        r"numpy\.random\.normal, .*wengert\.random",
    ),
    "masked arrays": (lambda x: np.ma.array([x, x]).sum(), r"numpy\.ma\.array, write np\.where"),
    "scalars": (lambda x: np.float32(x) * 2, r"x\.astype\(np\.float32\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_functions_that_are_refused_name_the_way_out(name: str) -> None:
    program, remedy = REFUSED[name]
    with pytest.raises(wg.WengertError, match=rf"{remedy}.*\[test_plain_scipy\.py:"):
        wg.grad(program)(POINT)


def test_the_advice_for_a_call_is_not_that_for_its_argument() -> None:
    graphs = pytest.importorskip("scipy.sparse.csgraph")
    integrate = pytest.importorskip("scipy.integrate")
    with pytest.raises(wg.WengertError, match=r"scipy\.sparse\.laplacian, place followed elements by a coo"):
        wg.grad(lambda x: graphs.laplacian(np.array([[x, 1.0], [1.0, 2.0]])).sum())(POINT)
    solve, start = integrate.solve_bvp, np.ones((1, 3))
    program = lambda x: solve(lambda t, z: x * z, lambda a, b: a - 1.0, np.arange(3.0), start).y[0, 2]  # noqa: E731
    with pytest.raises(
        wg.WengertError, match=r"scipy\.integrate\.solve_bvp, write wg\.integrate\.quad, cubature or"
    ):
        wg.grad(program)(POINT)


@pytest.mark.parametrize(
    "name", ["wasserstein_distance", "energy_distance", "skewtest", "normaltest", "jarque_bera"]
)
def test_statistics_whose_code_calls_others(name: str) -> None:
    rng = np.random.default_rng(len(name))
    v, w = rng.normal(size=12), rng.normal(size=9)
    function = getattr(stats, name)
    program = (lambda v: function(v, w)) if "distance" in name else lambda v: function(v).statistic
    assert wg.vjp(program, v)[0] == pytest.approx(program(v), rel=1e-12)
    wg.check_grads(program, (v,), order=1, rtol=1e-5)
    np.testing.assert_allclose(wg.jit(wg.grad(program))(v), wg.grad(program)(v), rtol=1e-10)
