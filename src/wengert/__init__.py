"""Wengert: NumPy in; exact derivatives and one native function out.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> wg.grad(lambda x1, x2: np.log(x1) + x1 * x2 - np.sin(x2), argnums=(0, 1))(2.0, 5.0)
    (5.5, 1.7163378145367738)
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from wengert import _startup as _startup  # before the slow imports
from wengert.engine.core.garbage import loading_modules as _loading_modules

with _loading_modules():
    from wengert import errors as errors
    from wengert import numpy as numpy  # registers NumPy's functions
    from wengert import special as special
    from wengert import tree as tree
    from wengert._version import __version__ as __version__
    from wengert.engine.array.array import Array
    from wengert.engine.array.substitutes import LOADERS as _LOADERS
    from wengert.engine.core.errors import WengertError
    from wengert.engine.core.other_libraries import absent as _absent
    from wengert.engine.core.uncaught import shorten_tracebacks as _shorten_tracebacks
    from wengert.engine.primitive import REGISTRY as _REGISTRY
    from wengert.engine.transforms.batching import vmap
    from wengert.engine.transforms.forward_mode import jvp, linearize
    from wengert.engine.transforms.jacobians import gnvp, hessian, hessp, hvp, jacfwd, jacobian, jacrev
    from wengert.engine.transforms.reverse_mode import grad, value_and_grad, vjp
    from wengert.engine.transforms.rewriting_run import STAGING_LOADERS as _STAGING_LOADERS
    from wengert.engine.transforms.variables import Dual, Variable, no_grad
    from wengert.engine.transforms.variables import constant as Constant  # noqa: N812 (the papers' name)

if TYPE_CHECKING:
    from wengert import array_api as array_api
    from wengert import autograd as autograd
    from wengert import boost as boost
    from wengert import data as data
    from wengert import estimators as estimators
    from wengert import fit as fit
    from wengert import implicit as implicit
    from wengert import inspect as inspect
    from wengert import integrate as integrate
    from wengert import interop as interop
    from wengert import linalg as linalg
    from wengert import nn as nn
    from wengert import optim as optim
    from wengert import optimize as optimize
    from wengert import parallel as parallel
    from wengert import predict as predict
    from wengert import random as random
    from wengert import report as report
    from wengert import scipy as scipy
    from wengert import sparse as sparse
    from wengert import testing as testing
    from wengert import train as train
    from wengert.compiler.jit import jit as jit
    from wengert.compiler.runtime.threads.team import get_threads as get_threads
    from wengert.compiler.runtime.threads.team import set_threads as set_threads
    from wengert.engine.control import checkpoint as checkpoint
    from wengert.engine.control import cond as cond
    from wengert.engine.control import custom_jvp as custom_jvp
    from wengert.engine.control import custom_vjp as custom_vjp
    from wengert.engine.control import fori_loop as fori_loop
    from wengert.engine.control import scan as scan
    from wengert.engine.control import stop_gradient as stop_gradient
    from wengert.engine.control import while_loop as while_loop
    from wengert.engine.transforms.laplacians import laplacian as laplacian
    from wengert.engine.transforms.taylor_mode import derivative as derivative
    from wengert.engine.transforms.taylor_mode import jet as jet
    from wengert.explorer import explore as explore
    from wengert.exporting.export import export as export
    from wengert.exporting.saved import load as load
    from wengert.implicit.linear import linear_solve as linear_solve
    from wengert.inspect import source as source
    from wengert.inspect import trace as trace
    from wengert.sparse import sparse_hessian as sparse_hessian
    from wengert.sparse import sparse_jacobian as sparse_jacobian
    from wengert.testing import check_grads as check_grads

_PACKAGES = """
    array_api autograd boost data estimators fit implicit inspect integrate interop linalg nn optim optimize
    parallel predict random report scipy sparse testing train
"""
_HOMES = "nn optim optimize integrate fit special train errors"
_CONTROL = "checkpoint cond custom_jvp custom_vjp fori_loop scan stop_gradient while_loop"
_CONTROL_OPERATIONS = """
    bounded_scan checkpoint checkpointed_adjoint checkpointed_scan cond custom_jvp custom_vjp scan unwritten while
"""
#: Names that load on first use: the module, and the name in it (None: the module itself).
_LATER: dict[str, tuple[str, str | None]] = {
    **{name: (f"wengert.{name}", None) for name in _PACKAGES.split()},
    **{name: ("wengert.engine.control", name) for name in _CONTROL.split()},
    "check_grads": ("wengert.testing", "check_grads"),
    "derivative": ("wengert.engine.transforms.taylor_mode", "derivative"),
    "explore": ("wengert.explorer", "explore"),
    "export": ("wengert.exporting.export", "export"),
    "jet": ("wengert.engine.transforms.taylor_mode", "jet"),
    "laplacian": ("wengert.engine.transforms.laplacians", "laplacian"),
    "linear_solve": ("wengert.implicit.linear", "linear_solve"),
    "get_threads": ("wengert.compiler.runtime.threads.team", "get_threads"),
    "jit": ("wengert.compiler.jit", "jit"),
    "load": ("wengert.exporting.saved", "load"),
    "set_threads": ("wengert.compiler.runtime.threads.team", "set_threads"),
    "source": ("wengert.inspect", "source"),
    "sparse_hessian": ("wengert.sparse", "sparse_hessian"),
    "sparse_jacobian": ("wengert.sparse", "sparse_jacobian"),
    "trace": ("wengert.inspect", "trace"),
}

__all__ = [
    "Array", "Constant", "Dual", "Variable", "WengertError", "array_api", "autograd", "boost", "check_grads",
    "checkpoint", "cond", "custom_jvp", "custom_vjp", "data", "derivative", "errors", "explore", "export", "fit",
    "fori_loop", "get_threads", "gnvp", "grad", "hessian", "hessp", "hvp", "implicit", "inspect", "integrate",
    "interop", "jacfwd", "jacobian", "jacrev", "jet", "jit", "jvp", "laplacian", "linalg", "linear_solve",
    "linearize", "load", "nn", "no_grad", "numpy", "optim", "optimize", "parallel", "random", "scan", "scipy",
    "set_threads", "source", "sparse", "sparse_hessian", "sparse_jacobian", "special", "stop_gradient", "testing",
    "trace", "train", "tree", "value_and_grad", "vjp", "vmap", "while_loop",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATER})


def __getattr__(name: str) -> Any:
    try:
        module, attribute = _LATER[name]
    except KeyError:
        raise _absent(__name__, name, _home_of(name)) from None
    with _loading_modules():
        loaded = importlib.import_module(module)
    value = loaded if attribute is None else getattr(loaded, attribute)
    globals()[name] = value
    return value


def _home_of(name: str) -> str:
    """Return the package that has a name, or an empty string."""
    for home in () if name[:1] == "_" else _HOMES.split():
        try:
            names = dir(importlib.import_module(f"wengert.{home}"))
        except ImportError:  # of an extra
            continue
        if name in names:
            return home
    return ""


def _load_beside(name: str) -> None:
    """Load a module that stands for one of SciPy's, if that is loaded."""
    if name not in globals() and f"scipy.{name}" in sys.modules:
        __getattr__(name)


_shorten_tracebacks()
_LOADERS.append(lambda: __getattr__("scipy"))
for _name in ("integrate", "optimize"):
    _LOADERS.append(lambda name=_name: _load_beside(name))
_STAGING_LOADERS.append(lambda: importlib.import_module("wengert.engine.staged"))
# Of saved programs, and loops that the compiler writes.
_REGISTRY.elsewhere |= dict.fromkeys(_CONTROL_OPERATIONS.split(), lambda: __getattr__("scan"))
_REGISTRY.elsewhere["linear_solve"] = lambda: __getattr__("linear_solve")
_REGISTRY.elsewhere["integral"] = lambda: __getattr__("integrate")
Array.namespace = staticmethod(lambda: __getattr__("array_api"))
