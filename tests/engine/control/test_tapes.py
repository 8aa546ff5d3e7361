"""Tapes: loops inside of loops keep what reverse mode reads, in the order of all their turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.transforms.random_control import arguments, written
from wengert.engine.control import tapes
from wengert.engine.staged import loops


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all such loops keep tapes, and short ones."""
    monkeypatch.setattr(loops, "MOST_RESTARTED_BYTES", 0)
    monkeypatch.setattr(tapes, "BYTES", 1 << 17)


def _outcome(function: Any, *given: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return function(*given)
    except (IndexError, ValueError, UnboundLocalError) as problem:
        return type(problem).__name__


def _compare(seed: int) -> None:
    function, given = wg.grad(written(seed, 4)), arguments(seed)
    expected, found = _outcome(function, *given), _outcome(wg.jit(function), *given)
    if isinstance(expected, str):
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_gradients_of_random_programs_equal_eager_ones(seed: int) -> None:
    _compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_gradients_of_many_random_programs_equal_eager_ones(block: int) -> None:
    for seed in range(20 + 10 * block, 30 + 10 * block):
        _compare(seed)
