"""Random programs of kinks: values that decide, computed from slices, products and joined arrays, and partly stored.

A program is the source of a function of one array, whose result is a number. What decides (an operand of a maximum, a
bound, the key of a sort, a rounded number, an index, a predicate) is an expression that other lines use, too, so that
the compiler stores it here and computes it again there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

GRID = np.linspace(-2.0, 2.0, 9)
TABLE = np.cos(3.0 * GRID)
"""Data of the programs: where to look up, and what."""

#: Values to decide on, computed from a and b.
_DECIDING = (
    "{a}",
    "({a} - {b}) * {c}",
    "({a} + {b}) * {c}",
    "{a} * {c} - {b} * {d}",
    "{a} * {b} + {d}",
    "{a} * {a} - {b} * {d}",
    "{a}[::-1] * {c} - {b}",
    "np.concatenate([{a}[3:], {b}[:3]]) * {c}",
    "np.tanh({a} * {d} + {b})",
    "{a} / (1.0 + {b} * {b})",
)
#: Values of as many elements, from a and b, which decide nothing.
_SMOOTH = (
    "np.tanh({a} + {d}) * {c}",
    "np.sin({b}) * {c}",
    "np.exp(-{a} * {a}) * {b}",
    "np.sin({a} * {c} - {b})",
    "{a} / np.sqrt(1.0 + {b} * {b}) * {c}",
    "{a} * {b} + {c} * {a}",
    "({a} + {b}) * {c}",
    "np.cumsum({a}) * 0.05 + {b}",
)
#: Kinks: p and q decide.
_KINKS = (
    "np.maximum({p}, {q})",
    "np.minimum({p}, {q})",
    "np.fmax({p}, {q})",
    "np.fmin({p}, {q} * {c})",
    "np.maximum({p}, 0.0)",
    "np.minimum({p}, {c})",
    "np.clip({p}, -{c}, {d})",
    "np.clip({p}, {q} - {c}, {q} + {d})",
    "np.abs({p})",
    "nn.relu({p})",
    "np.where({p} > {q}, {a} * {c}, {b})",
    "np.where({p} <= 0.0, {a} * {d}, {p})",
    "np.sign({p}) * {a}",
    "np.heaviside({p}, 0.5) * {b}",
    "np.floor({p} * 3.0) * {a} * {c}",
    "np.ceil({p} * 2.0) * {c} + {a}",
    "np.round({p}, 1) * {b}",
    "np.trunc({p} * 4.0) * {a} * {d}",
    "{a} * ({p} % 0.7)",
    "np.fmod({p}, 0.6) + {b}",
    "({p} // 0.5) * {a} * {d}",
    "np.copysign({a}, {p})",
    "({B} - np.max({P}, axis=1, keepdims=True)).reshape(-1)",
    "np.exp({P} - np.max({P}, axis=0)).reshape(-1)",
    "np.repeat(np.min({P}, axis=1), {width}) * {a}",
    "({P} * np.argmax({P} * {c}, axis=1)[:, None]).reshape(-1)",
    "(np.max({P} * {d}, axis=1)[:, None] - {B}).reshape(-1)",
    "{a} * np.ptp({p})",
    "{a} * np.median({p})",
    "np.repeat(np.median({P}, axis=0), {rows}) * {b}",
    "{a} + np.quantile({p}, 0.3)",
    "np.sort({p}) * {b}",
    "np.sort({P}, axis=0).reshape(-1)",
    "np.take({a}, np.argsort({p}, kind='stable')) - {b}",
    "{b} + {a}[np.argmax({p})]",
    "np.maximum.accumulate({p}) * {c}",
    "np.interp({p}, GRID, TABLE) + {b} * {c}",
    "np.take(TABLE, np.searchsorted(GRID[1:], {p})) * {a}",
    "np.take(TABLE, np.clip(np.floor({p} * 4.0).astype(int) + 4, 0, 8)) * {b}",
    "{a}[np.clip(({p} * 5.0).astype(int), 0, {last})]",
    "wg.cond(np.sum({p}) > 0.3, lambda u, v: u * {c} - v, lambda u, v: np.maximum(u, v), {a}, {b})",
    "nn.max_pool({p}.reshape(1, 1, -1), 3, 1, 1).reshape(-1)",
    "np.repeat(nn.max_pool({p}.reshape(1, 1, -1), 2).reshape(-1), 2) * {b}",
    "wg.fori_loop(0, 3, lambda i, s: np.maximum(s * {c} - {a} * {d}, {p}), {b})",
    "wg.scan(lambda s, r: (np.maximum(s * {c} - r * {d}, r), np.minimum(s * {d} - r, r * {c})), {P}[0], {B})[1].reshape(-1)",  # noqa: E501
)
#: Values of half as many elements, and of twice as many.
_HALVES = ("({a}[0::2] + {b}[1::2]) * {c}", "{a}[:{half}] * {c} - {b}[{half}:]", "{a}[1::2] * {b}[0::2]")
_DOUBLES = (
    "np.stack([{a} + {b}, {a} - {b}]).reshape(-1)",
    "np.stack([{a} * {c}, {b}]).T.reshape(-1)",
    "np.concatenate([{a} * {c}, {a} * {d} + {b}])",
    "np.repeat({a} * {c} - {b}, 2)",
)
#: Numbers, whose derivatives wait for what a whole array makes.
_ENDS = (
    "np.sum({a} * {b})",
    "np.sum(({a} * {b} - np.mean({a})) ** 2)",
    "np.sum(np.stack([{a} * {b}, {a} - {b}]) ** 2)",
    "np.sum(np.concatenate([{a} * {b}, {b}]) ** 2)",
    "np.sum({a} * {b}) * np.sum({a})",
    "np.sum(({a}.reshape(4, -1) @ {b}.reshape(-1, 4)) ** 2)",
)
_LEAST, _MOST = 16, 256
#: How far the inputs of a settled program move without meeting a kink: more than rounding in float32.
_APART = 4e-6


class Value(NamedTuple):
    """A variable of a program."""

    name: str
    size: int


class Program(NamedTuple):
    """The source of a program, and the function."""

    source: str
    size: int
    """The number of elements of the argument."""

    @property
    def function(self) -> Callable[..., Any]:
        """The function of an array."""
        room: dict[str, Any] = {"np": np, "wg": wg, "nn": wg.nn, "GRID": GRID, "TABLE": TABLE}
        exec(compile(self.source, "<kinked>", "exec"), room)
        return room["f"]


class _Writer:
    """Writes the lines of a program."""

    def __init__(self, draw: np.random.Generator) -> None:
        self.draw = draw
        self.size = int(draw.choice([32, 64, 96, 128, 256]))
        self.values = [Value("x", self.size)]
        self.lines = ["def f(x):"]

    def choice(self, options: Any) -> Any:
        return options[int(self.draw.integers(len(options)))]

    def number(self) -> str:
        return f"{self.draw.uniform(0.2, 0.95):.2f}"

    def two(self) -> tuple[Value, Value]:
        """Return two values of the same size, most often new ones."""
        first = self.choice(self.values[-4:] if self.draw.random() < 0.8 else self.values)
        return first, self.partner(first)

    def partner(self, first: Value) -> Value:
        others = [value for value in self.values if value.size == first.size and value is not first]
        return self.choice(others[-3:] or [first])

    def fill(self, template: str, a: Value, b: Value) -> str:
        rows = 4 if a.size % 8 == 0 else 2
        words = {
            "a": a.name, "b": b.name, "c": self.number(), "d": self.number(), "half": a.size // 2,
            "rows": rows, "width": a.size // rows, "last": a.size - 1,
        }  # fmt: skip
        words["p"] = self.deciding(a, b)
        words["q"] = self.deciding(b, a)
        words["P"] = f"{words['p']}.reshape({rows}, -1)"
        words["B"] = f"{b.name}.reshape({rows}, -1)"
        return template.format(**words)

    def deciding(self, a: Value, b: Value) -> str:
        words = {"a": a.name, "b": b.name, "c": self.number(), "d": self.number()}
        return f"({self.choice(_DECIDING).format(**words)})"

    def assign(self, expression: str, size: int) -> None:
        name = f"v{len(self.values)}"
        self.lines.append(f"    {name} = {expression}")
        self.values.append(Value(name, size))

    def line(self) -> None:
        a, b = self.two()
        kind = self.draw.random()
        if kind < 0.2 and a.size >= 2 * _LEAST and a.size % 4 == 0:
            self.assign(self.fill(self.choice(_HALVES), a, b), a.size // 2)
        elif kind < 0.3 and a.size <= _MOST // 2:
            self.assign(self.fill(self.choice(_DOUBLES), a, b), 2 * a.size)
        elif kind < 0.36:
            self.assign(f"{a.name} * {self.number()}", a.size)
            self.lines.append(f"    {self.values[-1].name}[1::2] = {self.fill('{p}', a, b)}[0::2]")
        elif kind < 0.44:
            inner = self.fill(self.choice(_KINKS), a._replace(name="s"), b._replace(name="t"))
            self.assign(f"wg.checkpoint(lambda s, t: {inner})({a.name}, {b.name})", a.size)
        elif kind < 0.55:
            self.assign(self.fill(self.choice(_SMOOTH), a, b), a.size)
        else:
            self.assign(self.fill(self.choice(_KINKS), a, b), a.size)

    def program(self) -> Program:
        for template in self.draw.choice(_SMOOTH, 2):
            self.assign(self.fill(template, *self.two()), self.size)
        for _ in range(int(self.draw.integers(3, 7))):
            self.line()
        kept = self.values[-int(self.draw.integers(1, 4)) :]
        terms = [self.fill(self.choice(_ENDS), value, self.partner(value)) for value in kept]
        self.lines.append(f"    return {' + '.join(terms)}")
        return Program("\n".join(self.lines), self.size)


def settled(program: Program, x: Any, draw: np.random.Generator) -> bool:
    """Return whether no kink or jump of a program is near: it has one gradient around x, of a moderate size."""
    both = wg.value_and_grad(program.function)
    with np.errstate(all="ignore"):
        try:
            value, here = both(x)
        except (OverflowError, ValueError):
            return False
        size = np.max(np.abs(here))
        if not (np.all(np.isfinite(here)) and 1e-3 < size < 1e4):
            return False
        step = _APART * np.sum(np.abs(here))
        moved = (both(x + _APART * draw.uniform(-1.0, 1.0, x.shape)) for _ in range(4))
        return all(abs(y - value) < 2 * step and np.max(np.abs(g - here)) < 1e-3 * size for y, g in moved)


@functools.cache
def kinked(seed: int) -> tuple[Program, Any]:
    """Return the program of a seed, the first of its draws that is settled, and a point."""
    draw = np.random.default_rng(seed)
    while True:
        program = _Writer(draw).program()
        x = draw.standard_normal(program.size)
        if settled(program, x, draw):
            return program, x
