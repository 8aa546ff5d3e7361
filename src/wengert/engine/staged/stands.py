"""What stands for a list inside a program: the parts that all such objects share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from wengert.engine.boxes import Unsized
from wengert.engine.staged.exchanged import refusal


class Stand(Unsized):
    """Stands for a list, of which a program may use a part."""

    __slots__ = ("__weakref__",)
    REQUIREMENT: ClassVar[str]
    """Which part."""
    REMEDY: ClassVar[str] = "write into arrays: np.zeros(n)"

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The class by which `isinstance` knows it."""
        return list

    @property
    def array(self) -> Any:
        """Nothing: no array shows its memory."""
        return None

    @classmethod
    def refused(cls, operation: str) -> Exception:
        """Return the error of an operation that a program cannot use."""
        return refusal("list", cls.REQUIREMENT, operation, cls.REMEDY)

    def as_array(self, dtype: Any = None) -> Any:
        """Return an array of the elements."""
        made = self._made()
        return made if dtype is None else made.astype(dtype)

    @abstractmethod
    def _made(self) -> Any:
        """Return an array of the elements in their own dtype."""

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return function(*map(_as_array, arguments), **{name: _as_array(x) for name, x in options.items()})

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*map(_as_array, operands), **options)

    def __eq__(self, other: object) -> Any:
        if other is self:
            return True
        raise self.refused("==")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute {name!r}")
        raise self.refused(name)


def _as_array(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(_as_array, value))
    return value.as_array() if issubclass(type(value), Stand) else value
