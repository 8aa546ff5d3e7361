"""The passes on linear algebra, with the programs that take loops."""

from __future__ import annotations

from wengert.engine.control import matrix_exponential as matrix_exponential  # enters its program
from wengert.engine.passes.expand_linalg import calls_numpy, expand_linalg
from wengert.engine.passes.share_factors import share_factors

__all__ = ["calls_numpy", "expand_linalg", "share_factors"]
