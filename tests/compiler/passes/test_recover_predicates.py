"""Choices between a value and a number: the value is dropped where the result gives the same predicate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import check
from wengert import nn
from wengert.engine.machine import costs

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(7, 5)), RNG.normal(size=(5, 6))

#: Activations whose result says how the choice went, with the number compared with, on either side.
TELLING: dict[str, Callable[[Any], Any]] = {
    "relu": nn.relu,
    "greater": lambda x: np.where(x > 0, x, 0.0),
    "swapped": lambda x: np.where(np.less(0.0, x), x, -0.5),
    "above": lambda x: np.where(x < 0.25, 0.0, x),
    "capped": lambda x: np.where(x >= 1.0, 1.0, x),
    "not a number": lambda x: np.where(x > 0, x, np.nan),
    "equal": lambda x: np.where(x == 0.5, 0.5, x),
}
#: And those whose result does not.
SILENT: dict[str, Callable[[Any], Any]] = {
    "another side": lambda x: np.where(x > 0, x, 2.0),
    "leaky": lambda x: np.where(x > 0, x, 0.1 * x),
    "another value": lambda x: np.where(2 * x > 0, x, 0.0),
    "used otherwise": lambda x: np.where(x > 0, x, 0.0) + np.exp(x) / 9,
}


def loss(activate: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a function whose gradient needs the result of an activation, and the way its choice went."""
    return lambda a, b: np.sum(np.sin(activate(a @ b) @ A[:6, :4]) ** 2)


def written_at_first(function: Callable[..., Any], *arguments: Any) -> int:
    """Return how many arrays the first nest writes: that of the product and the activation."""
    return wg.jit(function).report(*arguments).nests[0].text.count("] = ")


@pytest.mark.parametrize("name", [*TELLING, *SILENT])
def test_gradients_are_those_of_eager_mode(name: str) -> None:
    gradient = wg.value_and_grad(loss({**TELLING, **SILENT}[name]), argnums=(0, 1))
    check(gradient, A, B, scale=100.0)
    assert (written_at_first(gradient, A, B) == 1) == (name in TELLING)


def test_a_result_is_kept() -> None:
    def both(a: Any, b: Any) -> Any:
        product = a @ b
        return product, wg.grad(lambda x: np.sum(np.sin(nn.relu(x) @ A[:6, :4])))(product)

    check(both, A, B, scale=10.0)


def test_of_one_choice_after_another_one_is_asked() -> None:
    check(wg.grad(loss(lambda x: np.where(nn.relu(x) < 1, nn.relu(x), 1.0))), A, B, scale=10.0)
    check(wg.grad(loss(lambda x: nn.relu(nn.relu(x)))), A, B, scale=10.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layers_of_relu_keep_one_array_each(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        costs, "COSTS", replace(costs.COSTS, packed_side=1000)
    )  # panels are no arrays that are kept
    weights = [RNG.normal(size=(64, 64)).astype(dtype) for _ in range(4)]
    x = RNG.normal(size=(128, 64)).astype(dtype)

    def network(weights: Any, x: Any) -> Any:
        for weight in weights:
            x = nn.relu(x @ weight)
        return np.sum(x)

    assert wg.jit(wg.grad(network)).memory(weights, x) <= 7 * x.nbytes
    check(wg.grad(network), weights, x, scale=1e4)


def test_in_the_steps_of_a_loop() -> None:
    def unrolled(w: Any, x: Any) -> Any:
        return wg.scan(lambda h, _: (nn.relu(h @ w - 0.1), np.sum(h)), x, None, length=5)[0]

    check(wg.grad(lambda w, x: np.sum(unrolled(w, x) ** 2), argnums=(0, 1)), A[:5] / 3, A, scale=10.0)


@given(
    st.lists(
        st.sampled_from([0.0, -0.0, 1.0, -2.0, 5e-324, np.inf, -np.inf, np.nan]), min_size=7, max_size=7
    ),
    st.sampled_from(sorted(TELLING)),
)
def test_whatever_is_compared(values: list[float], name: str) -> None:
    gradient = wg.grad(lambda x, b: np.sum(np.sin(TELLING[name](x * b)) * b + TELLING[name](x * b) ** 2))
    check(gradient, np.array(values), np.ones(7), scale=10.0)
