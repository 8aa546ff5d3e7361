"""`NamedTuple` as in `typing`, for the modules that the import and the first `wg.jit` of a process load.

`typing` takes three times as long to make a class: it compiles each annotation.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _Making(type):
        """Makes a class of named tuples from a body of annotations, defaults and methods."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body["__annotations__"]
            defaults = [body[field] for field in fields if field in body]
            made = collections.namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            made.__new__.__annotations__ = fields
            for key, value in body.items():
                if key not in fields:
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Making):
        """The base of classes of named tuples."""
