from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert.numpy as wnp
from wengert import jit
from wengert.engine.boxes import CONSTANT, Box, concrete
from wengert.engine.core.errors import WengertError
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.reverse_mode import grad

RNG = np.random.default_rng(19)
A = RNG.uniform(-2, 2, (2, 3))
V = RNG.uniform(0.5, 2, 3)
S = np.array(0.7)

CASES: dict[str, tuple[Any, ...]] = {
    "array": (lambda x: wnp.array([x[0], 2.0, x[1] * x[2]]), V),
    "array nested": (lambda x: wnp.array([[x[0], 1], [x[1], x[2]]]), V),
    "array of arrays": (lambda x: wnp.array([x, x * 2, np.ones(3)]), V),
    "array of an array": (lambda x: wnp.array(x), V),
    "array ndmin": (lambda x: wnp.array(x, ndmin=3), V),
    "array ndmin of a list": (lambda x: wnp.array([x[0], 1.0], ndmin=2), V),
    "array of a scalar": (lambda x: wnp.array(x) * 2, S),
    "asarray": (lambda x: wnp.asarray([x[0], x[1]]) + wnp.asarray(x)[:2], V),
    "full": (lambda x: wnp.full((2, 3), x), S),
    "full row": (lambda x: wnp.full((2, 3), x), V),
    "full_like": (lambda x: wnp.full_like(x, x[0]), V),
    "full_like of a box": (lambda x: wnp.full_like(A, x), S),
    "copy": (lambda x: np.copy(x) * wnp.copy(x), V),
    "arange": (lambda x: wnp.arange(x, 5 * x, x), S),
    "linspace": (lambda x, y: np.linspace(x, y, 7), S, np.array(2.0)),
    "linspace open": (lambda x: np.linspace(x, 2.0, 5, endpoint=False), S),
    "linspace step": (lambda x: np.linspace(x, 2.0, 5, retstep=True), S),
    "linspace arrays": (lambda x: np.linspace(x, x**2, 4, axis=-1), V),
    "linspace one": (lambda x: np.linspace(x, 2.0, 1), S),
    "logspace": (lambda x: np.logspace(x, 1.5, 4), S),
    "logspace base": (lambda x: np.logspace(0.1, 1.5, 4, base=x), V[0]),
    "geomspace": (lambda x, y: np.geomspace(x, y, 5), S, np.array(20.0)),
    "meshgrid": (lambda x, y: np.meshgrid(x, y), V, V[:2]),
    "meshgrid ij": (lambda x, y: np.meshgrid(x, y, indexing="ij"), V, V[:2]),
    "meshgrid sparse": (lambda x, y: np.meshgrid(x, y, sparse=True), V, V[:2]),
    "meshgrid three": (lambda x, y: np.meshgrid(x, y, [1.0, 2.0]), V, V[:2]),
    "zeros": (lambda x: _filled(wnp.zeros(3), x), V),
    "zeros_like": (lambda x: _filled(np.zeros_like(x), x), V),
    "zeros like": (lambda x: _filled(_like(np.zeros, 3, like=x), x), V),
    "ones": (lambda x: _filled(wnp.ones((2, 3)), x), V),
    "ones_like": (lambda x: _filled(wnp.ones_like(A), x), V),
    "empty_like": (lambda x: _filled(_cleared(np.empty_like(x)), x), V),
    "eye": (lambda x: _filled(wnp.eye(3), x), V),
    "identity": (lambda x: _filled(wnp.identity(3), x), V),
    "copied": (lambda x: _filled(wnp.array(A), x), V),
    "arange plain": (lambda x: _filled(wnp.arange(3.0), x), V),
    "linspace plain": (lambda x: _filled(wnp.linspace(0, 1, 3), x), V),
}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.exhaustive
def test_spaces_of_drawn_ends(seed: int) -> None:
    """Integers are rounded down, also below zero; the ends may be negative, equal or arrays."""
    rng = np.random.default_rng(seed)
    start, stop = rng.uniform(-9, 9, (2, *rng.choice(np.array([(), (2,)], object)))).round(
        int(rng.integers(0, 3))
    )
    settings: dict[str, Any] = {"endpoint": bool(rng.integers(2)), "num": int(rng.integers(0, 8))}
    if rng.integers(2):
        settings["dtype"] = [np.int64, np.int8, np.float32][rng.integers(3)]
    expected = np.linspace(start, stop, **settings)
    for found in (
        vmap(lambda x: np.linspace(x, stop, **settings))(np.stack([start]))[0],
        jit(lambda x: np.linspace(x, stop, **settings))(np.asarray(start)),
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def _filled(array: Any, value: Any) -> Any:
    array[..., 1:] += value[1:]
    array[..., 0] = value[0] * value[1]
    return array


def _cleared(array: Any) -> Any:
    array.fill(0.5)
    return array


def _like(function: Any, *arguments: Any, like: Any) -> Any:
    """Call with a box as ``like=``, and without ``like`` for NumPy's own arrays."""
    return function(*arguments, like=like)


@pytest.mark.parametrize("name", CASES)
def test_creation(check: Any, name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments, concrete_only=name == "arange")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("zeros", ((2, 3),)),
        ("zeros", (2, int)),
        ("ones", (3,)),
        ("empty", ((0, 2),)),
        ("eye", (2, 3, 1)),
        ("identity", (2,)),
        ("tri", (3, 2)),
        ("full", ((2,), 7)),
        ("full", ((2,), 7, np.float32)),
        ("array", ([[1, 2], [3, 4]],)),
        ("array", ([1, 2.0], np.float32)),
        ("asarray", ([1, 2],)),
        ("arange", (3,)),
        ("arange", (1, 7, 2)),
        ("linspace", (0, 1, 4)),
        ("logspace", (0, 1, 4)),
        ("geomspace", (1, 8, 4)),
        ("zeros_like", ([1, 2],)),
        ("ones_like", (A,)),
        ("full_like", (A, 3)),
        ("copy", (A,)),
    ],
)
def test_constants_are_plain_outside_and_boxes_inside(name: str, arguments: Any) -> None:
    expected = getattr(np, name)(*arguments)
    outside = getattr(wnp, name)(*arguments)
    assert type(outside) is np.ndarray
    assert outside.dtype == expected.dtype
    np.testing.assert_allclose(outside, expected, rtol=1e-14)
    inside: list[Any] = []

    def f(x: Any) -> Any:
        inside.append(getattr(wnp, name)(*arguments))
        return x

    grad(f)(1.0)
    assert isinstance(inside[0], Box)
    np.testing.assert_array_equal(concrete(inside[0]), outside)


def test_like_makes_boxes_everywhere() -> None:
    box = CONSTANT.constant(A)
    made = [
        np.zeros(3, like=box),
        np.ones((2,), like=box),
        np.array([1, 2], like=box),
        np.asarray([1, 2], like=box),
        np.full(2, 3.0, like=box),
        np.arange(3, like=box),
        np.eye(2, like=box),
        np.identity(2, like=box),
        np.zeros_like(box, dtype=int, shape=(4,)),
        wnp.zeros(3, like=box),
        wnp.array([1.0], like=box),
        wnp.arange(3, like=box),
    ]
    assert all(isinstance(item, Box) for item in made)
    assert made[8].shape == (4,)
    assert made[8].dtype == int


def test_dtypes_of_nested_sequences() -> None:
    single, integer = CONSTANT.constant(np.ones((), np.float32)[None]), CONSTANT.constant(np.array([1, 2]))
    assert wnp.array([single, single]).dtype == np.float32
    assert wnp.array([single[0], 1.0]).dtype == np.float64
    assert wnp.array([integer, [3, 4]]).dtype == np.int64
    assert wnp.array([integer, [3, 4]], dtype=np.float32).dtype == np.float32


def test_an_array_is_copied_and_asarray_does_not() -> None:
    def f(x: Any) -> Any:
        assert wnp.asarray(x) is x
        copied = wnp.array(x)
        copied[0] = 0.0
        return np.sum(x * copied)

    np.testing.assert_array_equal(grad(f)(np.array([1.0, 2.0])), [0.0, 4.0])
    plain = np.zeros(2)
    assert wnp.asarray(plain) is plain
    with pytest.raises(WengertError):
        grad(lambda x: wnp.asarray(plain).__setitem__(0, x) or x)(1.0)


def test_writes_of_boxes_under_vmap() -> None:
    def f(x: Any) -> Any:
        powers = wnp.zeros((2, 2))
        powers[0] = x
        powers[1, 0] = x[1] ** 2
        return powers

    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(vmap(f)(rows), [[[1, 2], [4, 0]], [[3, 4], [16, 0]]])


def test_errors_name_the_operation() -> None:
    box = CONSTANT.constant(V)
    for call, text in [
        (lambda: wnp.array([box, box[:2]]), "array: the nested parts must have one shape"),
        (lambda: np.linspace(box, 1.0, -1), "linspace: the number of values"),
        (lambda: np.meshgrid(box, indexing="yx"), "meshgrid: indexing must be"),
    ]:
        with pytest.raises(WengertError, match=text):
            call()
    with pytest.raises(WengertError, match="arange: the result's shape depends on the values"):
        vmap(lambda x: wnp.arange(x))(V)
