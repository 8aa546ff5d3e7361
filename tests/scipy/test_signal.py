"""`wengert.scipy.signal` against SciPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, examples
from tests.scipy.checks import check, check_signatures, close
from wengert.engine.core.errors import WengertError
from wengert.scipy import signal

theirs = pytest.importorskip("scipy.signal")

RNG = np.random.default_rng(33)
X = RNG.uniform(-1, 1, 24)
ROWS = RNG.uniform(-1, 1, (2, 16))
PLANE = RNG.uniform(-1, 1, (4, 5))
W = RNG.uniform(-1, 1, 5)
W2 = RNG.uniform(-1, 1, (2, 3))
B = np.array([0.3, 0.5, -0.2])
A = np.array([1.2, -0.6, 0.3, 0.1])
SOS = np.array([[0.2, 0.4, 0.2, 1.0, -0.5, 0.2], [1.0, -0.3, 0.1, 1.0, -0.2, 0.4]])
STATES = RNG.uniform(-1, 1, (2, 3))


def sections(rows: Any) -> Any:
    """Return sections whose fourth column is 1, also where a test changes the others."""
    return np.concatenate([rows[:, :3], np.ones((2, 1)), rows[:, 4:]], 1)


def numbers(draw: HypothesisDraw, dtype: Any, *shape: int) -> Any:
    """Draw normal numbers, with imaginary parts where the dtype has them."""
    parts = draw.rng.standard_normal((2, *shape)) * 5
    return (parts[0] + 1j * parts[1] if dtype is np.complex128 else parts[0]).astype(dtype)


CALLS: dict[str, tuple[Any, ...]] = {
    "czt": (lambda m, x: m.czt(x, 5, w=np.exp(-0.3j), a=1.1), PLANE),
    "czt axis": (lambda m, x: m.czt(x, axis=0), PLANE),
    "zoom_fft": (lambda m, x: m.zoom_fft(x, [0.2, 0.7], 6, endpoint=True), X),
    "upfirdn": (lambda m, h, x: m.upfirdn(h, x, 3, 2), W, X),
    "upfirdn axis": (lambda m, h, x: m.upfirdn(h, x, 1, 2, axis=0), W, PLANE),
    "medfilt2d": (lambda m, x: m.medfilt2d(x, 3), PLANE),
    "convolve": (lambda m, x, w: m.convolve(x, w), PLANE, W2),
    "convolve same": (lambda m, x, w: m.convolve(x, w, "same", "direct"), X, W),
    "convolve fft": (lambda m, x, w: m.convolve(x, w, "valid", "fft"), X, W),
    "correlate": (lambda m, x, w: m.correlate(x, w, "same"), PLANE, W2),
    "convolve2d": (lambda m, x, w: m.convolve2d(x, w, "same", "symm"), PLANE, W2),
    "convolve2d fill": (lambda m, x, w: m.convolve2d(x, w, fillvalue=0.5), PLANE, W2),
    "correlate2d": (lambda m, x, w: m.correlate2d(x, w, "same", "wrap"), PLANE, W2),
    "fftconvolve": (lambda m, x, w: m.fftconvolve(x, w, "same"), PLANE, W2),
    "fftconvolve axes": (lambda m, x, w: m.fftconvolve(x, w[:1], axes=1), PLANE, W2),
    "oaconvolve": (lambda m, x, w: m.oaconvolve(x, w[:2], "same"), X, W),
    "lfilter": (lambda m, b, a, x: m.lfilter(b, a, x), B, A, X),
    "lfilter axis": (lambda m, b, a, x: m.lfilter(b, a[:2], x, axis=0), B, A, ROWS.T.copy()),
    "lfilter finite": (lambda m, b, x: m.lfilter(b, [2.0], x), B, X),
    "lfilter states": (lambda m, b, a, x, z: m.lfilter(b, a, x, zi=z), B, A, ROWS, STATES),
    "lfiltic": (lambda m, b, a, y, x: m.lfiltic(b, a, y, x), B, A, W, W[:1]),
    "lfilter_zi": (lambda m, b, a: m.lfilter_zi(b, a), B, A),
    "filtfilt": (lambda m, b, a, x: m.filtfilt(b, a, x), B, A, X),
    "filtfilt even": (lambda m, b, a, x: m.filtfilt(b, a, x, padtype="even", padlen=4), B, A, ROWS),
    "filtfilt gust": (lambda m, b, a, x: m.filtfilt(b, a, x, method="gust"), B, A, X),
    "filtfilt gust short": (lambda m, b, a, x: m.filtfilt(b, a, x, 1, method="gust", irlen=5), B, A, ROWS),
    "sosfilt": (lambda m, s, x: m.sosfilt(sections(s), x), SOS, X),
    "sosfilt states": (lambda m, s, x, z: m.sosfilt(sections(s), x, zi=z), SOS, X, STATES[:, :2]),
    "sosfilt_zi": (lambda m, s: m.sosfilt_zi(sections(s)), SOS),
    "sosfiltfilt": (lambda m, s, x: m.sosfiltfilt(sections(s), x, padlen=9), SOS, X),
    "savgol_filter": (lambda m, x: m.savgol_filter(x, 5, 2), X),
    "savgol_filter deriv": (lambda m, x, d: m.savgol_filter(x, 5, 3, 1, d, 0), ROWS.T.copy(), np.array(0.7)),
    "resample": (lambda m, x: m.resample(x, 17), X),
    "resample window": (lambda m, x: m.resample(x, 40, axis=1, window="hamming"), ROWS),
    "freqz": (lambda m, b, a: np.abs(m.freqz(b, a, 8)[1]), B, A),
    "freqz points": (lambda m, b, w: np.abs(m.freqz(b, worN=w, fs=2.0)[1]), B, np.array([0.1, 0.4])),
    "freqz_sos": (lambda m, s: np.abs(getattr(m, "freqz_sos", m.sosfreqz)(sections(s), 5)[1]), SOS),
    "detrend": (lambda m, x: (m.detrend(x), m.detrend(x, 0, "constant"), m.detrend(x, bp=[5])), ROWS),
    "hilbert": (lambda m, x: np.abs(m.hilbert(x)), X),
    "hilbert length": (lambda m, x: m.hilbert(x, 21).imag, X),
    "periodogram": (lambda m, x: m.periodogram(x)[1], X),
    "periodogram window": (lambda m, x, w: m.periodogram(x, 2.0, w, 30)[1], X, X + 2),
    "welch": (lambda m, x: m.welch(x, nperseg=8)[1], X),
    "welch median": (lambda m, x: m.welch(x, nperseg=8, average="median", detrend="linear")[1], X),
    "csd": (lambda m, x, y: np.abs(m.csd(x, y, nperseg=8)[1]), ROWS[0], ROWS[1]),
    "coherence": (lambda m, x, y: m.coherence(x, y, nperseg=6, detrend=False)[1], ROWS[0], ROWS[1]),
    "stft": (lambda m, x: np.abs(m.stft(x, nperseg=6)[2]), X),
    "istft": (lambda m, x: m.istft(m.stft(x, nperseg=6)[2] ** 2, nperseg=6)[1], X),
    "spectrogram": (lambda m, x: m.spectrogram(x, nperseg=8, mode="magnitude")[2], X),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str) -> None:
    call, *arguments = CALLS[name]
    check(lambda *x: call(signal, *x), lambda *x: call(theirs, *x), *arguments, rtol=1e-11)


@examples(60)
@given(data=st.data())
def test_drawn_convolutions_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    rank = draw.integer(1, 2)
    shapes = [tuple(draw.integer(1, 5) for _ in range(rank)) for _ in range(2)]
    dtype, mode = (
        draw.choice([np.float64, np.float32, np.complex128, np.int64]),
        draw.choice(["full", "same"]),
    )
    x, y = (numbers(draw, dtype, *shape) for shape in shapes)
    if all(n >= k for n, k in zip(*shapes, strict=True)):
        mode = draw.choice([mode, "valid"])
    rtol = 1e-5 if dtype is np.float32 else 1e-12
    calls: list[Callable[[Any], Any]] = [
        lambda m: m.convolve(x, y, mode),
        lambda m: m.convolve(x, y, mode, "fft"),
        lambda m: m.correlate(x, y, mode, "direct"),
        lambda m: m.fftconvolve(x, y, mode),
        lambda m: m.oaconvolve(x, y, mode),
    ]
    if rank == 2:
        boundary = draw.choice(["fill", "wrap", "symm"])
        calls.append(lambda m: m.convolve2d(x, y, mode, boundary, 2))
        calls.append(lambda m: m.correlate2d(x, y, mode, boundary, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in calls:
            close(call(signal), call(theirs), rtol)


def test_long_convolutions() -> None:
    """By transforms of wholes and of blocks, which hold the shorter signal several times."""
    x, w = RNG.standard_normal(3000), RNG.standard_normal((400, 2)) @ [1, 1j]
    for mode in ("full", "same", "valid"):
        for weights in (w.real, w, w[:7]):
            expected = np.convolve(x, weights, mode)
            for call in (signal.convolve, signal.fftconvolve, signal.oaconvolve):
                close(call(x, weights, mode), expected, 1e-12)
            close(signal.oaconvolve(weights, x, mode)[:3], theirs.oaconvolve(weights, x, mode)[:3], 1e-12)
    weights = RNG.standard_normal(20)
    slopes = wg.jit(wg.grad(lambda w: np.sum(signal.oaconvolve(x, w) ** 2)))(weights)
    close(slopes, wg.grad(lambda w: np.sum(signal.convolve(x, w) ** 2))(weights), 1e-10)


@examples(40)
@given(data=st.data())
def test_drawn_filters_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    dtype = draw.choice([np.float64, np.float32, np.complex128])
    rtol = 1e-4 if dtype is np.float32 else 1e-11
    b, a = numbers(draw, dtype, draw.integer(1, 5)), numbers(draw, dtype, draw.integer(1, 5)) * dtype(0.04)
    a[0] = 1.5
    order, count = max(len(a), len(b)) - 1, draw.integer(1, 12)
    x, states = numbers(draw, dtype, 2, count, 3), numbers(draw, dtype, draw.choice([1, 2]), order, 3)
    y, past = numbers(draw, dtype, draw.integer(1, 6)), numbers(draw, dtype, draw.integer(1, 6))
    long, padtype = numbers(draw, dtype, 2, 30), draw.choice(["odd", "even", "constant", None])
    sos = theirs.butter(draw.integer(1, 5), draw.rng.uniform(0.1, 0.8), output="sos").astype(dtype)
    inner = numbers(draw, dtype, len(sos), 2, 2)
    for call in (
        lambda m: m.lfilter(b, a, x, 1),
        lambda m: m.lfilter(b, a, x, 1, states),
        lambda m: m.lfiltic(b, a, y, past),
        lambda m: m.lfiltic(b, a, y),
        lambda m: m.sosfilt(sos, long),
        lambda m: m.sosfilt(sos, long, zi=inner),
        lambda m: m.sosfiltfilt(sos, long, padtype=padtype),
        *([lambda m: m.filtfilt(b, a, long, padtype=padtype), lambda m: m.lfilter_zi(b, a)] if order else []),
    ):
        close(call(signal), call(theirs), rtol)


@examples(60)
@given(data=st.data())
def test_drawn_spectra_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    dtype = draw.choice([np.float64, np.float32, np.complex128])
    rtol = 1e-4 if dtype is np.float32 else 1e-11
    count = draw.integer(20, 34)
    x, y = (numbers(draw, dtype, 2, n) for n in (count, count - 3))
    window, length = draw.choice([("hann", 8), ("boxcar", 9), (draw.rng.uniform(0.5, 1, 12), None)])
    options: dict[str, Any] = {"nperseg": length, "noverlap": draw.choice([None, 0, 5]), "fs": 2.0}
    options |= {"nfft": draw.choice([None, 16]), "return_onesided": draw.choice([False, True])}
    scaling, detrend = draw.choice(["density", "spectrum"]), draw.choice(["constant", "linear", False])
    average, boundary = (
        draw.choice(["mean", "median"]),
        draw.choice(["zeros", "even", "odd", "constant", None]),
    )
    mode, whole = draw.choice(["psd", "complex", "magnitude"]), draw.choice([None, count + 5, count - 4])
    psd = "psd" if scaling == "density" else scaling
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in (
            lambda m: m.welch(x.T, window=window, axis=0, scaling=scaling, average=average, **options),
            lambda m: m.csd(x, y, window=window, detrend=detrend, average=average, **options),
            lambda m: m.stft(x, window=window, boundary=boundary, scaling=psd, **options),
            lambda m: m.spectrogram(x, window=window, scaling=scaling, mode=mode, detrend=detrend, **options),
            lambda m: m.periodogram(x, 2.0, "hann", whole, detrend, options["return_onesided"], scaling),
            lambda m: m.hilbert(x.real, whole),
            lambda m: m.detrend(x, bp=[3, 11]),
        ):
            close(call(signal), call(theirs), rtol)


@pytest.mark.parametrize("mode", ["angle", "phase"])
@pytest.mark.parametrize("axis", [-1, 0, -2])
def test_angles_of_spectrograms_are_scipys(mode: str, axis: int, rng: np.random.Generator) -> None:
    x = rng.normal(size=(40, 40)) + 1j * rng.normal(size=(40, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, scipys = (
            module.spectrogram(x, nperseg=8, axis=axis, mode=mode)[2] for module in (signal, theirs)
        )
    np.testing.assert_allclose(ours, scipys, atol=1e-9)


@examples(60)
@given(data=st.data())
def test_drawn_smoothing_and_resampling_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    dtype, count, wanted = (
        draw.choice([np.float64, np.float32, np.complex128]),
        draw.integer(7, 12),
        draw.integer(1, 20),
    )
    rtol = 1e-4 if dtype is np.float32 else 1e-10
    x, b, a = (
        numbers(draw, dtype, 2, count),
        numbers(draw, dtype, draw.integer(1, 4)),
        numbers(draw, dtype, 2),
    )
    width, axis = draw.integer(1, 7), draw.choice([0, 1])
    degree, order = draw.integer(0, width - 1), draw.integer(0, 3)
    mode = draw.choice(["mirror", "constant", "nearest", "wrap", "interp"])
    window = draw.choice([None, "hann", ("kaiser", 2.0), np.cos, draw.rng.uniform(0.5, 1, count)])
    y, times = np.moveaxis(x, 0, axis), np.arange(count) * 0.3
    points = draw.choice([1, 6, 7, draw.rng.uniform(0, 3, 4)])
    whole, nyquist = draw.choice([False, True]), draw.choice([False, True])
    for call in (
        lambda m: m.savgol_filter(x.real.astype(float), width, degree, order, 0.5, 1, mode, 2.0),
        lambda m: m.resample(x, wanted, times, 1, window),
        lambda m: m.resample(y, wanted, axis=1 - axis, window=window),
        lambda m: m.resample(x + 0j, wanted, axis=1, domain="freq"),
        lambda m: m.freqz(b, a, points, whole, fs=2.0, include_nyquist=nyquist)[1],
        lambda m: np.real(m.freqz(b, a, points, whole, fs=2.0, include_nyquist=nyquist)[0]),
    ):
        close(call(signal), call(theirs), rtol)


def test_inverse_of_the_short_time_transform() -> None:
    for options in (
        {"nperseg": 6},
        {"nperseg": 7, "noverlap": 4},
        {"nperseg": 6, "scaling": "psd", "fs": 2.0},
    ):
        z = signal.stft(ROWS, **options)[2]
        own = signal.istft(z, **options)
        close(own, theirs.istft(z, **options), 1e-12)
        np.testing.assert_allclose(own[1][:, :16], ROWS, atol=1e-12)
        moved = np.moveaxis(z, (0, 1, 2), (1, 2, 0))
        turned = {**options, "time_axis": 0, "freq_axis": 2}
        close(signal.istft(moved, **turned), theirs.istft(moved, **turned), 1e-12)


def test_second_derivatives() -> None:
    wg.check_grads(lambda b, a, x: signal.lfilter(b, a, x), (B, A, X[:6]), order=2)
    wg.check_grads(lambda s: signal.sosfilt(sections(s), X[:6]), (SOS,), order=2)
    wg.check_grads(lambda x, w: signal.fftconvolve(x, w), (X[:5], W), order=2)


def test_recursive_filter_of_a_long_signal_is_exact() -> None:
    """The impulse response of a resonator, whose poles lie on the unit circle."""
    impulse = np.zeros(20000)
    impulse[0] = 1.0
    angle = 0.1
    response = signal.lfilter([1.0], [1.0, -2 * np.cos(angle), 1.0], impulse)
    exact = np.sin(angle * np.arange(1, 20001)) / np.sin(angle)
    np.testing.assert_allclose(response, exact, atol=1e-9 * np.max(np.abs(exact)))
    close(response, theirs.lfilter([1.0], [1.0, -2 * np.cos(angle), 1.0], impulse), 1e-12)


ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "mode": (lambda: signal.convolve(X, W, "odd"), "convolve: mode must be one of full, same, valid"),
    "method": (lambda: signal.correlate(X, W, method="odd"), "correlate: method must be one of"),
    "rank": (lambda: signal.convolve(X, W2), "convolve: both arrays must have the same number of axes"),
    "valid": (
        lambda: signal.convolve(np.ones((2, 5)), np.ones((3, 3)), "valid"),
        "one array must be as large",
    ),
    "boundary": (lambda: signal.convolve2d(PLANE, W2, boundary="odd"), "convolve2d: boundary must be fill"),
    "matrices": (lambda: signal.correlate2d(X, W), "correlate2d: two matrices"),
    "broadcast": (
        lambda: signal.fftconvolve(PLANE, W2, axes=1),
        "fftconvolve: the other axes must broadcast",
    ),
    "coefficients": (lambda: signal.lfilter(W2, A, X), "lfilter: the coefficients must be vectors"),
    "states": (lambda: signal.lfilter(B, A, X, zi=W), r"lfilter: zi must have the shape \(3,\)"),
    "zero": (lambda: signal.lfilter_zi(B, [0.0]), "lfilter_zi: a coefficient of y must not be 0"),
    "sections": (lambda: signal.sosfilt(W2, X), "sosfilt: sos must have a row of 6"),
    "leading": (lambda: signal.sosfilt(SOS * 2, X), r"sosfilt: sos\[:, 3\] must be 1"),
    "short": (lambda: signal.filtfilt(B, A, X[:5]), "filtfilt: the signal must be longer than padlen, 12"),
    "padtype": (lambda: signal.filtfilt(B, A, X, padtype="x"), "filtfilt: padtype must be odd"),
    "filtfilt method": (lambda: signal.filtfilt(B, A, X, method="x"), 'filtfilt: method must be "pad" or'),
    "window": (lambda: signal.welch(X, window=W2), "csd: a window must be a name, or a vector"),
    "overlap": (lambda: signal.stft(X, nperseg=4, noverlap=4), "stft: 0 <= noverlap < nperseg <= nfft"),
    "scaling": (lambda: signal.periodogram(X, scaling="x"), "csd: scaling must be"),
    "average": (lambda: signal.welch(X, nperseg=4, average="x"), "csd: average must be"),
    "spectrogram": (lambda: signal.spectrogram(X, mode="x"), "spectrogram: mode must be one of psd"),
    "complex": (lambda: signal.hilbert(X * 1j), "hilbert: the signal must be real"),
    "smoothing mode": (
        lambda: signal.savgol_filter(X, 5, 2, mode="x"),
        "savgol_filter: mode must be one of mirror",
    ),
    "degree": (lambda: signal.savgol_filter(X, 5, 5), "savgol_filter: polyorder < window_length is required"),
    "domain": (lambda: signal.resample(X, 5, domain="x"), "resample: num >= 1 and a domain"),
    "weights": (
        lambda: signal.resample(X, 5, window=W),
        "resample: a window must be a name, a function, or 24",
    ),
    "response": (lambda: signal.freqz(W2), "freqz: the coefficients must be vectors"),
    "response of sections": (lambda: signal.freqz_sos(W2), "freqz_sos: sos must have a row of 6"),
    "trend": (lambda: signal.detrend(X, type="x"), "detrend: type must be linear or constant"),
    "padlen": (
        lambda: wg.jit(lambda s: signal.sosfiltfilt(s, X))(SOS),
        "sosfiltfilt: sos, where padlen is not given, must be known",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_the_operation(name: str) -> None:
    call, text = ERRORS[name]
    with pytest.raises(WengertError, match=text):
        call()


@pytest.mark.parametrize("name", signal.__all__)
def test_signatures_are_scipys(name: str) -> None:
    if not hasattr(theirs, name):
        pytest.skip("not in this version of SciPy")
    check_signatures(getattr(signal, name), getattr(theirs, name))
