"""A program's value and gradient: in Python, eagerly, by differences, compiled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import wengert as wg
from tests.programs.loops.cases import Program


def leaves(result: Any) -> list[Any]:
    """Return the arrays and numbers of a result."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def total(result: Any) -> Any:
    """Return a sum of a result's numbers with different weights; whole numbers do not count."""
    terms = []
    for number, leaf in enumerate(leaves(result)):
        if np.asarray(wg.stop_gradient(leaf)).dtype.kind == "f" if not hasattr(leaf, "dtype") else leaf.dtype.kind == "f":
            flat = np.reshape(leaf, -1)
            terms.append(np.sum(flat * np.cos(1.0 + number + np.arange(len(flat)))))
    return sum(terms[1:], terms[0])


class Checked:
    """A program at a size."""

    def __init__(self, program: Program, size: int) -> None:
        self.program = program
        self.arguments = program.arguments(size)
        self.wrt = program.wrt

    def loss(self, *arguments: Any) -> Any:
        return total(self.program.function(*arguments))

    def value(self) -> Any:
        return self.program.function(*self.program.arguments(self.program.small))
