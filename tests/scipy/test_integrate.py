"""`wengert.scipy.integrate` against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, examples
from tests.scipy.checks import check, close
from wengert.engine.core.errors import WengertError
from wengert.scipy import integrate

theirs = pytest.importorskip("scipy.integrate")

RNG = np.random.default_rng(30)
X = np.cumsum(RNG.uniform(0.5, 1.5, 9))
Y = RNG.uniform(-1, 1, (2, 9))

CALLS: dict[str, tuple[Any, ...]] = {
    "trapezoid": (lambda m, y, x: m.trapezoid(y, x), Y, X),
    "trapezoid of equal steps": (lambda m, y: m.trapezoid(y, dx=0.5, axis=0), Y),
    "cumulative_trapezoid": (lambda m, y, x: m.cumulative_trapezoid(y, x), Y, X),
    "cumulative_trapezoid initial": (lambda m, y: m.cumulative_trapezoid(y, dx=2.0, axis=0, initial=0), Y),
    "simpson": (lambda m, y, x: m.simpson(y, x), Y, X),
    "simpson even": (lambda m, y, x: m.simpson(y[:, 1:], x[1:]), Y, X),
    "simpson of equal steps": (lambda m, y: (m.simpson(y, dx=0.5), m.simpson(y[:, :4], dx=2.0)), Y),
    "simpson of grids": (lambda m, y, x: m.simpson(y, x), Y, np.stack([X, 2 * X])),
    "cumulative_simpson": (lambda m, y, x: m.cumulative_simpson(y, x=x), Y, X),
    "cumulative_simpson initial": (lambda m, y: m.cumulative_simpson(y, dx=0.5, initial=1.5), Y),
    "romb": (lambda m, y: m.romb(y, dx=0.3), Y),
    "fixed_quad": (
        lambda m, a, b, c: m.fixed_quad(lambda x, c: np.exp(c * x), a, b, args=(c,), n=6)[0],
        np.array(0.2),
        np.array(1.3),
        np.array(0.7),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str) -> None:
    call, *arguments = CALLS[name]
    check(
        lambda *x: call(integrate, *x),
        lambda *x: call(theirs, *x),
        *arguments,
        order=2,
        batched=name != "fixed_quad",
    )


@examples(60)
@given(data=st.data())
def test_sums_of_drawn_samples_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    count = draw.integer(2, 9)
    shape = [draw.integer(1, 3) for _ in range(draw.integer(0, 2))]
    axis = draw.integer(0, len(shape))
    shape.insert(axis, count)
    y = draw.array(tuple(shape))
    x = np.cumsum(draw.rng.uniform(0.5, 1.5, count if draw.choice([False, True]) else shape), -1)
    if x.ndim > 1:
        x = np.cumsum(draw.rng.uniform(0.5, 1.5, shape), axis)
    dx, axis = draw.choice([1.0, 0.25]), draw.choice([axis, axis - len(shape)])
    for name in ("trapezoid", "simpson", "cumulative_trapezoid", "cumulative_simpson"):
        own, other = getattr(integrate, name), getattr(theirs, name)
        close(own(y, x=x, axis=axis), other(y, x=x, axis=axis), 1e-11)
        close(own(y, dx=dx, axis=axis), other(y, dx=dx, axis=axis), 1e-11)


def test_repeated_abscissas_count_as_in_scipy() -> None:
    x = np.array([0.0, 1.0, 1.0, 2.0, 3.0])
    y = np.array([1.0, 2.0, 4.0, 3.0, 1.0])
    close(integrate.simpson(y, x), theirs.simpson(y, x=x), 1e-14)
    close(integrate.simpson(y[:4], x[:4]), theirs.simpson(y[:4], x=x[:4]), 1e-14)
    assert np.isfinite(wg.grad(lambda y: integrate.simpson(y, x))(y)).all()
    assert np.isfinite(wg.grad(lambda x: integrate.simpson(y, x))(x)).all()


def test_simpsons_rule_is_exact_for_parabolas() -> None:
    """So its derivative in the limits of the grid is the value of the parabola there."""

    def integral(end: Any) -> Any:
        x = end * np.linspace(0.0, 1.0, 7)
        return integrate.simpson(x**2, x)

    assert integral(2.0) == pytest.approx(8 / 3, rel=1e-14)
    assert wg.grad(integral)(2.0) == pytest.approx(4.0, rel=1e-14)


def test_integers_count_as_doubles() -> None:
    y = np.array([1, 2, 4, 5])
    for name in ("trapezoid", "simpson", "cumulative_trapezoid", "cumulative_simpson"):
        close(getattr(integrate, name)(y), getattr(theirs, name)(y), 1e-14)


def test_errors_name_the_operation() -> None:
    for call, text in [
        (lambda: integrate.romb(np.ones(4)), r"romb: the number of samples must be 2\^k \+ 1"),
        (
            lambda: integrate.cumulative_trapezoid(Y, initial=1.0),
            "cumulative_trapezoid: initial must be None or 0",
        ),
        (lambda: integrate.simpson(Y, X[:3]), "simpson: x must have the shape of y"),
        (lambda: integrate.simpson(1.0), "simpson: an array of at least one axis"),
        (lambda: integrate.simpson(Y, axis=3), "simpson"),
        (lambda: integrate.fixed_quad(np.exp, 0.0, np.inf), "fixed_quad: the limits must be finite"),
        (lambda: integrate.romb(np.ones(5), show=True), "romb: show=True"),
    ]:
        with pytest.raises(WengertError, match=text):
            call()
