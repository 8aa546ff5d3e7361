"""Programs with plain imports: a function that loses a value among plain arrays runs again with substitutes.

NumPy dispatches most of its functions on boxes, but not `np.zeros`, `np.array` and others that make arrays. SciPy and
`math` convert their arguments. A transform runs the user's function as it is. Where the run raises because a box would
become a plain array or number, the transform runs a copy of the function, whose names mean something else: `numpy` is
`wengert.numpy`, functions of SciPy and `math` that have a substitute take boxes, and the user's own functions, classes
and objects are such copies themselves. If that run succeeds, later calls begin with the copy.

Nothing is patched: NumPy, SciPy and the user's modules stay as they are, for other code and in other threads. A copy
has the code, the defaults and the closure of its function. It looks a name up in the user's module when it reads it.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import importlib
import itertools
import os
import threading
import weakref
from abc import ABCMeta
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import EnumMeta
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GenericAlias,
    MappingProxyType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np

from wengert.engine.array.array import DISPATCHED
from wengert.engine.array.substitutes import CALLERS, MODULES, STAND_INS, substitute_for
from wengert.engine.boxes import RUNNING, Box, boxed, concrete
from wengert.engine.core import tree
from wengert.engine.core.copied_files import is_copied_class, is_copied_file
from wengert.engine.core.dtypes import NUMPY_VALUE
from wengert.engine.core.errors import ConcreteError, StagingError, UncountedError, is_users, users_call
from wengert.engine.core.raised import is_raised_in, note_staged
from wengert.engine.ops.elementwise import UFUNCS
from wengert.engine.ops.special.scipy_ufuncs import of_scipy
from wengert.engine.transforms import turns
from wengert.engine.transforms.array_methods import calling_methods, method
from wengert.engine.transforms.builtin_names import BUILTINS, LOSSES, has_attribute, is_of_loss
from wengert.engine.transforms.class_copies import COPIERS, alias_copy, class_copy, is_copied, object_copy
from wengert.engine.transforms.copied_globals import GLOBALS, Globals, scope_of
from wengert.engine.transforms.guards import Judged, asks_for_types
from wengert.engine.transforms.math_functions import of_math
from wengert.engine.transforms.module_copies import MATHEMATICS, CopiedModule, copied_module
from wengert.engine.transforms.originals import FUNCTIONS, HOLDERS, Runs, contents
from wengert.engine.transforms.queues import Queue
from wengert.engine.transforms.rewriting_run import STAGING, STAGING_LOADERS
from wengert.engine.transforms.searches import keeping_derivatives
from wengert.engine.transforms.shared_containers import CONTAINERS, LOOKED_AT, SharedNamespace, View, shared
from wengert.engine.transforms.turns import ManyTurns
from wengert.engine.transforms.twins import TWINS, in_python

ResultT = TypeVar("ResultT")

#: Whether a run that loses a value is repeated with substitutes.
ENABLED = os.environ.get("WENGERT_SUBSTITUTE", "1") != "0"
#: Whether a run that needs the value of a condition is repeated with rewritten control flow.
STAGED = os.environ.get("WENGERT_STAGED", "1") != "0"

#: The code of the functions that need substitutes, and such functions of libraries.
_NEEDY: weakref.WeakSet[Any] = weakref.WeakSet()
#: The code among it that needs rewritten control flow: outside of traces on types alone, and inside.
_STAGED: tuple[weakref.WeakSet[Any], weakref.WeakSet[Any]] = weakref.WeakSet(), weakref.WeakSet()
#: When code entered or left these sets the last time, by the count of all such changes: threads share them.
_CHANGED: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
#: Types of values that have no substitute.
_DATA: Any = (bool, int, float, complex, str, bytes, type(None), np.ndarray, np.generic, Box)
#: The metaclasses of plain classes, of abstract ones, of protocols and of enumerations.
_METACLASSES = (type, ABCMeta, type(Protocol), EnumMeta)
#: Modules of functions that iterate until a value is exact enough; its derivative need not be. They have no copies.
_ITERATIVE = ("scipy.optimize", "scipy.integrate", "scipy.sparse")
_NOT_ITERATIVE = ("rosen", "rosen_der", "rosen_hess", "rosen_hess_prod")
#: SciPy's package of NumPy's functions by the names of the array API standard.
_NAMESPACE = ".array_api_compat."

# -- runs ------------------------------------------------------------------------------------------------


class _Mode(threading.local):
    staged = False
    """Whether copies have rewritten control flow."""
    many_turns: Any = None
    """The code whose loops are staged because they have many turns."""
    is_asked = True
    """Whether a function that asks for types past a box has a copy in its first run."""


_mode = _Mode()
_changes = itertools.count(1)


def _note(members: weakref.WeakSet[Any], code: Any, enters: bool) -> None:
    """Let code enter or leave the code that needs a kind of run."""
    (members.add if enters else members.discard)(code)
    _CHANGED[code] = _Run.now = next(_changes)


def attempt(function: Callable[..., Any], run: Callable[[], ResultT], traces: bool = False) -> ResultT:
    """Run a transform of a user's function; if it loses a value, run it once more with substitutes.

    Args:
        function: the user's function.
        run: runs the transform anew; it calls ``current(function)``.
        traces: whether the run traces the function on types alone.
    """
    for again in runs(function, traces=traces):
        with again, Judged(function, traces, functools.partial(_is_rewritten, function, traces)):
            return run()
    raise AssertionError


def _is_rewritten(root: Any, traces: bool, function: FunctionType | None = None) -> bool:
    """Return whether a run of a function has rewritten control flow, in a function that it reaches as well."""
    is_staged = _mode.staged or code_of(root) in _STAGED[traces or RUNNING.traced > 0]
    if function is None or not is_staged:
        return is_staged
    return STAGING[0].code(function.__code__, function.__globals__) is not None


def runs(function: Callable[..., Any], loss: Exception | None = None, traces: bool = False) -> Iterator[_Run]:
    """Yield a context for each run of a transform: as it is, with substitutes, and with rewritten control flow.

    A run that loses a value leaves its context without an error if another one follows.

    Args:
        function: the user's function.
        loss: the error of a first run that is over.
        traces: whether the run traces the function on types alone.
    """
    run = _Run(function, traces)
    if loss is not None and not run.__exit__(type(loss), loss, loss.__traceback__):
        raise loss
    yield run
    while run.goes_on:
        yield run


_ENDLESS = (
    "a recursion that ends by a value which only a run knows never ends in a trace: write a loop (while), "
    "or name the argument that ends it in static_argnums of wg.jit"
)


class _Run:
    """The runs of one transform."""

    now = 0
    """The count of changes of what code needs."""

    def __init__(self, function: Callable[..., Any], traces: bool) -> None:
        self._is_traced = (traces or RUNNING.traced > 0) and ENABLED and STAGED
        self.goes_on = False
        """Whether another run follows."""
        self._function = function
        self._losses: list[Exception] = []
        self._added: list[weakref.WeakSet[Any]] = []
        self._start = _Run.now
        self._loops = "unrolled"
        """How it takes loops of many turns: "unrolled", "staged", or "unrolled for good" as they cannot be staged."""
        self._before: Any = _mode.many_turns

    def __enter__(self) -> None:
        self._start = _Run.now
        if self._is_traced and _STAGED[True] and code_of(self._function) in _STAGED[True]:
            self._loops = "unrolled for good"
        if not self._is_traced or _mode.staged:
            return
        turns.watch(self)
        _mode.many_turns = code_of(self._function) if self._loops == "staged" else None

    def __exit__(self, kind: Any, problem: BaseException | None, traceback: Any) -> bool:
        self.goes_on = False
        if self._is_traced:
            _mode.many_turns = self._before
            if self._ends_for_turns(problem, turns.forget(self)):
                return True
        if problem is None:
            self._losses.clear()  # their frames hold the user's arrays
            return False
        code = code_of(self._function) if ENABLED and is_of_loss(problem) else None
        following = self._following(code, problem) if code is not None else None
        if following is not None:
            if code not in following:
                if following is not _NEEDY and self._added:  # eager transforms need no copies for that
                    _note(self._added.pop(), code, enters=False)
                _note(following, code, enters=True)
                self._added.append(following)
            self._losses.append(cast("Exception", problem))
            self.goes_on = True
            return True
        if self._is_traced and isinstance(problem, RecursionError) and not hasattr(problem, "__notes__"):
            problem.add_note(_ENDLESS)
        for added in self._added:
            _note(added, code_of(self._function), enters=False)
        # The advice for a call that fails each time is for the names that stand there.
        first, self._losses = next(iter(self._losses), None), []
        is_same = isinstance(problem, LOSSES) and not isinstance(problem, StagingError)
        is_same = is_same and not is_raised_in(traceback, "wengert.scipy.")  # which knows the reason
        if first is not None and is_same and users_call(problem) == users_call(first):
            raise first from None
        return False

    def _ends_for_turns(self, problem: BaseException | None, begun: dict[Any, int]) -> bool:
        """Return whether a run of many turns ends, or one that stages them, and another one follows."""
        has_many = isinstance(problem, ManyTurns) and problem.run is self
        if not has_many and not (isinstance(problem, Exception) and self._loops == "staged"):
            return False
        self._loops = "staged" if self._loops == "unrolled" else "unrolled for good"
        for trace, first in begun.items():
            trace.give_up(first)
        if isinstance(problem, UncountedError):  # a run that unrolls would have to be staged, too
            _note(_STAGED[True], code_of(self._function), enters=True)
            self._added.append(_STAGED[True])
        self.goes_on = True
        return True

    def has_many(self, in_all: int, in_one: int, most: int) -> bool:
        """Return whether a line was taken so often that the run ends, and another one follows.

        Args:
            in_all: how often in all graphs.
            in_one: how often in the present draft of a graph.
            most: how often in one draft, at most.
        """
        if self._loops == "staged":  # a loop is unrolled none the less
            return in_one > turns.MOST_DRAFTS or in_all > turns.MOST_DRAFTS * most
        if in_one <= turns.MOST_TURNS or self._loops == "unrolled for good":
            return False
        for load in STAGING_LOADERS:
            load()
        return bool(STAGING) and isinstance(code_of(self._function), CodeType)

    def _following(self, code: Any, problem: BaseException) -> weakref.WeakSet[Any] | None:
        """Return the functions of which the next run makes this one a member, or another thread has made it one."""
        staged = _STAGED[getattr(problem, "is_traced", False) or RUNNING.traced > 0]
        if _CHANGED.get(code, 0) > self._start:  # this run was one of before
            for members in (staged, _NEEDY):
                if code in members:
                    return members
        if code not in _NEEDY and code not in staged:
            return _NEEDY
        if not isinstance(problem, ConcreteError) or isinstance(problem, StagingError) or code in staged:
            return None
        for load in STAGING_LOADERS if STAGED else ():
            load()
        return staged if STAGING and STAGED and isinstance(code, CodeType) else None


def _staged_now() -> weakref.WeakSet[Any]:
    """Return the code that needs rewritten control flow, where types are known alone, or in other transforms."""
    return _STAGED[RUNNING.traced > 0]


def current(
    function: Callable[..., Any],
    arguments: Sequence[Any] = (),
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Callable[..., Any]:
    """Return the function to call in place of a user's: itself, or its copy if it needs substitutes.

    Args:
        function: the user's function.
        arguments: its arguments, which may be objects that ask for types.
        options: its keyword arguments.
    """
    staged = _staged_now()
    many_turns = _mode.many_turns
    code = code_of(function) if ENABLED and (_NEEDY or staged or many_turns) else None
    if code is not None and not _mode.staged and (code in staged or code is many_turns):
        return functools.partial(staged_call, function)
    is_needy = ENABLED and (
        (code is not None and code in _NEEDY)
        or (_mode.is_asked and asks_for_types(function, *arguments, *options.values()))
    )
    return _copied_call(function) if is_needy else function


@contextlib.contextmanager
def written_for_boxes() -> Generator[None]:
    """Let functions run as they are unless they lose a value, without warnings of kinks: they know other boxes."""
    before = _mode.is_asked, RUNNING.takes_choices
    _mode.is_asked, RUNNING.takes_choices = False, True
    try:
        yield
    finally:
        _mode.is_asked, RUNNING.takes_choices = before


def staged_call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call the copy of a function with rewritten control flow."""
    (staging,) = STAGING
    has_many_turns = code_of(function) is _mode.many_turns
    _mode.staged = True
    try:
        with staging.scope(has_many_turns):
            return staging.checked(_copied_call(function)(*arguments, **options))
    except Exception as problem:
        note_staged(problem)
        raise
    finally:
        _mode.staged = False


def _copied_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls the copy of a user's."""

    def call(*arguments: Any, **options: Any) -> Any:
        with Runs.run():
            copied = with_substitutes(function)
            named = {name: _argument(value) for name, value in options.items()}
            try:
                return contents(copied(*map(_argument, arguments), **named))
            finally:
                for scope in list(GLOBALS.values()):
                    scope.give_back()

    return call


def of_library(function: FunctionType) -> Callable[..., Any]:
    """Return a function that calls the copy of one that a library has written in Python."""

    def call(*arguments: Any, **options: Any) -> Any:
        with Runs.run():
            return contents(_copy_of(function)(*arguments, **options))

    return call


def _argument(value: Any) -> Any:
    """Return what stands for an argument; a plain array is one that can hold boxes, and so are its copies."""
    if type(value) is tuple:
        return tuple(map(_argument, cast("tuple[Any, ...]", value)))
    is_array = type(value) is np.ndarray and value.dtype.kind in "fiubc"  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    return boxed(value) if is_array else with_substitutes(value)


def code_of(function: Any) -> Any:
    """Return the code of a user's function, method or object with ``__call__``; None for other functions.

    A function of a library that has a substitute stands for itself.
    """
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    is_python = isinstance(function, (FunctionType, MethodType))
    called = function if is_python else getattr(type(function), "__call__", None)  # pyright: ignore[reportUnknownArgumentType]  # noqa: B004
    code = getattr(called, "__code__", None)
    if isinstance(code, CodeType) and is_users(code):
        return code
    has_substitute = with_substitutes(function) is not function  # pyright: ignore[reportUnknownArgumentType]
    target: Any = getattr(function, "__code__", function) if has_substitute else None  # pyright: ignore[reportUnknownArgumentType]
    # NumPy's own functions cannot be referred to weakly.
    return target if type(target).__weakrefoffset__ else None


# -- what stands for an object of a program --------------------------------------------------------------


def with_substitutes(value: Any) -> Any:
    """Return what stands for an object that a user's function names: a copy, a substitute, or the object itself.

    Example:
        >>> import math, wengert as wg
        >>> wg.grad(lambda x: math.exp(x))(0.0)
        1.0
    """
    if isinstance(value, _DATA) and not isinstance(type(value), EnumMeta):  # pyright: ignore[reportUnknownArgumentType]
        return value
    rule = _RULES.get(cast("type[Any]", type(value)))
    if rule is not None:
        return rule(value)
    if isinstance(value, type):
        if value in STAND_INS:
            return STAND_INS[value]
        return class_copy(value) if _is_users_class(value) and _has_none(value) else _of_library(value)
    is_copied = _is_users_class(type(value)) and _has_none(value)
    return object_copy(value) if is_copied else _of_library(value)


def _has_none(value: Any) -> bool:
    """Return whether nothing of Wengert's stands for an object of SciPy's."""
    return substitute_for(value) is None


def _of_library(value: Any) -> Any:
    """Return what stands for an object of a library, by the rule of its package; others stay as they are."""
    # An object of a class that is made in C may have no module of its own.
    module = (
        "numpy" if isinstance(value, np.ufunc) else getattr(value, "__module__", type(value).__module__) or ""
    )
    package = module.partition(".")[0]
    return _LIBRARIES[package](value) if package in _LIBRARIES else value


def _numpy_object(value: Any) -> Any:
    numpy = MODULES["numpy"]
    if isinstance(value, np.ufunc) and value not in UFUNCS:
        return value if of_scipy(value) is None else numpy.list_arguments.list_accepting(value)
    name = getattr(value, "__name__", "") or ("r_" if value is np.r_ else "c_")
    pairs = (np, numpy), (np.linalg, numpy.linalg)
    return next((getattr(own, name) for users, own in pairs if getattr(users, name, None) is value), value)


def _scipy_object(value: Any) -> Any:
    own = substitute_for(value)
    return next(substitute(value, own) for applies, substitute in _SCIPY_RULES if applies(value, own))


def _importing(load: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *names: with_substitutes(load(*names))


#: What stands for an object of a library, by its package.
_LIBRARIES: dict[str, Callable[[Any], Any]] = {
    "numpy": _numpy_object,
    "scipy": _scipy_object,
    "collections": lambda value: class_copy(Queue) if _mode.staged and value is deque else value,
    "importlib": lambda value: _importing(value) if value is importlib.import_module else value,
    **dict.fromkeys(MATHEMATICS, lambda function: _dispatched(function, of_math(function))),
    **dict.fromkeys(
        (*TWINS, *TWINS.values()), lambda value: _copy_of(in_python(value)) if _mode.staged else value
    ),
}
#: What stands for an object of SciPy: the first condition that holds for it and Wengert's own, if any, decides.
_SCIPY_RULES: tuple[tuple[Callable[[Any, Any], bool], Callable[[Any, Any], Any]], ...] = (
    (lambda x, own: own is None and not isinstance(x, FunctionType), lambda x, own: x),
    # An array of a namespace may be written to, as one of `wengert.numpy`.
    (lambda x, own: own is None and _NAMESPACE in x.__module__, lambda x, own: _of_source(x)),
    (
        lambda x, own: own is None and _is_iterative(x),
        lambda x, own: keeping_derivatives(x, _of_plain_arrays(x)),
    ),
    (lambda x, own: own is None, lambda x, own: _dispatched(_of_plain_arrays(x), _of_source(x))),
    (lambda x, own: isinstance(x, type), lambda x, own: own),
    (lambda x, own: own in CALLERS, lambda x, own: own),
    (lambda x, own: hasattr(x, "__name__"), lambda x, own: _dispatched(x, own)),
    # A frozen distribution.
    (lambda x, own: hasattr(x, "kwds"), lambda x, own: own(*x.args, **x.kwds)),
    # An object of a class, such as an interpolant made outside.
    (lambda x, own: hasattr(own, "of_scipys"), lambda x, own: own.of_scipys(x)),
    (lambda x, own: True, lambda x, own: own),
)


def _is_iterative(function: FunctionType) -> bool:
    return function.__module__.startswith(_ITERATIVE) and function.__name__ not in _NOT_ITERATIVE


@functools.cache
def _of_plain_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gets the arrays of a second run as the plain arrays that no transform follows."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        result = function(*map(_plain, arguments), **{name: _plain(value) for name, value in options.items()})
        # SciPy's functions ask others for the module to compute with.
        return with_substitutes(result) if isinstance(result, ModuleType) else result

    return call


def _of_source(function: FunctionType) -> Callable[..., Any]:
    """Return the copy of a function of SciPy's, with the error of plain arrays where it needs them."""
    return _or_refused(_copy_of(function), _of_plain_arrays(function))


@functools.cache
def _or_refused(copied: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return copied(*arguments, **options)
        except LOSSES:
            raise
        except (AttributeError, TypeError):
            return plain(*arguments, **options)
        except Exception:
            if _accepts_numbers(plain, arguments, options):
                return plain(*arguments, **options)
            raise

    return call


def _accepts_numbers(plain: Callable[..., Any], arguments: Any, options: Any) -> bool:
    """Return whether a function takes the numbers behind boxes, so that an error of its copy is of the boxes."""
    leaves = tree.leaves((arguments, options))
    if any(concrete(leaf) is None for leaf in leaves if isinstance(leaf, Box)):
        return False
    values, named = tree.map_tree(concrete, (arguments, options))
    try:
        plain(*values, **named)
    except Exception:
        return False
    return True


def _plain(value: Any) -> Any:
    return concrete(value) if isinstance(value, Box) and value.owner.plain else value


@functools.cache
def _dispatched(function: Callable[..., Any], substitute: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return a function that calls the substitute if an argument is or contains a box."""
    if substitute is None:
        return function

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        arguments = tuple(list(value) if isinstance(value, Iterator) else value for value in arguments)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
        is_followed = any(isinstance(leaf, Box) for leaf in tree.leaves((arguments, options)))
        return (substitute if is_followed else function)(*arguments, **options)

    return call


# -- copies of the user's functions ----------------------------------------------------------------------


@dataclass
class _Copy:
    """The copy of a function, and the run that it was last brought up to date for."""

    made: Any
    run: int = -1


#: The copies of functions, which hold their code and not themselves; the second ones have rewritten control flow.
_functions: tuple[weakref.WeakKeyDictionary[FunctionType, _Copy], ...] = (
    weakref.WeakKeyDictionary(),
    weakref.WeakKeyDictionary(),
)
#: The variables of enclosing functions that code assigns.
_assigned: weakref.WeakKeyDictionary[CodeType, frozenset[str]] = weakref.WeakKeyDictionary()


def _function(function: FunctionType) -> Any:
    """Return the copy of a user's function."""
    if isinstance(function.__globals__, Globals):
        return function if function in FUNCTIONS else _again(function)
    if function.__code__ is DISPATCHED.__code__:
        return _dispatcher(function)
    file, package = function.__code__.co_filename, (function.__module__ or "").partition(".")[0]
    is_copied = is_copied_file(file) and not (file == "<string>" and package in _LIBRARIES)  # of SciPy's exec
    return _copy_of(function) if is_copied and _has_none(function) else _of_library(function)


def _dispatcher(function: Any) -> Any:
    """Return the copy of a function of `functools.singledispatch`, for the user's classes and for their copies."""
    existing = Runs.copy_of(function)
    if existing is None:
        made: Any = functools.singledispatch(with_substitutes(function.registry[object]))
        existing = Runs.enter(function, made)
        for kind, chosen in function.registry.items():
            for registered in {kind, class_copy(kind) if _is_users_class(kind) else kind}:
                made.register(registered, with_substitutes(chosen))
    return existing


def _again(function: FunctionType) -> Any:
    """Return a function that an earlier run made, with the copies of the objects in its closure."""
    if Runs.copy_of(function) is None:
        Runs.enter(function, function)
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # not assigned yet
                if _is_users_class(type(cell.cell_contents)):
                    cell.cell_contents = with_substitutes(cell.cell_contents)
    return function


def _copy_of(function: FunctionType) -> Any:
    """Return the copy of a function that is written in Python."""
    copies = _functions[_mode.staged]
    copy = copies.get(function)
    if copy is None or not (copy.run == Runs.number or _fits(copy.made, function)):
        copy = copies[function] = _Copy(_without_contents(function))
    if copy.run != Runs.number:
        copy.run = Runs.number  # before the cells are filled, because one may hold the function itself
        _fill(copy.made, function)
    return copy.made


def _code_of_copy(code: CodeType, users: dict[str, Any]) -> CodeType:
    staged = STAGING[0].code(code, users) if _mode.staged else None
    return staged or calling_methods(code, users)


def _fits(made: FunctionType, function: FunctionType) -> bool:
    """Return whether a copy has the code of its function, and the same variables are shared."""
    code = function.__code__
    return made.__code__ is _code_of_copy(code, function.__globals__) and all(
        (cell is users_cell) == _is_shared(code, name, users_cell)
        for name, cell, users_cell in _cells(made, function)
    )


def _cells(made: FunctionType, function: FunctionType) -> Iterable[tuple[str, CellType, CellType]]:
    """Return the variables of the enclosing functions, with the cells of a copy and of its function."""
    names = function.__code__.co_freevars
    return zip(names, made.__closure__ or (), function.__closure__ or (), strict=True)


def _without_contents(function: FunctionType) -> FunctionType:
    """Return a copy of a function whose own cells are empty, without defaults."""
    users, code = function.__globals__, function.__code__
    scope = scope_of(users)
    cells = tuple(
        cell if _is_shared(code, name, cell) else CellType()
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
    )
    made = FunctionType(_code_of_copy(code, users), scope, function.__name__, closure=cells or None)
    made.__qualname__ = function.__qualname__
    made.__dict__ = vars(function)  # an attribute that either sets, both have
    FUNCTIONS[made] = weakref.ref(function)
    return made


def _is_shared(code: CodeType, name: str, cell: CellType) -> bool:
    """Return whether a copy has the user's own cell: for data, which may change, and where the code assigns to it."""
    try:
        if isinstance(cell.cell_contents, _DATA):
            return True
    except ValueError:  # not assigned yet
        return True
    if code not in _assigned:
        _assigned[code] = frozenset(_names_assigned(code))
    return name in _assigned[code]


def _names_assigned(code: CodeType) -> Iterator[str]:
    """Yield the variables of functions that code, or a function inside of it, assigns or deletes."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_DEREF", "DELETE_DEREF"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_assigned(constant)


def _fill(made: FunctionType, function: FunctionType) -> None:
    """Give a copy the present contents of the closure and the present defaults."""
    for _, cell, users_cell in _cells(made, function):
        if cell is not users_cell:
            cell.cell_contents = with_substitutes(users_cell.cell_contents)
    made.__defaults__ = with_substitutes(function.__defaults__)
    if function.__kwdefaults__ is not None:
        defaults = function.__kwdefaults__.items()
        made.__kwdefaults__ = {name: with_substitutes(value) for name, value in defaults}


def _method(method: MethodType) -> Any:
    function = method.__func__
    is_copied = isinstance(function, FunctionType) and is_copied_file(function.__code__.co_filename)
    if not is_copied or not _has_none(method):
        return _of_library(method)
    return MethodType(_function(function), with_substitutes(method.__self__))


def _builtin(function: BuiltinFunctionType) -> Any:
    owner = function.__self__
    return method(owner, function.__name__) if isinstance(owner, NUMPY_VALUE) else _of_library(function)


def _partial(partial: functools.partial[Any]) -> Any:
    named = {name: with_substitutes(value) for name, value in partial.keywords.items()}
    return functools.partial(with_substitutes(partial.func), *map(with_substitutes, partial.args), **named)


def _vectorized(function: np.vectorize) -> Any:
    options = [getattr(function, name) for name in ("otypes", "__doc__", "excluded", "cache", "signature")]
    return MODULES["numpy"].vectorize(with_substitutes(function.pyfunc), *options)


def _with_cache(function: Any) -> Any:
    """Return the copy of a function that keeps its results: values inside a transform are not keys."""
    existing = Runs.copy_of(function)
    if existing is not None:
        return existing
    copied = with_substitutes(function.__wrapped__)
    cached = functools.lru_cache(**function.cache_parameters())(copied)

    @functools.wraps(copied)
    def call(*arguments: Any, **options: Any) -> Any:
        is_followed = any(isinstance(leaf, Box) for leaf in tree.leaves((arguments, options)))
        return (copied if is_followed else cached)(*arguments, **options)

    for name in ("cache_parameters", "cache_info", "cache_clear"):
        setattr(call, name, getattr(cached, name))
    return Runs.enter(function, call)


def _container(values: Any) -> Any:
    """Return a container of functions or objects with their copies; other containers are data."""
    existing = Runs.copy_of(values)
    if existing is not None:
        return existing
    if not _holds_code(values, _DEPTH):
        return values
    if isinstance(values, MappingProxyType):
        return MappingProxyType({with_substitutes(key): with_substitutes(values[key]) for key in values})  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    if isinstance(values, (tuple, frozenset)):
        return type(values)(map(with_substitutes, values))  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    return shared(values, with_substitutes)


def _holds_code(value: Any, depth: int) -> bool:
    """Return whether functions or objects are among the first elements: a longer container of data costs no more."""
    kind = cast("type[Any]", type(value))
    if kind not in CONTAINERS:
        is_code = kind in _RULES or isinstance(value, type)
        return is_code or _is_users_class(kind) or substitute_for(value) is not None
    if not depth:
        return False
    return any(
        _holds_code(element, depth - 1)
        for elements in ((value, value.values()) if hasattr(kind, "values") else (value,))
        for element in itertools.islice(elements, LOOKED_AT)
    )


def _holder(users: Any) -> Any:
    """Return the copy of an object of a class of Python's library that holds containers."""
    existing = Runs.copy_of(users)
    if existing is None:
        existing = Runs.enter(users, object.__new__(type(users)))
        held = cast("dict[str, Any]", vars(users))
        vars(existing).update({name: with_substitutes(value) for name, value in held.items()})
    return existing


def _reference(users: Any) -> Any:
    """Return a weak reference to the copy of what one refers to."""
    value = users()
    copied = with_substitutes(value)
    return users if copied is value else type(users)(copied)


def _namespace(users: SimpleNamespace) -> Any:
    existing = Runs.copy_of(users)
    return Runs.enter(users, SharedNamespace(users, with_substitutes)) if existing is None else existing


#: How many containers inside one another are looked at for functions and objects.
_DEPTH = 4


def _is_users_class(kind: type) -> bool:
    """Return whether a class is the user's and may have a copy: exceptions are known by identity."""
    is_data = issubclass(kind, _DATA) and not isinstance(kind, EnumMeta)
    if is_copied(kind) or is_data or issubclass(kind, BaseException):
        return False
    is_plain = type(kind) in _METACLASSES or _is_users_class(type(kind))
    return is_copied_class(kind) and is_plain and substitute_for(kind) is None


_RULES: dict[Any, Callable[[Any], Any]] = {
    FunctionType: _function,
    MethodType: _method,
    BuiltinFunctionType: _builtin,
    functools.partial: _partial,
    functools._lru_cache_wrapper: _with_cache,  # pyright: ignore[reportPrivateUsage]
    np.vectorize: _vectorized,
    ModuleType: copied_module,
    SimpleNamespace: _namespace,
    GenericAlias: alias_copy,
    type(cast("Any", Generic)[ResultT]): alias_copy,
    **dict.fromkeys(CONTAINERS, _container),
    **dict.fromkeys(HOLDERS, _holder),
    **dict.fromkeys((weakref.ref, weakref.WeakMethod), _reference),
}
COPIERS.append(with_substitutes)


def _attribute(value: Any, name: str, *default: Any) -> Any:
    is_absent = default and isinstance(value, Box) and not has_attribute(value, name)
    return default[0] if is_absent else with_substitutes(getattr(value, name, *default))


def _vars(*arguments: Any) -> Any:
    if arguments and isinstance(arguments[0], CopiedModule):
        return View(vars(vars(arguments[0])["_module"]), with_substitutes)
    return cast("Any", vars(*arguments))


BUILTINS.update({"getattr": _attribute, "vars": _vars})
