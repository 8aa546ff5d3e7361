"""Drawn programs whose branches and loops depend on values: statements, definitions, and the module of a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tests.programs.staged.expressions import OF_THE_PROGRAM, Drawing, Names

_IMPORTS = "import contextlib\nimport math\nfrom dataclasses import dataclass\n\nimport numpy as np\n"
_CLASS = """

@dataclass
class State:
    u: float
    w: float
    calls: int = 0

    def step(self, r):
        self.calls += 1
        if r > self.w:
            self.u, self.w = self.w, 0.5 * r
        elif self.calls > 3:
            return self.u
        return np.tanh(r + self.w)
"""
_NESTED = """

def nested(r, depth):
    if depth == 0:
        return r
    if r > 0.3:
        return 0.5 * nested(r - 0.2, depth - 1)
    return nested(np.sin(r) + 0.4, depth - 1) - 0.1
"""
_FOUND = """

def found(r, b):
    for q in r:
        if q > b:
            return q * b
"""
_BUMP = ["def bump(r):", "    nonlocal calls", "    calls += 1", "    return r > 0.2"]
_LATE = ["def late(r):", "    if r > s:", "        return r - s", "    return t * 0.5"]
#: The variables of a feature, with what the program returns of them.
_STATE: dict[str, tuple[list[str], list[str]]] = {
    "matrix": (["M = M.copy()"], ["M"]),
    "counts": (["c = np.zeros(4, dtype=int)"], ["c"]),
    "marks": (["g = np.zeros(4, dtype=bool)"], ["g"]),
    "float32": (["v = v.copy()"], ["v"]),
    "int32": (["j = j.copy()"], ["j"]),
    "dict": (['d = {"u": 0.5, "w": x[2]}'], ['d["u"]', 'd["w"]']),
    "class": (["o = State(0.25, x[3])"], ["o.u", "o.w", "o.calls"]),
    "list": (["L = [0.5, x[1]]"], ["L[0]", "L[1]"]),
    "side effects": (["calls = 0", *_BUMP], ["calls"]),
    "late": (_LATE, []),
    "none": (
        ["best = near = None"],
        ["best if best is not None else -1.0", "near if near is not None else -1"],
    ),
    "views": (["h = z[1:4]"], []),
}
_ARRAYS = {"y", "z", "M", "c", "g", "v", "j"}
NAMES = "x, a, n, M, v, j, ix"
Lines = list[str]


class Writer:
    """Writes one program.

    Args:
        seed: of the program.
        depth: the largest number of statements around a statement; many programs have fewer.
        features: that it has in any case.
    """

    def __init__(self, seed: int, depth: int = 5, features: set[str] | None = None) -> None:
        self.draw = Drawing(seed, set(features or ()))
        self.left = self.draw.random.choice([10, 20, 30, 45])
        """How many more statements the program may have before blocks end."""
        self.depth = min(depth, self.draw.random.choice([1, 2, 2, 3, 3, 4, 5]))

    def source(self) -> str:
        """Return the source of a module with the functions ``program`` and ``total``."""
        draw = self.draw
        parts = [_IMPORTS]
        if draw.has("class"):
            parts.append(_CLASS)
        if draw.has("helper"):
            parts.append(self._helper())
        if draw.has("none"):
            parts.append(_FOUND)
        if draw.has("recursion"):
            parts.append(_NESTED)
        return "".join([*parts, self._program(), _TOTAL])

    def _helper(self) -> str:
        draw = self.draw
        names = Names(("r", "b"), ("i", "e"), ("q",), vectors=(("w", 5),), returns="b - 0.5 * r")
        before, draw.features = draw.features, draw.features - OF_THE_PROGRAM
        body = self._block(names, 2)
        draw.features = before
        head = ["b = 0.5", "e = 2", "q = r > 0", "w = np.ones(5)"]
        tail = draw.pick(["b * 0.5 + np.sum(w)", "b if q else r", "b + e * 0.1"])
        return "\n".join(["", "", "def helper(r, i):", *_moved([*head, *body, f"return {tail}"]), ""])

    def _program(self) -> str:
        draw = self.draw
        head = ["s = 0", f"t = {draw.pick(['a', '1.0', 'x[0]'])}", f"k = {draw.pick(['1', 'n', '0'])}"]
        head += ["m = 3", f"p = {draw.pick(['False', 'x[1] > 0', 'a > 0'])}"]
        head += ["y = np.zeros(5)", "z = x.copy()"]
        results = ["s", "t", "k", "m", "p", "y", "z"]
        names = Names()
        for feature, (lines, more) in _STATE.items():
            if draw.has(feature):
                head += lines
                results += more
        if draw.has("views"):
            names = replace(names, vectors=(*names.vectors, ("h", 3)))
        end = ", ".join(results)
        early = (
            end
            if draw.has("alias") or draw.has("names")
            else ", ".join(f"{x}.copy()" if x in _ARRAYS else x for x in results)
        )
        body = self._block(replace(names, returns=early), draw.integer(2, 5))
        lines = _moved([*head, *body, f"return {end}"])
        return "\n".join(["", "", f"def program({NAMES}):", *lines, ""])

    # -- blocks ------------------------------------------------------------------------------------------

    def _block(self, names: Names, count: int) -> Lines:
        lines: Lines = []
        for _ in range(count):
            made, names = self._statement(names)
            lines += made
        return lines

    def _inner(self, names: Names, most: int = 3) -> Lines:
        return _moved(self._block(names, self.draw.integer(1, most)))

    def _statement(self, names: Names) -> tuple[Lines, Names]:
        """Return a statement, and the names behind it."""
        draw, kind = self.draw, self.draw.random.random()
        self.left -= 1
        is_flat = names.depth >= self.depth or self.left < 0
        if not is_flat and kind < 0.2:
            return self._if(names), names
        if not is_flat and names.loops < 3 and kind < 0.34:
            return self._for(names), names
        if not is_flat and names.loops < 3 and kind < 0.42:
            return self._while(names), names
        if names.loops and kind < 0.50:
            exits = ["break", "continue", "continue", f"return {names.returns}"]
            return [f"if {draw.truth(names)}:", f"    {draw.pick(exits)}"], names
        if kind < 0.52:
            test = draw.fill("<T> and <F> > 0.8", names, 1)
            return [f"if {test}:", f"    return {names.returns}"], names
        if kind < 0.62:
            found = [kind for kind in SPECIAL if draw.has(kind)]
            if found:
                return SPECIAL[draw.pick(found)](self, names)
        return [self._assignment(names)], names

    def _assignment(self, names: Names) -> str:
        draw = self.draw
        return draw.fill(draw.pick(draw.forms(STATEMENTS)), names)

    def _if(self, names: Names) -> Lines:
        draw, inside = self.draw, names.inside()
        lines = [f"if {draw.truth(names)}:", *self._inner(inside)]
        while draw.chance(0.25):
            lines += [f"elif {draw.truth(names)}:", *self._inner(inside, 2)]
        if draw.chance(0.5):
            lines += ["else:", *self._inner(inside, 2)]
        return lines

    def _for(self, names: Names) -> Lines:
        draw = self.draw
        counter, e = draw.fresh("i"), draw.fresh("e")
        inside = names.inside(loops=names.loops + 1)
        form = draw.pick(RANGES if draw.chance(0.65) else ROWS)
        if draw.has("matrix") and draw.chance(0.1):
            head = f"for {e} in M:"
            inside = replace(inside, vectors=(*names.vectors, (e, 4)))
        else:
            if form in RANGES:
                form = f"for COUNTER in {form}:"
            head = draw.fill(form, names, 1).replace("COUNTER", counter).replace("ELEMENT", e)
            if "COUNTER" in form:
                inside = replace(inside, counters=(*names.counters, counter))
            if "ELEMENT" in form:
                inside = replace(inside, floats=(*names.floats, e))
        lines = [head, *self._inner(inside)]
        if draw.chance(0.2):
            lines += ["else:", *self._inner(names.inside(), 1)]
        if draw.has("unbound") and f" {counter} " in head and "s" in names.floats and draw.chance(0.3):
            lines.append(f"s = s + {counter} * 0.1")
        return lines

    def _while(self, names: Names) -> Lines:
        draw, w = self.draw, self.draw.fresh("w")
        inside = names.inside(loops=names.loops + 1, counters=(*names.counters, w))
        most, test = draw.integer(2, 7), draw.truth(names)
        forms = [
            [f"{w} = 0", "while True:", f"    {w} += 1", f"    if {w} > {most} or {test}:", "        break"],
            [f"{w} = {most}", f"while {w}:", f"    {w} -= 1"],
            [f"{w} = {2 * most}", f"while {w}:", f"    {w} -= 1"],
            [f"{w} = 0", f"while {w} < {4 * most}:", f"    {w} += {draw.integer(1, 3)}"],
            [f"{w} = 1", f"while {w} < {3**most}:", f"    {w} *= {draw.integer(2, 3)}"],
            [f"{w} = 0", f"while {w} < {most} and {test}:", f"    {w} += 1"],
            [f"{w} = 0", f"while {test} and {w} < {most}:", f"    {w} += 1"],
            [f"{w} = 0", f"while {w} < {most} and {test}:", f"    {w} += 1"],
        ]
        lines = [*draw.random.choice(forms), *self._inner(inside)]
        if draw.chance(0.2):
            lines += ["else:", *self._inner(names.inside(), 1)]
        return lines

    # -- statements of single features -------------------------------------------------------------------

    def unbound(self, names: Names) -> tuple[Lines, Names]:
        """A variable that not all branches bind."""
        draw, u = self.draw, self.draw.fresh("u")
        lines = [f"if {draw.truth(names)}:", f"    {u} = {draw.float(names)}"]
        if draw.chance(0.4):
            lines += [f"elif {draw.truth(names)}:", f"    {u} = {draw.float(names)}"]
        return lines, replace(names, maybe=(*names.maybe, u))

    def walrus(self, names: Names) -> tuple[Lines, Names]:
        """A variable that an operand binds that may not be evaluated."""
        draw, u, w = self.draw, self.draw.fresh("u"), self.draw.fresh("u")
        forms = [
            ["if <T> and (<u> := <F>) > -0.2:", "    <set1> = <set1> + <u>"],
            ["if not <T> or (<u> := <F>) > 0.2:", "    <set> = <F>", "else:", "    <set1> = <set1> + <u>"],
            ["<set> = <u> if <T> and (<u> := <F>) > -0.2 else <F>"],
            ["if <T> and (<u> := <F>) > 0.1 and (<w> := <u> * 0.5) < 0.4:", "    <set1> = <u> + <w>"],
        ]
        lines = [line.replace("<u>", u).replace("<w>", w) for line in draw.random.choice(forms)]
        behind = replace(names, maybe=(*names.maybe, u)) if draw.chance(0.4) else names
        return [draw.fill(line, names, 1) for line in lines], behind

    def raising(self, names: Names) -> tuple[Lines, Names]:
        """An exception of the program's own."""
        lines = self.draw.random.choice(RAISING)
        return [self.draw.fill(line, names, 1) for line in lines], names

    def trying(self, names: Names) -> tuple[Lines, Names]:
        """An exception that is caught."""
        raising, _ = self.raising(names)
        tried = _moved([*raising, self._assignment(names)])
        return [
            "try:",
            *tried,
            "except (ValueError, ArithmeticError):",
            f"    {self._assignment(names)}",
        ], names

    def within(self, names: Names) -> tuple[Lines, Names]:
        """A context."""
        head = self.draw.pick(['with np.errstate(all="ignore"):', "with contextlib.nullcontext():"])
        return [head, *self._inner(names.inside(), 2)], names

    def matching(self, names: Names) -> tuple[Lines, Names]:
        """Cases of an integer."""
        cases = ["case 0:", f"    {self._assignment(names)}", "case _:", f"    {self._assignment(names)}"]
        return [f"match {self.draw.pick(['4', *names.integers])} % 3:", *_moved(cases)], names

    def best(self, names: Names) -> tuple[Lines, Names]:
        """A best value so far, which is nothing at first, or the last one that was found."""
        draw, q = self.draw, self.draw.fresh("q")
        if "s" not in names.floats or names.loops > 2:
            return [self._assignment(names)], names
        value = draw.float(names)
        turns = draw.pick(
            ["for _ in range(<w> % 4):", "for _ in range(6):", "for _ in <A>:", "for e in <X>[1:]:"]
        )
        forms = [
            [f"if best is None or {value} > best:", f"    best = {value}"],
            [f"if best is None or best < {value}:", f"    best, near = {value}, <w> % 5"],
            [turns, f"    if <T> and (best is None or {value} < best):", f"        best = {value}"],
            [
                turns,
                "    if best is not None:",
                "        <set1> = <set1> + 0.5 * best",
                f"    best = {value} if <T> else None",
            ],
            ["if <T>:", "    best = None"],
            ["if best is not None and <T>:", "    <set1> = <set1> + np.sin(best)"],
            ["if best:", "    <set> = best * 0.5", "else:", "    <set> = <F>"],
            ["if not best:", f"    best = {value}"],
            ["if near is not None:", "    <set1> = <set1> + x[near]"],
            ["<set> = best if best is not None else <F>"],
            [f"{q} = best or <F>", f"<set1> = <set1> + {q}"],
            [f"{q} = best", f"if {q} is None:", f"    {q} = <F>", f"<set1> = <set1> + {q}"],
            ["if <T>:", "    <set1> = <set1> + best"],
            ["if <T> and best != None:", "    best += <F>"],
            [f"{q} = found(<X>, {value})", f"if {q} is None:", f"    {q} = <F>", f"<set1> = <set1> + {q}"],
            [f"{q} = found(<X>, {value})", f"<set1> = <set1> + ({q} * 0.5 if {q} is not None else <N>)"],
        ]
        return [draw.fill(line, names, 1) for line in draw.random.choice(forms)], names

    def deleting(self, names: Names) -> tuple[Lines, Names]:
        """A variable that is deleted."""
        u = self.draw.fresh("u")
        form = ["<u> = <F>", "if <T>:", "    <set> = <u> * 0.5", "del <u>"]
        return [self.draw.fill(line.replace("<u>", u), names, 1) for line in form], names

    def closure(self, names: Names) -> tuple[Lines, Names]:
        """A function inside, which reads or binds variables of the program."""
        draw, f = self.draw, self.draw.fresh("f")
        forms = [[f"{f} = lambda b0, b1=<v>: b0 - b1 if <F> > b0 else b0 * 0.5", f"<set> = {f}(<F>)"]]
        if names.depth == 0 and "s" in names.floats:
            body = ["    nonlocal s", "    if b0 > 0.1:", "        s = b0 * 0.5", "    return t + b0"]
            forms.append([f"def {f}(b0):", *body, "if <T>:", f"    {f}(<F>)"])
            forms.append([f"def {f}(b0):", *body, f"t = {f}(<F>) + s"])
            forms.append([f"def {f}(b0):", *body, "for _ in range(<w> % 4):", f"    t = np.tanh({f}(t))"])
        return [draw.fill(line, names, 1) for line in draw.random.choice(forms)], names

    def alias(self, names: Names) -> tuple[Lines, Names]:
        """A name of one of several arrays."""
        if "s" not in names.floats:
            return [self._assignment(names)], names
        w = self.draw.fresh("l")
        other = self.draw.pick(["y", "z", "y[::-1]", "z * 0.5"])
        lines = [
            f"{w} = {self.draw.pick(['y', 'z'])}",
            "if <T>:",
            f"    {w} = {other}",
            self.draw.pick(USES).replace("<l>", w),
        ]
        return [self.draw.fill(line, names, 1) for line in lines], names

    def renamed(self, names: Names) -> tuple[Lines, Names]:
        """Names that a loop gives to other arrays, in some turns or in all, and writes by one of them."""
        if "s" not in names.floats or names.loops > 2:
            return [self._assignment(names)], names
        draw, one, other = self.draw, self.draw.fresh("l"), self.draw.fresh("l")
        turn = draw.pick(
            [
                f"{one} = {draw.pick(['y', 'z', 'y[::-1]', 'z * 0.5', other])}",
                f"{one}, {other} = {other}, {one}",
                f"{other} = {one}",
                f"{draw.pick(['y', 'z'])} = {draw.pick([one, other, 'y', 'z', 'z * 0.5'])}",
                "y, z = z, y",
            ]
        )
        body = [turn] if draw.chance(0.5) else ["if <T>:", f"    {turn}"]
        body += [draw.pick(USES)] * draw.chance(0.4)
        lines = [
            f"{one} = {draw.pick(['y', 'z', 'z[:]', 'y[::-1]', 'y * 0.5'])}",
            f"{other} = {draw.pick(['y', 'z', 'z[:]', 'z + 1.0', one])}",
            f"for {draw.fresh('i')} in range({draw.pick(['1', '3', '6', '6', '<w> % 4', '<w> % 3 + 1'])}):",
            *_moved(body),
            *(draw.pick(USES) for _ in range(draw.integer(1, 2))),
            f"s = s + np.sum({other})",
        ]
        lines = [line.replace("<l>", draw.pick([one, other])) for line in lines]
        return [draw.fill(line, names, 1) for line in lines], names

    def kinds(self, names: Names) -> tuple[Lines, Names]:
        """A variable that a block may give a value of another kind, which is read behind it, or bound anew."""
        draw, q = self.draw, self.draw.fresh("q")
        kinds = ["<F>", "<F>", "<P>", "<I>", "<S>", "<A>", "(<F>, <I>)", "None", "np.float32(<F>)"]
        head = draw.pick(["if <T>:", "for _ in range(<w> % 4):", "for _ in range(<d>):", "for _ in <A>:"])
        uses = [
            [f"<set1> = <set1> + np.sum({q})"],
            [f"if {q} is None:", "    <set> = <F>"],
            [f"if {q} is not None:", f"    <set1> = <set1> + np.sum({q})"],
            [f"{q} = <F>", f"<set1> = <set1> + {q}"],
            [],
        ]
        turn = f"{q} = {draw.pick(kinds)}"
        read = [f"<set1> = 0.5 * <set1> + np.sum({q})"] * draw.chance(0.4)
        lines = [f"{q} = {draw.pick(kinds)}", head, *_moved([turn, *read]), *draw.random.choice(uses)]
        return [draw.fill(line, names, 1) for line in lines], names

    def record(self, names: Names) -> tuple[Lines, Names]:
        """A tuple as state."""
        q = self.draw.fresh("q")
        turns = self.draw.pick(["3", "6", "<w> % 5"])
        lines = ["<q> = (<F>, <i> % 4)", f"for _ in range({turns}):", "    if <T>:"]
        lines += ["        <q> = (0.5 * <q>[0] + <F>, <q>[1] + 1)", "<set1> = <set1> + <q>[0] * 0.1 + <q>[1]"]
        return [self.draw.fill(line.replace("<q>", q), names, 1) for line in lines], names


SPECIAL: dict[str, Callable[[Writer, Names], tuple[Lines, Names]]] = {
    "unbound": Writer.unbound,
    "walrus": Writer.walrus,
    "raises": Writer.raising,
    "try": Writer.trying,
    "with": Writer.within,
    "match": Writer.matching,
    "none": Writer.best,
    "deletes": Writer.deleting,
    "closure": Writer.closure,
    "alias": Writer.alias,
    "names": Writer.renamed,
    "kinds": Writer.kinds,
    "records": Writer.record,
}
#: What a program does with an array that has several names.
USES = [
    "s = s + np.sum(<l>)",
    "<l>[1] = 0.5",
    "y[0] = <l>[2]",
    "<l> = <l> * 0.5",
    "<l>[:2] += <F>",
    "z[1] = <F>",
]
RANGES = [
    "range(<d>)",
    "range(5)",
    "range(<w> % 5)",
    "range(<w> % 3, <w> % 6)",
    "range(-2, <w> % 4)",
    "range(<w> % 6, -1, -1)",
    "range(0, <w> % 7, 2)",
    "range(<w> % 4, <w> % 7 + 1, 3)",
    "range(<d>, <w> % 3, -2)",
    "reversed(range(<w> % 4))",
    "range(<c>)",
    "range(<c> + 1, 5)",
    "range(<c> % 3 + 1)",
]
ROWS = [
    "for COUNTER, ELEMENT in enumerate(<A>):",
    "for COUNTER, ELEMENT in enumerate(<A>, <w>):",
    "for ELEMENT in <A>:",
    "for ELEMENT in reversed(<A>):",
    "for COUNTER, ELEMENT in zip(range(<w> % 6), <A>):",
    "for ELEMENT, _ in zip(<A>, <X>[1:]):",
    "for ELEMENT in <S>:",
    "for ELEMENT in (0.5, <F>, -1.0):",
]
RAISING = [
    ["if <T> and <F> > 0.6:", '    raise ValueError("too large")'],
    ["if <T> and <F> > 0.6:", '    raise ArithmeticError(f"bad {<i>}")'],
    ["if <T> and <F> > 0.6:", "    raise RuntimeError(<i>)"],
    ["if <F> > 1.5:", '    raise ValueError("too large")'],
    ['assert <F> < 2.5, "not small"'],
    ["assert not (<T> and <T>)"],
]
#: Statements of one line by the feature of the program that allows them.
STATEMENTS: dict[str, list[str]] = {
    "": [
        "<set1> = 0.5 * <set1> + <F>",
        "<set> += <F>",
        "<set> = np.tanh(<F>)",
        "<set> = <F>",
        "<set> -= 0.25 * <F>",
        "<iset> += 1",
        "<iset> = (<I>) % 9",
        "<iset> -= 2",
        "<b> = <T>",
        "<P> = np.tanh(<F>)",
        "<P> += np.tanh(<F>)",
        "<P> *= 0.5",
        "<P1>, <set1> = <set1>, <P1>",
        "<W>[1:3] = <F>",
        "<W>[:2] *= 0.5",
        "<W1>[:2] += <W1>[1:3]",
        "<W1>[<three1>], <W1>[<three2>] = <W1>[<three2>], <W1>[<three1>]",
        "<W1>[<three>] = <W1>[<three>]",
        "<P>",
    ],
    "bounds": ["x[<w>]"],
    "matrix": [
        "M[<three>] *= 0.5",
        "M[<three>, <four>] = <F>",
        "M[<three>, 1:3] += <F>",
        "M[<three>] = M[<three>]",
        "M[[0, 1]] = M[[1, 0]]",
        "M[<three1>], M[<three2>] = M[<three2>].copy(), M[<three1>].copy()",
        "M[:, <four>] = <F>",
        "<set1> = <set1> + np.sum(M[<three>])",
    ],
    "counts": ["c[<four>] += 1", "c[<four>] = <I>", "c[1:3] -= 1", "c[<four>] += <T>", "c *= 2"],
    "marks": ["g[<four>] = <T>", "g[<four>] = not g[0]", "g[1:] = False"],
    "float32": ["v[<four>] = <F>", "v[<four>] += 0.5", "<set> = v[<four>]", "v *= 0.5"],
    "int32": ["j[<four>] += 1", "j[<four>] = <I>", "<iset> = int(j[<four>]) % 7"],
    "dict": ['d["u"] = <F>', 'd["w"] += 0.5', 'd["u"], d["w"] = d["w"], d["u"]'],
    "class": ["o.u = <F>", "o.w += 0.25", "o.calls += 1"],
    "list": ["L[0] = <F>", "L[1] += 0.5", "L = [L[1], L[0]]", "L[-1] = np.tanh(L[0])"],
    "side effects": ["<set1> = <set1> + calls * 0.1", "bump(<F>)"],
    "several": ["<set> = <iset> = (<I>) % 5", "<set>, <iset> = <F>, (<I>) % 7", "<set>, *_ = <F>, 1, 2"],
    "truths": ["<set> = (<T>) * 1.0", "<iset> = (<T>) + <w> % 3", "<iset> = int(<T>)"],
    "views": ["h[<three>] = <F>", "h *= 0.5", "h[:] = <F>"],
    "texts": ['print("at", <v>, end="") if <T> else None'],
    "numpy": [
        "z = z * 0.5 + <F>",
        "y = np.roll(y, 1)",
        "y = np.where(y > <F>, y, 0.25)",
        "y += z * 0.1",
        "y, z = z.copy(), y.copy()",
    ],
}
_TOTAL = f'''

def total({NAMES}):
    """Return one number that all results have a part in, and the results."""
    found = program({NAMES})
    return sum(((1.0 + 0.1 * w) * np.sum(r) for w, r in enumerate(found)), 0.0), found
'''


def _moved(lines: Lines) -> Lines:
    return ["    " + line for line in lines]


def arguments(seed: int) -> tuple[Any, ...]:
    """Return random arguments of the program of a seed."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=5)
    one, other = rng.integers(5, size=2)
    if seed % 7 == 3:
        x[one] = x[other]
    if seed % 11 == 5:
        x[one] = 0.0
    if seed % 13 == 6:
        x[one] = np.nan
    matrix, v = rng.normal(size=(3, 4)), rng.normal(size=4).astype(np.float32)
    j = rng.integers(-4, 5, size=4).astype(np.int32)
    return x, float(rng.normal()), int(rng.integers(-1, 7)), matrix, v, j, rng.integers(0, 5, size=5)
