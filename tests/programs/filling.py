"""Templates of statements: names in braces are drawn so that the statement is valid in its scope.

``{x}`` is a floating-point expression, ``{y}`` one that broadcasts with it, ``{pos}`` a positive one, ``{axis}`` an
axis of the last operand, and so on: each name in braces is a method of ``Filling``. A repeated name repeats its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.scope import Scope, UnfitError

Accepts = Callable[[Any], bool]


def is_float(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "f"


def broadcasts(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    try:
        return np.prod(np.broadcast_shapes(shape, other)) <= 64
    except ValueError:
        return False


def fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    return broadcasts(shape, target) and np.broadcast_shapes(shape, target) == target


def distinct(value: Any) -> bool:
    gaps = np.diff(np.sort(np.ravel(value)))
    return bool(np.min(gaps, initial=np.inf) > 0.005)


class Filling:
    """Fills one template.

    Args:
        scope: the variables that the statement reads.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope, self.draw = scope, scope.draw
        self.drawn: dict[str, str] = {}
        self.made: list[str] = []
        self.last: Any = None
        """The value of the last operand."""
        self.followed = False
        """Whether that operand depends on the inputs that transforms follow."""

    def __call__(self, template: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda match: self.fill(match[1]), template)

    def fill(self, name: str) -> str:
        if name not in self.drawn:
            text = getattr(self, re.sub(r"\d+$", "", name))()
            if name in OPERANDS:
                self.last = self.scope.value(text)
                self.followed = self.scope.boxed(text)
            self.drawn[name] = text
        return self.drawn[name]

    def boxed(self, template: str, text: str) -> bool:
        """Return whether a new variable is an array that accepts followed values."""
        made = "{w}" in template or "wnp.zeros" in template or ("_like" in template and self.followed)
        return made or self.scope.boxed(text.partition("=")[2])

    # -- variables -----------------------------------------------------------------------------------

    def variable(self, accepts: Accepts) -> str:
        """Draw a variable, with probability 1/2 a recent one."""
        names = [name for name, value in self.scope.values.items() if accepts(value)]
        return self.draw.choice(names[-3:] if self.draw.chance(0.5) else names)

    def v(self) -> str:
        name = self.draw.fresh()
        self.made.append(name)
        return name

    def w(self) -> str:
        """An array of the function, to write into."""
        own = [name for name in self.scope.own if name in self.scope.values]
        accepts = [n for n in own if is_float(self.scope.values[n]) and np.ndim(self.scope.values[n])]
        name = self.draw.choice(accepts)
        self.last, self.followed = self.scope.values[name], True
        return name

    def laid(self) -> str:
        """A row-major array: NumPy reshapes others by a copy, and Wengert by a view."""
        names = self.scope.own if self.scope.depth else self.scope.values
        arrays = {n: a for n in names if isinstance(a := self.scope.values.get(n), np.ndarray) and a.ndim}
        return self.draw.choice([n for n, a in arrays.items() if is_float(a) and a.flags.c_contiguous])

    def ints(self) -> str:
        return self.variable(lambda a: np.asarray(a).dtype.kind in "iu")

    def bools(self) -> str:
        return self.variable(lambda a: np.asarray(a).dtype.kind == "b")

    # -- floating-point operands ---------------------------------------------------------------------

    def decorated(self, text: str) -> str:
        kind = self.draw.integer(0, 11)
        if kind == 0:
            return f"np.sin({text})"
        if kind == 1:
            return f"({self.c()} * {text})"
        if kind == 2:
            return f"({text} + {self.c()})"
        return text

    def where(self, accepts: Accepts) -> str:
        return self.decorated(self.variable(lambda a: is_float(a) and accepts(a)))

    def x(self) -> str:
        return self.where(lambda a: True)

    def arr(self) -> str:
        return self.where(lambda a: np.ndim(a) > 0)

    def apart(self) -> str:
        """An array without equal elements, whose order would depend on rounding."""
        return self.where(lambda a: np.ndim(a) > 0 and distinct(a))

    def vec(self) -> str:
        return self.where(lambda a: np.ndim(a) == 1)

    def table(self) -> str:
        """A vector that accepts followed indices, which plain arrays do not."""
        return self.variable_boxed(lambda a: np.ndim(a) == 1)

    def variable_boxed(self, accepts: Accepts) -> str:
        values = self.scope.values
        names = [n for n in values if n in self.scope.boxes and is_float(values[n]) and accepts(values[n])]
        return self.draw.choice(names)

    def mat(self) -> str:
        return self.where(lambda a: np.ndim(a) == 2)

    def stack(self) -> str:
        return self.where(lambda a: np.ndim(a) >= 2)

    def square(self) -> str:
        return self.where(lambda a: np.ndim(a) >= 2 and np.shape(a)[-1] == np.shape(a)[-2])

    def scalar(self) -> str:
        return self.where(lambda a: np.ndim(a) == 0)

    def y(self) -> str:
        """An operand that broadcasts with the last operand, or a number."""
        if self.draw.chance(0.12):
            return self.c()
        shape = np.shape(self.last)
        return self.where(lambda a: broadcasts(np.shape(a), shape))

    def same(self) -> str:
        shape = np.shape(self.last)
        return self.where(lambda a: np.shape(a) == shape)

    def value(self) -> str:
        """A value for the last assignment target."""
        shape = np.shape(self.last)
        if self.draw.chance(0.25):
            return self.c()
        return self.where(lambda a: fits(np.shape(a), shape))

    def right(self) -> str:
        """The right factor of a matrix product with the last operand."""
        inner = np.shape(self.last)[-1]
        return self.where(lambda a: np.ndim(a) in (1, 2) and np.shape(a)[max(np.ndim(a) - 2, 0)] == inner)

    def within(self, text: str, low: float, high: float, otherwise: str) -> str:
        values = np.asarray(self.scope.value(text))
        inside = values.size and low < np.min(values) and np.max(values) < high
        return text if inside else otherwise.format(text)

    def pos(self) -> str:
        return self.within(self.x(), 0.2, 20, "(np.tanh({}) + 1.5)")

    def posarr(self) -> str:
        return self.within(self.arr(), 0.2, 20, "(np.tanh({}) + 1.5)")

    def unit(self) -> str:
        return self.within(self.x(), -0.9, 0.9, "(0.8 * np.tanh({}))")

    def small(self) -> str:
        return self.within(self.x(), -3, 3, "(2.0 * np.tanh({}))")

    def away(self) -> str:
        """An operand away from zero that broadcasts with the last operand."""
        text = self.y()
        values = np.asarray(self.scope.value(text))
        return text if values.size and np.min(np.abs(values)) > 0.3 else f"(1.5 + np.tanh({text}))"

    # -- matrices of good condition ------------------------------------------------------------------

    def well(self) -> str:
        """A diagonally dominant square matrix."""
        text = self.square()
        n = np.shape(self.scope.value(text))[-1]
        return f"(0.4 * np.tanh({text}) + np.diag(np.linspace(1.5, {1.5 + 0.5 * n}, {n})))"

    def spd(self) -> str:
        text = self.variable(lambda a: is_float(a) and np.ndim(a) == 2)
        rows = np.shape(self.scope.value(text))[0]
        return f"(0.2 * {text} @ {text}.T + np.diag(np.linspace(1.0, {1.0 + rows}, {rows})))"

    def tall(self) -> str:
        """A matrix of full rank with distinct singular values, not wider than high."""
        text = self.where(lambda a: np.ndim(a) == 2 and np.shape(a)[0] >= np.shape(a)[1])
        rows, columns = np.shape(self.scope.value(text))
        return f"(0.3 * np.tanh({text}) + np.eye({rows}, {columns}) * np.linspace(1.5, {1.5 + columns}, {columns}))"

    # -- numbers, axes, indices ----------------------------------------------------------------------

    def c(self) -> str:
        return self.draw.choice(["0.5", "2", "-0.75", "1.25", "3", "-1", "0.3", "np.float64(0.7)"])

    def frac(self) -> str:
        return self.draw.choice(["0.25", "0.5", "0.75", "0.1"])

    def n(self) -> str:
        return str(self.draw.integer(2, 3))

    def sign(self) -> str:
        return self.draw.choice(["-1", "1", "2", "-2"])

    def axis(self) -> str:
        rank = np.ndim(self.last)
        if rank == 0:
            raise UnfitError
        return str(self.draw.integer(-rank, rank - 1))

    def axisornone(self) -> str:
        return "None" if self.draw.chance(0.3) else self.axis()

    def axes(self) -> str:
        rank = np.ndim(self.last)
        chosen = self.draw.random.sample(range(rank), self.draw.integer(1, rank)) if rank else []
        return f"({', '.join(map(str, chosen))},)" if chosen else "()"

    def keep(self) -> str:
        return ", keepdims=True" if self.draw.chance(0.3) else ""

    def perm(self) -> str:
        rank = np.ndim(self.last)
        return (
            f"({', '.join(map(str, self.draw.random.sample(range(rank), rank)))}{',' if rank == 1 else ''})"
        )

    def target(self) -> str:
        """A shape for the elements of the last operand."""
        size = int(np.size(self.last))
        halves = [f"(2, {size // 2})"] if size and size % 2 == 0 else []
        return self.draw.choice(["-1", f"({size}, 1)", f"(1, {size})", *halves])

    def basic(self) -> str:
        """A basic index of a view with axes."""
        shape = np.shape(self.last)
        entries = [self.entry(extent) for extent in shape[: self.draw.integer(1, max(1, len(shape)))]]
        if self.draw.chance(0.15):
            entries.insert(self.draw.integer(0, len(entries)), "...")
        if self.draw.chance(0.1):
            entries.append("None")
        return ", ".join(entries)

    def entry(self, extent: int) -> str:
        if self.draw.chance(0.35) and extent:
            return str(self.draw.integer(-extent, extent - 1))
        return self.draw.choice(
            [":", "::-1", f"{extent // 2}:", ":-1", "1:", "::2", f":{max(1, extent - 1)}", "-2:"]
        )

    def advanced(self) -> str:
        """An index with an array: positions, integers of the program, or a known mask."""
        shape = np.shape(self.last)
        if not shape or not shape[0]:
            raise UnfitError
        positions = [self.draw.integer(-shape[0], shape[0] - 1) for _ in range(self.draw.integer(1, 4))]
        mask = [self.draw.chance(0.6) for _ in range(shape[0])]
        options = [str(positions), f"np.array({positions})", f"np.array({mask})"]
        if self.followed:  # plain arrays accept no followed index
            options.append(self.wrapped(shape[0]))
        first = self.draw.choice(options)
        if len(shape) > 1 and self.draw.chance(0.4):
            return f"{first}, {self.entry(shape[1])}"
        if len(shape) > 1 and self.draw.chance(0.2):
            return f":, {[self.draw.integer(0, shape[1] - 1) for _ in range(2)]}"
        return first

    def wrapped(self, extent: int) -> str:
        """Integers of the program as indices of an axis."""
        names = [
            name
            for name, a in self.scope.values.items()
            if np.asarray(a).dtype.kind in "iu" and np.ndim(a) < 3
        ]
        return f"{self.draw.choice(names)} % {extent}" if names else "0"

    def index(self) -> str:
        return self.advanced() if self.draw.chance(0.35) else self.basic()

    def place(self) -> str:
        """An index of the array to write into."""
        text = self.index()
        try:
            self.last = np.asarray(self.last)[eval(f"np.s_[{text}]", self.scope.worlds[0].names)]
        except IndexError as problem:  # an index of the program may be out of range
            raise UnfitError from problem
        return text

    def positions(self) -> str:
        """Integers in the shape of the last operand, within its last axis."""
        shape = np.shape(self.last)
        if not shape or not shape[-1]:
            raise UnfitError
        rng = np.random.default_rng(self.draw.integer(0, 999))
        return f"np.array({rng.integers(0, shape[-1], shape).tolist()})"

    # -- conditions ----------------------------------------------------------------------------------

    def gap(self) -> str:
        """A threshold between values of the last operand, far from all of them."""
        values = np.unique(np.asarray(self.last, dtype=np.float64))
        if not values.size:
            raise UnfitError
        bounds = np.concatenate([[values[0] - 1.0], values, [values[-1] + 1.0]])
        wide = [i for i, width in enumerate(np.diff(bounds)) if width > 0.05]
        i = self.draw.choice(wide)
        return f"{(bounds[i] + bounds[i + 1]) / 2:.3f}"

    def test(self) -> str:
        """A condition on the elements of an operand, in its shape."""
        text = self.x()
        self.last = self.scope.value(text)
        return f"({text} {self.draw.choice(['>', '<', '>=', '<='])} {self.gap()})"

    def dtype(self) -> str:
        return self.draw.choice(self.draw.dtypes)


#: Names that draw an operand, for the axes, indices and operands that refer to it.
OPERANDS = {
    *(
        "x",
        "arr",
        "apart",
        "vec",
        "mat",
        "stack",
        "square",
        "scalar",
        "pos",
        "posarr",
        "unit",
        "small",
        "laid",
    ),
    *("well", "spd", "tall", "ints", "bools", "same", "table"),
}
