"""What a block changes beside its variables: a program has Python's number, or is refused."""
# ruff: noqa: SIM108 (the statements are what the tests are about)

from __future__ import annotations

import linecache
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.transforms.staging import evaluate
from wengert.errors import StagingError

X = np.array([0.3, -1.2, 0.7, 2.5])
TABLE = np.zeros(3)
ITEMS: list[float] = []
number = 0


@dataclass
class Point:
    v: float


@dataclass(slots=True)
class Slotted:
    v: float


class Counter:
    count = 0


COUNTER = Counter()


def _staged(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: evaluate(wg.trace(function)(*given), *given)[0]


# -- containers that may be one --------------------------------------------------------------------------


def chosen_list(x):
    a, b = [1.0, 2.0], [3.0, 4.0]
    w = a if x[0] > 0 else b
    w[0] = x[1]
    return a[0] * x[2]


def chosen_list_read(x):
    a, b = [1.0, 2.0], [3.0, 4.0]
    w = a if x[0] > 0 else b
    a[0] = x[1]
    return w[0] * x[2]


def chosen_dict(x):
    a, b = {"k": 1.0}, {"k": 2.0}
    if x[0] > 0:
        w = a
    else:
        w = b
    w["k"] = x[1]
    return a["k"] * x[2]


def chosen_dataclass(x):
    a, b = Point(1.0), Point(2.0)
    w = a if x[0] > 0 else b
    w.v = x[1]
    return a.v * x[2]


def list_of_a_loop(x):
    a, w = [1.0, 2.0], [0.0, 0.0]
    i = 0
    while x[i] < 2:
        w = a
        i += 1
    w[0] = x[1]
    return a[0] * x[2]


def two_names_of_a_loop(x):
    p = q = [0.0]
    i = 0
    while x[i] < 2:
        p = q = [i * 1.0]
        i += 1
    p[0] = 7.0
    return q[0] * x[2]


def list_before_a_loop(x):
    first = [x[0], x[1]]
    y = first
    i = 0
    while x[i] < 0:
        y = [v + 1 for v in y]
        i += 1
    y[0] = 9.0
    return first[0] * x[2]


def plain_array(x):
    TABLE[:] = 0
    w = TABLE if x[0] > 0 else np.ones(3)
    TABLE[0] = 5.0
    return w[0] * x[0]


def array_of_a_turn(x):
    y, e = x.copy(), np.zeros(4)
    n = 0
    while n < 3 and x[n] < 2:
        e = y if x[1] > 1 else np.ones(4)
        n += 1
    e[0] = 5.0
    return y[0] * x[2]


def array_of_an_inner_branch(x):
    y, e = x.copy(), np.zeros(4)
    if x[0] < 9:
        e = y if x[1] < 9 else np.ones(4)
    e[0] = 5.0
    return y[0] * x[2]


# -- objects that change where only a run knows whether --------------------------------------------------


def class_attribute(x):
    Counter.count = 0
    if x[0] < 0:
        Counter.count = 1
    return Counter.count * x[0]


def slot(x):
    p = Slotted(1.0)
    if x[0] < 0:
        p.v = 2.0
    return p.v * x[0]


def deque_of_a_branch(x):
    d = deque([1.0])
    if x[0] < 0:
        d = deque([2.0])
    return len(d) * x[0]


def iterator(x):
    it = iter([1.0, 2.0, 3.0])
    if x[0] < 0:
        next(it)
    return next(it) * x[0]


def generator(x):
    it = (k * 1.0 for k in range(1, 9))
    while x[0] < -1:
        next(it)
    return next(it) * x[0]


def _push():
    ITEMS.append(1.0)


def global_list_of_a_function(x):
    ITEMS.clear()
    if x[0] < 0:
        _push()
    return len(ITEMS) * x[0]


REFUSED = [
    *(chosen_list, chosen_list_read, chosen_dict, chosen_dataclass),
    *(list_of_a_loop, two_names_of_a_loop, list_before_a_loop, plain_array),
    *(array_of_a_turn, array_of_an_inner_branch),
    *(class_attribute, slot, deque_of_a_branch, iterator, generator, global_list_of_a_function),
]


@pytest.mark.parametrize("program", REFUSED)
def test_objects_that_only_a_run_tells_apart_are_refused(program: Callable[[Any], Any]) -> None:
    with pytest.raises(StagingError):
        wg.trace(program)(X)


# -- what can be part of a program -----------------------------------------------------------------------


def attribute_of_a_global(x):
    COUNTER.count = 0
    if x[0] < 0:
        COUNTER.count = 1
    return COUNTER.count * x[0]


def attribute_of_a_function(x):
    attribute_of_a_function.n = 0
    if x[0] < 0:
        attribute_of_a_function.n = 1
    return attribute_of_a_function.n * x[0]


def _bump():
    global number
    number = number + 1


def global_of_a_function(x):
    global number
    number = 0
    if x[0] < 0:
        _bump()
    return number * x[0]


def variable_of_an_inner_function(x):
    s = x[3]
    n = 0

    def add(v):
        nonlocal s
        if v > 0:
            s += v * x[1]
        else:
            s = s * 0.5
        return s

    while n < 4 and x[n] < 2:
        add(x[n])
        n += 1
    t = add(x[2]) if x[0] > 0 else s
    return t + s + n


def one_list_by_two_names(x):
    a = w = [1.0, 2.0]
    i = 0
    while x[i] < 2:
        w[0] += 1
        i += 1
    a[1] = 0.5
    return a[0] * x[2] + w[1]


def list_that_grows_after_a_loop(x):
    h = [0.0]
    i = 0
    while x[i] < 2:
        h = [h[-1] + x[i]]
        i += 1
    h.append(3.0)
    return sum(h)


def index_of_a_skipped_branch(x):
    return x[10] if x[0] > 5 else x[1]


STAGED = [
    *(attribute_of_a_global, attribute_of_a_function, global_of_a_function),
    variable_of_an_inner_function,
    *(one_list_by_two_names, list_that_grows_after_a_loop, index_of_a_skipped_branch),
]


@pytest.mark.parametrize("program", STAGED)
def test_objects_of_a_program_hold_what_they_hold_in_python(program: Callable[[Any], Any]) -> None:
    for x in (X, np.array([-0.3, 1.2, 0.7, 2.5])):
        expected = program(x)
        assert _staged(program)(x) == pytest.approx(expected)


# -- loops without a turn --------------------------------------------------------------------------------


def no_turn(x):
    k = (x[3] * 4).astype(int)
    s = x[1]
    n = 0
    while n < x[0] - 5:
        s = s + x[k] * np.sqrt(x[0] - 0.3)
        n += 1
    return s


def no_turn_of_a_range(x):
    k = (x[3] * 4).astype(int)
    s = x[1]
    for _ in range((x[0] * 1).astype(int)):
        s = s + x[k] * np.log(x[0] - 0.3)
    return s


@pytest.mark.parametrize("program", [no_turn, no_turn_of_a_range])
def test_a_loop_without_a_turn_raises_nothing_and_has_no_slope(program: Callable[[Any], Any]) -> None:
    with np.errstate(all="ignore"):
        assert _staged(program)(X) == X[1]
        assert _staged(wg.grad(program))(X).tolist() == [0.0, 1.0, 0.0, 0.0]


# -- exceptions of functions that return nothing ---------------------------------------------------------


def test_an_exception_is_never_lost() -> None:
    def checks(x: Any) -> None:
        if x[0] > 0:
            raise ValueError("positive")

    def checked(x: Any) -> Any:
        checks(x)
        return 3.0

    with pytest.raises(StagingError, match="returns no number"):
        wg.jit(checks)(X)
    with pytest.raises(ValueError, match="positive"):
        wg.jit(checked)(X)
    assert wg.jit(checked)(-X) == 3.0


# -- random programs -------------------------------------------------------------------------------------

_VALUES = ("a", "b", "c")


def _written(seed: int) -> Any:
    """Return a random function that binds names to lists and changes these, in branches and loops."""
    rng = random.Random(seed)
    lines = ["def program(x):", "    a, b, c = [x[0], 1.0], [x[1], 2.0], [3.0, x[2]]", "    d = Held(a)"]
    lines += ["    P[:] = 1.0", "    e = np.zeros(2)"]

    def statement(level: int) -> None:
        one, other = rng.sample(_VALUES, 2)
        at = "    " * level
        simple = (
            f"{one} = {other}",
            f"{one}[{rng.randint(0, 1)}] = {other}[0] * 0.5 + {rng.randint(0, 3)}",
            f"{one} = [{other}[1], {one}[0] + 1.0]",
            f"d.held = {one}",
            f"d.held[0] = {one}[1]",
            f"{one} = {one} if x[{rng.randint(0, 3)}] > {other}[0] else {other}",
            f"{one} = d.held",
            f"P[{rng.randint(0, 1)}] = {rng.randint(0, 3)}",
            f"e = P if x[{rng.randint(0, 3)}] > {other}[0] else np.ones(2)",
            f"e[{rng.randint(0, 1)}] = {other}[0]",
            f"{one}[0] = P[0] + e[1]",
        )
        kind = rng.random()
        if level < 3 and kind < 0.25:
            lines.append(f"{at}if x[{rng.randint(0, 3)}] > {one}[0]:")
            statement(level + 1)
            statement(level + 1)
        elif level < 3 and kind < 0.35:
            lines.append(f"{at}n{level} = 0")
            lines.append(f"{at}while n{level} < 3 and x[n{level}] < {one}[1]:")
            lines.append(f"{at}    n{level} += 1")
            statement(level + 1)
            statement(level + 1)
        else:
            lines.append(at + rng.choices(simple, (1, 4, 4, 1, 2, 1, 1, 1, 1, 1, 2))[0])

    for _ in range(4):
        statement(1)
    lines.append(
        "    return P[0] + 17 * e[0] + 19 * e[1] + a[0] + 2 * b[0] + 3 * c[0] + 5 * a[1] + 7 * b[1] + 11 * c[1]"
        " + 13 * d.held[0]"
    )
    source = "\n".join(lines) + "\n"
    name = f"/random/objects_{seed}.py"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope: dict[str, Any] = {"__name__": f"random_objects_{seed}", "Held": Held, "np": np, "P": np.ones(2)}
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


class Held:
    def __init__(self, held):
        self.held = held


def _compare(seeds: range) -> int:
    """Compare programs with Python; return how many are refused."""
    refused = 0
    for seed in seeds:
        program = _written(seed)
        for x in (X, -X):
            try:
                found = _staged(program)(x)
            except StagingError:
                refused += 1
            else:
                assert found == pytest.approx(program(x)), seed
    return refused


@pytest.mark.parametrize("block", range(3))
def test_random_programs_with_lists_equal_python_or_are_refused(block: int) -> None:
    assert _compare(range(10 * block, 10 * block + 10)) < 20


@pytest.mark.slow
def test_many_random_programs_with_lists_equal_python_or_are_refused() -> None:
    _compare(range(100, 1100))
