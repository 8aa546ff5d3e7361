"""The Wengert list: types, the graph, its text."""

from __future__ import annotations

from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.opaque import register
from wengert.engine.ir.parser import parse
from wengert.engine.ir.printer import text
from wengert.engine.ir.types import TensorType
from wengert.engine.ir.verify import verify

__all__ = ["Atom", "Equation", "Graph", "Literal", "TensorType", "Var", "parse", "register", "text", "verify"]
