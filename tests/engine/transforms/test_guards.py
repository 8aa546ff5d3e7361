"""Programs that ask for the type of a value, drawn at random: each takes the branch that it takes on NumPy's values."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.transforms.guard_programs import module_of
from wengert.engine.core.errors import ConcreteError, StagingError

POINTS, STEP = (0.4, np.float64(0.4), np.array([0.4, 0.7])), 1e-6


@pytest.fixture(autouse=True)
def loaded() -> Iterator[None]:
    """Forget the modules of the programs."""
    yield
    for name in [name for name in sys.modules if name.startswith("drawn_guards_")]:
        del sys.modules[name]


def slopes(program: Any, x: Any) -> Any:
    """Return the slopes of differences."""
    if np.ndim(x) == 0:
        return (program(x + STEP) - program(x - STEP)) / (2 * STEP)
    return np.array([slopes(lambda h, one=one: program(x + one * h), 0.0) for one in np.eye(x.size)])


def check(seed: int, x: Any, compiled: bool) -> None:
    expected: Any = module_of(seed).program
    value, slope = expected(x), slopes(expected, x)
    ones = np.ones_like(x) if np.ndim(x) else 1.0

    def agree(found: Any, wanted: Any, rtol: float = 1e-10) -> None:
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-8, err_msg=f"program {seed} at {x!r}")

    module: Any = module_of(seed)  # each mode meets the program for the first time
    agree(wg.grad(module.program)(x, module.ASKED), slope, 1e-4)
    module = module_of(seed)
    primal, tangent = wg.jvp(module.program, (x,), (ones,))
    agree(primal, value)
    agree(tangent, np.sum(slope), 1e-4)
    if type(x) is not float:
        agree(wg.vmap(module_of(seed).program)(np.stack([x, x])), [value, value])
    if compiled:
        agree(wg.jit(module_of(seed).program)(x), value)
        agree(wg.jit(wg.grad(module_of(seed).program))(x), slope, 1e-4)


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(0, 24, 8))
def test_guards_choose_the_branch_of_numpys_values(start: int) -> None:
    for seed in range(start, start + 8):
        check(seed, POINTS[seed % 3], seed % 8 == 0)


@pytest.mark.slow
def test_many_guards_choose_the_branch_of_numpys_values() -> None:
    for seed in range(1000, 2000):
        for number, x in enumerate(POINTS):
            check(seed, x, seed % 10 == number)


def doubled(x: Any, flag: Any) -> Any:
    return 2 * x if flag is True else x


def matched(x: Any, flag: Any) -> Any:
    match flag:
        case True:
            return x
        case False:
            return -x


def mixed(x: Any, n: int) -> Any:
    s: Any = 0.0
    if n > 1:
        s = x[0]
    return x[1] if (s > 0.5) is True else x[0]


@pytest.mark.parametrize("flag", [True, False])
def test_flags_that_are_arguments_are_compared_by_is(flag: bool) -> None:
    """In a trace a flag is a box, which is neither True nor False."""
    x = np.array([1.0, -2.0])
    for function in (
        doubled,
        lambda x, on: 2 * matched(x, on),
        lambda x, on: np.sum(doubled(x, on["v"])) * x,
    ):
        given = {"v": flag} if function.__code__.co_consts[-1:] == ("v",) else flag
        np.testing.assert_array_equal(wg.jit(function)(x, given), function(x, given))
    batched = wg.vmap(doubled, in_axes=(0, None))
    np.testing.assert_array_equal(wg.jit(batched)(x, flag), doubled(x, flag))
    slope = wg.jit(wg.grad(lambda x, on: np.sum(doubled(x, on))))
    np.testing.assert_array_equal(slope(x, flag), [1.0 + flag] * 2)


def test_a_comparison_by_is_that_cannot_be_followed_is_refused() -> None:
    scope: dict[str, Any] = {}
    exec("def f(x, flag):\n    return 2 * x if flag is True else x", scope)
    with pytest.raises(ConcreteError, match="is: only a run knows the truth value"):
        wg.jit(scope["f"])(1.0, True)
    assert wg.jit(scope["f"], static_argnums=1)(1.0, True) == 2.0
    assert wg.grad(scope["f"])(1.0, True) == 2.0
    with pytest.raises(wg.errors.WengertError, match="NumPy's truth values are other objects"):
        wg.jit(mixed)(np.ones(2), 2)


def safe(x: Any) -> Any:
    try:
        with np.errstate(divide="raise"):
            return 1 / x
    except FloatingPointError:
        return 7.0


def test_errors_of_floats_are_refused_where_no_program_raises_them() -> None:
    assert safe(np.float64(0.0)) == 7.0
    for transform in (wg.jit, wg.trace, lambda f: wg.jit(wg.grad(f))):
        with pytest.raises(
            StagingError, match="errstate: a program raises no FloatingPointError; got divide"
        ):
            transform(safe)(np.float64(0.0))
    assert wg.grad(safe)(np.float64(2.0)) == -0.25
    with np.errstate(all="raise"):
        assert wg.jit(lambda x: 1 / x)(2.0) == 0.5
