"""How operations and their partial derivatives are written in the evaluation trace.

A formula is a text with ``{0}``, ``{1}`` for the operands, ``{out}`` for the result and ``{bar}`` for its adjoint.
What is not listed is written as in NumPy, and its partial derivative as ∂v₂/∂v₁: the numbers come from the rules in
any case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from wengert.inspect.formatting import raised, show
from wengert.inspect.products import as_product, one_axis
from wengert.ir.graph import Equation, Graph
from wengert.primitive import REGISTRY, Linear, Partials

_INFIX = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} × {1}",
    "multiply_no_nan": "{0} × {1}",
    "divide": "{0} / {1}",
    "power": "{0}^{1}",
    "negative": "-{0}",
    "square": "{0}²",
}
_CALLS = {
    "log": "ln({0})",
    "expit": "σ({0})",
    "absolute": "|{0}|",
    "sqrt": "√({0})",
    "reciprocal": "1 / {0}",
    "stop_gradient": "{0}",
}

#: The adjoint of the result times the partial derivative, for each operand.
_PRODUCTS = {
    "multiply": ("{bar} × {1}", "{bar} × {0}"),
    "multiply_no_nan": ("{bar} × {1}", "{bar} × {0}"),
    "divide": ("{bar} / {1}", "-{bar} × {out} / {1}"),
    "reciprocal": ("-{bar} × {out}²",),
    "square": ("{bar} × 2 × {0}",),
    "power": ("{bar} × {1} × {0}^({1} - 1)", "{bar} × {out} × ln({0})"),
    "sqrt": ("{bar} / (2 × {out})",),
    "exp": ("{bar} × {out}",),
    "expm1": ("{bar} × ({out} + 1)",),
    "log": ("{bar} / {0}",),
    "log1p": ("{bar} / (1 + {0})",),
    "expit": ("{bar} × {out} × (1 - {out})",),
    "sin": ("{bar} × cos({0})",),
    "cos": ("-{bar} × sin({0})",),
    "tan": ("{bar} × (1 + {out}²)",),
    "arctan": ("{bar} / (1 + {0}²)",),
    "sinh": ("{bar} × cosh({0})",),
    "cosh": ("{bar} × sinh({0})",),
    "tanh": ("{bar} × (1 - {out}²)",),
    "absolute": ("{bar} × sign({0})",),
}


def formula(primitive: str, operands: Sequence[str], params: Mapping[str, Any]) -> str:
    """Write an operation.

    Example:
        >>> import wengert.ops.arithmetic
        >>> formula("multiply", ["v₁", "-2"], {}), formula("integer_power", ["v₁"], {"exponent": 3})
        ('v₁ × (-2)', 'v₁³')
    """
    if any(isinstance(value, Graph) for value in params.values()):
        return f"{params.get('call', primitive)}({', '.join(operands)})"
    if primitive in _CALLS:
        return _CALLS[primitive].format(*operands)
    enclosed = [f"({operand})" if operand.startswith("-") else operand for operand in operands]
    if primitive == "integer_power":
        return raised(enclosed[0], params["exponent"])
    if primitive in _INFIX:
        first = operands if _INFIX[primitive].startswith("{0} ") else enclosed
        return _INFIX[primitive].format(first[0], *enclosed[1:])
    if primitive == "contract":
        known = as_product(operands, **params).replace("np.", "")
        return known or f"contract({', '.join(operands)})"
    try:
        text = one_axis(REGISTRY[primitive].source(*operands, **params))
        return text.replace("np.", "").replace("wengert.special.", "")
    except (TypeError, ValueError, IndexError):
        return f"{primitive}({', '.join(operands)})"


def product(
    primitive: str, position: int, bar: str, out: str, operands: Sequence[str], params: Mapping[str, Any]
) -> str:
    """Write the adjoint of the result times the partial derivative in one operand; empty where no text is known.

    Example:
        >>> import wengert.ops.arithmetic
        >>> product("subtract", 1, "v₃′", "v₃", ["v₁", "v₂"], {})
        'v₃′ × (-1)'
    """
    if primitive == "integer_power":
        exponent = params["exponent"]
        rest = f" × {raised(operands[0], exponent - 1)}" if exponent != 1 else ""
        return f"{bar} × {show(exponent)}{rest}"
    if primitive in _PRODUCTS:
        return _PRODUCTS[primitive][position].format(*operands, bar=bar, out=out)
    rule = REGISTRY[primitive].derivative
    partial = rule.partials[position] if isinstance(rule, Partials) else None
    if isinstance(partial, (int, float)):
        number = show(partial)
        return f"{bar} × ({number})" if number.startswith("-") else f"{bar} × {number}"
    return ""


def renames(equation: Equation) -> bool:
    """Tell whether an equation only makes a Python scalar one of NumPy's."""
    return equation.primitive == "cast" and equation.operands[0].type.dtype == equation.outputs[0].dtype


def program_name(equation: Equation, default: str) -> str:
    """Return a name for the program of an equation: that of the function with a rule, if it is one."""
    found = re.sub(r"\W+", "_", str(equation.params.get("call", ""))).strip("_")
    return found if found.isidentifier() else default


def passes(primitive: str, position: int) -> bool:
    """Tell whether a derivative passes through an operand.

    Example:
        >>> import wengert.ops.comparison
        >>> passes("where", 0), passes("where", 1)
        (False, True)
    """
    rule = REGISTRY[primitive].derivative
    if isinstance(rule, Partials):
        return rule.partials[position] is not None
    if isinstance(rule, Linear):
        return rule.linear_in(position)
    return not hasattr(rule, "reason")
