"""Calls of SciPy's functions whose results have several axes, for the tests of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special

Call = Callable[[Any], Any]
linalg: Any = scipy.linalg
signal: Any = scipy.signal
special: Any = scipy.special
fft: Any = scipy.fft
ndimage: Any = scipy.ndimage
SQUARE = np.array([[5.0, 1.0, 2.0], [1.0, 6.0, 0.5], [2.0, 0.5, 7.0]])


def spd(x: Any) -> Any:
    """Return a positive definite matrix."""
    return x @ x.T + 2 * np.eye(3)


#: Functions the size of whose results depends on the numbers.
OF_NUMBERS = ("orth", "null_space")
#: Calls of a matrix of three rows and columns.
CALLS: dict[str, Call] = {
    "cholesky": lambda x: linalg.cholesky(spd(x)),
    "cholesky lower": lambda x: linalg.cholesky(spd(x), lower=True),
    "cho_factor": lambda x: linalg.cho_factor(spd(x)),
    "cho_factor lower": lambda x: linalg.cho_factor(spd(x), lower=True),
    "cho_solve": lambda x: linalg.cho_solve((linalg.cholesky(spd(x)), False), x),
    "cho_solve lower": lambda x: linalg.cho_solve((linalg.cholesky(spd(x), lower=True), True), x[:, :2]),
    "inv": lambda x: linalg.inv(spd(x)),
    "solve": lambda x: linalg.solve(spd(x), x),
    "solve of two": lambda x: linalg.solve(spd(x), x[:, :2]),
    "solve sym": lambda x: linalg.solve(spd(x), x, assume_a="sym"),
    "solve pos": lambda x: linalg.solve(spd(x), x, assume_a="pos"),
    "solve transposed": lambda x: linalg.solve(spd(x), x, transposed=True),
    "solve_triangular": lambda x: linalg.solve_triangular(spd(x), x),
    "solve_triangular lower": lambda x: linalg.solve_triangular(spd(x), x[:, :2], lower=True, trans=1),
    "solve_triangular unit": lambda x: linalg.solve_triangular(spd(x), x, unit_diagonal=True),
    "pinv": lambda x: linalg.pinv(x[:2]),
    "lstsq": lambda x: linalg.lstsq(spd(x), x)[0],
    "lstsq tall": lambda x: linalg.lstsq(spd(x)[:, :2], x)[0],
    "lstsq wide": lambda x: linalg.lstsq(spd(x)[:2], x[:2])[0],
    "solve_banded": lambda x: linalg.solve_banded((1, 1), x + 5 * np.eye(3)[1][:, None], x),
    "solve_banded of two": lambda x: linalg.solve_banded((1, 1), x + 5 * np.eye(3)[1][:, None], x[:, :2]),
    "solveh_banded": lambda x: linalg.solveh_banded(x[:2] + 5 * np.eye(3)[1][:2, None], x),
    "cholesky_banded": lambda x: linalg.cholesky_banded(x[:2] + 5 * np.eye(3)[1][:2, None]),
    "solve_toeplitz": lambda x: linalg.solve_toeplitz(x[0] + 5 * np.eye(3)[0], x),
    "solve_circulant": lambda x: linalg.solve_circulant(x[0] + 5 * np.eye(3)[0], x),
    "eigh": lambda x: linalg.eigh(spd(x)),
    "eigh of a pair": lambda x: linalg.eigh(spd(x), SQUARE),
    "eig": lambda x: linalg.eig(spd(x) + np.triu(x)),
    "svd": lambda x: linalg.svd(x[:2]),
    "svd thin": lambda x: linalg.svd(x[:, :2], full_matrices=False),
    "qr": lambda x: linalg.qr(spd(x)),
    "qr tall": lambda x: linalg.qr(spd(x)[:, :2]),
    "qr economic": lambda x: linalg.qr(spd(x)[:, :2], mode="economic"),
    "qr wide": lambda x: linalg.qr(spd(x)[:2]),
    "qr r": lambda x: linalg.qr(spd(x), mode="r"),
    "qr pivoting": lambda x: linalg.qr(spd(x), pivoting=True),
    "lu": lambda x: linalg.lu(spd(x)),
    "lu tall": lambda x: linalg.lu(spd(x)[:, :2]),
    "lu permute_l": lambda x: linalg.lu(spd(x), permute_l=True),
    "lu p_indices": lambda x: linalg.lu(spd(x), p_indices=True)[1:],
    "lu_factor": lambda x: linalg.lu_factor(spd(x))[0],
    "lu_solve": lambda x: linalg.lu_solve(linalg.lu_factor(spd(x)), x),
    "lu_solve transposed": lambda x: linalg.lu_solve(linalg.lu_factor(spd(x)), x, trans=1),
    "ldl": lambda x: linalg.ldl(spd(x))[:2],
    "ldl upper": lambda x: linalg.ldl(spd(x), lower=False)[:2],
    "polar": lambda x: linalg.polar(spd(x)),
    "polar left": lambda x: linalg.polar(spd(x), side="left"),
    "expm": lambda x: linalg.expm(x / 4),
    "expm_frechet": lambda x: linalg.expm_frechet(spd(x), x),
    "logm": lambda x: linalg.logm(spd(x)),
    "sqrtm": lambda x: linalg.sqrtm(spd(x)),
    "cosm": lambda x: linalg.cosm(x / 4),
    "sinm": lambda x: linalg.sinm(x / 4),
    "tanm": lambda x: linalg.tanm(x / 9),
    "coshm": lambda x: linalg.coshm(x / 4),
    "sinhm": lambda x: linalg.sinhm(x / 4),
    "tanhm": lambda x: linalg.tanhm(x / 9),
    "fractional_matrix_power": lambda x: linalg.fractional_matrix_power(spd(x), 0.5),
    "solve_sylvester": lambda x: linalg.solve_sylvester(spd(x), spd(x), x),
    "solve_continuous_lyapunov": lambda x: linalg.solve_continuous_lyapunov(spd(x), x),
    "solve_discrete_lyapunov": lambda x: linalg.solve_discrete_lyapunov(spd(x) / 99, x),
    "block_diag": lambda x: linalg.block_diag(x, x),
    "circulant": lambda x: linalg.circulant(x[0]),
    "companion": lambda x: linalg.companion(x[0]),
    "convolution_matrix": lambda x: linalg.convolution_matrix(x[0], 4),
    "hankel": lambda x: linalg.hankel(x[0], x[1]),
    "khatri_rao": lambda x: linalg.khatri_rao(x, x),
    "leslie": lambda x: linalg.leslie(x[0], x[1, :2]),
    "toeplitz": lambda x: linalg.toeplitz(x[0], x[1]),
    "orth": lambda x: linalg.orth(spd(x)),
    "null_space": lambda x: linalg.null_space(spd(x)[:2]),
    "convolve2d": lambda x: signal.convolve2d(x, x),
    "correlate2d": lambda x: signal.correlate2d(x, x, "same"),
    "oaconvolve": lambda x: signal.oaconvolve(x, x),
    **{
        f"{f.__name__} {method} {mode}": lambda x, f=f, method=method, mode=mode: f(x, x, mode, method)
        for f in (signal.convolve, signal.correlate)
        for method in ("direct", "fft")
        for mode in ("full", "same", "valid")
    },
    **{
        f"{name} {axis}": lambda x, f=f, axis=axis: f(x, axis)
        for name, f in {
            "fftconvolve": lambda x, axis: signal.fftconvolve(x, x, axes=axis),
            "lfilter": lambda x, axis: signal.lfilter([1.0, 0.5], [1.0, 0.2], x, axis=axis),
            "lfilter without feedback": lambda x, axis: signal.lfilter([1.0, 0.5], [1.0], x, axis=axis),
            "lfilter with a state": lambda x, axis: signal.lfilter(
                [1.0, 0.5], [1.0, 0.2], x, axis=axis, zi=np.ones((1, 3) if axis == 0 else (3, 1))
            ),
            "filtfilt": lambda x, axis: signal.filtfilt([1.0, 0.5], [1.0, 0.2], x, axis=axis, padlen=1),
            "sosfilt": lambda x, axis: signal.sosfilt([[1.0, 0.5, 0.1, 1.0, 0.2, 0.1]], x, axis=axis),
            "detrend": lambda x, axis: signal.detrend(x, axis=axis),
            "detrend constant": lambda x, axis: signal.detrend(x, axis=axis, type="constant"),
            "savgol_filter": lambda x, axis: signal.savgol_filter(x, 3, 1, axis=axis),
            "savgol_filter nearest": lambda x, axis: signal.savgol_filter(x, 3, 1, axis=axis, mode="nearest"),
            "hilbert": lambda x, axis: signal.hilbert(x, axis=axis),
            "resample": lambda x, axis: signal.resample(x, 5, axis=axis),
            "decimate": lambda x, axis: signal.decimate(np.repeat(x, 12, axis), 2, axis=axis),
            "periodogram": lambda x, axis: signal.periodogram(x, axis=axis)[1],
            "welch": lambda x, axis: signal.welch(x, nperseg=3, axis=axis)[1],
            "logsumexp": lambda x, axis: special.logsumexp(x, axis=axis, keepdims=True),
            "softmax": lambda x, axis: special.softmax(x, axis=axis),
            "log_softmax": lambda x, axis: special.log_softmax(x, axis=axis),
            "fft": lambda x, axis: fft.fft(x, axis=axis),
            "fft longer": lambda x, axis: fft.fft(x, 5, axis=axis),
            "ifft": lambda x, axis: fft.ifft(x, axis=axis),
            "rfft": lambda x, axis: fft.rfft(x, axis=axis),
            "irfft": lambda x, axis: fft.irfft(x, axis=axis),
            "hfft": lambda x, axis: fft.hfft(x, axis=axis),
            "ihfft": lambda x, axis: fft.ihfft(x, axis=axis),
            "dct": lambda x, axis: fft.dct(x, axis=axis),
            "idct": lambda x, axis: fft.idct(x, 3, axis=axis, norm="ortho"),
            "dst": lambda x, axis: fft.dst(x, axis=axis),
            "idst": lambda x, axis: fft.idst(x, axis=axis),
            "fftshift": lambda x, axis: fft.fftshift(x, axis),
            "gaussian_filter1d": lambda x, axis: ndimage.gaussian_filter1d(x, 1.0, axis=axis),
            "convolve1d": lambda x, axis: ndimage.convolve1d(x, [1.0, 2.0], axis=axis),
            "sobel": lambda x, axis: ndimage.sobel(x, axis=axis),
        }.items()
        for axis in (0, 1)
    },
    **{
        name: lambda x, name=name: getattr(fft, name)(x)
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn", "dctn", "idctn", "dstn")
    },
    **{
        name: lambda x, name=name: getattr(special, name)(x)
        for name in ("erf", "gamma", "gammaln", "expit", "j0", "ndtr", "digamma", "i0e")
    },
    "xlogy": lambda x: special.xlogy(x, x.T),
    "betainc": lambda x: special.betainc(x, x.T, 0.5),
    "jv": lambda x: special.jv(1, x),
    "gaussian_filter": lambda x: ndimage.gaussian_filter(x, 1.0),
    "uniform_filter": lambda x: ndimage.uniform_filter(x, 3),
    "median_filter": lambda x: ndimage.median_filter(x, 3),
    "maximum_filter": lambda x: ndimage.maximum_filter(x, 3),
    "ndimage.convolve": lambda x: ndimage.convolve(x, SQUARE),
    "ndimage.correlate": lambda x: ndimage.correlate(x, SQUARE),
    "laplace": lambda x: ndimage.laplace(x),
    "shift": lambda x: ndimage.shift(x, 0.5, order=1),
    "zoom": lambda x: ndimage.zoom(x, 2.0, order=1),
    "rotate": lambda x: ndimage.rotate(x, 20.0, order=1, reshape=False),
    "affine_transform": lambda x: ndimage.affine_transform(x, np.eye(2) * 0.9, order=1),
    "spline_filter": lambda x: ndimage.spline_filter(x),
}  # fmt: skip
