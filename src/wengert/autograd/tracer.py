"""What autograd's programs ask about values inside of transforms: `isbox`, `getval`, boxes and their nodes."""

from __future__ import annotations

import functools
from typing import Any

from wengert.autograd.primitives import getval as getval
from wengert.autograd.primitives import notrace_primitive as notrace_primitive
from wengert.autograd.primitives import primitive as primitive
from wengert.autograd.primitives import register_notrace as register_notrace
from wengert.engine import boxes
from wengert.engine.array.array import FOREIGN
from wengert.engine.core import tree
from wengert.engine.transforms.reverse_mode import reachable, walk_back
from wengert.engine.transforms.tape import Node, TapeTrace, box_of


def isbox(value: Any) -> bool:
    """Report whether a transform follows a value.

    Example:
        >>> from wengert.autograd import grad
        >>> print(grad(lambda x: x if isbox(x) else 0.0 * x)(2.0))
        1.0
    """
    return isinstance(value, boxes.Box) and not value.owner.plain


class _OfBoxes(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isbox(instance)


class Box(metaclass=_OfBoxes):
    """The class that every value inside of a transform seems to have; also called `ArrayBox`."""


class _OfContainers(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, getattr(cls, "kinds")) and any(map(isbox, tree.leaves(instance)))  # noqa: B009


class SequenceBox(metaclass=_OfContainers):
    """The class that a list or tuple of values inside of a transform seems to have."""

    kinds = (list, tuple)


class DictBox(metaclass=_OfContainers):
    """The class that a dict of values inside of a transform seems to have."""

    kinds = dict


class VJPNode:
    """The place of a value in the list of operations, for programs that run transforms by hand."""

    node: Node | None = None

    @classmethod
    def new_root(cls) -> VJPNode:
        """Return the place of a value that `new_box` is to follow."""
        return cls()


class JVPNode:
    """Names forward mode in `register_notrace`."""


@functools.cache
def _tape(trace: int) -> TapeTrace:
    return TapeTrace()


def new_box(value: Any, trace: int, node: VJPNode) -> Any:
    """Return a value that reverse mode follows until `backward_pass`.

    Example:
        >>> x = new_box(3.0, 0, VJPNode.new_root())
        >>> print(backward_pass(1.0, (x * x)._node))
        6.0
    """
    node.node = Node(value)
    return box_of(_tape(trace), node.node)


def backward_pass(g: Any, end_node: Node) -> Any:
    """Return the cotangent of the root that a node depends on."""
    return walk_back([(end_node, g)], [reachable([end_node])[-1]])[0]


FOREIGN.update(_value=boxes.below, _node=lambda box: box.state.node, _trace=lambda box: box.owner.level)
