"""The papers' convolutions in plain NumPy: by loops, by a matrix (im2col), by Fourier transforms; and their CNN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import nn

# Images are (n, channels, height, width), filters (f, channels, s, t), results (n, f, rows, columns).


def extents(x: Any, w: Any) -> tuple[int, int]:
    """Return the rows and the columns of a convolution without a border."""
    return x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1


def by_loops(x: Any, w: Any) -> Any:
    """Move each filter over the images."""
    (rows, columns), (filters, _, s, t) = extents(x, w), w.shape
    y = np.zeros((len(x), filters, rows, columns), x.dtype)
    for f in range(filters):
        for i in range(rows):
            for j in range(columns):
                y[:, f, i, j] = np.sum(x[:, :, i : i + s, j : j + t] * w[f], axis=(1, 2, 3))
    return y


def by_matrix(x: Any, w: Any) -> Any:
    """Make a column of each window (im2col), and multiply matrices."""
    (rows, columns), (filters, channels, s, t) = extents(x, w), w.shape
    windows = [x[:, :, i : i + rows, j : j + columns] for i in range(s) for j in range(t)]
    matrix = np.stack(windows, axis=2).reshape(len(x), channels * s * t, rows * columns)
    return (w.reshape(filters, -1) @ matrix).reshape(len(x), filters, rows, columns)


def by_fft(x: Any, w: Any) -> Any:
    """Multiply spectra: the idea that the second paper gave up."""
    (rows, columns), size = extents(x, w), x.shape[2:]
    images, filters = np.fft.rfft2(x, size), np.conj(np.fft.rfft2(w, size))
    products = np.einsum("nchw,fchw->nfhw", images, filters)
    return np.fft.irfft2(products, size)[:, :, :rows, :columns]


def pooled(x: Any, copies: bool = False) -> Any:
    """Return the maximum of each square of four, of slices that are views or copies."""
    rows, columns = x.shape[2] // 2 * 2, x.shape[3] // 2 * 2
    corners = [x[:, :, i:rows:2, j:columns:2] for i in (0, 1) for j in (0, 1)]
    a, b, c, d = [corner.copy() for corner in corners] if copies else corners
    return np.maximum(np.maximum(a, b), np.maximum(c, d))


def cnn_loss(convolve: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return the loss of the papers' CNN with a convolution; the weights are those of `wengert.train`, in a list."""

    def loss(weights: Sequence[Any], x: Any, labels: Any) -> Any:
        w1, b1, w2, b2, w3, b3, w4, b4 = weights
        x = pooled(np.maximum(convolve(x, w1) + b1[:, None, None], 0))
        x = pooled(np.maximum(convolve(x, w2) + b2[:, None, None], 0))
        x = np.maximum(x.reshape(len(x), -1) @ w3 + b3, 0) @ w4 + b4
        return nn.softmax_cross_entropy(x, labels)

    return loss
