"""Calls of routines of BLAS and LAPACK: what a program hands to them, for each matrix of a stack."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape
from wengert.engine.ir.types import TensorType


class Given(NamedTuple):
    """The address of an operand's matrix."""

    number: int


class Made(NamedTuple):
    """The address of a result's matrix."""

    number: int


class Memory(NamedTuple):
    """An address in the memory that the routine works in."""

    offset: int


#: An argument of a routine. Numbers and letters are handed over as Fortran does, by their addresses.
Argument: TypeAlias = int | float | str | Given | Made | Memory


class RoutineCall(NamedTuple):
    """One call, for a matrix of each operand and result."""

    name: str
    """Such as ``dgetrf``."""
    arguments: tuple[Argument, ...]
    copies: tuple[tuple[int, int], ...] = ()
    """Operands, and the results in which the routine finds them and overwrites them."""
    memory: int = 0
    """Bytes of the memory that it works in."""
    work: int = 0
    """About how many operations it carries out."""
    is_product: bool = False
    """Whether nearly all of them are products of matrices, which threads share well."""


class Routine:
    """A routine of BLAS or LAPACK carries the operation out, matrix by matrix; leading axes broadcast.

    Args:
        call: ``(*types, **params) -> RoutineCall``, from the types of operands and results without leading axes.
        given: the number of axes of each operand's matrix.
        made: the number of axes of each result's matrix.
    """

    def __init__(
        self, call: Callable[..., RoutineCall], operand_axes: Sequence[int], made: Sequence[int]
    ) -> None:
        self.call = call
        self.given = tuple(operand_axes)
        self.made = tuple(made)

    def stacked(self, operands: Sequence[TensorType], results: Sequence[TensorType], params: Any) -> Stacked:
        """Return the calls for operands and results of some types."""
        inner = [
            TensorType(type_.dtype, type_.shape[type_.ndim - rank :])
            for type_, rank in zip((*operands, *results), (*self.given, *self.made), strict=True)
        ]
        lead = results[0].shape[: results[0].ndim - self.made[0]]
        leads = [x.shape[: x.ndim - rank] for x, rank in zip(operands, self.given, strict=True)]
        leads += [lead for _ in results]
        return Stacked(
            self.call(*inner, **params),
            math.prod(lead),
            tuple(_strides(own_lead, lead) for own_lead in leads),
            tuple(math.prod(type_.shape) * type_.dtype.itemsize for type_ in inner),
        )


class Stride(NamedTuple):
    """The matrices between two places along an axis; a call's place on it is ``number // divisor % extent``."""

    divisor: int
    extent: int
    stride: int


class Stacked(NamedTuple):
    """The calls for stacks of matrices."""

    call: RoutineCall
    matrices: int
    """The number of calls."""
    strides: tuple[tuple[Stride, ...], ...]
    """For each operand and result, those of its leading axes; the number of its matrix is the sum of the steps."""
    sizes: tuple[int, ...]
    """The bytes of a matrix of each operand and result."""

    def offset(self, array: int, number: int) -> int:
        """Return where the matrix of a call begins, in bytes, in an operand or, after these, a result."""
        steps = (number // axis.divisor % axis.extent * axis.stride for axis in self.strides[array])
        return self.sizes[array] * sum(steps)


def _strides(shape: Shape, lead: Shape) -> tuple[Stride, ...]:
    """Return the strides of a stack of matrices that broadcasts to another one."""
    if shape == lead:
        return (Stride(1, max(math.prod(lead), 1), 1),) if lead else ()
    strides = list[Stride]()
    divisor = stride = 1
    for place, extent in enumerate(reversed(lead)):
        own = shape[-1 - place] if place < len(shape) else 1
        if own > 1:
            strides.append(Stride(divisor, extent, stride))
        divisor, stride = divisor * extent, stride * own
    return tuple(strides)
