"""Calls of every function of the array API standard, for each kind of dtype that it takes.

``x`` and ``y`` are arrays of the shape (2, 3), ``v`` and ``w`` have three elements, ``m`` is a regular matrix, ``s`` a
symmetric positive one, ``b`` has truth values and ``i`` integers from 0 to 2. NumPy has the same names, and gives the
expected results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64"
FLOATS = "float32 float64"
COMPLEX = "complex64 complex128"
REAL = f"{INTEGERS} {FLOATS}"
NUMERIC = f"{REAL} {COMPLEX}"
ALL = f"bool {NUMERIC}"
INEXACT = f"{FLOATS} {COMPLEX}"

#: The calls, by the dtypes of ``x``, ``y``, ``v``, ``w`` and ``m``.
CALLS = {
    ALL: """
        asarray([[1, 2], [3, 4]]); asarray(x, copy=True); asarray(2.5); asarray([True, False])
        empty_like(x).shape; empty((2, 3), dtype=x.dtype).dtype; full_like(x, 1); full((2, 1), 1, dtype=x.dtype)
        ones_like(x); zeros_like(x, dtype=float32); ones(3, dtype=x.dtype); zeros((2, 0), dtype=x.dtype)
        eye(3, dtype=x.dtype); eye(2, 3, k=1); tril(m); triu(m, k=1); tril(x, k=-1); meshgrid(v, w)
        meshgrid(v, w, indexing="ij"); meshgrid(v)
        astype(x, float64) if x.dtype.kind != "c" else astype(x, complex128); astype(x, x.dtype, copy=False)
        broadcast_arrays(x, v); broadcast_to(v, (2, 3)); can_cast(x.dtype, float64); isdtype(x.dtype, "numeric")
        result_type(x, x.dtype); equal(x, y); not_equal(x, y); equal(x, v); take(v, i); take(x, i, axis=1)
        take_along_axis(x, asarray([[0, 1], [2, 0]]), axis=1); take_along_axis(v, i); matrix_transpose(x)
        concat([x, y]); concat((x, y), axis=-1); concat([x, y], axis=None); expand_dims(x, axis=1); flip(x)
        flip(x, axis=0); flip(x, axis=(0, 1)); moveaxis(x, 0, 1); moveaxis(expand_dims(x, axis=0), (0, 1), (2, 0))
        permute_dims(x, (1, 0)); repeat(x, 2); repeat(x, 2, axis=0); repeat(v, asarray([1, 0, 2]))
        reshape(x, (3, 2)); reshape(x, (-1,), copy=True); roll(x, 1); roll(x, (1, -1), axis=(0, 1))
        squeeze(x[:1], 0); squeeze(x[None], (0,)); stack([x, y]); stack((x, y), axis=-1); tile(x, (2, 1))
        tile(v, (2, 2)); unstack(x); unstack(x, axis=-1); where(b, x, y); where(b, x, v); nonzero(x)
        count_nonzero(x); count_nonzero(x, axis=0, keepdims=True); sort(unique_values(x)); unique_counts(x)
        unique_inverse(x); unique_all(x); all(x); any(x); all(x, axis=1); any(x, axis=(0, 1), keepdims=True)
        linalg.diagonal(m); linalg.diagonal(x, offset=1); linalg.matrix_transpose(x); x[0]; x[..., None, 1]
        x[:, ::-1]; x[b]; x[:, i]; x[asarray(1)]; x.T; x.mT; x.shape; x.size; x.ndim; x.device; x.to_device("cpu")
        x == y; x != y; x.dtype
    """,
    "bool": "logical_and(x, y); logical_or(x, y); logical_xor(x, y); logical_not(x); bool(x[0, 0])",
    f"bool {INTEGERS}": """
        bitwise_and(x, y); bitwise_or(x, y); bitwise_xor(x, y); bitwise_invert(x); x & y; x | y; x ^ y; ~x; x & v
    """,
    INTEGERS: """
        bitwise_left_shift(x, abs(y) % 3); bitwise_right_shift(x, abs(y) % 3); x << 1; x >> 1; x % 2; int(x[0, 0])
        asarray([1, 2, 3])[x[0, 0] - x[0, 0]]; iinfo(x.dtype).max
    """,
    NUMERIC: """
        abs(x); add(x, y); add(x, 1); conj(x); subtract(x, y); multiply(x, v); negative(x); positive(x); square(x)
        sign(x); pow(x, abs(y) % 3) if x.dtype.kind != "c" else pow(x, y); isfinite(x); isinf(x); isnan(x)
        real(x); round(x); matmul(x, m); matmul(v, w); matmul(x, v); tensordot(x, y); tensordot(x, m, axes=1)
        tensordot(x, y, axes=((0, 1), (0, 1))); vecdot(x, y); vecdot(v, w, axis=-1); vecdot(x, y, axis=0)
        tensordot(v, w, axes=0); cumulative_sum(x, axis=0); cumulative_sum(v, include_initial=True)
        cumulative_prod(v); cumulative_sum(v, dtype=complex128); cumulative_prod(x, axis=-1, include_initial=True)
        prod(x); prod(x, axis=0, keepdims=True); sum(x); sum(x, axis=(0, 1)); sum(x, axis=1, dtype=complex128)
        prod(v, dtype=complex128); diff(x); diff(x, axis=0); diff(v, n=2); diff(v, prepend=w[:1], append=w[:2])
        linalg.cross(v, w); linalg.cross(x, y); linalg.outer(v, w); linalg.trace(m)
        linalg.trace(m, offset=1, dtype=complex128); linalg.matmul(x, m); linalg.vecdot(x, y)
        linalg.tensordot(x, m, axes=1); -x; +x; x + y; x - y; x * 2; 2 + x; 1 - x; x @ m; m @ v; x**2; asarray(x)
        full((), 3, dtype=x.dtype); complex(x[0, 0]) if x.dtype.kind == "c" else float(x[0, 0])
    """,
    REAL: """
        clip(x, 1, 2); clip(x, min=1); clip(x, max=v); clip(x); floor(x); ceil(x); trunc(x)
        floor_divide(x, abs(y) + 1); remainder(x, abs(y) + 1); greater(x, y); greater_equal(x, y); less(x, y)
        less_equal(x, y); maximum(x, y); minimum(x, v); argmax(x); argmin(x, axis=1)
        argmax(x, axis=0, keepdims=True); max(x); min(x, axis=1); max(x, axis=(0, 1), keepdims=True)
        searchsorted(sort(v), w); searchsorted(sort(v), w, side="right"); searchsorted(v, w, sorter=argsort(v))
        sort(x); sort(x, axis=0); argsort(x, axis=-1); argsort(v, stable=False); isin(x, v)
        isin(x, v, invert=True); x < y; x >= v; x // (abs(y) + 1); arange(5, dtype=x.dtype)
        arange(1, 8, 3, dtype=x.dtype)
    """,
    FLOATS: """
        acosh(abs(x) + 1); asinh(x); atan(x); atan2(x, y); atanh(x / 8); acos(x / 8); asin(x / 8); copysign(x, y)
        hypot(x, y); logaddexp(x, y); nextafter(x, y); signbit(x); mean(x); mean(x, axis=0, keepdims=True); std(x)
        std(x, axis=1, correction=1.0); var(x, correction=0.5); var(x, axis=(0, 1), keepdims=True); std(v, axis=0)
        linspace(0.0, 1.0, 5, dtype=x.dtype); linspace(0, 1, num=3, endpoint=False); arange(0.0, 1.0, 0.25)
        fft.rfft(x); fft.rfftn(x); fft.irfft(fft.rfft(x), n=3); fft.irfftn(fft.rfftn(x), s=(2, 3), axes=(0, 1))
        fft.ihfft(x); finfo(x.dtype).eps; linalg.matrix_rank(m); linalg.matrix_rank(m, rtol=0.1); x % 1.5; 2.0**x
        fft.fftfreq(5, d=0.5); fft.rfftfreq(4)
    """,
    INEXACT: """
        cos(x); cosh(x); divide(x, y); exp(x / 4); expm1(x / 4); log(abs(x) + 1); log10(x * x + 1); log1p(abs(x))
        log2(abs(x) + 1); reciprocal(abs(x) + 1); sin(x); sinh(x); sqrt(x * x); tan(x); tanh(x); x / y
        1 / (abs(x) + 1); pow(abs(x) + 1, 0.5); linalg.cholesky(s); linalg.cholesky(s, upper=True); linalg.det(m)
        linalg.eigvalsh(s); linalg.eigh(s).eigenvalues; linalg.inv(m); linalg.matrix_norm(m)
        linalg.matrix_norm(x, keepdims=True, ord=1); linalg.matrix_norm(m, ord="nuc")
        linalg.matrix_norm(x, ord=2); linalg.matrix_norm(x, ord=float("inf")); linalg.matrix_power(m, 3)
        linalg.matrix_power(m, -1); linalg.pinv(x); linalg.pinv(m, rtol=1e-3); linalg.qr(m)
        linalg.qr(x, mode="complete"); linalg.slogdet(m); linalg.solve(m, v); linalg.solve(m, m @ m)
        linalg.svd(x).S; linalg.svd(x, full_matrices=False).Vh.shape; linalg.svdvals(m); linalg.vector_norm(v)
        linalg.vector_norm(x, axis=1, keepdims=True); linalg.vector_norm(x, ord=1)
        linalg.vector_norm(x, axis=(0, 1), ord=3); linalg.vector_norm(v, ord=float("inf"))
        linalg.vector_norm(v, ord=0); linalg.eigvals(s).shape; linalg.eig(s).eigenvalues.shape
    """,
    COMPLEX: """
        imag(x); abs(x); fft.fft(x); fft.ifft(x, n=4); fft.fft(x, axis=0, norm="ortho"); fft.fftn(x)
        fft.ifftn(x, axes=(0,)); fft.irfft(x); fft.hfft(x, n=4); fft.fftshift(x); fft.ifftshift(x, axes=1)
        fft.fft(x, norm="forward"); acos(x); acosh(x); asin(x); asinh(x); atan(x); atanh(x)
    """,
}
#: One case for each dtype and call.
CASES = [
    (dtype, call.strip())
    for dtypes, texts in CALLS.items()
    for dtype in dtypes.split()
    for call in texts.replace("\n", ";").split(";")
    if call.strip()
]


def samples(dtype: str, seed: int = 0) -> dict[str, Any]:
    """Return the arrays that the calls name, of a dtype."""
    kind = np.dtype(dtype).kind
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> Any:
        values: Any = rng.permutation(np.prod(shape)).reshape(shape) % 7 - (0 if kind in "ub" else 3)
        if kind in "fc":
            values = values * 0.75 + 0.125
        if kind == "c":
            values = values + 1j * rng.permutation(np.prod(shape)).reshape(shape) / 4
        return (values % 2 if kind == "b" else values).astype(dtype)

    m = draw(3, 3) | np.eye(3, dtype=bool) if kind == "b" else (draw(3, 3) + 5 * np.eye(3)).astype(dtype)
    s = (m @ np.conj(m.T) + np.eye(3)).astype(dtype)
    given = {"x": draw(2, 3), "y": draw(2, 3), "v": draw(3), "w": draw(3), "m": m, "s": s}
    given["b"] = np.array([[True, False, True], [False, True, True]])
    given["i"] = np.array([2, 0, 1])
    return given


def scope(xp: Any) -> dict[str, Any]:
    """Return the names that a call may use: those of a namespace, and Python's where it has none."""
    names = {name: getattr(xp, name) for name in dir(xp) if not name.startswith("__")}
    return names | {"bool": bool}
