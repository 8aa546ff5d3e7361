"""The special functions that NumPy lacks, for scalars and arrays, in NumPy alone.

The error bounds hold where NumPy's own ``exp`` and ``log`` are within one ulp.
"""

from __future__ import annotations

from wengert.kernels.erf import erf, erfc, erfinv
from wengert.kernels.gamma import digamma, lgamma, polygamma
from wengert.kernels.logistic import expit

__all__ = ["digamma", "erf", "erfc", "erfinv", "expit", "lgamma", "polygamma"]
