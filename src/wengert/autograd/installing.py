"""`install`: these modules in the place of autograd's."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from wengert.autograd import builtins, core, extend, misc, numpy, operators, scipy, test_util, tracer
from wengert.autograd.misc import fixed_points, optimizers
from wengert.autograd.numpy import numpy_boxes, numpy_vjps, numpy_vspaces, numpy_wrapper
from wengert.autograd.scipy import misc as scipy_misc

#: The modules by their names below ``autograd``.
_MODULES: dict[str, ModuleType] = {
    "builtins": builtins,
    "core": core,
    "differential_operators": operators,
    "extend": extend,
    "misc": misc,
    "misc.fixed_points": fixed_points,
    "misc.flatten": sys.modules["wengert.autograd.misc.flatten"],
    "misc.optimizers": optimizers,
    "numpy": numpy,
    "numpy.fft": numpy.fft,
    "numpy.linalg": numpy.linalg,
    "numpy.numpy_boxes": numpy_boxes,
    "numpy.numpy_vjps": numpy_vjps,
    "numpy.numpy_vspaces": numpy_vspaces,
    "numpy.numpy_wrapper": numpy_wrapper,
    "numpy.random": numpy.random,
    "scipy": scipy,
    "scipy.integrate": scipy.integrate,
    "scipy.linalg": scipy.linalg,
    "scipy.misc": scipy_misc,
    "scipy.signal": scipy.signal,
    "scipy.special": scipy.special,
    "scipy.stats": scipy.stats,
    "test_util": test_util,
    "tracer": tracer,
    "wrap_util": operators,
}
_FAMILIES = "beta chi2 dirichlet gamma multivariate_normal norm poisson t"


class _Family(ModuleType):
    """A family of distributions as a module, as it is in autograd; SciPy loads with the first name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(getattr(scipy.stats, self.__name__.rpartition(".")[2]), name)


def install() -> None:
    """Put this package in autograd's place: ``import autograd`` means it from now on, and so do its parts.

    A module that has imported autograd's functions before keeps them: call this first.

    Example:
        >>> install()
        >>> import autograd.numpy as np
        >>> from autograd import grad
        >>> grad(np.tanh).__module__
        'wengert.autograd.operators'
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == "autograd"]:
        del sys.modules[name]
    sys.modules["autograd"] = sys.modules["wengert.autograd"]
    sys.modules.update({f"autograd.{name}": module for name, module in _MODULES.items()})
    for name in _FAMILIES.split():
        sys.modules[f"autograd.scipy.stats.{name}"] = _Family(f"autograd.scipy.stats.{name}")
