"""Convolutions and pooling: channels, kernels, strides, groups, batches, dilation, 1 to 3 axes; all directions."""

from __future__ import annotations

from typing import Any, NamedTuple

from areas.families import Case, Draw, family


class Layer(NamedTuple):
    """A convolution."""

    batch: int
    channels: int
    filters: int
    extent: tuple[int, ...]
    size: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1

    def __str__(self) -> str:
        axes = "x".join(map(str, self.extent))
        kernel = "x".join([str(self.size)] * len(self.extent))
        text = f"{kernel} {self.channels}->{self.filters} of {axes} batch {self.batch}"
        settings = zip(("stride", "dilation", "groups"), self[5:], strict=True)
        return " ".join([text, *(f"{name} {value}" for name, value in settings if value != 1)])

    @property
    def padding(self) -> int:
        return self.dilation * (self.size - 1) // 2


LAYERS = (
    Layer(2, 3, 4, (6, 6), 3),
    Layer(32, 64, 64, (16, 16), 3),
    Layer(1, 64, 64, (56, 56), 3),
    Layer(1, 256, 256, (14, 14), 3),
    Layer(2, 512, 512, (7, 7), 3),
    Layer(8, 32, 64, (31, 33), 3),
    Layer(64, 1, 16, (28, 28), 5),
    Layer(16, 256, 64, (28, 28), 1),
    Layer(8, 64, 128, (28, 28), 1, 2),
    Layer(8, 64, 128, (28, 28), 3, 2),
    Layer(4, 3, 64, (112, 112), 7, 2),
    Layer(8, 16, 32, (32, 32), 5, 2),
    Layer(8, 32, 32, (32, 32), 3, 1, 2),
    Layer(16, 64, 64, (32, 32), 3, 1, 1, 64),
    Layer(4, 96, 96, (28, 28), 5, 2, 1, 96),
    Layer(16, 64, 128, (16, 16), 3, 1, 1, 4),
    Layer(16, 64, 64, (256,), 3),
    Layer(4, 32, 64, (1024,), 9, 2),
    Layer(32, 16, 16, (100,), 5, 1, 4),
    Layer(2, 16, 32, (16, 16, 16), 3),
    Layer(1, 8, 16, (24, 24, 24), 3, 2),
)
TRANSPOSED = (
    Layer(2, 3, 4, (5, 5), 4, 2),
    Layer(8, 64, 32, (16, 16), 4, 2),
    Layer(1, 128, 64, (14, 14), 4, 2),
    Layer(8, 32, 32, (16, 16), 3),
    Layer(4, 64, 1, (14, 14), 5, 2),
    Layer(16, 64, 32, (64,), 4, 2),
)
DIRECTIONS = {"forward": "", "input": "pullback", "weights": "pullback"}


def _case(draw: Draw, layer: Layer, direction: str, transposed: bool) -> Case:
    x = draw(layer.batch, layer.channels, *layer.extent)
    ends = (layer.channels, layer.filters) if transposed else (layer.filters, layer.channels // layer.groups)
    weight = draw.weights(*ends, *[layer.size] * len(layer.extent))

    def program(xp: Any, x: Any, weight: Any) -> Any:
        if transposed:
            return xp.conv_transposed(x, weight, layer.stride, layer.padding)
        return xp.conv(x, weight, layer.stride, layer.padding, layer.dilation, layer.groups)

    if direction == "forward":
        return Case(program, (x, weight), tolerance=1e-3)
    span = layer.dilation * (layer.size - 1) + 1
    if transposed:
        extent = [(n - 1) * layer.stride + span - 2 * layer.padding for n in layer.extent]
    else:
        extent = [(n + 2 * layer.padding - span) // layer.stride + 1 for n in layer.extent]

    def torch(x: Any, weight: Any, cotangent: Any) -> Any:
        import torch

        rank = len(layer.extent)
        lists = [[value] * rank for value in (layer.stride, layer.padding, layer.dilation)]
        wanted = [direction == "input", direction == "weights", False]
        results = torch.ops.aten.convolution_backward(
            cotangent, x, weight, None, *lists, transposed, [0] * rank, layer.groups, wanted
        )
        return (results[0 if direction == "input" else 1],)

    cotangent = draw(layer.batch, layer.filters, *extent)
    wrt = (0,) if direction == "input" else (1,)
    return Case(program, (x, weight, cotangent), "pullback", wrt, torch, tolerance=1e-3)


@family(layer=LAYERS, direction=tuple(DIRECTIONS))
def convolution(draw: Draw, layer: Layer, direction: str) -> Case:
    return _case(draw, layer, direction, False)


@family(layer=TRANSPOSED, direction=tuple(DIRECTIONS))
def transposed_convolution(draw: Draw, layer: Layer, direction: str) -> Case:
    return _case(draw, layer, direction, True)


@family(
    kind=("max pool", "average pool"),
    shape=((2, 3, 8, 8), (32, 64, 32, 32), (8, 16, 96, 96)),
    derivative=("", "pullback"),
)
def pooling(draw: Draw, kind: str, shape: tuple[int, ...], derivative: str) -> Case:
    x, (batch, channels, height, width) = draw(*shape), shape
    cotangent = draw(batch, channels, height // 2, width // 2)
    name = kind.replace(" ", "_")
    return Case(lambda xp, x: getattr(xp, name)(x, 2), (x, cotangent) if derivative else (x,), derivative)
