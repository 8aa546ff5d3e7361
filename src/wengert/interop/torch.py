"""PyTorch: a program of NumPy's as a function of tensors, and a function of tensors inside programs."""

# A checker need not have PyTorch, and takes its name for this file's.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core import tree
from wengert.engine.core.dtypes import NUMPY_VALUE
from wengert.engine.core.errors import DtypeError, UnsupportedError, message
from wengert.engine.ir.types import TensorType
from wengert.engine.transforms.callbacks import followed
from wengert.interop.flat import DTYPES, NATIVE, Crossing, Flat, Framework, Types, chosen, spread
from wengert.interop.foreign import imported

__all__ = ["from_torch", "to_torch"]
__dir__ = __all__.copy


def to_torch(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a program of NumPy's as a function of PyTorch's tensors, compiled, with its derivatives.

    Reverse and forward mode, any order of both, and `torch.func` work: each derivative is a compiled program, too. The
    pass backward computes the value again. Tensors on the processor are not copied, unless they are conjugate views.

    Args:
        fun: takes and returns arrays, numbers or containers of them.

    Returns:
        A function of the same arguments, whose arrays are tensors, or NumPy's, which are constants. Python's floats
        take the dtype of the tensors beside them. Integers, truth values and texts are settings: a new one compiles the
        program anew, as new shapes do.

    Raises:
        DtypeError: a tensor is on another device, or of a dtype that NumPy lacks.

    Example:
        >>> import numpy as np, torch  # doctest: +SKIP
        >>> energy = to_torch(lambda x: np.sum(np.sin(x) ** 2))  # doctest: +SKIP
        >>> x = torch.ones(3, requires_grad=True)  # doctest: +SKIP
        >>> energy(x).backward()  # doctest: +SKIP
        >>> x.grad  # doctest: +SKIP
        tensor([0.9093, 0.9093, 0.9093])
    """
    import torch

    crossing = Crossing("to_torch", followed(fun), NATIVE, lambda leaf: _is_array(crossing.name, leaf))

    def call(*arguments: Any, **options: Any) -> Any:
        flat, operands = crossing.enter(arguments, options)
        # The pass backward reads NumPy's arrays again, which the user may change before.
        tensors = [x if isinstance(x, torch.Tensor) else torch.from_numpy(np.array(x)) for x in operands]
        results = _function().apply(flat, *tensors)
        return tree.unflatten(flat.structure, results)

    return torch.compiler.disable(functools.update_wrapper(call, fun, updated=()))


def from_torch(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of PyTorch's tensors as one of NumPy's arrays, for use inside Wengert's programs.

    It works in `grad`, `jvp`, `vmap` and their nestings, where `torch.func` differentiates and batches it, and in
    `wg.jit`: the compiled program calls PyTorch, on the processor. Arrays are not copied on the way in, unless they are
    read-only. Parameters of a module are constants; pass them as an argument with
    ``torch.func.functional_call``.

    Args:
        fun: takes and returns tensors or containers of them, has no effects, and does not write into its arguments.

    Returns:
        A function of the same arguments, whose tensors are arrays.

    Raises:
        UnsupportedError: the function wrote into an argument.
        DtypeError: a result is no tensor, or its type differs between calls.

    Example:
        >>> import numpy as np, torch, wengert as wg  # doctest: +SKIP
        >>> norm = from_torch(torch.linalg.vector_norm)  # doctest: +SKIP
        >>> wg.grad(lambda x: norm(x) ** 2)(np.array([3.0, 4.0]))  # doctest: +SKIP
        array([6., 8.])
    """
    return imported("from_torch", fun, _framework())


# -- tensors ---------------------------------------------------------------------------------------------


def _is_array(operation: str, leaf: Any) -> bool:
    """Return whether a leaf is a tensor or one of NumPy's arrays; raise `DtypeError` for a tensor elsewhere."""
    import torch

    if isinstance(leaf, torch.Tensor) and (leaf.device.type, leaf.layout) != ("cpu", torch.strided):
        got, hint = f"{leaf.layout} on {leaf.device}", "convert it: x.cpu(), x.to_dense()"
        raise DtypeError(message(operation, "tensors must be dense, on the processor", got, hint))
    return isinstance(leaf, (torch.Tensor, *NUMPY_VALUE))


def _array(tensor: Any) -> Any:
    return tensor.detach().resolve_conj().resolve_neg().numpy()


def _tensor(array: Any) -> Any:
    """Return an array as a tensor that shares its memory where PyTorch can: not read-only, no negative strides."""
    import torch

    is_shared = array.flags.writeable and all(stride >= 0 for stride in array.strides)
    return torch.from_numpy(array if is_shared else array.copy())


# -- Wengert in PyTorch ----------------------------------------------------------------------------------


@functools.cache
def _function() -> Any:
    """Return the one function with derivatives of PyTorch's; its first argument is a flat function."""
    import torch
    from torch.fx.experimental.proxy_tensor import get_proxy_mode

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(flat: Flat, *operands: Any) -> tuple[Any, ...]:
            if get_proxy_mode() is not None:  # the results would be constants of what it traces
                requirement = "make_fx cannot trace it, on which torch.func.linearize and torch.export rely"
                raise UnsupportedError(message(flat.name, requirement))
            return tuple(map(_tensor, NATIVE.run(flat, list(map(_array, operands)))))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
            ctx.flat, *operands = inputs
            ctx.save_for_backward(*operands)
            ctx.save_for_forward(*operands)
            ctx.inexact = tuple(_is_inexact(x) for x in output)
            ctx.mark_non_differentiable(*(x for x in output if not _is_inexact(x)))

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
            operands = ctx.saved_tensors  # checkpoints give them once
            active = tuple(
                needed and _is_inexact(x)
                for needed, x in zip(ctx.needs_input_grad[1:], operands, strict=True)
            )
            incoming = [ct.conj() for ct in chosen(cotangents, ctx.inexact)]
            results = Function.apply(ctx.flat.vjp(active), *operands, *incoming)
            return None, *spread([x.conj() for x in results], active)

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:
            active = tuple(tangent is not None for tangent in tangents)
            results = Function.apply(ctx.flat.jvp(active), *ctx.saved_tensors, *chosen(tangents, active))
            return tuple(spread(results, ctx.inexact))

        @staticmethod
        def vmap(info: Any, in_dims: tuple[Any, ...], flat: Flat, *operands: Any) -> tuple[Any, Any]:
            dims = in_dims[1:]
            moved = [x if d is None else x.movedim(d, 0) for x, d in zip(operands, dims, strict=True)]
            results = Function.apply(flat.vmap(tuple(d is not None for d in dims)), *moved)
            return results, (0,) * len(results)

    return Function


def _is_inexact(tensor: Any) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


# -- PyTorch in Wengert ----------------------------------------------------------------------------------


@functools.cache
def _framework() -> Framework:
    import torch

    def vjp(function: Callable[..., Any], *primals: Any) -> Any:
        """Return the transpose: PyTorch's pullback conjugates it."""
        results, pullback = torch.func.vjp(function, *primals)

        def transposed(cotangents: Any) -> Any:
            pulled = pullback(tuple(ct.conj() for ct in cotangents))
            return [x.conj() for x in (pulled if isinstance(pulled, tuple) else (pulled,))]

        return results, transposed

    def result(leaf: Any) -> Any:
        is_value = isinstance(leaf, (torch.Tensor, bool, int, float, complex))
        return torch.as_tensor(leaf) if is_value else None

    return Framework(
        jvp=torch.func.jvp,
        vjp=vjp,
        vmap=torch.func.vmap,
        jit=lambda function: function,
        is_inexact=_is_inexact,
        result=result,
        infer=_infer,
        run=_run,
    )


def _run(flat: Flat, arrays: Sequence[Any]) -> list[Any]:
    tensors = list(map(_tensor, arrays))
    results = [_array(x).copy() for x in flat.function(*tensors)]
    if any(tensor._version for tensor in tensors):
        requirement = "the function must not write into its arguments"
        raise UnsupportedError(message(flat.name, requirement, hint="write into x.clone()"))
    return results


def _infer(flat: Flat, types: Types) -> Types:
    """Run the function on tensors without elements."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True):
        tensors = [torch.empty(t.shape, dtype=getattr(torch, t.dtype.name)) for t in types]
        results = flat.function(*tensors)
    return tuple(TensorType(DTYPES[str(x.dtype).split(".")[-1]], tuple(x.shape)) for x in results)
