"""SciPy's functions that dispatch on the array API standard, with ``SCIPY_ARRAY_API=1``."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("scipy", minversion="1.17")

SHARES = 5
#: The program sees a share of the functions in a fresh process: SciPy reads the setting as it loads.
START = """
import sys
import warnings
import numpy as np
import wengert as wg
import wengert.array_api as xp
from scipy import fft, integrate, signal, special, stats
from scipy.spatial.transform import Rotation

warnings.simplefilter("ignore")
CALLS = [
    *(special.gammaln, special.erf, special.logsumexp, special.softmax, special.log_softmax, special.expit),
    *(lambda x: special.xlogy(x, x + 1), lambda x: special.betainc(2.0, 3.0, x), lambda x: special.polygamma(1, x)),
    *(lambda x: special.multigammaln(x + 3, 2), lambda x: special.rel_entr(x, x * x), special.entr, special.sinc),
    *(stats.gmean, stats.skew, stats.kurtosis, stats.zscore, stats.entropy, stats.sem, stats.circmean, stats.variation),
    *(lambda x: stats.pearsonr(x, x * x).statistic, lambda x: stats.ttest_ind(x, x * x).statistic, stats.kstat),
    *(integrate.trapezoid, integrate.cumulative_simpson, lambda x: fft.fft(x).real, lambda x: fft.irfft(fft.rfft(x))),
    *(lambda x: signal.fftconvolve(x, x[:3]), lambda x: signal.hilbert(x).imag, lambda x: signal.resample(x, 12)),
    lambda x: Rotation.from_rotvec(x[:3]).apply(x[3:]),
    lambda x: (Rotation.from_rotvec(x[:3]) * Rotation.from_euler("xyz", x[3:])).as_quat(),
]
x = np.linspace(0.2, 0.8, 6)
direction = np.cos(np.arange(6.0))
def total(call, x):
    y = call(x)
    return (y * np.cos(y)).sum()
def slopes(x):
    return [wg.grad(lambda x: total(call, x))(x) for call in calls]
"""

EACH = """
first, shares = map(int, sys.argv[1:])
calls = CALLS[first::shares]
for number, (call, *found) in enumerate(zip(calls, slopes(x), wg.jit(slopes)(x), strict=True)):
    expected = (total(call, x + 1e-6 * direction) - total(call, x - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(found @ direction, [expected] * 2, rtol=1e-6, atol=1e-7, err_msg=f"call {number}")
    np.testing.assert_allclose(wg.vmap(call)(np.stack([x, x]))[1], call(x), rtol=1e-10, atol=1e-12)
"""

OTHERS = """
def turned(x):
    return Rotation.from_matrix(Rotation.from_rotvec(x).as_matrix()).as_rotvec()[0] + integrate.cubature(
        lambda t: x[1] * t**2, [0.0], [1.0]
    ).estimate
np.testing.assert_allclose(wg.grad(turned)(x[:3]), [1.0, 1 / 3, 0.0], atol=1e-9)
single = lambda x: special.gammaln(x) + stats.zscore(x) + special.logsumexp(x)
assert wg.jit(single)(x.astype(np.float32)).dtype == np.float32
weighted = wg.grad(lambda x: special.logsumexp(x, b=xp.asarray([1.0, 2.0])))(np.log([1.0, 3.0]))
np.testing.assert_allclose(weighted, [1 / 7, 6 / 7])
# A plain array and a box meet in one call: the second run of the program brings them together.
mixed = lambda x: stats.alexandergovern(x, direction).statistic
expected = (mixed(x + 1e-6 * direction) - mixed(x - 1e-6 * direction)) / 2e-6
np.testing.assert_allclose(wg.grad(mixed)(x) @ direction, expected, rtol=1e-6)
"""


@pytest.mark.parametrize("first", [*range(SHARES), None])
def test_scipys_functions_in_all_modes(first: int | None) -> None:
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    program = START + (OTHERS if first is None else EACH)
    subprocess.run([sys.executable, "-c", program, str(first), str(SHARES)], check=True, env=environment)
