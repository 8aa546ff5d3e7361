"""Python's branches and loops on values: compiled, differentiated and batched, they equal Python's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.transforms.staged_programs import PROGRAMS

CASES = [(name, n) for name, (_, given) in PROGRAMS.items() for n in range(len(given))]
IDS = [f"{name}-{n}" for name, n in CASES]


def _outcome(function: Any, *arguments: Any) -> Any:
    """Return the result of a call, or the class and the text of its exception."""
    try:
        return function(*arguments)
    except wg.WengertError as problem:
        return problem if not isinstance(problem, IndexError) else (IndexError,)
    except IndexError:
        return (IndexError,)
    except Exception as problem:
        return type(problem), str(problem)


def _check(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    if isinstance(expected, tuple) and isinstance(expected[0], type):
        assert found == expected, (found, expected)
        return
    if isinstance(expected, Exception):
        assert isinstance(found, Exception)  # `LostDerivativeError`, or `ConcreteError` of a trace on types
        return
    assert not isinstance(found, Exception), found
    assert not (isinstance(found, tuple) and isinstance(found[0], type)), found
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "number"), CASES, ids=IDS)
def test_compiled_programs_equal_python(name: str, number: int) -> None:
    function, given = PROGRAMS[name]
    _check(_outcome(wg.jit(function), *given[number]), _outcome(function, *given[number]))


def _floats(arguments: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(n for n, x in enumerate(arguments) if np.asarray(x).dtype.kind == "f")


@pytest.mark.parametrize(("name", "number"), CASES, ids=IDS)
def test_compiled_gradients_equal_eager_ones(name: str, number: int) -> None:
    function, given = PROGRAMS[name]
    chosen = _floats(given[number])
    if not chosen:
        pytest.skip("no derivative")
    for n in chosen:
        slope = wg.grad(function, argnums=n)
        _check(_outcome(wg.jit(slope), *given[number]), _outcome(slope, *given[number]), 1e-10)


#: Programs that convert to `int`, which eager transforms refuse.
_CONVERTING = ("integers", "raising_before_index")


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in _CONVERTING])
def test_batched_programs_equal_python(name: str) -> None:
    function, given = PROGRAMS[name]
    expected = [_outcome(function, *arguments) for arguments in given]
    fine = [n for n, x in enumerate(expected) if not isinstance(x, tuple)]
    columns = [np.stack([np.asarray(given[n][k]) for n in fine]) for k in range(len(given[0]))]
    for batched in (wg.vmap(function), wg.jit(wg.vmap(function))):
        _check(batched(*columns), np.stack([expected[n] for n in fine]))
