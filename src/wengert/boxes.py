"""Boxes, and the transforms they belong to.

A transform makes a `Trace` and wraps the values it follows into boxes of that trace. An operation on
boxes is handed to the newest trace among its operands, which does its part and calls the operation
again on what the boxes hold: values of older traces, and in the end arrays. Traces are numbered as they
are made, and an inner transform is always made after the outer ones, so that the number alone tells which is
inside: there is no stack to keep, and two threads cannot disturb one another.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
from collections.abc import Callable, Generator, Iterable
from typing import Any, ClassVar

import numpy as np

from wengert.core.dtypes import Dtype
from wengert.core.errors import (
    ConcreteError,
    LeakError,
    LostDerivativeError,
    UnsupportedError,
    WengertError,
    is_installed,
    is_raised_by_user,
    line_of,
    message,
    raised_at,
)
from wengert.core.shapes import Shape, shape_of
from wengert.ir.types import TensorType

_levels = itertools.count()
#: What code in C says where it was given a box and needs something else.
_REFUSED = re.compile(r"\bnot '?Array'?$")


class Trace:
    """One running transform: it says what an operation on its boxes means."""

    name: str = "transform"
    traced: ClassVar[bool] = False
    """Whether a box stands for a type alone, with no number behind it in any transform."""
    staging: ClassVar[bool] = False
    """Whether operations are written down in a graph."""

    def __init__(self) -> None:
        self.level = next(_levels)
        self.open = True

    def process(self, primitive: Any, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Carry out ``primitive`` on operands of which at least one is a box of this trace."""
        raise NotImplementedError

    def box(self, state: Any) -> Any:
        """Wrap what this trace knows of a value into a box."""
        return Box.surface(self, state)

    def check_open(self, operation: str) -> None:
        """Raise `LeakError` where the transform has ended."""
        if not self.open:
            what = f"a value of a {self.name} that has ended was used"
            hint = "return it from the function (of wg.grad with has_aux=True), or take wg.stop_gradient(x) inside"
            raise LeakError(message(operation, what, hint=hint))

    def concrete(self, state: Any) -> Any:
        """Return the array behind a box's state, or None where only its type is known."""
        return None


class Box:
    """A cell that holds a value inside a transform.

    ``state`` is immutable and belongs to the trace ``owner``; an in-place write of the user's rebinds the two. A box
    that NumPy would call a view of another has a ``lens``, and is brought up to date before it is read.
    """

    __slots__ = ("__weakref__", "lens", "owner", "state")
    surface: ClassVar[type[Any]]
    """The class that the user meets: a Box with operators and NumPy's protocols."""

    def __init__(self, trace: Trace, state: Any) -> None:
        self.owner = trace
        self.state = state
        self.lens: Lens | None = None

    def refresh(self) -> None:
        """Read again from the base of a view if what it is a view of was written."""
        lens = self.lens
        if lens is None or lens.origin is lens.root.state:
            return
        stale: list[tuple[Box, Lens]] = []
        cell: Box = self
        while (lens := cell.lens) is not None and lens.origin is not lens.root.state:
            stale.append((cell, lens))
            cell = lens.base
        for view, lens in reversed(stale):  # a chain of views may be longer than Python's stack is deep
            # A view is as old as its base, and no part of what is recorded.
            seen = lens.read(lens.base) if RUNNING.recorder is None else unrecorded(lens.read, lens.base)
            current = boxed(seen)
            view.owner, view.state, lens.origin = current.owner, current.state, lens.root.state

    def write(self, value: Box) -> None:
        """Make this cell, and all that it is a view of, hold a new value."""
        written: list[tuple[Box, Lens, Box]] = []
        cell = self
        while (lens := cell.lens) is not None:  # all values before any write: a read-only view refuses
            written.append((cell, lens, value))
            cell, value = lens.base, boxed(lens.write(lens.base, value))
        cell.hold(value)
        for view, lens, seen in written:
            view.owner, view.state, lens.origin = seen.owner, seen.state, cell.state

    def hold(self, value: Box) -> None:
        """Make this cell, which is no view, hold a new value."""
        self.owner, self.state = value.owner, value.state

    @property
    def shape(self) -> Shape:
        """The shape, as NumPy has it."""
        self.refresh()
        return shape_of(self.state)

    @property
    def dtype(self) -> Dtype:
        """The dtype, as NumPy has it."""
        self.refresh()
        return self.state.dtype

    @property
    def weak(self) -> bool:
        """Whether a Python scalar stands behind this value."""
        self.refresh()
        return getattr(self.state, "weak", False)

    @property
    def type(self) -> TensorType:
        """The dtype and shape."""
        return TensorType(self.dtype, self.shape, self.weak)


class Lens:
    """How a box is a view of its base: read it from there, write it back there.

    All views of an array, and views of views, know it as their ``root``. A write to any of them changes it, so that
    a look at the root tells whether a view is up to date.

    Args:
        base: what it is a view of.
        read: takes the base, and returns what the view sees of it.
        write: takes the base and a value of the view, and returns what the base becomes.
        index: the subscript that the view was taken with, if it was.
        layout: the same as ``read`` for plain arrays, and as a view of them.
    """

    __slots__ = ("base", "index", "layout", "memory", "origin", "read", "root", "write")

    def __init__(self, base: Box, read: Any, write: Any, index: Any = None, layout: Any = None) -> None:
        self.base = base
        self.root: Box = base if base.lens is None else base.lens.root
        self.origin = base.state if base.lens is None else base.lens.origin
        self.read = read
        self.write = write
        self.index = index
        self.layout = layout or read
        self.memory: Any = None
        """An array with the strides that NumPy would give to the view, once it is asked for."""


class Known:
    """The state of a box that holds a plain array: a value that no transform follows (yet)."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def shape(self) -> Shape:
        """The array's shape."""
        return shape_of(self.value)

    @property
    def dtype(self) -> Dtype:
        """The array's dtype."""
        return self.value.dtype


class ConstantTrace(Trace):
    """The oldest trace: its boxes hold plain arrays, into which a program may write boxes."""

    name = "constant"

    def process(self, primitive: Any, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Evaluate, and box what the program may go on to write to."""
        values = [x.state.value if isinstance(x, Box) else x for x in operands]
        result = primitive(*values, **params)
        if isinstance(result, tuple):
            return tuple(map(self.constant, result))  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
        return self.constant(result)

    def constant(self, value: Any) -> Any:
        """Box an array that the program may go on to write to; scalars stay as they are."""
        return self.box(Known(value)) if isinstance(value, np.ndarray) else value

    def concrete(self, state: Any) -> Any:
        """Return the array."""
        return state.value


CONSTANT = ConstantTrace()


def boxed(value: Any) -> Any:
    """Return a value as a box; even a scalar, which a view of one element is."""
    return value if isinstance(value, Box) else CONSTANT.box(Known(np.asarray(value)))


class _Running(threading.local):
    depth = 0
    traced = 0
    """How many traces are open whose boxes stand for types alone."""
    recorder: Trace | None = None
    complaint: WengertError | None = None
    """What was said last of a value that gives no number."""


#: What this thread is running.
RUNNING = _Running()


@contextlib.contextmanager
def running(trace: Trace) -> Generator[Trace, None, None]:
    """Keep a trace open while a user's function runs in it."""
    RUNNING.depth += 1
    RUNNING.traced += trace.traced
    try:
        yield trace
    except Exception as problem:
        hidden = _hidden_by(problem)
        if hidden is None:
            raise
        raise hidden from None
    finally:
        RUNNING.depth -= 1
        RUNNING.traced -= trace.traced
        if not RUNNING.depth:
            RUNNING.complaint = None  # its traceback holds the user's arrays
        trace.open = False


def _hidden_by(problem: Exception) -> WengertError | None:
    """Return the error that a box raised, where code in C hides it behind one of its own; None for other errors.

    NumPy hides it when a box is written into a plain array, or asked for a size; SciPy, when a function that it was
    given returns a box.
    """
    said, RUNNING.complaint = RUNNING.complaint, None
    if isinstance(problem, WengertError):
        return None
    cause = problem.__cause__
    while isinstance(problem, (ValueError, SystemError)) and cause is not None:
        if isinstance(cause, (LostDerivativeError, ConcreteError)):
            return cause
        cause = cause.__cause__
    where = raised_at(problem)
    is_theirs = isinstance(problem, TypeError) or is_installed(problem)
    if said is not None and where and is_theirs and line_of(str(said)) == where:
        return said
    if isinstance(problem, TypeError) and _REFUSED.search(str(problem)) and not is_raised_by_user(problem):
        hint = "compute it outside, or give up the derivative: wg.stop_gradient(x)"
        return UnsupportedError(f"{problem}: the call takes no value inside a transform; {hint}. [{where}]")
    return None


@contextlib.contextmanager
def recording(trace: Trace | None) -> Generator[None, None, None]:
    """Give ``trace`` every operation on older boxes, even if none of its own is among their operands."""
    before = RUNNING.recorder
    RUNNING.recorder = trace
    try:
        yield
    finally:
        RUNNING.recorder = before


def unrecorded(function: Callable[[Box], Any], value: Box) -> Any:
    """Call a function without the recorder: its operations go to the traces of their operands alone."""
    with recording(None):
        return function(value)


def charged(trace: Trace) -> Trace:
    """Return the trace that carries out an operation whose newest operand belongs to ``trace``."""
    recorder = RUNNING.recorder
    return trace if recorder is None or trace.level > recorder.level or trace is CONSTANT else recorder


def newest(values: Iterable[Any]) -> Trace | None:
    """Return the trace that would carry out an operation on ``values``; None where no value is a box."""
    top = max((v.owner for v in values if isinstance(v, Box)), key=lambda trace: trace.level, default=None)
    return None if top is None else charged(top)


def inside_transform() -> bool:
    """Tell whether this thread is running a user's function inside a transform."""
    return RUNNING.depth > 0


def below(value: Box) -> Any:
    """Return the value of an older transform that a box stands on; None for a variable of a graph."""
    value.refresh()
    state = value.state
    return state.primal if hasattr(state, "primal") else getattr(state, "value", None)


def on_graph(value: Any) -> bool:
    """Tell whether a value ultimately rests on one of a graph, of which only the type is known."""
    while isinstance(value, Box):
        if value.owner.staging:
            return concrete(value) is None
        value = below(value)
    return False


def snapshot(value: Any) -> Any:
    """Return ``value`` so that no later in-place write of the user's can reach it."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K") if value.flags.writeable else value  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType]
    if isinstance(value, Box):
        value.refresh()
        if value.owner is CONSTANT:
            return value.state.value
        return value.owner.box(value.state)
    return value


def own(value: Any) -> Any:
    """Return a value that no later in-place write reaches, and that can be written to itself."""
    if isinstance(value, Box):
        value.refresh()
        return value.owner.box(value.state)
    return value.copy() if isinstance(value, np.ndarray) else value  # pyright: ignore[reportUnknownVariableType]


def concrete(value: Any) -> Any:
    """Return the array or scalar behind a value, or None where a trace knows only its type."""
    if isinstance(value, Box):
        value.refresh()
        return value.owner.concrete(value.state)
    return value
