"""Ordinary differential equations: `solve_ivp` with SciPy's signature, in every transform and in compiled functions."""

from __future__ import annotations

from wengert.integrate.ivp import solve_ivp

__all__ = ["solve_ivp"]
