"""Recurrent layers against numbers of PyTorch and Keras, and against loops."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, DtypeError, OutOfRangeError, ShapeError
from wengert.testing import check_grads

LAYERS = (nn.RNN, nn.LSTM, nn.GRU)
LENGTHS = {"rnn both ways": [1, 4, 5], "lstm deep": [5, 2, 3], "gru deep": [3, 5, 1]}
CASES = ("rnn", "lstm", "gru", *LENGTHS)


def float64(model):
    return tree.map_tree(lambda leaf: leaf.astype(np.float64), model)


def cell_of(numbers, case, number, suffix=""):
    """Return parameters of PyTorch, or their gradients, as the arrays of a cell: weights, bias, hidden bias."""
    w, u, b, c = (
        numbers[f"{case}/{name}{number}{suffix}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    if not case.startswith("gru"):
        return w.T, u.T, b if suffix else b + c, None
    gates = np.arange(12) < 8
    return w.T, u.T, b if suffix else b + np.where(gates, c, 0.0), c[8:]


def torch_layer(numbers, case):
    kind = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[case.split()[0]]
    deep = {"layers": 2 if "deep" in case else 1, "bidirectional": case in LENGTHS}
    layer = kind(3, 4, seed=0, sequence=True, **deep)
    for number, cell in enumerate(layer.cells):
        cell.input_weight, cell.hidden_weight, cell.bias, hidden_bias = cell_of(numbers, case, number)
        if hidden_bias is not None:
            cell.hidden_bias = hidden_bias
    return layer


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_pytorchs_numbers(case, compiled, numbers):
    layer = torch_layer(numbers, case)
    starts = tuple(numbers[f"{case}/start{n}"] for n in range(layer.cells[0].parts))
    lengths = np.array(LENGTHS[case]) if case in LENGTHS else None

    def loss(layer, x, starts):
        y, ends = layer.run(x, starts if len(starts) > 1 else starts[0], lengths)
        ends = ends if len(starts) > 1 else (ends,)
        total = np.sum(np.sin(y)) + sum((n + 1) * np.sum(np.cos(end)) for n, end in enumerate(ends))
        return total, (y, ends)

    differentiate = wg.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True)
    run = wg.jit(differentiate) if compiled else differentiate
    (_, (y, ends)), (of_layer, of_x, of_starts) = run(layer, numbers[f"{case}/x"], starts)
    close = lambda actual, name: np.testing.assert_allclose(actual, numbers[f"{case}/{name}"], atol=1e-12)  # noqa: E731
    close(y, "y")
    close(of_x, "x_gradient")
    for number, (end, gradient) in enumerate(zip(ends, of_starts, strict=True)):
        close(end, f"end{number}")
        close(gradient, f"start{number}_gradient")
    for number, cell in enumerate(of_layer.cells):
        expected = cell_of(numbers, case, number, "_gradient")
        actual = (cell.input_weight, cell.hidden_weight, cell.bias, getattr(cell, "hidden_bias", None))
        for leaf, other in zip(actual, expected, strict=True):
            assert (leaf is None) == (other is None)
            if leaf is not None:
                np.testing.assert_allclose(leaf, other, atol=1e-12)


def test_kerass_numbers(numbers):
    """The order of the gates in Keras is update, reset, candidate."""
    of = lambda name: numbers[f"keras gru/{name}"]  # noqa: E731
    exchanged = np.r_[4:8, 0:4, 8:12]
    layer = nn.GRU(3, 4, seed=0, reset_after=False, sequence=True)
    (cell,) = layer.cells
    assert cell.hidden_bias is None
    cell.input_weight, cell.hidden_weight = of("kernel")[:, exchanged], of("recurrent_kernel")[:, exchanged]
    cell.bias = of("bias")[exchanged]
    np.testing.assert_allclose(layer(of("x")), of("y"), atol=1e-12)
    gradient, of_x = wg.grad(lambda layer, x: np.sum(np.sin(layer(x))), argnums=(0, 1))(layer, of("x"))
    np.testing.assert_allclose(of_x, of("x_gradient"), atol=1e-12)
    np.testing.assert_allclose(
        gradient.cells[0].hidden_weight, of("recurrent_kernel_gradient")[:, exchanged], atol=1e-12
    )
    np.testing.assert_allclose(gradient.cells[0].bias, of("bias_gradient")[exchanged], atol=1e-12)


def test_rnn_recurrence(rng):
    layer = float64(nn.RNN(3, 4, seed=0))
    (cell,) = layer.cells
    x = rng.standard_normal((2, 5, 3))
    h = np.zeros((2, 4))
    states = []
    for t in range(5):
        h = np.tanh(x[:, t] @ cell.input_weight + h @ cell.hidden_weight + cell.bias)
        states.append(h)
    np.testing.assert_allclose(layer(x), h)
    np.testing.assert_array_equal(layer(x[:, :0]), np.zeros((2, 4)))
    layer.sequence = True
    np.testing.assert_allclose(layer(x), np.stack(states, 1))


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("deep", [{}, {"layers": 2, "bidirectional": True}], ids=["one", "deep"])
def test_derivatives(kind, deep, rng):
    layer = float64(kind(2, 3, seed=0, **deep))
    x = rng.standard_normal((2, 3, 2))
    check_grads(lambda m, x: np.sum(np.sin(m(x, np.array([3, 1])))), (layer, x), order=2)


@pytest.mark.parametrize("kind", LAYERS)
def test_a_sequence_in_parts(kind, rng):
    layer = float64(kind(3, 4, seed=0, layers=2))
    x = rng.standard_normal((2, 7, 3))
    whole, end = layer.run(x)
    first, state = layer.run(x[:, :3], layer.initial_state(2))
    second, last = layer.run(x[:, 3:], state)
    np.testing.assert_allclose(np.concatenate((first, second), axis=1), whole)
    for leaf, other in zip(tree.leaves(last), tree.leaves(end), strict=True):
        np.testing.assert_allclose(leaf, other)
    np.testing.assert_allclose(layer(x), whole[:, -1])


@pytest.mark.parametrize("kind", LAYERS)
def test_padding_changes_nothing(kind, rng):
    layer = float64(kind(3, 4, seed=0, layers=2, bidirectional=True))
    x, lengths = rng.standard_normal((3, 6, 3)), np.array([6, 0, 2])
    outputs, state = layer.run(x, lengths=lengths)
    noisy = x + 100 * (np.arange(6)[:, None] >= lengths[:, None, None])
    np.testing.assert_array_equal(layer.run(noisy, lengths=lengths)[0], outputs)
    for example, length in enumerate(lengths):
        alone, end = layer.run(x[example : example + 1, :length])
        np.testing.assert_allclose(outputs[example, :length], alone[0], atol=1e-14)
        np.testing.assert_array_equal(outputs[example, length:], 0)
        for leaf, other in zip(tree.leaves(state), tree.leaves(end), strict=True):
            np.testing.assert_allclose(leaf[:, example], other[:, 0], atol=1e-14)
    np.testing.assert_allclose(layer(x, lengths)[2], layer(x[2:, :2])[0])


def test_the_state_of_both_directions(rng):
    layer = float64(nn.GRU(3, 4, seed=0, bidirectional=True))
    x = rng.standard_normal((2, 5, 3))
    outputs, state = layer.run(x)
    last = layer(x)
    np.testing.assert_array_equal(last, np.concatenate((outputs[:, -1, :4], outputs[:, 0, 4:]), axis=1))
    np.testing.assert_array_equal(last, np.concatenate(tuple(state), axis=1))


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("steps", [2, 6, 7])
def test_checkpoints_do_not_change_results(kind, bidirectional, steps, rng):
    options = {"seed": 0, "sequence": True, "bidirectional": bidirectional}
    plain, blocks = kind(2, 3, **options), kind(2, 3, checkpoint=3, **options)
    x = rng.standard_normal((2, steps, 2)).astype("f4")
    loss = lambda layer, x: np.sum(np.sin(layer(x, np.array([steps, 2]))))  # noqa: E731
    expected = wg.value_and_grad(loss)(plain, x)
    for actual in (wg.value_and_grad(loss)(blocks, x), wg.jit(wg.value_and_grad(loss))(blocks, x)):
        for leaf, other in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
            np.testing.assert_allclose(leaf, other, rtol=1e-4, atol=1e-5)


def test_checkpoints_take_less_memory():
    x = np.zeros((8, 100, 16), "f4")
    step = wg.jit(wg.grad(lambda layer, x: np.sum(layer(x))))
    plain, blocks = (step.memory(nn.LSTM(16, 32, seed=0, checkpoint=k), x) for k in (None, 10))
    assert blocks < 0.7 * plain


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_truncation_stops_derivatives_between_parts(kind, bidirectional, rng):
    layer = float64(kind(2, 3, seed=0, sequence=True, bidirectional=bidirectional, truncate=3))
    x = rng.standard_normal((2, 7, 2))

    def by_parts(layer, x):
        total = 0.0
        for number, cell in enumerate(layer.cells):
            single = kind(2, 3, seed=0)
            single.cells = (cell,)
            along, state = (x[:, ::-1] if number else x), None
            for start in range(0, 7, 3):
                outputs, state = single.run(along[:, start : start + 3], state)
                state = wg.stop_gradient(state)
                total = total + np.sum(np.sin(outputs))
        return total

    loss = lambda layer, x: np.sum(np.sin(layer(x)))  # noqa: E731
    expected = wg.grad(by_parts, argnums=(0, 1))(layer, x)
    for actual in (wg.grad(loss, argnums=(0, 1))(layer, x), wg.jit(wg.grad(loss, argnums=(0, 1)))(layer, x)):
        for leaf, other in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
            np.testing.assert_allclose(leaf, other, atol=1e-12)
    # The derivative with respect to the initial state is not cut.
    start = layer.initial_state(2, np.float64)
    assert np.any(tree.leaves(wg.grad(lambda s: np.sum(layer.run(x, s)[0]))(start))[0])


@pytest.mark.parametrize("kind", LAYERS)
def test_compiled_training_step_is_one_loop_each_way(kind, rng):
    layer, x = kind(3, 4, seed=0), rng.standard_normal((2, 5, 3)).astype("f4")
    graph = str(wg.jit(wg.grad(lambda layer, x: np.sum(layer(x)))).graph(layer, x))
    assert graph.count("= scan[") == 2


@pytest.mark.parametrize("kind", LAYERS)
def test_under_vmap(kind, rng):
    layers = [kind(2, 3, seed=seed) for seed in range(3)]
    stacked = tree.map_tree(lambda *leaves: np.stack(leaves), *layers)
    x, lengths = rng.standard_normal((3, 2, 4, 2)).astype("f4"), np.array([[4, 1], [0, 2], [3, 3]])
    actual = wg.vmap(lambda layer, x, n: layer(x, n))(stacked, x, lengths)
    expected = np.stack([layer(*row) for layer, *row in zip(layers, x, lengths, strict=True)])
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def test_weights_of_each_gate():
    (cell,) = nn.LSTM(3, 4, seed=0).cells
    np.testing.assert_array_equal(cell.bias, np.repeat([0, 1, 0, 0], 4).astype("f4"))
    for gate in np.split(cell.hidden_weight, 4, axis=1):
        np.testing.assert_allclose(gate @ gate.T, np.eye(4), atol=1e-6)
    assert np.all(nn.LSTM(3, 4, seed=0, forget_bias=0.0).cells[0].bias == 0)
    assert all(leaf.dtype == np.float32 for leaf in tree.leaves(nn.GRU(3, 4, seed=0, layers=2)))
    assert [cell.inputs for cell in nn.GRU(3, 4, seed=0, layers=2, bidirectional=True).cells] == [3, 3, 8, 8]


@pytest.mark.parametrize("make", [nn.RNNCell, nn.LSTMCell, nn.GRUCell])
def test_a_cell_makes_a_step(make, rng):
    cell = make(3, 4, seed=0)
    layer = {nn.RNNCell: nn.RNN, nn.LSTMCell: nn.LSTM, nn.GRUCell: nn.GRU}[make](3, 4, seed=0)
    x = rng.standard_normal((2, 2, 3)).astype("f4")
    state = tuple(np.zeros((2, 4), "f4") for _ in range(cell.parts))
    for t in range(2):
        state = cell(x[:, t], state)
    np.testing.assert_allclose(layer(x), state[0], rtol=1e-5)


X = np.zeros((2, 5, 3), "f4")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nn.LSTM(3, 0, seed=0), ShapeError, "LSTM: inputs and hidden must be"),
        (lambda: nn.GRU(3, 4, seed=0, layers=0), ShapeError, "GRU: layers must be an integer >= 1"),
        (lambda: nn.RNN(3, 4, seed=0, truncate=0), ShapeError, "RNN: truncate must be an integer >= 1"),
        (lambda: nn.LSTM(3, 4, seed=0, checkpoint=1.5), ShapeError, "LSTM: checkpoint must be an integer"),
        (lambda: nn.LSTM(3, 4, seed=0)(X[0]), ShapeError, r"LSTM: the input must be \(examples, steps, 3\)"),
        (
            lambda: nn.GRU(3, 4, seed=0)(X[None]),
            ShapeError,
            "GRU: the input must be .*vmap takes further axes",
        ),
        (lambda: nn.LSTM(3, 4, seed=0).run(X, np.zeros((1, 2, 4))), ArgumentError, "state must be 2 arrays"),
        (lambda: nn.GRU(3, 4, seed=0).run(X, np.zeros((2, 4))), ShapeError, r"state must be \(1, 2, 4\)"),
        (lambda: nn.GRU(3, 4, seed=0)(X, np.array([1, 6])), OutOfRangeError, r"lie in \[0, 5\]; got 6"),
        (lambda: nn.GRU(3, 4, seed=0)(X, np.array([1])), ShapeError, r"lengths must be \(2,\)"),
        (lambda: nn.GRU(3, 4, seed=0)(X, np.array([1.0, 2.0])), DtypeError, "lengths must be integers"),
    ],
)
def test_invalid_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_lengths_out_of_range_in_a_compiled_program(kind, rng):
    layer, x = kind(2, 3, seed=0), rng.standard_normal((2, 4, 2))
    run = wg.jit(lambda x, lengths: layer.run(x, lengths=lengths)[0])
    for lengths in ([-1, 2], [0, 5]):
        for call in (lambda x, lengths: layer.run(x, lengths=lengths), run):
            with pytest.raises(
                ValueError, match=r"lengths must lie in \[0, 4\]; got (-1|5)\. \[test_recurrent.py:"
            ):
                call(x, np.array(lengths))
    for dtype in (np.int8, np.uint8, np.int64):
        lengths = np.array([0, 4], dtype)
        np.testing.assert_allclose(run(x, lengths), layer.run(x, lengths=lengths)[0], rtol=1e-12)
