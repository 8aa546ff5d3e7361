"""Control flow and rules of one's own: differentiable in both modes, as the program runs and in a traced graph."""

from __future__ import annotations

from wengert.control.branches import cond
from wengert.control.checkpoints import checkpoint, stop_gradient
from wengert.control.cotangent_rules import custom_vjp
from wengert.control.loops import fori_loop, scan, while_loop
from wengert.control.tangent_rules import custom_jvp

__all__ = [
    "checkpoint",
    "cond",
    "custom_jvp",
    "custom_vjp",
    "fori_loop",
    "scan",
    "stop_gradient",
    "while_loop",
]
