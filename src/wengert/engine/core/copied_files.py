"""The functions and classes that a second run copies: the user's, and those of installed formulas."""

from __future__ import annotations

import functools
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType

import numpy as np

from wengert.engine.core.errors import installed_file, is_foreign_file

#: The package of polynomials, which is written in Python.
_POLYNOMIALS = os.path.join(os.path.dirname(np.__file__), "polynomial", "")
#: What stands for a deque.
_QUEUES = os.path.join(os.path.dirname(os.path.dirname(__file__)), "transforms", "queues.py")
#: Files of SciPy's that hold classes of formulas in Python.
_FORMULAS = (
    "scipy/interpolate/_rbf.py",
    "scipy/signal/_czt.py",
    "scipy/signal/_ltisys.py",
    "scipy/spatial/_kdtree.py",
    "scipy/stats/_covariance.py",
    "scipy/stats/_distribution_infrastructure.py",
    "scipy/stats/_multivariate.py",
    "scipy/stats/_new_distributions.py",
    "scipy/stats/_probability_distribution.py",
)
#: The modules that a second run replaces.
_REPLACED = ("numpy", "scipy", "math", "cmath")


@functools.lru_cache(maxsize=4096)
def is_copied_file(filename: str) -> bool:
    """Return whether the functions of a file have copies.

    Those of NumPy, SciPy, Wengert and Python have none, but for NumPy's polynomials, some of SciPy's classes, and what
    stands for a deque. Those of an installed package do if it is written in Python alone, and computes with NumPy,
    SciPy or `math`.
    """
    if not is_foreign_file(filename) or filename == _QUEUES:
        return True
    inside = installed_file(filename)
    package = inside.partition("/")[0]
    if not package or package in _REPLACED:
        return filename.startswith(_POLYNOMIALS) or inside in _FORMULAS
    root = filename[: len(filename) - len(inside)]
    return _is_computing(package.removesuffix(".py")) and not _is_compiled(os.path.join(root, package))


def is_copied_class(kind: type) -> bool:
    """Return whether the file of a class is one whose functions have copies."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind.__module__ == "__main__" or (isinstance(file, str) and is_copied_file(file))


def _is_computing(package: str) -> bool:
    """Return whether a module of a package names a module that a second run replaces, or a function of it."""
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == package]
    return any(
        _is_replaced(value) for module in modules for value in [*getattr(module, "__dict__", {}).values()]
    )


def _is_replaced(value: object) -> bool:
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] in _REPLACED


def _is_compiled(folder: str) -> bool:
    """Return whether a package has modules that are not written in Python."""
    return any(file.endswith(tuple(EXTENSION_SUFFIXES)) for _, _, files in os.walk(folder) for file in files)
