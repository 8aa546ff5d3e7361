"""Attention against numbers of PyTorch, and queries that may attend to no key."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert import nn
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError
from wengert.testing import check_grads


def layer_of(of, suffix=""):
    """Return parameters of PyTorch, or their gradients, as a layer."""
    layer = nn.MultiHeadAttention(8, 4, seed=0)
    try:
        weights = np.split(of(f"in_proj_weight{suffix}"), 3)
    except KeyError:
        weights = [of(f"{name}_proj_weight{suffix}") for name in "qkv"]
    biases = np.split(of(f"in_proj_bias{suffix}"), 3)
    for part, weight, bias in zip((layer.query, layer.key, layer.value), weights, biases, strict=True):
        part.weight, part.bias = weight.T, bias
    layer.output.weight, layer.output.bias = of(f"out_proj.weight{suffix}").T, of(f"out_proj.bias{suffix}")
    return layer


@pytest.mark.parametrize("case", ["self attention", "cross attention"])
def test_pytorchs_numbers(case, numbers):
    of = lambda name: numbers[f"{case}/{name}"]  # noqa: E731
    layer, mask = layer_of(of), of("allowed")
    inputs = [of(name) for name in ("x", "keys", "values") if f"{case}/{name}" in numbers]
    np.testing.assert_allclose(layer(*inputs, mask=mask), of("y"), atol=1e-11)
    differentiate = wg.grad(lambda layer, xs: np.sum(np.sin(layer(*xs, mask=mask))), argnums=(0, 1))
    for run in (differentiate, wg.jit(differentiate)):
        of_layer, of_inputs = run(layer, inputs)
        for name, actual in zip(("x", "keys", "values"), of_inputs, strict=False):
            np.testing.assert_allclose(actual, of(f"{name}_gradient"), atol=1e-11)
        for leaf, other in zip(tree.leaves(of_layer), tree.leaves(layer_of(of, "_gradient")), strict=True):
            np.testing.assert_allclose(leaf, other, atol=1e-11)


def test_attention_formula(rng):
    q, k, v = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 5, 4)), rng.standard_normal((2, 5, 6))
    scores = q @ k.swapaxes(1, 2) / 2
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(nn.attention(q, k, v), weights @ v)
    added = rng.standard_normal((3, 5))
    scores = np.exp(scores * 2 + added)
    expected = scores / scores.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(nn.attention(q, k, v, added, scale=1.0), expected)
    assert nn.attention(*(x.astype("f4") for x in (q, k, v)), mask=added).dtype == np.float32


@pytest.mark.parametrize("numbers_added", [False, True])
def test_masks_of_truth_values_and_of_numbers(numbers_added, rng):
    q, k, v = rng.standard_normal((3, 2, 4)), rng.standard_normal((3, 5, 4)), rng.standard_normal((3, 5, 2))
    allowed = rng.random((3, 2, 5)) < 0.5
    allowed[0, 1] = False
    mask = np.where(allowed, 0.0, -np.inf) if numbers_added else allowed
    actual = nn.attention(q, k, v, mask)
    for example, query in np.ndindex(3, 2):
        chosen = allowed[example, query]
        expected = np.zeros(2)
        if chosen.any():
            expected = nn.attention(q[example, query : query + 1], k[example, chosen], v[example, chosen])[0]
        np.testing.assert_allclose(actual[example, query], expected, atol=1e-14)
    check_grads(lambda *qkv: nn.attention(*qkv, mask), (q, k, v), order=2)


def test_queries_that_attend_to_no_key_give_zero_without_derivative():
    q = k = v = np.full((2, 3), 1e200)
    mask = np.array([[False, False], [True, False]])
    with np.errstate(over="ignore", invalid="raise"):
        for run in (nn.attention, wg.jit(nn.attention)):
            np.testing.assert_array_equal(run(q * 0, k, v, mask)[0], 0)
    gradients = wg.grad(lambda *qkv: np.sum(nn.attention(*qkv, mask)), argnums=(0, 1, 2))(q * 0, k * 0, v)
    assert all(np.isfinite(gradient).all() for gradient in gradients)
    np.testing.assert_array_equal(gradients[0][0], 0)
    assert nn.attention(q, k[:0], v[:0]).tolist() == [[0] * 3] * 2


def test_huge_scores_are_stable():
    q, k = np.full((1, 2), 1e4), np.array([[1e4, 1e4], [-1e4, 0.0]])
    np.testing.assert_array_equal(nn.attention(q, k, np.array([[1.0], [2.0]])), [[1.0]])
    mask = np.array([[True, True]])
    np.testing.assert_array_equal(nn.attention(q, k, np.array([[1.0], [2.0]]), mask), [[1.0]])


def test_causal_attention_does_not_see_later_steps(rng):
    layer = nn.MultiHeadAttention(8, 2, causal=True, seed=0)
    x = rng.standard_normal((2, 6, 8)).astype("f4")
    later = x + (np.arange(6) >= 4)[:, None].astype("f4")
    np.testing.assert_allclose(layer(later)[:, :4], layer(x)[:, :4], rtol=1e-5, atol=1e-6)
    assert not np.allclose(layer(later)[:, 4], layer(x)[:, 4])
    np.testing.assert_allclose(wg.jit(layer.__call__)(x), layer(x), rtol=1e-4, atol=1e-6)


def test_a_mask_of_any_shape_that_broadcasts(rng):
    layer, x, full = nn.MultiHeadAttention(6, 3, seed=0), rng.standard_normal((2, 4, 6)), (2, 3, 4, 4)
    for _ in range(many(40)):
        rank = int(rng.integers(1, 5))
        shape = [1 if rng.random() < 0.5 else extent for extent in (full if rank == 4 else (2, 4, 4)[-rank:])]
        mask = rng.random(shape) < 0.7
        inner = mask if rank != 3 else mask[:, None]
        shared = np.broadcast_to(inner, full)
        split = (
            np.swapaxes(part(x).reshape(2, 4, 3, 2), 1, 2) for part in (layer.query, layer.key, layer.value)
        )
        y = nn.attention(*split, shared)
        expected = layer.output(np.swapaxes(y, 1, 2).reshape(2, 4, 6))
        for given in (mask, np.where(mask, 0.0, -np.inf)):
            np.testing.assert_allclose(layer(x, mask=given), expected, atol=1e-6)
    np.testing.assert_allclose(wg.jit(layer)(x, mask=mask), expected, atol=1e-6)


@pytest.mark.parametrize("lead", [(), (2,)])
@pytest.mark.parametrize("length", [0, 3])
def test_no_steps_change_no_cache(lead, length):
    model = nn.Transformer(5, 4, heads=2, layers=2, seed=0)
    before, none = model.initial_cache(lead, length), np.zeros((*lead, 0), int)
    if length:
        before = model.extend(np.ones((*lead, 2), int), before)[1]
    logits, after = model.extend(none, before)
    assert logits.shape == (*lead, 0, 5)
    for one, other in zip(tree.leaves(before), tree.leaves(after), strict=True):
        np.testing.assert_array_equal(one, other)
    assert wg.jit(model.extend)(none, before)[0].shape == logits.shape


def test_padding_is_masked_by_lengths(rng):
    layer = nn.MultiHeadAttention(8, 2, seed=0)
    x, lengths = rng.standard_normal((2, 6, 8)).astype("f4"), np.array([6, 3])
    actual = layer(x, mask=np.arange(6) < lengths[:, None, None])
    np.testing.assert_allclose(actual[1, :3], layer(x[1:, :3])[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(layer(x[0]), layer(x)[0], rtol=1e-4, atol=1e-6)
    batched = wg.vmap(lambda x: layer(x))(x)
    np.testing.assert_allclose(batched, layer(x), rtol=1e-4, atol=1e-6)


ONES = np.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nn.attention(ONES, np.ones((2, 4)), ONES), ShapeError, "attention: queries"),
        (lambda: nn.attention(ONES, ONES, np.ones((3, 3))), ShapeError, "attention: queries"),
        (lambda: nn.attention(ONES, ONES, ONES, np.ones((3, 2))), ShapeError, "mask must broadcast to"),
        (lambda: nn.attention(ONES, ONES, ONES, np.ones(2, int)), DtypeError, r"write mask\.astype\(bool\)"),
        (lambda: nn.MultiHeadAttention(6, 4, seed=0), ArgumentError, "heads must divide"),
        (lambda: nn.MultiHeadAttention(6, 2, seed=0)(np.ones((2, 5))), ShapeError, r"\(..., steps, 6\)"),
    ],
)
def test_invalid_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
