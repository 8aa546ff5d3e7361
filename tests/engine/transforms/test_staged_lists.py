"""Lists whose places or lengths only a run knows: compiled, programs compute what Python does, or are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.engine.transforms.random_lists import Lists, program_of
from wengert.errors import StagingError

_COUNT = many(160)
_X = np.array([0.3, -0.8, 0.5, 0.9, -0.4, 0.7])
_ARGUMENTS = [(_X, 0.4, 6, 2), (_X, -0.7, 9, 4)]


def _outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return wg.tree.leaves(function(*arguments))
    except StagingError:
        return None
    except Exception as problem:
        return type(problem), str(problem)


def _assert_same(found: Any, expected: Any, source: str, atol: float = 1e-12) -> None:
    if isinstance(expected, tuple) or isinstance(found, tuple):
        # A turn that is traced may meet an exception behind the one that a run would raise.
        assert found[0] == expected[0], source
        return
    for one, other in zip(found, expected, strict=True):
        # Of numbers of several types, one of which only a run knows takes the widest.
        assert "bif".index(np.asarray(one).dtype.kind) >= "bif".index(np.asarray(other).dtype.kind), source
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=atol, err_msg=source)


@pytest.mark.parametrize("seed", range(_COUNT))
def test_random_programs_of_lists_are_pythons(seed: int) -> None:
    source = Lists(seed).source()
    program = program_of(source, f"lists {seed}")
    compiled = wg.jit(program)
    for arguments in _ARGUMENTS:
        expected, found = _outcome(program, *arguments), _outcome(compiled, *arguments)
        if found is not None:
            _assert_same(found, expected, source)


@pytest.mark.parametrize("seed", range(_COUNT // 4))
def test_gradients_of_random_programs_of_lists_are_the_eager_ones(seed: int) -> None:
    source = Lists(seed + 10_000).source()
    program = program_of(source, f"slopes of lists {seed}")

    def total(x: Any, a: Any, n: Any, k: Any) -> Any:
        parts = [np.sum(part) for part in wg.tree.leaves(program(x, a, n, k))]
        return sum(np.sin(part) for part in parts) + 0.0 * a

    slope = wg.grad(total, argnums=(0, 1))
    compiled = wg.jit(slope)
    for arguments in _ARGUMENTS:
        expected, found = _outcome(slope, *arguments), _outcome(compiled, *arguments)
        if found is not None:
            _assert_same(found, expected, source, 1e-9)


def test_few_random_programs_of_lists_are_refused() -> None:
    refused = 0
    for seed in range(40):
        program = program_of(Lists(seed + 20_000).source(), f"refused lists {seed}")
        try:
            wg.trace(program)(*_ARGUMENTS[0])
        except StagingError:
            refused += 1
        except Exception:
            pass
    assert refused < 26
