"""Second derivatives of library functions warn of kinks only where the functions have them."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
import wengert.scipy as wsp
from tests.draws import CASES, many
from tests.numpy.test_coverage import tool
from wengert.engine.core import tree
from wengert.engine.core.errors import KinkWarning

pytest.importorskip("scipy")

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
#: The tables of calls of `tests/scipy`, and the modules whose functions they call.
ROOMS = {
    "test_banded": wsp.linalg,
    "test_integrate": wsp.integrate,
    "test_interpolate": wsp.interpolate,
    "test_linalg": wsp.linalg,
    "test_ndimage": wsp.ndimage,
    "test_signal": wsp.signal,
    "test_stats_multivariate": wsp.stats,
    "test_stats_samples": wsp.stats,
}
_METHODS = ("logpdf", "logpmf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
#: Why a call may warn though the function is smooth.
NOT_TAKEN = "a column, row or element beside the largest one is at a kink of its own"
ONE_NUMBER = "the deviation of a single number is always 0"
INNER = "a step of the reduction is at a kink, which a later step smooths or drops"


class Program(NamedTuple):
    """A call with its arguments, the second derivative in one direction, and where it is taken."""

    name: str
    function: Function
    arguments: tuple[Array, ...]


def _numpys() -> Iterator[Program]:
    samples = tool.samples(0)
    for call in (call for area in tool.table().values() for calls in area.values() for call in calls):
        if set(call.names) <= tool.FLOATS and not call.narrow:
            yield Program(call.text, call.program(np), tuple(samples[name] for name in call.names))


def _scipys() -> Iterator[Program]:
    for file, room in ROOMS.items():
        for name, (call, *values) in importlib.import_module(f"tests.scipy.{file}").CALLS.items():
            if any(np.iscomplexobj(value) for value in values):
                continue
            arguments = tuple(np.asarray(value, float) for value in values)
            yield Program(f"{file} {name}", lambda *x, f=call, m=room: f(m, *x), arguments)
    specials = importlib.import_module("tests.engine.ops.special.test_scipy_functions")
    for name in specials.NAMES:
        function, x = specials.call(name)
        if x.dtype.kind == "f":
            yield Program(f"special.{name}", function, (x,))
    for name, (function, _, values) in importlib.import_module("tests.test_special").CASES.items():
        if all(np.asarray(value).dtype.kind == "f" for value in values):
            yield Program(f"wg.special {name}", function, tuple(map(np.asarray, values)))
    families = importlib.import_module("tests.scipy.test_stats")
    for name in families.FAMILIES:
        own, values = getattr(wsp.stats, name), families.parameters(name, 1, 1)
        for method in (method for method in _METHODS if hasattr(own, method)):
            x = families.LEVELS if method in ("ppf", "isf") else families.inner_points(name, values)
            yield Program(f"stats.{name}.{method}", getattr(own, method), (x, *values))
    distances = importlib.import_module("tests.scipy.test_distance")
    for name, options in distances.METRICS:
        function = functools.partial(wsp.spatial.distance.cdist, metric=name, **options)
        yield Program(f"cdist {name} {options}", function, (distances.A, distances.B))


def _points(program: Program) -> Iterator[Program]:
    """Yield the call as it is, with a zero, with two equal elements, with all zeros and with all ones, each once."""
    yield program
    for place, x in enumerate(program.arguments):
        known = [x]
        zero, tie = x.copy(), x.copy()
        zero.flat[:1] = 0.0
        tie.flat[1:2] = tie.flat[:1]
        for kind, moved in {"zero": zero, "tie": tie, "zeros": 0 * x, "ones": 0 * x + 1}.items():
            if not any(np.array_equal(moved, other) for other in known):
                known.append(moved)
                arguments = (*program.arguments[:place], moved, *program.arguments[place + 1 :])
                yield program._replace(name=f"{program.name} [{kind}, {place}]", arguments=arguments)


def _kind(leaf: Any) -> str:
    is_object = isinstance(leaf, type)  # of np.common_type
    return "O" if is_object else np.dtype(getattr(leaf, "dtype", type(leaf))).kind


def _total(function: Function) -> Function:
    """Return a weighted sum of the floating results of a function."""

    def total(*arguments: Any) -> Any:
        found: Any = 0.0 * sum(np.sum(x) for x in arguments)
        leaves: list[Any] = tree.leaves(function(*arguments))
        for place, leaf in enumerate(leaves):
            kind = _kind(leaf)
            if kind in "fc":
                leaf = leaf * np.cos(np.arange(np.size(leaf)) + place).reshape(np.shape(leaf))
                found = found + np.sum(leaf.real + leaf.imag if kind == "c" else leaf)
        return found

    return total


def _inner(x: Any, y: Any) -> Any:
    return sum(np.sum(one * other) for one, other in zip(x, y, strict=True))


def _gradient(f: Function, count: int) -> Function:
    return wg.grad(f, argnums=tuple(range(count)))


#: The second derivative in a direction d at x.
WAYS: dict[str, Callable[[Function, tuple[Array, ...], tuple[Array, ...]], Any]] = {
    "forward over reverse": lambda f, x, d: wg.jvp(_gradient(f, len(x)), x, d)[1],
    "reverse over reverse": lambda f, x, d: _gradient(lambda *x: _inner(_gradient(f, len(d))(*x), d), len(x))(
        *x
    ),
    "reverse over forward": lambda f, x, d: _gradient(lambda *x: wg.jvp(f, x, d)[1], len(x))(*x),
    "forward over forward": lambda f, x, d: wg.jvp(lambda *x: wg.jvp(f, x, d)[1], x, d)[1],
}


def _flat(values: Any) -> Array:
    return np.concatenate([np.ravel(value) for value in values])


def _is_smooth(f: Function, x: tuple[Array, ...], d: tuple[Array, ...]) -> bool:
    """Return whether the value is a number, and the gradient has the same difference on both sides and no jump."""
    step, gradient = 1e-5, _gradient(f, len(x))
    sides = [tuple(a + s * step * b for a, b in zip(x, d, strict=True)) for s in (1, 0, -1)]
    right, here, left = (_flat(gradient(*side)) for side in sides)
    after, before = (right - here) / step, (here - left) / step
    is_close = np.abs(after - before) <= 1e-2 * (1 + np.abs(after))
    return bool(np.isfinite(f(*x)) and np.all(is_close & (np.abs(after) < 2e3)))


def _warning(function: Function, x: tuple[Array, ...], d: tuple[Array, ...], way: str) -> str:
    """Return the warning of a second derivative, or an empty string."""
    with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            WAYS[way](function, x, d)
        except (wg.WengertError, np.linalg.LinAlgError, ValueError, NotImplementedError):
            return ""  # no derivative, or a point outside of the domain
    return next((str(each.message) for each in found if issubclass(each.category, KinkWarning)), "")


def noise(program: Program, seed: int, ways: Sequence[str] = tuple(WAYS)) -> list[str]:
    """Return the warnings of second derivatives, none where the function is not smooth."""
    rng = np.random.default_rng(seed)
    x = program.arguments
    d = tuple(rng.uniform(-1.0, 1.0, np.shape(value)) for value in x)
    function = _total(program.function)
    texts = [f"{program.name}, {way}: {text}" for way in ways if (text := _warning(function, x, d, way))]
    if not texts or any(program.name.startswith(name) for name in EXCEPTIONS):
        return []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return texts if _is_smooth(function, x, d) else []
        except wg.WengertError:
            return []  # the point is an end of the domain


#: Calls that may warn where they are smooth, and why.
EXCEPTIONS = {
    **dict.fromkeys(
        ("np.linalg.norm(x, ord=1)", "np.linalg.matrix_norm(A, ord=1)", "test_linalg norm"), NOT_TAKEN
    ),
    **{f"np.linalg.{norm}, ord=np.inf": NOT_TAKEN for norm in ("norm(x", "vector_norm(x", "matrix_norm(A")},
    "np.nanstd(n, axis=0": ONE_NUMBER,
    "np.hypot.reduce(x, axis=1, initial": INNER,
    "np.fmin.reduce(x, axis=1, initial=1, where=m)": INNER,
    "test_signal freqz_sos": "the call takes the modulus of a response that is 0",
}


def _all() -> list[Program]:
    return [point for program in (*_numpys(), *_scipys()) for point in _points(program)]


def test_second_derivatives_of_smooth_functions_do_not_warn() -> None:
    programs, ways = _all(), list(WAYS)
    for place in np.random.default_rng(CASES).choice(len(programs), many(400), replace=False):
        assert not noise(programs[place], CASES, ways[place % len(ways) :][:1])


PARTS = 8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_all_second_derivatives_of_smooth_functions_do_not_warn(part: int) -> None:
    assert [text for program in _all()[part::PARTS] for text in noise(program, part)] == []
