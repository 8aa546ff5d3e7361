"""Spectra of signals: periodograms, Welch's method, short-time transforms, and the analytic signal."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.dtypes import Dtype, dtype_of, is_complex, real_dtype
from wengert.engine.core.errors import ArgumentError, DtypeError, MissingExtraError, ShapeError, message
from wengert.engine.core.shapes import axis_index, shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.complex import as_complex, conjugate, real
from wengert.engine.ops.contraction import along, contract
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.indexing import gather
from wengert.numpy.registry import floating, is_sequence, rank_of
from wengert.numpy.shaping import part
from wengert.scipy.registry import array, number, signatures
from wengert.scipy.signal.filtering import extension

_TINY = 1e-10
"""Sums of squared windows up to this one count as 0 in the inverse short-time transform, as in SciPy."""


def named_window(operation: str, window: Any, count: int) -> Any:
    """Return the window that SciPy has for a name, periodic."""
    try:
        from scipy import signal
    except ImportError:
        requirement = "SciPy makes windows by name, and is not installed"
        raise MissingExtraError(message(operation, requirement, hint="pip install scipy")) from None
    theirs: Any = signal
    return theirs.get_window(window, count)


def _window(operation: str, window: Any, nperseg: Any, count: int) -> Any:
    """Return a window: the one that SciPy has for a name, or the given numbers."""
    if isinstance(window, str) or is_sequence(window):
        width = min(256 if nperseg is None else int(number(operation, "nperseg", nperseg)), count)
        if width < 1:
            raise ArgumentError(message(operation, "nperseg must be at least 1", str(nperseg)))
        return named_window(operation, window, width)
    window = floating(array(window))
    if rank_of(window) != 1 or (nperseg is not None and int(nperseg) != shape_of(window)[0]):
        requirement = "a window must be a name, or a vector of nperseg numbers"
        raise ShapeError(message(operation, requirement, show(window)))
    if shape_of(window)[0] > count:
        raise ShapeError(message(operation, f"the signal has {count} elements, less than the window"))
    return window


class _Plan(NamedTuple):
    """The segments of a signal and their transforms."""

    window: Any
    overlap: int
    length: int
    one_sided: bool
    detrend: Any
    axis: int

    @property
    def width(self) -> int:
        """The number of elements of a segment."""
        return shape_of(self.window)[0]

    @property
    def step(self) -> int:
        """The distance of neighbouring segments."""
        return self.width - self.overlap

    def frequencies(self, fs: Any) -> Any:
        """Return the frequencies of the coefficients."""
        points = np.fft.rfftfreq if self.one_sided else np.fft.fftfreq
        return points(self.length) * fs


def _overlap(operation: str, width: int, noverlap: Any, length: int) -> int:
    """Return the overlap of segments, by default half of them, that fits their width and the transform."""
    overlap = width // 2 if noverlap is None else int(number(operation, "noverlap", noverlap))
    if not 0 <= overlap < width <= length:
        requirement = "0 <= noverlap < nperseg <= nfft is required"
        raise ArgumentError(message(operation, requirement, f"{overlap}, {width}, {length}"))
    return overlap


def _plan(
    operation: str, x: Any, *, axis: int, window: Any, nperseg: Any, noverlap: Any, nfft: Any, **kind: Any
) -> _Plan:
    axis = axis_index(operation, axis, rank_of(x))
    weights = _window(operation, window, nperseg, shape_of(x)[axis])
    width = shape_of(weights)[0]
    length = width if nfft is None else int(number(operation, "nfft", nfft))
    one_sided = kind["return_onesided"] and not is_complex(dtype_of(x))
    return _Plan(
        weights, _overlap(operation, width, noverlap, length), length, one_sided, kind["detrend"], axis
    )


def _transformed(x: Any, plan: _Plan) -> Any:
    """Return the transforms of the segments of a signal along its last axis: ``[..., segment, frequency]``."""
    count = (shape_of(x)[-1] - plan.overlap) // plan.step
    positions = plan.step * np.arange(count)[:, None] + np.arange(plan.width)
    segments = np.moveaxis(gather(np.moveaxis(x, -1, 0), positions), (0, 1), (-2, -1))
    if callable(plan.detrend):
        segments = plan.detrend(segments)
    elif plan.detrend:
        segments = detrend(segments, type=plan.detrend)
    segments = segments * cast(plan.window, dtype=_part_dtype(x))
    transform = np.fft.rfft if plan.one_sided else np.fft.fft
    return transform(segments, plan.length)


def _part_dtype(x: Any) -> Dtype:
    """Return the dtype of real numbers in the precision of a signal, at least single."""
    return np.promote_types(real_dtype(dtype_of(x)), np.float32)


def _scale(operation: str, scaling: Any, window: Any, fs: Any) -> Any:
    if scaling == "density":
        return 1.0 / (fs * np.sum(window * window))
    if scaling == "spectrum":
        return 1.0 / np.sum(window) ** 2
    raise ArgumentError(message(operation, 'scaling must be "density" or "spectrum"', repr(scaling)))


def _signal(operation: str, x: Any) -> Any:
    x = floating(array(x))
    if not rank_of(x):
        raise ShapeError(message(operation, "an array of at least one axis is required", show(x)))
    return x


def _twice_inside(power: Any, plan: _Plan) -> Any:
    """Double the coefficients that stand for two frequencies of a real signal, along the last axis."""
    if not plan.one_sided:
        return power
    weights = np.full(shape_of(power)[-1], 2.0, _part_dtype(power))
    weights[0] = 1.0
    if plan.length % 2 == 0:
        weights[-1] = 1.0
    return power * weights


def _to_length(x: Any, count: int) -> Any:
    missing = count - shape_of(x)[-1]
    return np.pad(x, [(0, 0)] * (rank_of(x) - 1) + [(0, missing)]) if missing else x


def _powers(x: Any, y: Any, plan: _Plan, scale: Any) -> Any:
    """Return the products of the transforms of the segments of two signals, along the last two axes."""
    of_x = _transformed(x, plan)
    power = conjugate(of_x) * (of_x if y is x else _transformed(y, plan))
    power = _twice_inside(real(power) if y is x else power, plan)
    return power * cast(array(scale), dtype=_part_dtype(power))


def _median(power: Any, axis: int) -> Any:
    """Return the median over segments, without its bias for noise."""
    count = shape_of(power)[axis]
    pairs = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    bias = 1 + np.sum(1 / (pairs + 1) - 1 / pairs)
    if is_complex(dtype_of(power)):
        middle = as_complex(np.median(np.real(power), axis)) + 1j * np.median(np.imag(power), axis)
    else:
        middle = np.median(power, axis)
    return middle * float(1 / bias)


_spectrum = signatures(
    "scipy.signal",
    """
        csd(x, y, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant",
            return_onesided=True, scaling="density", axis=-1, average="mean")
        welch(x, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant",
            return_onesided=True, scaling="density", axis=-1, average="mean")
        periodogram(x, fs=1.0, window="boxcar", nfft=None, detrend="constant", return_onesided=True,
            scaling="density", axis=-1)
        coherence(x, y, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", axis=-1)
        stft(x, fs=1.0, window="hann", nperseg=256, noverlap=None, nfft=None, detrend=False, return_onesided=True,
            boundary="zeros", padded=True, axis=-1, scaling="spectrum")
        spectrogram(x, fs=1.0, window=("tukey", 0.25), nperseg=None, noverlap=None, nfft=None, detrend="constant",
            return_onesided=True, scaling="density", axis=-1, mode="psd")
        istft(Zxx, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, input_onesided=True,
            boundary=True, time_axis=-1, freq_axis=-2, scaling="spectrum")
    """,
    raises="""\
ArgumentError: an option is unknown, or the lengths do not fit.
ShapeError: the window is not a vector.""",
)


@_spectrum
def csd(x: Any, y: Any, fs: Any, scaling: Any, axis: int, average: Any, **segments: Any) -> tuple[Any, Any]:
    """Estimate the cross power spectral density of two signals by Welch's method.

    Example:
        >>> x = np.cos(np.pi / 2 * np.arange(16))
        >>> csd(x, x, nperseg=8)[1].real.round(2)
        array([0.  , 0.67, 2.67, 0.67, 0.  ])
    """
    operation = "csd"
    same = y is x
    x = _signal(operation, x)
    y = x if same else _signal(operation, y)
    axis = axis_index(operation, axis, rank_of(x))
    longest = max(shape_of(x)[axis], shape_of(y)[axis])
    rows = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    x = _to_length(rows[0], longest)
    y = x if same else _to_length(rows[1], longest)
    both = np.result_type(dtype_of(x), dtype_of(y))
    if not same:
        x, y = cast(x, dtype=both), cast(y, dtype=both)
    plan = _plan(operation, x, axis=-1, **segments)
    power = _powers(x, y, plan, _scale(operation, scaling, plan.window, fs))
    if average not in ("mean", "median"):
        raise ArgumentError(message(operation, 'average must be "mean" or "median"', repr(average)))
    mean = np.mean(power, -2) if average == "mean" or shape_of(power)[-2] == 1 else _median(power, -2)
    return plan.frequencies(fs), np.moveaxis(mean, -1, axis)


@_spectrum
def welch(x: Any, **options: Any) -> tuple[Any, Any]:
    """Estimate the power spectral density by Welch's method: the mean of the periodograms of segments.

    Example:
        >>> welch(np.cos(np.pi / 2 * np.arange(16)), nperseg=8)[1].round(2)
        array([0.  , 0.67, 2.67, 0.67, 0.  ])
    """
    x = _signal("welch", x)
    return csd(x, x, **options)


@_spectrum
def periodogram(x: Any, axis: int, nfft: Any, window: Any, **options: Any) -> tuple[Any, Any]:
    """Estimate the power spectral density by one transform of the whole signal.

    Example:
        >>> periodogram(np.cos(np.pi / 2 * np.arange(8)))[1].round(2)
        array([0., 0., 4., 0., 0.])
    """
    x = _signal("periodogram", x)
    axis = axis_index("periodogram", axis, rank_of(x))
    count = shape_of(x)[axis]
    if nfft is not None and nfft < count:
        x, count, nfft = part(x, axis, slice(0, nfft)), int(nfft), None
    window = "boxcar" if window is None else window
    return csd(x, x, window=window, nperseg=count, noverlap=0, nfft=nfft, axis=axis, **options)


@_spectrum
def coherence(x: Any, y: Any, **options: Any) -> tuple[Any, Any]:
    """Estimate the coherence of two signals, ``|P_xy|^2 / (P_xx P_yy)``.

    Example:
        >>> x = np.array([1.0, 2.0, 0.0, 1.0, 3.0, 1.0])
        >>> coherence(x, x, nperseg=4)[1].round(6)
        array([1., 1., 1.])
    """
    x, y = _signal("coherence", x), _signal("coherence", y)
    frequencies, power_x = csd(x, x, **options)
    power_y, cross = csd(y, y, **options)[1], csd(x, y, **options)[1]
    square = real(conjugate(cross) * cross) if is_complex(dtype_of(cross)) else cross * cross
    return frequencies, square / power_x / power_y


# -- short-time transforms -------------------------------------------------------------------------------


def _short_time(
    operation: str, x: Any, fs: Any, plan: _Plan, boundary: Any, padded: bool, scale: Any
) -> tuple[Any, Any]:
    """Return the times of the segments, and their scaled transforms: ``[..., segment, frequency]``."""
    x = np.moveaxis(x, plan.axis, -1)
    if boundary not in ("even", "odd", "constant", "zeros", None):
        requirement = "boundary must be even, odd, constant, zeros or None"
        raise ArgumentError(message(operation, requirement, repr(boundary)))
    if boundary is not None:
        x = extension(operation, x, rank_of(x) - 1, plan.width // 2, boundary)
    if padded:
        missing = (-(shape_of(x)[-1] - plan.width) % plan.step) % plan.width
        x = _to_length(x, shape_of(x)[-1] + missing)
    result = _transformed(x, plan)
    times = np.arange(plan.width / 2, shape_of(x)[-1] - plan.width / 2 + 1, plan.step)
    times = (times - (plan.width / 2 if boundary is not None else 0.0)) / fs
    return times, result * cast(array(scale), dtype=_part_dtype(result))


def _with_time_last(values: Any, axis: int) -> Any:
    """Return ``[..., segment, frequency]`` with the frequencies in place of the axis of time, and segments last."""
    return np.moveaxis(np.swapaxes(values, -1, -2), -2, axis)


@_spectrum
def stft(x: Any, fs: Any, boundary: Any, padded: Any, scaling: Any, **segments: Any) -> tuple[Any, Any, Any]:
    """Return the Fourier transforms of windowed segments.

    Example:
        >>> abs(stft(np.ones(8), nperseg=4)[2]).round(2)[0]
        array([0.75, 1.  , 1.  , 1.  , 0.25])
    """
    operation, x = "stft", _signal("stft", x)
    if scaling not in ("spectrum", "psd"):
        raise ArgumentError(message(operation, 'scaling must be "spectrum" or "psd"', repr(scaling)))
    plan = _plan(operation, x, **segments)
    scale = np.sqrt(_scale(operation, "density" if scaling == "psd" else scaling, plan.window, fs))
    times, result = _short_time(operation, x, fs, plan, boundary, padded, scale)
    return plan.frequencies(fs), times, _with_time_last(result, plan.axis)


@_spectrum
def spectrogram(
    x: Any, fs: Any, noverlap: Any, scaling: Any, mode: Any, **segments: Any
) -> tuple[Any, Any, Any]:
    """Return the power spectral densities of segments.

    Example:
        >>> spectrogram(np.cos(np.pi / 2 * np.arange(8)), nperseg=4, window="boxcar")[2].round(2)
        array([[0., 0.],
               [2., 2.],
               [0., 0.]])
    """
    operation, x = "spectrogram", _signal("spectrogram", x)
    changes: dict[str, Callable[[Any], Any]] = {
        "psd": lambda z: real(conjugate(z) * z),
        "complex": lambda z: z,
        "magnitude": np.abs,
        "angle": np.angle,
        "phase": lambda z: np.unwrap(np.angle(z), axis=-1),
    }
    if mode not in changes:
        raise ArgumentError(message(operation, f"mode must be one of {', '.join(changes)}", repr(mode)))
    if noverlap is None:
        count = shape_of(x)[axis_index(operation, segments["axis"], rank_of(x))]
        noverlap = shape_of(_window(operation, segments["window"], segments["nperseg"], count))[0] // 8
    plan = _plan(operation, x, noverlap=noverlap, **segments)
    scale = np.sqrt(_scale(operation, scaling, plan.window, fs))
    times, result = _short_time(operation, x, fs, plan, None, False, scale)
    result = changes[mode](result)
    result = _twice_inside(result, plan) if mode == "psd" else result
    return plan.frequencies(fs), times, _with_time_last(result, plan.axis)


@_spectrum
def istft(
    Zxx: Any,
    fs: Any,
    boundary: Any,
    time_axis: Any,
    freq_axis: Any,
    scaling: Any,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    nfft: Any,
    input_onesided: Any,
) -> tuple[Any, Any]:
    """Return the signal with given short-time transforms: the sum of windowed segments, over that of squared windows.

    Raises:
        ShapeError: the transforms have less than two axes.

    Example:
        >>> istft(stft(np.arange(8.0), nperseg=4)[2], nperseg=4)[1].round(6)
        array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    operation, z = "istft", array(Zxx) + 0j
    if rank_of(z) < 2:
        raise ShapeError(message(operation, "transforms of at least two axes are required", show(z)))
    time, frequency = (axis_index(operation, axis, rank_of(z)) for axis in (time_axis, freq_axis))
    if time == frequency:
        raise ArgumentError(message(operation, "time_axis and freq_axis must differ", str(time_axis)))
    z = np.moveaxis(z, (time, frequency), (-2, -1))
    usual = 2 * (shape_of(z)[-1] - 1) if input_onesided else shape_of(z)[-1]
    width = usual if nperseg is None else int(number(operation, "nperseg", nperseg))
    if nfft is None:
        nfft = width if input_onesided and width == usual + 1 else usual
    weights = _window(operation, window, width, width)
    step = width - _overlap(operation, width, noverlap, nfft)
    weights = cast(weights, dtype=_part_dtype(z))
    segments = (np.fft.irfft if input_onesided else np.fft.ifft)(z, nfft)[..., :width]
    scale = np.sqrt(_scale(operation, _SCALINGS.get(scaling, scaling), weights, fs))
    segments = segments / cast(array(scale), dtype=_part_dtype(z))
    total = _overlapped(segments * weights, step)
    squares = _overlapped(np.broadcast_to(weights * weights, (shape_of(segments)[-2], width)), step)
    if boundary:
        half = width // 2
        inner = slice(half, shape_of(total)[-1] - half)
        total, squares = total[..., inner], squares[inner]
    result = total / np.where(squares > _TINY, squares, 1.0)
    result = np.moveaxis(result, -1, time - (frequency < time))
    return np.arange(shape_of(result)[0]) / float(number(operation, "fs", fs)), result


_SCALINGS = {"psd": "density", "density": "unknown"}


def _overlapped(segments: Any, step: int) -> Any:
    """Add segments up, each a step after the one before."""
    *lead, blocks, width = shape_of(segments)
    rank = len(lead)
    leading = tuple(map(along, range(rank)))
    return contract(
        segments,
        extents=(*lead, blocks, width),
        accesses=((*leading, along(rank), along(rank + 1)),),
        out=(*leading, (0, ((rank, step), (rank + 1, 1)))),
        shape=(*lead, (blocks - 1) * step + width),
    )


# -- trends, and the analytic signal ---------------------------------------------------------------------


@substitutes("scipy.signal.detrend")
def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    """Subtract the mean, or the line of least squares.

    Raises:
        ArgumentError: the type is unknown, or a position lies outside.

    Example:
        >>> detrend(np.array([0.0, 2.0, 1.0])).round(6)
        array([-0.5,  1. , -0.5])
    """
    operation, x = "detrend", _signal("detrend", data)
    if type not in ("linear", "l", "constant", "c"):
        raise ArgumentError(message(operation, "type must be linear or constant", repr(type)))
    axis = axis_index(operation, axis, rank_of(x))
    if type in ("constant", "c"):
        return x - np.mean(x, axis, keepdims=True)
    count = shape_of(x)[axis]
    ends = np.unique(np.concatenate([[0, count], np.atleast_1d(number(operation, "bp", bp))]).astype(int))
    if ends[-1] > count or ends[0] < 0:
        raise ArgumentError(message(operation, "breakpoints must lie inside the signal", str(bp)))
    x = np.moveaxis(x, axis, -1)
    pieces = [_without_line(x[..., start:stop]) for start, stop in itertools.pairwise(ends)]
    return np.moveaxis(np.concatenate(pieces, -1), -1, axis)


def _without_line(x: Any) -> Any:
    count = shape_of(x)[-1]
    centred = x - np.mean(x, -1, keepdims=True)
    if count < 2:
        return centred
    line = np.arange(count) - (count - 1) / 2
    line = (line / np.sqrt(np.sum(line * line))).astype(_part_dtype(x))
    return centred - np.sum(centred * line, -1, keepdims=True) * line


@substitutes("scipy.signal.hilbert")
def hilbert(x: Any, N: Any = None, axis: int = -1) -> Any:
    """Return the analytic signal ``x + i H x``, whose negative frequencies are 0.

    Raises:
        DtypeError: the signal is complex.
        ArgumentError: the length is less than 1.

    Example:
        >>> hilbert(np.array([1.0, 0.0, -1.0, 0.0])).imag.round(6) + 0.0
        array([ 0.,  1.,  0., -1.])
    """
    operation, x = "hilbert", _signal("hilbert", x)
    if is_complex(dtype_of(x)):
        raise DtypeError(message(operation, "the signal must be real", show(x)))
    axis = axis_index(operation, axis, rank_of(x))
    count = shape_of(x)[axis] if N is None else int(number(operation, "N", N))
    if count < 1:
        raise ArgumentError(message(operation, "N must be at least 1", str(count)))
    weights = np.zeros(count, _part_dtype(x))
    weights[0] = 1.0
    weights[1 : (count + 1) // 2] = 2.0
    if count % 2 == 0:
        weights[count // 2] = 1.0
    spectrum = np.fft.fft(x, count, axis) * np.reshape(weights, (-1, *(1,) * (rank_of(x) - axis - 1)))
    return np.fft.ifft(spectrum, count, axis)
