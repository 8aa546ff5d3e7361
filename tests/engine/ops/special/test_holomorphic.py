"""SciPy's functions of a complex variable: values are SciPy's, derivatives those of differences along any direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.engine.core.errors import UnsupportedError
from wengert.engine.ops.special.scipy_ufuncs import COMPLEX

special = pytest.importorskip("scipy.special")
#: The real operands before the variable.
ORDERS = {"hyp0f1": 1, "hyp1f1": 2, "hyp2f1": 3} | dict.fromkeys(
    ("jv", "yv", "iv", "kv", "kve", "hankel1", "hankel2", "hankel1e", "hankel2e"), 1
)


def _parts(name: str, *operands: Any) -> Any:
    result = getattr(special, name)(*operands)
    return np.stack(result) if isinstance(result, tuple) else result


def _points(name: str, rng: np.random.Generator, count: int = 6) -> Any:
    size = np.exp(rng.uniform(-3, 1, count)) * (0.3 if name == "hyp2f1" else 1.0)
    return size * np.exp(1j * rng.uniform(-3.0, 3.0, count))


@pytest.mark.parametrize("seed", range(many(6)))
@pytest.mark.parametrize("name", COMPLEX)
def test_values_and_derivatives(name: str, seed: int) -> None:
    rng = np.random.default_rng([seed, len(name), ord(name[0])])
    z, orders = _points(name, rng), rng.uniform(0.5, 2.5, ORDERS.get(name, 0)).tolist()
    turn = np.exp(1j * rng.uniform(0, 7))
    value, slope = wg.jvp(lambda z: _parts(name, *orders, z), (z,), (np.full(6, turn),))
    np.testing.assert_array_equal(value, _parts(name, *orders, z))
    step = 1e-3 * np.abs(z) * turn

    def difference(h: Any) -> Any:
        return (_parts(name, *orders, z + h) - _parts(name, *orders, z - h)) / (2 * h / turn)

    expected = (4 * difference(step / 2) - difference(step)) / 3
    np.testing.assert_allclose(slope, expected, rtol=2e-6, atol=1e-8 * np.max(np.abs(expected)))
    if not seed:
        total = lambda t: np.sum(np.abs(_parts(name, *orders, t * z)) ** 2)  # noqa: E731
        wg.check_grads(total, (1.1,), order=2, rtol=1e-4)
        assert wg.jit(wg.grad(total))(1.1) == pytest.approx(wg.grad(total)(1.1), rel=1e-12)
        batched = wg.vmap(wg.grad(total))(np.array([1.1, 0.9]))
        assert batched[0] == pytest.approx(wg.grad(total)(1.1), rel=1e-12)


def test_digamma_has_derivatives_on_both_sides() -> None:
    """Of the trigamma function, made of a series, a recurrence and a reflection."""
    mpmath = pytest.importorskip("mpmath")
    for z in (0.5 + 0j, 0.49 + 1e-3j, -7.3 + 0.2j, 1e-3 - 1e-3j, 40.0 + 3j, -0.5 + 25j, 1e6 + 1j):
        slope = wg.jvp(special.psi, (z,), (1.0 + 0j,))[1]
        np.testing.assert_allclose(slope, complex(mpmath.psi(1, z)), rtol=1e-12)


def test_single_precision_stays() -> None:
    z = np.array([0.3 + 0.2j], np.complex64)
    for name in ("erf", "gamma"):
        result = wg.jvp(lambda z, name=name: _parts(name, z), (z,), (z,))[0]
        assert result.dtype == _parts(name, z).dtype


def test_orders_have_no_derivative_of_a_complex_variable() -> None:
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.hankel1: .* in the complex variable alone"):
        wg.grad(lambda v: np.real(special.hankel1(v, 1.0 + 1j)))(0.5)
    slope = wg.grad(lambda v: np.real(special.hankel1(v, 1.5)))(0.5)
    step = 1e-5
    difference = np.real(special.hankel1(0.5 + step, 1.5) - special.hankel1(0.5 - step, 1.5)) / (2 * step)
    assert slope == pytest.approx(difference, abs=1e-8)
