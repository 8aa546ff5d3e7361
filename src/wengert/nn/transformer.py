"""Transformers: a block, and a language model of blocks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from wengert import random
from wengert.engine.core.docstrings import documented
from wengert.engine.core.tree import static
from wengert.nn.activations import gelu
from wengert.nn.attention import KeyValueCache, MultiHeadAttention
from wengert.nn.display import Displayed
from wengert.nn.initialisers import Seed, generator
from wengert.nn.layers import Dense, Dropout, Embedding
from wengert.nn.normalisation import RMSNorm

_TERMS = {
    "size": "the number of values of a step.",
    "heads": "the number of attentions, which divides ``size``.",
    "seed": "an integer or a generator, which draws the weights.",
    "hidden": "the width of the perceptrons; ``4 size`` by default.",
    "causal": "whether a step may attend to itself and to earlier steps only.",
    "rotary": "the base of `rotary` positions; None: no positions.",
    "dropout": "the probability that a value of an attention's or a perceptron's output is dropped in training.",
    "activation": "of the perceptrons.",
    "norm": "makes the layers that normalise from the size, such as `RMSNorm` and `LayerNorm`.",
    "bias": "whether projections and perceptrons add a bias.",
}
_RAISES = """\
ArgumentError: the heads do not divide the size, the rate is not a probability, or training lacks a key.
ShapeError: a number is not a positive integer, or an input does not fit."""


@documented(_TERMS, Raises=_RAISES)
@dataclasses.dataclass(init=False)
class TransformerBlock(Displayed):
    """Attention and a perceptron of two layers, each on normalised values and added to its input.

    ``y = x + attention(norm(x))``, then ``y + W2 activation(W1 norm(y) + b1) + b2`` (Vaswani et al., 2017, with the
    normalisation first as in Xiong et al., 2020).

    Example:
        >>> import numpy as np
        >>> block = TransformerBlock(8, 2, seed=0)
        >>> x = np.random.default_rng(0).standard_normal((3, 5, 8), "f4")
        >>> first, cache = block.extend(x[:, :4], block.initial_cache(3, length=10))
        >>> last, cache = block.extend(x[:, 4:], cache)
        >>> bool(np.allclose(np.concatenate([first, last], axis=1), block(x), atol=1e-5))
        True
    """

    before: Any
    """Normalises the input of the attention."""
    attention: MultiHeadAttention
    after: Any
    """Normalises the input of the perceptron."""
    expand: Dense
    contract: Dense
    activation: Callable[[Any], Any] = static()
    dropout: float = static()

    def __init__(
        self,
        size: int,
        heads: int,
        *,
        seed: Seed,
        hidden: int | None = None,
        causal: bool = True,
        rotary: float | None = 10_000.0,
        dropout: float = 0.0,
        activation: Callable[[Any], Any] = gelu,
        norm: Callable[[int], Any] = RMSNorm,
        bias: bool = True,
    ) -> None:
        rng, hidden = generator(seed), 4 * size if hidden is None else hidden
        self.before, self.after = norm(size), norm(size)
        self.attention = MultiHeadAttention(size, heads, seed=rng, causal=causal, rotary=rotary, bias=bias)
        self.expand = Dense(size, hidden, seed=rng, bias=bias)
        self.contract = Dense(hidden, size, seed=rng, bias=bias)
        self.activation, self.dropout = activation, Dropout(dropout).rate

    def __call__(self, x: Any, mask: Any = None) -> Any:
        """Apply the block to (..., steps, size), as it is after training; the mask is as for `MultiHeadAttention`."""
        return self.apply(x, mask=mask)[0]

    def initial_state(self) -> None:
        """Return None: the block has no state."""

    def apply(
        self, x: Any, state: Any = None, *, training: bool = False, key: Any = None, mask: Any = None
    ) -> tuple[Any, Any]:
        """Apply the block, in training with dropout, and return the state unchanged."""
        y = x + _dropped(self, self.attention(self.before(x), mask=mask), training, key, 0)
        return y + _dropped(self, self._perceptron(y), training, key, 1), state

    def _perceptron(self, y: Any) -> Any:
        return self.contract(self.activation(self.expand(self.after(y))))

    def initial_cache(self, examples: int | Sequence[int], length: int) -> KeyValueCache:
        """Return an empty cache, as `MultiHeadAttention.initial_cache` does."""
        return self.attention.initial_cache(examples, length)

    def extend(self, x: Any, cache: KeyValueCache) -> tuple[Any, KeyValueCache]:
        """Apply the block to the next steps of sequences, as `MultiHeadAttention.extend` does."""
        attended, cache = self.attention.extend(self.before(x), cache)
        y = x + attended
        return y + self._perceptron(y), cache


@documented(
    _TERMS,
    symbols="the number of symbols; they are numbered from 0.",
    layers="the number of blocks.",
    Raises=_RAISES + "\nOutOfRangeError: a symbol is not in [0, symbols).",
)
@dataclasses.dataclass(init=False)
class Transformer(Displayed):
    """A language model: the logits of the next symbol after each step (Radford et al., 2018).

    An `Embedding`, causal `TransformerBlock`s with rotary positions, a norm, and a `Dense` layer without bias.

    Args:
        **options: further options of `TransformerBlock`.

    Example:
        >>> import numpy as np
        >>> model = Transformer(10, 8, heads=2, layers=2, seed=0)
        >>> model(np.array([[3, 1, 4], [1, 5, 9]])).shape
        (2, 3, 10)
        >>> logits, cache = model.extend(np.array([3, 1, 4]), model.initial_cache((), length=20))
        >>> next_logits, cache = model.extend(np.array([1]), cache)
        >>> next_logits.shape, int(cache[0].count)
        ((1, 10), 4)
    """

    embedding: Embedding
    blocks: tuple[TransformerBlock, ...]
    norm: Any
    head: Dense
    dropout: float = static()

    def __init__(
        self,
        symbols: int,
        size: int,
        heads: int,
        layers: int,
        *,
        seed: Seed,
        dropout: float = 0.0,
        norm: Callable[[int], Any] = RMSNorm,
        **options: Any,
    ) -> None:
        rng, options = generator(seed), {"dropout": dropout, "norm": norm, **options}
        self.embedding = Embedding(symbols, size, seed=rng)
        self.blocks = tuple(TransformerBlock(size, heads, seed=rng, **options) for _ in range(layers))
        self.norm, self.head = norm(size), Dense(size, symbols, seed=rng, bias=False)
        self.dropout = Dropout(dropout).rate

    def __call__(self, symbols: Any, mask: Any = None) -> Any:
        """Return the logits (..., steps, symbols) for integers (..., steps), as they are after training."""
        return self.apply(symbols, mask=mask)[0]

    def initial_state(self) -> None:
        """Return None: the model has no state."""

    def apply(
        self, x: Any, state: Any = None, *, training: bool = False, key: Any = None, mask: Any = None
    ) -> tuple[Any, Any]:
        """Return the logits, in training with dropout, and the state unchanged."""
        y = _dropped(self, self.embedding(x), training, key, len(self.blocks))
        for number, block in enumerate(self.blocks):
            own = None if key is None else random.fold_in(key, number)
            y, _ = block.apply(y, None, training=training, key=own, mask=mask)
        return self.head(self.norm(y)), state

    def initial_cache(self, examples: int | Sequence[int], length: int) -> tuple[KeyValueCache, ...]:
        """Return an empty cache for each block, as `MultiHeadAttention.initial_cache` does."""
        return tuple(block.initial_cache(examples, length) for block in self.blocks)

    def extend(self, symbols: Any, cache: Sequence[KeyValueCache]) -> tuple[Any, tuple[KeyValueCache, ...]]:
        """Return the logits of the next steps (..., steps), whose earlier steps are in a cache, and the next cache.

        Args:
            symbols: integers (..., steps): none, one or more.
            cache: from `initial_cache`, or from the last call.

        Raises:
            OutOfRangeError: the steps do not fit into the cache.
        """
        y, after = self.embedding(symbols), list[KeyValueCache]()
        for block, before in zip(self.blocks, cache, strict=True):
            y, held = block.extend(y, before)
            after.append(held)
        return self.head(self.norm(y)), tuple(after)


def _dropped(layer: Any, y: Any, training: bool, key: Any, number: int) -> Any:
    """Return values with a layer's dropout in training, which draws from a key of its own."""
    own = None if key is None else random.fold_in(key, number)
    return Dropout(layer.dropout).apply(y, training=training, key=own)[0]
