"""autograd's differential operators: functions of a function, with `argnum` for the argument to differentiate."""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.autograd.spaces import vspace
from wengert.engine.boxes import snapshot
from wengert.engine.control import checkpoint as checkpoint
from wengert.engine.core import tree
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import NDARRAY, SEQUENCE, dtype_of, is_complex
from wengert.engine.core.errors import DtypeError, ShapeError, WengertError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.transforms.arguments import Inputs, as_results, conform, named, or_zeros, select_inputs
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.forward_mode import Pushed
from wengert.engine.transforms.reverse_mode import Recording
from wengert.engine.transforms.substitution import written_for_boxes

Argnum = Any
"""The position of an argument, or several."""
Function = Callable[..., Any]
_SAME_SHAPE = "a direction must have the shape of its value"
_DIRECTIONS = 64
"""The rows of a Jacobian in one pass."""
_INDEPENDENT = "Output seems independent of input."
_operator = documented(
    fun="a function of arrays, numbers or containers of them.",
    argnum="the position of the argument to differentiate, or several.",
    argname="the name of the argument to differentiate.",
    argnums="the positions of the arguments to differentiate.",
    Returns="A function of the arguments of ``fun``.",
)


def _inputs(operation: str, fun: Function, argnum: Argnum, arguments: Any, options: Any) -> Inputs:
    """Select the arguments to differentiate; arrays of integers count as floats."""
    point = tree.map_tree(_floating, _point(argnum, arguments))
    inputs = select_inputs(operation, fun, argnum, tuple(_placed(argnum, arguments, point)), options)
    return inputs._replace(leaves=list(map(snapshot, inputs.leaves)))


def _floating(leaf: Any) -> Any:
    return leaf.astype(float) if isinstance(leaf, NDARRAY) and leaf.dtype.kind in "biu" else leaf


def _point(argnum: Argnum, arguments: Sequence[Any]) -> Any:
    """Return the argument to differentiate, or a tuple of several."""
    return tuple(arguments[i] for i in argnum) if isinstance(argnum, SEQUENCE) else arguments[argnum]


def _placed(argnum: Argnum, arguments: Sequence[Any], point: Any) -> list[Any]:
    """Return the arguments with others in the place of those to differentiate."""
    inside = list(arguments)
    several = isinstance(argnum, SEQUENCE)
    for position, value in zip(argnum, point, strict=True) if several else ((argnum, point),):
        inside[position] = value
    return inside


def _results(structure: tree.Structure, values: Iterable[Any]) -> Any:
    """Return results in their containers; a number of Python's is one of NumPy's, as in autograd."""
    return tree.unflatten(structure, [_NUMPYS.get(type(x), _same)(x) for x in values])


def _same(value: Any) -> Any:
    return value


_NUMPYS: dict[type, Callable[[Any], Any]] = {float: np.float64, complex: np.complex128}


def _fitted(direction: Any, value: Any) -> Any:
    """Return a direction with the type of its value; one number stands for all."""
    if shape_of(direction) == () != shape_of(value):
        direction = np.broadcast_to(direction, shape_of(value))
    return conform("autograd", _SAME_SHAPE, direction, value)


class _Pulled:
    """A function that was run and recorded: its value, and the pullback of cotangents, which is its `__call__`."""

    def __init__(
        self,
        operation: str,
        fun: Function,
        argnum: Argnum,
        arguments: Any,
        options: Any,
        has_aux: bool = False,
    ) -> None:
        self.operation = operation
        self.inputs = _inputs(operation, fun, argnum, arguments, options)
        with written_for_boxes():
            self.recording = Recording(self.inputs, has_aux, operation)
        if not any(self.recording.states):
            warnings.warn(_INDEPENDENT, stacklevel=4)
        self.value = _results(self.recording.structure, map(snapshot, self.recording.values))

    def __call__(self, cotangent: Any) -> Any:
        cotangents, structure = tree.flatten(cotangent)
        tree.check_same(self.operation, self.recording.structure, structure)
        checked = list(map(_fitted, cotangents, self.recording.values))
        results = as_results(self.pull(checked), self.inputs.leaves, checked)
        return _results(self.inputs.structure, results)

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the inputs (None: zero)."""
        with written_for_boxes():
            return self.recording.pullback(cotangents)

    def ones(self, is_complex_allowed: bool = False) -> Any:
        """Return ones of the shapes of the outputs, which must be real."""
        if not is_complex_allowed and any(is_complex(dtype_of(value)) for value in self.recording.values):
            hint = "take np.real or np.imag, or holomorphic_grad"
            problem = message(self.operation, "the function must return real values", show(self.value), hint)
            raise DtypeError(problem)
        ones = [np.ones(shape_of(value), dtype_of(value)) for value in self.recording.values]
        return tree.unflatten(self.recording.structure, ones)

    def one(self, is_complex_allowed: bool = False) -> Any:
        """Return a one of the shape of the only output, which must be one number."""
        if self.recording.structure.kind is not None or size(shape_of(self.value)) != 1:
            hint = "use jacobian or elementwise_grad"
            requirement, got = "the function must return one number", self.recording.structure
            text = show(self.value) if got.kind is None else tree.show(got)
            raise DtypeError(message(self.operation, requirement, text, hint))
        return self.ones(is_complex_allowed)

    def rows(self, cotangents: Any) -> Any:
        """Return the pullbacks of cotangents, one after the other, for one output and one argument."""

        def pull(cotangent: Any) -> Any:
            return or_zeros(self.pull([cotangent]), self.inputs.leaves)[0]

        if self.recording.structure.kind is not None or self.inputs.structure.kind is not None:
            requirement = "the function must take an array or a number, and return one"
            structures = (self.inputs.structure, self.recording.structure)
            raise DtypeError(message(self.operation, requirement, " to ".join(map(tree.show, structures))))
        try:  # all directions in few passes, unless a rule of the user's needs plain arrays
            starts = range(0, len(cotangents), _DIRECTIONS)
            blocks = [vmap(pull)(cotangents[start : start + _DIRECTIONS]) for start in starts]
            return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        except WengertError:
            return np.stack([pull(cotangent) for cotangent in cotangents])


def _pulling(
    operation: str, fun: Function, argnum: Argnum, finish: Callable[[_Pulled], Any], has_aux: bool = False
) -> Function:
    """Return a function of the arguments that runs and records the user's, and finishes the work."""

    def derived(*arguments: Any, **options: Any) -> Any:
        return finish(_Pulled(operation, fun, argnum, arguments, options, has_aux))

    return named(derived, operation, fun)


@_operator
def make_vjp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function whose result is ``(vjp, value)``; ``vjp(g)`` is the product of g with the Jacobian.

    Example:
        >>> vjp, value = make_vjp(np.square)(np.array([1.0, 2.0]))
        >>> vjp(np.array([1.0, 10.0]))
        array([ 2., 40.])
    """
    return _pulling("make_vjp", fun, argnum, lambda pulled: (pulled, pulled.value))


@_operator
def grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the gradient of a function that returns one real number.

    By a complex z = x + i y the gradient is ``df/dx - i df/dy``.

    Raises:
        DtypeError: the function does not return one real number.

    Example:
        >>> print(*grad(lambda x, y: x * np.sin(y), argnum=(0, 1))(2.0, 0.0))
        0.0 2.0
    """
    return _pulling("grad", fun, argnum, lambda pulled: pulled(pulled.one()))


@_operator
def value_and_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes both the value and the gradient, as `grad` does.

    Example:
        >>> print(*value_and_grad(lambda x: x**3)(2.0))
        8.0 12.0
    """
    return _pulling("value_and_grad", fun, argnum, lambda pulled: (pulled.value, pulled(pulled.one())))


@_operator
def elementwise_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the sums of the columns of the Jacobian: its diagonal, if it is diagonal.

    Example:
        >>> elementwise_grad(lambda x: x**2)(np.array([1.0, 2.0]))
        array([2., 4.])
    """
    return _pulling("elementwise_grad", fun, argnum, lambda pulled: pulled(pulled.ones()))


@_operator
def holomorphic_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the derivative of a holomorphic function.

    Example:
        >>> print(holomorphic_grad(lambda z: z**2)(1.0 + 2.0j))
        (2+4j)
    """

    def finish(pulled: _Pulled) -> Any:
        if not all(is_complex(dtype_of(leaf)) for leaf in pulled.inputs.leaves):
            warnings.warn("Input to holomorphic_grad is not complex", stacklevel=3)
        return pulled(pulled.one(is_complex_allowed=True))

    return _pulling("holomorphic_grad", fun, argnum, finish)


@_operator
def grad_and_aux(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the gradient of the first of two results, and returns the second one.

    Example:
        >>> print(*grad_and_aux(lambda x: (x**2, "text"))(3.0))
        6.0 text
    """

    def finish(pulled: _Pulled) -> Any:
        return pulled(pulled.one()), pulled.recording.aux

    return _pulling("grad_and_aux", fun, argnum, finish, has_aux=True)


@_operator
def grad_named(fun: Function, argname: str) -> Function:
    """Return the gradient by the argument of a name, as `grad` does.

    Example:
        >>> print(grad_named(lambda x, y: x * y, "y")(2.0, 3.0))
        2.0
    """
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


@_operator
def multigrad(fun: Function, argnums: Sequence[int] = (0,)) -> Function:
    """Return the gradients by several arguments, as a tuple.

    Example:
        >>> print(*multigrad(lambda x, y: x * y, [0, 1])(2.0, 3.0))
        3.0 2.0
    """
    return grad(fun, tuple(argnums))


@_operator
def multigrad_dict(fun: Function) -> Function:
    """Return the gradients by all arguments, as a dict by their names.

    Example:
        >>> print(multigrad_dict(lambda x, y=3.0: x * y)(2.0)["y"])
        2.0
    """
    signature = inspect.signature(fun)

    def of_dict(values: dict[str, Any]) -> Any:
        bound = signature.bind_partial()
        bound.arguments.update(values)
        return fun(*bound.args, **bound.kwargs)

    @functools.wraps(fun)
    def gradients(*arguments: Any, **options: Any) -> Any:
        bound = signature.bind(*arguments, **options)
        bound.apply_defaults()
        return grad(of_dict)(dict(bound.arguments))

    return gradients


# -- forward mode ----------------------------------------------------------------------------------------


@_operator
def make_jvp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function whose result is a function of a direction: it computes ``(value, tangent)`` in forward mode.

    Example:
        >>> print(*make_jvp(lambda x: x**2)(3.0)(1.0))
        9.0 6.0
    """

    def at(*arguments: Any, **options: Any) -> Any:
        inputs = _inputs("make_jvp", fun, argnum, arguments, options)

        def jvp(direction: Any) -> Any:
            directions, structure = tree.flatten(direction)
            tree.check_same("make_jvp", inputs.structure, structure)
            checked = list(map(_fitted, directions, inputs.leaves))
            with written_for_boxes():
                pushed = Pushed(inputs, checked)
            values = list(map(snapshot, pushed.values))
            tangents = as_results(pushed.tangents, values, checked)
            return _results(pushed.structure, values), _results(pushed.structure, tangents)

        return jvp

    return named(at, "make_jvp", fun)


@_operator
def deriv(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the derivative in the direction of ones, in forward mode.

    Example:
        >>> print(deriv(lambda x: x**3)(2.0))
        12.0
    """
    push = make_jvp(fun, argnum)

    def derivative(*arguments: Any, **options: Any) -> Any:
        return push(*arguments, **options)(vspace(_point(argnum, arguments)).ones())[1]

    return named(derivative, "deriv", fun)


@_operator
def make_jvp_reversemode(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function whose result is a function of a direction, which computes the tangent by two reverse passes.

    Example:
        >>> print(make_jvp_reversemode(lambda x: x**2)(3.0)(1.0))
        6.0
    """
    return _pulling("make_jvp_reversemode", fun, argnum, _transposed)


def _transposed(pulled: _Pulled) -> _Pulled:
    zeros = tree.map_tree(lambda value: np.zeros(shape_of(value), dtype_of(value))[()], pulled.value)
    return _Pulled(pulled.operation, pulled.__call__, 0, (zeros,), {})


# -- matrices and their products -------------------------------------------------------------------------


@_operator
def jacobian(fun: Function, argnum: int = 0) -> Function:
    """Return a function that computes the Jacobian, in reverse mode.

    Raises:
        DtypeError: the function takes or returns a container, or returns complex numbers.

    Example:
        >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])
    """

    def finish(pulled: _Pulled) -> Any:
        pulled.ones()  # real values
        return _contracted(pulled, np.ones(()))

    return _pulling("jacobian", fun, argnum, finish)


def _contracted(pulled: _Pulled, tensor: Any) -> Any:
    """Return the product of a tensor of the first axes of the value with the Jacobian."""
    if pulled.recording.structure.kind is not None:
        return pulled.rows(())
    shape, first = shape_of(pulled.value), len(shape_of(tensor))
    if shape[:first] != shape_of(tensor):
        raise ShapeError(message(pulled.operation, _SAME_SHAPE, show(tensor, pulled.value)))
    rest = shape[first:]
    units = np.eye(math.prod(rest), dtype=dtype_of(pulled.value)).reshape((-1, *(1,) * first, *rest))
    rows = pulled.rows(units * tensor.reshape((*shape_of(tensor), *(1,) * len(rest))))
    return np.reshape(rows, (*rest, *shape_of(pulled.inputs.leaves[0])))


@_operator
def hessian(fun: Function, argnum: int = 0) -> Function:
    """Return a function that computes the second derivatives: the Jacobian of the Jacobian.

    Example:
        >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
        array([[4., 2.],
               [2., 0.]])
    """
    return jacobian(jacobian(fun, argnum), argnum)


@_operator
def make_hvp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function whose result is ``(hvp, gradient)``; ``hvp(v)`` is the product of the Hessian with v.

    Example:
        >>> hvp, gradient = make_hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
        >>> hvp(np.array([1.0, 1.0]))
        array([ 6., 12.])
    """
    return make_vjp(grad(fun, argnum), argnum)


@_operator
def hessian_tensor_product(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function of the arguments and of a tensor, which computes its product with the Hessian.

    Example:
        >>> hessian_tensor_product(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
        array([ 6., 12.])
    """
    gradient = grad(fun, argnum)

    def product(*arguments: Any, **options: Any) -> Any:
        *point, tensor = arguments
        return _Pulled("hessian_tensor_product", gradient, argnum, point, options)(tensor)

    return named(product, "hessian_tensor_product", fun)


hessian_vector_product = hessian_tensor_product


@_operator
def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """Return a function of the arguments and of a tensor, which computes the product of the tensor with the Jacobian.

    Example:
        >>> tensor_jacobian_product(lambda x: x**2)(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
        array([ 2., 40.])
    """

    def product(*arguments: Any, **options: Any) -> Any:
        *point, tensor = arguments
        pulled = _Pulled("tensor_jacobian_product", fun, argnum, point, options)
        return _contracted(pulled, tensor if shape_of(tensor) else np.asarray(tensor))

    return named(product, "tensor_jacobian_product", fun)


vector_jacobian_product = tensor_jacobian_product


def _half_square(x: Any) -> Any:
    return 0.5 * np.sum(x**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: Argnum = 0) -> Function:
    """Return a function whose result computes products ``J^T H J v`` with the Gauss-Newton matrix of g after f.

    Args:
        f: a function of arrays, numbers or containers of them.
        g: a scalar function of the value of ``f``; half the sum of squares by default.
        f_argnum: as the argnum of `make_vjp`.

    Returns:
        A function of the arguments of ``f``, whose result is a function of v.

    Example:
        >>> make_ggnvp(lambda x: np.array([1.0, 2.0]) * x**2)(np.array([1.0, 1.0]))(np.array([1.0, 1.0]))
        array([ 4., 16.])
    """

    def finish(pulled: _Pulled) -> Any:
        curve, push = _Pulled("make_ggnvp", grad(g), 0, (pulled.value,), {}), _transposed(pulled)

        def product(v: Any) -> Any:
            return pulled(curve(push(v)))

        return product

    return _pulling("make_ggnvp", f, f_argnum, finish)


def unary_to_nary(unary_operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator with ``argnum``, ``operator(fun, argnum=0, ...)``, for one of functions of one argument.

    Example:
        >>> twice = unary_to_nary(lambda fun, x: 2.0 * fun(x))
        >>> print(twice(lambda x, y: x - y, 1)(5.0, 1.0))
        8.0
    """

    @functools.wraps(unary_operator)
    def operator(fun: Function, argnum: Argnum = 0, *settings: Any, **named_settings: Any) -> Function:
        @functools.wraps(fun)
        def derived(*arguments: Any, **options: Any) -> Any:
            @functools.wraps(fun)
            def unary(x: Any) -> Any:
                return fun(*_placed(argnum, arguments, x), **options)

            return unary_operator(unary, _point(argnum, arguments), *settings, **named_settings)

        return derived

    return operator
