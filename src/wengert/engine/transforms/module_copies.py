"""Copies of modules: their attributes are what stands for those of the user's, of NumPy's, SciPy's or `math`."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import MODULES
from wengert.engine.core.copied_files import is_copied_file
from wengert.engine.transforms.class_copies import COPIERS
from wengert.engine.transforms.copied_globals import OWN_NAMES
from wengert.engine.transforms.shared_containers import View
from wengert.engine.transforms.twins import TWINS

#: Python's modules of mathematical functions.
MATHEMATICS = ("math", "cmath")
#: The copies of modules, which hold them.
_modules: dict[ModuleType, ModuleType] = {}


def _copy(value: Any) -> Any:
    return COPIERS[0](value)


class CopiedModule(ModuleType):
    """A module whose attributes are what stands for those of another one."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__, module.__doc__)
        self.__dict__.update({name: vars(module)[name] for name in OWN_NAMES if name in vars(module)})
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        return _copy(getattr(self.__dict__["_module"], name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_module"], name, value)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_module"])


class _Numpy(CopiedModule):
    """The names of `wengert.numpy`, with modules of NumPy's that are copied, such as `polynomial`."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__dict__["_module"], name)
        if isinstance(value, ModuleType):
            value = copied_module(value)
        elif value is np.ndarray:
            value = _copy(value)
        self.__dict__[name] = value  # a lookup then takes as long as in NumPy
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self.__dict__.pop(name, None)


def copied_module(module: ModuleType) -> Any:
    """Return a module with substitutes: one of NumPy, SciPy, `math` or the user."""
    if module in _modules:
        return _modules[module]
    name = module.__name__
    if name == "numpy":
        return _modules.setdefault(module, _Numpy(MODULES["numpy"]))
    if name == "numpy.linalg":
        return MODULES["numpy"].linalg
    if name == "sys":
        made = _modules[module] = CopiedModule(module)
        vars(made)["modules"] = View(sys.modules, _copy)
        return made
    file = getattr(module, "__file__", None)
    is_library = (
        name in (*MATHEMATICS, *TWINS, "collections", "importlib") or name.partition(".")[0] == "scipy"
    )
    if not is_library and (file is None or not is_copied_file(file)):
        return module
    return _modules.setdefault(module, CopiedModule(module))
