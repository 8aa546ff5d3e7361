"""The nests of small programs, compared with reviewed texts.

After an intended change, write the texts anew and review the output of `git diff`:

    WENGERT_GOLDEN=write python -m pytest tests/engine/nest/test_golden.py
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import assert_same
from wengert import nn
from wengert.compiler import specialisation
from wengert.compiler.llvm.host import named
from wengert.engine.core import tree

FOLDER = Path(__file__).parent / "golden"
RNG = np.random.default_rng(0)


class Case(NamedTuple):
    """A program, and arguments for it."""

    function: Callable[..., Any]
    arguments: Sequence[Any]
    donate: tuple[int, ...] = ()


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype("float32")


def cross_entropy(logits: Any, labels: Any) -> Any:
    """Return the mean over the batch of the logarithm of softmax at the labels, with the sign changed."""
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_sum = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(log_sum - shifted[np.arange(len(labels)), labels])


def convolution(x: Any, w: Any, b: Any) -> Any:
    """Return the largest of each four of the rectified convolution."""
    return nn.max_pool(nn.relu(nn.convolve(x, w) + b[:, None, None]), 2)


def dense_step(params: Any, x: Any, y: Any) -> Any:
    """Return the parameters of a dense layer after a step of gradient descent."""

    def loss(params: Any) -> Any:
        return np.mean((np.tanh(x @ params["w"] + params["b"]) - y) ** 2)

    gradient = wg.grad(loss)(params)
    return {name: value - 0.5 * gradient[name] for name, value in params.items()}


def recurrent(w: Any, u: Any, h: Any, xs: Any) -> Any:
    """Return the last state of a tanh cell, and all of its states."""

    def cell(h: Any, x: Any) -> Any:
        h = np.tanh(x @ w + h @ u)
        return h, h

    return wg.scan(cell, h, xs)


def joined(x: Any, y: Any) -> Any:
    """Return differences of neighbours along arrays that are padded, joined and cut."""
    z = np.concatenate([np.pad(x, ((0, 0), (2, 1))), y[:, ::-1]], axis=1)
    return (z[:, 1:] - z[:, :-1])[:, ::2] * 0.5


CASES = {
    "cross_entropy": Case(wg.grad(cross_entropy), (normal(32, 10), RNG.integers(0, 10, 32))),
    "convolution": Case(convolution, (normal(8, 3, 12, 12), normal(6, 3, 4, 4), normal(6))),
    "dense_step": Case(
        dense_step, ({"w": normal(20, 16), "b": normal(16)}, normal(32, 20), normal(32, 16)), (0,)
    ),
    "recurrent": Case(recurrent, (normal(12, 16), normal(16, 16) / 4, normal(32, 16), normal(7, 32, 12))),
    "joined": Case(joined, (normal(5, 9), normal(5, 6))),
}
each_case = pytest.mark.parametrize("name", CASES)


@each_case
def test_nests(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    caches = {"level1": 32 << 10, "level2": 1 << 20}
    monkeypatch.setattr(specialisation, "host", lambda: named("avx2")._replace(**caches))
    case = CASES[name]
    found = wg.jit(case.function, donate=case.donate).nests(*case.arguments) + "\n"
    path = FOLDER / f"{name}.txt"
    if os.environ.get("WENGERT_GOLDEN") == "write":
        path.write_text(found, "utf-8")
    expected = path.read_text("utf-8") if path.exists() else ""
    if found != expected:
        difference = "".join(
            difflib.unified_diff(expected.splitlines(True), found.splitlines(True), path.name, "now")
        )
        pytest.fail(
            f"{difference}\nIf this is meant: WENGERT_GOLDEN=write pytest {Path(__file__).name}", False
        )


@each_case
def test_results(name: str) -> None:
    case = CASES[name]
    expected = case.function(*case.arguments)
    given = tree.map_tree(np.array, case.arguments)
    assert_same(wg.jit(case.function, donate=case.donate)(*given), expected, ulp=50, scale=1.0)


def test_every_text_has_its_program() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(CASES)
