"""Mathematical notation for the evaluation trace: values, operations, and the terms of adjoints.

The texts come from the primitives. An operation is written from its NumPy source, and the term that it adds to an
adjoint from its derivative rule, which is staged on symbolic values and printed. A few operations have a notation that
is shorter than their source.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import type_of
from wengert.engine.primitive import REGISTRY, Linear, NonDifferentiable, Partials, Primitive
from wengert.engine.transforms.staging import stage
from wengert.inspect.numpy_source import as_product, one_axis

#: Arrays up to this many elements are written out.
LISTED = 6
_SUBSCRIPTS = str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋")
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
PRIME = "′"
_RELATION, _SUM, _DIVISION, _PRODUCT, _POWER, _ATOM = range(6)
#: Sign and precedence of NumPy's infix operators; all others are relations.
_INFIX = {
    **{"+": ("+", _SUM), "-": ("-", _SUM), "*": ("×", _PRODUCT), "/": ("/", _PRODUCT)},
    **{"//": ("//", _DIVISION), "%": ("%", _DIVISION), "@": ("@", _DIVISION)},
}


def symbol(number: int, letter: str = "v") -> str:
    """Return the symbol of a value of the list.

    Example:
        >>> symbol(-1), symbol(12)
        ('v₋₁', 'v₁₂')
    """
    return letter + str(number).translate(_SUBSCRIPTS)


def show(value: Any, digits: int = 3) -> str:
    """Write a number with few digits, a small array in brackets, a larger array as its type.

    Example:
        >>> show(-0.28366), show(10.0), show(1.5e-7), show(np.array([1.0, 0.5])), show(np.zeros((30, 4)))
        ('-0.284', '10', '1.5e-07', '[1, 0.5]', 'f64[30,4]')
    """
    content = concrete(value)
    shape = shape_of(value)
    if content is None or size(shape) > LISTED or not size(shape):
        return str(type_of(value))
    if shape:
        return f"[{', '.join(show(row, digits) for row in content)}]"
    number: Any = content.item() if hasattr(content, "item") else content
    if not isinstance(number, float) or not math.isfinite(number):
        return str(number)
    if number and not 10.0**-digits <= abs(number) < 1e6:
        return f"{number:.{digits + 1}g}"
    text = f"{number + 0.0:.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text


class Term(NamedTuple):
    """The text of a value: its precedence, and whether a minus sign stands before the text."""

    text: str
    rank: int = _ATOM
    negative: bool = False

    @classmethod
    def of(cls, text: str) -> Term:
        """Return the term of a symbol or a number."""
        return cls(text, _PRODUCT if text.startswith("-") else _ATOM)

    def __str__(self) -> str:
        return f"-{self.text}" if self.negative else self.text

    def unsigned(self) -> Term:
        """Return the term without its minus sign."""
        return self._replace(negative=False)

    def at(self, rank: int, *, first: bool = False) -> str:
        """Return the text as an operand of an operation: in brackets where its precedence is lower."""
        text = str(self)
        return f"({text})" if self.rank < rank or (text.startswith("-") and not first) else text


def _infix(sign: str, left: Term, right: Term) -> Term:
    """Write a sum, a quotient or a relation."""
    name, rank = _INFIX.get(sign, (sign, _RELATION))
    last = right.at(rank + (sign not in ("+", "*", "@")))
    return Term(f"{left.at(rank, first=True)} {name} {last}", rank)


def _times(left: Term, right: Term) -> Term:
    """Write a product: the signs of the factors come first, and 1 / x divides."""
    text = left.unsigned().at(_PRODUCT, first=True)
    right, negative = right.unsigned(), left.negative != right.negative
    divisor = right.text.removeprefix("1 / ")
    text += f" × {right.at(_PRODUCT)}" if divisor == right.text else f" / {divisor}"
    return Term(text, _PRODUCT, negative)


def _over(left: Term, right: Term) -> Term:
    """Write a quotient: the signs come first."""
    negative = left.negative != right.negative
    return _infix("/", left.unsigned(), right.unsigned())._replace(negative=negative)


def _power(base: Term, exponent: Term) -> Term:
    if exponent.text == "1":
        return base
    if not re.fullmatch(r"-?\d+", exponent.text):
        return Term(f"{base.at(_ATOM)}^{exponent.at(_ATOM)}", _POWER)
    return Term(base.at(_ATOM) + exponent.text.translate(_SUPERSCRIPTS), _POWER)


def _call(name: str, *operands: Term) -> Term:
    return Term(f"{name}({', '.join(map(str, operands))})")


_OPERATORS: dict[str, Callable[[Term, Term], Term]] = {"*": _times, "/": _over, "**": _power}
#: Notations that are shorter than the NumPy source.
_SHORT: dict[str, Callable[..., Term]] = {
    "multiply_no_nan": _times,
    "square": lambda x: _power(x, Term("2")),
    "reciprocal": lambda x: _over(Term("1"), x),
    "stop_gradient": lambda x: x,
    "absolute": lambda x: Term(f"|{x}|"),
    "log": functools.partial(_call, "ln"),
    "sqrt": functools.partial(_call, "√"),
    "expit": functools.partial(_call, "σ"),
    "expit_slope": lambda x: Term(f"σ({x}) × (1 - σ({x}))", _PRODUCT),
    "tanh_slope": lambda x: Term(f"1 / cosh²({x})", _PRODUCT),
}


def formula(primitive: str, operands: Sequence[str], params: Mapping[str, Any]) -> str:
    """Write an operation on symbols and numbers.

    Example:
        >>> import wengert.engine.ops.exponential
        >>> formula("multiply", ["v₁", "-2"], {}), formula("integer_power", ["v₁"], {"exponent": 3})
        ('v₁ × (-2)', 'v₁³')
        >>> formula("negative", ["-2"], {}), formula("power", ["-2", "v₁"], {})
        ('-(-2)', '(-2)^v₁')
    """
    return str(_operation(primitive, [Term.of(text) for text in operands], params))


def _operation(primitive: str, operands: Sequence[Term], params: Mapping[str, Any]) -> Term:
    if any(isinstance(value, Graph) for value in params.values()):
        return _call(params.get("call", primitive), *operands)
    if primitive in _SHORT:
        return _SHORT[primitive](*operands)
    template = _template(REGISTRY[primitive], [f"{{{i}}}" for i in range(len(operands))], params)
    if infix := re.fullmatch(r"\{0\} (\S+) (\{1\}|-?\w+)", template):
        right = operands[1] if len(operands) > 1 else Term.of(infix[2])
        return _OPERATORS.get(infix[1], functools.partial(_infix, infix[1]))(operands[0], right)
    if template == "-{0}":
        operand = operands[0].unsigned()
        return Term(operand.at(_PRODUCT), max(operand.rank, _PRODUCT), not operands[0].negative)
    is_call = re.fullmatch(r"\w+\(.*\)", template)
    for position, operand in enumerate(operands):
        template = template.replace(f"{{{position}}}", str(operand) if is_call else operand.at(_ATOM))
    return Term(template)


def _template(primitive: Primitive, operands: Sequence[str], params: Mapping[str, Any]) -> str:
    """Return the NumPy source of an operation without the names of modules."""
    text = ""
    if primitive.name == "contract":
        text = as_product(operands, **params)
    else:
        with contextlib.suppress(TypeError, ValueError, IndexError):
            text = one_axis(primitive.source(*operands, **params))
    return re.sub(r"\b(np|wengert\.special)\.", "", text) or f"{primitive.name}({', '.join(operands)})"


def adjoint_term(
    primitive: Primitive,
    position: int,
    symbols: tuple[str, Sequence[str]],
    values: tuple[Any, Sequence[Any]],
    params: Mapping[str, Any],
) -> str:
    """Write what an elementwise operation adds to the adjoint of an operand; empty for other operations.

    The rule is printed as it stands at the given values: of `where`, only the branch that is taken there.

    Args:
        primitive: the operation.
        position: that of the operand.
        symbols: those of the result and of the operands.
        values: those of the result and of the operands.
        params: those of the operation.

    Example:
        >>> from wengert.engine.ops.arithmetic import maximum, subtract
        >>> adjoint_term(subtract, 1, ("v₃", ["v₁", "v₂"]), (1.0, [3.0, 2.0]), {})
        'v₃′ × (-1)'
        >>> adjoint_term(maximum, 0, ("v₃", ["v₁", "v₂"]), (3.0, [3.0, 2.0]), {})
        'v₃′ × 1'
    """
    rule, (out, operands) = primitive.derivative, symbols
    adjoint, names = Term(out + PRIME), [Term.of(text) for text in operands]
    if isinstance(rule, Partials):
        partial: Any = rule.partials[position]
        if not callable(partial):
            return str(_times(adjoint, Term.of(show(partial))))
        arguments = values[0], *values[1]
        graph, _ = stage(lambda *inputs: [partial(*inputs, **params)], list(map(type_of, arguments)))
        return str(_times(adjoint, _printed(graph, [Term.of(out), *names], arguments)))
    if isinstance(rule, Linear) and primitive.elementwise:
        arguments = np.ones_like(values[0]), *values[1]
        types = [type_of(values[0]), *map(type_of, values[1])]
        graph, _ = stage(lambda bar, *inputs: [rule.transpose(position, bar, inputs, params)], types)
        return str(_printed(graph, [adjoint, *names], arguments))
    return ""


def _printed(graph: Graph, names: Sequence[Term], values: Sequence[Any]) -> Term:
    """Write the result of a graph as an expression in its inputs."""
    terms = dict[Var, Term](zip(graph.inputs, names, strict=True))
    terms.update((var, Term.of(show(constant))) for var, constant in graph.constants)
    with np.errstate(all="ignore"):
        results = all_values(graph, values)

    def term(atom: Atom) -> Term:
        if isinstance(atom, Var):
            return terms[atom]
        text = show(atom.value)
        return Term(text.removeprefix("-"), negative=text.startswith("-"))

    for equation in graph.equations:
        (out,) = equation.outputs
        condition = equation.operands[0]
        branch = None
        if equation.primitive == "where":
            branch = _branch(condition.value if isinstance(condition, Literal) else results[condition])
        written = list(map(term, equation.operands))
        if branch is not None or equation.primitive == "cast":
            terms[out] = written[branch or 0]
        elif equation.primitive == "multiply" and written[0].text == written[1].text:
            square = _power(written[0].unsigned(), Term("2"))
            terms[out] = square._replace(negative=written[0].negative != written[1].negative)
        elif (program := _choice(equation)) is not None:
            operands = [x.value if isinstance(x, Literal) else results[x] for x in equation.operands]
            inner, _ = stage(lambda *xs, f=program: [f(*xs)], list(map(type_of, operands)))
            terms[out] = _printed(inner, written, operands)
        else:
            terms[out] = _operation(equation.primitive, written, equation.params)
    return term(graph.outputs[0])


def _choice(equation: Equation) -> Any:
    """Return the program of an operation that chooses a number, of which the choice is written alone."""
    statement = REGISTRY[equation.primitive]
    is_constant = isinstance(statement.derivative, NonDifferentiable)
    return getattr(statement.lowering, "program", None) if is_constant else None


def all_values(graph: Graph, arguments: Sequence[Any]) -> dict[Var, Any]:
    """Return the value of each variable of a graph."""
    values = {**dict[Var, Any](zip(graph.inputs, arguments, strict=True)), **dict(graph.constants)}
    for equation in graph.equations:
        operands = [atom.value if isinstance(atom, Literal) else values[atom] for atom in equation.operands]
        result = REGISTRY[equation.primitive](*operands, **equation.params)
        results = cast("tuple[Any, ...]", result) if isinstance(result, tuple) else (result,)
        values.update(zip(equation.outputs, results, strict=True))
    return values


def _branch(condition: Any) -> int | None:
    """Return the operand that `where` takes everywhere, if it takes only one."""
    holds = concrete(condition)
    if holds is None or (not np.all(holds) and np.any(holds)):
        return None
    return 1 if np.all(holds) else 2


def passes(primitive: str, position: int) -> bool:
    """Return whether a derivative passes through an operand.

    Example:
        >>> import wengert.engine.ops.comparison
        >>> passes("where", 0), passes("where", 1)
        (False, True)
    """
    rule = REGISTRY[primitive].derivative
    if isinstance(rule, Partials):
        return rule.partials[position] is not None
    return rule.linear_in(position) if isinstance(rule, Linear) else not hasattr(rule, "reason")
