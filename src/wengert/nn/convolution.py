"""Convolution and its transpose in any number of dimensions, as functions and as layers."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.docstrings import documented
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import static
from wengert.engine.ir.types import show
from wengert.engine.ops.contraction import Access, Affine, along, contract
from wengert.engine.ops.shape import slice_, whole
from wengert.nn.checks import check_spatial, integers, setting
from wengert.nn.display import Displayed
from wengert.nn.initialisers import Initialiser, Seed, he_uniform

Size: TypeAlias = int | Sequence[int]
"""One number, or one for each spatial axis."""

_FUNCTION_TERMS = {
    "x": "(examples, channels, height, width, ...).",
    "y": "(examples, filters, height, width, ...).",
    "weight": "(filters, channels / groups, filter height, filter width, ...).",
    "stride": "the step ``s`` between positions, one number or one for each spatial axis.",
    "dilation": "the step ``d`` between the taps of the filter.",
    "groups": "the number of independent groups into which channels and filters are split.",
}
_layer = functools.partial(
    documented,
    {
        "channels": "the number of channels of the images.",
        "filters": "the number of channels of the output.",
        "size": "the extents of the filters; as stride, padding and dilation, one number or one for each axis.",
        "seed": "an integer or a generator, which draws the filters.",
        "stride": "the step between positions.",
        "dilation": "the step between taps.",
        "groups": "the number of independent groups into which channels and filters are split.",
        "output_padding": "the number of elements added to the extents: see `convolve_transposed`.",
        "bias": "whether to add a number to the output of each filter, which starts as zero.",
        "initialise": "draws the filters; He uniform by default.",
    },
    Raises="""\
ArgumentError: the groups do not divide channels and filters.
ShapeError: a number is not a positive integer.""",
)


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
    """Return the widths of the border before and after each spatial axis.

    ``"same"`` gives ``ceil(extent / step)`` windows of ``span`` elements; an odd border is wider after the axis.
    """
    if padding == "same":
        totals = [
            max((-(-extent // step) - 1) * step + span - extent, 0)
            for extent, span, step in zip(extents, spans, steps, strict=True)
        ]
        return [(total // 2, total - total // 2) for total in totals]
    if isinstance(padding, str) and padding != "valid":
        requirement = 'padding must be integers >= 0, "same" or "valid"'
        raise ShapeError(message(operation, requirement, repr(padding)))
    widths = integers(operation, "padding", 0 if padding == "valid" else padding, len(extents), 0)
    return [(width, width) for width in widths]


def padded(x: Any, widths: Sequence[tuple[int, int]], fill: float) -> Any:
    """Return images with a border."""
    return np.pad(x, [(0, 0), (0, 0), *widths], constant_values=fill) if any(map(any, widths)) else x


def _correlation(
    examples: int,
    groups: int,
    weight: Sequence[int],
    positions: Sequence[int],
    steps: Sequence[int],
    gaps: Sequence[int],
) -> tuple[tuple[int, ...], Access, Access, Access]:
    """Return the index space of a correlation, and the accesses of the image, the filters and the positions.

    Dimensions: example, group, filter of the group, channel of the group, positions..., taps...
    """
    count, per_group, *taps = weight
    rank = len(taps)
    space, tap_space = range(4, 4 + rank), range(4 + rank, 4 + 2 * rank)
    channel: Affine = (0, ((1, per_group), (3, 1))) if groups > 1 else along(3)
    output: Affine = (0, ((1, count // groups), (2, 1))) if groups > 1 else along(2)
    windows: list[Affine] = [
        (0, ((p, step), (t, gap))) for p, t, step, gap in zip(space, tap_space, steps, gaps, strict=True)
    ]
    return (
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


@documented(
    _FUNCTION_TERMS,
    padding="""the width ``p`` of the border of zeros; ``"same"``, the least for ``ceil(extent / s)`` positions, an
    odd one wider after the axis; or ``"valid"``, no border.""",
)
def convolve(
    x: Any, weight: Any, stride: Size = 1, padding: Size | str = 0, dilation: Size = 1, groups: int = 1
) -> Any:
    """Correlate images with filters, which networks call convolution.

    ``y[n, o, h, w] = sum_{i, k, l} x[n, i, h s + k d - p, w s + l d - p] weight[o, i, k, l]``, in any number of spatial
    dimensions, with zeros outside the image.

    Returns:
        (examples, filters, ...), with ``(extent + 2 p - d (taps - 1) - 1) // s + 1`` along each spatial axis.

    Raises:
        ShapeError: channels and groups do not fit, or the filter is larger than the padded image.

    Example:
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
    space, image, filter_access, out = _correlation(
        examples, groups, shape_of(weight), positions, steps, gaps
    )
    shape = (examples, filters, *positions)
    return contract(x, weight, extents=space, accesses=(image, filter_access), out=out, shape=shape)


@documented(
    _FUNCTION_TERMS,
    padding="""the width ``p`` of the border that is cut off; ``"same"``, for extents ``extent s``; or ``"valid"``,
    no border.""",
    output_padding="""the number of elements added to the extents. `convolve` maps several extents to the same
    one; 0 gives the least of them.""",
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
    """Apply the transpose of `convolve` with the same weight and settings, which enlarges images.

    ``x[n, i, h s + k d - p, w s + l d - p] += y[n, o, h, w] weight[o, i, k, l]``.

    Returns:
        (examples, channels, ...), with ``(extent - 1) s - 2 p + d (taps - 1) + 1 + output_padding`` along each spatial
        axis.

    Raises:
        ShapeError: filters and groups do not fit, the border covers the image, or ``output_padding`` is not less than
            the stride or the dilation.

    Example:
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
    space, image, filter_access, out = _correlation(
        examples, groups, shape_of(weight), positions, steps, gaps
    )
    shape = (examples, groups * shape_of(weight)[1], *extents)
    x = contract(y, weight, extents=space, accesses=(out, filter_access), out=image, shape=shape)
    if not any(map(any, cut)):
        return x
    ranges = [(low, n - low - high, 1) for n, (low, high) in zip(extents, cut, strict=True)]
    return slice_(x, index=(*whole(shape)[:2], *ranges))


# -- layers ----------------------------------------------------------------------------------------------


class Spatial:
    """A layer over images. A subclass with a rank takes over the sections of the docstring of its base."""

    rank: ClassVar[int]
    """The number of spatial axes."""

    def __init_subclass__(cls, rank: int | None = None) -> None:
        if rank is not None:
            cls.rank = rank
        if rank is not None and cls.__doc__ is not None:  # Python omits docstrings under -OO
            _, heading, sections = (cls.__mro__[1].__doc__ or "").partition("\n\nArgs:\n")
            cls.__doc__ = inspect.cleandoc(cls.__doc__) + heading + sections


@_layer(padding='the width of the border of zeros, or ``"same"`` or ``"valid"``: see `convolve`.')
@dataclasses.dataclass(init=False)
class Convolution(Displayed, Spatial):
    """A layer of filters, ``convolve(x, weight) + bias``.

    Example:
        >>> Conv1D(1, 6, 3, seed=0)(np.ones((2, 1, 28), "f4")).shape
        (2, 6, 26)
        >>> Conv2D(1, 6, 3, seed=0)(np.ones((2, 1, 28, 28), "f4")).shape
        (2, 6, 26, 26)
        >>> Conv3D(1, 6, 3, seed=0)(np.ones((2, 1, 8, 8, 8), "f4")).shape
        (2, 6, 6, 6, 6)
    """

    weight: Any
    """(filters, channels / groups, ...)"""
    bias: Any
    stride: Any = static()
    padding: Any = static()
    dilation: Any = static()
    groups: int = static()

    def __init__(
        self,
        channels: int,
        filters: int,
        size: Size,
        *,
        seed: Seed,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        initialise: Initialiser = he_uniform,
    ) -> None:
        name, counts = type(self).__name__, (channels, filters, groups)
        channels, filters, groups = integers(name, "channels, filters and groups", counts, 3, 1)
        sizes = integers(name, "size", size, self.rank, 1)
        if channels % groups or filters % groups:
            got = f"{channels} channels, {filters} filters, {groups} groups"
            raise ArgumentError(message(name, "groups must divide channels and filters", got))
        self.groups, taps = groups, math.prod(sizes)
        shape = (*self._planes(channels, filters), *sizes)
        self.weight = initialise(seed, shape, channels // groups * taps, filters // groups * taps)
        self.bias = np.zeros(filters, np.float32) if bias else None
        self.stride, self.padding, self.dilation = map(setting, (stride, padding, dilation))

    def _planes(self, channels: int, filters: int) -> tuple[int, int]:
        return filters, channels // self.groups

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        check_spatial(type(self).__name__, x, self.rank, shape_of(self.weight)[1] * self.groups)
        return self._biased(convolve(x, self.weight, self.stride, self.padding, self.dilation, self.groups))

    def _biased(self, y: Any) -> Any:
        return y if self.bias is None else y + np.reshape(self.bias, (-1, *(1,) * self.rank))


@_layer(
    stride="the step in the output between neighbours in the input.",
    padding='the width of the border that is cut off, or ``"same"`` or ``"valid"``: see `convolve_transposed`.',
)
@dataclasses.dataclass(init=False)
class TransposedConvolution(Convolution):
    """A layer of transposed filters, ``convolve_transposed(x, weight) + bias``.

    Example:
        >>> ConvTranspose1D(1, 6, 3, stride=2, seed=0)(np.ones((2, 1, 28), "f4")).shape
        (2, 6, 57)
        >>> ConvTranspose2D(1, 6, 3, stride=2, seed=0)(np.ones((2, 1, 28, 28), "f4")).shape
        (2, 6, 57, 57)
        >>> ConvTranspose3D(1, 6, 3, stride=2, seed=0)(np.ones((2, 1, 8, 8, 8), "f4")).shape
        (2, 6, 17, 17, 17)
    """

    output_padding: Any = static()

    def __init__(
        self,
        channels: int,
        filters: int,
        size: Size,
        *,
        seed: Seed,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        output_padding: Size = 0,
        bias: bool = True,
        initialise: Initialiser = he_uniform,
    ) -> None:
        settings: dict[str, Any] = {
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "groups": groups,
        }
        super().__init__(channels, filters, size, seed=seed, bias=bias, initialise=initialise, **settings)
        self.output_padding = setting(output_padding)

    def _planes(self, channels: int, filters: int) -> tuple[int, int]:
        return channels, filters // self.groups

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        check_spatial(type(self).__name__, x, self.rank, shape_of(self.weight)[0])
        settings = (self.stride, self.padding, self.dilation, self.groups, self.output_padding)
        return self._biased(convolve_transposed(x, self.weight, *settings))


class Conv1D(Convolution, rank=1):
    """A layer of filters over signals, (examples, channels, length)."""


class Conv2D(Convolution, rank=2):
    """A layer of filters over images, (examples, channels, height, width)."""


class Conv3D(Convolution, rank=3):
    """A layer of filters over volumes, (examples, channels, depth, height, width)."""


class ConvTranspose1D(TransposedConvolution, rank=1):
    """A layer of transposed filters over signals, (examples, channels, length), which enlarges them."""


class ConvTranspose2D(TransposedConvolution, rank=2):
    """A layer of transposed filters over images, (examples, channels, height, width), which enlarges them."""


class ConvTranspose3D(TransposedConvolution, rank=3):
    """A layer of transposed filters over volumes, (examples, channels, depth, height, width), which enlarges them."""
