"""The places in the source of nodes that the rewriting makes."""

from __future__ import annotations

import ast
from typing import Any


def placed(node: Any, at: ast.AST) -> Any:
    """Give a node, and the parts of it that have none, the place of another.

    A part that has a place is left out with all its own parts, so that nested calls take linear time.
    """
    if node is not at:
        ast.copy_location(node, at)
    waiting = [*ast.iter_child_nodes(node)]
    while waiting:
        part = waiting.pop()
        if "lineno" in part._attributes:
            if hasattr(part, "lineno"):
                continue
            ast.copy_location(part, node)
        waiting += ast.iter_child_nodes(part)
    return node
