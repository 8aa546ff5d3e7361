"""The array a user meets inside a transform: a box with Python's operators and NumPy's protocols.

Code written for NumPy runs on it unchanged. Whatever would lose a derivative silently raises an error that says what to
write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NoReturn

import numpy as np

from wengert import subscripts
from wengert.dtypes import dtype_of
from wengert.errors import ConcreteError, DtypeError, LostDerivativeError, ShapeError, message, unsupported
from wengert.ir.types import show
from wengert.ops import arithmetic, comparison, exponential
from wengert.ops.conversion import cast
from wengert.ops.elementwise import UFUNCS
from wengert.primitive import Primitive
from wengert.shapes import shape_of, size
from wengert.trace import Box, Lens, boxed, concrete, snapshot

#: What stands for each NumPy function when an argument is a box; filled by `wengert.numpy`.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
#: What stands for ``ufunc.reduce``, ``ufunc.accumulate`` and so on; filled by `wengert.numpy`.
UFUNC_METHODS: dict[tuple[str, str], Callable[..., Any]] = {}
#: Options of ufuncs that mean nothing here.
_LAYOUT = {"order", "subok", "casting"}
_OPERANDS: Any = (Box, np.ndarray, float, int, np.generic)  # int: and bool


def operand(value: Any) -> Any:
    """Return a value that a primitive takes: a box, an array or a scalar; sequences become arrays."""
    if isinstance(value, _OPERANDS):
        return value
    array = snapshot(FUNCTIONS[np.array](value))
    if dtype_of(array).kind not in "biuf":
        got = type(value).__name__
        raise DtypeError(message("operand", "a real number, an array or a sequence of them is required", got))
    return array


def _binary(primitive: Primitive) -> tuple[Any, Any]:
    def forward(self: Array, other: Any) -> Any:
        return primitive(self, other if isinstance(other, _OPERANDS) else operand(other))

    def reflected(self: Array, other: Any) -> Any:
        return primitive(operand(other), self)

    return forward, reflected


def _in_place(primitive: Primitive) -> Any:
    def method(self: Array, other: Any) -> Any:
        return self.assign(primitive(self, operand(other)))

    return method


def _lost(what: str, hint: str) -> Any:
    def method(self: Array, *arguments: Any, **options: Any) -> NoReturn:
        raise LostDerivativeError(message(what, "the derivative would be lost", str(self.type), hint))

    return method


def _method(function: Callable[..., Any]) -> Any:
    def method(self: Array, *arguments: Any, **options: Any) -> Any:
        return FUNCTIONS[function](self, *arguments, **options)

    return method


def _power(base: Any, exponent: Any) -> Any:
    """Choose the power that is exact for the exponent: constant integers have derivatives at zero."""
    if isinstance(exponent, int) and not isinstance(exponent, bool):
        if exponent >= 0 or dtype_of(base).kind == "f":
            return arithmetic.integer_power(base, exponent=exponent)
    elif isinstance(exponent, float) and exponent == 0.5:
        return exponential.sqrt(base)
    return exponential.power(base, exponent)


class Array(Box):
    """A value inside a transform, used like a NumPy array."""

    __slots__ = ()
    __array_priority__: ClassVar[float] = 1000.0
    namespace: ClassVar[Any] = None

    __add__, __radd__ = _binary(arithmetic.add)
    __sub__, __rsub__ = _binary(arithmetic.subtract)
    __mul__, __rmul__ = _binary(arithmetic.multiply)
    __truediv__, __rtruediv__ = _binary(arithmetic.divide)
    __floordiv__, __rfloordiv__ = _binary(arithmetic.floor_divide)
    __mod__, __rmod__ = _binary(arithmetic.remainder)
    __and__, __rand__ = _binary(comparison.bitwise_and)
    __or__, __ror__ = _binary(comparison.bitwise_or)
    __xor__, __rxor__ = _binary(comparison.bitwise_xor)
    __lshift__, __rlshift__ = _binary(comparison.left_shift)
    __rshift__, __rrshift__ = _binary(comparison.right_shift)
    __eq__, _ = _binary(comparison.equal)
    __ne__, _ = _binary(comparison.not_equal)
    __lt__, _ = _binary(comparison.less)
    __le__, _ = _binary(comparison.less_equal)
    __gt__, _ = _binary(comparison.greater)
    __ge__, _ = _binary(comparison.greater_equal)
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    __iadd__ = _in_place(arithmetic.add)
    __isub__ = _in_place(arithmetic.subtract)
    __imul__ = _in_place(arithmetic.multiply)
    __itruediv__ = _in_place(arithmetic.divide)
    __ifloordiv__ = _in_place(arithmetic.floor_divide)
    __imod__ = _in_place(arithmetic.remainder)
    __iand__ = _in_place(comparison.bitwise_and)
    __ior__ = _in_place(comparison.bitwise_or)
    __ixor__ = _in_place(comparison.bitwise_xor)

    def __neg__(self) -> Any:
        return arithmetic.negative(self)

    def __pos__(self) -> Any:
        return arithmetic.positive(self)

    def __abs__(self) -> Any:
        return arithmetic.absolute(self)

    def __invert__(self) -> Any:
        return comparison.invert(self)

    def __pow__(self, exponent: Any) -> Any:
        return _power(self, operand(exponent))

    def __rpow__(self, base: Any) -> Any:
        return exponential.power(operand(base), self)

    def __ipow__(self, exponent: Any) -> Any:
        return self.assign(_power(self, operand(exponent)))

    def __matmul__(self, other: Any) -> Any:
        return FUNCTIONS[np.matmul](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return FUNCTIONS[np.matmul](other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self, digits: int = 0) -> Any:
        return FUNCTIONS[np.round](self, digits)

    # -- subscripts and in-place writes ------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        subscript = subscripts.parse(self.shape, index)
        taken = subscripts.take(self, subscript)
        if not subscripts.is_view(subscript, index):
            return taken
        return view_of(
            self,
            taken,
            lambda base: subscripts.take(base, subscript),
            lambda base, value: subscripts.write(base, subscript, value),
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        value = operand(value)
        if dtype_of(value).kind == "f" and self.dtype.kind != "f" and isinstance(value, Box):
            hint = f"make the array floating: x.astype({dtype_of(value)})"
            got = show(self, value)
            raise DtypeError(message("setitem", "a derivative needs a floating array", got, hint))
        written = subscripts.write(self, subscripts.parse(self.shape, index), value)
        self.write(boxed(written))

    def assign(self, value: Any) -> Any:
        """Write a value in place of all elements; a scalar cannot change, so that a new one is returned."""
        if not self.shape and self.lens is None:
            return value
        if shape_of(value) != self.shape:
            got = show(self, value)
            raise ShapeError(message("in-place operation", f"the result must keep shape {self.shape}", got))
        if not np.can_cast(dtype_of(value), self.dtype, "same_kind"):
            got = show(self, value)
            raise DtypeError(message("in-place operation", f"the result must fit {self.dtype}", got))
        if dtype_of(value) != self.dtype:
            value = cast(value, dtype=self.dtype)
        self.write(boxed(value))
        return self

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError(message("len", "a scalar has no length"))
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise ShapeError(message("iteration", "a scalar has no elements to go through"))
        return (self[position] for position in range(self.shape[0]))

    def __contains__(self, item: Any) -> bool:
        return bool(FUNCTIONS[np.any](self == item))

    # -- concrete values ---------------------------------------------------------------------------------

    def _concrete(self, operation: str, hint: str) -> Any:
        value = concrete(self)
        if value is None:
            requirement = f"a concrete value is needed, and a {self.owner.name} knows only the type here"
            raise ConcreteError(message(operation, requirement, str(self.type), hint))
        return value

    def __bool__(self) -> bool:
        hint = "write np.where(condition, a, b) or wg.cond(condition, f, g, ...)"
        return bool(self._concrete("bool", hint))

    def __index__(self) -> int:
        if self.dtype.kind == "f":
            hint = "use int(wg.stop_gradient(x))"
            raise LostDerivativeError(message("index", "an integer is needed", str(self.type), hint))
        hint = "x[i] takes it as it is; for range(n) name n in static_argnums, or use wg.fori_loop"
        return self._concrete("index", hint).__index__()

    def __int__(self) -> int:
        return self.__index__()

    __float__ = _lost(
        "float(x)",
        "write np.sin for math.sin, make an array to write into with wengert.numpy.zeros or np.zeros_like(x), "
        "or give up the derivative: float(wg.stop_gradient(x))",
    )
    __complex__ = _lost("complex(x)", "Wengert differentiates real programs")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        what = "conversion to a plain array"
        if self.dtype.kind == "f":
            hint = "build arrays with np.stack or wengert.numpy.array, write into wengert.numpy.zeros, "
            hint += "or give up the derivative: wg.stop_gradient(x)"
            raise LostDerivativeError(message(what, "the derivative would be lost", str(self.type), hint))
        return np.array(self._concrete(what, "use wengert.numpy, which takes traced integers"), dtype=dtype)

    item = _lost("item()", "leave the value as it is, or write wg.stop_gradient(x).item()")
    tolist = _lost("tolist()", "iterate over the array, or write wg.stop_gradient(x).tolist()")
    tobytes = _lost("tobytes()", "write wg.stop_gradient(x).tobytes()")

    def __repr__(self) -> str:
        value = concrete(self)
        inside = str(self.type) if value is None else f"{value}, {self.type}"
        return f"Array({inside}, {self.owner.name})"

    def __format__(self, specification: str) -> str:
        value = concrete(self)
        return repr(self) if value is None or not specification else format(value, specification)

    def __copy__(self, memo: Any = None) -> Any:
        return self.copy()

    __deepcopy__ = __copy__

    def copy(self, order: str = "C") -> Any:
        """Return an array of its own with the same value."""
        self.refresh()
        return self.owner.box(self.state)

    # -- attributes and methods of np.ndarray ------------------------------------------------------------

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
        """Bytes an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        """The axes in reverse order."""
        return FUNCTIONS[np.transpose](self)

    @property
    def mT(self) -> Any:  # noqa: N802 (NumPy's name)
        """The last two axes exchanged."""
        return FUNCTIONS[np.swapaxes](self, -1, -2)

    @property
    def real(self) -> Any:
        """The value itself: it is real."""
        return self

    @property
    def imag(self) -> Any:
        """Zeros: the value is real."""
        return FUNCTIONS[np.zeros_like](self)

    @property
    def flat(self) -> Any:
        """The elements in row-major order, to iterate over."""
        return iter(FUNCTIONS[np.ravel](self))

    def astype(self, dtype: Any, **options: Any) -> Any:
        """Return the array converted to another dtype."""
        if options.get("copy") is False and self.dtype == dtype:
            return self
        return cast(self, dtype=np.dtype(dtype))

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return the elements in another shape."""
        return FUNCTIONS[np.reshape](self, shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes: Any) -> Any:
        """Return the axes in another order, reversed by default."""
        return FUNCTIONS[np.transpose](self, (axes[0] if len(axes) == 1 else axes) or None)

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
    searchsorted, choose = _method(np.searchsorted), _method(np.choose)
    conj = conjugate = _method(np.conjugate)

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """Return the parts along an axis where a condition holds."""
        return FUNCTIONS[np.compress](condition, self, axis, out)

    def flatten(self, order: str = "C") -> Any:
        """Return a copy of the elements in one axis."""
        return FUNCTIONS[np.ravel](self, order).copy()

    def sort(self, axis: int = -1) -> None:
        """Sort in place along an axis."""
        self[...] = FUNCTIONS[np.sort](self, axis=axis)

    # -- NumPy's protocols -------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        if out is not None:
            return _write_out(ufunc, method, inputs, options, out)
        if method != "__call__":
            handler = UFUNC_METHODS.get((ufunc.__name__, method))
            if handler is None:
                raise unsupported(ufunc, f".{method}")
            return handler(*inputs, **options)
        dtype = options.pop("dtype", None)
        if options.pop("where", True) is not True:
            raise unsupported(ufunc, "(where=...)", "write np.where(condition, result, other)")
        function = FUNCTIONS.get(ufunc) or UFUNCS.get(ufunc)
        if function is None:
            raise unsupported(ufunc)
        for name in _LAYOUT & options.keys():
            del options[name]
        result = function(*map(operand, inputs), **options)
        if dtype is not None:
            return cast(result, dtype=np.dtype(dtype))
        return _strong(result)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        handler = FUNCTIONS.get(function)
        if handler is None:
            raise unsupported(function)
        return handler(*arguments, **options)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return type(self).namespace


Box.surface = Array
FUNCTIONS[np.power] = FUNCTIONS[np.float_power] = _power


def _strong(result: Any) -> Any:
    """Make the result of a ufunc strong: of Python scalars alone, NumPy's functions give NumPy scalars."""
    if isinstance(result, Box):
        return cast(result, dtype=result.dtype) if result.weak else result
    return result


def _write_out(ufunc: np.ufunc, method: str, inputs: Any, options: Any, out: Any) -> Any:
    """Write the result of ``np.add(x, y, out=z)`` into the box z, as NumPy writes into an array."""
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else None  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
    if isinstance(target, Array):
        return target.assign(getattr(ufunc, method)(*inputs, **options))
    hint = "write y = x1 + x2 instead of an in-place update of a plain array, or make it with wengert.numpy.zeros"
    requirement = "a value with a derivative cannot be written into a plain array"
    raise LostDerivativeError(message(f"np.{ufunc.__name__}", requirement, hint=hint))


def view_of(base: Any, result: Any, read: Callable[[Any], Any], write: Callable[[Any, Any], Any]) -> Any:
    """Make ``result`` a view of ``base``: a write to either is seen in the other."""
    if not isinstance(base, Box):
        return result
    result = boxed(result)
    if result is base or result.lens is not None or result.state is base.state:
        result = result.owner.box(result.state)
    result.lens = Lens(base, read, write)
    return result
