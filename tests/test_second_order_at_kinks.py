"""A derivative of a choice is named: a warning where numbers are known, an error of each mode under a check."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.errors import KinkError, KinkWarning

Function = Callable[[Any], Any]

#: Operations with a kink where their argument is 0.
KINKED: dict[str, Function] = {
    "abs": np.abs,
    "fabs": np.fabs,
    "hypot": lambda x: np.hypot(x, 2.0 * x),
    "norm": lambda x: np.linalg.norm(np.stack([x, 3.0 * x])),
    "std": lambda x: np.std(np.stack([x, -x])),
    "maximum": lambda x: np.maximum(x, 0.0),
    "minimum": lambda x: np.minimum(0.0, x),
    "fmax": lambda x: np.fmax(x, 0.0 * x),
    "clip": lambda x: np.clip(x, 0.0, 9.0),
    "modulus": lambda x: np.abs(x * (1.0 + 2.0j)),
}
#: What comes before a kink, 0 at 0, and after it.
BEFORE: dict[str, Function] = {
    "x": lambda x: x, "sin": np.sin, "3 x": lambda x: 3.0 * x, "x + x^2": lambda x: x + x * x,
}  # fmt: skip
AFTER: dict[str, Function] = {
    "itself": lambda y: y, "square": lambda y: y * y, "cos": np.cos, "power": lambda y: y**3, "exp": np.exp,
}  # fmt: skip
SECOND: dict[str, Callable[[Function], Function]] = {
    "forward over reverse": lambda f: wg.derivative(wg.grad(f)),
    "reverse over reverse": lambda f: wg.grad(wg.grad(f)),
    "reverse over forward": lambda f: wg.grad(wg.derivative(f)),
    "forward over forward": lambda f: wg.derivative(wg.derivative(f)),
    "series": lambda f: wg.derivative(f, order=2),
    "hvp": lambda f: lambda x: wg.hvp(f)(x, 1.0),
    "hessian": lambda f: lambda x: wg.hessian(lambda x: f(x[0]))(np.array([x])),
    "laplacian": lambda f: lambda x: wg.laplacian(lambda x: f(x[0]))(np.array([x])),
    "vmap": lambda f: lambda x: wg.vmap(wg.grad(wg.grad(f)))(np.array([1.0, x])),
}
COMPILED: dict[str, Callable[[Function], Function]] = {
    "jit of reverse over reverse": lambda f: wg.jit(wg.grad(wg.grad(f))),
    "jit of hessian": lambda f: lambda x: wg.jit(wg.hessian(lambda x: f(x[0])))(np.array([x])),
}


def programs(count: int, seed: int) -> Iterator[Function]:
    """Yield drawn programs with a kink at 0, among other terms."""
    every = list(itertools.product(BEFORE.values(), KINKED.values(), AFTER.values()))
    generator = np.random.default_rng(seed)
    for before, kink, after in (every[i] for i in generator.choice(len(every), count)):
        scale = generator.uniform(0.5, 2.0)

        def program(x: Any, parts: Any = (before, kink, after, scale)) -> Any:
            before, kink, after, scale = parts
            return scale * after(kink(before(x))) + np.sin(x)

        yield program


def warned(f: Function, x: float) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        f(x)
    return [str(each.message) for each in found if issubclass(each.category, KinkWarning)]


@pytest.mark.parametrize("way", SECOND)
@pytest.mark.exhaustive
def test_a_second_derivative_at_a_kink_warns_with_the_line(way: str) -> None:
    for program in programs(many(40), 1):
        (first, *_) = warned(SECOND[way](program), 0.0)
        assert "choice" in first
        assert "test_second_order_at_kinks.py:" in first


@pytest.mark.parametrize("way", SECOND)
def test_elsewhere_and_to_first_order_nothing_warns(way: str) -> None:
    for program in programs(many(20), 2):
        assert not warned(SECOND[way](program), 0.7)
        assert not warned(wg.grad(program), 0.0)
        assert not warned(wg.derivative(program), 0.0)
        assert not warned(wg.vmap(wg.grad(program)), np.zeros(2))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("way", [*SECOND, *COMPILED])
def test_the_check_raises_in_each_mode(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CHECK", "kink")
    second = (SECOND | COMPILED)[way]
    for program in programs(many(4 if way in COMPILED else 20), 3):
        with pytest.raises(KinkError, match=r"choice.*test_second_order_at_kinks.py:"):
            second(program)(0.0)
        assert np.all(np.isfinite(second(program)(0.7)))


@pytest.mark.parametrize("way", SECOND)
def test_the_check_changes_no_number(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in programs(many(20), 4):
        expected = SECOND[way](program)(0.7)
        with monkeypatch.context() as patch:
            patch.setenv("WENGERT_CHECK", "kink")
            np.testing.assert_allclose(SECOND[way](program)(0.7), expected, rtol=1e-13)


@pytest.mark.slow
def test_two_thousand_second_derivatives_at_kinks() -> None:
    ways = list(SECOND.values())
    for number, program in enumerate(programs(2000, 5)):
        assert warned(ways[number % len(ways)](program), 0.0)
        assert not warned(ways[number % len(ways)](program), -0.3)


SINGULAR: dict[str, tuple[Function, float]] = {
    "sqrt(x)**2": (lambda x: np.sqrt(x) ** 2, 0.0),
    "exp(log(x))": (lambda x: np.exp(np.log(x)), 0.0),
    "x * (1 / x)": (lambda x: x * (1.0 / x), 0.0),
    "sin(arcsin(x))": (lambda x: np.sin(np.arcsin(x)), 1.0),
}


@pytest.mark.parametrize("mode", [wg.grad, wg.derivative, lambda f: wg.jit(wg.grad(f))])
@pytest.mark.parametrize("name", SINGULAR)
def test_the_check_names_an_infinite_slope(name: str, mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CHECK", "kink")
    function, point = SINGULAR[name]
    with np.errstate(all="ignore"), pytest.raises(KinkError, match="infinite"):
        mode(function)(point)
