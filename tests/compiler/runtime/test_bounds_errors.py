"""The error for an index outside its array: it shows the index and the line."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import check
from wengert import nn
from wengert.compiler import dispatch
from wengert.engine.core.errors import IndexingError, OutOfRangeError
from wengert.engine.ops.indexing import check_bounds

X = np.arange(12.0).reshape(4, 3)
PLACES = np.array([0, 7])


def written(x: Any, i: Any) -> Any:
    y = x.copy()
    y[i] = 0.0
    return y


def classified(w: Any, x: Any, labels: Any) -> Any:
    return w - wg.grad(lambda w: -np.sum((x @ w)[np.arange(4), labels]))(w)


FOUND: dict[str, tuple[Callable[..., Any], int, int, int]] = {
    "rows": (lambda x, i: x[i], 7, 0, 4),
    "columns": (lambda x, i: x[:, i], 7, 1, 3),
    "computed": (lambda x, i: x[1:, i + 1], 8, 1, 3),
    "two arrays": (lambda x, i: x[i[0], i], 7, 1, 3),
    "flat": (lambda x, i: np.sum(x.ravel()[i * 2]), 14, 0, 12),
    "from the end": (lambda x, i: x[-i], -7, 0, 4),
    "derivative": (wg.grad(lambda x, i: np.sum(x[i] ** 2)), 7, 0, 4),
    "take": (lambda x, i: np.take(x, i, axis=1), 7, 1, 3),
    "written": (written, 7, 0, 4),
    "in a loop": (lambda x, i: wg.scan(lambda c, j: (c + x[j].sum(), c), 0.0, i)[0], 7, 0, 4),
    "in a branch": (lambda x, i: wg.cond(i[0] == 0, lambda: x[i], lambda: x[i * 0]), 7, 0, 4),
    "after what is slow": (lambda x, i: np.sort(x[::-1], axis=0)[i], 7, 0, 4),
}


@pytest.mark.parametrize("name", FOUND)
def test_the_index_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, index, axis, size = FOUND[name]
    says = f"getitem: index {index} is out of bounds for axis {axis} with size {size}"
    expected = rf"^{says}\. \[.*test_bounds_errors.py:\d+\]$"
    monkeypatch.setattr(dispatch, "CALLS_BEFORE_ENTRY", 1)
    compiled = wg.jit(function)
    compiled(X, PLACES * 0)
    for _ in range(2):  # by the entry
        with pytest.raises(IndexingError, match=expected):
            compiled(X, PLACES)
    np.testing.assert_array_equal(compiled(X, PLACES * 0), function(X, PLACES * 0))


def summed(x: Any, i: Any, j: Any) -> Any:
    rows = x[i]  # first: index 7 is out of bounds for axis 0 with size 4
    columns = x[:, j]  # second: index 40 is out of bounds for axis 1 with size 3
    return np.sum(rows) + np.sum(columns)


def added(x: Any, i: Any, j: Any) -> Any:
    columns = np.cumsum(x, 0)[:, j]  # second: index 40 is out of bounds for axis 1 with size 3
    return np.sin(x)[i][:, :2] + columns[:2]  # first: index 7 is out of bounds for axis 0 with size 4


def looped(x: Any, i: Any, j: Any) -> Any:
    def body(total: Any, ij: Any) -> Any:
        total = total + np.sum(x[ij[0]])  # first: index 7 is out of bounds for axis 0 with size 4
        total = total + np.sum(x.T[ij[1]])  # second: index 40 is out of bounds for axis 0 with size 3
        return total, total

    return wg.scan(body, 0.0, (i, j))[0]


def labelled(x: Any, i: Any, j: Any) -> Any:
    columns = np.sum(x[:, j])  # second: index 40 is out of bounds for axis 1 with size 3
    return nn.softmax_cross_entropy(x[:2], i) + columns  # first: labels must lie in [0, 3); got 7


@pytest.mark.parametrize("function", [summed, added, looped, labelled])
@pytest.mark.parametrize("wrong", ["first", "second", "both"])
def test_of_several_the_words_and_the_line_belong_together(function: Callable[..., Any], wrong: str) -> None:
    i, j = np.array([0, 0 if wrong == "second" else 7]), np.array([0, 0 if wrong == "first" else 40])
    with pytest.raises(IndexingError) as caught:
        wg.jit(function)(X, i, j)
    text, _, number = str(caught.value).rpartition("[test_bounds_errors.py:")
    line = linecache.getline(__file__, int(number.rstrip("]")))
    _, comment, says = line.partition("# ")
    which, _, words = says.strip().partition(": ")
    assert comment
    assert wrong in (which, "both")
    assert words in text


def test_eager_errors_are_the_same() -> None:
    for index in (7, np.array([0, 7]), -5, [1, 9]):
        with pytest.raises(IndexError) as plain:
            _ = X[index]
        for run in (
            lambda f: wg.grad(lambda x: np.sum(f(x))),
            lambda f: wg.jit(f),
            lambda f: wg.jvp(f, (X,), (X,)),
        ):
            with pytest.raises(IndexingError, match=str(plain.value).replace("(", "\\(")):
                run(lambda x: x[index])(X)  # noqa: B023


def test_with_donated_arguments() -> None:
    """Errors show labels, even if parameters were overwritten; not indices that depend on the parameters."""
    with pytest.raises(IndexingError, match="index 2 is out of bounds for axis 1 with size 2"):
        wg.jit(classified, donate=0)(np.ones((3, 2)), X, np.array([0, 1, 2, 0]))
    donated = np.array([1.0, 9.0])
    with pytest.raises(
        IndexingError, match=r"index: indices must lie inside the array\. \[test_bounds_errors.py:\d+\]"
    ):
        wg.jit(lambda p, x: (p + 1, x[p.astype(int)]), donate=0)(donated, X)


def entropy(logits: Any, labels: Any) -> Any:
    return nn.softmax_cross_entropy(logits, labels)


NO_CLASS: dict[str, tuple[Callable[..., Any], str]] = {
    "loss": (lambda x, i: entropy(x[:2], i), "; got 7"),
    "derivative": (wg.grad(lambda x, i: entropy(x[:2], i)), "; got 7"),
    "computed": (lambda x, i: entropy(x[:2], i - 1), "; got -1 and 6"),
    "of each example": (lambda x, i: wg.vmap(lambda z, i: entropy(z[None], i[None]))(x[:2], i), "; got 7"),
    "in a loop": (
        lambda x, i: wg.scan(lambda c, i: (c + entropy(x[:1], i), c), 0.0, i[:, None])[0],
        "; got 7",
    ),
    "in a branch": (lambda x, i: wg.cond(i[0] == 0, lambda: entropy(x[:2], i), lambda: 0.0), "; got 7"),
    "in a long loop": (
        lambda x, i: wg.while_loop(
            lambda c: c[0] <= i[0], lambda c: (c[0] + 1, entropy(x[:2], i + c[0])), (0, 0.0)
        ),
        "",
    ),
}


@pytest.mark.parametrize("name", NO_CLASS)
def test_a_label_that_is_no_class_is_told_as_eagerly(name: str) -> None:
    function, got = NO_CLASS[name]
    says = rf"^softmax_cross_entropy: labels must lie in \[0, 3\){got}\. \[.*test_bounds_errors.py:\d+\]$"
    with pytest.raises(OutOfRangeError, match=says):
        wg.jit(function)(X, PLACES)


def test_labels_of_donated_arguments() -> None:
    step = wg.jit(lambda x, labels: (entropy(x, labels), labels + 1), donate=1)
    says = r"^softmax_cross_entropy: labels must lie in \[0, 3\)\. \[test_bounds_errors.py:\d+\]$"
    with pytest.raises(OutOfRangeError, match=says):
        step(X, np.array([0, 1, 2, 3]))


@pytest.mark.parametrize("bad", [None, 0, 36])
def test_every_label_is_looked_at_and_nothing_else(bad: int | None) -> None:
    """Padded lanes and masked lanes have no label."""
    labels = np.zeros(37, np.int32)
    count = wg.jit(lambda labels: check_bounds(labels, count=1, operation="count", requirement="none"))
    if bad is None:
        assert not count(labels).any()
        return
    labels[bad] = 5
    with pytest.raises(OutOfRangeError, match="count: none; got 5"):
        count(labels)


def test_long_loops_are_not_repeated() -> None:
    loop = wg.jit(lambda x: wg.while_loop(lambda c: c[0] >= 0, lambda c: (c[0] + 1, x[c[0]]), (0, 0.0)))
    with pytest.raises(
        IndexingError, match=r"index: indices must lie inside the array\. \[test_bounds_errors.py:\d+\]"
    ):
        loop(np.ones(100_000))


@pytest.mark.parametrize("columns", [16, 64, 70])
@pytest.mark.parametrize("rows", [5, 100])
def test_a_part_of_a_join_is_not_read_where_another_lies(rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    x, order, half = rng.normal(size=(rows, columns)), rng.integers(0, columns, columns), columns // 2

    def swapped(x: Any) -> Any:
        y = x[:, order] + x
        return np.concatenate([y[:, half:], y[:, :half]], 1)

    check(swapped, x)
    check(wg.grad(lambda x: np.sum(swapped(x) ** 2)), x, scale=100.0)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x, i: x[i], (1,)),
        (lambda x, i: (x * 2)[i] + 1, (1,)),
        (lambda x, i: np.take(x, i, axis=1), (4, 1)),
        (lambda x, i: np.exp(x[:, i]), (4, 1)),
        (lambda x, i: np.sum(x, 1, keepdims=True)[:, i], (4, 5)),
        (wg.grad(lambda x, i: np.sum((x * 2)[:, i] ** 2)), (4, 1)),
        (lambda x, i: wg.fori_loop(0, 3, lambda n, c: c + np.sum((x * 2)[:, i]), 0.0), (4, 1)),
    ],
    ids=["read", "made", "along an axis", "transposed", "summed", "derived", "in a loop"],
)
def test_an_axis_of_one_element(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    x, compiled = np.ones(shape), wg.jit(function)
    np.testing.assert_allclose(compiled(x, np.array([0, -1])), function(x, np.array([0, -1])))
    for bad in ([0, 1], [-2, 0]):
        with pytest.raises(IndexError, match=f"index {bad[1] or bad[0]} is out of bounds"):
            compiled(x, np.array(bad))


@st.composite
def moved(draw: st.DrawFn, rows: int) -> tuple[str, Callable[[Any], Any]]:
    """Draw an operation that moves the rows of an array, next to numbers or other rows."""
    before, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    fill, shift = draw(st.sampled_from([0.0, 1.5])), draw(st.integers(-3, 3))
    start = draw(st.integers(0, rows))
    choices: dict[str, Callable[[Any], Any]] = {
        "padded": lambda y: np.pad(y, ((before, after), (0, 0)), constant_values=fill),
        "joined": lambda y: np.concatenate([np.full((before, 2), fill), y, np.ones((after, 2))]),
        "rolled": lambda y: np.roll(y, shift, 0),
        "exchanged": lambda y: np.concatenate([y[start:], y[:start]]),
        "doubled": lambda y: np.concatenate([y * 2, y[::-1]]),
        "stacked": lambda y: np.stack([y, y + 1]).reshape(-1, 2),
    }
    name = draw(st.sampled_from(sorted(choices)))
    return name, choices[name]


@given(st.data())
def test_rows_that_are_gathered_and_moved(data: st.DataObject) -> None:
    """Places beyond the gathered ones do not exist: they are neither reported nor read."""
    rows = data.draw(st.integers(1, 9))
    count = data.draw(st.integers(1, 20))
    start, step = data.draw(st.integers(-rows, rows - 1)), data.draw(st.integers(-9, 9))
    order = np.array([max(-rows, min(rows - 1, start + n * step)) for n in range(count)])
    if data.draw(st.booleans()):
        order = np.array(data.draw(st.lists(st.integers(-rows, rows - 1), min_size=count, max_size=count)))
    steps = [data.draw(moved(count)) for _ in range(data.draw(st.integers(1, 2)))]

    def function(x: Any, index: Any) -> Any:
        y = x[index] * 2
        for _, step in steps:
            y = step(y)
        return y, y[:, 1]

    x = np.arange(2.0 * rows).reshape(rows, 2) + 1
    check(lambda x: function(x, order), x)
    check(function, x, order)
    check(wg.grad(lambda x: np.sum(function(x, order)[0] ** 2)), x)
