"""Copies of classes, objects and containers of a program with plain imports, in the second run."""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import pytest

import wengert as wg

T = TypeVar("T")
POINT = 0.7


def exponential(x: Any) -> Any:
    return math.exp(x)


class Layer:
    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, x: Any) -> Any:
        return self.function(x)


class Network:
    """An object that holds a list of objects, and a table of an object and a number."""

    parts = [Layer(math.sin)]  # noqa: RUF012 (the program under test)

    def __init__(self) -> None:
        self.layers = [Layer(exponential), Layer(math.sin)]
        self.table = {"last": Layer(exponential), "count": 2}

    def value(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x + self.table["last"](x) * self.table["count"] + self.parts[0](x)


class Scaled(NamedTuple):
    scale: Any

    def value(self, x: Any) -> Any:
        return math.sin(x) * self.scale


class Values(list[Any]):
    def value(self) -> Any:
        return math.sin(self[0])


class Table(dict[str, Any]):
    def value(self) -> Any:
        return math.sin(self["a"])


class Valued(Protocol):
    def value(self, x: Any) -> Any: ...


class Sine(Valued):
    def value(self, x: Any) -> Any:
        return math.sin(x)


class Slotted:
    __slots__ = ("count", "scale")

    def __init__(self, scale: Any) -> None:
        self.scale = scale
        self.count = 0

    def value(self, x: Any) -> Any:
        self.count += 1
        return math.sin(x) * self.scale


@dataclass(slots=True)
class SlottedData:
    scale: Any

    def value(self, x: Any) -> Any:
        return math.sin(x) * self.scale


class Keeping(type):
    """A metaclass that keeps a list of its classes."""

    kept: list[str] = []  # noqa: RUF012 (the program under test)

    def __new__(cls, name: str, bases: Any, members: Any) -> Any:
        cls.kept.append(name)
        made: Any = super().__new__(cls, name, bases, members)
        made.extra = 2.0
        return made


class Kept(metaclass=Keeping):
    extra: float

    def value(self, x: Any) -> Any:
        return math.sin(x) * self.extra


class Described:
    """A descriptor of the user's."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        return self.function(instance.point)


class WithDescriptors:
    point: Any = 0.3
    described = Described(lambda x: math.sin(x))

    class Inner:
        def value(self, x: Any) -> Any:
            return math.cos(x)

    def value(self, x: Any) -> Any:
        self.point = x
        return self.described + self.Inner().value(x) + self.halved(x)

    def _times(self, factor: float, x: Any) -> Any:
        return math.exp(x) * factor

    halved = functools.partialmethod(_times, 0.5)


class OfType(Generic[T]):
    def __init__(self, content: T) -> None:
        self.content = content

    def value(self) -> Any:
        return math.sin(self.content)  # type: ignore[arg-type]


@Layer
def decorated(x: Any) -> Any:
    return math.sin(x) * math.exp(x)


TABLE = {"sin": math.sin, "count": 3}
MIXED = [1.0, exponential, Layer(math.sin)]
NAMESPACE = types.SimpleNamespace(function=exponential, layer=Layer(math.sin))
NETWORK, SCALED, SINE, SLOTTED = Network(), Scaled(2.0), Sine(), Slotted(2.0)
SLOTTED_DATA, KEPT, DESCRIBED = SlottedData(2.0), Kept(), WithDescriptors()
WEIGHTS = {hash(Sine): 0.5, hash(Network): 0.25}

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "objects in lists": lambda x: NETWORK.value(x),
    "method of such an object": NETWORK.value,
    "table": lambda x: TABLE["sin"](x),
    "list": lambda x: MIXED[1](x) + MIXED[2](x),
    "namespace": lambda x: NAMESPACE.function(x) + NAMESPACE.layer(x),
    "decorator": lambda x: decorated(x),
    "named tuple": lambda x: Scaled(x).value(x) + SCALED.value(x),
    "list with methods": lambda x: Values([x]).value(),
    "dict with methods": lambda x: Table(a=x).value(),
    "protocol": lambda x: SINE.value(x) + Sine().value(x),
    "slots": lambda x: SLOTTED.value(x) + Slotted(x).value(x),
    "slots of a dataclass": lambda x: SLOTTED_DATA.value(x) + SlottedData(x).value(x),
    "metaclass": lambda x: KEPT.value(x) + Kept().value(x),
    "descriptors": lambda x: DESCRIBED.value(x),
    "hash of a class": lambda x: WEIGHTS[hash(type(SINE))] * SINE.value(x),
    "generic class": lambda x: OfType[float](x).value(),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.exhaustive
def test_derivatives_are_right(name: str) -> None:
    program, step = PROGRAMS[name], 1e-6
    slope = (program(POINT + step) - program(POINT - step)) / (2 * step)
    for _ in range(2):  # the first call runs the program twice
        assert wg.grad(program)(POINT) == pytest.approx(slope, rel=1e-6)
    assert wg.derivative(program)(POINT) == pytest.approx(slope, rel=1e-6)
    assert wg.jit(program)(POINT) == pytest.approx(program(POINT), rel=1e-14)


def test_copies_write_to_the_objects_of_the_program() -> None:
    slotted, namespace = Slotted(2.0), types.SimpleNamespace(function=math.sin)
    layers, table = [Layer(math.sin)], {"sin": math.sin}

    def program(x: Any) -> Any:
        layers.append(Layer(math.exp))
        table["count"] = table.get("count", 0) + 1  # type: ignore[assignment, operator]
        namespace.count = getattr(namespace, "count", 0) + 1
        return slotted.value(x) + layers[-1](x) + table["sin"](x) + namespace.function(x)

    wg.grad(program)(POINT)
    runs = slotted.count
    assert runs in (1, 2)  # the first run ends in this method
    assert len(layers) == 3
    assert table["count"] == namespace.count == 2


def test_metaclasses_do_not_see_copies() -> None:
    wg.grad(lambda x: Kept().value(x))(POINT)
    assert Keeping.kept == ["Kept"]


def test_one_object_has_one_copy() -> None:
    def program(x: Any) -> Any:
        assert NETWORK.layers[0] is NETWORK.layers[0]
        first = SLOTTED
        assert first is SLOTTED
        assert NAMESPACE.layer is NAMESPACE.layer
        return NETWORK.value(x)

    wg.grad(program)(POINT)


@dataclass
class State:
    position: Any

    def moved(self) -> State:
        return State(math.sin(self.position))


def test_results_are_of_the_classes_of_the_program() -> None:
    assert type(wg.jit(lambda state: State(math.sin(state.position)))(State(1.0))) is State

    def program(state: State) -> Any:
        def step(state: State, y: Any) -> Any:
            return State(state.position * math.cos(y)), 0.0

        return wg.scan(step, state, np.ones(3))[0].position

    assert wg.grad(program)(State(1.0)) == State(pytest.approx(math.cos(1.0) ** 3))


@pytest.mark.parametrize("count", [3, 5000])
def test_a_write_behind_a_read_only_view_does_not_reach_the_derivative(count: int) -> None:
    def f(x: Any) -> Any:
        base = np.full(count, 2.0)
        view = base[:]
        view.flags.writeable = False
        total = np.sum(x * view)
        base[:] = 5.0
        return total

    np.testing.assert_array_equal(wg.grad(f)(np.ones(count)), 2.0)
    np.testing.assert_array_equal(wg.jvp(f, (np.ones(count),), (np.ones(count),))[1], 2.0 * count)
