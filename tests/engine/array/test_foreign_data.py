"""Data of pandas, masked arrays and matrices, drawn at random: NumPy's number, or an error with the line."""

from __future__ import annotations

import itertools
import linecache
import random
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.optional import Package

pd = Package("pandas")
pytestmark = pytest.mark.filterwarnings("ignore")  # of pandas and matrices, in the plain program, too

POINT, STEP = np.array([0.71, 0.83, 0.96]), 1e-6
TABLE = np.arange(1.0, 10.0).reshape(3, 3) * 0.1
MASK = [[False, True, False]] * 3
_numbers = itertools.count()


@cache
def vectors() -> list[Any]:
    """Return data of one axis."""
    return [
        TABLE[0],
        TABLE[1].astype(np.float32),
        TABLE[:, 1],
        pd.Series(TABLE[0], index=list("abc")),
        pd.Series([2, 0, 1]),
        pd.Series([True, False, True]),
        pd.DataFrame(TABLE, columns=list("abc"))["b"],
        pd.Index([0.5, 0.25, 1.0]),
        np.ma.masked_array(TABLE[0], MASK[0]),
        np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0]),
        np.ma.masked_array(TABLE[1]),
        pd.Categorical([0.5, 0.25, 0.5]),
        pd.array([1.0, 2.0, 4.0]),
    ]


@cache
def matrices() -> list[Any]:
    """Return data of two axes."""
    return [
        TABLE,
        np.asfortranarray(TABLE),
        TABLE[::-1, ::-1],
        pd.DataFrame(TABLE, columns=list("abc")),
        np.ma.masked_array(TABLE, MASK),
        TABLE.view(np.matrix),
    ]


@cache
def places() -> list[Any]:
    """Return indices and masks."""
    return [
        *(kind([2, 0]) for kind in (np.array, pd.Series, pd.Index, list, np.ma.masked_array)),
        np.ma.masked_array([2, 0], [0, 1]),
        *(kind([True, False, True]) for kind in (np.array, pd.Series, list)),
        np.ma.masked_array([True, False, True], [1, 0, 0]),
    ]


#: Terms of data ``d``, or a part of it, and the vector ``w`` inside the transform.
_VECTOR_TERMS = """d.dot(w);d @ w;w @ d;np.dot(d, w);np.dot(w, d);d * w;w * d;d + w;w - d;w / (d + 1.0);w**d
np.multiply(d, w);np.maximum(w, d);np.sin(w) * d;w[d > 0.25];w[(d > 0.25)] * 2.0;np.where(d > 0.25, w, 0.0)
np.where(w > d, w, d);np.extract(d > 0.25, w);np.sum(w, where=d > 0.25);np.compress(d > 0.25, w)
np.concatenate([w, d]);np.stack([w, d]);np.outer(w, d);np.einsum("i,i->", w, d);np.inner(w, d);np.vstack([d, w])
np.column_stack([w, d]);np.append(w, d);np.clip(w, 0.0, d);np.average(w, weights=d);np.polyval(w, d)
np.interp(w, d, np.ones(3));np.convolve(w, d);np.cov(w, d);np.add.outer(w, d);w * np.sum(d);w * d.sum()
w * np.mean(d);w * float(d[1]);w[np.argsort(d)];w[np.asarray(d) > 0.5];sum(one * w[0] for one in d)
np.array([v * w[0] for v in d]);np.add(w, d, out=np.zeros(3));w.dot(d);np.searchsorted(w, d) * w;w * np.asarray(d)
w * np.array(d, dtype=float);set_to(w, d);added(w, d);w * len(d);np.trapezoid(w, d)"""
_MATRIX_TERMS = """d.dot(w);d @ w;w @ d;np.dot(d, w);np.matmul(d, w);np.matmul(w, d);d * w;w * d;d + w;np.add(d, w)
np.multiply(w, d);d.T @ w;np.outer(w, d);np.tensordot(d, w, 1);np.einsum("ij,j->i", d, w)
np.linalg.solve(d + np.eye(3), w);np.linalg.multi_dot([d, w]);np.where(d > 0.25, w, 0.0);np.vstack([d, w])
np.sum(d) * w;np.kron(d, w);np.asarray(d) @ w;w * np.array(d);w * np.trace(d);w[np.asarray(d > 0.3)[0]]
np.sum(w * d, axis=0)"""
TERMS: dict[str, Callable[[], list[Any]]] = {
    _VECTOR_TERMS: vectors,
    _MATRIX_TERMS: matrices,
    "w[d];w[d] * 2.0;np.take(w, d);set_at(w, d);w.take(d)": places,
}


def set_to(w: Any, d: Any) -> Any:
    v = w.copy()
    v[:] = d
    return v * w


def added(w: Any, d: Any) -> Any:
    v = w.copy()
    v += d
    return v


def set_at(w: Any, d: Any) -> Any:
    v = w.copy()
    v[d] = 2.0 * v[d]
    return v


def drawn(seed: int) -> Any:
    """Return a program of two terms, and its text."""
    random_ = random.Random(seed)
    terms: list[tuple[str, Any]] = []
    for _ in range(2):
        group = random_.choice([key for key in TERMS for _ in range(3 + key.count("\n"))])
        terms.append((random_.choice(re.split("[;\n]", group)), random_.choice(TERMS[group]())))
    (first, d), (second, e) = terms
    text = f"lambda w: np.sum(number({first})) + 0.5 * np.sum(number((lambda d: {second})(e)) ** 2)"
    return of_text(text, d=d, e=e), text


def of_text(text: str, **data: Any) -> Any:
    """Return the program of a text, which Python can show."""
    file = f"/drawn/foreign_{next(_numbers)}.py"
    linecache.cache[file] = len(text), None, [text], file
    return eval(compile(text, file, "eval"), {**globals(), **data})


def number(value: Any) -> Any:
    """Return the numbers of a table, a column or a masked array as an array; other values stay as they are."""
    if isinstance(value, np.ma.MaskedArray):
        return value.filled(0.0)
    return np.asarray(value) if isinstance(value, (np.matrix, pd.Series, pd.DataFrame, pd.Index)) else value


def is_refused(problem: BaseException) -> bool:
    """Return whether an error of Wengert's names the line of the program."""
    return (
        isinstance(problem, wg.WengertError)
        and re.search(r"\[(foreign_\d+|test_foreign_data).py:", str(problem)) is not None
    )


def check(seed: int, compiled: bool) -> int:
    """Compare a program in each mode, and return how many modes give its number."""
    program, text = drawn(seed)
    try:
        value = program(POINT.copy())
        slopes = [(program(POINT + one) - program(POINT - one)) / (2 * STEP) for one in STEP * np.eye(3)]
    except Exception:
        return 0
    if value is np.ma.masked or not np.isfinite(value):
        return 0
    modes: dict[str, Any] = {
        "grad": lambda: wg.value_and_grad(program)(POINT),
        "jvp": lambda: wg.jvp(program, (POINT,), (np.ones(3),)),
        "vmap": lambda: (wg.vmap(program)(np.stack([POINT, POINT]))[1], None),
    }
    if compiled:
        modes |= {
            "jit": lambda: (wg.jit(program)(POINT), None),
            "gradjit": lambda: wg.value_and_grad(wg.jit(program))(POINT),
        }
    followed = 0
    for mode, run in modes.items():
        try:
            found, slope = run()
        except Exception as problem:
            if not is_refused(problem):
                raise AssertionError(f"{seed} {mode}: {text}") from problem
            continue
        followed += 1
        np.testing.assert_allclose(found, value, rtol=1e-6, err_msg=f"{seed} {mode}: {text}")
        if slope is not None:
            wanted = np.sum(slopes) if mode == "jvp" else slopes
            np.testing.assert_allclose(slope, wanted, rtol=1e-4, atol=1e-6, err_msg=f"{seed} {mode}: {text}")
    return followed


@pytest.mark.parametrize("start", range(0, 40, 20))
def test_data_gives_numpys_number_or_an_error(start: int) -> None:
    assert sum(check(seed, seed % 10 == 0) for seed in range(start, start + 20)) > 10


@pytest.mark.slow
def test_much_data_gives_numpys_number_or_an_error() -> None:
    assert sum(check(seed, seed % 5 == 0) for seed in range(1000, 2500)) > 1000


#: Terms that write into an array.
WRITING = ("set_to", "added", "out=")


@pytest.mark.parametrize("kind", ["Masked", "matrix"])
def test_subclasses_of_arrays_are_named_wherever_they_stand(kind: str) -> None:
    modes: list[Any] = [
        lambda f: wg.grad(f)(POINT),
        lambda f: wg.vmap(f)(POINT[None]),
        lambda f: wg.jit(f)(POINT),
    ]
    refused, unnamed = 0, list[str]()
    for group in (_VECTOR_TERMS, _MATRIX_TERMS):
        data = [d for d in TERMS[group]() if kind in type(d).__name__]
        for number, (term, d) in enumerate(itertools.product(re.split("[;\n]", group), data[:1])):
            program = of_text(f"lambda w: np.sum({term})", d=d)
            try:
                modes[number % 3](program)
            except wg.WengertError as problem:
                refused += 1
                if kind not in str(problem) and not any(part in term for part in WRITING):
                    unnamed.append(f"{term}: {problem}")
            except Exception:
                with pytest.raises((TypeError, ValueError)):
                    program(POINT)
    assert not unnamed
    assert refused > 10


@pytest.mark.parametrize("term", ["d @ w", "d.dot(w)", "w @ d", "np.sin(d @ w) + d.dot(w)"])
@pytest.mark.parametrize("data", [lambda: pd.DataFrame(TABLE), lambda: pd.Series(TABLE[0])], ids=["d0", "d1"])
def test_products_with_tables_are_those_of_their_values(term: str, data: Callable[[], Any]) -> None:
    d = data()
    program = of_text(f"lambda w: np.sum({term})", d=d)
    plain = of_text(f"lambda w: np.sum({term})", d=d.to_numpy())
    slope = wg.grad(plain)(POINT)
    np.testing.assert_allclose(wg.grad(program)(POINT), slope)
    np.testing.assert_allclose(wg.jit(wg.grad(program))(POINT), slope)
    np.testing.assert_allclose(wg.vmap(program)(POINT[None])[0], program(POINT))
    np.testing.assert_allclose(wg.jvp(program, (POINT,), (POINT,)), (program(POINT), slope @ POINT))
