"""Programs with guards, drawn at random: questions about the type of a value, in any place of a program.

A program is the text of a module with a function ``program(x)``, which takes a number or a vector. Each guard is a form
of question, asked of a value in a place; its answer chooses a branch. Python says which branch is right. One of the
functions that ask is an element of an argument.
"""

from __future__ import annotations

import linecache
import random
import sys
from types import ModuleType

_HEAD = """
import collections.abc, functools, inspect, math, numbers, operator, typing
from dataclasses import dataclass
import numpy as np

def lost(v): return math.exp(-np.sum(v)) * 0.1
def kept(v): return np.exp(-np.sum(v)) * 0.1
SIZES = {float: 1.5, np.float64: 2.5, np.ndarray: 3.5}
NUMBERS = (int, float, np.floating)
ARRAYS = [np.ndarray, list]
"""

#: Questions about ``v``.
_FORMS = """isinstance(v, float)
isinstance(v, (int, float))
isinstance(v, float | int)
isinstance(v, np.ndarray)
isinstance(v, NUMBERS)
isinstance(v, np.generic)
isinstance(v, numbers.Real)
isinstance(v, numbers.Number)
isinstance(v, typing.SupportsFloat)
isinstance(v, collections.abc.Sized)
isinstance(v, collections.abc.Sequence)
any(isinstance(v, kind) for kind in ARRAYS)
not isinstance(v, (list, tuple, complex))
type(v) is np.ndarray
type(v) is float
type(v) == np.float64
type(v) in (float, np.float64)
type(v) in SIZES
type(v) not in {np.ndarray}
type(v) in ARRAYS
SIZES.get(type(v), 0.0) > 2.0
type(v) is type(1.0)
type(v) is type(np.ones(2))
type(v).__name__ == "ndarray"
type(v).__mro__[0] is float
type(v).__module__ == "numpy"
issubclass(type(v), np.ndarray)
issubclass(type(v), (float, int))
issubclass(v.__class__, float)
v.__class__ is np.ndarray
v.__class__ == float
v.__class__.__name__ == "float64"
v.__class__ in SIZES
operator.is_(type(v), np.ndarray)
operator.eq(float, type(v))
list(map(type, [v]))[0] is float
next(map(type, [v])) is np.ndarray
(lambda kind: kind is float)(type(v))
np.isscalar(v)
np.ndim(v) == 0
np.shape(v) == ()
np.size(v) > 1
hasattr(v, "__len__")
hasattr(v, "shape")
hasattr(type(v), "T")
callable(v)
inspect.isclass(type(v))
np.asarray(v).dtype == float
np.asarray(v).dtype.kind == "f"
np.issubdtype(np.asarray(v).dtype, np.floating)
np.result_type(v) == np.float64
np.isrealobj(v)
np.iscomplexobj(v)
isinstance(np.sum(v), np.floating)
isinstance(v * 1.0, float)
isinstance(v + np.ones(2), np.ndarray)
isinstance(v, float) and not isinstance(v, np.floating)
isinstance(v, type(2.0))
isinstance(2.0, type(v))
np.ndim(v) == 0 and type(v)(2.0) == 2.0"""
FORMS = _FORMS.split("\n")

#: Functions ``{n}(v)`` that ask question ``{g}``, and compute ``{a}`` or ``{b}``.
_PLACES = """def {n}(v):
    if {g}: return {a}
    return {b}
---
def {n}(v): return {a} if {g} else {b}
---
{n} = lambda v: {a} if {g} else {b}
---
def {n}(v): return sum([{a} if {g} else {b} for v in [v, 2.0 * v]])
---
def {n}(v):
    def inner(): return {g}
    return {a} if inner() else {b}
---
class K{n}:
    def ask(self, v): return {g}
    def __call__(self, v): return {a} if self.ask(v) else {b}
{n} = K{n}()
---
class K{n}:
    @staticmethod
    def ask(v): return {g}
    @classmethod
    def f(cls, v): return {a} if cls.ask(v) else {b}
{n} = K{n}.f
---
class K{n}:
    def __init__(self, v): self.v, self.answer = v, {g}
    @property
    def value(self):
        v = self.v
        return {a} if self.answer else {b}
def {n}(v): return K{n}(v).value
---
@dataclass
class K{n}:
    v: object
    def __post_init__(self):
        v = self.v
        self.value = {a} if {g} else {b}
def {n}(v): return K{n}(v).value
---
def checked(function):
    @functools.wraps(function)
    def call(v): return {a} if {g} else function(v)
    return call
@checked
def {n}(v): return {b}
---
T{n} = {{"ask": [lambda v: {g}]}}
def {n}(v): return {a} if T{n}["ask"][0](v) else {b}
---
def ask{n}(w, v): return {g}
P{n} = functools.partial(ask{n}, None)
def {n}(v): return {a} if P{n}(v) else {b}
---
def {n}(v, ask=lambda v: {g}): return {a} if ask(v) else {b}
---
def make{n}():
    ask = [lambda v: {g}]
    return lambda v: {a} if ask[0](v) else {b}
{n} = make{n}()
---
def {n}(v):
    try:
        if not ({g}): raise TypeError("a guard")
        return {a}
    except TypeError:
        return {b}
---
def all{n}(v):
    yield {g}
def {n}(v): return {a} if all(all{n}(v)) else {b}
---
class M{n}: ask = staticmethod(lambda v: {g})
class K{n}(M{n}):
    def f(self, v): return {a} if self.ask(v) else {b}
def {n}(v): return (lambda one: one.f(v))(K{n}())
---
def ask{n}(v): return {g}
def {n}(v): return {a} if helpers.{h}(ask{n}, v) else {b}
---
def {n}(v):
    match v:
        case float(): return {a}
        case np.ndarray(): return {b}
    return 3.0 * {a}
---
@functools.singledispatch
def {n}(v): return {a}
@{n}.register(np.ndarray)
def _(v): return {b} if {g} else {a}
@{n}.register(float)
def _(v): return {a} if {g} else {b}
---
def {n}(v):
    try: len(v)
    except TypeError: return {a}
    return {b} if {g} else {a}"""
PLACES = [place.strip("\n") for place in _PLACES.split("---")]

_VALUES = [
    "x",
    "x",
    "x",
    "x * 2.0",
    "np.sin(x)",
    "np.sum(x)",
    "np.array([x, x])",
    "-x",
    "abs(x) + 1",
    "np.ravel(x)[0]",
]
_RESULTS = [
    "np.sum(v * v)",
    "np.sum(np.sin(v)) * 2.0",
    "np.prod(v) * 0.3",
    "kept(v)",
    "lost(v)",
    "np.sum(v) * 1.7",
]
_HELPERS = "def direct(ask, v): return ask(v)\ndef later(ask, v): return [ask][0](v)\n"


def drawn(seed: int) -> str:
    """Return the text of a program with one to three guards; a third of the programs lose no value."""
    random_ = random.Random(seed)
    results = _RESULTS if random_.random() < 0.6 else [text for text in _RESULTS if "lost" not in text]
    lines, total = [_HEAD, f"import {name_of(seed)}_helpers as helpers"], ["np.sum(x) ** 2"]
    for number in range(random_.randint(1, 3)):
        a, b = random_.sample(results, 2)
        name, ask = f"f{number}", random_.choice(FORMS)
        place = random_.choice(PLACES)
        lines.append(place.format(n=name, g=ask, a=a, b=b, h=random_.choice(["direct", "later"])))
        total.append(f"{name}({random_.choice(_VALUES)})")
    asked = random_.randrange(len(total) - 1)
    total[asked + 1] = total[asked + 1].replace(f"f{asked}(", "asked[0](")
    return "\n".join(
        [*lines, f"ASKED = [f{asked}]", f"def program(x, asked=ASKED): return {' + '.join(total)}", ""]
    )


def name_of(seed: int) -> str:
    """Return the name of the module of a program."""
    return f"drawn_guards_{seed}"


def loaded(name: str, text: str, folder: str = "/drawn") -> ModuleType:
    """Return the module of a text, as if it were that of a file."""
    file = f"{folder}/{name}.py"
    module = ModuleType(name)
    module.__file__ = file
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    sys.modules[name] = module
    exec(compile(text, file, "exec"), vars(module))
    return module


def module_of(seed: int) -> ModuleType:
    """Return the module of a program."""
    name = name_of(seed)
    loaded(f"{name}_helpers", _HELPERS)
    return loaded(name, drawn(seed))
