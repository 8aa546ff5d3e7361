"""`Array`: a value inside a transform, with Python's operators and NumPy's protocols.

Code written for NumPy runs on it unchanged. Operations that would lose a derivative raise an error with a remedy.
"""

from __future__ import annotations

import functools
import re
import sys
import warnings
from abc import ABCMeta
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, ClassVar

import numpy as np

from wengert.engine.array import indexing
from wengert.engine.array.conversions import Conversions
from wengert.engine.array.flatiter import Flat
from wengert.engine.array.operators import FUNCTIONS, LATE, operand, takes_over
from wengert.engine.array.sparse import is_sparse, times, times_right
from wengert.engine.array.substitutes import STAND_INS
from wengert.engine.array.suggestions import (
    instead_of,
    instead_of_attribute,
    instead_of_distribution,
    without_derivative,
)
from wengert.engine.array.ufunc_calls import as_operand, called, strengthened, write_out
from wengert.engine.array.views import FunctionView, array_without_axes, view_of
from wengert.engine.boxes import (
    RUNNING,
    Box,
    Trace,
    Unsized,
    boxed,
    class_of,
    concrete,
    on_graph,
    selecting,
)
from wengert.engine.core.copied_files import is_copied_file
from wengert.engine.core.dtypes import check_known, dtype_of, is_complex, is_inexact, real_dtype
from wengert.engine.core.errors import (
    OTHERWISE,
    UNFOLLOWED,
    ArgumentError,
    ArrayAttributeError,
    DtypeError,
    ScalarError,
    StagingError,
    UnsupportedError,
    message,
    unsupported,
    user_frame,
)
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.core.showing import is_shown
from wengert.engine.ir.types import show
from wengert.engine.memory import lay_like, lies_in, memory_of
from wengert.engine.ops.comparison import where
from wengert.engine.ops.complex import conjugate, from_parts, imag, real
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.elementwise import UFUNCS
from wengert.engine.ops.special.scipy_ufuncs import of_scipy
from wengert.engine.primitive import PLAIN, Primitive

#: Replacements for ``ufunc.reduce``, ``ufunc.accumulate`` and so on; `wengert.numpy` fills it.
UFUNC_METHODS: dict[tuple[str, str], Callable[..., Any]] = {}


#: Attributes of the boxes of another library, for its programs: what reads each.
FOREIGN: dict[str, Callable[[Any], Any]] = {}
#: The versions of the array API standard that `Array` conforms to.
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
DISCARDS = "Casting complex values to real discards the imaginary part"
_WITHOUT_VALUE = r"Array\([a-z]+\d*\*?\[[\d,]*\], \w+\)"


def _method(function: Callable[..., Any]) -> Any:
    def method(self: Array, *arguments: Any, **options: Any) -> Any:
        return FUNCTIONS[function](self, *arguments, **options)

    return method


def _keeps(name: str, remedy: str) -> Any:
    """Return a property whose assignment raises `ArrayAttributeError`: views would show other elements."""

    def refuse(self: Array, value: Any) -> None:
        requirement = f"an array inside a transform keeps its {name}"
        raise ArrayAttributeError(message(f"{name}=", requirement, hint=remedy), name=name, obj=self)

    return property(vars(Box)[name].fget, refuse, doc=vars(Box)[name].__doc__)


#: Code that asks for the class of a value in place of its caller.
_ASKED = (ABCMeta.__instancecheck__.__code__, np.isscalar.__code__)
#: A function of `functools.singledispatch`, whose code all of them share.
DISPATCHED: Any = functools.singledispatch(lambda _: None)


def _is_asked_by_user(frame: Any) -> bool:
    """Return whether the user's code asks for the class of a value."""
    while frame.f_code in _ASKED:
        frame = frame.f_back
    return is_copied_file(frame.f_code.co_filename) or frame.f_code is DISPATCHED.__code__


class Array(Conversions):
    """A value inside a transform, used like a NumPy array."""

    __slots__ = ()
    namespace: ClassVar[Any]
    """A function that loads the namespace of the array API standard; the package sets it."""

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The class by which `isinstance` of the user's code knows a value: that of the array or number."""
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        if not _is_asked_by_user(frame):
            return type(self)
        kind = class_of(self)
        is_second_run = type(frame.f_globals) is not dict
        return STAND_INS.get(kind, kind) if is_second_run else kind

    def __matmul__(self, other: Any) -> Any:
        if takes_over(other):
            return NotImplemented
        return times_right(self, other) if is_sparse(other) else FUNCTIONS[np.matmul](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return times(other, self) if is_sparse(other) else FUNCTIONS[np.matmul](other, self)

    def __imatmul__(self, other: Any) -> Any:
        return self.assign(self @ other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self, digits: int | None = None) -> Any:
        if digits is not None or self.shape or is_complex(self.dtype):
            return FUNCTIONS[np.round](self, digits or 0)
        return round(self._concrete("round(x)", "write np.round(x)"))

    def __getattr__(self, name: str) -> Any:
        """Raise `AttributeError`, with a hint for attributes of other libraries' arrays."""
        if name in FOREIGN:
            return FOREIGN[name](self)
        if name[:1] != "_" and (hint := instead_of_attribute(name)):
            requirement = "an array inside a transform has no such attribute"
            text = message(name, requirement, hint=hint)
            raise ArrayAttributeError(text, name=name, obj=self)
        raise AttributeError(f"'Array' object has no attribute {name!r}", name=name, obj=self)

    # -- subscripts and in-place writes ------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        try:
            subscript = indexing.parse(self.shape, index, checked=False)
        except indexing.SelectsUnknown:
            return _selecting().taken(self, index)
        if not subscript.arrays and subscript.shape:
            part = view_of(self, indexing.take_basic(self, subscript), indexing.Part(subscript, index), index)
            return part.copy("K") if indexing.is_array_of_one(index) else part
        if not indexing.is_view(subscript, index):
            part = indexing.checked_take(self, subscript, index)
            return self._number() if part is self else part
        subscript = indexing.frozen(subscript)
        return view_of(self, indexing.take(self, subscript), indexing.Part(subscript, index), index)

    def _number(self) -> Any:
        """Return the element of an array without axes, which no later write reaches."""
        self.refresh()
        owner: Any = self.owner
        return owner.constant(self.state.value[()]) if owner.plain else owner.box(self.state)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, Unsized):
            _selecting().put(self, index, value)
            return
        value = operand(value)
        if self._holds(value, index):
            return
        if not shape_of(value) and indexing.is_mask_without_value(index, self.shape):
            self.write(boxed(where(index, cast(value, dtype=self.dtype), self)))
            return
        self.check_writable(value)
        try:
            subscript = indexing.parse(self.shape, index)
        except indexing.SelectsUnknown:
            _selecting().put(self, index, value)
            return
        indexing.write_into(self, subscript, value)

    def check_writable(self, value: Any) -> None:
        """Raise `DtypeError` if the array cannot hold a value: a derivative would be lost, or an imaginary part."""
        dtype = dtype_of(value)
        if is_complex(dtype) and not is_complex(self.dtype):
            requirement, hint = "a complex value needs a complex array", f"make it complex: x.astype({dtype})"
        elif is_inexact(dtype) and not is_inexact(self.dtype) and isinstance(value, Box):
            requirement = "a derivative needs a floating array"
            hint = f"make the array floating: x.astype({dtype})"
        else:
            return
        raise DtypeError(message("setitem", requirement, show(self, value), hint))

    def _holds(self, value: Any, index: Any) -> bool:
        """Return whether a value is the view ``self[index]``: then ``x[i] += y`` has written through it already."""
        lens = value.lens if isinstance(value, Box) else None
        if lens is None or lens.parent is not self or lens.index is not index:
            return False
        self.refresh()
        return lens.origin is lens.root.state and not (isinstance(index, Box) and index.lens)

    def __len__(self) -> int:
        if not self.shape:
            raise ScalarError(message("len", "a scalar has no length"))
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise ScalarError(message("iteration", "a scalar has no elements to iterate over"))
        return (self[position] for position in range(self.shape[0]))

    def __contains__(self, item: Any) -> bool:
        return bool(FUNCTIONS[np.any](self == item))

    # -- errors and texts ---------------------------------------------------------------------------------

    def _unsupported(self, function: Any, part: str = "", hint: str = "") -> UnsupportedError:
        has_value = concrete(self) is not None and not on_graph(self)
        if reason := without_derivative(function, has_value):
            return unsupported(function, part, *reason)
        hint = instead_of_distribution() or hint
        if has_value:
            return unsupported(function, part, "Wengert has no derivative for this", hint or OTHERWISE)
        requirement = f"this needs concrete values, and a {self.owner.name} knows only their type here"
        return unsupported(function, part, requirement, hint or UNFOLLOWED)

    def __repr__(self) -> str:
        return self._text(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]

    def _text(self, caller: FrameType) -> str:
        value = concrete(self)
        if value is None and not _writes_message(caller):
            if RUNNING.hides_text:
                raise without_text(self)
            RUNNING.texts += not is_shown(caller)
        inside = str(self.type) if value is None else f"{value}, {self.type}"
        return f"Array({inside}, {self.owner.name})"  # `shows_box` finds this form

    def __format__(self, specification: str) -> str:
        value = concrete(self)
        if value is None or not specification:
            return self._text(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        if self.shape:
            hint = "write np.array2string(x, precision=3), or format the elements"
            operation = f"format {specification!r}"
            raise UnsupportedError(message(operation, "a number is required", show(self.type), hint))
        return format(value, specification)

    def __copy__(self, memo: Any = None) -> Any:
        return self.copy("K")

    __deepcopy__ = __copy__

    def copy(self, order: str = "C") -> Any:
        """Return a copy, in an order of `np.ndarray.copy`."""
        self.refresh()
        copied = self.owner.box(self.state)
        if self.lens is not None and not self.shape:
            return array_without_axes(copied)
        return lay_like(copied, self, order)

    # -- attributes and methods of np.ndarray ------------------------------------------------------------

    shape: Any = _keeps("shape", "write y = y.reshape(shape)")  # pyright: ignore[reportIncompatibleMethodOverride]
    dtype: Any = _keeps("dtype", "write y = y.astype(dtype)")  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return size(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def flags(self) -> Any:
        """The flags of the array in NumPy, as `np.ndarray.flags`."""
        return memory_of(self).flags

    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        """The axes in reverse order."""
        return FUNCTIONS[np.transpose](self)

    @property
    def mT(self) -> Any:  # noqa: N802 (NumPy's name)
        """The last two axes, exchanged."""
        return FUNCTIONS[np.swapaxes](self, -1, -2)

    @property
    def real(self) -> Any:
        """The real part, as a view; a real array itself."""
        if not is_complex(self.dtype):
            return self

        def write(base: Any, value: Any) -> Any:
            return from_parts(cast(value, dtype=real_dtype(dtype_of(base))), imag(base))

        return view_of(self, real(self), FunctionView(real, write, lambda memory: memory.real))

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        """The imaginary part, as a view; read-only zeros of a real array."""
        if not is_complex(self.dtype):
            return FUNCTIONS[np.imag](self)

        def write(base: Any, value: Any) -> Any:
            return from_parts(real(base), cast(value, dtype=real_dtype(dtype_of(base))))

        return view_of(self, imag(self), FunctionView(imag, write, lambda memory: memory.imag))

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    @property
    def flat(self) -> Flat:
        """The elements in row-major order, to iterate over, read and write."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = value

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """Return the array converted to another dtype, in an order of `np.ndarray.astype`."""
        dtype = check_known("astype", np.dtype(dtype))
        if not np.can_cast(self.dtype, dtype, casting):
            raise DtypeError(message("astype", f"the cast must be {casting!r}", f"{self.dtype} to {dtype}"))
        if not copy and self.dtype == dtype and lies_in(self, order):
            return self
        if is_complex(self.dtype) and dtype.kind in "iuf":
            warnings.warn(DISCARDS, np.exceptions.ComplexWarning, stacklevel=2)
        return lay_like(cast(self, dtype=dtype), self, order)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """Return the elements in another shape."""
        return FUNCTIONS[np.reshape](self, shape[0] if len(shape) == 1 else shape, order=order, copy=copy)

    def view(self, dtype: Any = None) -> Any:
        """Return a view of the array: a write to either changes both."""
        if isinstance(dtype, type) and issubclass(dtype, np.ndarray):  # a class, not a dtype
            dtype = None
        if dtype is not None and np.dtype(dtype) != self.dtype:
            requirement = "a view inside a transform must have the dtype of its array"
            hint = "write x.astype(dtype)"
            raise UnsupportedError(message("view", requirement, str(np.dtype(dtype)), hint))
        return self[...]

    def transpose(self, *axes: Any) -> Any:
        """Return the array with permuted axes, reversed by default."""
        is_one = len(axes) == 1 and not isinstance(axes[0], (int, np.integer))
        return FUNCTIONS[np.transpose](self, (axes[0] if is_one else axes) or None)

    def fill(self, value: Any) -> None:
        """Write one value to all elements."""
        self[...] = value

    sum, prod, mean = _method(np.sum), _method(np.prod), _method(np.mean)
    var, std = _method(np.var), _method(np.std)
    max, min = _method(np.max), _method(np.min)
    argmax, argmin, argsort = _method(np.argmax), _method(np.argmin), _method(np.argsort)
    any, all = _method(np.any), _method(np.all)
    cumsum, cumprod = _method(np.cumsum), _method(np.cumprod)
    ravel, squeeze, swapaxes = _method(np.ravel), _method(np.squeeze), _method(np.swapaxes)
    dot, diagonal = _method(np.dot), _method(np.diagonal)
    take, repeat, clip, round = _method(np.take), _method(np.repeat), _method(np.clip), _method(np.round)
    ptp, trace, nonzero = _method(np.ptp), _method(np.trace), _method(np.nonzero)
    searchsorted, choose, put = _method(np.searchsorted), _method(np.choose), _method(np.put)
    argpartition = _method(np.argpartition)

    def conjugate(self) -> Any:
        """Return the complex conjugate; a real array itself."""
        return conjugate(self)

    conj = conjugate

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """Return the slices along an axis where a condition holds."""
        return FUNCTIONS[np.compress](condition, self, axis, out)

    def flatten(self, order: str = "C") -> Any:
        """Return a copy of the elements in one axis."""
        return FUNCTIONS[np.ravel](self, order).copy()

    def sort(self, axis: int = -1, **options: Any) -> None:
        """Sort in place along an axis."""
        self[...] = FUNCTIONS[np.sort](self, axis=axis, **options)

    def partition(self, kth: Any, axis: int = -1, **options: Any) -> None:
        """Put smaller elements before those in some places of the order along an axis, in place."""
        self[...] = FUNCTIONS[np.partition](self, kth, axis=axis, **options)

    # -- NumPy's protocols -------------------------------------------------------------------------------

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any
    ) -> Any:
        if method != "__call__":
            return self._method_of(ufunc, method, inputs, options, out)
        function: Any = FUNCTIONS.get(ufunc) or UFUNCS.get(ufunc) or of_scipy(ufunc)
        if function is None:
            raise self._unsupported(ufunc, hint=instead_of(ufunc.__name__))
        if options or out is not None:
            if any(isinstance(value, Unsized) for value in inputs):
                return NotImplemented
            return called(ufunc, function, inputs, options, out)
        for value in inputs:
            if value.state.weak if isinstance(value, Box) else type(value) not in PLAIN:
                if any(isinstance(other, Unsized) for other in inputs):
                    return NotImplemented
                return strengthened(function(*map(as_operand, inputs)))
        return function.apply(inputs, {}) if type(function) is Primitive else function(*inputs)

    def _method_of(self, ufunc: np.ufunc, method: str, inputs: Any, options: Any, out: Any) -> Any:
        handler = UFUNC_METHODS.get((ufunc.__name__, method))
        if handler is None:
            raise self._unsupported(ufunc, f".{method}")
        result = handler(*inputs, **options)
        if method == "at":
            return result
        return write_out(f"np.{ufunc.__name__}.{method}", out, result, broadcasts=False)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if len(types) > 1 and any(issubclass(kind, Unsized) for kind in types):
            return NotImplemented
        handler = FUNCTIONS.get(function)
        if handler is None and (load := LATE.pop(function.__module__, None)) is not None:
            load()
            handler = FUNCTIONS.get(function)
        if handler is None:
            raise self._unsupported(function)
        return handler(*arguments, **options)

    # -- the array API standard --------------------------------------------------------------------------

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version not in (None, *API_VERSIONS):
            requirement = f"the versions of the array API standard are {', '.join(API_VERSIONS)}"
            raise ArgumentError(message("__array_namespace__", requirement, repr(api_version)))
        RUNNING.standard = RUNNING.depth > 0
        return type(self).namespace()

    @property
    def device(self) -> str:
        """The device, as `np.ndarray.device`."""
        return "cpu"

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Return the array itself for its device, as `np.ndarray.to_device`."""
        if device != self.device or stream is not None:
            requested = repr(device) if stream is None else f"stream={stream!r}"
            raise ArgumentError(
                message("to_device", 'the one device is "cpu", which has no streams', requested)
            )
        return self


Trace.box_class = Array


def _selecting() -> Any:
    return selecting()


def _writes_message(caller: FrameType) -> bool:
    """Return whether Wengert asks for a text, which is part of an error: blocks of the program run elsewhere."""
    module = caller.f_globals.get("__name__", "")
    return module.startswith("wengert.") and not module.startswith("wengert.engine.staged")


def without_text(array: Array) -> StagingError:
    """Return the error of a value that has no text before the program runs."""
    frame = user_frame()
    variables = frame.f_locals.items() if frame is not None else ()
    name = next((f" of {name}" for name, value in variables if value is array), "")
    hint = "make texts and keys of known values, or outside of the function"
    return StagingError(message("str", f"only a run knows the number{name}", show(array.type), hint))


def shows_box(text: str) -> bool:
    """Return whether a text contains the ``repr`` of a value that is not known.

    Example:
        >>> shows_box("loss = Array(f64*[], trace)"), shows_box("loss = 0.5")
        (True, False)
    """
    return re.search(_WITHOUT_VALUE, text) is not None
