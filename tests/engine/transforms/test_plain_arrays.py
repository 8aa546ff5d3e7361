"""Methods of arrays that lie outside of the program, in a second run: NumPy's functions, or an error with the line."""

from __future__ import annotations

import itertools
import linecache
import random
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.transforms.class_programs import module_of
from wengert.engine.transforms import array_methods
from wengert.engine.transforms.builtin_names import BUILTINS

POINT = np.array([0.6, 1.7])
TWO = np.array([[1.0, 2.0], [3.0, 5.0]])
#: Where arrays lie, and how the program names one: ``@`` is the name of the array.
PLACES = {
    "@": "a global variable",
    "inside(@)": "an argument of a function",
    "self.@": "an attribute",
    "self.held.@": "an attribute of an attribute",
    "type(self).own_@": "an attribute of a class",
    "ITEMS[0].@": "an element of a list",
    'TABLE["@"]': "an element of a table",
    "closed_@": "a variable of the enclosing function",
    "given_@": "a default",
    "made_@": "made in the program",
    "passed_@": "an argument of the program",
}
#: What a program makes of an array first.
FORMS = [
    "{}",
    "{}",
    "({} * 2.0)",
    "{}[::1]",
    "{}.copy()",
    "np.asarray({})",
    "{}.T.T",
    "(lambda a: a)({})",
    "({0} + {0})",
]
#: Where a term stands in the program.
WRAPS = [
    *("{}", "{}", "{}", "(lambda: {})()", "(lambda w: {})(w)", "[{} for _ in range(1)][0]"),
    *("next({} for _ in [0])", "(one := {})", "(\n{}\n)", "(lambda *a, **b: a[0])(*[{}], **TABLE)"),
    *("Held(*[{}] * 2).A", "type('Any', (), dict(f=lambda it: {}))().f()", "(lambda A, K: {})(A, K)"),
]
#: Calls of methods of a matrix A or indices K, and the same with functions.
TERMS = {
    "A.dot(w)": "np.dot(A, w)",
    "A.T.dot(A @ w)": "np.dot(A.T, np.dot(A, w))",
    "A.dot(np.stack([w, w * w]))": "np.dot(A, np.stack([w, w * w]))",
    "A[1].dot(w) * w": "np.dot(A[1], w) * w",
    "A.clip(w[0], w[1] + 2.0)": "np.clip(A, w[0], w[1] + 2.0)",
    "A.clip(max=w)": "np.clip(A, None, w)",
    "A.ravel().searchsorted(w + 1.0) * w": "np.searchsorted(A.ravel(), w + 1.0) * w",
    "K.choose([w, w * w])": "np.choose(K, [w, w * w])",
    "A.ravel().take((w > 1.0).astype(int)) * w": "np.take(A.ravel(), (w > 1.0).astype(int)) * w",
    "A[0].compress(w > 1.0) * w": "np.compress(w > 1.0, A[0]) * w",
    "A.sum(axis=0, initial=w[0]) * w": "np.sum(A, axis=0, initial=w[0]) * w",
    "A.prod(initial=w[0])": "np.prod(A, initial=w[0])",
    "A.max(axis=1, initial=w[1])": "np.max(A, axis=1, initial=w[1])",
    "A.min(initial=w[0])": "np.min(A, initial=w[0])",
    "A.std(axis=0, mean=w[None])": "np.std(A, axis=0, mean=w[None])",
    "A.var(axis=0, mean=w[None])": "np.var(A, axis=0, mean=w[None])",
    'getattr(A, "dot")(w)': "np.dot(A, w)",
    "[f(w) for f in (A.dot, np.exp)][0]": "np.dot(A, w)",
    "sum(row.dot(w) for row in A)": "sum(np.dot(row, w) for row in A)",
    "functools.partial(A.dot)(w)": "np.dot(A, w)",
    "BOUND(w)": "np.dot(A0, w)",
    "A.dot(*[w])": "np.dot(A, w)",
    "A.T.dot(\n    A.dot(w)\n)": "np.dot(A.T, np.dot(A, w))",
    "A.max().clip(0.0, w)": "np.clip(np.max(A), 0.0, w)",
    "A.dot(w) if A.sum() > 0.0 else w": "np.dot(A, w) if np.sum(A) > 0.0 else w",
    "A.dot(w) * (type(A) is np.ndarray)": "np.dot(A, w)",
}
#: Statements that write into an array, and the remedy of the error where it holds no values inside a transform.
WRITES = {
    "A[0] = w": "make the array with",
    "A.fill(w[0])": "make the array with",
    "A[:] += w": "make the array with|without out=",
    "A.flat[0] = w[0]": "make the array with",
    "np.multiply(A, w, out=A)": "without out=",
    "A[:, 0] = 2.0": "",
    "A[::2] *= 1.5": "",
}
TEXT = """
import functools
import numpy as np

A0 = np.arange(1.0, 7.0).reshape(3, 2) * 0.5
K0 = np.array([1, 0])
BOUND = A0.dot

class Held:
    def __init__(self, A, K):
        self.A, self.K = A, K

def inside(array):
    return array

A, K = A0.copy(), K0.copy()
ITEMS, TABLE = [Held(A, K), np.sum], {{"A": A, "K": K, "f": np.exp}}

def enclosing(closed_A, closed_K):
    class Program:
        own_A, own_K = closed_A, closed_K

        def __init__(self):
            self.A, self.K, self.held = A, K, Held(A, K)

        def __call__(self, w, passed_A, passed_K, given_A=A, given_K=K):
            made_A, made_K = np.arange(1.0, 7.0).reshape(3, 2) * 0.5, np.array([1, 0])
            if False:
                closed_A, closed_K
            total = np.sum(w * w)
{body}
            return total

    return Program()

program = enclosing(A, K)
"""
_numbers = itertools.count()


def namespace_of(body: list[str]) -> dict[str, Any]:
    """Return the module of a program, whose source Python can show."""
    text = TEXT.format(body="\n".join(" " * 12 + line for line in body))
    file = f"/drawn/plain_arrays_{next(_numbers)}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    module = sys.modules["drawn_plain_arrays"] = ModuleType("drawn_plain_arrays")
    module.__file__ = file
    exec(compile(text, file, "exec"), vars(module))
    return vars(module)


def drawn(seed: int) -> tuple[list[str], list[str], str]:
    """Return the lines of a program with methods, those with functions, and the remedy of an error it may raise."""
    random_ = random.Random(seed)
    methods, functions = list[str](), list[str]()
    for _ in range(random_.randint(1, 3)):
        place, form, wrap, term = (random_.choice([*table]) for table in (PLACES, FORMS, WRAPS, TERMS))
        parts = {"A": form.format(place.replace("@", "A")), "K": place.replace("@", "K")}
        for lines, text in ((methods, term), (functions, TERMS[term])):
            inside = wrap.format(_filled(text, parts))
            lines.append(f"total = total + np.sum(np.sin({inside}))")
    if random_.random() < 0.6:
        return methods, functions, ""
    statement = random_.choice([*WRITES])
    parts = {"A": random_.choice([place for place in PLACES if place[-1] != ")"]).replace("@", "A")}
    last = [_filled(statement, parts), _filled("total = total * np.sum(A)", parts)]
    return methods + last, functions + last, WRITES[statement]


def _filled(text: str, parts: dict[str, str]) -> str:
    """Return a text in which parts stand for names."""
    return re.sub(r"\b[AK]\b", lambda match: parts[match[0]], text)


MODES: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "grad": lambda f: lambda *arrays: wg.value_and_grad(f)(POINT, *arrays),
    "jvp": lambda f: lambda *arrays: wg.jvp(lambda w: f(w, *arrays), (POINT,), (np.ones(2),)),
    "hessian": lambda f: lambda *arrays: wg.hessian(f)(POINT, *arrays),
    "vmap": lambda f: lambda *arrays: wg.vmap(f, in_axes=(0, None, None))(np.stack([POINT, POINT]), *arrays),
    "jit": lambda f: lambda *arrays: wg.jit(f)(POINT, *arrays),
    "jit of grad": lambda f: lambda *arrays: wg.jit(wg.value_and_grad(f))(POINT, *arrays),
}


def outcome(lines: list[str], mode: str) -> tuple[Any, dict[str, Any]]:
    """Return the result of a program in a mode, or its error, and its module."""
    names = namespace_of(lines)
    try:
        result = MODES[mode](names["program"])(names["A0"].copy(), names["K0"].copy())
    except Exception as problem:
        result = problem
    return result, names


def check(seed: int, mode: str) -> bool:
    """Compare a program with its twin of functions, and return whether it gives numbers."""
    methods, functions, remedy = drawn(seed)
    (found, names), (wanted, others) = outcome(methods, mode), outcome(functions, mode)
    text = f"{seed} {mode}: " + "; ".join(methods)
    if isinstance(found, Exception):
        assert isinstance(wanted, Exception), text + str(found)
        assert isinstance(found, wg.WengertError), text + repr(found)
        assert re.search(r"\[plain_arrays_\d+\.py:\d+\]$", str(found)), text + str(found)
        advised = [part for part in remedy.split("|") if part in str(wanted)]
        assert not remedy or not advised or any(part in str(found) for part in advised), text + str(found)
        return False
    assert not isinstance(wanted, Exception), text + repr(wanted)
    for one, other in zip(wg.tree.leaves(found), wg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=text)
    np.testing.assert_array_equal(names["A"], others["A"], err_msg=text)
    assert type(names["A"]) is np.ndarray
    return True


@pytest.mark.parametrize("start", range(0, 24, 12))
def test_methods_of_arrays_are_functions(start: int) -> None:
    followed = [check(seed, [*MODES][seed % len(MODES)]) for seed in range(start, start + 12)]
    assert sum(followed) >= 6


@pytest.mark.slow
def test_many_methods_of_arrays_are_functions() -> None:
    assert sum(check(seed, mode) for seed in range(1000, 1200) for mode in MODES) >= 600


@pytest.mark.parametrize("place", ["A", "self.A", "closed_A", 'TABLE["A"]'])
@pytest.mark.parametrize("mode", ["grad", "jit of grad"])
def test_a_later_write_does_not_reach_the_product(place: str, mode: str) -> None:
    lines = [f"total = np.sum(np.sin({place}.dot(w)))", f"{place}[:] = 0.0"]
    expected, _ = outcome(lines[:1], mode)
    found, names = outcome(lines, mode)
    for one, other in zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other)
    assert not names["A"].any()


def test_a_source_that_does_not_run_gives_no_code() -> None:
    names = namespace_of(["total = np.sum(A.dot(w))"])
    cache: Any = linecache.cache
    size, time, lines, file = cache[names["__file__"]]
    changed = [line.replace("A.dot(w)", "A.dot(w * 2.0)") for line in lines]
    cache[names["__file__"]] = size, time, changed, file
    with pytest.raises(wg.errors.LostDerivativeError, match="would be lost"):
        wg.grad(names["program"])(POINT, None, None)


def test_functions_of_one_line_have_their_own_code() -> None:
    both: Any = (lambda w: np.sum(TWO.dot(w))), (lambda w: np.sum(TWO.T.dot(w) ** 2))
    first, second = both
    np.testing.assert_allclose(wg.grad(first)(POINT), TWO.sum(axis=0))
    np.testing.assert_allclose(wg.grad(second)(POINT), 2.0 * TWO @ (TWO.T @ POINT))


class AllNames:
    """The names of all attributes, but for the one whose answer depends on who asks."""

    def __contains__(self, name: str) -> bool:
        return name != "__class__"

    def isdisjoint(self, names: tuple[str, ...]) -> bool:
        return not names


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Let copied code read each attribute by a function, and return whether functions have such code."""
    found, made = array_methods.code_from_source, list[bool]()

    def noted(code: Any, scope: Any) -> Any:
        other = found(code, scope)
        made.append(other is not None)
        return other

    monkeypatch.setattr(array_methods, "METHODS", AllNames())
    monkeypatch.setattr(array_methods, "code_from_source", noted)
    monkeypatch.setitem(BUILTINS, "__wengert_method__", getattr)
    return made


def check_classes(seeds: range, made: list[bool]) -> None:
    for seed in seeds:
        module = module_of(seed)
        if module is not None:
            program: Any = module.program
            slope = (program(0.3 + 1e-6) - program(0.3 - 1e-6)) / 2e-6
            np.testing.assert_allclose(wg.grad(program)(0.3), slope, rtol=1e-5)
    assert sum(made) > 0.9 * len(made) > len(seeds)


def test_copied_code_means_what_the_users_means(made: list[bool]) -> None:
    check_classes(range(4), made)


@pytest.mark.slow
def test_much_copied_code_means_what_the_users_means(made: list[bool]) -> None:
    check_classes(range(2000, 2050), made)
