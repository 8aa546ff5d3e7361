"""Attributes that are computed on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801
    """Compute an attribute on first use, and keep it.

    `functools.cached_property` of Python 3.11 has one lock for all objects of a class: programs would wait for one
    another, and the child of a fork would wait for a thread of its parent. Here two threads may both compute the value;
    the first value is kept.

    Example:
        >>> class Circle:
        ...     @lazy
        ...     def area(self):
        ...         return 3.0
        >>> Circle().area
        3.0
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: Any = None) -> lazy[T]: ...

    @overload
    def __get__(self, instance: object, owner: Any = None) -> T: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self._compute(instance))
