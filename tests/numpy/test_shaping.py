from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wengert.engine.boxes import CONSTANT, concrete
from wengert.engine.core.errors import ArgumentError, ShapeError, WengertError

RNG = np.random.default_rng(11)
A = RNG.uniform(-2, 2, (3, 4))
C = RNG.uniform(-2, 2, (2, 3, 4))
V = RNG.uniform(-2, 2, 6)
UNIT = RNG.uniform(-2, 2, (1, 3, 1))
SQUARE = RNG.uniform(-2, 2, (3, 3))

CASES: dict[str, tuple[Any, ...]] = {
    "reshape": (lambda x: np.reshape(x, (4, 3)), A),
    "reshape -1": (lambda x: np.reshape(x, -1), A),
    "reshape method": (lambda x: x.reshape(2, -1), A),
    "reshape method tuple": (lambda x: x.reshape((2, 6)), A),
    "reshape Fortran": (lambda x: np.reshape(x, (2, 6), order="F"), C[0]),
    "reshape copy": (lambda x: np.reshape(x, (2, 6), copy=True), A),
    "ravel": (np.ravel, C),
    "ravel Fortran": (lambda x: np.ravel(x, order="F"), C),
    "ravel method": (lambda x: x.ravel(), A),
    "flatten": (lambda x: x.flatten(), A),
    "flatten Fortran": (lambda x: x.flatten("F"), A),
    "transpose": (np.transpose, C),
    "transpose axes": (lambda x: np.transpose(x, (1, -1, 0)), C),
    "transpose method": (lambda x: x.transpose(2, 0, 1), C),
    "transpose method reversed": (lambda x: x.transpose(), C),
    "T": (lambda x: x.T, C),
    "mT": (lambda x: x.mT, C),
    "permute_dims": (lambda x: np.permute_dims(x, (2, 0, 1)), C),
    "matrix_transpose": (np.matrix_transpose, C),
    "linalg.matrix_transpose": (np.linalg.matrix_transpose, C),
    "swapaxes": (lambda x: np.swapaxes(x, 0, -1), C),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), C),
    "moveaxis several": (lambda x: np.moveaxis(x, (0, 1), (-1, 0)), C),
    "rollaxis": (lambda x: np.rollaxis(x, 2), C),
    "rollaxis to the end": (lambda x: np.rollaxis(x, 0, 3), C),
    "rollaxis before": (lambda x: np.rollaxis(x, 1, 2), C),
    "rollaxis negative": (lambda x: np.rollaxis(x, -1, -2), C),
    "squeeze": (np.squeeze, UNIT),
    "squeeze axis": (lambda x: np.squeeze(x, 0), UNIT),
    "squeeze axes": (lambda x: np.squeeze(x, axis=(0, -1)), UNIT),
    "expand_dims": (lambda x: np.expand_dims(x, 1), A),
    "expand_dims several": (lambda x: np.expand_dims(x, (0, -1)), A),
    "atleast_1d": (np.atleast_1d, np.array(2.0)),
    "atleast_1d several": (lambda x, y: np.atleast_1d(x, y), np.array(2.0), A),
    "atleast_2d": (np.atleast_2d, V),
    "atleast_3d of a scalar": (np.atleast_3d, np.array(2.0)),
    "atleast_3d of a vector": (np.atleast_3d, V),
    "atleast_3d of a matrix": (np.atleast_3d, A),
    "atleast_3d of three axes": (np.atleast_3d, C),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 3, 5)), UNIT),
    "broadcast_to new axis": (lambda x: np.broadcast_to(x, (2, 6)), V),
    "broadcast_to integer": (lambda x: np.broadcast_to(x, 3), np.array(2.0)),
    "broadcast_arrays": (lambda x, y: np.broadcast_arrays(x, y), UNIT, V),
    "split": (lambda x: np.split(x, 3), V),
    "split axis": (lambda x: np.split(x, 2, axis=1), A),
    "split at": (lambda x: np.split(x, [1, 4]), V),
    "split beyond": (lambda x: np.split(x, [2, 8]), V),
    "array_split": (lambda x: np.array_split(x, 4), V),
    "array_split axis": (lambda x: np.array_split(x, 3, axis=-1), A),
    "hsplit": (lambda x: np.hsplit(x, 2), A),
    "hsplit vector": (lambda x: np.hsplit(x, 2), V),
    "vsplit": (lambda x: np.vsplit(x, 3), A),
    "dsplit": (lambda x: np.dsplit(x, 2), C),
    "unstack": (lambda x: np.unstack(x, axis=1), A),
    "flip": (np.flip, C),
    "flip axis": (lambda x: np.flip(x, 1), C),
    "flip axes": (lambda x: np.flip(x, (0, -1)), C),
    "fliplr": (np.fliplr, A),
    "flipud": (np.flipud, A),
    **{f"rot90 {k}": (lambda x, k=k: np.rot90(x, k), C[0]) for k in range(-1, 5)},
    "rot90 axes": (lambda x: np.rot90(x, 1, axes=(2, 1)), C),
    **{f"diagonal {k}": (lambda x, k=k: np.diagonal(x, k), A) for k in (-3, -2, 0, 1, 3, 4)},
    "diagonal axes": (lambda x: np.diagonal(x, 1, 0, 2), C),
    "diagonal exchanged": (lambda x: np.diagonal(x, -1, 2, 1), C),
    "diagonal method": (lambda x: x.diagonal(), SQUARE),
    "linalg.diagonal": (lambda x: np.linalg.diagonal(x, offset=1), C),
    "astype": (lambda x: np.astype(x, np.float64), A),
    "iteration": (lambda x: sum(row * n for n, row in enumerate(x)), A),
    "flat": (lambda x: sum(item * n for n, item in enumerate(x.flat)), A),
}


@pytest.mark.parametrize("name", CASES)
def test_shape_functions(check: Any, name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments, order=1)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_dtypes_stay(values: Any, dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    values(
        lambda x: (x.T, x.ravel(), np.flip(x), np.diagonal(x), np.broadcast_to(x, (2, 2, 3)), np.split(x, 2)),
        array,
    )


def test_empty_arrays(values: Any) -> None:
    values(
        lambda x: (x.T, x.ravel(), x.reshape(3, 0), np.split(x, 3, 1), np.flip(x), np.diagonal(x)),
        np.zeros((0, 3)),
    )


# -- views -----------------------------------------------------------------------------------------------

VIEWS = {
    "reshape": lambda x: x.reshape(4, 3),
    "reshape Fortran": lambda x: np.reshape(x, (6, 2), order="F"),
    "reshape of a view": lambda x: x[1:].reshape(2, 4),
    "reshape of a copy": lambda x: x[:, 1:].reshape(9),
    "ravel": np.ravel,
    "ravel of a transpose": lambda x: x.T.ravel(),
    "ravel back": lambda x: x.T.T.ravel(),
    "ravel Fortran": lambda x: np.ravel(x, order="F"),
    "flatten": lambda x: x.flatten(),
    "copy": lambda x: x.copy(),
    "transpose": np.transpose,
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "squeeze": lambda x: np.squeeze(x[None]),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "atleast_3d": np.atleast_3d,
    "split": lambda x: np.split(x, 2, axis=1)[1],
    "unstack": lambda x: np.unstack(x, axis=1)[2],
    "flip": lambda x: np.flip(x, 0),
    "rot90": np.rot90,
    "rot90 twice": lambda x: np.rot90(x, 2),
    "row": lambda x: x[1],
    "column": lambda x: x[:, 1],
    "part of a view": lambda x: x.T[1:3, ::2],
    "integers": lambda x: x[[0, 1]],
    "mask": lambda x: x[x > 0],
    "roll": lambda x: np.roll(x, 1),
    "repeat": lambda x: np.repeat(x, 2, 0),
    "take": lambda x: np.take(x, [1], 0),
    "tile": lambda x: np.tile(x, 2),
    "concatenate": lambda x: np.concatenate([x]),
}


def written_both_ways(make: Any, x: Any) -> tuple[Any, Any]:
    """Write to the result, then to the array, and return both."""
    result = make(x)
    result[...] = result * 2 + 1
    x[0] = -5.0
    x[:, 2] += 0.25
    return x + 0, result + 0


@pytest.mark.parametrize("name", VIEWS)
def test_writes_are_seen_where_numpy_shares_memory(check: Any, name: str) -> None:
    make = VIEWS[name]
    check(lambda x: written_both_ways(make, x * 1.0), A, order=1, concrete_only=name == "mask")


def test_read_only_views_follow_and_refuse() -> None:
    for make in (np.diagonal, lambda x: np.broadcast_to(x, (2, 3, 3))):
        box = CONSTANT.constant(np.zeros((3, 3)))
        view = make(box)
        with pytest.raises(ArgumentError, match="read-only") as caught:
            view[...] = 1.0
        assert isinstance(caught.value, ValueError)
        assert not np.any(view)
        box[...] = 7.0
        assert not np.any(view != 7.0)
        assert not np.any(box != 7.0)


@st.composite
def chains(draw: st.DrawFn) -> list[Any]:
    """Draw shape operations that follow one another."""
    steps = {
        "T": lambda x: x.T,
        "ravel": lambda x: x.ravel(),
        "flip": lambda x: np.flip(x, 0),
        "every other": lambda x: x[::2],
        "last first": lambda x: x[..., ::-1],
        "flat": lambda x: x.reshape(-1),
        "halves": lambda x: x.reshape(2, -1) if x.size % 2 == 0 else x,
        "new axis": lambda x: x[:, None],
        "first": lambda x: x[:1],
        "columns": lambda x: x[..., 1:],
    }
    names = draw(st.lists(st.sampled_from(sorted(steps)), min_size=1, max_size=4))
    return [steps[name] for name in names]


@given(chains())
def test_chains_of_views_share_memory_as_numpys_do(steps: list[Any]) -> None:
    def program(x: Any) -> tuple[Any, Any]:
        view = x
        for step in steps:
            view = step(view)
        view[...] = view * 3 + 1
        x[0] = -1.0
        return x, view

    plain = program(np.arange(12.0).reshape(3, 4))
    boxes = program(CONSTANT.constant(np.arange(12.0).reshape(3, 4)))
    for item, other in zip(plain, boxes, strict=True):
        np.testing.assert_array_equal(concrete(other), item)


def test_errors_name_the_operation() -> None:
    box = CONSTANT.constant(A)
    for call, text in [
        (lambda: np.reshape(box, (5, 2)), "reshape: the number of elements must stay the same"),
        (lambda: np.transpose(box, (0, 0)), "transpose: axes must be a permutation"),
        (lambda: np.squeeze(box, 0), "squeeze: only axes of extent one"),
        (lambda: np.split(box, 2), "split: the parts must be equal"),
        (lambda: np.vsplit(CONSTANT.constant(V), 2), "vsplit: an array of at least two axes"),
        (lambda: np.dsplit(box, 2), "dsplit: an array of at least three axes"),
        (lambda: np.moveaxis(box, (0, 1), 0), "moveaxis: source and destination"),
        (lambda: np.broadcast_to(box, (3, 5)), "broadcast_to: the operand must broadcast"),
        (lambda: np.diagonal(box, 0, 1, 1), "diagonal: an axis may be named once only"),
        (lambda: np.swapaxes(box, 0, 5), "swapaxes: axis must lie in"),
        (
            lambda: np.matrix_transpose(CONSTANT.constant(V)),
            "matrix_transpose: an array of at least two axes",
        ),
        (lambda: np.array_split(box, 0), "array_split: the number of parts"),
        (lambda: np.reshape(box, (3, 4), order="K"), "reshape: order must be"),
        (lambda: np.ravel(box, "X"), "ravel: order must be"),
    ]:
        with pytest.raises(WengertError, match=text):
            call()
    with pytest.raises(ShapeError):
        np.reshape(box, (-1, -1))
