"""Arrays of every kind for the calls of ``tools/numpy_calls.txt``: dtypes, domains and shapes, drawn on purpose.

A stratum maps the arrays of the coverage table, positive or real, to arrays of another kind. A call that NumPy accepts
must give NumPy's value, shape and dtype in each mode, or raise one of Wengert's errors.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wengert as wg
from wengert.engine.boxes import CONSTANT, Box, Trace, concrete, running
from wengert.engine.core import tree
from wengert.engine.core.errors import WengertError
from wengert.engine.ir.types import type_of
from wengert.engine.transforms.staging import evaluate, stage

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
SQUARE = ("A", "B", "S")


def _scaled(values: Array) -> Array:
    return np.rint(3.0 * np.nan_to_num(values))


def _complex(values: Array) -> Array:
    return values + 1j * np.roll(values, 1)[..., ::-1] if values.ndim else values - 0.75j * values


def _special(values: Array) -> Array:
    found = np.array(values)
    for place, value in enumerate((np.nan, np.inf, -np.inf, -0.0)):
        if found.size > 2 * place:
            found.flat[2 * place] = value
    return found


def _rows(count: int, name: str, values: Array) -> Array:
    return (
        values[(slice(count),) * values.ndim] if name in SQUARE else values[:count] if values.ndim else values
    )


#: From a kind of dtype or domain to a map of the real samples.
KINDS: dict[str, Callable[[Array], Array]] = {
    "bool": lambda values: values > 0.5,
    "int8": lambda values: _scaled(values).astype(np.int8),
    "uint8": lambda values: np.abs(_scaled(values)).astype(np.uint8),
    "int64": lambda values: _scaled(values).astype(np.int64),
    "uint64": lambda values: np.abs(_scaled(values)).astype(np.uint64),
    "float32": lambda values: values.astype(np.float32),
    "complex64": lambda values: _complex(values).astype(np.complex64),
    "complex128": _complex,
    "negative": lambda values: -values,
    "imaginary": lambda values: 1j * values,
    "special": _special,
    "zero": lambda values: 0.0 * values,
    "ties": _scaled,
}
#: From a kind of shape to a map of all samples.
SHAPES: dict[str, Callable[[str, Array], Array]] = {
    "as they are": lambda name, values: values,
    "one row": lambda name, values: _rows(1, name, values),
    "no rows": lambda name, values: _rows(0, name, values),
    "no columns": lambda name, values: values[..., :0] if values.ndim and name not in SQUARE else values,
    "one element": lambda name, values: values[(slice(1),) * values.ndim],
    "numbers": lambda name, values: values[(0,) * values.ndim] if name not in SQUARE else values,
}


def draw(arrays: Arrays, floats: frozenset[str], generator: np.random.Generator) -> tuple[Arrays, str]:
    """Return the arrays of a drawn stratum, and its name: one shape, and a kind for each array."""
    shape = str(generator.choice(list(SHAPES), p=[0.55, *(0.45 / (len(SHAPES) - 1),) * (len(SHAPES) - 1)]))
    common = str(generator.choice(list(KINDS)))
    found: Arrays = {}
    kinds: list[str] = []
    for name, values in arrays.items():
        kind = common if generator.random() < 0.6 else str(generator.choice([*KINDS, "float64"]))
        values = KINDS[kind](values) if name in floats and kind in KINDS else values
        kinds.append(f"{name}: {kind}" if name in floats else name)
        found[name] = np.asarray(SHAPES[shape](name, values))
    return found, f"{shape}, {', '.join(kinds)}"


# -- modes ---------------------------------------------------------------------------------------------------


def boxed(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run on boxes of constants."""
    with running(Trace()):
        return function(*map(CONSTANT.constant, arguments))


def on_tape(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run on a tape, which follows the floating arguments, as `wg.vjp` does."""
    return wg.vjp(lambda *x: _arrays_of(function(*x)), *arguments)[0]


def batched(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run on two examples, of which the second counts."""
    twice = [np.stack([np.zeros_like(x), x]) for x in map(np.asarray, arguments)]
    result = wg.vmap(lambda *x: _arrays_of(function(*x)))(*twice)
    return [part[1] for part in result]


def staged(function: Callable[..., Any], *arguments: Any) -> Any:
    """Record on types, and evaluate by NumPy."""
    graph, captured = stage(lambda *x: _arrays_of(function(*x)), [type_of(x) for x in arguments])
    return evaluate(graph, *captured, *arguments)


def compiled(function: Callable[..., Any], *arguments: Any) -> Any:
    """Compile."""
    return wg.jit(lambda *x: _arrays_of(function(*x)))(*arguments)


MODES = {each.__name__: each for each in (boxed, on_tape, batched, staged, compiled)}


#: Modes that know types only, or types and NumPy's number of the second example.
TYPED = ("batched", "staged", "compiled")
#: NumPy's words where a plain array would hold boxes: a transform runs the program again with substitutes.
_MADE_OF_BOXES = re.compile("setting an array element with a sequence|int.. argument must be")


def is_array(leaf: Any) -> bool:
    return isinstance(leaf, (bool, int, float, complex, np.generic, np.ndarray, Box))


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in leaves(part)]
    return tree.leaves(result) if isinstance(result, dict) else [result]


def _arrays_of(result: Any) -> list[Any]:
    return [leaf for leaf in leaves(result) if is_array(leaf)]


def plain(leaf: Any) -> Any:
    return np.asarray(concrete(leaf) if isinstance(leaf, Box) else leaf)


def outcome(run: Callable[..., Any], *arguments: Any) -> Any:
    """Return the arrays of a result, or the error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return [plain(leaf) for leaf in _arrays_of(run(*arguments))]
        except Exception as problem:
            return problem


def difference(mode: str, actual: Any, expected: Any, *, narrow: bool = False) -> str:
    """Return how the outcome of a mode differs from NumPy's, or an empty string."""
    if isinstance(expected, Exception):
        if not isinstance(actual, Exception):
            if mode in TYPED and not isinstance(expected, TypeError):
                return ""  # NumPy looked at the values
            return (
                f"NumPy raises {type(expected).__name__}: {str(expected)[:60]}, Wengert gives {actual!r:.60}"
            )
        return (
            ""
            if isinstance(actual, (WengertError, ValueError, TypeError, IndexError))
            else f"raises {actual!r:.100}"
        )
    if isinstance(actual, Exception):
        refused = isinstance(actual, WengertError) or (
            mode == "boxed" and _MADE_OF_BOXES.search(str(actual)) is not None
        )
        return "" if refused else f"NumPy gives a value, Wengert raises {actual!r:.150}"
    if len(actual) != len(expected):
        return f"{len(actual)} results for {len(expected)}"
    return next(filter(None, map(lambda a, e: _differs(a, e, narrow), actual, expected)), "")


def _differs(actual: Array, expected: Array, narrow: bool) -> str:
    if actual.shape != expected.shape or (actual.dtype != expected.dtype and expected.size):
        return f"{actual.dtype}{list(actual.shape)} for {expected.dtype}{list(expected.shape)}"
    narrow = narrow or expected.dtype in (np.float32, np.complex64)
    rtol = 4e-3 if expected.dtype == np.float16 else 1e-4 if narrow else 1e-9
    with np.errstate(all="ignore"):
        close = np.allclose(actual, expected, rtol=rtol, atol=rtol, equal_nan=expected.dtype.kind in "fc")
    return "" if close else f"{actual!r:.80} for {expected!r:.80}"


#: Options that the table lacks: dtypes of integers and complex numbers, values that are converted to another dtype.
MORE = """
np.linspace(s, 5.0, 7, dtype=int); np.linspace(x[0], y[0], 4, dtype=int); np.linspace(s, -3, 4, dtype=complex)
np.linspace(2, s, 1); np.linspace(s, 3.0, 0); np.linspace(s, 3.0, 5, endpoint=False, retstep=True)
np.logspace(s, 2.0, 4, dtype=int); np.logspace(s, -1.0, 3, base=p[0]); np.geomspace(s, -8.0, 4)
np.geomspace(1j, s, 4); np.geomspace(v, w, 3); np.geomspace(s, 9, 3, dtype=int)
np.geomspace(s, 8.0, 4, dtype=complex); np.geomspace(-1.0, s, 3, endpoint=False); np.geomspace(s, 2.0, 1)
np.geomspace(s, 2.0, 0); np.arange(s, 5, 2); np.arange(s, 5, dtype=int); np.sum(x, dtype=int)
np.sum(x, dtype=complex); np.prod(x, axis=0, dtype=int); np.cumsum(x, axis=0, dtype=int)
np.cumprod(x, dtype=complex); np.mean(x, axis=0, dtype=int); np.mean(x, dtype=complex); np.var(x, dtype=complex)
np.std(x, axis=0, dtype=int); np.nansum(n, dtype=int); np.nanmean(n, dtype=complex); np.trace(A, dtype=int)
np.trace(A, dtype=complex); np.sum(x, initial=s); np.prod(x, initial=s, where=m); np.max(x, initial=s)
np.min(x, axis=0, initial=s, where=m); np.average(x, axis=1, weights=y[0]); np.average(x, weights=y)
np.full((2, 3), s, dtype=int); np.full_like(x, s); np.full_like(x, s, dtype=int); np.full_like(k, s)
np.array([s, 2], dtype=int); np.asarray(x, dtype=complex); np.asarray(x, dtype=int); np.astype(x, np.int8)
np.astype(x, complex); x.astype(bool); x.astype(np.float16); np.concatenate((x, k))
np.concatenate((x, y), dtype=complex); np.stack((x, k)); np.append(x, s); np.insert(k, 1, s); np.insert(x, 1, y)
np.pad(x, 1, constant_values=s); np.pad(k, 1, constant_values=s); np.pad(k, 1, mode="linear_ramp", end_values=s)
np.pad(k, 1, mode="mean"); np.where(m, x, k); np.where(m, x, 1); np.select([m, x > 0], [k, x], 1)
np.choose([0, 1, 1, 0], (x, k)); np.clip(x, s, y); np.clip(k, s, None); np.clip(x, 0, 2); np.round(k, -1)
np.round(x, 2); np.copysign(k, x); np.heaviside(x, 0.5); np.mod(k, l); np.power(k, 2); np.power(x, k)
np.power(k, -1.0); np.float_power(k, l); np.divmod(k, y); np.ldexp(x, l); np.maximum(x, k); np.fmin(x, 1)
np.logical_xor(x, k); np.arctan2(x, k); np.hypot(x, k); np.interp(v, r, w, left=1j)
np.interp(x, r, w, period=2); np.convolve(v, k[0]); np.correlate(v, k[0], "full"); np.diff(x, prepend=s)
np.diff(k, append=s); np.trapezoid(x, dx=s); np.trapezoid(k, y); np.gradient(v, k[0, 0] + 1); np.unwrap(k)
np.cross(A, k[:, :3]); np.kron(A, k); np.outer(v, k); np.inner(x, k); np.vdot(x, k); np.tensordot(x, k, 2)
np.matmul(A, k); np.einsum("ij,ij->", x, k); np.einsum("ij->j", x, dtype=complex)
np.einsum("ij,kj", x, y, dtype=int, casting="unsafe"); np.vander(k[0]); np.polyval(k[0], s); np.polyval(v, k)
np.polymul(v, k[0]); np.polydiv(v, k[0, 1:3]); np.polyint(k[0], k=s); np.polyder(k[0]); np.poly(k[0])
np.roots(k[0]); np.quantile(k, s * 0.5); np.percentile(k, 30); np.percentile(k, 30, method="lower")
np.percentile(x, [0, 100]); np.median(k, axis=0); np.median(x[:, :3], axis=1); np.searchsorted(r, k)
np.digitize(k, r); np.isin(x, k); np.histogram(k, bins=3); np.histogram(v, bins=3, range=(s, 4))
np.histogram(k, weights=x); np.histogram(v, bins=[0, 1, 2], weights=w)
np.histogramdd((v, w), bins=2, weights=w); np.bincount(k[0], weights=x[0]); np.cov(k); np.cov(v, w)
np.corrcoef(k); np.isclose(x, k); np.allclose(x, y); np.array_equal(x, k); np.nan_to_num(x, nan=s, posinf=1)
np.angle(k); np.angle(x, deg=True); np.real_if_close(x); np.sinc(k); np.i0(k); np.sign(k); np.fft.fft(k)
np.fft.rfft(k); np.fft.irfft(x); np.fft.hfft(v); np.fft.ihfft(k[0]); np.linalg.norm(k)
np.linalg.norm(k, axis=0); np.linalg.norm(x, 1, axis=0); np.linalg.norm(v, 0); np.linalg.norm(v, -1)
np.linalg.norm(v, 2.5); np.linalg.det(k[:, :3]); np.linalg.inv(A); np.linalg.solve(A, k)
np.linalg.matrix_power(k[:, :3], 3); np.linalg.matrix_power(A, -1); np.linalg.pinv(k); np.linalg.lstsq(k.T, y.T)
np.linalg.eigvalsh(A); np.linalg.qr(k); np.linalg.svdvals(k); np.linalg.slogdet(A); np.linalg.cond(A, 1)
np.linalg.matrix_rank(k); np.linalg.cholesky(S); np.linalg.vector_norm(x, ord=3); np.linalg.matrix_norm(k)
np.linalg.multi_dot([A, k, y.T]); (c := k.copy(), c.__setitem__(0, s), c)[0]
(c := x.copy(), c.__setitem__(0, k[0]), c)[0]; (c := k.copy(), np.fill_diagonal(c, s))[0]
(c := k.copy(), np.put(c, [0, 5], x[0, :2]))[0]; (c := k.copy(), np.place(c, m, x))[0]
(c := k.copy(), np.add.at(c, 0, x[0]))[0]; (c := x.copy(), np.add.at(c, 0, k[0]))[0]
(c := k.copy(), c.__iadd__(x))[1]; (c := x.copy(), c.__imul__(k))[1]; (c := x.copy(), c.__itruediv__(y))[1]
np.add(k, x, out=k.copy()); np.add(x, k, out=x.copy()); np.sum(x, axis=0, out=k[0].copy())
np.mean(k, axis=0, out=x[0].copy()); np.apply_along_axis(np.sort, 0, x); np.piecewise(k, [k > 2], [x[0, 0], 0])
np.vectorize(lambda a: a * 2)(k); np.tri(3) * s; np.nanmedian(k); np.take(x, k % 3, axis=0)
np.take_along_axis(x, k % 3, 0); np.repeat(x, k[:, 0], axis=0); np.roll(x, 1); np.trim_zeros(k[0]); np.unique(k)
np.sort(x, axis=0); x + True; x - 1; 2 * x; x / 2; x // 2; x % 3; x**2; x**0.5; 2.0**x; -x; abs(x); x @ y.T
x == k; x & k; x << 1; x.real; x.imag; x.conj(); x.mean(); x.std(); x.sum(); x.prod(); x.max(); x.argmax()
x.round(1); x.clip(0, 1); x.dot(k.T); x.trace(); x.var(axis=0); x.cumsum(0); x.any(); x.all()
"""


def more_calls(tool: Any) -> list[Any]:
    """Return the calls of `MORE`."""
    texts = [text.strip() for text in MORE.replace("\n", ";").split(";")]
    return [tool.Call("more", text) for text in texts if text]


def calls(tool: Any) -> list[Any]:
    """Return all calls: those of the table and `MORE`, without those of which NumPy leaves the result open."""
    table = [call for area in tool.table().values() for each in area.values() for call in each]
    return [call for call in (*table, *more_calls(tool)) if not any(text in call.text for text in _OPEN)]


#: Calls whose result NumPy leaves open, or that Wengert extends.
_OPEN = (
    "partition(",  # the order inside of each part is open
    "unique_",  # the order is open
    "unique(v, sorted=False)",
    "np.dot(x, y.T, out=",  # NumPy takes an ``out`` of the result's dtype alone; Wengert also casts
    "asfortranarray",  # of a number, which has an axis in a batch
    "np.empty",  # the numbers are open
    "ldexp.accumulate",  # NumPy has no loop for it; Wengert applies ldexp
)
#: Calls whose number of results the rank of a matrix decides.
_BY_RANK = ("linalg.lstsq(", "polyfit(r, w, 2, full")
#: Calls in which the order of sums decides where an infinity becomes NaN.
_SUMS_IN_ANY_ORDER = ("fft", "geomspace", "[30, 50]", "hermitian=True", "einsum", "interp", "searchsorted")
#: Calls whose dtype or shape NumPy chooses by the values.
_BY_VALUES = ("polymul", "polydiv", "poly1d", "linalg.eig(", "linalg.eigvals(", "roots", "trim_zeros")


def programs(
    tool: Any, seed: int, *, start: int = 0, step: int = 1, per_call: int = 1, mode: str = "boxed"
) -> Iterator[tuple[str, Callable[..., Any], list[Array]]]:
    """Yield the text of a call with its stratum, the program and its arguments.

    Args:
        tool: the module `tools/numpy_coverage.py`.
        seed: of the strata.
        start: the first call.
        step: from one call to the next.
        per_call: the strata of each call.
        mode: the mode in which the program is to run.
    """
    for call in calls(tool)[start::step]:
        generator = np.random.default_rng([seed, *call.text.encode()])
        for _ in range(per_call):
            known = {**tool.samples(0), **tool.integers(0)}
            arrays, stratum = draw({n: known[n] for n in call.names}, tool.FLOATS, generator)
            arguments = list(arrays.values())
            if mode == "on_tape" and any(array.dtype.kind not in "fc" for array in arguments):
                continue  # `wg.vjp` follows floating numbers only
            if not _is_open(call.text, stratum, mode):
                yield f"{call.text} [{stratum}]", call.program(np), arguments


def _is_open(text: str, stratum: str, mode: str) -> bool:
    """Return whether NumPy leaves the result open, chooses its type by values, or reads foreign memory."""
    return (
        ("out=" in text and "cum" in text and "as they are" not in stratum)  # crashes NumPy 2.4
        or ("no " in stratum and "fft" in text)  # NumPy 2.4 reads foreign memory
        or ("special" in stratum and any(name in text for name in _SUMS_IN_ANY_ORDER))
        or (mode in TYPED and "searchsorted(r" in text and "r: float32" not in stratum)  # r may not rise
        or ("no " in stratum and ("histogram2d" in text or "histogramdd" in text))  # edges of no points
        or ("zero" in stratum and "gradient(" in text)  # NumPy looks whether the distances are equal
        or (
            "numbers" in stratum and ("shift" in text or "__i" in text or "isscalar" in text)
        )  # arrays without axes count as numbers
        or (mode in TYPED and any(name in text for name in (*_BY_VALUES, *_BY_RANK)))
    )


def narrow(text: str, arguments: list[Array]) -> bool:
    """Return whether a program computes in single precision."""
    return "float32" in text or any(array.dtype.char in "fF" for array in arguments)
