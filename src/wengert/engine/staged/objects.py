"""The mutable objects that functions reach, and what they hold: compared, and put back, around the trace of a block."""

from __future__ import annotations

import functools
import io
import itertools
import operator
import random
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import BuiltinMethodType, CellType, CodeType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.core.copied_files import is_copied_class, is_copied_file
from wengert.engine.staged.columns import Columns
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.grown import Grown, Held
from wengert.engine.staged.tables import Row, Table
from wengert.engine.transforms.copied_globals import Globals, scope_of

#: How many objects that a block reaches are compared.
_MOST = 1 << 15
#: Python's containers, and NumPy's, of elements of any type.
DICT, LIST, SET, ARRAY = cast("tuple[Any, Any, Any, Any]", (dict, list, set, np.ndarray))
#: The packages whose objects are no part of a program.
_OWN = ("wengert.engine", "wengert.compiler")
#: A plain array of more bytes is compared by a checksum.
_LARGE = 1 << 20
#: Objects that hold no other ones.
_PLAIN: Any = (Box, str, bytes, int, float, complex, type(None), np.generic)
#: What classes have beside the user's own attributes.
_OF_CLASSES = ("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__")
_SEQUENCES = (deque, bytearray)
#: Iterators that go on in others, which are compared.
_ADAPTERS = (zip, map, filter, enumerate)
#: Iterators of lists.
_OF_LISTS: Any = (type(iter([])), type(reversed([])))
#: Generators of random numbers.
_GENERATORS: Any = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)


#: The generators that functions of modules draw from.
_OF_PROCESS = [function.__self__ for function in (random.random, np.random.random_sample)]


def visited(items: Sequence[Any]) -> list[Any]:
    """Return all objects that functions or other objects reach, but for numbers and texts."""
    return [*_visited(items)]


def reached(functions: Sequence[FunctionType]) -> list[Any]:
    """Return the lists, dicts, sets, plain arrays, objects with slots and classes that functions reach.

    The attributes of objects are dicts.
    """
    return [item for item in _visited([*functions, *_OF_PROCESS]) if _is_mutable(item)]


def _visited(items: Iterable[Any]) -> Iterator[Any]:
    waiting: list[Any] = [*items]
    seen: set[int] = set()
    kept: list[Any] = []  # an object that is made here must not give its identity to another one
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, _PLAIN):
            continue
        seen.add(id(item))
        kept.append(item)
        if len(seen) > _MOST:
            requirement = f"a block whose runs only a run knows reaches more than {_MOST} objects"
            raise refusal("staging", requirement, hint="give the function fewer objects: arrays of numbers")
        yield item
        waiting += parts_of(item)


def _is_mutable(item: Any) -> bool:
    if type(item) in (Grown, Columns, Table, Row):
        return type(item) is Grown  # the lists of columns change, not what holds them
    if isinstance(item, (list, dict, set, CellType, *_SEQUENCES)) or _is_consumed(item):
        return True
    if isinstance(item, np.ndarray):
        return item.flags.writeable and item.dtype.kind in "biufc"
    if isinstance(item, type):
        return is_users_class(item)
    return bool(slots_of(type(item))) or _users_module(item) is not None


def _is_consumed(item: Any) -> bool:
    """Return whether a call takes something out of an object: an iterator, a file, a generator of random numbers."""
    if isinstance(item, io.IOBase):
        return not item.closed and item.readable()
    is_iterator = isinstance(item, Iterator) and not isinstance(item, (*_ADAPTERS, type))
    return isinstance(item, _GENERATORS) or (is_iterator and not is_users_class(type(item)))


def is_users_class(kind: type) -> bool:
    """Return whether a class is one of a program, or the copy of one."""
    return is_copied_class(tree.original_class(kind))


@functools.lru_cache(maxsize=1024)
def slots_of(kind: type) -> tuple[str, ...]:
    """Return the names of the attributes for which a class of a program has slots."""
    if issubclass(kind, (tuple, type)) or not is_users_class(kind):
        return ()
    made: list[str] = []
    for base in kind.__mro__:
        names = vars(base).get("__slots__", ())
        names = (names,) if isinstance(names, str) else names
        made += (
            f"_{base.__name__.lstrip('_')}{name}" if name[:2] == "__" != name[-2:] else name for name in names
        )
    return tuple(name for name in made if name not in _OF_CLASSES)


def parts_of(item: Any) -> Iterable[Any]:
    """Return what an object holds."""
    if type(item) is Grown:
        return ()
    if type(item) is Columns:
        return [item.lists]
    if type(item) is Table:
        return [item.flat]
    if type(item) is Row:
        return [item.table]
    for kinds, parts in _PARTS:
        if isinstance(item, kinds):
            return parts(item)
    return _of_object(item)


def _of_dict(item: dict[Any, Any]) -> list[Any]:
    if isinstance(item, Globals):  # those of the user count that code names
        return [item[name] for name in item.assigned()]
    return [*dict.values(item)]


def _of_generator(item: Any) -> list[Any]:
    return [] if item.gi_frame is None else [*item.gi_frame.f_locals.values()]


def _of_cell(cell: CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


def _users_module(item: Any) -> ModuleType | None:
    """Return a module of a program, given it or its copy; None for other objects."""
    if not isinstance(item, ModuleType):
        return None
    users = vars(item).get("_module", item)
    file = getattr(users, "__file__", None)
    is_users = users.__name__ == "__main__" or (isinstance(file, str) and is_copied_file(file))
    return users if is_users else None


def attributes(item: Any) -> dict[str, Any] | None:
    """Return the dict of an object's attributes, which a copy of the object has as well; None if it has none."""
    try:
        return object.__getattribute__(item, "__dict__") if type(item).__dictoffset__ else None
    except AttributeError:
        return None


def _of_object(item: Any) -> Iterable[Any]:
    """Return the dict of an object's attributes, and its class; of Wengert's own objects the functions they hold."""
    kind = cast("type[Any]", type(item))
    held = attributes(item)
    if not kind.__module__.startswith(_OWN) or is_users_class(kind):
        return [*([] if held is None else [held]), *_slots(item).values(), kind]
    if held is None:
        return []
    is_loop = kind.__module__.startswith(__package__ or "")
    return [
        value
        for value in held.values()
        if isinstance(value, (FunctionType, MethodType)) or (is_loop and hasattr(value, "functions"))
    ]


def _slots(item: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in slots_of(type(item)):
        try:
            found[name] = object.__getattribute__(item, name)
        except AttributeError:
            continue
    return found


def _of_function(function: FunctionType) -> list[Any]:
    made: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    made += [value for cell in function.__closure__ or () for value in _of_cell(cell)]
    if not (isinstance(function.__globals__, Globals) or is_copied_file(function.__code__.co_filename)):
        return made
    scope = scope_of(function.__globals__)
    cells = function.__closure__ or ()
    return [*made, *cells, vars(function), scope, *named(function.__code__, scope)]


def named(code: CodeType, scope: Any) -> list[Any]:
    """Return the global objects of a program that code names.

    Args:
        code: of a function.
        scope: its globals; those of a copy refer to the user's.
    """
    users, names = getattr(scope, "users", scope), _names(code)
    found = [users[name] for name in names if name in users]
    modules = [module for value in found if (module := _users_module(value)) is not None]
    return [*found, *(vars(module)[name] for module in modules for name in names if name in vars(module))]


@functools.lru_cache(maxsize=4096)
def _names(code: CodeType) -> tuple[str, ...]:
    """Return the names of globals, and attributes, in code and the functions inside."""
    inner = (name for part in code.co_consts if isinstance(part, CodeType) for name in _names(part))
    return tuple(dict.fromkeys((*code.co_names, *inner)))


#: What objects hold, by their classes.
_PARTS: tuple[tuple[Any, Callable[[Any], Iterable[Any]]], ...] = (
    (dict, _of_dict),
    ((list, set, tuple, frozenset, deque), lambda item: item),
    (MethodType, lambda item: [item.__func__, item.__self__]),
    (FunctionType, _of_function),
    (BuiltinMethodType, lambda item: [item.__self__]),
    (CellType, _of_cell),
    (GeneratorType, _of_generator),
    (functools.partial, lambda item: [item.func, item.args, item.keywords]),
    (_ADAPTERS, lambda item: item.__reduce__()[1]),
    (_OF_LISTS, lambda item: item.__reduce__()[1][:1]),
    ((np.ndarray, bytearray, ModuleType), lambda _: []),
    (type, lambda item: [*vars(item).values()] if is_users_class(item) else []),
    ((staticmethod, classmethod), lambda item: [item.__func__]),
    (property, lambda item: [part for part in (item.fget, item.fset) if part is not None]),
)


# -- what objects hold -----------------------------------------------------------------------------------


def content_of_object(item: Any) -> Any:
    """Return a copy of what a mutable object holds; a large array is told from others by a checksum."""
    if type(item) is Grown:
        return [*item.held]
    if isinstance(item, ARRAY):
        return item.copy() if item.nbytes <= _LARGE else zlib.crc32(item.tobytes())
    if isinstance(item, DICT):
        return dict(DICT.items(item))
    if isinstance(item, LIST):
        return [*LIST.__iter__(item)]
    if isinstance(item, SET):
        return frozenset(SET.__iter__(item))
    if isinstance(item, CellType):
        return _of_cell(item)
    if isinstance(item, _SEQUENCES):
        return list(cast("Any", item))
    if _is_consumed(item):
        return _position(item)
    if isinstance(item, type):
        return {name: value for name, value in vars(item).items() if name not in _OF_CLASSES}
    module = _users_module(item)
    return _slots(item) if module is None else dict(vars(module))


def _position(item: Any) -> Any:
    """Return what tells how much was taken out of an object; a new object where it does not tell."""
    match item:
        case GeneratorType():
            frame = cast("Any", item).gi_frame
            return None if frame is None else {**frame.f_locals, "": frame.f_lasti}
        case itertools.count():
            return repr(item)
        case random.Random():
            return item.getstate()
        case np.random.Generator():
            return _settings(item.bit_generator.state)
        case np.random.RandomState():
            return _settings(item.get_state(legacy=False))
        case np.random.BitGenerator():
            return _settings(item.state)
        case io.IOBase() if item.seekable():
            return item.tell()
        case _:
            left = operator.length_hint(item, -1)
            return left if left >= 0 else object()


def _settings(state: Any) -> Any:
    """Return the state of a generator of random numbers as values that can be compared."""
    if isinstance(state, DICT):
        return tuple((name, _settings(part)) for name, part in DICT.items(state))
    return state.tobytes() if isinstance(state, ARRAY) else state


def is_unchanged(item: Any, before: Any) -> bool:
    """Return whether a mutable object holds what it held."""
    now: Any = content_of_object(item)
    if isinstance(item, ARRAY):
        return now == before if isinstance(now, int) else now.tobytes() == before.tobytes()
    if isinstance(now, DICT) and isinstance(before, DICT):
        return now.keys() == before.keys() and all(now[key] is before[key] for key in before)
    if isinstance(now, list):
        return len(now) == len(before) and all(map(_is, now, before))
    return now == before


def _is(one: Any, other: Any) -> bool:
    return one is other


def restore(item: Any, before: Any) -> bool:
    """Give a mutable object a content that it had; return whether that can be done."""
    if is_unchanged(item, before):
        return True
    if type(item) is Grown:
        item.held = Held(*before)
    elif isinstance(item, ARRAY):
        if isinstance(before, int):
            return False
        item[...] = before
    elif _is_consumed(item):
        return False
    elif isinstance(item, CellType):
        _fill(item, before)
    elif isinstance(item, DICT):
        DICT.clear(item)
        DICT.update(item, before)
    elif isinstance(item, LIST):
        LIST.__setitem__(item, slice(None), before)
    elif isinstance(item, SET):
        SET.clear(item)
        SET.update(item, before)
    elif isinstance(item, _SEQUENCES):
        cast("Any", item).clear()
        cast("Any", item).extend(before)
    else:
        _restore_attributes(item, before)
    return True


def _fill(cell: CellType, content: list[Any]) -> None:
    if content:
        (cell.cell_contents,) = content
    else:
        del cell.cell_contents


def _restore_attributes(item: Any, before: dict[str, Any]) -> None:
    item = _users_module(item) or item
    kind: Any = next(kind for kind in (type, ModuleType, object) if isinstance(item, kind))
    setting, deleting = kind.__setattr__, kind.__delattr__
    now = content_of_object(item)
    for name, value in before.items():
        if name not in now or now[name] is not value:
            setting(item, name, value)
    for name in now.keys() - before.keys():
        deleting(item, name)
