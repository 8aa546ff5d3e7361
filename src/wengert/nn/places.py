"""Where in a model an error arose: the layer's place and arrays, told with what went wrong."""

from __future__ import annotations

from typing import Any

from wengert.control.values import is_number
from wengert.core.errors import DtypeError, ShapeError, split_location
from wengert.core.tree import children
from wengert.ir.types import show

_SAID = "said_"
"""Where an error keeps its own words, the way to the layer that it arose in, and what that is."""


def tell_place(problem: Exception, step: str, layer: Any) -> None:
    """Let an error say in which part of a container it arose, or of a part of it.

    The error stays the same object, of the same type. Of a layer whose input does not fit, the message tells the place;
    errors of others get a note, and keep their words.

    Args:
        problem: what a layer raised.
        step: from the container to the layer, such as ``layers[2]``.
        layer: that raised it, or holds the one that did.
    """
    if not isinstance(problem, (ShapeError, DtypeError)):
        if not getattr(problem, "__notes__", None):
            problem.add_note(f"in {step}, {described(layer)}")
        return
    said, way, what = getattr(problem, _SAID, None) or (str(problem), "", described(layer))
    way = f"{step}.{way}" if way else step
    setattr(problem, _SAID, (said, way, what))
    text, location = split_location(said)
    problem.args = (f"{text.removesuffix('.')}; in {way}, {what}.{location}",)


def described(layer: Any) -> str:
    """Return the name of a layer, and of the arrays that it holds itself the types.

    Example:
        >>> from wengert import nn
        >>> described(nn.Conv2D(1, 6, 5, seed=0)), described(nn.Chain(nn.relu)), described(nn.Lambda(nn.relu))
        ('Conv2D(weight f32[6,1,5,5], bias f32[6])', 'Chain', 'relu')
    """
    arrays = [f"{name} {show(part)}" for name, part in (children(layer) or {}).items() if is_number(part)]
    name = type(layer).__name__
    function = getattr(layer, "function", None)
    if name == "Lambda":
        return getattr(function, "__name__", name)
    return f"{name}({', '.join(arrays)})" if arrays else name
