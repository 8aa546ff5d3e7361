from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.engine.boxes import CONSTANT
from wengert.engine.core.errors import ConcreteError, WengertError
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.reverse_mode import grad

RNG = np.random.default_rng(14)
A = RNG.uniform(-2, 2, (3, 4))
B = RNG.uniform(-2, 2, (3, 4))
C = RNG.uniform(-2, 2, (2, 3, 4))
V = RNG.uniform(-2, 2, 4)
MASK = A > 0

CASES: dict[str, tuple[Any, ...]] = {
    "where": (lambda x, y: np.where(MASK, x, y), A, B),
    "where broadcast": (lambda x, y: np.where(MASK, x, y), A, V),
    "where scalar": (lambda x: np.where(MASK, x, 0), A),
    "where of a value": (lambda x, y: np.where(x > 0.1, x * y, y), A, B),
    "where of floats": (lambda x: np.where(x, x * 2, 1.0), A),
    "where of lists": (lambda x: np.where([True, False, True, False], x, [1.0, 2.0, 3.0, 4.0]), V),
    "select": (lambda x: np.select([x > 1, x > 0], [x, x**2], default=-x), A),
    "select default": (lambda x: np.select([x > 1, x > 0], [x, x**2]), A),
    "piecewise": (lambda x: np.piecewise(x, [x < -1, x > 1], [lambda v: v**2, np.exp]), A),
    "piecewise default": (lambda x: np.piecewise(x, [x < 0, x > 1], [np.cos, 7.0, lambda v: v**3]), A),
    "piecewise one condition": (
        lambda x: np.piecewise(x, x < 0, [lambda v, k: k * v, lambda v, k: v**2], 3.0),
        V,
    ),
    "piecewise number": (lambda x: np.piecewise(x, [x < 0, x >= 0], [np.sin, np.cos]), np.array(0.7)),
    "piecewise overlap": (lambda x: np.piecewise(x, [x < 1, x < 0], [np.sin, np.cos]), A),
    "choose": (lambda x, y: np.choose(np.array([0, 1, 1, 0]), [x, y]), A, B),
    "choose clip": (lambda x, y: np.choose(np.array([0, 7, -1, 0]), (x, y), mode="clip"), V, V + 1),
    "choose wrap": (lambda x, y: np.choose(np.array([0, 7, -1, 0]), (x, y), mode="wrap"), V, V + 1),
    "clip": (lambda x: np.clip(x, -1, 1), A),
    "clip below": (lambda x: np.clip(x, -1, None), A),
    "clip above": (lambda x: np.clip(x, None, 0.5), A),
    "clip boxes": (lambda x, y: np.clip(x, y, 1.5), A, V / 2),
    "clip min": (lambda x: np.clip(x, min=0.2), A),
    "clip method": (lambda x: x.clip(-0.5, 0.5), A),
    "take": (lambda x: np.take(x, [0, 5, 5, -1]), A),
    "take axis": (lambda x: np.take(x, [[2, 0], [1, -1]], axis=1), A),
    "take one": (lambda x: np.take(x, 1, axis=0), A),
    "take zero-dimensional": (lambda x: np.take(x, np.array(2), axis=1), A),
    "take wrap": (lambda x: np.take(x, [5, -6], axis=1, mode="wrap"), A),
    "take clip": (lambda x: np.take(x, [5, -6], axis=1, mode="clip"), A),
    "take nothing": (lambda x: np.take(x, [], axis=0), A),
    "take method": (lambda x: x.take([1, 1], 0), A),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.array([[0], [3], [1]]), axis=1), A),
    "take_along_axis rows": (lambda x: np.take_along_axis(x, np.array([[0, 2, 1, 0]]), 0), A),
    "take_along_axis flat": (lambda x: np.take_along_axis(x, np.array([3, 1]), None), A),
    "take_along_axis argmax": (lambda x: np.take_along_axis(x, np.argmax(x, 1, keepdims=True), 1), A),
    "compress": (lambda x: np.compress([True, False, True], x, axis=0), A),
    "compress short": (lambda x: np.compress([False, True], x), A),
    "compress method": (lambda x: x.compress([1, 0, 1, 1], 1), A),
    "extract": (lambda x: np.extract(MASK, x), A),
    "tril": (np.tril, A),
    "tril k": (lambda x: np.tril(x, -1), C),
    "triu": (np.triu, C),
    "triu k": (lambda x: np.triu(x, 2), A),
    "tril vector": (np.tril, V),
    "diag": (np.diag, V),
    "diag up": (lambda x: np.diag(x, 2), V),
    "diag down": (lambda x: np.diag(x, -1), V),
    "diag of a matrix": (lambda x: np.diag(x, 1), A),
    "diagflat": (lambda x: np.diagflat(x, -1), A[:2, :2]),
}


@pytest.mark.parametrize("name", CASES)
def test_selection(check: Any, name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments)


POSITIONS = {
    "nonzero": lambda x: np.nonzero(x > 0),
    "where": lambda x: np.where(x > 0),
    "argwhere": lambda x: np.argwhere(x > 0),
    "flatnonzero": lambda x: np.flatnonzero(x > 0),
    "values": lambda x: x[np.nonzero(x > 0)],
}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_need_concrete_values(check: Any, name: str) -> None:
    function = POSITIONS[name]
    check(function, A, order=0, concrete_only=True)
    with pytest.raises(ConcreteError, match=r"only their type is known|size of a result"):
        vmap(function)(A)


def test_dtypes_are_those_of_numpy(values: Any) -> None:
    small, integers = np.array([1, 2, 3], np.float32), np.array([3, 0, 1])
    values(
        lambda x, y: (np.where(y > 0, x, y), np.where(y > 0, x, 0), np.where(y > 0, x, 0.5)), small, integers
    )
    values(
        lambda x: (np.clip(x, 0, 1), np.take(x, [0]), np.tril(x), np.diag(x), np.select([x > 1], [x])), small
    )
    values(lambda x: (np.clip(x, 0, 2), np.clip(x, 0.5, 2), np.tril(x), np.diag(x), np.diag(x > 0)), integers)
    values(lambda x, y: np.choose(y % 2, [x, y]), small, integers)


def test_the_derivative_of_a_value_not_taken_never_counts() -> None:
    x = np.array([0.0, 4.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)))(x), [0.0, 0.25])
    np.testing.assert_array_equal(
        grad(lambda x: np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 1)), x)))(x), [1.0, 0.25]
    )


def test_clip_shares_the_derivative_at_a_bound() -> None:
    x = np.array([-1.0, 0.0, 1.0, 2.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.clip(x, -1, 1)))(x), [0.5, 1.0, 0.5, 0.0])


def test_tril_keeps_infinities_out() -> None:
    full = np.array([[1.0, np.inf], [np.nan, 2.0]])
    actual = np.triu(CONSTANT.constant(full)).state.value
    np.testing.assert_array_equal(actual, [[1.0, np.inf], [0.0, 2.0]])


def test_errors_name_the_operation() -> None:
    box = CONSTANT.constant(A)
    for call, text in [
        (lambda: np.where(box, 1.0), "where: either both or neither"),
        (lambda: np.select([box > 0], [box, box]), "select: there must be as many conditions as choices"),
        (lambda: np.select([box], [box]), "select: conditions must be booleans"),
        (lambda: np.take(box, [12]), "index 12 is out of bounds for axis 0 with size 12"),
        (lambda: np.take(box, [0.5]), "take: indices must be integers"),
        (lambda: np.take(box, [0], mode="other"), "take: mode must be"),
        (
            lambda: np.take_along_axis(box, np.array([0]), 0),
            "take_along_axis: indices must have as many axes",
        ),
        (lambda: np.diag(CONSTANT.constant(C)), "diag: one or two axes"),
        (lambda: np.clip(box, 0, 1, out=np.zeros((3, 4))), "np.clip: out="),
    ]:
        with pytest.raises(WengertError, match=text):
            call()


@pytest.mark.parametrize("default", [0, 1.5, np.int8(1), False])
def test_select_has_the_dtype_of_all_choices_together(values: Any, default: Any) -> None:
    """A truth value and a Python number alone would make int64, and with float32 float64; `select` keeps float32."""
    small, flags, bytes_ = np.zeros(3, "float32"), np.ones(1, bool), np.ones(3, "int8")
    values(lambda x: np.select([x > 1, x < -1], [x, flags], default), small)
    values(lambda x: np.select([x > 1, x < -1], [bytes_, x], default), small)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize(
    "numbers",
    [
        [0, 1, 0],
        [0, -1, 1],
        [2, 0, 1],
        [5, -5, 1],
        [True, False, True],
        [0.0, 1.0, 0.0],
        np.uint8([0, 1, 200]),
    ],
    ids=str,
)
def test_choose_counts_from_the_start_alone(agrees: Any, numbers: Any, mode: Any) -> None:
    numbers, x, y = np.array(numbers), np.arange(3.0), np.arange(3.0, 6.0)
    agrees(lambda x, y: np.choose(numbers, [x, y], mode=mode), x, y)
    agrees(lambda numbers, x: np.choose(numbers, [x, y], mode=mode), numbers, x)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("indices", [[0, -300, 299], [300], [True, False], [1.0], np.uint8([200])], ids=str)
def test_take_has_numpys_indices(agrees: Any, indices: Any, mode: Any) -> None:
    indices = np.array(indices)
    agrees(lambda x: np.take(x, indices, mode=mode), np.arange(300.0))
    agrees(lambda indices, x: np.take(x, indices, mode=mode), indices, np.arange(300.0))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize(
    "condition", [[[True, False], [True, True]], [True], [0.0, 1.0], [], True, [[True, False, True]]], ids=str
)
def test_compress_needs_a_condition_of_one_axis(agrees: Any, condition: Any, axis: Any) -> None:
    agrees(lambda x: np.compress(condition, x, axis), A)


@pytest.mark.parametrize("names", [("a_min", "a_max", "min"), ("a_min", "a_max", "max"), ("min", "max")])
def test_a_bound_has_one_name(agrees: Any, names: Any) -> None:
    bounds: Any = dict.fromkeys(names, 0.5)
    agrees(lambda x: np.clip(x, **bounds), A)


@pytest.mark.parametrize("seed", range(many(6)))
@pytest.mark.parametrize("shape", [(5,), (2, 3), ()])
def test_extract_and_place_by_masks_that_only_a_run_knows(seed: int, shape: tuple[int, ...]) -> None:
    """As SciPy's piecewise functions do: masks of truth values or whole numbers, made twice, in all modes."""
    x = np.random.default_rng(seed).normal(size=shape)

    def program(x):
        y = np.zeros_like(x)
        inside = np.abs(x) < 0.5
        np.place(y, inside, 2.5)
        outside = (1 - inside) & (x > 0)
        np.place(y, outside, np.sin(np.extract(outside, x)) / np.extract(outside, x))
        return np.sum(y * y + x)

    inside, outside = np.abs(x) < 0.5, x >= 0.5
    expected = np.sum(np.where(inside, 6.25, np.where(outside, (np.sin(x) / x) ** 2, 0.0)) + x)
    quotient = np.sin(x) / x
    slopes = 1.0 + np.where(outside, 2 * quotient * (np.cos(x) - quotient) / x, 0.0)
    for function in (wg.grad(program), wg.jit(wg.grad(program)), wg.grad(wg.jit(program))):
        np.testing.assert_allclose(function(x), slopes, rtol=1e-12)
    with np.errstate(all="ignore"):
        batched = wg.vmap(wg.value_and_grad(program))(np.stack([x, -x]))
    np.testing.assert_allclose(batched[0][0], expected, rtol=1e-12)
    np.testing.assert_allclose(batched[1][0], slopes, rtol=1e-12)
