from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.control.growing import EXAMPLES, growth, growth_python
from tests.engine.control.running import (
    TRANSFORMS,
    assert_close,
    check_everywhere,
    names,
    printed_and_parsed,
    staged,
    write_down,
)
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, UnsupportedError
from wengert.engine.transforms.staging import evaluate


@pytest.mark.parametrize("transform", ["value", "jvp", "forward over forward"])
def test_forward_mode_goes_everywhere(transform: str) -> None:
    check_everywhere(growth, growth_python, EXAMPLES, only=[transform])


@pytest.mark.parametrize("name", [name for name in TRANSFORMS if "reverse" in name or name == "grad"])
def test_reverse_mode_where_the_number_of_steps_is_known(name: str) -> None:
    """Eager loops, graphs evaluated under reverse mode, and examples with different numbers of steps."""
    transform = TRANSFORMS[name]
    expected = [transform(growth_python)(*arguments) for arguments in EXAMPLES]
    for arguments, item in zip(EXAMPLES, expected, strict=True):
        assert_close(transform(growth)(*arguments), item)
        assert_close(transform(staged(growth))(*arguments), item)
    (column,) = np.array(EXAMPLES).T
    stacked = np.stack([np.asarray(item).reshape(()) for item in expected])
    assert_close(np.reshape(wg.vmap(transform(growth))(column), -1), stacked)


def test_reverse_mode_in_a_graph_says_what_to_write() -> None:
    with pytest.raises(
        UnsupportedError, match=r"while_loop: reverse mode in a traced graph.*most=N.*use scan, fori_loop"
    ):
        staged(wg.grad(growth))(3.0)
    with pytest.raises(UnsupportedError, match="most=N"):
        staged(wg.vmap(wg.grad(growth)))(np.array([3.0, 4.0]))
    # A loop without a derivative does not matter.
    assert (
        staged(wg.grad(lambda x: x * wg.while_loop(lambda n: n < 4, lambda n: n + 1, (x > 0).astype(int))))(
            3.0
        )
        == 4.0
    )


def test_python_loops_where_values_are_known() -> None:
    steps: list[Any] = []

    def halve(x: Any) -> Any:
        steps.append(x)
        return x / 2

    assert wg.grad(lambda x: wg.while_loop(lambda x: x > 1, halve, x))(5.0) == 0.125
    assert len(steps) == 3


def test_a_loop_becomes_a_program_when_it_meets_a_graph() -> None:
    def collect(x: Any) -> Any:
        return wg.while_loop(lambda v: v[0] < 5, lambda v: (v[0] + 1, v[1] + x), (0, 0.0))[1]

    graph, _, _ = write_down(collect, np.float64(2.0))
    assert names(graph).count("while") == 1
    assert evaluate(graph, np.float64(2.0)) == [10.0]


def test_conditions_and_bodies_close_over_values() -> None:
    def bounded(x: Any, limit: Any, factor: Any) -> Any:
        return wg.while_loop(lambda v: v < limit**2, lambda v: v * factor + 0.1 * limit, x)

    def python(x: Any, limit: Any, factor: Any) -> Any:
        while x < limit**2:
            x = x * factor + 0.1 * limit
        return x

    examples = [(1.0, 3.0, 1.5), (0.5, 2.0, 3.0), (9.0, 2.0, 2.0)]
    check_everywhere(bounded, python, examples, only=["value", "jvp"])
    for arguments in examples:
        assert_close(TRANSFORMS["grad"](staged(bounded))(*arguments), TRANSFORMS["grad"](python)(*arguments))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_examples_that_are_done_stand_still() -> None:
    """A further step would take the logarithm of a negative number; value and derivative must not become NaN."""

    def logs(x: Any) -> Any:
        return wg.while_loop(lambda v: v > 1, lambda v: np.log(v), x)

    def python(x: Any) -> Any:
        while x > 1:
            x = np.log(x)
        return x

    xs = np.array([0.5, 2.0, 3.0, 20.0, 5e6])
    assert_close(wg.vmap(logs)(xs), np.array([python(x) for x in xs]))
    slopes = np.array([wg.grad(python)(x) for x in xs])
    assert_close(wg.vmap(wg.grad(logs))(xs), slopes)
    assert_close(wg.grad(lambda xs: np.sum(wg.vmap(logs)(xs)))(xs), slopes)
    assert_close(wg.jvp(wg.vmap(logs), (xs,), (np.ones(5),))[1], slopes)


def test_two_layers_of_examples() -> None:
    xs = np.array([[1.5, 3.0], [20.0, 60.0]])
    expected = np.array([[growth_python(x) for x in row] for row in xs])
    slopes = np.array([[wg.grad(growth_python)(x) for x in row] for row in xs])
    assert_close(wg.vmap(wg.vmap(growth))(xs), expected)
    assert_close(staged(wg.vmap(wg.vmap(growth)))(xs), expected)
    assert_close(wg.vmap(wg.vmap(wg.grad(growth)))(xs), slopes)
    assert_close(wg.vmap(wg.grad(lambda row: np.sum(wg.vmap(growth)(row))))(xs), slopes)


def test_newtons_method_is_differentiated_through_its_steps() -> None:
    def root(a: Any) -> Any:
        return wg.while_loop(lambda x: np.abs(x * x - a) > 1e-13, lambda x: 0.5 * (x + a / x), a)

    for run in (lambda f: f, staged):
        assert_close(
            run(lambda a: wg.jvp(root, (a,), (np.float64(1.0),)))(2.0), (np.sqrt(2.0), 0.5 / np.sqrt(2.0))
        )
    assert_close(wg.vmap(wg.grad(root))(np.array([2.0, 9.0])), 0.5 / np.sqrt([2.0, 9.0]))


# -- fori_loop -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_fori_loop_everywhere(transform: str) -> None:
    def series(x: Any) -> Any:
        return wg.fori_loop(1, 5, lambda i, v: np.sin(v * i) + x / i, x)

    def python(x: Any) -> Any:
        v = x
        for i in range(1, 5):
            v = np.sin(v * i) + x / i
        return v

    check_everywhere(series, python, [(0.4,), (-1.2,)], only=[transform])
    graph, _, _ = write_down(wg.grad(series), np.float64(0.4))
    assert names(graph).count("scan") == 2


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (3, 1), (-2, 2), (np.int32(1), np.int64(3))])
def test_bounds(lower: Any, upper: Any) -> None:
    expected = list(range(int(lower), int(upper)))
    for run in (lambda f: f, staged):
        total, count = run(lambda s: wg.fori_loop(lower, upper, lambda i, v: (v[0] + i, v[1] + 1), s))((0, 0))
        assert (total, count) == (sum(expected), len(expected))


def test_numbers_are_weak() -> None:
    for run in (lambda f: f, staged):
        assert run(lambda x: wg.fori_loop(0, 3, lambda i, v: v * i + x, x))(np.float32(2)).dtype == np.float32


def test_bounds_that_are_not_known() -> None:
    def powers(x: Any, n: Any) -> Any:
        return wg.fori_loop(0, n, lambda i, v: v * x, 1.0)

    assert staged(powers)(2.0, np.int64(5)) == 32.0
    assert "while" in names(write_down(powers, 2.0, np.int64(5))[0])
    assert_close(wg.vmap(powers)(np.array([2.0, 3.0]), np.array([3, 2])), np.array([8.0, 9.0]))
    assert_close(wg.vmap(wg.grad(powers))(np.array([2.0, 3.0]), np.array([3, 2])), np.array([12.0, 6.0]))
    assert (
        staged(lambda x, n: wg.jvp(lambda x: powers(x, n), (x,), (np.float64(1.0),))[1])(2.0, np.int64(3))
        == 12.0
    )


def test_text_of_a_graph() -> None:
    for function in (growth, lambda x: wg.jvp(growth, (x,), (np.float64(1.0),))):
        graph, _, _ = write_down(function, np.float64(3.0))
        assert_close(evaluate(printed_and_parsed(graph), np.float64(3.0)), evaluate(graph, np.float64(3.0)))


@pytest.mark.parametrize("run", [lambda f: f, staged], ids=["eager", "staged"])
@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (
            lambda x: wg.while_loop(lambda v: v < 9, lambda v: (v, v), x),
            ArgumentError,
            "while_loop: .*structure",
        ),
        (
            lambda x: wg.while_loop(lambda v: v < 9, lambda v: np.stack([v, v]), x),
            ShapeError,
            r"carry: f64\[\] and f64\[2\]",
        ),
        (
            lambda x: wg.while_loop(lambda v: np.stack([v, v]) < 9, lambda v: v, x),
            ShapeError,
            "one truth value",
        ),
        (lambda x: wg.while_loop(lambda v: None, lambda v: v, x), ShapeError, "NoneType"),
        (
            lambda x: wg.fori_loop(0, 3, lambda i, v: v.astype(np.float32), x),
            DtypeError,
            r"^fori_loop: .*f64\[\] and f32\[\]",
        ),
        (
            lambda x: wg.fori_loop(0, 3, lambda i, v: None, x),
            ArgumentError,
            r"^fori_loop: .*structure \*; got None",
        ),
        (
            lambda x: wg.fori_loop(0, 3, lambda i, v: {"a": v["a"] > 0}, {"a": x}),
            DtypeError,
            r"^fori_loop: .*got carry\['a'\]: f64\[\] and bool\[\]",
        ),
        (
            lambda x: wg.jit(lambda x, n: wg.fori_loop(0, n, lambda i, v: np.ones(3), x))(x, 3),
            ShapeError,
            r"^fori_loop: .*got carry: f64\[\] and f64\[3\]",
        ),
        (lambda x: wg.fori_loop(0.0, 3, lambda i, v: v, x), DtypeError, "bounds must be integers"),
        (lambda x: wg.fori_loop(0, np.array([3]), lambda i, v: v, x), DtypeError, "bounds must be integers"),
        (lambda x: wg.fori_loop(None, 3, lambda i, v: v, x), DtypeError, "bounds must be integers"),
    ],
)
def test_errors_name_the_operation_and_what_came(run: Any, function: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        run(function)(np.float64(1.0))
