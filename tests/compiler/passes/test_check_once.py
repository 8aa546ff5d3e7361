"""Conditions that are the same for all points are checked once, and programs raise what they raise in Python."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many

N = 9


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_VERIFY", "1")
    monkeypatch.setenv("WENGERT_CACHE", "off")


def _source(seed: int) -> str:
    """Return the source of ``program(x, s)`` of a vector and a number, with branches that raise."""
    pick = random.Random(seed).choice

    def number() -> str:
        return pick(["s", "y[0]", "y[-1]", "np.sum(y)", "x[2]"])

    def statement() -> list[str]:
        error = f"{pick(['ValueError', 'KeyError'])}('{pick('abc')}')"
        raised = f"if {number()} > {pick(['0.5', '1.5', '9.0'])}: raise {error}"
        return pick(
            [
                [raised],
                [raised],
                ["y = y * 0.5 + x"],
                [f"y = np.maximum(y, {number()})"],
                [f"y[int({number()} * 4.0)] = s"],
                ["s = s * 0.7 + np.sum(y * x)"],
                [
                    "for k in range(1, len(x)):",
                    "    y[k] = y[k] + 0.3 * y[k - 1]",
                    f"    {pick([raised, 's = s + y[k]'])}",
                ],
                ["while s > 0.5:", "    s = s * 0.5", f"    {pick([raised, 'y = y + s'])}"],
            ]
        )

    lines = ["y = x.copy()", *(line for _ in range(6) for line in statement()), "return y, s"]
    return "def program(x, s):\n" + "".join(f"    {line}\n" for line in lines)


def _written(seed: int) -> Any:
    source, name = _source(seed), f"/random/raising_{seed}.py"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


def _outcome(function: Any, x: Any, s: float) -> Any:
    try:
        y, s = function(x.copy(), s)
    except (ValueError, KeyError) as error:
        return type(error), error.args[0]
    except IndexError:
        return IndexError
    return np.array([*y, s])


@pytest.mark.parametrize("seed", range(many(120)))
def test_drawn_programs_raise_what_they_raise_in_python(seed: int) -> None:
    program, rng = _written(seed), np.random.default_rng(seed)
    compiled = wg.jit(program)
    for scale in (0.1, 1.0, 3.0):
        x, s = scale * rng.normal(size=N), scale
        expected, found = _outcome(program, x, s), _outcome(compiled, x, s)
        if isinstance(expected, np.ndarray):
            np.testing.assert_allclose(found, expected, rtol=1e-11)
        else:
            assert found == expected


def test_results_behind_a_branch_that_raises_are_no_copies() -> None:
    def smoothed(x: Any) -> Any:
        if x[0] < 0.0:
            raise ValueError("negative")
        y = x.copy()
        for k in range(1, len(x)):
            y[k] = y[k] + 0.5 * y[k - 1]
        return y

    compiled = wg.jit(smoothed)
    text = compiled.nests(np.ones(50))
    assert text.count("raised") == 1
    assert text.count("<50") == 1  # the copy of x is the result
    with pytest.raises(ValueError, match="negative"):
        compiled(-np.ones(50))
    with pytest.raises(ValueError, match="negative"):
        wg.jit(wg.grad(lambda x: np.sum(smoothed(x))))(-np.ones(50))


def test_each_example_of_a_batch_checks_its_own_condition() -> None:
    def program(x: Any, s: Any) -> Any:
        if s < 0.0:
            raise ValueError("negative")
        return x * s

    x, s = np.ones((3, 4)), np.array([1.0, 2.0, 3.0])
    compiled = wg.jit(wg.vmap(program))
    np.testing.assert_array_equal(compiled(x, s), x * s[:, None])
    with pytest.raises(ValueError, match="negative"):
        compiled(x, np.array([1.0, -2.0, 3.0]))
