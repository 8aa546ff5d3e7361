"""Transformers: rotary positions, and incremental decoding that equals the full forward pass."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert import nn
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, OutOfRangeError, ShapeError
from wengert.testing import check_grads


def in_precision(model, dtype):
    return tree.map_tree(lambda leaf: leaf.astype(dtype), model)


def test_rotary_by_complex_numbers(rng):
    x = rng.standard_normal((2, 5, 6))
    angles = (7 + np.arange(5))[:, None] * 50.0 ** (-np.arange(3) / 3)
    turned = (x[..., :3] + 1j * x[..., 3:]) * np.exp(1j * angles)
    y = nn.rotary(x, 7, base=50.0)
    np.testing.assert_allclose(y, np.concatenate([turned.real, turned.imag], -1))
    np.testing.assert_allclose(np.sum(y**2, -1), np.sum(x**2, -1))
    assert nn.rotary(x.astype("f4"), 7).dtype == np.float32
    check_grads(lambda x: nn.rotary(x, 7), (x,))
    with pytest.raises(ShapeError, match="even size"):
        nn.rotary(x[..., :5])


def test_attention_depends_on_differences_of_steps(rng):
    """A sequence that is repeated has the same scores later on."""
    q, k = rng.standard_normal((2, 4, 6))
    scores = [nn.rotary(q, start) @ nn.rotary(k, start).T for start in (0, 11)]
    np.testing.assert_allclose(scores[0], scores[1])


MODELS = {
    "attention": lambda: nn.MultiHeadAttention(8, 2, seed=0, causal=True),
    "rotary attention": lambda: nn.MultiHeadAttention(8, 2, seed=0, causal=True, rotary=30.0),
    "block": lambda: nn.TransformerBlock(8, 4, seed=0, norm=nn.LayerNorm, dropout=0.3),
    "block without positions": lambda: nn.TransformerBlock(8, 1, seed=0, rotary=None, bias=False),
    "model": lambda: nn.Transformer(7, 8, 2, 2, seed=0),
}


def drawn(name, rng, shape, dtype):
    return rng.integers(0, 7, shape) if name == "model" else rng.standard_normal((*shape, 8)).astype(dtype)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_decoding_in_parts_equals_the_full_forward(name, dtype, rng):
    model = in_precision(MODELS[name](), dtype)
    for _ in range(many(4)):
        lead = tuple(rng.integers(1, 4, rng.integers(0, 3)))
        steps, spare = int(rng.integers(1, 9)), int(rng.integers(3))
        x = drawn(name, rng, (*lead, steps), dtype)
        expected, cache = model(x), model.initial_cache(lead, steps + spare)
        cuts = np.sort(rng.choice(steps + 1, 2))
        axis, parts = len(lead), []
        for part in np.split(x, cuts, axis=axis):
            if part.shape[axis]:
                y, cache = model.extend(part, cache)
                parts.append(y)
        y = np.concatenate(parts, axis=axis)
        assert y.dtype == expected.dtype == dtype
        tolerance = 2e-5 if dtype == np.float32 else 1e-13
        np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_compiled_loop_of_single_steps(name, rng):
    model = MODELS[name]()
    x = drawn(name, rng, (3, 6), np.float32)

    def decode(model, x):
        def step(cache, part):
            y, cache = model.extend(np.expand_dims(part, 1), cache)
            return cache, y[:, 0]

        return np.swapaxes(wg.scan(step, model.initial_cache(3, 6), np.swapaxes(x, 0, 1))[1], 0, 1)

    np.testing.assert_allclose(wg.jit(decode)(model, x), model(x), rtol=2e-5, atol=2e-5)
    of_steps, of_all = (
        wg.grad(lambda model, f=f: np.sum(np.sin(f(model, x))))(model) for f in (decode, lambda m, x: m(x))
    )
    for one, other in zip(tree.leaves(of_steps), tree.leaves(of_all), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("transform", [lambda f: f, pytest.param(wg.jit, marks=pytest.mark.slow)])
def test_a_full_cache_is_an_error(transform, rng):
    layer = nn.MultiHeadAttention(8, 2, seed=0, causal=True)
    extend, x = transform(lambda x, cache: layer.extend(x, cache)), rng.standard_normal((2, 7, 8))
    _, cache = extend(x[:, :5], layer.initial_cache(2, 6))
    extend(x[:, :1], cache)
    with pytest.raises(OutOfRangeError, match="the cache has room for 6 steps: 2 more must fit"):
        extend(x[:, :2], cache)
    with pytest.raises(OutOfRangeError, match="7 more must fit"):
        extend(x, layer.initial_cache(2, 6))
    for wrong in (x[:1, :1], x[0, :1]):
        with pytest.raises(ShapeError, match=r"the cache is one for sequences \(2,\)"):
            extend(wrong, cache)


def test_only_causal_layers_are_extended(rng):
    block = nn.TransformerBlock(8, 2, seed=0, causal=False)
    with pytest.raises(ArgumentError, match="only a causal layer can be extended"):
        block.extend(rng.standard_normal((2, 1, 8)), block.initial_cache(2, 6))


def test_a_block_is_its_formula_with_padding(rng):
    block = in_precision(nn.TransformerBlock(8, 2, seed=0, causal=False, hidden=5, activation=np.tanh), "f8")
    x, lengths = rng.standard_normal((2, 6, 8)), np.array([6, 3])
    mask = np.arange(6) < lengths[:, None, None]
    y = x + block.attention(block.before(x), mask=mask)
    z = np.tanh(block.after(y) @ block.expand.weight + block.expand.bias)
    expected = y + z @ block.contract.weight + block.contract.bias
    np.testing.assert_allclose(block(x, mask), expected)
    np.testing.assert_allclose(block(x, mask)[1, :3], block(x[1, :3]), atol=1e-12)
    assert block.attention.rotary == 10_000.0
    assert block.expand.weight.shape == (8, 5)


def test_gradients_of_a_block(rng):
    block = in_precision(nn.TransformerBlock(2, 1, seed=0, hidden=2), "f8")
    x, (arrays, structure) = rng.standard_normal((3, 2)), tree.flatten(block)
    check_grads(lambda x, *arrays: tree.unflatten(structure, arrays)(x), (x, *arrays))


def test_dropout_is_in_training_only(rng):
    model = nn.Transformer(7, 8, 2, 2, seed=0, dropout=0.5)
    x, key = rng.integers(0, 7, (2, 4)), wg.random.key(0)
    same, _ = nn.apply(model, x, None, key=key)
    np.testing.assert_array_equal(same, model(x))
    first, second, again = (
        nn.apply(model, x, None, training=True, key=wg.random.fold_in(key, n))[0] for n in (0, 1, 0)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, second)
    with pytest.raises(ArgumentError, match="training needs a key"):
        nn.apply(model, x, None, training=True)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: nn.TransformerBlock(6, 4, seed=0), ArgumentError, "heads must divide"),
        (lambda: nn.TransformerBlock(6, 2, seed=0), ArgumentError, "heads of an even size"),
        (lambda: nn.TransformerBlock(8, 2, seed=0, dropout=1.5), ArgumentError, "the rate must lie"),
        (lambda: nn.TransformerBlock(8, 2, seed=0)(np.ones((2, 5))), ShapeError, "RMSNorm"),
        (lambda: nn.Transformer(3, 8, 2, 1, seed=0)(np.array([3])), OutOfRangeError, r"\[0, 3\)"),
    ],
)
def test_invalid_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()
