"""Optimisation: SciPy's solvers with exact derivatives over containers of arrays, and compiled solvers.

Example:
    >>> import numpy as np
    >>> result = minimize(
    ...     lambda p: np.sum((p["a"] * np.arange(3.0) - p["b"]) ** 2 + p["b"] ** 4), {"a": 1.0, "b": 2.0}
    ... )
    >>> result.success
    True
"""

from typing import TYPE_CHECKING

from wengert.engine.core.other_libraries import absent_from
from wengert.optimize import followed as followed
from wengert.optimize import linear_programs as linear_programs
from wengert.optimize.compiled import Minimum, lbfgs, levenberg_marquardt, newton_cg
from wengert.optimize.equations import root, root_scalar
from wengert.optimize.fitting import curve_fit, least_squares
from wengert.optimize.low_level import low_level_callable
from wengert.optimize.minimizing import minimize
from wengert.optimize.older import enter as _enter_older
from wengert.optimize.problems import Problem, problem

__all__ = [
    "Minimum", "Problem", "curve_fit", "lbfgs", "least_squares", "levenberg_marquardt", "low_level_callable",
    "minimize", "newton_cg", "problem", "root", "root_scalar",
]  # fmt: skip
__dir__ = __all__.copy
_enter_older()


if not TYPE_CHECKING:  # type checkers report such names themselves
    __getattr__ = absent_from(__name__)
