"""A transformer learns to write a row of digits backwards; it is right on rows that it has not seen.

`train.fit` minimises the loss of the second half of "31415=51413"; the rest of the row is given, and has the weight 0.
The trained model then writes digit by digit, with a cache of keys and values.

Run it: python examples/transformer.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import nn, optim
from wengert.train import fit

DIGITS, EQUALS = 5, 10


def rows(rng: np.random.Generator, count: int) -> Any:
    """Draw rows of digits, an equals sign, and the digits backwards."""
    digits = rng.integers(0, 10, (count, DIGITS))
    return np.concatenate([digits, np.full((count, 1), EQUALS), digits[:, ::-1]], axis=1)


IS_ANSWER = np.arange(1, 2 * DIGITS + 1) > DIGITS


def loss(model: Any, row: Any) -> Any:
    """Return the cross-entropy of the answer."""
    weights = np.broadcast_to(IS_ANSWER, row[:, 1:].shape)
    return nn.softmax_cross_entropy(model(row[:, :-1]), row[:, 1:], weights=weights)


def right(model: Any, row: Any) -> Any:
    """Return the share of right digits of the answer."""
    weights = np.broadcast_to(IS_ANSWER, row[:, 1:].shape)
    return nn.accuracy(model(row[:, :-1]), row[:, 1:], weights=weights)


def answer(model: Any, question: Any) -> str:
    """Write the most probable answer, digit by digit."""
    logits, cache = model.extend(question, model.initial_cache((), 2 * DIGITS + 1))
    digits: list[int] = []
    for _ in range(DIGITS):
        digits.append(int(np.argmax(logits[-1])))
        logits, cache = model.extend(np.array(digits[-1:]), cache)
    return "".join(map(str, digits))


def main() -> None:
    """Train, and write some rows backwards."""
    rng = np.random.default_rng(0)
    model = nn.Transformer(symbols=11, size=32, heads=4, layers=2, seed=0)
    fitted = fit(
        model,
        loss,
        rows(rng, 4000),
        optim.adamw(optim.schedules.warm_up_cosine(5e-3, 50, 1000)),
        epochs=8,
        batch_size=32,
        validation=rows(rng, 500),
        metrics={"right": right},
    )
    print(fitted)
    for row in rows(rng, 3):
        print("".join(map(str, row[:DIGITS])), "backwards is", answer(fitted.model, row[: DIGITS + 1]))


if __name__ == "__main__":
    main()
