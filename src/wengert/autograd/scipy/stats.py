"""SciPy's distributions, under autograd's name for the module; `norm` and others can be imported as modules."""

from __future__ import annotations

from types import SimpleNamespace as _SimpleNamespace
from typing import Any

from wengert.autograd.namespaces import scipys as _scipys
from wengert.autograd.numpy.linalg import symmetric as _symmetric
from wengert.scipy.stats import multivariate_normal as _normal

__getattr__ = _scipys(globals(), "stats")


def _logpdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    return _normal.logpdf(x, mean, _symmetric(cov), allow_singular)


def _pdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    return _normal.pdf(x, mean, _symmetric(cov), allow_singular)


def _entropy(mean: Any = None, cov: Any = 1.0) -> Any:
    return _normal.entropy(mean, _symmetric(cov))


#: The gradient by the matrix is symmetric, as in autograd.
multivariate_normal = _SimpleNamespace(logpdf=_logpdf, pdf=_pdf, entropy=_entropy)
