"""Deques, and objects whose own methods say how long they are and whether they are true, in staged programs."""

from __future__ import annotations

import linecache
import random
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

_STATEMENTS = (
    "q.append({v})",
    "q.append({v})",
    "q.appendleft({v})",
    "s += q.popleft()",
    "s += q.pop()",
    "s = 0.5 * s + q[0] * q[-1]",
    "s += {v} * len(q)",
    "s += sum(q)",
    "s += max(q) - min(q)",
    "q.extend([{v}, s])",
    "q.extendleft((s, {v}))",
    "q.rotate(1)",
    "q.rotate(-1)",
    "q[0] = 0.5 * s",
    "q[len(q) - 1] += {v}",
    "q.clear()",
    "s += len(list(q)) + (q[1] if len(q) > 1 else 0.5)",
    "s += 1.0 if {v} in q else 0.25",
    "q = q.copy()",
    "del q[0]",
)
_VALUES = ("x[i]", "x[i] * x[0]", "s", "x[i] * s", "0.75")
_TESTS = (
    "x[i] > 0.2",
    "q",
    "not q",
    "len(q) > 2",
    "len(q) == 3",
    "i % 3 == 1",
    "s < 1.0",
    "q and q[0] > 0.1",
)


def _source(rng: random.Random) -> str:
    """Return a program that moves numbers through a deque."""
    lines = [f"q = deque({rng.choice(('', '[x[0], 0.5]', 'x[:2]', '[x[1]] * 3'))}"]
    lines[0] += rng.choice(
        (")", ")", f"{', ' if lines[0][-1] != '(' else ''}maxlen={rng.choice((2, 3, 5))})")
    )
    lines.append("s = x[1]")
    head = rng.choice(
        ("for i in range(len(x)):", "i = -1\n    while i < len(x) - 1 and s < 50.0:\n        i += 1")
    )
    lines.append(head)
    for _ in range(rng.randint(2, 5)):
        statement = rng.choice(_STATEMENTS).format(v=rng.choice(_VALUES))
        if rng.random() < 0.6:
            lines += [f"    if {rng.choice(_TESTS)}:", f"        {statement}"]
        else:
            lines.append(f"    {statement}")
    if rng.random() < 0.4:
        lines += ["    for k, u in enumerate(q):", "        s = 0.9 * s + u * k"]
    lines += ["    s = s / (1.0 + abs(s))", "while q:", "    s = 0.5 * s + q.popleft()", "return s"]
    return "def program(x):\n" + "\n".join(f"    {line}" for line in lines) + "\n"


def _program(source: str, name: str) -> Any:
    file = f"/drawn/{name}.py"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    scope: dict[str, Any] = {"np": np, "deque": deque, "__name__": f"drawn_{name}"}
    exec(compile(source, file, "exec"), scope)
    return scope["program"]


def _outcome(function: Callable[..., Any], x: Any) -> Any:
    try:
        return function(x)
    except (IndexError, ValueError) as problem:
        return next(kind for kind in (IndexError, ValueError) if isinstance(problem, kind))


def _compare(seed: int) -> bool:
    """Compare a drawn program with Python's; return whether it compiles."""
    rng = random.Random(seed)
    source = _source(rng)
    program = _program(source, f"queue_{seed}")
    x = np.random.default_rng(seed).normal(size=rng.choice((4, 7, 80)))
    for function in (program, wg.grad(program)):
        expected = _outcome(function, x)
        try:
            found = _outcome(wg.jit(function), x)
        except wg.errors.ConcreteError:
            return False
        assert (found is expected) if isinstance(expected, type) else np.allclose(found, expected), source
    return True


def test_drawn_programs_of_deques_are_pythons() -> None:
    assert sum(map(_compare, range(3))) >= 2


@pytest.mark.slow
def test_many_drawn_programs_of_deques_are_pythons() -> None:
    assert sum(map(_compare, range(100, 400))) > 250


def filling(x):
    window, s, t = deque(maxlen=5), 0.0, 0.0
    for v in x:
        if len(window) == 5:
            t -= window[0]
        window.append(v)
        t += v
        s += t / len(window) * v
    return s


def filling_a_list(x):
    window, s = [], 0.0
    for v in x:
        window.append(v * v)
        if len(window) > 4:
            window.pop(0)
        s = 0.9 * s + sum(window) / len(window)
    return s


def filling_in_each_row(x):
    s = 0.0
    for row in x.reshape(-1, 40):
        window = deque(maxlen=3)
        for v in row:
            window.append(v * row[0])
            s += sum(window)
    return s


def delayed(x):
    line, s = deque([0.0] * 10, maxlen=10), 0.0
    for v in x:
        s = 0.9 * s + line[0]
        line.append(v + 0.5 * line[0])
    return s


@pytest.mark.parametrize("program", [filling, filling_a_list, filling_in_each_row, delayed])
def test_a_window_that_fills_in_the_first_turns_leaves_a_loop(program: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).random(2000)
    short, long = (str(wg.trace(program)(x[:length])).count("\n") for length in (1000, 2000))
    assert short == long
    np.testing.assert_allclose(wg.jit(program)(x), program(x), rtol=1e-12)
    np.testing.assert_allclose(wg.jit(wg.grad(program))(x), wg.grad(program)(x), rtol=1e-10)


class Stack:
    """A stack in an array, as textbooks have it."""

    def __init__(self, room):
        self.data = np.zeros(room)
        self.size = 0

    def push(self, value):
        self.data[self.size] = value
        self.size += 1

    def pop(self):
        self.size -= 1
        return self.data[self.size]

    def __len__(self):
        return self.size

    def __contains__(self, value):
        for k in range(self.size):  # noqa: SIM110
            if self.data[k] == value:
                return True
        return False

    def __float__(self):
        return float(self.data[0])

    def __int__(self):
        return self.size * 2


class Ordered(Stack):
    """A stack that has an opinion of its own about its truth, and an iterator."""

    def __bool__(self):
        return self.size > 1

    def __iter__(self):
        return iter(self.data[: self.size])


_USES = (
    "return len(s) * x[0]",
    "return x[0] if s else x[1]",
    "return x[0] if not s else x[1]",
    "return bool(s) * x[1]",
    "return x[1] if s and x[0] > 0 else x[2]",
    "while s:\n        x[0] += s.pop() * x[1]\n        if s.size == 0:\n            break\n    return x[0]",
    "return x[0] if x[2] in s else x[1]",
    "return x[0] if x[1] * 2 not in s else x[1]",
    "return float(s) * x[1]",
    "return int(s) * x[1]",
    "return x[0] if len(s) in (1, 3) else x[1]",
    "return any([s, x[0] > 5]) * x[1]",
)
_ITERATIONS = ("for v in s:\n        x[0] = 0.5 * x[0] + v\n    return x[0]",)


@pytest.mark.parametrize("signs", [(1, -1, 1, 1), (-1, -1, -1, -1), (-1, 1, -1, -1)])
@pytest.mark.parametrize(
    ("kind", "use"), [*((Stack, use) for use in _USES), *((Ordered, use) for use in _USES + _ITERATIONS)]
)
def test_methods_of_the_users_decide(kind: type, use: str, signs: tuple[int, ...]) -> None:
    source = f"""def program(x):
    x, s = x.copy(), kind(4)
    for v in x:
        if v > 0:
            s.push(v)
    {use}
"""
    program = _program(source, f"methods_{kind.__name__}_{abs(hash(use))}")
    program.__globals__["kind"] = kind
    x = np.array([0.3, 1.0, 0.7, 0.2]) * signs
    assert wg.jit(program)(x) == program(x)
    np.testing.assert_allclose(wg.jit(wg.grad(program))(x), wg.grad(program)(x))


class Wrong:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size - 2

    def __bool__(self):
        return self.size


@pytest.mark.parametrize(("use", "kind"), [("len(w)", ValueError), ("x[0] if w else x[1]", TypeError)])
def test_methods_that_return_what_python_refuses(use: str, kind: type[Exception]) -> None:
    source = f"""def program(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    w = wrong(n)
    return {use}
"""
    program = _program(source, f"wrong_{use}")
    program.__globals__["wrong"] = Wrong
    for x in (np.array([1.0, -1.0]), np.array([1.0, 1.0, 1.0])):
        expected = _kind_of(program, x)
        assert _kind_of(wg.jit(program), x) is expected
    assert expected in (kind, None)


def _kind_of(function: Callable[..., Any], x: Any) -> type[Exception] | None:
    try:
        function(x)
    except Exception as problem:
        return type(problem)
    return None


def equal_ones(x):
    q = deque([1.0, 2.0])
    if x[0] > 0:
        q.append(3.0)
    return x[0] if q == deque([1.0, 2.0, 3.0]) else x[1]


def other_ones(x):
    q, p = deque([x[0], 2.0]), deque([x[1], 2.0])
    if x[2] > 0:
        p.append(x[0])
    return x[0] if q != p else x[1]


@pytest.mark.parametrize("program", [equal_ones, other_ones])
def test_deques_are_equal_if_their_elements_are(program: Callable[..., Any]) -> None:
    for x in (np.array([1.0, -1.0, 1.0]), np.array([-1.0, -1.0, -1.0]), np.array([-1.0, 2.0, -1.0])):
        assert wg.jit(program)(x) == program(x)


@pytest.mark.parametrize(
    "use", ["np.array(q).sum()", "np.sum(q)", "q.count(1.0)", "q.index(2.0)", "q.insert(0, s)"]
)
def test_other_operations_of_deques_are_refused(use: str) -> None:
    source = f"""def program(x):
    q, s = deque([1.0, 2.0]), 0.0
    if x[0] > 0:
        q.append(x[1])
    return s + ({use})
"""
    with pytest.raises(wg.errors.StagingError, match=r"deque.*make it a list: list\(queue\)"):
        wg.jit(_program(source, f"other_{use}"))(np.ones(3))
