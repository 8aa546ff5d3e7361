"""Boxes, and the traces that they belong to.

A transform makes a `Trace` and wraps the values that it follows into boxes of that trace. The newest trace among the
operands of an operation processes it: it does its part, and calls the operation again on the values of older traces
that its boxes hold, and finally on arrays. Traces are numbered as they are made. An inner transform is made after the
outer ones, so the number alone shows the nesting: there is no stack, and threads cannot disturb one another.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import sys
import threading
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

import numpy as np

from wengert.engine.core.calls import add_notes
from wengert.engine.core.dtypes import NDARRAY, SEQUENCE, Dtype, dtype_of
from wengert.engine.core.errors import (
    ConcreteError,
    LeakError,
    LostDerivativeError,
    StagingError,
    UnsupportedError,
    WengertError,
    is_asked_by_package,
    is_installed,
    is_raised_by_user,
    is_refused_by_standard,
    is_standard_class,
    line_of,
    located,
    message,
    package_function,
    raised_at,
    split_location,
    user_location,
)
from wengert.engine.core.float_classes import asked, error_of, is_made, requirement_of
from wengert.engine.core.handlers import is_swallowed
from wengert.engine.core.notebooks import hide_frames
from wengert.engine.core.selecting import SELECTING, Selecting
from wengert.engine.core.shapes import Shape, shape_of
from wengert.engine.ir.types import TensorType, is_weak

_levels = itertools.count()
#: The blocks under trace of all threads; while it is empty, no box is observed.
OBSERVED: list[Any] = []
#: What looks at a box, by its identity, before a write into it.
GUARDED: dict[int, Callable[[Box], None]] = {}
_NUMBERS = (NDARRAY, np.generic, bool, int, float, complex)
_new = object.__new__
#: The message of code that was given a box and names its type.
_REFUSED = r"(?<![.\w])'?Array'?(?![.\w(])"
_GIVEN_UP = "compute it outside, or give up the derivative: wg.stop_gradient(x)"
_HASHED = (
    "a value inside a transform is not a key: count in an array (count = np.zeros(n, int), then count[k] += 1), "
    "call the function without its cache (f.__wrapped__), or take the number as the key: float(wg.stop_gradient(x))"
)
#: The beginning of the message of `array_api_compat`, which SciPy uses too, for arrays of two libraries.
_MIXED = "Multiple namespaces for array inputs"
_UNMIXED = "write wengert.array_api.asarray(data) for the plain array"


class Trace:
    """One running transform: it defines what an operation on its boxes does."""

    name: str = "transform"
    traced: ClassVar[bool] = False
    """Whether a box stands for a type alone, with no number behind it in any transform."""
    staging: ClassVar[bool] = False
    """Whether operations are written to a graph."""
    plain: ClassVar[bool] = False
    """Whether a box holds a plain array."""
    batches: ClassVar[bool] = False
    """Whether a box holds the values of several examples, and no derivative."""
    ends: ClassVar[bool] = True
    """Whether the trace ends: with the user's function that runs in it."""
    box_class: ClassVar[type[Any]]
    """The class of the boxes that a user sees: with operators and NumPy's protocols."""

    def __init__(self) -> None:
        self.level = next(_levels)
        self.open = True
        self.thread = threading.get_ident()
        self.complaint: WengertError | None = None
        """The error of a box that another thread asked for its number: a thread does not pass its errors on."""
        self.conversion: WengertError | None = None
        """The last error of a conversion that NumPy does."""
        self.swallowed: WengertError | None = None
        """The first such error that the user's code caught, and went on."""

    def process(self, primitive: Any, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply ``primitive`` to operands of which at least one is a box of this trace."""
        raise NotImplementedError

    def box(self, state: Any) -> Any:
        """Wrap a state of this trace into a box."""
        box = _new(self.box_class)  # `__init__` would take as long as the rest of this method
        box.owner, box.state, box.lens, box.memory = self, state, None, None
        if OBSERVED and RUNNING.born is not None:
            RUNNING.born[id(box)] = box
        return box

    def check_open(self, operation: str) -> None:
        """Raise `LeakError` if the transform has ended."""
        if not self.open:
            requirement = f"a value of a {self.name} that has ended was used"
            hint = "return it from the function (of wg.grad with has_aux=True), or take wg.stop_gradient(x) inside"
            raise LeakError(message(operation, requirement, hint=hint))

    def concrete(self, state: Any) -> Any:
        """Return the array behind a state, or None where only the type is known."""
        return None

    def overwrite(self, cell: Box, part: Any, index: Any, selection: Any) -> bool:
        """Write a part into the array of a cell in place, or return False: the write then makes a new array.

        Args:
            cell: a box of this trace without a lens.
            part: the value to write, with the shape of the indexed part.
            index: the basic index, as the primitive ``place`` takes it.
            selection: the same index, as NumPy takes it.
        """
        return False


class State:
    """The state of a box that holds a value: an array, a number, or a box of an older trace."""

    __slots__ = ("value", "weak")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.weak = not isinstance(value, NDARRAY) and is_weak(value)
        """Whether the value is a Python scalar."""

    @property
    def shape(self) -> Shape:
        """The shape of the value."""
        try:
            return self.value.shape
        except AttributeError:  # a Python scalar
            return shape_of(self.value)

    @property
    def dtype(self) -> Dtype:
        """The dtype of the value."""
        try:
            return self.value.dtype
        except AttributeError:  # a Python scalar
            return dtype_of(self.value)


class Box:
    """A cell that holds a value inside a transform.

    ``state`` is immutable and belongs to the trace ``owner``; an in-place write rebinds both. A box that NumPy would
    call a view has a ``lens``, and is updated before it is read.
    """

    __slots__ = ("__weakref__", "lens", "memory", "owner", "state")

    def __init__(self, trace: Trace, state: Any) -> None:
        self.owner = trace
        self.state = state
        self.lens: Lens | None = None
        self.memory: Any = None
        """An array with the strides of NumPy's: of a view, made on first use; else None where it lies in rows."""

    def refresh(self) -> None:
        """Read a view again if its base was written."""
        lens = self.lens
        if lens is None or lens.origin is lens.root.state:
            return
        if not lens.is_short:
            lens.shorten()
        stale: list[tuple[Box, Lens]] = []
        cell: Box = self
        while (lens := cell.lens) is not None and lens.origin is not lens.root.state:
            stale.append((cell, lens))
            cell = lens.base
        # No recursion: a chain of views may be longer than Python's stack is deep.
        for view, lens in reversed(stale):
            # A view is as old as its base: a recorder does not write the read down.
            read = lens.view.read
            value = read(lens.base) if RUNNING.recorder is None else unrecorded(read, lens.base)
            current = boxed(value)
            view.owner, view.state, lens.origin = current.owner, current.state, lens.root.state

    def write(self, value: Box) -> None:
        """Make this cell, and all cells that it is a view of, hold a new value."""
        written: list[tuple[Box, Lens, Box]] = []
        cell = self
        if self.lens is not None and not self.lens.is_short:
            self.lens.shorten()
        while (lens := cell.lens) is not None:  # all values before any write: a read-only view refuses
            written.append((cell, lens, value))
            cell, value = lens.base, boxed(lens.view.write(lens.base, value))
        cell.hold(value)
        for view, lens, part in written:
            view.owner, view.state, lens.origin = part.owner, part.state, cell.state

    def hold(self, value: Box) -> None:
        """Make this cell, which has no lens, hold a new value."""
        if GUARDED and (guard := GUARDED.get(id(self))) is not None:
            guard(self)
        self.receive(value)

    def receive(self, value: Box) -> None:
        """Make this cell hold the value that a block under trace leaves in it."""
        if OBSERVED and (written := RUNNING.written) is not None and id(self) not in written:
            written[id(self)] = self, self.owner, self.state
        self.owner, self.state = value.owner, value.state

    @property
    def shape(self) -> Shape:
        """The shape, as in NumPy."""
        if (lens := self.lens) is not None and lens.origin is not lens.root.state:
            self.refresh()
        return self.state.shape

    @property
    def dtype(self) -> Dtype:
        """The dtype, as in NumPy."""
        if (lens := self.lens) is not None and lens.origin is not lens.root.state:
            self.refresh()
        return self.state.dtype

    @property
    def weak(self) -> bool:
        """Whether this value is a Python scalar."""
        if self.lens is not None:
            self.refresh()
        return getattr(self.state, "weak", False)

    @property
    def type(self) -> TensorType:
        """The dtype and shape."""
        return TensorType(self.dtype, self.shape, self.weak)


class View:
    """The part of its base that a view shows."""

    __slots__ = ()
    keeps_rows: ClassVar[bool] = False
    """Whether the axes of the view lie in rows, perhaps with gaps, if those of its base do."""

    def read(self, base: Any) -> Any:
        """Return the view's value."""
        raise NotImplementedError

    def write(self, base: Any, value: Any) -> Any:
        """Return the base with a value of the view written into it."""
        raise NotImplementedError

    def layout(self, memory: Any) -> Any:
        """Return the same part of a plain array, as a view of it."""
        return self.read(memory)

    def of_view(self, first: View, base: Shape, between: Shape) -> View | None:
        """Return the part that this view of another view shows of the first base, or None.

        Args:
            first: the other view.
            base: the shape of the first base.
            between: the shape of the other view.
        """
        return None


class Lens:
    """The base of a view, and the part of it that the view shows.

    All views of an array, and views of views, share its ``root``. A write to any of them changes the root's state, so
    comparing with the root shows whether a view is up to date.

    Args:
        base: the box that the view shows a part of.
        view: which part.
        index: the subscript that made the view, if one did.
    """

    __slots__ = ("base", "index", "is_in_rows", "is_short", "origin", "parent", "root", "view")

    def __init__(self, base: Box, view: View, index: Any = None) -> None:
        lens = base.lens
        self.base = self.parent = base
        """The base that the lens reads, and the box whose view was taken: `shorten` moves the first to the root."""
        if lens is None:
            self.root, self.origin = base, base.state
            self.is_in_rows = view.keeps_rows and base.memory is None
            """Whether the axes lie in rows, perhaps with gaps."""
        else:
            self.root, self.origin = lens.root, lens.origin
            self.is_in_rows = view.keeps_rows and lens.is_in_rows
        self.view = view
        self.index = index
        self.is_short = lens is None

    def shorten(self) -> None:
        """Read and write a view of views through as few bases as possible: a chain of them then takes linear time."""
        chain: list[Lens] = []
        lens: Lens | None = self
        while lens is not None and not lens.is_short:
            chain.append(lens)
            lens = lens.base.lens
        for lens in reversed(chain):  # no recursion: a chain may be longer than Python's stack is deep
            while (first := lens.base.lens) is not None:
                joined = lens.view.of_view(first.view, first.base.state.shape, lens.base.state.shape)
                if joined is None:
                    break
                lens.view, lens.base = joined, first.base
            lens.is_short = True


class ConstantTrace(Trace):
    """The oldest trace: its boxes hold plain arrays, into which a program may write boxes."""

    name = "constant"
    plain = True
    ends = False

    def process(self, primitive: Any, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Evaluate, and box the arrays that the program may write to."""
        values = [x.state.value if isinstance(x, Box) else x for x in operands]
        result = primitive(*values, **params)
        if isinstance(result, tuple):
            return tuple(map(self.constant, result))  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
        return self.constant(result)

    def constant(self, value: Any) -> Any:
        """Box an array in rows that the program may write to; scalars stay as they are."""
        return self.box(State(value)) if isinstance(value, NDARRAY) else value

    def concrete(self, state: Any) -> Any:
        """Return the array."""
        return state.value

    def overwrite(self, cell: Box, part: Any, index: Any, selection: Any) -> bool:
        """Write into an array that nothing else refers to."""
        if isinstance(part, Box) or not is_sole(cell, "value"):
            return False
        cell.state.value[selection] = part
        return True


class StandardTrace(ConstantTrace):
    """The constants of the array API standard, for which a number is an array as well."""

    def constant(self, value: Any) -> Any:
        """Box an array or a number."""
        return self.box(State(np.asarray(value)))


CONSTANT = ConstantTrace()
STANDARD = StandardTrace()


def is_sole(cell: Box, name: str) -> bool:
    """Return whether a cell alone refers to its state, and the state alone to the array that is an attribute of it.

    Views, other boxes, the Wengert list and the user's variables count as references.
    """
    array = getattr(cell.state, name)
    is_own = isinstance(array, NDARRAY) and array.flags.owndata and array.flags.writeable
    del array
    is_observed = RUNNING.recorder is not None or RUNNING.written is not None or id(cell) in GUARDED
    return is_own and not is_observed and _references(cell, name) == _SOLE


def _references(cell: Box, name: str) -> tuple[int, int]:
    state = cell.state
    return sys.getrefcount(state), sys.getrefcount(getattr(state, name))


#: What Python counts for a state and an array with one reference each; versions differ.
_SOLE = _references(Box(CONSTANT, State(np.zeros(1))), "value")


def as_standard(value: Any) -> Any:
    """Return an array or a number as a constant of the array API standard."""
    return STANDARD.constant(value)


def boxed(value: Any) -> Any:
    """Return a value as a box; a scalar, too, because a view of one element is one."""
    return value if isinstance(value, Box) else CONSTANT.box(State(np.asarray(value)))


class _Running(threading.local):
    depth = 0
    traced = 0
    """The number of open traces whose boxes stand for types alone."""
    hides_text = False
    """Whether the text of a value that only a run knows raises an error."""
    texts = 0
    """How often one was made that may do more than show the value."""
    recorder: Trace | None = None
    complaint: WengertError | None = None
    """The last error of a box that was asked for its number."""
    check = ""
    """The class of floats that no operation may make, for which ``WENGERT_CHECK`` asks."""
    written: dict[int, tuple[Box, Trace, Any]] | None = None
    """The boxes that a block under trace has written, by identity, with their owners and states before."""
    born: dict[int, Box] | None = None
    """The boxes that a block under trace has made, by identity."""
    takes_choices = False
    """Whether a slope that is a choice is differentiated without a warning."""
    standard = False
    """Whether the program of an open transform has asked for the namespace of the array API standard."""


#: The state of this thread.
RUNNING = _Running()
#: Makes a new array without axes of a number; `wengert.engine.array` enters it.
WITHOUT_AXES: list[Callable[[Any], Any]] = []
#: Functions of the ends of a slice that only a run knows, and of the axis': its extent if that is known; else None.
WINDOWS: list[Callable[[Any, Any, int], int | None]] = []
#: Return a quotient, given the operator, the quotient, the dividend and an integer of Python's, which may be zero.
DIVISIONS: list[Callable[[Any, Any, Any, Any], Any]] = []


class Unsized:
    """Base class of arrays of which only a run knows how many elements they have."""

    __slots__ = ("location",)
    array: Any
    """The elements, in an array of a known size."""
    shape: Any
    """The lengths of the axes, some of which only a run knows."""

    def __init__(self) -> None:
        self.location = user_location()
        """The user's line that made it."""

    def refuse_result(self, operation: str, place: str = "") -> NoReturn:
        """Raise the error of an operation whose result it is, or a part of it."""
        got, hint = f"{self!r}{place and f' as {place}'}", "write np.where(mask, x, 0), or return a sum"
        requirement = "the size of a result must be known before the program runs"
        raise StagingError(located(message(operation, requirement, got, hint), self.location))

    def packed(self) -> Any:
        """Return the numbers that make it as a container, or itself if it has no such form."""
        return self

    @abstractmethod
    def as_array(self, dtype: Any = None) -> Any:
        """Return a copy as an array, of which only a run may know the size."""


def selecting() -> Selecting | None:
    """Return what selects elements in a staged run; None in other runs."""
    return SELECTING[0] if SELECTING and RUNNING.hides_text else None


#: The recorders of all threads: while it is empty, `RUNNING.recorder`, which takes longer to read, is None.
RECORDERS: list[Trace | None] = []
TraceT = TypeVar("TraceT", bound=Trace)


class running(Generic[TraceT]):  # noqa: N801 (it is used as a function)
    """Keep a trace open while a user's function runs in it."""

    __slots__ = ("_trace",)

    def __init__(self, trace: TraceT) -> None:
        self._trace = trace

    def __enter__(self) -> TraceT:
        if not RUNNING.depth:
            RUNNING.check = asked()
        if RUNNING.check:
            _check_operations(self._trace, RUNNING.check)
        RUNNING.depth += 1
        RUNNING.traced += self._trace.traced
        return self._trace

    def __exit__(self, kind: Any, problem: BaseException | None, traceback: Any) -> None:
        trace = self._trace
        is_traced = RUNNING.traced > 0
        try:
            if isinstance(problem, Exception):
                hidden = trace.complaint or _handled_in(trace, problem) or _hidden_by(problem)
                if hidden is None and isinstance(problem, StagingError):
                    hidden = _swallowed_in(trace)
            else:
                hidden = None if problem else trace.complaint or _swallowed_in(trace)
        finally:
            trace.conversion = trace.swallowed = None  # their tracebacks, too
            RUNNING.depth -= 1
            RUNNING.traced -= trace.traced
            if not RUNNING.depth:
                RUNNING.complaint = None  # its traceback holds the user's arrays
                RUNNING.standard = False
            trace.open = False
            if RUNNING.check:
                vars(trace).pop("process", None)  # it refers to the trace
        for error in (hidden, problem):
            if isinstance(error, ConcreteError):
                error.is_traced = error.is_traced or is_traced
        if hidden is not None:
            raise hidden from None
        if isinstance(problem, Exception):
            add_notes(problem, trace.name)
        if problem is not None:
            hide_frames(problem)


def _check_operations(trace: Trace, kind: str) -> None:
    """Make each operation of a trace whose boxes hold numbers raise an error if it makes a NaN, say."""
    if trace.traced or trace.staging:
        return
    process = trace.process

    def checked(primitive: Any, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        with np.errstate(invalid="ignore"):  # the error says more than NumPy's warning
            results: Any = process(primitive, operands, params)
        outputs: Any = results if isinstance(results, SEQUENCE) else (results,)
        numbers = [_number(trace, value) for value in (*operands, *outputs)]
        if all(number is not None for number in numbers):
            aligned = all(shape_of(x) == shape_of(n) for x, n in zip(operands, numbers, strict=False))
            operand_numbers, made = numbers[: len(operands)], numbers[len(operands) :]
            if is_made(kind, primitive.elementwise and aligned, operand_numbers, made):
                raise error_of(kind)(message(primitive.name, requirement_of(kind)))
        return results

    trace.process = checked


def _number(trace: Trace, value: Any) -> Any:
    """Return the number or array behind a value; None where an older trace holds it, or the type alone is known."""
    if isinstance(value, Box):
        value = getattr(value.state, "value", None) if value.owner is trace else None
    return value if isinstance(value, _NUMBERS) else None


def complain(trace: Trace, problem: WengertError, converts: bool = False) -> WengertError:
    """Keep and return the error of a box of a trace that was asked for its number.

    Args:
        trace: the owner of the box.
        problem: the error.
        converts: NumPy converts an array of this shape: a program that goes on without the number, goes on otherwise
            than with NumPy.
    """
    RUNNING.complaint = problem
    if threading.get_ident() != trace.thread:
        trace.complaint = problem
    elif converts and trace.ends:
        _sort_out(trace)
        trace.conversion = problem
    return problem


def _sort_out(trace: Trace) -> None:
    """Keep the last error of a conversion if it is the first that the user's code swallowed."""
    if trace.swallowed is None and trace.conversion is not None and is_swallowed(trace.conversion):
        trace.swallowed = trace.conversion


def _swallowed_in(trace: Trace) -> WengertError | None:
    """Return the error of a conversion that the user's code swallowed, so that it went on without the number."""
    _sort_out(trace)
    return trace.swallowed and caught_error(trace.swallowed, "went on otherwise than with NumPy")


def _handled_in(trace: Trace, problem: Exception) -> WengertError | None:
    """Return the error of a conversion that the user's code caught, and raised another one."""
    handled = problem.__context__
    while handled is not None and handled is not trace.conversion and handled is not trace.swallowed:
        handled = handled.__context__
    if handled is None or isinstance(problem, WengertError) or not is_swallowed(handled):
        return None
    return caught_error(handled, f"raised {type(problem).__name__}")


def caught_error(problem: Any, outcome: str) -> WengertError:
    """Return the error of a value that was lost, and whose error the user's code caught."""
    text, location = split_location(str(problem))
    text = f"{text.rstrip('.')}; the program caught this error and {outcome}.{location}"
    return type(problem)(text).with_traceback(problem.__traceback__)


def _hidden_by(problem: Exception) -> WengertError | None:
    """Return the error of a box that C code replaced by an error of its own; None for other errors.

    NumPy does so for a box that is written into a plain array or used as a size, SciPy for a function that returns one.
    """
    complaint, RUNNING.complaint = RUNNING.complaint, None
    if isinstance(problem, WengertError) and not _is_of_box(problem):
        return None
    cause = problem.__cause__
    while isinstance(problem, (ValueError, SystemError)) and cause is not None:
        if isinstance(cause, (LostDerivativeError, ConcreteError)):
            return cause
        cause = cause.__cause__
    where = raised_at(problem)
    is_theirs = isinstance(problem, TypeError) or is_installed(problem) or is_standard_class(problem)
    is_theirs = is_theirs or (isinstance(problem, ValueError) and not is_raised_by_user(problem))
    if (
        complaint is not None
        and where
        and (is_theirs or _is_of_box(problem))
        and line_of(str(complaint)) == where
    ):
        return complaint
    if isinstance(problem, TypeError) and str(problem).startswith(_MIXED):
        requirement = "a plain array and a value inside a transform meet in one call"
        return UnsupportedError(located(f"array_namespace: {requirement}; {_UNMIXED}.", where))
    is_refused = re.search(_REFUSED, str(problem)) and not is_raised_by_user(problem)
    if isinstance(problem, TypeError) and (is_refused or is_refused_by_standard(problem, Box)):
        function = package_function(problem)
        hint = _HASHED if not function and str(problem).startswith("unhashable") else _GIVEN_UP
        text = f"{function and function + ': '}{problem}: the call takes no value inside a transform; {hint}."
        return UnsupportedError(located(text, where))
    if _is_of_box(problem) and is_asked_by_package(problem):
        text = f"{split_location(str(problem))[0].rstrip('.')}: the call takes no value inside a transform"
        return UnsupportedError(located(f"{text}; {_GIVEN_UP}.", where))
    return None


def loss_of(problem: Exception) -> Exception:
    """Return the error of a box that an error of a user's function hides, or that error."""
    complaint = RUNNING.complaint
    hidden = _hidden_by(problem)
    if hidden is None:  # the transform asks again
        RUNNING.complaint = complaint
    return hidden or problem


def _is_of_box(problem: BaseException) -> bool:
    """Return whether a box seems to lack an attribute: so it does where C code calls Python with an error set."""
    return isinstance(problem, AttributeError) and isinstance(problem.obj, Box)


@contextlib.contextmanager
def recording(trace: Trace | None) -> Generator[None]:
    """Send every operation on older boxes to ``trace``, even if no operand is a box of it."""
    before = RUNNING.recorder
    RUNNING.recorder = trace
    RECORDERS.append(trace)
    try:
        yield
    finally:
        RUNNING.recorder = before
        RECORDERS.remove(trace)


def unrecorded(function: Callable[[Box], Any], value: Box) -> Any:
    """Call a function without the recorder: only the traces of the operands process its operations."""
    with recording(None):
        return function(value)


def processing_trace(trace: Trace) -> Trace:
    """Return the trace that processes an operation whose newest operand belongs to ``trace``."""
    recorder = RUNNING.recorder
    return trace if recorder is None or trace.level > recorder.level or trace.plain else recorder


def newest(values: Iterable[Any]) -> Trace | None:
    """Return the trace that processes an operation on ``values``; None if no value is a box."""
    top = max((v.owner for v in values if isinstance(v, Box)), key=lambda trace: trace.level, default=None)
    return None if top is None else processing_trace(top)


def unfollowed(value: Any) -> Any:
    """Return the result of an operation that no transform follows, such as a comparison.

    A program of the array API standard gets a box, since all its arrays must have one namespace.
    """
    if isinstance(value, NDARRAY) and value.ndim > 1 and not value.flags.c_contiguous:
        value = value.copy()  # a program sees its memory
    if not RUNNING.standard:
        return value
    if isinstance(value, tuple):
        return tuple(map(unfollowed, value))  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    return value if isinstance(value, Box) else STANDARD.constant(value)


def inside_transform() -> bool:
    """Return whether this thread is running a user's function inside a transform."""
    return RUNNING.depth > 0


def state_of(trace: Trace, value: Any) -> Any:
    """Return the state of a box of ``trace``; None for other values."""
    return value.state if isinstance(value, Box) and value.owner is trace else None


def below(value: Box) -> Any:
    """Return the value of an older trace that a box holds; None for a variable of a graph."""
    value.refresh()
    return getattr(value.state, "value", None)


def rests_on(value: Any, kind: type[Trace]) -> bool:
    """Return whether a trace of a kind owns a value, or one that it holds."""
    while isinstance(value, Box):
        if isinstance(value.owner, kind):
            return True
        value = below(value)
    return False


def on_graph(value: Any) -> bool:
    """Return whether a value rests on a variable of a graph, of which only the type is known."""
    while isinstance(value, Box):
        if value.owner.staging:
            return concrete(value) is None
        value = below(value)
    return False


def has_derivative(value: Any) -> bool:
    """Return whether a transform follows the derivative of a value."""
    while isinstance(value, Box):
        if not (value.owner.staging or value.owner.plain or value.owner.batches):
            return True
        value = below(value)
    return False


def is_frozen(array: Any) -> bool:
    """Return whether no write reaches an array: neither itself nor an array that it is a view of is writeable."""
    while isinstance(array, NDARRAY):
        if array.flags.writeable:
            return False
        array = array.base
    return True


def snapshot(value: Any) -> Any:
    """Return ``value`` so that no later in-place write reaches it."""
    if isinstance(value, NDARRAY):
        return value if is_frozen(value) else value.copy(order="K")
    if isinstance(value, Box):
        value.refresh()
        return value.state.value if value.owner.plain else value.owner.box(value.state)
    return value


def class_of(box: Box) -> type[Any]:
    """Return the class of the array or number that a box stands for; an array without axes counts as a number.

    Example:
        >>> class_of(CONSTANT.box(State(2.0)))
        <class 'float'>
    """
    box.refresh()
    if box.owner.plain:
        return box.state.value.__class__
    if box.shape:
        return np.ndarray
    number: type[Any] = box.dtype.type
    return number(0).item().__class__ if box.weak else number


def own(value: Any) -> Any:
    """Return a writable copy of a value, which no later in-place write to the original reaches."""
    if isinstance(value, Box):
        value.refresh()
        return value.owner.box(value.state)
    return value.copy() if isinstance(value, NDARRAY) else value


def concrete(value: Any) -> Any:
    """Return the array or scalar behind a value, or None where a trace knows only its type."""
    if isinstance(value, Box):
        value.refresh()
        return value.owner.concrete(value.state)
    return value


def constant(value: Any) -> Any:
    """Return the array or scalar behind a value that belongs to no transform, or None: others may have derivatives."""
    return None if isinstance(value, Box) and not isinstance(value.owner, ConstantTrace) else concrete(value)
