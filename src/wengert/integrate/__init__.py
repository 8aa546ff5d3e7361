"""Integrals and differential equations, with SciPy's signatures, in every transform and in compiled functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.engine.core.other_libraries import absent_from
from wengert.integrate.dde import solve_dde
from wengert.integrate.ivp import solve_ivp
from wengert.integrate.quadrature import cubature, quad
from wengert.integrate.scipys import odeint
from wengert.integrate.sde import solve_sde
from wengert.scipy.integrate import (
    cumulative_simpson,
    cumulative_trapezoid,
    fixed_quad,
    romb,
    simpson,
    trapezoid,
)

__all__ = [
    "cubature", "cumulative_simpson", "cumulative_trapezoid", "fixed_quad", "odeint", "quad", "romb", "simpson",
    "solve_dde", "solve_ivp", "solve_sde", "trapezoid",
]  # fmt: skip
__dir__ = __all__.copy


if not TYPE_CHECKING:  # type checkers report such names themselves
    __getattr__ = absent_from(__name__)
