"""What an expression costs at one point, in additions."""

from __future__ import annotations

import math

from wengert.nest.expression import Apply, Expression, Guard, Load, Reduce, walk
from wengert.nest.index import Computed
from wengert.nest.nest import Nest

PARALLEL = 50_000
"""Operations in a nest that one thread does sooner than several."""
#: What a division costs, or a root.
DIVISION = 4
#: What an elementary function costs: a polynomial of about so many terms.
FUNCTION = 12
#: What an operation costs: a division of a vector takes about four times as long.
_COST = {
    **dict.fromkeys(("divide", "sqrt", "reciprocal", "remainder", "floor_divide", "fmod"), DIVISION),
    **dict.fromkeys(
        ("exp", "log", "expm1", "log1p", "exp2", "log2", "tanh", "expit", "sin", "cos"), FUNCTION
    ),
    **dict.fromkeys(("power", "tan", "arctan2", "lgamma", "digamma", "erf", "erfc", "erfinv"), 30),
    "threefry": 40,
    "integer_power": 2,
    **dict.fromkeys(("ldexp", "binary_exponent"), 8),
    "multiply_no_nan": 3,
    **dict.fromkeys(("positive", "where", "cast"), 1),
}
_CHEAP = frozenset(
    """add subtract multiply negative square absolute fabs sign copysign maximum minimum fmax fmin floor ceil trunc rint
    equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not isnan isinf
    isfinite signbit bitwise_and bitwise_or bitwise_xor invert left_shift right_shift heaviside position bounded
    required
    """.split()  # noqa: SIM905 (a list of them would fill a page)
)


def weight(operation: str) -> int:
    """Return what an operation costs for itself."""
    return 1 if operation in _CHEAP else _COST.get(operation, FUNCTION)


def arithmetic(expression: Expression) -> int:
    """Return what the operations of an expression cost at one point, without what it reads."""
    return sum(weight(node.operation) for node in walk(expression) if isinstance(node, Apply))


def cost(expression: Expression) -> int:
    """Return how many simple operations an expression takes at one point, beyond the first load."""
    total, count = arithmetic(expression), 0
    for node in walk(expression):
        if isinstance(node, Load):
            count += 1
            total += 2 * any(isinstance(term, Computed) for index in node.indices for term, _ in index.terms)
        elif isinstance(node, Guard):
            total += 1
    return total + max(count - 1, 0)


def work(nest: Nest) -> int:
    """Return about how many operations a nest carries out; what several stores hold is carried out once."""
    total = 0
    seen: set[int] = set()
    for store in nest.stores:
        nodes = list(walk(store.value, seen=seen))
        for node in nodes:
            if isinstance(node, Reduce):
                inner = math.prod(dim.extent for dim in node.dims)
                total += inner * max(1, sum(isinstance(one, Apply) for one in walk(node.body)))
        each = sum(isinstance(one, (Apply, Load)) for one in nodes)
        total += each * math.prod(dim.extent for dim in store.along)
    return total * math.prod(dim.extent for dim in nest.dims)


def is_large(nest: Nest) -> bool:
    """Tell whether several threads are sooner through a nest than one."""
    return work(nest) > PARALLEL
