"""The Wengert list: types, the graph, its text."""

from __future__ import annotations

from wengert.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.ir.opaque import register
from wengert.ir.parser import parse
from wengert.ir.printer import text
from wengert.ir.types import TensorType
from wengert.ir.verify import verify

__all__ = ["Atom", "Equation", "Graph", "Literal", "TensorType", "Var", "parse", "register", "text", "verify"]
