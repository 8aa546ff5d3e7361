"""llvmlite's binding of LLVM, which loads at the first program that compiles: eager transforms need NumPy alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.engine.core.errors import MissingExtraError, message

__all__ = ["late", "llvm"]


class Late:
    """Stands for ``llvmlite.binding``, and loads it when one of its names is first read."""

    is_loaded = False

    def __getattr__(self, name: str) -> Any:
        try:
            from llvmlite import binding
        except ImportError:
            requirement = "llvmlite is needed to compile, and is not installed"
            hint = "pip install llvmlite; without it, programs run without wg.jit"
            raise MissingExtraError(message("compile", requirement, hint=hint)) from None
        self.is_loaded = True
        value = getattr(binding, name)
        setattr(self, name, value)
        return value


late = Late()
if TYPE_CHECKING:
    from llvmlite import binding as llvm
else:
    llvm = late
