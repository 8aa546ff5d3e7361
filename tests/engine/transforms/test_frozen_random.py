"""Warnings about random numbers drawn while a function is traced, with the line that drew them."""

from __future__ import annotations

import functools
import inspect
import random
import random as pythons
import re
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.random import standard_normal

import wengert as wg
from tests.compiler.running import run
from wengert.engine.core.errors import FrozenRandomWarning

STATE = np.random.RandomState(1)
GENERATOR = np.random.default_rng(1)
PYTHON = random.Random(1)
SYSTEM = random.SystemRandom()
HELD = {"rngs": [np.random.default_rng(2)]}
X = np.ones(3)


def global_generator(x: Any) -> Any:
    y = x * 2
    return y * np.random.randn(3)  # draws


def imported_function(x: Any) -> Any:
    return x * standard_normal(3)  # draws


def random_state(x: Any) -> Any:
    noise = STATE.standard_normal(3)  # draws
    return x + noise


def generator(x: Any) -> Any:
    return x + GENERATOR.normal(size=3)  # draws


def bit_generator(x: Any) -> Any:
    return x * float(GENERATOR.bit_generator.random_raw())  # draws


def python_module(x: Any) -> Any:
    return x * pythons.random()  # draws


def python_generator(x: Any) -> Any:
    return x * PYTHON.gauss(0.0, 1.0)  # draws


def container(x: Any) -> Any:
    return x * HELD["rngs"][0].random()  # draws


def helped(x: Any) -> Any:
    return helper(x) * 2


def helper(x: Any) -> Any:
    return x * GENERATOR.random(3)  # draws


def nested(x: Any) -> Any:
    def inner(c: Any, y: Any) -> Any:
        return c + y * GENERATOR.random(), None  # draws

    return wg.scan(inner, 0.0, x)[0]


def default(x: Any, rng: Any = STATE) -> Any:
    return x * rng.rand(3)  # draws


def given(rng: Any, x: Any) -> Any:
    return x * rng.random(3)  # draws


class Base:
    def __init__(self) -> None:
        self._rng = np.random.default_rng(3)

    def noisy(self, x: Any) -> Any:
        return x + self._rng.normal(size=3)  # draws


class Model(Base):
    def loss(self, x: Any) -> Any:
        return np.sum(self.noisy(x))

    def __call__(self, x: Any) -> Any:
        return self.loss(x)


@dataclass(slots=True)
class Slotted:
    source: Any

    def __call__(self, x: Any) -> Any:
        return x * self.source.random()  # draws


def closure() -> Callable[..., Any]:
    source = np.random.RandomState(0)
    return wg.grad(lambda w: np.mean((w * source.randn(3)) ** 2))  # draws


DRAWING: dict[str, Any] = {
    **{
        item.__name__: item
        for item in (
            global_generator,
            imported_function,
            random_state,
            generator,
            bit_generator,
            python_module,
            python_generator,
            container,
            helped,
            nested,
            default,
        )
    },
    "closure": closure(),
    "method": Model().loss,
    "callable object": Model(),
    "slots": Slotted(np.random.default_rng(1)),
    "partial": functools.partial(given, np.random.default_rng(1)),
    "partial by name": functools.partial(lambda x, rng: given(rng, x), rng=np.random.default_rng(1)),
    "a transform": wg.value_and_grad(lambda x: np.sum(generator(x))),
    "a compiled function": wg.jit(generator),
}


def drawing_lines() -> set[int]:
    lines = inspect.getsource(inspect.getmodule(drawing_lines) or inspect).splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# draws")}


@pytest.mark.parametrize("transform", [wg.jit, wg.trace])
@pytest.mark.parametrize("name", DRAWING)
def test_draws_give_a_warning(name: str, transform: Callable[[Any], Any]) -> None:
    function = transform(DRAWING[name])
    with pytest.warns(FrozenRandomWarning, match=r"draw them with wengert\.random, from a key") as told:
        function(X)
    (text,) = [str(item.message) for item in told]
    assert text.startswith(f"{transform.__name__}: ")
    actual = re.fullmatch(r".*argument\. \[(.*)\]", text)
    assert actual, text
    lines = {int(line) for line in re.findall(r"test_frozen_random\.py:(\d+)", actual[1])}
    assert lines
    assert lines <= drawing_lines() or name == "partial by name"
    (where,) = [item.filename for item in told]
    assert where == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(np.ones((2, 3)) if name in ("random_state", "generator") else X)  # only once


def test_the_line_of_a_generator_in_a_closure() -> None:
    (line,) = (number for number in drawing_lines() if "source.randn" in source_line(number))
    with pytest.warns(
        FrozenRandomWarning, match=rf"RandomState drew while .* \[test_frozen_random\.py:{line}\]"
    ):
        wg.jit(closure())(2.0)


def source_line(number: int) -> str:
    return inspect.getsource(inspect.getmodule(source_line) or inspect).splitlines()[number - 1]


def drawn_outside() -> Callable[..., Any]:
    noise = np.random.randn(3) + GENERATOR.normal(size=3)
    return lambda x: x * noise


def from_a_key(x: Any) -> Any:
    return x * wg.random.normal(wg.random.key(3), (3,))


def own_generator(x: Any) -> Any:
    return x * np.random.default_rng(7).normal(size=3)  # NumPy's calls return the same numbers, too


def names_only(x: Any) -> Any:
    return x * 2 if STATE is not GENERATOR else x * np.random.randn(3) * random.random()


QUIET: dict[str, Callable[..., Any]] = {
    "outside": drawn_outside(),
    "key": from_a_key,
    "own": own_generator,
    "names": names_only,
    "system": lambda x, rng=SYSTEM: x * rng.random(),
    "numpy": np.sin,
}


@pytest.mark.parametrize("name", QUIET)
def test_no_warning_without_draws(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function = wg.jit(QUIET[name])
        for _ in range(2):
            np.random.rand(), GENERATOR.random(), random.random()
            function(X)
        function(np.ones(()))
        wg.trace(QUIET[name])(X)


def test_eager_draws_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.grad(lambda x: np.sum(x * GENERATOR.normal(size=3)))(X)
        wg.jvp(global_generator, (X,), (X,))
        wg.scan(lambda c, y: (c + y * random.random(), None), 0.0, X)


def test_another_thread_may_draw() -> None:
    drawing, drawn = threading.Event(), threading.Event()

    def work() -> None:
        drawing.wait(10)
        np.random.rand()
        drawn.set()

    thread = threading.Thread(target=work)
    thread.start()

    def traced(x: Any) -> Any:
        drawing.set()
        drawn.wait(10)
        return x * 2

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.jit(traced)(X)
    thread.join()


def test_libraries_that_draw_from_the_global_generator() -> None:
    program = """
import types, warnings
warnings.simplefilter("default")
library = types.ModuleType("library")
exec("from numpy import random as r\\nsample = r.rand", library.__dict__)
hidden = getattr

def noisy(x):
    return x * hidden(library, "sa" + "mple")()

wg.jit(noisy)(2.0)
wg.jit(noisy)(2.0)
"""
    told = run(program).stderr
    assert "NumPy's global generator, np.random, drew while noisy was traced" in told
    assert "[user.py:8]" in told  # where the function begins


def test_a_warning_that_is_an_error_comes_once() -> None:
    function = wg.jit(generator)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FrozenRandomWarning):
            function(X)
        function(X)
    assert issubclass(FrozenRandomWarning, UserWarning)


def test_objects_that_cannot_be_searched_are_skipped() -> None:
    class Lazy:
        @property
        def __dict__(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
            raise ValueError("this is not set up yet")

    unnamed = type("Unnamed", (), {"__module__": None})()
    unnamed.value = 1.0
    for item in (Lazy(), unnamed, type(unnamed)):
        assert wg.jit(lambda x, item=item: x * (item is not None))(2.0) == 2.0
        with pytest.warns(FrozenRandomWarning):  # the search continues after it
            wg.jit(lambda x, item=item: x * STATE.randn(3) * (item is not None))(2.0)


def test_the_search_is_bounded() -> None:
    class Endless:
        def __init__(self, left: int) -> None:
            self.values = [Endless(left - 1) for _ in range(3)] if left else []
            self.itself = self

    endless = Endless(8)
    wg.jit(lambda x: x * len(endless.values))(X)
