"""JAX: a program of NumPy's as a function of JAX's arrays, and a function of JAX's arrays inside programs."""

# A checker need not have JAX, and takes its name for this file's.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core import tree
from wengert.engine.core.dtypes import COMPLEX128, FLOAT64, NUMPY_VALUE, dtype_of, is_inexact
from wengert.engine.ops.conversion import cast
from wengert.engine.transforms.arguments import is_number
from wengert.engine.transforms.callbacks import followed
from wengert.interop.flat import NATIVE, Crossing, Flags, Flat, Framework, Types, chosen, spread, types_of
from wengert.interop.foreign import imported

__all__ = ["from_jax", "to_jax"]
__dir__ = __all__.copy


def to_jax(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a program of NumPy's as a function of JAX's arrays, compiled, with its derivatives.

    It works in `jax.grad`, `jvp`, `vmap`, `hessian`, `linearize` and their nestings: each derivative is a compiled
    program, too. In `jax.jit`, XLA calls it through `jax.pure_callback`, on the processor. Results have JAX's dtypes:
    float64 only with ``jax_enable_x64``.

    Args:
        fun: takes and returns arrays, numbers or containers of them.

    Returns:
        A function of the same arguments, whose arrays are JAX's or NumPy's. Python's floats take the dtype of the
        arrays beside them. Integers, truth values and texts are settings: a new one compiles the program anew, as new
        shapes do.

    Example:
        >>> import numpy as np, jax  # doctest: +SKIP
        >>> energy = to_jax(lambda x: np.sum(np.sin(x) ** 2))  # doctest: +SKIP
        >>> jax.jit(jax.grad(energy))(jax.numpy.ones(3))  # doctest: +SKIP
        Array([0.909297..., 0.909297..., 0.909297...], dtype=float32)
    """
    import jax

    def canonical(*arguments: Any, **options: Any) -> Any:
        return tree.map_tree(_canonical, followed(fun)(*arguments, **options))

    crossing = Crossing(
        "to_jax",
        functools.update_wrapper(canonical, fun, updated=()),
        NATIVE,
        lambda leaf: isinstance(leaf, (jax.Array, *NUMPY_VALUE)),
    )

    def call(*arguments: Any, **options: Any) -> Any:
        flat, operands = crossing.enter(arguments, options, jax.config.jax_enable_x64)
        results = _primitive().bind(*map(jax.numpy.asarray, operands), flat=flat)
        return tree.unflatten(flat.structure, results)

    return functools.update_wrapper(call, fun, updated=())


def from_jax(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of JAX's arrays as one of NumPy's, for use inside Wengert's programs.

    It works in `grad`, `jvp`, `vmap` and their nestings, where JAX differentiates and batches it, and in `wg.jit`: the
    compiled program calls JAX. `jax.jit` compiles the function and each of its derivatives. Float64 operands are
    computed in float64, whatever ``jax_enable_x64`` says.

    Args:
        fun: takes and returns JAX's arrays or containers of them, and goes through `jax.jit`.

    Returns:
        A function of the same arguments, whose arrays are NumPy's.

    Raises:
        DtypeError: a result is no array.

    Example:
        >>> import numpy as np, jax, wengert as wg  # doctest: +SKIP
        >>> norm = from_jax(jax.numpy.linalg.norm)  # doctest: +SKIP
        >>> wg.grad(lambda x: norm(x) ** 2)(np.array([3.0, 4.0]))  # doctest: +SKIP
        array([6., 8.])
    """
    return imported("from_jax", fun, _framework())


# -- Wengert in JAX --------------------------------------------------------------------------------------


def _canonical(value: Any) -> Any:
    """Return a leaf of a result in the dtype that JAX has for it."""
    import jax

    if not is_number(value):
        return value
    dtype = jax.dtypes.canonicalize_dtype(dtype_of(value))
    return cast(value, dtype=dtype) if dtype != dtype_of(value) else value


def _run_native(flat: Flat, *operands: Any) -> list[Any]:
    return NATIVE.run(flat, list(map(np.asarray, operands)))


@functools.cache
def _primitive() -> Any:
    """Return the one operation with derivatives of JAX's; its parameter is a flat function."""
    import jax
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    call = Primitive("wengert")
    call.multiple_results = True

    def compute(*operands: Any, flat: Flat) -> list[Any]:
        return [jax.numpy.asarray(x) for x in _run_native(flat, *operands)]

    def infer(*operands: Any, flat: Flat) -> list[Any]:
        return [jax.core.ShapedArray(t.shape, t.dtype) for t in flat.types(types_of(operands))]

    def call_back(*operands: Any, flat: Flat) -> Any:
        shapes = [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in flat.types(types_of(operands))]
        return jax.pure_callback(functools.partial(_run_native, flat), shapes, *operands)

    def jvp(primals: Any, tangents: Any, *, flat: Flat) -> Any:
        active = tuple(not isinstance(tangent, ad.Zero) for tangent in tangents)
        results = call.bind(*primals, flat=flat)
        moved = call.bind(*primals, *chosen(tangents, active), flat=flat.jvp(active))
        pairs = zip(spread(moved, [is_inexact(x.dtype) for x in results]), results, strict=True)
        return results, [ad.Zero(jax.typeof(x).to_tangent_aval()) if t is None else t for t, x in pairs]

    def transpose(cotangents: Any, *operands: Any, flat: Flat) -> list[Any]:
        unknown = tuple(map(ad.is_undefined_primal, operands))
        known = [x for x, flag in zip(operands, unknown, strict=True) if not flag]
        types = types_of([x.aval for x in chosen(operands, unknown)])
        incoming = [ad.instantiate_zeros(ct) for ct in cotangents]
        return spread(call.bind(*known, *incoming, flat=flat.transpose(unknown, types)), unknown)

    def batch(operands: Any, dims: Any, *, flat: Flat) -> Any:
        flags: Flags = tuple(dim is not None for dim in dims)
        moved = [
            jax.numpy.moveaxis(x, d, 0) if d is not None else x for x, d in zip(operands, dims, strict=True)
        ]
        results = call.bind(*moved, flat=flat.vmap(flags))
        return results, [0] * len(results)

    call.def_impl(compute)
    call.def_abstract_eval(infer)
    ad.primitive_jvps[call] = jvp
    ad.primitive_transposes[call] = transpose
    batching.primitive_batchers[call] = batch
    mlir.register_lowering(call, mlir.lower_fun(call_back, multiple_results=True))
    return call


# -- JAX in Wengert --------------------------------------------------------------------------------------


@functools.cache
def _framework() -> Framework:
    import jax

    def result(leaf: Any) -> Any:
        is_value = isinstance(leaf, (jax.Array, *NUMPY_VALUE, bool, int, float, complex))
        return jax.numpy.asarray(leaf) if is_value else None

    return Framework(
        jvp=jax.jvp,
        vjp=jax.vjp,
        vmap=jax.vmap,
        jit=jax.jit,
        is_inexact=lambda x: is_inexact(np.dtype(x.dtype)),
        result=result,
        infer=_infer,
        run=_run,
    )


def _run(flat: Flat, arrays: Sequence[Any]) -> list[Any]:
    with _precision(types_of(arrays)):
        return [np.array(x) for x in flat.compiled(*arrays)]


def _infer(flat: Flat, types: Types) -> Types:
    import jax

    with _precision(types):
        results = jax.eval_shape(flat.compiled, *(jax.ShapeDtypeStruct(t.shape, t.dtype) for t in types))
    return types_of(results)


def _precision(types: Types) -> Any:
    """Return a context in which JAX has numbers of 64 bits, if an operand is one."""
    import jax

    double = any(type_.dtype in (FLOAT64, COMPLEX128, np.int64, np.uint64) for type_ in types)
    return jax.enable_x64(double or jax.config.jax_enable_x64)
