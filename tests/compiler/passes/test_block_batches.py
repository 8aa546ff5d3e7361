"""Blocks of the batch: drawn networks, sequences and training steps, as if the cache were tiny."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
import wengert.numpy as wnp
from tests.compiler.comparing import check
from tests.compiler.graphs import compile_graph
from tests.draws import examples
from wengert.compiler import pipeline
from wengert.compiler.llvm.host import host
from wengert.compiler.passes import block_batches
from wengert.engine.core.tree import map_tree
from wengert.engine.machine import costs
from wengert.engine.nest.nest import Loop, all_steps

pytestmark = pytest.mark.usefixtures("small")

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": wnp.tanh,
    "relu": lambda x: wnp.maximum(x, 0),
    "softmax": lambda x: wnp.exp(x - wnp.max(x, axis=-1, keepdims=True)),
    "square": lambda x: x * x / 8,
}


class Shape(NamedTuple):
    """Of a drawn network."""

    batch: int
    widths: list[int]
    activations: list[str]
    turns: int
    threads: int


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Draw a network of one to three layers."""
    widths = draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 16, 17, 33]), min_size=2, max_size=4))
    names = draw(st.lists(st.sampled_from(list(ACTIVATIONS)), min_size=3, max_size=3))
    batch = draw(st.sampled_from([1, 2, 7, 16, 24, 33, 50, 64, 100]))
    return Shape(batch, widths, names, draw(st.integers(1, 3)), draw(st.integers(1, 3)))


def drawn(shape: Shape, *more: tuple[int, ...]) -> tuple[list[Any], ...]:
    """Return weights and biases of a network, and further arrays."""
    rng = np.random.default_rng(7)

    def floats(*extents: int) -> Any:
        return rng.normal(size=extents) / np.sqrt(extents[-1])

    pairs = zip(shape.widths, shape.widths[1:], strict=False)
    layers = [[floats(m, n), floats(n)] for m, n in pairs]
    return (layers, *(floats(*one) for one in more))


def apply(shape: Shape, layers: Any, x: Any) -> Any:
    """Return the values of a network for a batch."""
    for name, (weight, bias) in zip(shape.activations, layers, strict=False):
        x = ACTIVATIONS[name](x @ weight + bias)
    return x


def descend(layers: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
    """Return what a step with momentum, scaled by the size of past gradients, makes of parameters and state."""
    mean = map_tree(lambda m, g: 0.9 * m + 0.1 * g, state[0], gradients)
    size = map_tree(lambda v, g: 0.99 * v + 0.01 * g * g, state[1], gradients)
    new = map_tree(lambda p, m, v: p - 0.01 * m / (wnp.sqrt(v) + 1e-2), layers, mean, size)
    return new, (mean, size)


def check_threads(shape: Shape, function: Callable[..., Any], *arguments: Any) -> None:
    """Compare a compiled function with eager mode, on some threads."""
    before = wg.get_threads()
    wg.set_threads(shape.threads)
    try:
        check(function, *arguments, ulp=3000, scale=1.0)
    finally:
        wg.set_threads(before)


def differentiated(shape: Shape) -> tuple[Any, ...]:
    """Return the derivative of a network's loss, and its arguments."""

    def loss(layers: Any, x: Any, y: Any) -> Any:
        return wnp.mean((apply(shape, layers, x) - y) ** 2)

    batches = (shape.batch, shape.widths[0]), (shape.batch, shape.widths[-1])
    return wg.value_and_grad(loss), *drawn(shape, *batches)


@examples(25)
@given(shapes())
def test_gradients_of_networks(shape: Shape) -> None:
    check_threads(shape, *differentiated(shape))


@examples(25)
@given(shapes())
def test_epochs(shape: Shape) -> None:
    """A loop of training steps carries parameters and state."""
    steps = shape.turns
    layers, x, y = drawn(shape, (steps, shape.batch, shape.widths[0]), (steps, shape.batch, shape.widths[-1]))

    def epoch(layers: Any, state: Any, x: Any, y: Any) -> Any:
        def body(carry: Any, part: Any) -> Any:
            value, gradients = wg.value_and_grad(
                lambda p: wnp.mean((apply(shape, p, part[0]) - part[1]) ** 2)
            )(carry[0])
            return descend(carry[0], gradients, carry[1]), value

        return wg.scan(body, (layers, state), (x, y))

    zeros = map_tree(np.zeros_like, layers)
    state = (zeros, map_tree(np.copy, zeros))
    check_threads(shape, epoch, layers, state, x, y)


@examples(25)
@given(shapes(), st.sampled_from([4, 9]), st.booleans())
def test_sequences(shape: Shape, hidden: int, backwards: bool) -> None:
    """Blocks hold whole loops over the steps of sequences, forward and backward."""
    inputs = shape.widths[0]
    _, x, w, u, b = drawn(shape, (5, shape.batch, inputs), (inputs, hidden), (hidden, hidden), (hidden,))

    def loss(w: Any, u: Any, b: Any, x: Any) -> Any:
        def cell(h: Any, part: Any) -> Any:
            gate = wnp.tanh(part @ w + h @ u + b)
            return (1 - 0.5 * gate) * gate + 0.5 * h * gate, wnp.max(gate, axis=1)

        last, peaks = wg.scan(cell, wnp.zeros((shape.batch, hidden)), x[::-1] if backwards else x)
        return wnp.sum(last**2) + wnp.mean(peaks)

    check_threads(shape, wg.value_and_grad(loss, argnums=(0, 1, 2, 3)), w, u, b, x)


# -- threads and errors --------------------------------------------------------------------------------------


def sequence(w: Any, u: Any, x: Any) -> Any:
    """Return a loss of a recurrent network whose turns look up rows of a table."""

    def cell(h: Any, part: Any) -> Any:
        return wnp.tanh(w[part] + h @ u), None

    last, _ = wg.scan(cell, wnp.zeros((x.shape[1], u.shape[0])), x)
    return wnp.sum(last**2)


def looked_up(batch: int = 70) -> tuple[Any, Any, Any]:
    """Return arguments of `sequence`."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(6, 8)), rng.normal(size=(8, 8)) / 3, rng.integers(0, 6, (4, batch))


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = wg.get_threads()
    yield wg.set_threads
    wg.set_threads(before)


def test_any_number_of_threads_gives_the_same_bits(threads: Callable[[int], None]) -> None:
    arguments = looked_up()
    compiled = wg.jit(wg.value_and_grad(sequence, argnums=1))
    found: list[Any] = []
    memory: list[int] = []
    for count in (1, 2, 3, 3):
        threads(count)
        found.append(compiled(*arguments))
        memory.append(compiled.memory(*arguments))
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
    assert memory[0] < memory[1] < memory[2], "each thread has a part of its own"


@pytest.mark.parametrize("count", [1, 2])
def test_an_index_out_of_range_inside_a_block(threads: Callable[[int], None], count: int) -> None:
    threads(count)
    w, u, x = looked_up()
    wrong = x.copy()
    wrong[2, -1] = 6
    compiled = wg.jit(wg.grad(sequence, argnums=1))
    expected = compiled(w, u, x)
    with pytest.raises(IndexError, match=r"test_block_batches.py"):
        compiled(w, u, wrong)
    np.testing.assert_array_equal(compiled(w, u, x), expected)


def test_two_python_threads_at_once(threads: Callable[[int], None]) -> None:
    threads(2)
    many = [looked_up(batch) for batch in (70, 40)]
    compiled = wg.jit(wg.grad(sequence, argnums=1))
    expected = [compiled(*arguments) for arguments in many]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: (n % 2, compiled(*many[n % 2])), range(60)))
    for which, result in found:
        np.testing.assert_array_equal(result, expected[which])


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Return a function that tells whether the pass puts a program into blocks."""
    found: list[bool] = []

    def block(program: Any, target: Any) -> Any:
        program = block_batches.block_batches(program, target)
        found.extend(isinstance(step, Loop) and step.shared for step in all_steps(program.steps))
        return program

    def compiled(function: Callable[..., Any], *arguments: Any) -> bool:
        found.clear()
        wg.jit(function).memory(*arguments)
        return any(found)

    monkeypatch.setattr(pipeline, "block_batches", block)
    return compiled


def network() -> tuple[Any, ...]:
    """Return the derivative of a network that is put into blocks, and its arguments."""
    return differentiated(Shape(100, [16, 17, 17, 16], ["tanh", "relu", "tanh"], 1, 1))


def test_programs_are_in_blocks(in_blocks: Callable[..., bool]) -> None:
    """The programs drawn above reach the pass."""
    assert in_blocks(*network())
    assert in_blocks(wg.grad(sequence, argnums=1), *looked_up())


def test_blocks_do_not_read_more_than_they_save(
    in_blocks: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block reads the weights: those of wide layers take longer than intermediate arrays that are spilt."""
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, block_reads_share=0.1))
    assert not in_blocks(*network())


@pytest.mark.parametrize("least", [1, 2, 8])
def test_turns_read_matrices_for_several_examples(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arrays of one example outgrow the cache, but a block of one would read the weights anew for each example."""
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, matrix_block_examples=least))

    def last(h: Any, w: Any, xs: Any) -> Any:
        def turn(h: Any, x: Any) -> Any:
            h = wnp.tanh(h @ w + x)
            return h, h

        return wnp.sum(wg.scan(turn, h, xs)[1] ** 2)

    steps = host().level2 // (8 * 24)
    arguments = np.zeros((32, 24)), np.eye(24), np.broadcast_to(1.0, (steps, 32, 24))
    program = compile_graph(wg.jit(wg.grad(last)).graph(*arguments)).program
    blocks = [step for step in all_steps(program.steps) if isinstance(step, Loop) and step.shared]
    assert [32 // step.counter.extent for step in blocks] == [least]


@pytest.mark.parametrize("count", [63, 1003])
def test_places_of_examples_that_do_not_exist(count: int) -> None:
    """A part of the last block may not exist: loads there give zero, and no index computed from them is reported."""

    def function(x: Any, i: Any, table: Any) -> Any:
        y = wnp.sin(wnp.cumsum(wnp.tanh(x), axis=1))
        return wnp.sum(wnp.exp(-y) * wnp.take(table, i - 1000)[:, None] + y, axis=1)

    x = np.linspace(-1, 1, 4 * count).reshape(count, 4)
    check(function, x, np.full(count, 1002), np.arange(5.0), ulp=3000, scale=1.0)
