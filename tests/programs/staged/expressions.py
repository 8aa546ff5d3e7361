"""Expressions over the variables of a drawn program: floats, integers, truth values and elements of arrays."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

#: Features of which each program draws a part, with the share of programs that have them.
FEATURES = {
    **dict.fromkeys(("math", "numpy", "rounding", "division", "integers", "truths", "matrix"), 0.5),
    **dict.fromkeys(("counts", "marks", "closure", "helper", "views", "side effects", "choices"), 0.4),
    **dict.fromkeys(("raises", "domain", "bounds", "dict", "class", "unbound", "walrus", "with"), 0.25),
    **dict.fromkeys(("float32", "int32", "nan", "recursion", "deletes", "several", "late", "records"), 0.2),
    **dict.fromkeys(("int of float", "match", "comprehension", "zero", "texts", "list", "generators"), 0.12),
    **dict.fromkeys(("alias", "names", "kinds", "none"), 0.12),
    **dict.fromkeys(("try",), 0.06),
    **dict.fromkeys(("sums of truths", "whole in single"), 0.0),  # only with `--with`
}


@dataclass(frozen=True)
class Names:
    """The variables that a statement may read.

    Args:
        floats: numbers.
        integers: integers.
        truths: truth values.
        counters: of loops, which are not assigned.
        maybe: floats that may not be bound.
        vectors: arrays of floats, with their extents.
        loops: how many loops stand around.
        depth: how many statements stand around.
        returns: what a return statement gives.
    """

    floats: tuple[str, ...] = ("s", "t", "a")
    integers: tuple[str, ...] = ("k", "m", "n")
    truths: tuple[str, ...] = ("p",)
    counters: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()
    vectors: tuple[tuple[str, int], ...] = (("x", 5), ("y", 5), ("z", 5))
    loops: int = 0
    depth: int = 0
    returns: str = ""

    def inside(self, **changes: Any) -> Names:
        """Return the names inside of a block."""
        return replace(self, depth=self.depth + 1, **changes)

    @property
    def whole(self) -> tuple[str, ...]:
        """All integers."""
        return (*self.integers, *self.counters)


@dataclass
class Drawing:
    """Random choices, and the features of the program.

    Args:
        seed: of the program.
    """

    seed: int
    features: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.features |= {name for name, share in FEATURES.items() if self.chance(share)}
        if "side effects" not in self.features:
            self.features.discard("generators")
        self._count = 0

    def chance(self, share: float) -> bool:
        """Return whether an event of some probability happens."""
        return self.random.random() < share

    def pick(self, options: Sequence[str]) -> str:
        """Return one of several texts."""
        return self.random.choice(options)

    def integer(self, least: int, most: int) -> int:
        """Return an integer between two."""
        return self.random.randint(least, most)

    def has(self, feature: str) -> bool:
        """Return whether the program has a feature."""
        return feature in self.features

    def fresh(self, name: str) -> str:
        """Return a new name."""
        self._count += 1
        return f"{name}{self._count}"

    def forms(self, table: dict[str, list[str]]) -> list[str]:
        """Return the forms of the features of the program; those of an empty name belong to all."""
        return [
            form for feature, forms in table.items() if not feature or self.has(feature) for form in forms
        ]

    # -- forms with gaps -----------------------------------------------------------------------------------

    def fill(self, form: str, names: Names, depth: int = 0) -> str:
        """Return a form with drawn texts in its gaps: ``<F>`` and the like; equal gaps with a number are equal.

        Args:
            form: the form.
            names: what it may read.
            depth: how many expressions stand around.
        """
        known: dict[str, str] = {}

        def gap(found: re.Match[str]) -> str:
            name = found[1]
            if name[-1].isdigit() and name[0] not in "e" and name in known:
                return known[name]
            known[name] = text = GAPS[name.rstrip("0123456789")](self, names, depth + 1)
            return text

        return re.sub(r"<([a-zA-Z]+\d*)>", gap, form)

    def float(self, names: Names, depth: int = 0) -> str:
        """Return an expression of a float."""
        if depth > 2 or self.chance(0.35):
            return self.leaf(names)
        return self.fill(self.pick(self.forms(FLOATS)), names, depth)

    def leaf(self, names: Names) -> str:
        """Return a float without operations."""
        if names.maybe and self.chance(0.1):
            return self.pick(names.maybe)
        options = ["<v>", "<v>", "<P>", "<P>", "<N>", "<w> * 0.25"]
        if self.has("dict") and "s" in names.floats:
            options += ['d["u"]', 'd["w"]']
        if self.has("class") and "s" in names.floats:
            options += ["o.u", "o.w", "o.step(<v>)"]
        if self.has("list") and "s" in names.floats:
            options.append("L[<l>]")
        return self.fill(self.pick(options), names)

    def whole(self, names: Names, depth: int = 0) -> str:
        """Return an expression of an integer."""
        if depth > 2 or self.chance(0.4):
            return self.pick([*names.whole, str(self.integer(-3, 6))])
        return self.fill(self.pick(self.forms(INTEGERS)), names, depth)

    def truth(self, names: Names, depth: int = 0) -> str:
        """Return an expression of which the truth is asked."""
        if depth > 1 or self.chance(0.55):
            return self.fill(self.pick(self.forms(TRUTHS)), names, max(depth, 1))
        return self.fill(self.pick(self.forms(JOINED)), names, depth)

    # -- places ------------------------------------------------------------------------------------------

    def index(self, names: Names, extent: int) -> str:
        """Return an index into an axis; with the feature `bounds` it may lie outside."""
        if self.has("bounds") and self.chance(0.15):
            return self.pick([*names.whole, *(f"{name} + 1" for name in names.counters)])
        inside = [str(self.integer(0, extent - 1)), str(-self.integer(1, extent))]
        inside += [f"{name} % {extent}" for name in names.whole]
        inside += [f"-1 - {name} % {extent}" for name in names.counters]
        return self.pick(inside)

    def place(self, names: Names) -> str:
        """Return an element of an array of floats."""
        name, extent = self.random.choice(names.vectors)
        options = [f"{name}[{self.index(names, extent)}]"] * 3
        if self.has("matrix") and "s" in names.floats:
            options.append(f"M[{self.index(names, 3)}, {self.index(names, 4)}]")
        if self.has("float32") and "s" in names.floats:
            options.append(f"v[{self.index(names, 4)}]")
        return self.pick(options)

    def number(self) -> str:
        """Return a literal float."""
        if self.has("nan") and self.chance(0.05):
            return self.pick(["np.nan", "np.inf", "float('nan')", "-math.inf"])
        return self.pick([f"{self.random.uniform(-1.5, 1.5):.2f}", "0.5", "1.0", "2.0", "-0.25"])

    def part(self, names: Names) -> str:
        """Return a slice with known ends of an array."""
        name, extent = self.random.choice(names.vectors)
        return f"{name}[{self.integer(0, 1)}:{self.integer(2, extent)}]"


Gap = Callable[[Drawing, Names, int], str]
#: What the gaps of forms hold: expressions, and names.
GAPS: dict[str, Gap] = {
    "F": lambda draw, names, depth: draw.float(names, depth),
    "L": lambda draw, names, _: draw.leaf(names),
    "I": lambda draw, names, depth: draw.whole(names, depth),
    "T": lambda draw, names, depth: draw.truth(names, depth),
    "N": lambda draw, _, __: draw.number(),
    "P": lambda draw, names, _: draw.place(names),
    "A": lambda draw, names, _: draw.random.choice(names.vectors)[0],
    "X": lambda draw, names, _: names.vectors[0][0],
    "S": lambda draw, names, _: draw.part(names),
    "v": lambda draw, names, _: draw.pick(names.floats),
    "i": lambda draw, names, _: draw.pick(names.integers),
    "w": lambda draw, names, _: draw.pick(names.whole),
    "c": lambda draw, names, _: draw.pick(names.counters or names.integers),
    "b": lambda draw, names, _: draw.pick(names.truths),
    "d": lambda draw, _, __: str(draw.integer(-1, 6)),
    "l": lambda draw, _, __: str(draw.integer(-2, 1)),
    "three": lambda draw, names, _: draw.index(names, 3),
    "four": lambda draw, names, _: draw.index(names, 4),
    "five": lambda draw, names, _: draw.index(names, 5),
    "new": lambda draw, _, __: draw.fresh("q"),
    # what an assignment may bind
    "set": lambda draw, names, _: draw.pick([name for name in names.floats if name in "strb"]),
    "iset": lambda draw, names, _: draw.pick([name for name in names.integers if name in "kme"]),
    "W": lambda draw, names, _: draw.pick([name for name, _ in names.vectors if name != "x"]),
}
#: Forms by the feature of the program that allows them.
FLOATS: dict[str, list[str]] = {
    "": [
        "np.tanh(<F> + <F>)",
        "(0.5 * <F> - <F>)",
        "(<F> + <F>)",
        "np.sin(<F>) * <N>",
        "min(<F>, <F>)",
        "max(<F>, <F>, <L>)",
        "abs(<F>)",
        "-<L>",
        "(<F> if <T> else <F>)",
        "(<F> if <T> else <F>)",
        "<F> / (1.5 + abs(<F>))",
    ],
    "math": ["math.sin(<F>)", "math.tanh(<F>)", "math.atan2(<F>, <F>)", "math.exp(-abs(<F>))"],
    "numpy": [
        "np.sum(<S>)",
        "np.where(<F1> > <F>, <F1>, 0.5)",
        "np.maximum(<F>, <F>)",
        "float(np.clip(<F>, -0.5, 0.75))",
        "<A>.max()",
        "np.dot(x, x) * 0.1",
    ],
    "rounding": ["math.floor(<F>)", "round(<F>, 1)", "(<F>) % 1.0", "(<F>) // 0.5", "float(<I>)"],
    "division": ["<F> / (x[0] - x[0] + <F>)", "np.sqrt(abs(<F>))", "abs(<F>) ** 0.5"],
    "truths": ["float(<T>)", "(<T>) * <F>", "(<F> or <F>)", "(<F> and <F>)"],
    "choices": ["max(<A>)", "min([<F>, <F>])", "sum([<F>, <F>])"],
    "domain": ["math.sqrt(<F>)", "math.log(<F>)", "math.acos(<F>)"],
    "helper": ["helper(<F>, <I>)", "helper(<F>, 2)"],
    "recursion": ["nested(<F>, 3)"],
    "late": ["late(<F>)"],
    "float32": ["np.float32(<F>)", "<F> * v[1]"],
    "walrus": [
        "((<new1> := <F>) * <new1> + <F>)",
        "((<new1> := <F>) if <T> else <F>)",
        "(<F> and (<new1> := <F>))",
    ],
    "comprehension": [
        "sum(e * e for e in <A>)",
        "sum([e for e in <A>]) * 0.5",
        "sum(e for e in <A> if e > <L>)",
        "sum(e * <v> for e in <A> for _ in range(2))",
    ],
    "nan": ["(np.nan if <F> > 2.0 else <F>)"],
    "several": ["divmod(<I>, 3)[1] * 0.5", "(<F>) ** 2", "pow(<F>, 2)", "<F1> * <F1> * <F1>"],
    "zero": ["<F> / <L>", "<F> % <L>"],
}
INTEGERS: dict[str, list[str]] = {
    "": [
        "(<I> + <I>)",
        "(<I> - <I>)",
        "<w> // 2",
        "<w> // -2",
        "(<I>) % 5",
        "(<I>) % -4",
        "min(<I>, <I>)",
        "(<I> if <T> else <I>)",
        "abs(<I>)",
    ],
    "integers": ["(<I>) * (<I>) % 11", "-(<I>)", "((<I>) & 3)", "((<I>) ^ 5)", "((<I>) >> 1)"],
    "truths": ["int(<T>)", "((<T>) + (<I>))", "((not <T>) + (not <T>))"],
    "sums of truths": ["((<T>) + (<T>))", "((not <T>) + (<T>))"],
    "numpy": ["len(x)", "ix[<five>]", "int(np.argmax(<A>))"],
    "counts": ["c[<four>]", "int(c[<four>])"],
    "int32": ["j[<four>]", "int(j[<four>])"],
    "int of float": ["int(<P> * 3)", "round(<P> * 2)"],
    "several": ["max(<I>, <I>, 0)", "divmod(<I>, 3)[0]", "((<I>) ** 2) % 7"],
}
TRUTHS: dict[str, list[str]] = {
    "": [
        "<F> > <F>",
        "<F> <= <N>",
        "<N> < <F> < <N>",
        "<N> < <F> <= <F> < <N>",
        "(<I>) % 3 == 1",
        "<I> in (1, 4)",
        "<i> not in (0, 2, 3)",
        "<I> < <d>",
        "<c> == <d>",
        "<b>",
    ],
    "truths": ["bool(<L>)", "(<L>) != (<L>)", "not <L> < <L>"],
    "marks": ["g[(<A>[0] > 0) + 0]", "g[1]", "g.any()"],
    "numpy": ["np.any(<A> > <L>)", "np.all(<S> < 2.0)", "np.isnan(<L>)"],
    "math": ["math.isnan(<L>)", "math.isfinite(<L>)"],
    "counts": ["c[2] > 1", "c[0] == c[1]"],
    "walrus": [
        "(<new1> := <F>) > 0.3 and <new1> < 0.9",
        "(<T> and (<new1> := <F>) > 0.3 and <new1> < 0.9)",
        "(<T> or (<new1> := <F>) > 0.3 or <new1> < -0.3)",
        "<N> < (<new1> := <F>) < (<new2> := <F>)",
    ],
    "none": ["best is None"],
    "comprehension": ["any(e > <L> for e in <A>)", "all(e > <L> for e in <A> if e < <L>)"],
}
JOINED: dict[str, list[str]] = {
    "": ["(<T> and <T>)", "(<T> or <T>)", "(not <T>)", "(0 <= <I1> < 5 and <X>[<I1>] > <F>)"],
    "side effects": ["bump(<F>)", "(bump(<F>) and <T>)", "(<T> or bump(<F>))", "(<T> and bump(<F>))"],
    "generators": ["any(bump(e) for e in <A>)", "all(bump(e) and <T> for e in <A>)"],
    "truths": ["any([<T>, <T>])", "all((<T>, <T>))", "(<T>) == (<T>)"],
}
#: Features whose forms a helper has no variables for.
OF_THE_PROGRAM = {
    *("matrix", "float32", "dict", "class", "list", "side effects", "late", "helper", "counts", "views"),
    *("marks", "int32", "none", "unbound", "recursion", "numpy", "int of float", "records", "division"),
    "generators",
}
