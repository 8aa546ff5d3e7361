"""Convolution and its transpose in any number of dimensions, on `contract`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.array.array import operand
from wengert.core.errors import ShapeError, message
from wengert.core.shapes import shape_of
from wengert.ir.types import show
from wengert.nn.checks import integers
from wengert.ops.contraction import Access, Affine, along, contract
from wengert.ops.shape import slice_, whole

Size: TypeAlias = int | Sequence[int]
"""One number, or one for each spatial axis."""


def spatial_rank(operation: str, x: Any) -> int:
    """Return the number of spatial axes of images."""
    rank = len(shape_of(x)) - 2
    if rank < 1:
        requirement = "images must be (examples, channels, height, width), or with fewer or more spatial axes"
        raise ShapeError(message(operation, requirement, show(x)))
    return rank


def borders(
    operation: str, padding: Size | str, extents: Sequence[int], spans: Sequence[int], steps: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the width of the border before and behind each spatial axis.

    ``"same"`` makes windows of the spans start at every ``step``-th place, ``ceil(extent / step)`` of them; an odd
    border is wider behind.
    """
    if padding == "valid":
        padding = 0
    if padding != "same":
        if isinstance(padding, str):
            requirement = 'padding must be integers >= 0, "same" or "valid"'
            raise ShapeError(message(operation, requirement, repr(padding)))
        return [(width, width) for width in integers(operation, "padding", padding, len(extents), 0)]
    totals = [
        max((-(-extent // step) - 1) * step + span - extent, 0)
        for extent, span, step in zip(extents, spans, steps, strict=True)
    ]
    return [(total // 2, total - total // 2) for total in totals]


def padded(x: Any, widths: Sequence[tuple[int, int]], fill: float) -> Any:
    """Return images with a border."""
    if not any(map(any, widths)):
        return x
    return np.pad(x, [(0, 0), (0, 0), *widths], constant_values=fill)


class _Correlation(NamedTuple):
    """The index space of a correlation, and what each of its points reads and writes.

    Dimensions: example, group, filter of the group, channel of the group, positions..., taps...
    """

    extents: tuple[int, ...]
    image: Access
    filters: Access
    positions: Access


def _correlation(
    examples: int,
    groups: int,
    weight: Sequence[int],
    positions: Sequence[int],
    steps: Sequence[int],
    gaps: Sequence[int],
) -> _Correlation:
    count, per_group, *taps = weight
    rank = len(taps)
    space, tap_space = range(4, 4 + rank), range(4 + rank, 4 + 2 * rank)
    channel: Affine = (0, ((1, per_group), (3, 1))) if groups > 1 else along(3)
    output: Affine = (0, ((1, count // groups), (2, 1))) if groups > 1 else along(2)
    windows: list[Affine] = [
        (0, ((p, step), (t, gap))) for p, t, step, gap in zip(space, tap_space, steps, gaps, strict=True)
    ]
    return _Correlation(
        (examples, groups, count // groups, per_group, *positions, *taps),
        (along(0), channel, *windows),
        (output, along(3), *map(along, tap_space)),
        (along(0), output, *map(along, space)),
    )


def _check_rank(operation: str, x: Any, weight: Any) -> int:
    rank = spatial_rank(operation, x)
    if len(shape_of(weight)) != rank + 2:
        raise ShapeError(message(operation, "x and weight must have the same rank", show(x, weight)))
    return rank


def convolve(
    x: Any,
    weight: Any,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Any:
    """Correlate images with filters, as networks' "convolution" does.

    ``y[n, o, h, w] = sum_{i, k, l} x[n, i, h s + k d - p, w s + l d - p] weight[o, i, k, l]``, in any number of spatial
    dimensions, with zeros outside the image.

    Args:
        x: (examples, channels, height, width, ...).
        weight: (filters, channels / groups, filter height, filter width, ...).
        stride: the step ``s`` between positions, one or one for each spatial axis.
        padding: the width ``p`` of the border of zeros; or ``"same"``, the least for ``ceil(extent / s)`` positions, an
            odd one wider behind; or ``"valid"``, none.
        dilation: the step ``d`` between the taps of the filter.
        groups: the channels and filters are split into so many independent groups.

    Returns:
        (examples, filters, ...), with ``(extent + 2 p - d (taps - 1) - 1) // s + 1`` along each spatial axis.

    Raises:
        ShapeError: channels and groups do not fit, or the filter is larger than the padded image.

    Example:
        >>> import numpy as np
        >>> convolve(np.ones((1, 1, 4, 4)), np.ones((1, 1, 3, 3)))[0, 0]
        array([[9., 9.],
               [9., 9.]])
    """
    x, weight = operand(x), operand(weight)
    rank = _check_rank("convolve", x, weight)
    steps = integers("convolve", "stride", stride, rank, 1)
    gaps = integers("convolve", "dilation", dilation, rank, 1)
    (groups,) = integers("convolve", "groups", groups, 1, 1)
    filters, per_group, *taps = shape_of(weight)
    spans = [gap * (tap - 1) + 1 for gap, tap in zip(gaps, taps, strict=True)]
    x = padded(x, borders("convolve", padding, shape_of(x)[2:], spans, steps), 0)
    examples, channels, *extents = shape_of(x)
    if channels != per_group * groups or filters % groups:
        got = f"{show(x, weight)}, groups={groups}"
        raise ShapeError(
            message("convolve", "channels must be groups x weight.shape[1], and groups divide filters", got)
        )
    positions = [(n - span) // step + 1 for n, span, step in zip(extents, spans, steps, strict=True)]
    if min(positions) < 1 or not all(taps):
        raise ShapeError(message("convolve", "the filter must fit into the padded image", show(x, weight)))
    at = _correlation(examples, groups, shape_of(weight), positions, steps, gaps)
    return contract(
        x,
        weight,
        extents=at.extents,
        accesses=(at.image, at.filters),
        out=at.positions,
        shape=(examples, filters, *positions),
    )


def convolve_transposed(
    y: Any,
    weight: Any,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
    output_padding: Size = 0,
) -> Any:
    """Apply the transpose of `convolve` with the same weight and settings, as networks do to enlarge images.

    ``x[n, i, h s + k d - p, w s + l d - p] += y[n, o, h, w] weight[o, i, k, l]``.

    Args:
        y: (examples, filters, height, width, ...).
        weight: (filters, channels / groups, filter height, filter width, ...), as `convolve` takes it.
        stride: the step ``s`` between positions, one or one for each spatial axis.
        padding: the width ``p`` of the border that is cut off; or ``"same"``, for ``extent s``; or ``"valid"``, none.
        dilation: the step ``d`` between the taps of the filter.
        groups: the filters and channels are split into so many independent groups.
        output_padding: so much longer is the result: of the extents that a convolution makes one, 0 gives the least.

    Returns:
        (examples, channels, ...), with ``(extent - 1) s - 2 p + d (taps - 1) + 1 + output_padding`` along each spatial
        axis.

    Raises:
        ShapeError: filters and groups do not fit, or nothing is left, or ``output_padding`` is not less than stride or
            dilation.

    Example:
        >>> import numpy as np
        >>> convolve_transposed(np.array([[[1.0, 2.0]]]), np.array([[[1.0, 1.0, 1.0]]]), stride=2)[0, 0]
        array([1., 1., 3., 2., 2.])
    """
    name = "convolve_transposed"
    y, weight = operand(y), operand(weight)
    rank = _check_rank(name, y, weight)
    steps = integers(name, "stride", stride, rank, 1)
    gaps = integers(name, "dilation", dilation, rank, 1)
    more = integers(name, "output_padding", output_padding, rank, 0)
    (groups,) = integers(name, "groups", groups, 1, 1)
    examples, filters, *positions = shape_of(y)
    if filters != shape_of(weight)[0] or filters % groups:
        got = f"{show(y, weight)}, groups={groups}"
        raise ShapeError(message(name, "filters must be weight.shape[0], and groups divide them", got))
    if any(extra >= max(step, gap) for extra, step, gap in zip(more, steps, gaps, strict=True)):
        requirement = "output_padding must be less than stride or dilation"
        raise ShapeError(message(name, requirement, f"{more} for stride {steps} and dilation {gaps}"))
    spans = [gap * (tap - 1) + 1 for gap, tap in zip(gaps, shape_of(weight)[2:], strict=True)]
    ends = [(n - 1) * step + span for n, step, span in zip(positions, steps, spans, strict=True)]
    if padding == "same":
        more = tuple(max(step - span, 0) for step, span in zip(steps, spans, strict=True))
    grown = [n * step for n, step in zip(positions, steps, strict=True)]
    cut = borders(name, padding, grown, spans, steps)
    extents = [end + extra for end, extra in zip(ends, more, strict=True)]
    if min(positions) < 1 or any(n - sum(widths) < 1 for n, widths in zip(extents, cut, strict=True)):
        raise ShapeError(message(name, "something must be left of the image", show(y, weight)))
    at = _correlation(examples, groups, shape_of(weight), positions, steps, gaps)
    shape = (examples, groups * shape_of(weight)[1], *extents)
    x = contract(
        y, weight, extents=at.extents, accesses=(at.positions, at.filters), out=at.image, shape=shape
    )
    if not any(map(any, cut)):
        return x
    kept = [(low, n - low - high, 1) for n, (low, high) in zip(extents, cut, strict=True)]
    return slice_(x, index=(*whole(shape)[:2], *kept))
