from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.engine.control.running import (
    TRANSFORMS,
    assert_close,
    check_everywhere,
    names,
    printed_and_parsed,
    staged,
    write_down,
)
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError
from wengert.engine.transforms.staging import evaluate


def branchy(x: Any) -> Any:
    return wg.cond(x > 0, lambda x: np.sin(x) * x, lambda x: x**2 + 3.0, x)


def branchy_python(x: Any) -> Any:
    return np.sin(x) * x if x > 0 else x**2 + 3.0


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_everywhere_as_python(transform: str) -> None:
    check_everywhere(branchy, branchy_python, [(0.7,), (-1.3,), (2.0,)], only=[transform])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_closures_are_operands(transform: str) -> None:
    def closing(x: Any, y: Any) -> Any:
        return wg.cond(x > y, lambda: np.sin(x) * y, lambda: x * y**2)

    def python(x: Any, y: Any) -> Any:
        return np.sin(x) * y if x > y else x * y**2

    check_everywhere(closing, python, [(0.7, 0.2), (-1.3, 0.5), (2.0, 3.0)], only=[transform])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_nested_to_any_depth(transform: str) -> None:
    def nested(x: Any) -> Any:
        def inner(x: Any) -> Any:
            return wg.cond(x > 1, lambda: x**3, lambda: np.exp(x))

        return wg.cond(x > 0, inner, lambda x: -x, x)

    def python(x: Any) -> Any:
        return (x**3 if x > 1 else np.exp(x)) if x > 0 else -x

    check_everywhere(nested, python, [(0.5,), (1.5,), (-2.0,)], only=[transform])


@given(st.lists(st.floats(-3, 3).filter(lambda x: abs(x) > 1e-3), min_size=1, max_size=5))
def test_examples_take_their_own_branch(xs: list[float]) -> None:
    expected = [branchy_python(x) for x in xs]
    assert_close(wg.vmap(branchy)(np.array(xs)), np.array(expected))


def test_containers() -> None:
    def swap(flag: Any, pair: Any) -> Any:
        return wg.cond(
            flag, lambda p: {"a": p["b"], "b": (p["a"], 1)}, lambda p: {"a": p["a"], "b": (p["b"], 2)}, pair
        )

    pair = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}
    expected = {"a": pair["b"], "b": (pair["a"], 1)}
    assert_close(swap(True, pair), expected)
    assert_close(staged(swap)(np.bool_(True), pair), expected)
    assert_close(staged(swap)(np.bool_(False), pair), {"a": pair["a"], "b": (pair["b"], 2)})


def test_a_graph_carries_out_one_branch() -> None:
    def guarded(x: Any) -> Any:
        return wg.cond(x > 0, lambda: np.log(x), lambda: 0.0)

    with np.errstate(all="raise"):
        assert staged(guarded)(np.float64(-1.0)) == 0.0
        assert staged(wg.grad(guarded))(np.float64(-1.0)) == 0.0
        assert staged(wg.grad(guarded))(np.float64(2.0)) == 0.5


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_branch_not_taken_never_counts() -> None:
    def guarded(x: Any) -> Any:
        return wg.cond(x > 0, lambda x: np.log(x) * x, lambda x: x**2, x)

    xs, slopes = np.array([-2.0, 0.0, 2.0]), np.array([-4.0, 0.0, np.log(2.0) + 1])
    assert_close(wg.vmap(wg.grad(guarded))(xs), slopes)
    for total in (lambda xs: np.sum(wg.vmap(guarded)(xs)), lambda xs: np.sum(staged(wg.vmap(guarded))(xs))):
        assert_close(wg.grad(total)(xs), slopes)
        assert_close(wg.jvp(total, (xs,), (np.ones(3),))[1], np.sum(slopes))
        assert_close(staged(wg.grad(total))(xs), slopes)


def test_numbers_and_boxes_as_predicates() -> None:
    for predicate, expected in ((1, 1.0), (0, -1.0), (2.5, 1.0), (np.int64(0), -1.0), (np.array(True), 1.0)):
        assert wg.cond(predicate, lambda: 1.0, lambda: -1.0) == expected
        assert staged(lambda p: wg.cond(p, lambda: 1.0, lambda: -1.0))(predicate) == expected
    assert wg.grad(lambda x: wg.cond(x, lambda x: x**2, lambda x: x, x))(3.0) == 6.0


def test_unbatched_values_stay_known_in_a_branch() -> None:
    def powers(x: Any, scale: Any) -> Any:
        # The predicate differs between examples; `scale` is the same, and concrete.
        return wg.cond(x > 0, lambda: x * (scale if scale > 1 else 0.0), lambda: x)

    actual = wg.grad(lambda scale: np.sum(wg.vmap(lambda x: powers(x, scale))(np.array([1.0, -1.0, 2.0]))))(
        3.0
    )
    assert actual == 3.0


def test_python_scalars_take_the_dtype_of_the_other_branch() -> None:
    half = np.float32(0.5)
    assert staged(lambda x: wg.cond(x > 0, lambda: x, lambda: 0.0))(half).dtype == np.float32
    assert staged(lambda x: wg.cond(x > 0, lambda: 0, lambda: x))(-half).dtype == np.float32


def test_branches_may_return_nothing() -> None:
    assert staged(lambda x: (x, wg.cond(x > 0, lambda: None, lambda: None)))(1.0) == (1.0, None)


def test_text_of_a_graph() -> None:
    graph, _, _ = write_down(branchy, np.float64(1.0))
    assert names(graph).count("cond") == 1
    assert evaluate(printed_and_parsed(graph), np.float64(2.0)) == [branchy_python(2.0)]


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (
            lambda x: wg.cond(x > 0, lambda: x, lambda: (x, x)),
            ArgumentError,
            "cond: both branches.*containers",
        ),
        (lambda x: wg.cond(x > 0, lambda: x, lambda: np.stack([x, x])), ShapeError, r"f64\[\] and f64\[2\]"),
        (
            lambda x: wg.cond(x > 0, lambda: {"k": x}, lambda: {"k": x.astype(np.float32)}),
            DtypeError,
            r"\['k'\]: f64",
        ),
        (lambda x: wg.cond(np.stack([x, x]) > 0, lambda: x, lambda: x), ShapeError, "one truth value"),
        (lambda x: wg.cond(None, lambda: x, lambda: x), ShapeError, "NoneType"),
        (lambda x: wg.cond(x > 0, lambda: "text", lambda: x), DtypeError, "the result of a branch.*str"),
    ],
)
def test_errors_name_the_operation_and_what_came(function: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        staged(function)(np.float64(1.0))
