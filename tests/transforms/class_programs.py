"""Programs of classes and containers, drawn at random: they need a second run, and ask all that Python tells of them.

A program is the text of a module with a function ``program(x)``. Python itself says which text is a valid one.
"""

from __future__ import annotations

import linecache
import pickle
import random
import sys
from types import ModuleType
from typing import Any

_HEAD = """
import copy, functools, inspect, math, pickle
from abc import ABC, ABCMeta, abstractmethod
from collections import namedtuple
from dataclasses import dataclass, field
import numpy as np

REGISTRY, NAMES, KEPT = {}, [], []

def wave(x): return np.array([math.exp(-x), 1.0])[0]
def buffer(x):
    y = np.zeros(2); y[0] = math.sin(x); y[1] = x * x
    return y.sum()
def called(function, x, *, then=None): return function(x) if then is None else then(function(x))

class Meta(ABCMeta):
    made = []
    def __new__(mcs, name, bases, names, **options):
        cls = super().__new__(mcs, name, bases, names)
        Meta.made.append(name)
        return cls
    def __call__(cls, *arguments, **options):
        instance = super().__call__(*arguments, **options)
        object.__setattr__(instance, "numbered", len(cls.__mro__)) if hasattr(instance, "__dict__") else None
        return instance
    @property
    def weight(cls): return 0.5 * len(cls.__mro__)
    def scaled(cls, x): return math.sin(x) * cls.weight
class AbstractMeta(Meta):
    @property
    def weight(cls): return 0.25
class Counted:
    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        NAMES.append(cls.__name__)
    def f(self, x): return wave(x)
class Shape(ABC):
    @abstractmethod
    def f(self, x): return buffer(x)
class Field:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, instance, owner=None):
        return self if instance is None else math.exp(getattr(instance, self.name, 0.1))
    def __set__(self, instance, value): setattr(instance, self.name, value)
"""

#: Terms of a method ``f(self, x)`` of the class {c}; {b} is one of its bases.
_TERMS = """super().f(x) * 0.5
super({c}, self).f(x) * 0.7
super({c}, type(self)).f(self, x) if type(self) is {c} else super().f(x)
(super(type(self), self).f(x) if type(self) is {c} else 0.3 * super().f(x))
(type(self).__bases__[0].f(self, x) if type(self) is {c} else 0.1)
{b}.f(self, x) * 0.2
REGISTRY.get(type(self), 3.0) * wave(x)
(math.sin(x) if type(self) in REGISTRY else 1.0)
(wave(x) if isinstance(self, {c}) and issubclass(type(self), {b}) else 100.0)
(math.cos(x) if self.__class__ is {c} else 2.0 * math.cos(x))
len(type(self).__mro__) * wave(x)
len(inspect.getmro({c})) * buffer(x)
sum(cls.__name__ == "{b}" for cls in type(self).__mro__) * math.exp(x)
(math.exp(x) if {c}.__mro__.index({b}) else 5.0)
(wave(x) if {c}.__bases__[0] is {b} else 2.0 * wave(x))
(math.exp(x) if pickle.loads(pickle.dumps({c})) is {c} else 9.0)
(wave(x) if copy.copy(self).__class__ is type(self) else 9.0)
(math.sin(x) if getattr(sys.modules[__name__], "{c}") is {c} else 9.0)
self.g(x)
self.p * math.sin(x)
self.s(x)
self.k(x)
type(self).k(x) * 0.3
{c}.s(x)
(wave(x) if {c} in {b}.__subclasses__() or {b} is object else 2.0 * wave(x))
(wave(x) if any(isinstance(self, cls) for cls in REGISTRY) else 2.0 * wave(x))
(wave(x) if inspect.signature({c}.f) == inspect.signature({b}.f) else 4.0)
(buffer(x) if type({c}) is type(type(self)) else 4.0)
(buffer(x) if {{{c}, {b}}} >= {{{c}}} and type(self) in {{type(self): 1}} else 4.0)
self.a * math.exp(-x)
type(self).c * wave(x)
self.c * buffer(x)
self.later * wave(x)
self.twice(x)
type(self).weight * wave(x)
type(self).scaled(x)"""

_CONTAINERS = """[{u}, {v}][0](x) + wave(x)
{{"u": {u}, "v": [{v}, {u}]}}["v"][0](x)
({u}, ({v}, {u}))[1][0](x)
functools.partial({u})(x)
functools.partial(called, {u}, then={v})(x)
functools.partial(called, then={u})({v}, x)
called({u}, x)
sum(function(x) for function in ({u}, {v}))
(lambda y, function={u}: function(y))(x)
closing({u})(x)
BOX["list"][0](x) * 0.5
BOX["table"]["inner"][1](x)
BOX["partial"](x)
BOX["object"].f(x) + wave(x)
BOX["objects"][-1].f(x)
list(map({u}, [x, 2.0 * x]))[1]
functools.reduce(lambda y, function: function(y), [{u}, {v}], x)
KEYED[OBJECTS[0]] * {u}(x)
({u}(x) if OBJECTS[0] in SET else 7.0)
({u}(x) if OBJECTS[-1] is OBJECTS[len(OBJECTS) - 1] else 7.0)
({u}(x) if OBJECTS.index(OBJECTS[-1]) == len(OBJECTS) - 1 else 7.0)
kept({u}, x)
PAIR.first(x) + PAIR._replace(first={v}).first(x)"""


def drawn(seed: int) -> str:
    """Return the text of a program; Python accepts each of its classes."""
    random_ = random.Random(seed)
    lines, classes, scratch = [_HEAD], ["Counted", "Shape"], dict[str, Any](__name__="__main__")
    exec("import sys" + _HEAD, scratch)
    for number in range(random_.randint(2, 6)):
        for _ in range(40):
            text = "\n".join(_class(random_, name := f"C{number}", classes))
            try:
                exec(text, scratch)
                scratch[name](1.5).f(0.3)
            except (TypeError, AttributeError, ValueError, RecursionError, pickle.PicklingError):
                continue
            lines.append(text)
            classes.append(name)
            break
    own = classes[2:]
    makers = [f"{name}(1.5)" for name in own]
    lines += [
        f"known = ({', '.join(random_.sample(own, len(own) - 1))},)",
        "for number, cls in enumerate(known): REGISTRY[cls] = number + 1.5",
        f"OBJECTS = [{', '.join(makers)}]",
        "KEYED, SET = {one: 1.5 + n for n, one in enumerate(OBJECTS)}, set(OBJECTS)",
        "def closing(function):\n    inner = {'f': function}\n    return lambda x: inner['f'](x)",
        "def kept(function, x):\n    KEPT.append(OBJECTS[0]); KEPT.append(type(OBJECTS[-1])(2.5))",
        "    return function(x) * KEPT[-1].f(x)",
        "BOX = {'list': [wave, buffer], 'table': {'inner': (1, buffer, OBJECTS)}, 'objects': OBJECTS,",
        "       'partial': functools.partial(called, buffer, then=wave), 'object': OBJECTS[0]}",
        "PAIR = namedtuple('PAIR', 'first second')(wave, OBJECTS)",
        "def program(x):",
        "    total = wave(x)",
    ]
    callables = ["wave", "buffer", "math.exp", *(f"OBJECTS[{n}].f" for n in range(len(own)))]
    for _ in range(random_.randint(2, 5)):
        term = random_.choice(
            [
                f"OBJECTS[{random_.randrange(len(own))}].f(x)",
                f"{random_.choice(makers)}.f(x)",
                random_.choice(_CONTAINERS.splitlines()),
            ]
        )
        u, v = random_.choices(callables, k=2)
        term = term.format(u=u, v=v)
        lines.append(f"    total = total + {term}")
    return "\n".join(["import sys", *lines, "    return total", ""])


def _class(random_: random.Random, name: str, classes: list[str]) -> list[str]:
    """Return the lines of a class, whose bases are among others."""
    bases = random_.sample(classes, random_.choice([0, 1, 1, 1, 2, 2, 3]) if len(classes) > 2 else 1)
    kind = random_.choice(["", "", "", "metaclass=Meta", "metaclass=AbstractMeta"])
    form = random_.choice(["plain", "plain", "slots", "dataclass", "property", "getattr"])
    base = random_.choice(bases) if bases else "object"
    terms = random_.sample(_TERMS.splitlines(), random_.randint(1, 4))
    if not bases:
        terms = [term for term in terms if "super" not in term and "{b}" not in term and "bases" not in term]
    body = " + ".join(["wave(x)", *(term.format(c=name, b=base) for term in terms)])
    head = ", ".join([*bases, *([kind] if kind else [])])
    lines = [f"class {name}({head}):"]
    if form == "slots":
        lines += ["    __slots__ = ('a', '__hidden')"]
    if form == "dataclass":
        lines[:0] = ["@dataclass(eq=False)"]
        lines += [
            "    a: float = 1.0",
            "    values: list = field(default_factory=lambda: [np.zeros(1), wave])",
        ]
    else:
        lines += ["    def __init__(self, a=1.0):", f"        self.a = a * {random_.choice(['1.0', '2.0'])}"]
    if form == "getattr":
        lines += ["    def __getattr__(self, name):", "        if name == 'extra': return math.exp(self.a)"]
        lines += ["        raise AttributeError(name)"]
        body += " + self.extra * wave(x)"
    if form == "plain":
        lines += ["    d = Field()"]
        body += " + self.d * wave(x)"
    lines += [f"    def f(self, x): return {body}"]
    members = [
        "    c = 1.25",
        "    def g(self, x): return buffer(x) * self.a",
        "    @property\n    def p(self): return math.exp(self.a)",
        "    @staticmethod\n    def s(x): return math.sin(x) + np.array([x])[0]",
        "    @classmethod\n    def k(cls, x): return wave(x) * len(cls.__name__)",
        "    twice = functools.partialmethod(lambda self, n, x: n * math.exp(x) * self.a, 2.0)",
        "    @functools.cached_property\n    def later(self): return self.a + 0.5",
    ]
    root = not bases
    lines += [line for line in members if root or random_.random() < 0.6]
    return lines


def module_of(seed: int) -> ModuleType | None:
    """Return the module of a program; None if Python refuses it."""
    name, text = f"drawn_classes_{seed}", drawn(seed)
    file = f"/drawn/{name}.py"
    module = ModuleType(name)
    module.__file__ = file
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    sys.modules[name] = module
    try:
        exec(compile(text, file, "exec"), vars(module))
        module.program(0.3)
    except (TypeError, AttributeError, RecursionError, ValueError):
        del sys.modules[name]
        return None
    return module
