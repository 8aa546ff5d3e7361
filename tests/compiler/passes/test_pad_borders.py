"""Borders: derivatives of convolutions decide nothing in their sums, and agree with eager mode, infinities included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import check
from wengert import nn

RNG = np.random.default_rng(8)

SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((3, 4, 9, 8), (5, 4, 3, 3), {"padding": 1}),
    "one axis": ((3, 4, 40), (5, 4, 5), {"padding": 2}),
    "three axes": ((2, 3, 6, 5, 7), (4, 3, 3, 3, 3), {"padding": 1}),
    "stride": ((3, 4, 9, 8), (5, 4, 3, 3), {"padding": 1, "stride": 2}),
    "stride of 3": ((2, 3, 11, 13), (4, 3, 5, 5), {"stride": 3}),
    "stride beyond the filter": ((3, 4, 9, 8), (5, 4, 1, 1), {"stride": 2}),
    "dilation": ((3, 4, 9, 8), (5, 4, 3, 3), {"padding": 2, "dilation": 2}),
    "dilation and stride": ((2, 3, 12, 13), (4, 3, 3, 3), {"padding": 2, "dilation": 3, "stride": 2}),
    "groups": ((3, 4, 9, 8), (6, 2, 3, 3), {"padding": 1, "groups": 2}),
    "a border on one axis": ((3, 4, 9, 8), (5, 4, 3, 1), {"padding": (1, 0)}),
}


def case(name: str) -> tuple[Any, Any, Any, Any]:
    """Return the pullback of a convolution to its input, and its arguments."""
    shape, filters, settings = SHAPES[name]
    x, weight = RNG.normal(size=shape), RNG.normal(size=filters)
    g = RNG.normal(size=nn.convolve(x, weight, **settings).shape)

    def pullback(x: Any, weight: Any, g: Any) -> Any:
        return wg.vjp(lambda x: nn.convolve(x, weight, **settings), x)[1](g)

    return pullback, x, weight, g


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", SHAPES)
def test_derivatives_of_convolutions(name: str) -> None:
    pullback, x, weight, g = case(name)
    check(pullback, x, weight, g, ulp=100, scale=8.0)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("number", [-np.inf, np.nan])
@pytest.mark.parametrize("name", ["plain", "stride"])
def test_a_factor_that_is_not_finite_reaches_no_more_elements(name: str, number: float) -> None:
    pullback, x, weight, g = case(name)
    weight[0, 0, 0, -1] = number
    (found,) = check(pullback, x, weight, g, ulp=100, scale=8.0)
    assert np.isfinite(found).any()
    assert not np.isfinite(found).all()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", SHAPES)
def test_sums_of_finite_factors_decide_nothing(name: str) -> None:
    pullback, x, weight, g = case(name)
    text = str(wg.jit(pullback).nests(x, weight, g))
    text = text.partition("else:")[0]
    assert not any("add(" in line and " if " in line for line in text.splitlines())


@pytest.mark.usefixtures("small")
def test_transposed_convolutions() -> None:
    x, weight = RNG.normal(size=(2, 3, 5, 6)), RNG.normal(size=(3, 4, 4, 4))

    def loss(x: Any, weight: Any) -> Any:
        return np.sum(np.sin(nn.convolve_transposed(x, weight, stride=2, padding=1)))

    check(wg.value_and_grad(loss, argnums=(0, 1)), x, weight, ulp=1000, scale=8.0)
