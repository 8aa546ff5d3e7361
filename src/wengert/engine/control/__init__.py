"""Control flow and custom derivative rules: differentiable in both modes, in Python and in a traced graph."""

from __future__ import annotations

from wengert.engine.control.checkpoint import checkpoint, stop_gradient
from wengert.engine.control.cond import cond
from wengert.engine.control.custom_derivatives import custom_jvp, custom_vjp
from wengert.engine.control.scan import scan
from wengert.engine.control.while_loop import fori_loop, while_loop

__all__ = [
    "checkpoint", "cond", "custom_jvp", "custom_vjp", "fori_loop", "scan", "stop_gradient", "while_loop",
]  # fmt: skip
