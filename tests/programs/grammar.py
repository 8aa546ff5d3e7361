"""Programs of a seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.programs.control import CONCRETE, Control
from tests.programs.scope import Draw, Scope, UnfitError, numeric, start
from tests.programs.syntax import Program, depth
from tests.programs.syntax import features as features_of
from tests.programs.templates import FAMILIES, fill

#: The frequency of each kind of statement, by the theme of the program.
RARE = dict.fromkeys(("einsum views", "exponents", "histograms", "singular points"), 0.4)
EVEN = {**dict.fromkeys((*FAMILIES, "control"), 1.0), **RARE}
THEMES: dict[str, dict[str, float]] = {
    "anything": {**EVEN, "control": 1.5},
    "arrays": {**EVEN, "shapes": 4, "indexing": 4, "sorting": 3, "reductions": 3},
    "writes": {**EVEN, "writes": 16, "indexing": 2, "control": 1.5},
    "dtypes": {**EVEN, "mixed dtypes": 8, "control": 1.5},
    "control": {**EVEN, "control": 5, "writes": 3},
    "nested": {**EVEN, "control": 1.5},
    "linear algebra": {**EVEN, "linear algebra": 9, "products": 4, "control": 1.5},
}
#: The floating-point dtypes of a program, and the dtypes that it may cast to.
DTYPES = {
    "double": ((np.float64,), ("np.float64",)),
    "single": ((np.float32,), ("np.float32",)),
    "mixed": ((np.float64, np.float32), ("np.float64", "np.float32")),
    "half": ((np.float64, np.float32, np.float16), ("np.float64", "np.float32", "np.float16")),
}
#: How far inputs may move, by the lowest dtype: further than by rounding.
STEP = {"double": 2.0**-11, "single": 2.0**-10, "mixed": 2.0**-10, "half": 2.0**-6}


class Grammar:
    """Draws the program of a seed.

    Args:
        seed: the seed of all choices.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.draw = Draw(seed)
        self.theme = self.draw.choice([*THEMES, "control", "linear algebra", "writes", "nested"])
        exact = self.theme == "linear algebra"
        self.precision = self.draw.choice(
            ["double"] * 6 + ["single", *([] if exact else ["mixed", "mixed", "half"])]
        )
        if self.theme == "dtypes":
            self.precision = self.draw.choice(["mixed", "half", "double"])
        self.draw.dtypes = DTYPES[self.precision][1]
        deepest = {"nested": self.draw.integer(4, 6), "control": 3}.get(self.theme, self.draw.integer(1, 2))
        self.control = Control(self.statement, deepest)
        self.concrete = self.draw.chance(0.1)

    def inputs(self) -> dict[str, Any]:
        """Draw the inputs: arrays that share extents, a number, integers."""
        draw = self.draw
        rng = np.random.default_rng(self.seed)
        n, m = draw.choice([2, 3, 3, 4]), draw.choice([1, 2, 3, 4])
        shapes = [(n,), (m,), (n, m), (n, n), (n, n), (), (2, n), (m, n, 2)]
        kinds = DTYPES[self.precision][0]
        values: dict[str, Any] = {}
        for name in "xyz"[: draw.integer(2, 3)]:
            shape = draw.choice(shapes)
            numbers = rng.uniform(0.3, 1.7, shape) * rng.choice([-1.0, 1.0], shape)
            values[name] = np.asarray(numbers, draw.choice(kinds))[()]
        if draw.chance(0.25):
            values["t"] = round(float(rng.uniform(0.3, 1.5)), 3)
        if draw.chance(0.6):
            dtype = draw.choice([np.int64, np.int64, np.int32, np.int8])
            values["i"] = rng.integers(0, 5, draw.choice([(), (n,), (m,)])).astype(dtype)[()]
        if draw.chance(0.35):
            values["b"] = rng.integers(0, 2, (n,)).astype(bool)
        if draw.chance(0.1):
            values["k"] = draw.integer(1, 4)
        return values

    def statement(self, scope: Scope) -> None:
        """Add a statement."""
        weights = THEMES[self.theme]
        for _ in range(12):
            kind = self.draw.random.choices(list(weights), list(weights.values()))[0]
            try:
                if kind == "control":
                    if scope.depth >= self.control.deepest:
                        continue
                    self.control.draw(scope)
                elif self.concrete and scope.depth == 0 and self.draw.chance(0.15):
                    self.draw.choice(CONCRETE)(scope)
                else:
                    fill(scope, kind)
            except UnfitError:
                continue
            return
        raise UnfitError

    def program(self) -> Program:
        """Draw the program."""
        inputs, step = self.inputs(), STEP[self.precision]
        scope = Scope(self.draw, start(inputs, step, self.seed), step)
        scope.boxes |= {name for name in inputs if scope.follows(name)}
        for _ in range(self.draw.integer(5, 13)):
            try:
                self.statement(scope)
            except UnfitError:
                continue
        if self.theme == "nested":
            self.nest(scope)
        results = self.results(scope, inputs)
        kinds = {*features_of(scope.nodes), *(f"nested to {i + 1}" for i in range(depth(scope.nodes)))}
        kinds |= {f"theme: {self.theme}", f"precision: {self.precision}"}
        return Program(self.seed, inputs, tuple(scope.nodes), results, step, frozenset(kinds))

    def nest(self, scope: Scope) -> None:
        """Add a statement of the largest allowed depth."""
        for _ in range(6):
            try:
                return self.control.draw(scope)
            except UnfitError:
                continue

    def results(self, scope: Scope, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        names = [n for n, a in scope.values.items() if n not in inputs and numeric(a) and n[0] == "v"]
        kept = [name for name in names[:-3] if self.draw.chance(0.5)] + names[-3:]
        return (
            tuple(kept) if any(np.asarray(scope.values[n]).dtype.kind == "f" for n in kept) else ("x * 1.0",)
        )


def generate(seed: int) -> Program:
    """Return the program of a seed."""
    return Grammar(seed).program()
