"""Programs of classes and containers, drawn at random: they need a second run, and ask all that Python tells of them.

A program is the text of a module with a function ``program(x)``. Python itself says which text is a valid one.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import linecache
import pickle
import random
import sys
from types import ModuleType
from typing import Any

_HEAD = """
import collections, contextlib, copy, dataclasses, functools, importlib, inspect, itertools, math
import operator, pickle, types, weakref
from enum import Enum, Flag, IntEnum
from typing import Generic, NamedTuple, TypeVar
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

#: Terms with the containers of Python's library, modules by name, enumerations and records.
_HELD = """QUEUE[0](x) + QUEUE[-1].f(x)
(QUEUE.append({u}) or QUEUE.pop()(x)) * len(QUEUE)
sum(one(x) for one in list(QUEUE)[:2])
(QUEUE.rotate(1) or QUEUE.rotate(-1) or QUEUE.popleft()(x) if len(QUEUE) > 3 else 1.5 * wave(x))
(QUEUE.index(OBJECTS[0]) + 1.0) * wave(x)
collections.deque([{u}, {v}], maxlen=1)[0](x)
TABLE["missing"](x) + len(TABLE) * wave(x)
TABLE["u"](x)
(TABLE["made"] is TABLE.get("made")) * {u}(x)
list(ORDERED.values())[-1](x)
(ORDERED.move_to_end("u") or next(iter(ORDERED.values()))(x))
CHAIN["v"](x)
PROXY["u"](x)
PROXY["objects"][0].f(x)
USERS[1](x)
(WEAK[OBJECTS[0]] if OBJECTS[0] in WEAK else 9.0) * {u}(x)
VALUES["first"].f(x)
len(WEAKSET) * (OBJECTS[-1] in WEAKSET) * {u}(x)
REF().f(x) * (REF() is OBJECTS[0])
METHOD()(x)
COUNTS[OBJECTS[0]] * {u}(x)
fast(x) + fast(x * 2.0) * FAST_COUNT
fast(2.0) * {u}(x)
memo(12) * {u}(x)
OBJECTS[0].__class__.__name__.count("C") * memo.cache_info().maxsize * {u}(x) / 128
Colour.RED.f(x)
Colour["BLUE"].f(x) * (Colour("u") is Colour.RED)
(Colour.RED is BOX["colour"]) * BOX["colour"].f(x)
sum(colour.f(x) for colour in Colour) * len(Colour)
TINTS[Colour.BLUE](x)
({u}(x) if isinstance(Colour.RED, Colour) and Colour.RED in Colour else 9.0)
({u}(x) if Colour.RED != Colour.BLUE and hash(Colour.RED) == hash(Colour("u")) else 9.0)
({u}(x) if pickle.loads(pickle.dumps(Colour.RED)) is Colour.RED else 9.0)
Colour.RED.weight * Colour.later(x)
Planet.EARTH.pull(x) + Planet.EARTH.mass * wave(x)
Planet.EARTH.name.count("E") * Planet("named", 2.0).pull(x) if False else Planet.MARS.pull(x)
(Flags.A | Flags.B).f(x) * (Flags.A in (Flags.A | Flags.B))
(Flags.A | Flags.B).value * {u}(x)
Level.LOW.f(x) * Level.HIGH
Name.FIRST.f(x) * Name.FIRST.count("f")
matched(BOX["colour"], x)
RECORD.f(x) + dataclasses.replace(RECORD, a=2.0).f(x)
dataclasses.astuple(RECORD)[0] * RECORD.then(x)
({u}(x) if RECORD == dataclasses.replace(RECORD) and {{RECORD: 1}}[RECORD] else 9.0)
POINT.f(x) + POINT._replace(a=3.0).f(x) + POINT.total
POINT[1](x) + len(POINT)
sys.modules[__name__].wave(x)
importlib.import_module(__name__).buffer(x)
getattr(sys.modules[__name__], "closing")({u})(x)
({u}(x) if sys.modules[__name__].Colour is Colour else 9.0)
({u}(x) if sys.modules[type(OBJECTS[0]).__module__] is sys.modules[__name__] else 9.0)
globals()["wave"](x)
vars(sys.modules[__name__])["buffer"](x)
operator.methodcaller("f", x)(OBJECTS[0])
operator.attrgetter("f")(OBJECTS[0])(x)
operator.itemgetter(1)([{u}, {v}])(x)
max(OBJECTS, key=lambda one: one.f(0.3)).f(x)
sorted(OBJECTS, key=lambda one: one.a)[0].f(x)
copy.deepcopy(OBJECTS[0]).f(x)
copy.copy(RECORD).then(x)
types.MethodType(bound, OBJECTS[0])(x)
list(itertools.chain([{u}], (one.f for one in OBJECTS)))[-1](x)
next(filter(callable, [1, {u}]))(x)
managed({u}, x)
dict(zip("uv", [{u}, {v}]))["v"](x)
BOX.get("list")[1](x)
[*map(operator.call if hasattr(operator, "call") else called, [{u}, {v}], [x, x])][1]
typed({u}, x)
{u}.__call__(x)
other.back(x)
other.there(OBJECTS[0], x)
other.module.wave(x)
({u}(x) if other.module.Colour.RED is Colour.RED and other.kind() is Colour else 9.0)
other.Derived(1.5).f(x)
other.table["wave"](x)"""

_HELD_NAMES = """
class Colour(Enum):
    RED = "u"
    BLUE = "v"
    weight = property(lambda self: 1.5 if self is Colour.RED else 2.5)
    def f(self, x): return self.scaled(x) * (2.0 if self is Colour.RED else math.cos(x))
    def scaled(self, x): return math.exp(-x) * len(self.value) * self.weight
    @classmethod
    def later(cls, x): return sum(math.sin(x) * one.weight for one in cls)
class Planet(Enum):
    EARTH = ("earth", 1.5)
    MARS = ("mars", 0.7)
    def __init__(self, label, mass): self.label, self.mass = label, mass
    def pull(self, x): return math.exp(-self.mass * x) * len(self.label)
class Flags(Flag):
    A = 1
    B = 2
    def f(self, x): return math.sin(x) * self.value
class Level(IntEnum):
    LOW = 1
    HIGH = 2
    def f(self, x): return math.sin(x) * self
class Name(str, Enum):
    FIRST = "first"
    def f(self, x): return math.exp(x) * len(self)
@dataclass(slots=True, frozen=True)
class Record:
    a: float = 1.5
    then: object = buffer
    def f(self, x): return math.exp(x) * self.a + self.then(x)
class Point(NamedTuple):
    a: float = 2.0
    then: object = wave
    def f(self, x): return math.sin(x) * self.a + self.then(x)
    @property
    def total(self): return math.exp(self.a)
T = TypeVar("T")
class Holder(Generic[T]):
    def __init__(self, held): self.held = held
    def f(self, x): return self.held(x) + math.sin(x)
FAST_COUNT = 2.0
@functools.lru_cache(maxsize=128)
def fast(x): return math.exp(x) * FAST_COUNT
@functools.lru_cache(maxsize=128)
def memo(n): return 1.0 if n < 2 else memo(n - 1) * 0.5 + memo(n - 2) * 0.25 + math.exp(-n)
def bound(self, x): return self.f(x) + math.sin(x)
def typed(function, x): return Holder[float](function).f(x)
def matched(colour, x):
    match colour:
        case Colour.RED: return math.sin(x)
        case Colour.BLUE: return math.cos(x)
    return 9.0 * math.sin(x)
@contextlib.contextmanager
def held(function):
    yield function
def managed(function, x):
    with held(function) as inside: return inside(x)
RECORD, POINT = Record(), Point()
TINTS = {Colour.RED: wave, Colour.BLUE: buffer}
QUEUE = collections.deque([wave, buffer, OBJECTS[0]])
TABLE = collections.defaultdict(lambda: wave, u=buffer)
ORDERED = collections.OrderedDict(u=wave, v=buffer)
CHAIN = collections.ChainMap({"u": wave}, {"v": buffer})
PROXY = types.MappingProxyType({"u": wave, "objects": OBJECTS})
USERS = collections.UserList([wave, buffer])
WEAK = weakref.WeakKeyDictionary({OBJECTS[0]: 1.5})
VALUES, WEAKSET = weakref.WeakValueDictionary({"first": OBJECTS[0]}), weakref.WeakSet(OBJECTS)
REF, METHOD = weakref.ref(OBJECTS[0]), weakref.WeakMethod(OBJECTS[0].f)
COUNTS = collections.Counter({OBJECTS[0]: 3})
BOX["colour"] = Colour.RED
"""

_OTHER = """
import sys, math
import numpy as np
import {name} as module
from {name} import wave, Counted
def back(x): return module.buffer(x) + math.sin(x)
def there(one, x): return one.f(x) + np.array([math.exp(x), x])[0]
def kind(): return sys.modules["{name}"].Colour
class Derived(module.Counted):
    def __init__(self, a): self.a = a
    def f(self, x): return super().f(x) + module.buffer(x) * self.a
table = {{"wave": wave, "kind": Derived}}
"""


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
        _HELD_NAMES,
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
                random_.choice(_HELD.splitlines()),
                random_.choice(_HELD.splitlines()),
            ]
        )
        u, v = random_.choices(callables, k=2)
        term = term.format(u=u, v=v)
        lines.append(f"    total = total + {term}")
    return "\n".join(["import sys", *lines, "    return total", f"import {name_of(seed)}_other as other", ""])


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


def name_of(seed: int) -> str:
    """Return the name of the module of a program."""
    return f"drawn_classes_{seed}"


def module_of(seed: int, folder: str = "/drawn") -> ModuleType | None:
    """Return the module of a program, as if from a file of a folder; None if Python refuses it."""
    name = name_of(seed)
    texts = {name: drawn(seed), f"{name}_other": _OTHER.format(name=name)}
    files = {f"{folder}/{part}.py": text for part, text in texts.items()}
    finder = _Finder({part: (file, text) for part, (file, text) in zip(texts, files.items(), strict=True)})
    linecache.cache.update(
        (file, (len(text), None, text.splitlines(keepends=True), file)) for file, text in files.items()
    )
    sys.meta_path.insert(0, finder)
    try:
        module = importlib.import_module(name)
        module.program(0.3)
    except (TypeError, AttributeError, RecursionError, ValueError):
        for part in texts:
            sys.modules.pop(part, None)
        return None
    finally:
        sys.meta_path.remove(finder)
    return module


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds modules among texts."""

    def __init__(self, texts: dict[str, tuple[str, str]]) -> None:
        self.texts = texts

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname not in self.texts:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=self.texts[fullname][0])

    def get_source(self, fullname: str) -> str:
        return self.texts[fullname][1]

    def exec_module(self, module: ModuleType) -> None:
        file, text = self.texts[module.__name__]
        module.__file__ = file
        exec(compile(text, file, "exec"), vars(module))
