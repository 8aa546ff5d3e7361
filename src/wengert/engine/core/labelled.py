"""Arrays with labels: pandas' ``Series`` and ``DataFrame``, xarray's ``DataArray``.

A function inside a transform sees their values. A derivative with the axes of an argument, such as a gradient, has the
labels again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.engine.core.dtypes import NUMPY_VALUE


def _of_series(x: Any) -> dict[str, Any]:
    return {"index": x.index, "name": x.name}


def _of_frame(x: Any) -> dict[str, Any]:
    return {"index": x.index, "columns": x.columns}


_KINDS: dict[tuple[str, str], Callable[[Any], dict[str, Any]]] = {
    ("pandas", "Series"): _of_series,
    ("pandas", "DataFrame"): _of_frame,
    ("xarray", "DataArray"): lambda x: {"coords": x.coords, "dims": x.dims, "name": x.name, "attrs": x.attrs},
}
"""The parts of each class beside the values, by its library and its name: nothing here imports the library."""


def _reader(kind: type[Any]) -> Callable[[Any], dict[str, Any]] | None:
    for base in kind.__mro__:
        if reader := _KINDS.get((base.__module__.partition(".")[0], base.__name__)):
            return reader
    return None


def is_labelled(kind: type[Any]) -> bool:
    """Return whether the values of a class have labels."""
    return _reader(kind) is not None


def is_table(kind: type[Any]) -> bool:
    """Return whether a class is one of pandas' tables or columns."""
    return _reader(kind) in (_of_series, _of_frame)


def values_of(x: Any) -> Any:
    """Return the values of an array with labels."""
    return x.to_numpy()


class Labels:
    """The labels of an array.

    Those of one class are equal, whatever they say: programs do not depend on labels.
    """

    def __init__(self, x: Any) -> None:
        reader = _reader(type(x))
        assert reader is not None
        self.kind, self.shape, self._parts = type(x), x.shape, reader(x)

    def on(self, values: Any) -> Any:
        """Return an array with these labels, or the values themselves if their axes are others."""
        if isinstance(values, NUMPY_VALUE) and values.shape == self.shape:
            return self.kind(values, **self._parts)
        return values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labels) and other.kind is self.kind

    def __hash__(self) -> int:
        return hash(self.kind)
