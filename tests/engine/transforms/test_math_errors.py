"""Functions of `math` whose arguments only a run knows: their values and exceptions are those of CPython."""

from __future__ import annotations

import math
import random
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.specialisation import Specialisation
from wengert.engine.transforms.math_functions import of_math

#: Zeros, poles, edges of domains and ranges, and numbers beyond.
EDGES = (
    *(
        0.0,
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
        5e-324,
        -5e-324,
        1e-310,
        1e-300,
        -1e-300,
        0.5,
        -0.5,
        1.0,
        -1.0,
    ),
    *(
        math.nextafter(1, 2),
        math.nextafter(1, 0),
        math.nextafter(-1, -2),
        math.nextafter(-1, 0),
        2.0,
        -2.0,
        -2.5,
    ),
    *(171.0, 171.7, -180.5, 709.782712893384, 709.7827128933841, 710.4758600739439, 710.475860073944, -710.5),
    *(1023.9999999999999, 1024.0, -1080.0, 1e10, 9.2e18, 2.5e305, 2.6e305, 1.7976931348623157e308, -1e308),
)
#: For functions of two numbers.
FEW = (0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1.0, -1.0, 2.0, -3.0, 0.5, -2.5, 1e300, -1e300)
INTEGERS = (0, 1, -1, 2, -3, 171, 710, 1024, -1080, 2**53 + 1, 2**62, -(2**63))
#: Beyond 64 bits an integer comes from Python.
ROUNDED = ("ceil", "floor", "trunc")
OF_PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "dist": lambda x, y: math.dist([x, y], [y, 1.0]),
    "fsum": lambda x, y: math.fsum([x, y, x, 1.5e308]),
    "isclose": lambda x, y: math.isclose(x, y),
    "ldexp": lambda x, y: math.ldexp(x, 3 * int(y > 0) + 1020 * int(y > 1)),
    "log": lambda x, y: math.log(x, y),
    "prod": lambda x, y: math.prod([x, y]),
    **{
        function.__name__: function
        for function in (math.atan2, math.copysign, math.fmod, math.nextafter, math.pow, math.remainder)
    },
    "hypot": lambda x, y: math.hypot(x, y),
}


def _takes_one(function: Any) -> bool:
    try:
        function(0.5)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


FUNCTIONS = {name: f for name, f in vars(math).items() if callable(f) and not name.startswith("_")}
OF_ONE = sorted(name for name, f in FUNCTIONS.items() if of_math(f) is not None and _takes_one(f))
assert len(OF_ONE) > 30


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a call returns, or the class and the text of what it raises."""
    try:
        return function(*arguments)
    except Exception as problem:
        return type(problem), str(problem)


def is_same(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return isinstance(found, tuple) and all(map(is_same, found, expected))
    if isinstance(expected, (str, type)):
        return found == expected
    if isinstance(found, tuple):
        return False
    return found == expected or found == pytest.approx(expected, rel=1e-12, abs=1e-15, nan_ok=True)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that gets an element for each call that a program gives up."""
    found: list[Any] = []
    inside = Specialisation._as_in_python

    def noted(self: Any, problem: Exception, leaves: Sequence[Any]) -> Any:
        found.append(problem)
        return inside(self, problem, leaves)

    monkeypatch.setattr(Specialisation, "_as_in_python", noted)
    return found


def points(name: str) -> Iterator[float]:
    yield from EDGES
    draw = random.Random(name)
    for _ in range(20):
        yield draw.uniform(-3, 3)
        yield draw.choice([-1, 1]) * 10 ** draw.uniform(-300, 308)


@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_one_number(name: str, runs: list[Any]) -> None:
    function = FUNCTIONS[name]
    compiled = wg.jit(lambda x: function(x))
    for x in (*points(name), *INTEGERS):
        runs.clear()
        expected = outcome(function, x)
        assert is_same(outcome(compiled, x), expected), x
        is_large = name in ROUNDED and abs(x) > 2**62
        at_edge = name == "gamma" and x > 171  # the program overflows an ulp earlier
        assert bool(runs) <= (isinstance(expected, tuple) or is_large or at_edge), x


@pytest.mark.parametrize("name", OF_PAIRS)
def test_functions_of_two_numbers(name: str, runs: list[Any]) -> None:
    function = OF_PAIRS[name]
    compiled = wg.jit(lambda x, y: function(x, y))
    for x, y in ((x, y) for numbers in (FEW, INTEGERS[:5]) for x in numbers for y in numbers):
        runs.clear()
        expected = outcome(function, x, y)
        assert is_same(outcome(compiled, x, y), expected), (x, y)
        assert bool(runs) <= (type(expected) is tuple), (x, y)


def root(x):
    return math.sqrt(1.0 - x * x) + math.exp(x)


MODES: dict[str, Callable[[Any], Any]] = {
    "jit": wg.jit(root),
    "grad": wg.jit(wg.grad(root)),
    "value and grad": wg.jit(wg.value_and_grad(root)),
    "second derivative": wg.jit(wg.grad(wg.grad(root))),
    "derivative": wg.jit(wg.derivative(root)),
    "vmap": lambda x: wg.vmap(root)(np.array([0.1, x, 2.0])),
    "jit of vmap": lambda x: wg.jit(wg.vmap(root))(np.array([0.1, x, 2.0])),
    "vmap of grad": lambda x: wg.vmap(wg.grad(root))(np.array([0.1, x, 2.0])),
    "scan": lambda x: wg.scan(lambda c, v: (c + root(v), c), 0.0, np.array([0.1, x]))[0],
    "cond": wg.jit(lambda x: wg.cond(x > 0, root, lambda x: x, x)),
    "while": wg.jit(lambda x: wg.while_loop(lambda x: x < 5, lambda x: root(x) - x, x)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", [1.5, 800.0])
def test_modes_raise_what_python_raises(mode: str, point: float) -> None:
    if mode == "while" and point > 5:
        return
    with pytest.raises(ValueError, match=re.escape(outcome(root, point)[1])) as problem:
        MODES[mode](point)
    lines = [frame.line or "" for frame in traceback.extract_tb(problem.value.__traceback__)]
    assert any("math.sqrt(1.0 - x * x)" in line for line in lines)


def saturated(x):
    try:
        return math.exp(x)
    except OverflowError:
        return 2.0 * x


def test_a_handler_catches_what_a_program_raises() -> None:
    xs = np.array([1.0, 1000.0, 2.0])
    expected = [math.e, 2000.0, math.exp(2.0)]
    assert wg.jit(saturated)(1000.0) == 2000.0
    assert wg.jit(wg.grad(saturated))(1000.0) == 2.0
    for batched in (wg.vmap(saturated), wg.jit(wg.vmap(saturated)), wg.vmap(wg.jit(saturated))):
        assert batched(xs) == pytest.approx(expected)
    rows = wg.vmap(wg.vmap(saturated), in_axes=1, out_axes=1)(np.array([xs, xs]))
    assert rows == pytest.approx(np.array([expected, expected]))
    slopes = wg.grad(lambda x: np.sum(wg.vmap(saturated)(x)))(xs)
    assert slopes == pytest.approx([math.e, 2.0, math.exp(2.0)])


def checks_first(x, n):
    for _ in range(n):
        math.log(x)
    return 2.0 * x


def skips(x, z):
    if x > 0:
        math.log(z)
        z = z + math.sqrt(z)
    while x > 4:
        math.acos(x - 5)
        x = x - 1
    return x + z if x > 3 and math.log(x) > 1.2 else z


def agm(k):
    a, b = 1.0, math.sqrt(1.0 - k * k)
    while abs(a - b) > 1e-15 * a:
        a, b = 0.5 * (a + b), math.sqrt(a * b)
    return math.pi / (2.0 * a)


BLOCKS: dict[Callable[..., Any], list[tuple[Any, ...]]] = {
    checks_first: [(-1.0, 0), (-1.0, 3), (1.0, 3), (-1.0, 300)],
    skips: [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (3.9, 2.0), (5.5, 1.0), (6.5, 1.0), (-6.5, -1.0)],
    agm: [(0.5,), (1.4,), (math.nan,)],
}


@pytest.mark.parametrize("program", BLOCKS)
@pytest.mark.parametrize("transform", [lambda f: f, wg.grad], ids=["value", "gradient"])
def test_blocks_raise_only_where_python_gets(program: Any, transform: Any) -> None:
    compiled = wg.jit(transform(program))
    for arguments in BLOCKS[program]:
        assert is_same(outcome(compiled, *arguments), outcome(transform(program), *arguments)), arguments


def test_an_exception_in_a_function_that_scan_calls() -> None:
    def turn(total, v):
        if v < 0:
            raise KeyError(f"{v:.1f}")
        return total + v, total

    def summed(x, vs):
        if x > 9:
            raise IndexError("more than 9")
        total = wg.scan(turn, x, vs)[0]
        chosen = wg.cond(total > 3, lambda: turn(total, 4 - total)[0], lambda: total)
        if chosen > 3.5:
            raise ArithmeticError("more than 3.5")
        return chosen

    def expected(x, vs):
        return outcome(lambda: wg.grad(summed)(x, vs))

    compiled = wg.jit(wg.grad(summed))
    for x, vs in (
        (1.0, [1.0, 0.5]),
        (1.0, [1.0, -0.5]),
        (10.0, [0.0, 0.0]),
        (3.2, [0.5, 0.0]),
        (3.2, [0.0, 2.0]),
    ):
        assert is_same(outcome(compiled, x, np.array(vs)), expected(x, np.array(vs))), (x, vs)


def test_a_wide_exponent_ends_a_loop() -> None:
    def grows(x):
        while not x < 0:
            x = math.exp(x)
        return x

    with pytest.raises(OverflowError, match="range"):
        wg.jit(grows)(1.0)


def test_an_integer_of_what_is_none() -> None:
    compiled = wg.jit(lambda x: int(x) + 1)
    for x in (2.5, -2.5, math.nan, math.inf, -math.inf, 1e30):
        assert is_same(outcome(compiled, x), outcome(lambda x: int(x) + 1, x)), x


def test_a_loop_over_elements_keeps_its_lanes_and_its_checks() -> None:
    def scaled(xs):
        roots, sums = np.zeros(xs.shape[0]), np.zeros(xs.shape[0])
        for i in range(xs.shape[0]):
            roots[i] = math.sqrt(xs[i])
            sums[i] = math.exp(roots[i]) * xs[i]
        return roots + sums

    xs = np.linspace(0.5, 2.0, 300)
    compiled = wg.jit(scaled)
    assert compiled(xs) == pytest.approx(scaled(xs))
    assert "for " not in compiled.nests(xs)
    xs[250] = -1.0
    with pytest.raises(ValueError, match="math domain error"):
        compiled(xs)
