"""Errors in a chain name the layer, and stay the same objects."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn, random
from wengert.engine.core.errors import ShapeError

X = np.ones((2, 5))
DENSE = nn.Dense(3, 4, seed=0)
TEXT = r"Dense: the input must be \(\.\.\., 3\); got f64\[2,5\]"
LAYER = r"Dense\(weight f32\[3,4\], bias f32\[4\]\)"


@dataclasses.dataclass
class Twice:
    inner: Any

    def __call__(self, x: Any) -> Any:
        return self.inner(self.inner(x))


CHAINS: dict[str, tuple[Any, str]] = {
    "alone": (nn.Chain(nn.relu, DENSE), r"layers\[1\]"),
    "nested": (
        nn.Chain(nn.Chain(nn.relu, nn.Chain(DENSE)), nn.relu),
        r"layers\[0\]\.layers\[1\]\.layers\[0\]",
    ),
    "in a user's layer": (
        nn.Chain(nn.relu, Twice(nn.Chain(nn.relu, DENSE))),
        r"layers\[1\]\.layers\[1\]",
    ),
    "with a state": (nn.Chain(nn.Dropout(0.5), nn.Chain(DENSE)), r"layers\[1\]\.layers\[0\]"),
}


@pytest.mark.parametrize("name", CHAINS)
def test_the_layer_is_named(name: str) -> None:
    chain, path = CHAINS[name]
    message = rf"^{TEXT}; in {path}, {LAYER}\. \[test_chain_errors.py:\d+\]$"
    runs = (
        lambda: chain(X),
        lambda: nn.apply(chain, X, None, training=True, key=random.key(0))[0],
        lambda: wg.grad(lambda model: np.sum(model(X)))(chain),
        lambda: wg.jit(lambda model, x: model(x))(chain, X),
        lambda: wg.vmap(chain)(X[None]),
    )
    for run in runs:
        with pytest.raises(ShapeError, match=message):
            run()


def test_other_errors_keep_their_messages() -> None:
    def fold(x: Any) -> Any:
        return x.reshape(7, 7)

    with pytest.raises(ValueError, match=r"^cannot reshape array of size 10 into shape") as raised:
        nn.Chain(nn.relu, nn.Chain(fold))(X)
    assert raised.value.__notes__ == ["in layers[0], fold"]
    with pytest.raises(ShapeError, match=r"reshape.* \[test_chain_errors.py:\d+\]$"):
        wg.jit(nn.Chain(nn.relu, fold))(X)
