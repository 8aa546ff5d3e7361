from __future__ import annotations

from typing import Any, NamedTuple

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
from wengert.engine.control import scan_primitive
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError
from wengert.engine.transforms.staging import evaluate

W = np.array([[0.3, -0.2], [0.5, 0.1]])


def cell(w: Any, h: Any, x: Any) -> tuple[Any, Any]:
    h = np.tanh(w @ h + x)
    return h, h * h


def recurrent(w: Any, h: Any, xs: Any) -> Any:
    h, ys = wg.scan(lambda h, x: cell(w, h, x), h, xs)
    return np.sum(h) + np.sum(ys * ys)


def recurrent_python(w: Any, h: Any, xs: Any) -> Any:
    total = 0.0
    for x in xs:
        h, y = cell(w, h, x)
        total = total + np.sum(y * y)
    return np.sum(h) + total


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_recurrent_network_as_unrolled_python(rng: np.random.Generator, transform: str) -> None:
    examples = [(W + rng.normal(size=(2, 2)), rng.normal(size=2), rng.normal(size=(3, 2))) for _ in range(2)]
    check_everywhere(recurrent, recurrent_python, examples, only=[transform])


def test_weights_may_be_shared_by_all_examples(rng: np.random.Generator) -> None:
    h, xs = rng.normal(size=(3, 2)), rng.normal(size=(3, 4, 2))
    expected = sum(wg.grad(recurrent_python)(W, *pair) for pair in zip(h, xs, strict=True))

    def total(w: Any) -> Any:
        return np.sum(wg.vmap(recurrent, in_axes=(None, 0, 0))(w, h, xs))

    assert_close(wg.grad(total)(W), expected)
    assert_close(staged(wg.grad(total))(W), expected)
    per_example = wg.vmap(wg.grad(recurrent), in_axes=(None, 0, 0))
    assert_close(np.sum(per_example(W, h, xs), axis=0), expected)
    assert_close(np.sum(staged(per_example)(W, h, xs), axis=0), expected)


def test_many_layers_of_examples(rng: np.random.Generator) -> None:
    hs, xs = rng.normal(size=(2, 3, 2)), rng.normal(size=(2, 3, 4, 2))
    expected = np.stack([[recurrent_python(W, hs[i, j], xs[i, j]) for j in range(3)] for i in range(2)])
    both = wg.vmap(wg.vmap(recurrent, in_axes=(None, 0, 0)), in_axes=(None, 0, 0))
    assert_close(both(W, hs, xs), expected)
    assert_close(staged(both)(W, hs, xs), expected)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("reverse", [False, True])
def test_order_and_places(reverse: bool, transform: str) -> None:
    def weighted(xs: Any, start: Any) -> Any:
        total, ys = wg.scan(lambda c, x: (c * x + 1.0, c - x), start, xs, reverse=reverse)
        return total + np.sum(ys * np.array([1.0, 10.0, 100.0]))

    def python(xs: Any, start: Any) -> Any:
        rows = [0.0] * 3
        for i in reversed(range(3)) if reverse else range(3):
            start, rows[i] = start * xs[i] + 1.0, start - xs[i]
        return start + rows[0] + 10.0 * rows[1] + 100.0 * rows[2]

    check_everywhere(
        weighted,
        python,
        [(np.array([0.5, -1.0, 2.0]), 0.3), (np.array([1.0, 2.0, 3.0]), -1.0)],
        only=[transform],
    )


class State(NamedTuple):
    position: Any
    velocity: Any


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_containers_are_carried_and_stacked(transform: str) -> None:
    def swing(start: Any, stiffness: Any) -> Any:
        def step(state: State, _: None) -> tuple[State, dict[str, Any]]:
            velocity = state.velocity - 0.1 * stiffness * state.position
            state = State(state.position + 0.1 * velocity, velocity)
            return state, {"energy": velocity**2 + state.position**2, "count": 1}

        state, rows = wg.scan(step, State(start, 0.0), length=5)
        assert isinstance(state, State)
        assert rows["count"].shape == (5,)
        return state.position + np.sum(rows["energy"])

    def python(x: Any, stiffness: Any) -> Any:
        v = total = 0.0
        for _ in range(5):
            v = v - 0.1 * stiffness * x
            x = x + 0.1 * v
            total = total + v**2 + x**2
        return x + total

    check_everywhere(swing, python, [(1.0, 2.0), (-0.5, 3.0)], only=[transform])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_carries_that_start_constant_become_active(transform: str) -> None:
    """A tangent that starts at zero, and a chain of carries that feed one another."""

    def chain(x: Any) -> Any:
        def step(carry: Any, _: None) -> tuple[Any, None]:
            a, b, c, n = carry
            return (a + x, b + a * a, np.sin(c + b), n + 1), None

        (_, _, c, n), _ = wg.scan(step, (0.0, 0.0, 0.0, 0), length=4)
        return c * n

    def python(x: Any) -> Any:
        a = b = c = 0.0
        for _ in range(4):
            a, b, c = a + x, b + a * a, np.sin(c + b)
        return c * 4

    check_everywhere(chain, python, [(0.4,), (-0.7,)], only=[transform])


def test_a_carry_that_each_step_sets_anew() -> None:
    def forgetful(x: Any) -> Any:
        (last, total), _ = wg.scan(
            lambda c, y: ((y * 2.0, c[1] + c[0] * x), None), (x, 0.0), np.array([1.0, 3.0])
        )
        return last * total

    def python(x: Any) -> Any:
        return 6.0 * (x * x + 2.0 * x)

    check_everywhere(forgetful, python, [(0.5,), (2.0,)])


def test_values_that_the_body_closes_over() -> None:
    def closing(x: Any, w: Any) -> Any:
        # All operands are known; only `w`, which the body closes over, may be in a graph.
        total, ys = wg.scan(lambda c, y: (np.sin(c * w) + y, c * w), 1.0, np.array([0.1, 0.2, 0.3]))
        return total * x + np.sum(ys)

    def python(x: Any, w: Any) -> Any:
        c, total = 1.0, 0.0
        for y in (0.1, 0.2, 0.3):
            c, total = np.sin(c * w) + y, total + c * w
        return c * x + total

    check_everywhere(closing, python, [(2.0, 0.5), (1.0, -1.5)])
    graph, _, _ = write_down(closing, np.float64(2.0), np.float64(0.5))
    assert names(graph).count("scan") == 1


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_gradients_inside_the_body(transform: str) -> None:
    def descent(x: Any, rate: Any) -> Any:
        slope = wg.grad(lambda x: np.sin(x) * x**2)
        return wg.scan(lambda x, _: (x - rate * slope(x), None), x, length=3)[0]

    def python(x: Any, rate: Any) -> Any:
        for _ in range(3):
            x = x - rate * (np.cos(x) * x**2 + 2.0 * np.sin(x) * x)
        return x

    check_everywhere(descent, python, [(1.0, 0.1), (-0.5, 0.2)], only=[transform])


@pytest.mark.parametrize("run", [lambda f: f, staged], ids=["eager", "staged"])
def test_no_steps_at_all(run: Any) -> None:
    def nothing(x: Any, xs: Any) -> Any:
        return wg.scan(lambda c, y: (c * y, (c * y, y > 0)), x, xs)

    carry, (ys, flags) = run(nothing)(np.float64(3.0), np.zeros(0))
    assert carry == 3.0
    assert (ys.shape, ys.dtype, flags.shape, flags.dtype) == ((0,), np.float64, (0,), np.bool_)

    def scalar(x: Any) -> Any:
        carry, (ys, _) = nothing(x, np.zeros(0))
        return carry**2 + np.sum(ys)

    assert run(wg.grad(scalar))(3.0) == 6.0
    assert run(wg.hessian(scalar))(3.0) == 2.0
    assert_close(run(wg.vmap(wg.grad(scalar)))(np.array([1.0, 2.0])), np.array([2.0, 4.0]))


def test_truth_values_and_integers_come_along() -> None:
    def mixed(x: Any, ks: Any) -> Any:
        def step(carry: Any, k: Any) -> Any:
            flag, total = carry
            return (np.logical_not(flag), total * x + k), (flag, k * 2)

        (_, total), (flags, doubled) = wg.scan(step, (True, x), ks)
        assert (flags.dtype, doubled.dtype) == (np.bool_, np.int64)
        return total + np.sum(np.where(flags, doubled, 0))

    ks = np.array([1, 2, 3])
    for function in (mixed, staged(mixed)):
        assert_close(function(2.0, ks), 35.0)
        assert_close(wg.grad(function)(2.0, ks), 38.0)
    assert_close(staged(wg.grad(mixed))(2.0, ks), 38.0)
    assert_close(
        staged(lambda x: wg.jvp(lambda x: mixed(x, ks), (x,), (np.float64(1.0),)))(2.0), (35.0, 38.0)
    )
    assert staged(lambda x: (x, wg.scan(lambda c, _: (None, None), None, length=3)))(1.0) == (
        1.0,
        (None, None),
    )


def test_in_place_writes_stay_inside() -> None:
    start = np.zeros(3)

    def write(c: Any, x: Any) -> tuple[Any, Any]:
        c[1] += x
        return c, c

    for run in (lambda f: f, staged):
        carry, ys = run(lambda s, xs: wg.scan(write, s, xs))(start, np.array([1.0, 2.0]))
        assert_close(carry, np.array([0.0, 3.0, 0.0]))
        assert_close(ys, np.array([[0.0, 1.0, 0.0], [0.0, 3.0, 0.0]]))
        assert not start.any()


def test_dtypes_stay() -> None:
    xs = np.arange(3, dtype=np.float32)
    for run in (lambda f: f, staged):
        carry, ys = run(lambda xs: wg.scan(lambda c, x: (c + x, c * 2), 0.0, xs))(xs)
        assert carry.dtype == np.float32
        assert ys.shape == (3,)
        carry, _ = run(lambda x: wg.scan(lambda c, _: (1.0, None), x, length=2))(np.float32(3))
        assert carry.dtype == np.float32
        gradient = run(wg.grad(lambda xs: wg.scan(lambda c, x: (c * 0.5 + x, None), 0.0, xs)[0]))(xs)
        assert gradient.dtype == np.float32


def test_what_the_way_back_keeps() -> None:
    """Values computed from weights alone are not kept for each step, and neither are slices."""

    def loss(w: Any, xs: Any) -> Any:
        h, _ = wg.scan(lambda h, x: (np.tanh((w.T * 2.0) @ h + x * x), None), np.zeros(2), xs)
        return np.sum(h)

    graph, _, _ = write_down(wg.grad(loss), W, np.ones((7, 2)))
    forward, backward = (equation for equation in graph.equations if equation.primitive == "scan")
    stacked = [var.shape for var in forward.outputs if var.shape[:1] == (7,)]
    assert (7, 2, 2) not in stacked
    assert len(stacked) <= 3
    assert forward.params["reverse"] is False
    assert backward.params["reverse"] is True
    assert "transpose" not in names(backward.params["body"])


def test_length_and_unroll_are_settings() -> None:
    total, ys = wg.scan(lambda c, _: (c + 1, c), 0, length=4, unroll=2)
    assert total == 4
    assert_close(ys, np.arange(4))
    graph, _, _ = write_down(lambda x: wg.scan(lambda c, _: (c * x, None), x, length=4, unroll=2), 1.5)
    (equation,) = (item for item in graph.equations if item.primitive == "scan")
    assert (equation.params["length"], equation.params["unroll"]) == (4, 2)


def test_text_of_a_graph(rng: np.random.Generator) -> None:
    arguments = W, rng.normal(size=2), rng.normal(size=(3, 2))
    for function in (recurrent, wg.grad(recurrent), wg.jacfwd(recurrent)):
        graph, _, _ = write_down(function, *arguments)
        assert_close(evaluate(printed_and_parsed(graph), *arguments), evaluate(graph, *arguments))


def lengthen(c: Any, x: Any) -> Any:
    return np.concatenate([c, c]), None


@pytest.mark.parametrize("run", [lambda f: f, staged], ids=["eager", "staged"])
@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (
            lambda xs: wg.scan(lambda c, x: c, 0.0, xs),
            ArgumentError,
            r"scan: the function must return a pair",
        ),
        (lambda xs: wg.scan(lambda c, x: ((c, c), None), 0.0, xs), ArgumentError, r"scan: .*structure \*"),
        (lambda xs: wg.scan(lengthen, xs, xs), ShapeError, r"carry: f64\[3\] and f64\[6\]"),
        (
            lambda xs: wg.scan(lambda c, x: (c + x, None), np.float32(0), xs),
            DtypeError,
            r"carry: f32\[\] and f64\[\]",
        ),
        (
            lambda xs: wg.scan(lambda c, x: ({"n": x}, None), {"n": np.int64(1)}, xs),
            DtypeError,
            r"\['n'\]: i64\[\] and",
        ),
        (
            lambda xs: wg.scan(lambda c, x: (c, None), 0.0, xs, length=4),
            ArgumentError,
            r"number of steps.*\[3, 4\]",
        ),
        (lambda xs: wg.scan(lambda c, x: (c, None), 0.0, (xs, xs[1:])), ArgumentError, r"\[2, 3\]"),
        (lambda xs: wg.scan(lambda c, x: (c, None), 0.0), ArgumentError, "xs or length is needed"),
        (lambda xs: wg.scan(lambda c, x: (c, None), 0.0, xs[0]), ShapeError, "first axis"),
        (lambda xs: wg.scan(lambda c, x: (c, None), 0.0, length=-1), ArgumentError, "negative"),
        (lambda xs: wg.scan(lambda c, x: (c, None), "text", xs), DtypeError, "the carry.*str"),
        (lambda xs: wg.scan(lambda c, x: (c, "text"), 0.0, xs), DtypeError, "the result of a step.*str"),
    ],
)
def test_errors_name_the_operation_and_what_came(run: Any, function: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        run(function)(np.array([1.0, 2.0, 3.0]))


@st.composite
def dependencies(draw: st.DrawFn) -> tuple[Any, ...]:
    """Draw which carries, slices and constants the next carries and the stacked results depend on."""
    count = draw(st.integers(1, 4))
    row = st.lists(st.booleans(), min_size=count + 2, max_size=count + 2)
    steps = draw(st.lists(row, min_size=count, max_size=count))
    return steps, draw(row), draw(st.booleans()), draw(st.integers(1, 3))


@given(dependencies())
def test_any_pattern_of_dependencies(pattern: Any) -> None:
    steps, result, reverse, length = pattern
    count = len(steps)

    def combine(row: Any, carry: Any, x: Any, w: Any) -> Any:
        terms = [np.sin(c + 0.1 * i) for i, c in enumerate(carry)] + [x * x, np.exp(0.1 * w)]
        return sum((term for term, flag in zip(terms, row, strict=True) if flag), 0.5)

    def step(w: Any, carry: Any, x: Any) -> Any:
        return tuple(combine(row, carry, x, w) for row in steps), combine(result, carry, x, w)

    def scanned(start: Any, xs: Any, w: Any) -> Any:
        carry, ys = wg.scan(lambda c, x: step(w, c, x), start, xs, reverse=reverse)
        return sum(c * (i + 1) for i, c in enumerate(carry)) + np.sum(ys * np.arange(1.0, length + 1))

    def python(start: Any, xs: Any, w: Any) -> Any:
        rows: list[Any] = [0.0] * length
        for i in reversed(range(length)) if reverse else range(length):
            start, rows[i] = step(w, start, xs[i])
        return sum(c * (i + 1) for i, c in enumerate(start)) + sum(y * (i + 1) for i, y in enumerate(rows))

    arguments = tuple(0.3 * i for i in range(count)), np.linspace(0.5, 1.0, length), 0.7
    for transform in (lambda f: wg.grad(f, argnums=(0, 1, 2)), TRANSFORMS["jvp"]):
        expected = transform(python)(*arguments)
        assert_close(staged(transform(scanned))(*arguments), expected)
        assert_close(transform(staged(scanned))(*arguments), expected)
        assert_close(transform(scanned)(*arguments), expected)
    # The active values depend on the argument.
    for argnum in range(3):
        item = staged(wg.grad(scanned, argnums=argnum))(*arguments)
        assert_close(item, wg.grad(python, argnums=argnum)(*arguments))


def _area(image: Any) -> Any:
    total = np.zeros((image.shape[0] + 1, image.shape[1] + 1))
    for i, row in enumerate(image, start=1):
        along = 0.0
        for j, pixel in enumerate(row, start=1):
            along += pixel
            total[i, j] = total[i - 1, j] + along
    return total


@pytest.mark.parametrize("most", [0, 1 << 20])
def test_the_derivative_of_a_long_linear_loop_is_part_of_the_program(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads nothing that only a run knows: NumPy would carry it out while the program is traced."""
    monkeypatch.setattr(scan_primitive, "_MOST_CARRIED_OUT", most)

    def loss(image: Any) -> Any:
        if image[0, 0] < -1e300:
            raise ValueError("so small")
        area = _area(image)
        return np.sum(area * np.cos(np.arange(area.size)).reshape(area.shape))

    image = np.random.default_rng(2).normal(size=(6, 5))
    slope = wg.grad(loss)
    graph = wg.trace(slope)(image)
    assert any(one.primitive == "scan" for one in graph.equations if "adjoint" in one.location) is (most == 0)
    np.testing.assert_allclose(evaluate(graph, image)[0], slope(image), rtol=1e-12, atol=1e-12)
    second = wg.grad(lambda image: np.sum(slope(image) * image))
    found = evaluate(wg.trace(second)(image), image)[0]
    np.testing.assert_allclose(found, second(image), rtol=1e-12, atol=1e-12)
    batch = np.stack([image, 2 * image])
    found = evaluate(wg.trace(wg.vmap(slope))(batch), batch)[0]
    np.testing.assert_allclose(found, np.stack([slope(image)] * 2), rtol=1e-12, atol=1e-12)
