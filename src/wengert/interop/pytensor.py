"""PyTensor and PyMC: a program of NumPy's as an operation of their graphs."""

# A checker need not have PyTensor, and takes its name for this file's.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core import tree
from wengert.engine.core.dtypes import NUMPY_VALUE, is_complex, is_float
from wengert.engine.core.errors import ArgumentError, DtypeError, WengertError, message
from wengert.engine.ir.types import TensorType, show
from wengert.engine.transforms.callbacks import followed
from wengert.interop.flat import NATIVE, Crossing, Flat, chosen, spread, types_of

__all__ = ["as_op"]
__dir__ = __all__.copy

#: The extent for which a program is traced where neither the graph nor its shared data tell it.
_EXTENT = 2


def as_op(fun: Callable[..., Any], otypes: Sequence[Any] | None = None) -> Callable[..., Any]:
    """Return a program of NumPy's as a function of PyTensor's variables, compiled, with its derivatives.

    PyMC's NUTS samples with it: in a model, ``pm.Potential("likelihood", as_op(log_likelihood)(a, b, data))``. Graphs
    have the gradient (``L_op``) and the derivative in a direction (``R_op``), each a compiled program, to any order.
    PyTensor's own compilers call it: by default, and with Numba in object mode; its JAX and PyTorch modes refuse it.

    Args:
        fun: takes and returns real arrays, numbers or containers of them.
        otypes: PyTensor's types of the results, in order. Without them, the program is traced once for the shapes of
            the arguments: those that the graph and its shared data have now, and 2 for an extent that nobody knows.

    Returns:
        A function of the same arguments, whose arrays are variables of PyTensor or NumPy's arrays. Python's floats take
        the dtype of the arrays beside them; integers, truth values and texts are settings.

    Raises:
        ArgumentError: the types of the results were not found; ``otypes`` gives them.
        DtypeError: an argument or a result is complex, or a result has another type than was said.

    Example:
        >>> import numpy as np, pytensor, pytensor.tensor as pt  # doctest: +SKIP
        >>> energy = as_op(lambda x: np.sum(np.sin(x) ** 2))  # doctest: +SKIP
        >>> x = pt.vector("x")  # doctest: +SKIP
        >>> pytensor.grad(energy(x), x).eval({x: np.ones(3)})  # doctest: +SKIP
        array([0.90929743, 0.90929743, 0.90929743])
    """
    import pytensor.tensor as pt
    from pytensor.graph.basic import Variable

    crossing = Crossing(
        "as_op", followed(fun), NATIVE, lambda leaf: isinstance(leaf, (Variable, *NUMPY_VALUE))
    )

    def call(*arguments: Any, **options: Any) -> Any:
        flat, operands = crossing.enter(arguments, options)
        inputs = list(map(pt.as_tensor_variable, operands))
        types = tuple(otypes) if otypes is not None else _result_types(flat, inputs)
        results = _operation()(flat, types)(*inputs, return_list=True)
        if otypes is not None:
            return results[0] if len(results) == 1 else tuple(results)
        return tree.unflatten(flat.structure, results)

    return functools.update_wrapper(call, fun, updated=())


def _result_types(flat: Flat, inputs: Sequence[Any]) -> tuple[Any, ...]:
    from pytensor.tensor.type import TensorType as Tensor

    types = [TensorType(np.dtype(x.type.dtype), _shape(x)) for x in inputs]
    try:
        results = flat.types(types)
    except WengertError as problem:
        requirement = f"the types of the results are unknown, as it fails for {show(*types)}"
        hint = "give them: otypes=[pt.dscalar]"
        raise ArgumentError(message(flat.name, requirement, str(problem), hint)) from problem
    is_known = all(None not in x.type.shape for x in inputs)
    return tuple(Tensor(t.dtype.name, t.shape if is_known else (None,) * len(t.shape)) for t in results)


def _shape(variable: Any) -> tuple[int, ...]:
    from pytensor.graph.utils import MissingInputError

    if None not in variable.type.shape:
        return variable.type.shape
    try:
        return tuple(int(extent) for extent in variable.shape.eval(mode="FAST_COMPILE"))
    except MissingInputError:
        return tuple(_EXTENT if extent is None else extent for extent in variable.type.shape)


def _is_float(variable: Any) -> bool:
    return is_float(np.dtype(variable.type.dtype))


def _check_real(flat: Flat, variables: Sequence[Any]) -> None:
    for variable in variables:
        if is_complex(np.dtype(variable.type.dtype)):
            requirement = "arguments and results must be real"
            raise DtypeError(message(flat.name, requirement, str(variable.type)))


def _run(flat: Flat, inputs: Sequence[Any], otypes: Sequence[Any]) -> list[Any]:
    """Return the results for NumPy's arrays, or raise `DtypeError` if they are of other types than the graph has."""
    results = NATIVE.run(flat, list(map(np.asarray, inputs)))
    if [(x.dtype, x.ndim) for x in results] != [(t.dtype, t.ndim) for t in otypes]:
        requirement = f"the results must have the types {', '.join(map(str, otypes))}"
        raise DtypeError(message(flat.name, requirement, show(*types_of(results))))
    return results


@functools.cache
def _operation() -> Any:
    """Return the class of operations of flat functions."""
    from pytensor.gradient import DisconnectedType
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    class WengertOp(Op):
        __props__ = ("flat", "otypes")

        def __init__(self, flat: Flat, otypes: tuple[Any, ...]) -> None:
            self.flat, self.otypes = flat, otypes

        def __str__(self) -> str:
            return self.flat.name

        def make_node(self, *inputs: Any) -> Any:
            outputs = [otype() for otype in self.otypes]
            _check_real(self.flat, (*inputs, *outputs))
            return Apply(self, list(inputs), outputs)

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            for storage, result in zip(output_storage, _run(self.flat, inputs, self.otypes), strict=True):
                storage[0] = result

        def connection_pattern(self, node: Any) -> list[list[bool]]:
            return [[_is_float(x) and _is_float(y) for y in node.outputs] for x in node.inputs]

        def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:  # noqa: N802
            active = tuple(map(_is_float, inputs))
            pairs = [(y, ct) for y, ct in zip(outputs, output_grads, strict=True) if _is_float(y)]
            incoming = [y.zeros_like() if isinstance(ct.type, DisconnectedType) else ct for y, ct in pairs]
            pull = WengertOp(self.flat.vjp(active), tuple(x.type for x in chosen(inputs, active)))
            results = spread(pull(*inputs, *incoming, return_list=True), active)
            return [DisconnectedType()() if x is None else x for x in results]

        def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:  # noqa: N802
            active = tuple(
                p is not None and not isinstance(p.type, DisconnectedType) and _is_float(x)
                for x, p in zip(inputs, eval_points, strict=True)
            )
            inexact = [is_float(np.dtype(otype.dtype)) for otype in self.otypes]
            push = WengertOp(self.flat.jvp(active), chosen(self.otypes, tuple(inexact)))
            results = spread(push(*inputs, *chosen(eval_points, active), return_list=True), inexact)
            return [DisconnectedType()() if x is None else x for x in results]

    return WengertOp
