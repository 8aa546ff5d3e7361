"""Results of a compiled function that are neither arrays nor numbers: constants, and refused ones."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ConcreteError, DtypeError
from wengert.engine.core.tree import static

X = np.linspace(-1.0, 1.0, 3)


class Colour(Enum):
    RED = 1


@dataclasses.dataclass
class Named:
    value: Any
    name: Any = static("")


def activation(slope: float) -> Callable[[Any], Any]:
    return lambda x: slope * x


CONSTANTS: dict[str, Any] = {
    "none": None,
    "text": "seven",
    "text of NumPy's": np.str_("seven"),
    "bytes": b"seven",
    "enumeration": Colour.RED,
    "dtype": np.dtype("f4"),
    "class": Path,
    "function": np.tanh,
    "function that closes over a number": activation(2.0),
    "partial": functools.partial(np.sum, axis=0),
    "complex": 1j,
    "decimal": Decimal("0.1"),
    "range": range(3),
    "slice": slice(1, 3),
    "set": {1, 2},
    "setting": Named(1.0, "seven"),
    "large integer": 10**30,
    "larger integer": -(10**5000),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_come_back_as_they_are(name: str) -> None:
    constant = CONSTANTS[name]
    compiled = wg.jit(lambda x: (x * 2, {"constant": constant}, constant))
    for x in (X, X + 1):
        doubled, inside, actual = compiled(x)
        np.testing.assert_array_equal(doubled, x * 2)
        assert actual == inside["constant"] == constant
        assert type(actual) is type(constant)


class Model:
    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def __call__(self, x: Any) -> Any:
        return self.weight * x


TEXTS: dict[str, Callable[[Any], Any]] = {
    "f-string": lambda x: f"{x}",
    "number": lambda x: f"{x[0]:.3f}",
    "str": lambda x: {"a": str(x * 2)},
    "format": lambda x: (x, f"mean {np.mean(x)!r}"),
    "container": lambda x: str([1, x]),
    "derivative": lambda x: str(wg.grad(lambda x: np.sum(x * x))(x)),
    "inside of a derivative": lambda x: wg.grad(lambda x: (np.sum(x * x), f"{x}"), has_aux=True)(x)[1],
    "inside of a batch": lambda x: wg.vmap(lambda x: (print(x, end=""), x)[1])(x).shape and f"{x.T}",
    "setting": lambda x: Named(x, f"{x}"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_made_from_a_value_is_refused(name: str) -> None:
    """A staged run refuses the text itself, at its line; a setting of the result is seen at the end."""
    texts = r"^str: only a run knows the number.*; make texts and keys of known values, .*\.py:\d+\]$"
    settings = r"^jit: text cannot show .* setting of the result.*; return the value, and write"
    with pytest.raises(ConcreteError, match=settings if name == "setting" else texts):
        wg.jit(TEXTS[name])(X)


HOLDING: dict[str, Callable[[Any], Any]] = {
    "function": lambda x: lambda y: x + y,
    "default": lambda x: lambda y, x=x: x + y,
    "partial": lambda x: functools.partial(np.add, x),
    "method": lambda x: x.sum,
    "object": lambda x: (x, Model([x])),
    "method of an object": lambda x: Model(x).__call__,
    "setting": lambda x: Named(x, x),
    "beside many others": lambda x: Model([x, [[n] for n in range(100_000)]]),
    "function in a function": lambda x: functools.partial(map, lambda y: x * y),
}


@pytest.mark.parametrize("name", HOLDING)
def test_what_holds_a_traced_value_is_refused(name: str) -> None:
    with pytest.raises(
        DtypeError, match=r"^jit: results must be .* holds a traced value; got .* as .*result"
    ):
        wg.jit(HOLDING[name])(X)


def test_an_object_that_holds_a_plain_array_is_a_constant() -> None:
    twice, constant = wg.jit(lambda x: (x * 2, Model(wg.numpy.arange(3))))(X)
    np.testing.assert_array_equal(twice, X * 2)
    assert isinstance(constant, Model)


@pytest.mark.parametrize(
    "make", [lambda x: (y for y in x), iter, lambda x: map(np.sin, x), lambda x: zip(x, x, strict=True)]
)
def test_an_iterator_is_refused(make: Callable[[Any], Any]) -> None:
    requirement = (
        r"and an iterator ends; got \w+ as the result\[1\]; (return a list|.* list, and return that)"
    )
    with pytest.raises(DtypeError, match=requirement):
        wg.jit(lambda x: (x, make(x)))(X)


def test_arrays_of_other_things_are_refused() -> None:
    for array in (np.array(["a"]), np.array([None]), np.zeros(1, np.clongdouble)):
        with pytest.raises(DtypeError, match="numbers or booleans are required"):
            wg.jit(lambda x: (x, array))(X)  # noqa: B023
