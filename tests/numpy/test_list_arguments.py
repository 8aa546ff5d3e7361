"""Lists of boxes as arguments of `wengert.numpy`, and arrays joined between brackets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import c_, r_

import wengert as wg
import wengert.numpy as wnp
from wengert.engine.core.errors import ArgumentError, LostDerivativeError

X = np.array([0.3, -1.2, 2.0])

OF_LISTS: dict[str, Callable[[Any, Any], Any]] = {
    "mean": lambda xp, x: xp.mean([x[0], x[1], 4.0]),
    "sum, nested": lambda xp, x: xp.sum([[x[0], 1.0], (x[1], x[2])], axis=1),
    "keyword": lambda xp, x: xp.sum(a=[x[0], x[1]], axis=(0,)),
    "dot": lambda xp, x: xp.dot([x[0], x[1], 1.0], [1.0, 2.0, 3.0]),
    "max": lambda xp, x: xp.max([x[0], x[1]]),
    "exp": lambda xp, x: xp.exp([x[0], x[1]]),
    "add": lambda xp, x: xp.add([x[0], x[1]], (x[2], 1.0)),
    "add.reduce": lambda xp, x: xp.add.reduce(x),
    "where": lambda xp, x: xp.where([True, False], [x[0], x[1]], 0.0),
    "diag": lambda xp, x: xp.diag([x[0], x[1]]),
    "einsum": lambda xp, x: xp.einsum("i,i->", [x[0], x[1]], [1.0, x[2]]),
    "interp": lambda xp, x: xp.interp([x[0], x[2]], [0.0, 1.0, 3.0], [0.0, 2.0, 1.0]),
    "cross": lambda xp, x: xp.cross([x[0], x[1], 0.0], [1.0, 2.0, 3.0]),
    "norm": lambda xp, x: xp.linalg.norm([x[0], x[1]]),
    "solve": lambda xp, x: xp.linalg.solve([[x[0], 1.0], [0.0, x[1]]], [x[2], 1.0]),
    "concatenate": lambda xp, x: xp.concatenate([[x[0], x[1]], [x[2]]]),
    "stack": lambda xp, x: xp.stack([[x[0], x[1]], [x[2], 1.0]]),
    "hstack": lambda xp, x: xp.hstack([[x[0], x[1]], [x[2]], 1.0]),
    "block": lambda xp, x: xp.block([[x[0], x[1]], [x[2], 1.0]]),
    "select": lambda xp, x: xp.select([[True, False]], [[x[0], x[1]]], [x[2], 1.0]),
    "r_": lambda xp, x: xp.r_[x[0], x, 1.0, 0:2],
    "r_ of a list": lambda xp, x: xp.r_[[x[0], x[1]], 3],
    "r_ of linspace": lambda xp, x: xp.r_[x, 0:1:3j],
    "r_ along columns": lambda xp, x: xp.r_["-1", x[None], x[None]],
    "c_": lambda xp, x: xp.c_[x, 2 * x],
    "c_ of more": lambda xp, x: xp.c_[x, x[:, None] * x, 1:4],
}


@pytest.mark.parametrize("name", OF_LISTS)
def test_lists_of_boxes_are_taken_as_numpy_takes_lists_of_numbers(name: str) -> None:
    function = OF_LISTS[name]
    expected = function(np, X)

    def loss(x: Any) -> Any:
        return np.sum(np.sin(function(wnp, x)))

    compiled, gradient = wg.jit(lambda x: (function(wnp, x), wg.grad(loss)(x)))(X)
    for actual in (function(wnp, X), compiled, wg.vjp(lambda x: function(wnp, x), X)[0]):
        assert (np.shape(actual), actual.dtype) == (np.shape(expected), expected.dtype)
        np.testing.assert_allclose(actual, expected, rtol=1e-14)
    wg.check_grads(loss, (X,), order=1)
    np.testing.assert_allclose(gradient, wg.grad(loss)(X), rtol=1e-12)


@given(
    shapes=st.lists(st.sampled_from([(), (2,), (1, 2), (2, 1, 2)]), min_size=1, max_size=3),
    directive=st.sampled_from(
        ["", "0", "-1", "0,1", "0,2", "0,3", "-1,2", "0,2,0", "1,3,1", "0,3,0", "0,4,-2", "1,3,-1"]
    ),
    half=st.booleans(),
)
def test_brackets_join_as_numpys(shapes: Any, directive: str, half: bool) -> None:
    rng = np.random.default_rng(len(directive))
    arrays = [rng.normal(size=shape).astype(np.float32 if half else float) for shape in shapes]
    first = (directive,) if directive else ()
    for ours, numpys in ((wnp.r_, np.r_), (wnp.c_, np.c_)):

        def joined(*xs: Any, joiner: Any = ours) -> Any:
            return joiner[(*first, *xs, 2)]

        try:
            expected = joined(*arrays, joiner=numpys)
        except ValueError:
            with pytest.raises(ValueError, match="concatenate"):
                wg.vjp(joined, *arrays)
            continue
        actual, _ = wg.vjp(joined, *arrays)
        assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(actual, expected)


def test_brackets_of_plain_values_are_numpys() -> None:
    np.testing.assert_array_equal(wnp.r_[1:3, 5], np.r_[1:3, 5])
    assert isinstance(wnp.c_[X, X], np.ndarray)
    np.testing.assert_array_equal(wg.jacobian(lambda x: wnp.r_[x : x + 2, x])(0.5), [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(wg.jacobian(lambda x: r_[x, c_[x, 2.0 * x][0]])(0.5), [1.0, 1.0, 2.0])
    assert len(wnp.r_) == len(np.r_)
    for wrong in ("r", "0,1,2,3", ""):
        with pytest.raises(ArgumentError, match=r"^r_: a text must name axis"):
            wg.grad(lambda x, wrong=wrong: np.sum(wnp.r_[wrong, x]))(X)
        with pytest.raises(ArgumentError, match=r"^c_: a text must name axis"):
            wg.grad(lambda x, wrong=wrong: np.sum(wnp.c_[wrong, x]))(X)


@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
@pytest.mark.parametrize(
    ("program", "said"),
    [
        (lambda x: np.r_[x, 1.0].sum(), r"write np\.concatenate for np\.r_, np\.column_stack for np\.c_"),
        (lambda x: np.c_[x, x].sum(), r"or wengert\.numpy\.r_ and wengert\.numpy\.c_"),
        (
            lambda x: np.mean([x[0], x[1]]),
            r"write np\.mean\(np\.stack\(\[\.\.\.\]\)\), .* wengert\.numpy\.mean takes",
        ),
        (
            lambda x: np.dot([x[0], x[1]], [1.0, 2.0]),
            r"NumPy does not look into lists: write np\.dot\(np\.stack",
        ),
        (lambda x: np.exp([x[0], x[1]]).sum(), r"write np\.exp\(np\.stack"),
        (lambda x: np.linalg.norm([x[0], x[1]]), r"write np\.linalg\.norm\(np\.stack.*wengert\.numpy\.array"),
    ],
)
@pytest.mark.usefixtures("without_substitutes")
def test_numpys_own_say_what_to_write_for_lists(transform: Any, program: Any, said: str) -> None:
    with pytest.raises(TypeError, match=rf"{said}.*\[test_list_arguments\.py:\d+\]$") as caught:
        transform(program)(X)
    assert isinstance(caught.value, wg.WengertError)


@pytest.mark.usefixtures("without_substitutes")
def test_what_numpy_would_lose_is_kept() -> None:
    with pytest.raises(LostDerivativeError):
        wg.grad(lambda x: np.sum([x, x]))(1.0)
    assert wg.grad(lambda x: wnp.sum([x, x]))(1.0) == 2.0
