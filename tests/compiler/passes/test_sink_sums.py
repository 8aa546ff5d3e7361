"""Sums over large stacks move into the loops that make them, unless a turn would move more of the sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.llvm.host import host
from wengert.compiler.passes import sink_sums as module
from wengert.compiler.pipeline import advance
from wengert.compiler.unit import Options, Unit
from wengert.engine.machine.target import Target
from wengert.engine.nest.nest import Loop, all_nests


def slope(w: Any, xs: Any) -> Any:
    """Return the derivative of a recurrence by the matrix of its inputs."""

    def loss(w: Any) -> Any:
        start = np.zeros((xs.shape[1], w.shape[1]))
        return np.sum(wg.scan(lambda h, x: (np.tanh(h + x), None), start, xs @ w)[0])

    return wg.grad(loss)(w)


@pytest.mark.parametrize(("batch", "sinks"), [(64, True), (1, False)])
def test_small_sums_sink(batch: int, sinks: bool) -> None:
    w, xs = np.ones((4, 8)), np.ones((20, batch, 4))
    target: Target = host()._replace(level2=64)
    unit = advance(Unit(wg.jit(slope).graph(w, xs), {}, target, Options()), "recover_predicates")
    after = module.sink_sums(unit.program, target)
    loops = [step for step in after.steps if isinstance(step, Loop)]
    sums = {store.buffer.shape for loop in loops for nest in all_nests(loop.steps) for store in nest.stores}
    assert ((4, 8) in sums) is sinks


@pytest.mark.parametrize("batch", [1, 64])
def test_values(batch: int) -> None:
    rng = np.random.default_rng(0)
    w, xs = rng.normal(size=(4, 8)), rng.normal(size=(20, batch, 4))
    np.testing.assert_allclose(wg.jit(slope)(w, xs), slope(w, xs), rtol=1e-10)
