"""Containers of every kind, and one program that reads them all."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.tree import static

Pair = namedtuple("Pair", ["left", "right"])


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any
    power: int = static(2)


@dataclasses.dataclass(frozen=True)
class Frozen:
    inner: Any
    name: str = static("frozen")

    def __post_init__(self) -> None:
        # A transform fills containers with boxes, tangents and axes, so constructors that check values must not run.
        if not isinstance(self.inner, (np.ndarray, float, list)):
            raise TypeError("inner must be an array")


TREE = {
    "list": [np.array([1.0, 2.0]), 3.0],
    "tuple": (np.array([[0.5, 1.5]]), None, ()),
    "named": Pair(np.array(2.0), Point(np.float64(1.25), 0.75)),
    "layer": Layer(np.array([2.0, 0.5]), 0.25),
    "frozen": Frozen([np.array([1.0, -1.0])]),
    "ordered": OrderedDict(b=1.5, a=np.array([3.0])),
    3: {},
}


def program(tree: Any) -> Any:
    """Return a scalar that depends on every leaf but ``tree["list"][1]``."""
    layer = tree["layer"]
    products = layer.weight**layer.power + layer.bias * tree["list"][0]
    total = np.sum(products) * tree["named"].left * tree["named"].right.x - tree["named"].right.y ** 2
    total = total + np.sum(np.sin(tree["tuple"][0])) * np.sum(tree["frozen"].inner[0] ** 3)
    return total * tree["ordered"]["b"] + np.prod(tree["ordered"]["a"]) ** 2
