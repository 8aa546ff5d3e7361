"""The contents of a `Listing`."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import DtypeError
from wengert.engine.ir import Graph, verify
from wengert.inspect import Listing


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any


def test_inputs_are_named_after_the_arguments() -> None:
    def f(x: Any, *rest: Any, params: Any, mode: str = "plain", **more: Any) -> Any:
        return x + rest[1] + params["w"][0] + params["layer"].bias + more["z"]

    listing = wg.trace(f)(
        1.0, 2.0, 3.0, params={"w": (4.0,), "layer": Layer(5.0, 6.0)}, mode="quick", z=Pair(7.0, 8.0)[1]
    )
    assert listing.places == (
        *("x", "rest[0]", "rest[1]", "params['layer'].weight"),
        *("params['layer'].bias", "params['w'][0]", "more['z']"),
    )
    assert [var.name for var in listing.inputs] == [
        *("x", "rest_0", "rest_1", "params_layer_weight"),
        *("params_layer_bias", "params_w_0", "more_z"),
    ]
    assert listing.arguments == (1.0, 2.0, 3.0, 5.0, 6.0, 4.0, 8.0)
    assert isinstance(listing, Graph)
    verify(listing)


def test_derivatives_are_traced_under_the_names_of_their_function() -> None:
    def f(weight: Any, x: Any) -> Any:
        return np.sum(np.tanh(weight * x))

    for transform in (wg.grad, wg.value_and_grad, wg.jacfwd, wg.hessian):
        listing = wg.trace(transform(f))(2.0, np.ones(3))
        assert listing.places == ("weight", "x")
        assert listing.name == f"{transform.__name__}(f)"
    assert wg.trace(wg.hvp(f))(2.0, np.ones(3), 1.0).places == ("x1", "x2", "x3")
    assert wg.trace(np.sin)(2.0).places in {("x",), ("x1",), ("args[0]",)}


def test_adjoint_lines_point_to_the_lines_they_differentiate() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        return y * y

    first = f.__code__.co_firstlineno
    listing = wg.trace(wg.grad(wg.grad(f)))(2.0)
    locations = {equation.location.rsplit(":", 1)[1]: equation.location for equation in listing.equations}
    assert set(locations) <= {str(first + 1), str(first + 2)}
    phases = [equation.location.count("adjoint of ") for equation in listing.equations]
    assert [phase for phase, _ in itertools.groupby(phases)] == [0, 1, 2, 1]
    assert len(listing.adjoints) > 2


def test_lines_after_a_gradient_are_not_adjoint() -> None:
    def update(x: Any) -> Any:
        return x - 0.1 * wg.grad(lambda v: np.sum(v**2))(x)

    assert "adjoint" not in wg.trace(update)(np.ones(2)).equations[-1].location


def test_values_are_those_of_the_call() -> None:
    listing = wg.trace(lambda x: {"s": np.sum(x), "n": 2.0})(np.array([1.0, 2.0]))
    values = listing.values()
    assert [values[var] for var in listing.equations[-1].outputs] == [3.0]
    assert wg.inspect.listing.tree.show(listing.structure) == "{'n': *, 's': *}"


def test_arguments_are_kept_as_they_were() -> None:
    x = np.array([1.0, 2.0])
    listing = wg.trace(lambda x: x * 2)(x)
    x[:] = 7
    np.testing.assert_array_equal(listing.arguments[0], [1.0, 2.0])


def test_settings_and_static_arguments_stay_fixed() -> None:
    def power(x: Any, count: int, how: str) -> Any:
        for _ in range(count):
            x = x * x
        return x if how == "plain" else -x

    listing = wg.trace(power, static_argnums=1)(2.0, 3, "plain")
    assert listing.places == ("x",)
    assert [equation.primitive for equation in listing.equations] == ["multiply"] * 3
    assert [equation.primitive for equation in wg.trace(power)(2.0, 3, "plain").equations][-1] == "while"


def test_a_trace_inside_a_transform_captures_its_values() -> None:
    seen: list[Listing] = []

    def f(x: Any) -> Any:
        seen.append(wg.trace(lambda y: x * y)(3.0))
        return x * x

    assert wg.grad(f)(2.0) == 4.0
    assert seen[0].places == ("captured1", "y")
    verify(seen[0])


def test_results_must_be_numbers() -> None:
    with pytest.raises(DtypeError, match="arrays, numbers or containers"):
        wg.trace(lambda x: "text")(1.0)
    with pytest.raises(DtypeError, match="numbers or booleans"):
        wg.trace(lambda x: x)(np.ones(2, np.longdouble))
    with pytest.raises(TypeError, match="positional argument"):
        wg.trace(lambda x: x)()
