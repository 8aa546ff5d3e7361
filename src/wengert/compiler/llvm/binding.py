"""llvmlite's binding of LLVM, or what stands for it where it is not installed: eager transforms need NumPy alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from wengert.engine.core.errors import MissingExtraError, message

__all__ = ["IS_INSTALLED", "llvm"]


class _Missing:
    """Raises an error when a program is to be compiled."""

    def __getattr__(self, name: str) -> NoReturn:
        requirement = "llvmlite is needed to compile, and is not installed"
        hint = "pip install llvmlite; without it, programs run without wg.jit"
        raise MissingExtraError(message("compile", requirement, hint=hint))


if TYPE_CHECKING:
    from llvmlite import binding as llvm

    IS_INSTALLED = True
else:
    try:
        from llvmlite import binding as llvm

        IS_INSTALLED = True
    except ModuleNotFoundError:
        llvm, IS_INSTALLED = _Missing(), False
