"""Questions about the type of a value that no box can answer: ``type(x) is np.ndarray``, ``hasattr(x, "__len__")``.

`isinstance`, `np.isscalar` and ``case float():`` ask a box for its class. `type` and `hasattr` ask Python alone, so a
function that asks them needs substitutes from the beginning. So does ``x > 1 is True``, where only a run knows: Python
compares objects, and a box is none of the two that it stands for. So does a call of a search of SciPy's: it compares
numbers, and its end may be a number without a derivative.
"""

from __future__ import annotations

import collections.abc
import dis
import functools
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import RUNNING
from wengert.engine.core.by_identity import ByIdentity
from wengert.engine.core.copied_files import is_copied_class, is_copied_file
from wengert.engine.core.errors import ConcreteError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.transforms.originals import HOLDERS
from wengert.engine.transforms.shared_containers import CONTAINERS, LOOKED_AT

#: The attributes that only some arrays and numbers have.
_ATTRIBUTES = {name for kind in (np.ndarray, float) for name in dir(kind)} - set(dir(object))
#: Abstract classes that look for methods.
_ABSTRACT = {name for name in dir(collections.abc) if name[:1] != "_"}
#: Folders of SciPy's, and those of its functions that search.
_SCIPY = f"{os.sep}scipy{os.sep}"
_SEARCHES = tuple(f"{_SCIPY}{part}{os.sep}" for part in ("optimize", "integrate"))
#: The number of objects, of those that a function reaches, that are looked at.
_MOST = 512
#: Types of values that hold no functions.
_DATA = {int, float, str, bool, type(None), np.ndarray, np.ufunc, BuiltinFunctionType, ModuleType}

_Parts = Callable[[Any], Iterable[Any]]


class _Facts(NamedTuple):
    """Facts from the code of a function."""

    is_copied: bool
    """Whether it has a copy in a second run."""
    asks: bool
    """Whether it asks for the type or an attribute of what may be a box."""
    compares: bool
    """Whether it compares an object with True or False by ``is``, as a pattern ``case True`` does."""
    names: tuple[str, ...]
    """The global variables and attributes that it names."""


def asks_for_types(*roots: Any) -> bool:
    """Return whether one of the user's functions that objects reach asks for the type of a value past its box.

    It runs at each call of a transform: names, attributes and elements may hold other functions than before.

    Example:
        >>> asks_for_types(abs)
        False
    """
    return _reach(lambda function: _facts.of(function.__code__).asks, roots)


def _reach(holds: Callable[[FunctionType], bool], roots: Iterable[Any]) -> bool:
    """Return whether a question holds for one of the user's functions that objects reach."""
    waiting = [*roots]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        value = waiting.pop()
        parts = _parts_of(type(value))
        if parts is None or id(value) in seen:
            continue
        seen.add(id(value))
        if parts is _of_function and holds(value):
            return True
        waiting += [part for part in parts(value) if type(part) not in _DATA]
    return False


def _parts_of(kind: type[Any]) -> _Parts | None:
    """Return the rule for the parts of objects of a class; None for data."""
    try:
        return _rules[kind]
    except KeyError:
        pass
    rule: _Parts | None = None
    if issubclass(kind, type):
        rule = _of_class
    elif is_copied_class(kind):
        rule = next((_rules[base] for base in kind.__mro__ if base in _WRAPPERS), _of_object)
    _rules[kind] = rule
    return rule


def _of_function(function: FunctionType) -> Iterable[Any]:
    """Return what a function names: global variables, attributes of modules, its closure and its defaults."""
    is_copied, *_, names = _facts.of(function.__code__)
    if not is_copied:
        return getattr(function, "registry", {}).values()  # of `functools.singledispatch`
    values: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    scope = function.__globals__
    for name in names:
        value = scope.get(name)
        if value is not None:
            values += _named(value, names) if isinstance(value, ModuleType) else [value]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
    return values


def _named(module: ModuleType, names: tuple[str, ...]) -> Iterable[Any]:
    """Return what names may mean in a module and the modules inside of it; `getattr` may compute a name."""
    inside, is_scipys = vars(module), module.__name__.startswith("scipy")
    values = [
        inside[name] for name in (inside if is_scipys and "getattr" in names else names) if name in inside
    ]
    modules = (
        [value for value in values if isinstance(value, ModuleType)] if module.__name__ == "scipy" else []
    )
    return [*values, *(value for inner in modules for value in _named(inner, names))]


def _of_class(kind: type[Any]) -> Iterable[Any]:
    return (*vars(kind).values(), *kind.__bases__) if is_copied_class(kind) else ()


def _of_object(value: Any) -> Iterable[Any]:
    kind = cast("type[Any]", type(value))
    try:
        return [kind, *object.__getattribute__(value, "__dict__").values()]
    except Exception:  # it has slots, or a property of the user's instead
        return [kind]


def _elements(container: Any) -> Iterable[Any]:
    return itertools.islice(container, LOOKED_AT)


def _values(table: Any) -> Iterable[Any]:
    return itertools.islice(table.values(), LOOKED_AT)


#: The parts of objects of Python's own classes that hold functions.
_WRAPPERS: dict[type[Any], _Parts] = {
    functools.partial: lambda bound: (bound.func, *bound.args, *bound.keywords.values()),
    property: lambda member: (member.fget, member.fset),
    **dict.fromkeys((staticmethod, classmethod), lambda member: (member.__func__,)),
    **dict.fromkeys(
        (functools.singledispatchmethod, functools.cached_property), lambda member: (member.func,)
    ),
}
_rules: weakref.WeakKeyDictionary[type[Any], _Parts | None] = weakref.WeakKeyDictionary(
    {
        **dict.fromkeys(_DATA),
        FunctionType: _of_function,
        MethodType: lambda method: (method.__func__, method.__self__),
        functools._lru_cache_wrapper: lambda cached: (cached.__wrapped__,),  # pyright: ignore[reportPrivateUsage]
        **_WRAPPERS,
        **{kind: _values if hasattr(kind, "values") else _elements for kind in CONTAINERS},
        **dict.fromkeys((*HOLDERS, SimpleNamespace), _of_object),
    }
)


def _facts_of(code: CodeType) -> _Facts:
    return _read(code) if is_copied_file(code.co_filename) else _Facts(False, _searches(code), False, ())


def _searches(code: CodeType) -> bool:
    """Return whether code of SciPy's searches until a number is exact enough, or names the module of such functions."""
    if any(part in code.co_filename for part in _SEARCHES):
        return True
    inner = (inside for inside in code.co_consts if isinstance(inside, CodeType))
    is_scipys = _SCIPY in code.co_filename
    return is_scipys and ("optimize" in code.co_names or any(map(_searches, inner)))


#: By identity, because Python hashes code by all of its instructions.
_facts = ByIdentity(_facts_of)


def _read(code: CodeType) -> _Facts:
    """Return the facts of code with the functions inside of it."""
    names, inner = code.co_names, [_read(inside) for inside in code.co_consts if isinstance(inside, CodeType)]
    texts = {text for text in code.co_consts if isinstance(text, str)}
    asks = (
        ("type" in names and _asks_type(code))
        or (("hasattr" in names or "getattr" in names) and not texts.isdisjoint(_ATTRIBUTES))
        or (not _ABSTRACT.isdisjoint(names) and ("isinstance" in names or "issubclass" in names))
        or any(facts.asks for facts in inner)
    )
    compares = _compares_truths(code) or any(facts.compares for facts in inner)
    reached = tuple(dict.fromkeys([*names, *(name for facts in inner for name in facts.names)]))
    return _Facts(True, asks, compares, reached)


def _asks_type(code: CodeType) -> bool:
    """Return whether code uses `type` for anything but ``type(self)`` and ``type(cls)``."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("PUSH_NULL", "CACHE")]
    return any(
        step.argval == "type" and step.opname.startswith("LOAD") and after.argval not in ("self", "cls")
        for step, after in itertools.pairwise(steps)
    )


def _compares_truths(code: CodeType) -> bool:
    """Return whether code has ``x is True`` or the like."""
    if True not in code.co_consts and False not in code.co_consts:
        return False
    steps = [step for step in dis.get_instructions(code) if step.opname != "CACHE"]
    return any(
        after.opname == "IS_OP" and (step.argval is True or step.argval is False)
        for step, after in itertools.pairwise(steps)
    )


class _Truths(threading.local):
    made = 0
    """How many truth values of Python's this thread has made that only a run knows."""
    before = 0
    """How many before the outermost trace that is open."""


_truths = _Truths()


def note_truth() -> None:
    """Note that a trace on types alone makes a truth value of Python's."""
    _truths.made += 1


class Judged:
    """Runs a function that must not ask a value that only a run knows past its box, but with rewritten branches.

    It may compare a truth value by ``is``, or make a text, on which more may depend than what a reader sees.

    Args:
        function: the user's.
        traces: whether it is traced on types alone.
        is_staged: whether the branches of a function that it reaches are rewritten, or those of the run.

    Raises:
        ConcreteError: it may have done so; then the run may have raised any exception, too.
    """

    __slots__ = ("_before", "_function", "_is_staged", "_texts", "_traces")

    def __init__(self, function: Any, traces: bool, is_staged: Callable[..., bool]) -> None:
        self._function, self._traces, self._is_staged = function, traces, is_staged

    def __enter__(self) -> None:
        if not RUNNING.traced:
            _truths.before = _truths.made
        self._before, self._texts = _truths.before, RUNNING.texts

    def __exit__(self, kind: Any, problem: BaseException | None, traceback: Any) -> None:
        if problem is not None and (not isinstance(problem, Exception) or isinstance(problem, ConcreteError)):
            return
        if RUNNING.texts != self._texts and not self._is_staged():
            text = message(
                "str", "only a run knows the value", "a text of it", "write print(x) to show a value"
            )
        elif _truths.made != self._before and _reach(self._may_err, [self._function]):
            hint = "write if x, or x == True"
            text = message("is", "only a run knows the truth value", "x is True", hint)
        else:
            return
        found = ConcreteError(text)
        found.is_traced = self._traces or RUNNING.traced > 0
        raise found from problem

    def _may_err(self, function: FunctionType) -> bool:
        return _facts.of(function.__code__).compares and not self._is_staged(function)
