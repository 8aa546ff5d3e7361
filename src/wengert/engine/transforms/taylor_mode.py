"""Taylor mode: truncated power series, and the transforms `jet` and `derivative`.

A series ``x(t) = x_0 + x_1 t + ... + x_K t^K`` holds Taylor coefficients. No operation states a rule for series: they
follow from its derivative. If ``y = f(x)``, then ``y'(t) = R(x(t), y(t); x'(t))`` where ``R`` is the rule of the
tangent, a differential equation for ``y``. Coefficient k of ``y`` is coefficient k - 1 of the right side divided by k,
which needs the coefficients of ``y`` below k only. So the right side is evaluated once, on series whose coefficients
are computed when they are asked for. Linear operations apply to each coefficient, multilinear ones to the products
of coefficients whose orders add up to k. See Griewank and Walther, Evaluating Derivatives (2008), chapter 13.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.engine.boxes import Box, State, Trace, running, snapshot, state_of, unfollowed
from wengert.engine.boxes import concrete as concrete_value
from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.core.dtypes import dtype_of, is_inexact
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.arithmetic import divide, multiply, multiply_no_nan
from wengert.engine.primitive import Explicit, HigherOrder, Linear, NonDifferentiable, Partials, Primitive
from wengert.engine.transforms.algebras import Algebra, grouped
from wengert.engine.transforms.arguments import (
    Inputs,
    as_results,
    check_primals,
    conform,
    flatten_output,
    named,
    release,
    select_inputs,
    zeros_like,
)
from wengert.engine.transforms.forward_mode import (
    Pushed,
    broadcast_like,
    push_linear,
    push_partials,
    push_programs,
)
from wengert.engine.transforms.substitution import attempt

Values = Sequence[Any]
#: ``k -> coefficient k``, or None where it is zero whatever the numbers are.
Coefficient = Callable[[int], Any]
#: The highest order of a derivative: the factorial of a higher one is not a float.
_MOST_DERIVATIVES = 170


class Series(State):
    """The state of a box in Taylor mode: the coefficients of a power series; the first one is the value.

    Coefficients are computed in their order, each when it is first asked for.
    """

    __slots__ = ("_compute", "_known")

    def __init__(self, value: Any, compute: Coefficient) -> None:
        super().__init__(value)
        self._known = [value]
        self._compute = compute

    def at(self, order: int) -> Any:
        """Return the coefficient of ``t**order``; None stands for zero."""
        while len(self._known) <= order:
            term = self._compute(len(self._known))
            self._known.append(None if term is None else broadcast_like(term, self.value))
        return self._known[order]

    def is_known(self, order: int) -> bool:
        """Return whether the coefficients up to ``t**order`` have been computed."""
        return len(self._known) > order

    def slope(self) -> Series:
        """Return the series of the derivative: its coefficient k is ``(k + 1) x_(k + 1)``."""
        first = self.at(1)
        return Series(zeros_like(self.value) if first is None else first, self._of_slope)

    def _of_slope(self, order: int) -> Any:
        term = self.at(order + 1)
        return None if term is None else term * (order + 1)


class TaylorTrace(Trace):
    """Taylor mode: boxes hold series up to the term ``t**order``."""

    name = "jet"

    def __init__(self, order: int) -> None:
        super().__init__()
        self.order = order
        self._results: dict[Any, Any] | None = None
        """The results of the operations inside the operation that the program has called; None outside."""

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Compute all coefficients of an operation that the program calls; leave those inside of rules for later."""
        self.check_open(primitive.name)
        states = [self._state(operand) for operand in operands]
        if self._results is not None:
            return self._shared(primitive, states, params)
        _terms(states, self.order)
        with self._inside():
            result = self._shared(primitive, states, params)
            with np.errstate(all="ignore"):
                for series in self.series_of(result):
                    if series is not None:
                        series.at(self.order)
        return result

    def series_of(self, result: Any) -> list[Series | None]:
        """Return the series of each result of an operation; None for a constant."""
        results: tuple[Any, ...] = result if isinstance(result, tuple) else (result,)  # pyright: ignore[reportUnknownVariableType]
        return [state_of(self, box) for box in results]

    def _state(self, operand: Any) -> Any:
        """Return a series, or the value of a constant."""
        if not isinstance(operand, Box):
            return operand
        return operand.state if operand.owner is self else snapshot(operand)

    @contextmanager
    def _inside(self) -> Generator[None]:
        self._results = {}
        try:
            yield
        finally:
            self._results = None

    def _shared(self, primitive: Primitive, states: Values, params: dict[str, Any]) -> Any:
        """Return the result of an operation; the same operation twice is one: the rule of sin has cos, and cos sin."""
        assert self._results is not None
        key = (primitive, *map(_identity, states), *params.items())
        try:
            entry = self._results.get(key)
        except TypeError:  # a parameter is not hashable
            return self._apply(primitive, states, params)
        if entry is None:
            entry = self._results[key] = (self._apply(primitive, states, params), states)
        return entry[0]

    def _apply(self, primitive: Primitive, states: Values, params: dict[str, Any]) -> Any:
        rule = primitive.derivative
        values = list(map(_value, states))
        if isinstance(rule, HigherOrder) and rule.extend is not None:
            return self._extended(primitive, rule.extend, states, params)
        result = primitive(*values, **params)
        if isinstance(rule, HigherOrder):
            slopes = _once(lambda: push_programs(rule, *self._moving(states), params)[1])
            return tuple(
                self._integrated(value, lambda out, i=i: slopes()[i])
                if is_inexact(dtype_of(value))
                else value
                for i, value in enumerate(result)
            )
        if isinstance(rule, NonDifferentiable) or not is_inexact(dtype_of(result)):
            return unfollowed(result)
        return self._series(primitive, rule, result, states, values, params)

    def _extended(
        self, primitive: Primitive, extend: Callable[..., Any], states: Values, params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Return the results of an operation that carries coefficients along in its programs."""
        values = list(map(_value, states))

        def computed(order: int) -> tuple[Values, Sequence[Values]]:
            terms = [_terms(states, k) for k in range(1, order + 1)]
            extras = [row[i] for i in range(len(states)) for row in terms]
            outputs, result_parts = extend(TruncatedSeries(order), values, extras, **params)
            return outputs, grouped(result_parts, len(outputs))

        if all(x.is_known(self.order) for x in states if isinstance(x, Series)):
            outputs, result_parts = computed(self.order)
            return tuple(
                unfollowed(value)
                if all(term is None for term in terms)
                else self._box(value, lambda k, terms=terms: terms[k - 1] if k <= len(terms) else None)
                for value, terms in zip(outputs, result_parts, strict=True)
            )
        # The rule of another operation: the coefficients of the operands are not known beyond those below its own.
        results = functools.cache(computed)
        return tuple(
            self._box(value, lambda k, i=i: results(k)[1][i][-1])
            if is_inexact(dtype_of(value))
            else unfollowed(value)
            for i, value in enumerate(primitive(*values, **params))
        )

    def _series(
        self,
        primitive: Primitive,
        rule: Partials | Linear | Explicit,
        value: Any,
        states: Values,
        values: Values,
        params: dict[str, Any],
    ) -> Any:
        """Return the series of one result by the form of the operation's derivative."""
        if isinstance(rule, Linear):
            moving = [rule.linear_in(i) and isinstance(x, Series) for i, x in enumerate(states)]
            if rule.jointly or sum(moving) < 2:
                return self._box(
                    value, lambda k: push_linear(primitive, rule, values, _terms(states, k), params)
                )
            return self._box(value, lambda k: _cauchy(primitive, moving, states, k, params))
        if primitive is multiply:
            moving = [isinstance(x, Series) for x in states]
            return self._box(value, lambda k: _cauchy(multiply_no_nan, moving, states, k, {}))
        if primitive is divide and isinstance(states[1], Series):
            box = self._box(value, lambda k: _quotient(box.state, states, k))
            return box
        if isinstance(rule, Partials):
            if not rule.reads:
                return self._box(
                    value, lambda k: push_partials(rule, value, values, _terms(states, k), params)
                )
            return self._integrated(
                value, lambda out: push_partials(rule, out, *self._moving(states), params)
            )
        return self._integrated(value, lambda out: rule.jvp(*self._moving(states), out, **params))

    def _moving(self, states: Values) -> tuple[list[Any], list[Any]]:
        """Return the operands and their slopes, as boxes; the slope of a constant is None."""
        primals = [self.box(x) if isinstance(x, Series) else x for x in states]
        slopes = [self.box(x.slope()) if isinstance(x, Series) else None for x in states]
        return primals, slopes

    def _box(self, value: Any, compute: Coefficient) -> Any:
        return self.box(Series(value, compute))

    def _integrated(self, value: Any, slope: Callable[[Any], Any]) -> Any:
        """Return the series with the given value and slope, which is a function of the series itself."""
        right_side = _once(lambda: self._state(slope(box)))
        box = self._box(value, lambda k: _coefficient(right_side(), k - 1, k))
        return box

    def concrete(self, state: Any) -> Any:
        """Return the array behind the value."""
        return concrete_value(state.value)


@dataclass(frozen=True)
class TruncatedSeries(Algebra):
    """The algebra of power series up to the term ``t**size``; the parts of an element are its coefficients."""

    def trace(self) -> TaylorTrace:
        """Return a trace whose boxes hold series."""
        return TaylorTrace(self.size)

    def state(self, value: Any, parts: Values) -> Series:
        """Return a series."""
        return Series(value, lambda k: parts[k - 1] if k <= len(parts) else None)

    def parts(self, state: Series) -> Values:
        """Return the coefficients."""
        return [state.at(k) for k in range(1, self.size + 1)]


def _once(function: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function that computes its result in the first call and keeps it."""
    results: list[Any] = []

    def result() -> Any:
        if not results:
            results.append(function())
        return results[0]

    return result


def _identity(value: Any) -> Any:
    """Return what makes two operands the same: the number, or the object."""
    return (type(value), value) if type(value) in (int, float, bool) else id(value)


def _terms(states: Values, order: int) -> list[Any]:
    """Return the coefficients of ``t**order`` of all operands; None is zero."""
    return [x.at(order) if isinstance(x, Series) else None for x in states]


def _coefficient(slope: Any, order: int, divisor: int) -> Any:
    if slope is None:
        return None
    term = slope.at(order) if isinstance(slope, Series) else slope if order == 0 else None
    return term if term is None or divisor == 1 else term / divisor


def _cauchy(op: Primitive, moving: Sequence[bool], states: Values, order: int, params: dict[str, Any]) -> Any:
    """Return the sum over all choices of one term of each moving operand whose orders add up to ``order``."""
    total = None
    for chosen in _compositions(order, sum(moving)):
        orders = iter(chosen)
        factors = [
            x.at(next(orders)) if moves else _value(x) for x, moves in zip(states, moving, strict=True)
        ]
        if any(factor is None for factor in factors):
            continue
        term = op(*factors, **params)
        total = term if total is None else total + term
    return total


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Series) else x


def _compositions(total: int, parts: int) -> Generator[tuple[int, ...]]:
    """Yield all tuples of ``parts`` numbers that are not negative and add up to ``total``."""
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        ends = (-1, *bars, total + parts - 1)
        yield tuple(after - before - 1 for before, after in itertools.pairwise(ends))


def _quotient(quotient: Series, states: Values, order: int) -> Any:
    """Return the coefficient of ``q = x / y``: ``q_k = (x_k - sum_(j < k) q_j y_(k - j)) / y_0``."""
    numerator, denominator = states
    total = numerator.at(order) if isinstance(numerator, Series) else None
    for j in range(order):
        factors = quotient.at(j), denominator.at(order - j)
        if any(factor is None for factor in factors):
            continue
        term = multiply_no_nan(*factors)
        total = -term if total is None else total - term
    return None if total is None else divide(total, denominator.value)


# -- transforms ------------------------------------------------------------------------------------------


def expanded_operation(
    primitive: Primitive, curves: Sequence[tuple[Any, Any]], params: dict[str, Any], order: int
) -> list[list[Any]]:
    """Return the coefficients 1 to ``order`` of each result of one operation along lines; None is zero.

    A line is a pair of a value and a slope; the slope is None for a constant.
    """
    with running(TaylorTrace(order)) as trace:
        operands = [
            value
            if slope is None
            else trace.box(Series(value, lambda k, slope=slope: slope if k == 1 else None))
            for value, slope in curves
        ]
        results = trace.series_of(trace.process(primitive, tuple(operands), params))
    return [[None if series is None else series.at(k) for k in range(1, order + 1)] for series in results]


class Expanded:
    """A function run once on series: its outputs, and their coefficients (None: zero)."""

    def __init__(self, inputs: Inputs, coefficients: Sequence[Values]) -> None:
        order = len(coefficients)

        def run() -> tuple[TaylorTrace, list[Any], tree.Structure]:
            with running(TaylorTrace(order)) as trace:
                boxes = [
                    trace.box(Series(leaf, lambda k, i=i: coefficients[k - 1][i] if k <= order else None))
                    for i, leaf in enumerate(inputs.leaves)
                ]
                outputs, structure, _ = flatten_output("jet", inputs.call(boxes))
            return trace, outputs, structure

        trace, outputs, self.structure = attempt(inputs.function, run)
        states = [state_of(trace, value) for value in outputs]
        self.values = [release(trace, value) for value in outputs]
        self.coefficients = [
            [None if state is None else state.at(k) for state in states] for k in range(1, order + 1)
        ]

    def derivatives(self, order: int) -> list[Any]:
        """Return the derivatives of one order: ``order!`` times the coefficients."""
        return [_scaled(term, math.factorial(order)) for term in self.coefficients[order - 1]]


def _scaled(term: Any, factor: float) -> Any:
    return term if term is None or factor == 1 else term * factor


def jet(
    fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]]
) -> tuple[Any, list[Any]]:
    """Compute the value of a function and its higher derivatives along a curve, with truncated power series.

    For a curve ``x(t)`` with ``x(0)`` and the derivatives ``x'(0), x''(0), ...`` of the series, the result has
    ``f(x(0))`` and the derivatives of ``f(x(t))`` at t = 0. The cost grows with the square of the order; that of nested
    `jvp` doubles with each order.

    Args:
        fun: a function of the primals.
        primals: a tuple or list with each argument: arrays, numbers or containers of them, floating-point.
        series: for each argument the derivatives of the curve: a list ``[x', x'', ...]``, all of the same length; each
            has the containers and shapes of the argument.

    Returns:
        ``(output, [y', y'', ...])``: each derivative has the containers of the output.

    Raises:
        ArgumentError: primals or series are not tuples or lists, or their containers or lengths differ.
        ShapeError: a derivative does not have the shape of its primal.
        DtypeError: a primal is not floating-point.

    Example:
        >>> import numpy as np
        >>> jet(np.exp, (0.0,), [[1.0, 0.0, 0.0]])
        (np.float64(1.0), [np.float64(1.0), np.float64(1.0), np.float64(1.0)])
    """
    order = _order(primals, series)
    inputs = select_inputs("jet", fun, tuple(range(len(primals))), tuple(primals), {})
    coefficients: list[list[Any]] = []
    requirement = "a derivative of the curve must have the shape of its primal"
    for k in range(order):
        level, structure = tree.flatten(tuple(terms[k] for terms in series))
        tree.check_same("jet", inputs.structure, structure)
        checked = [conform("jet", requirement, t, p) for t, p in zip(level, inputs.leaves, strict=True)]
        coefficients.append([_scaled(term, 1 / math.factorial(k + 1)) for term in checked])
    expanded = Expanded(inputs, coefficients)
    output = tree.unflatten(expanded.structure, as_results(expanded.values, expanded.values, inputs.leaves))
    derivatives = [
        tree.unflatten(expanded.structure, as_results(expanded.derivatives(k), expanded.values, level))
        for k, level in enumerate(coefficients, start=1)
    ]
    return output, derivatives


def _order(primals: Any, series: Any) -> int:
    """Return the number of derivatives that a curve has."""
    if not all(isinstance(x, (tuple, list)) for x in (primals, series, *series)):
        requirement = "primals and series must be tuples or lists, and the series of each argument a list"
        got = ", ".join(type(x).__name__ for x in (primals, series, *series))
        raise ArgumentError(message("jet", requirement, got, "write jet(f, (x,), [[dx, ddx]])"))
    lengths = set(map(len, series))
    if len(series) != len(primals) or len(lengths) > 1:
        requirement = "there must be a series for each argument, all of the same length"
        got = f"{len(primals)} arguments, series of the lengths {list(map(len, series))}"
        raise ArgumentError(message("jet", requirement, got))
    return lengths.pop() if lengths else 0


@advising("wg.derivative(f, order=n)(x)")
def derivative(
    fun: Callable[..., Any], argnums: int = 0, order: int = 1, *, holomorphic: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the derivative ``d^n f / dt^n`` of a function of a scalar.

    The first derivative takes dual numbers, a higher one truncated power series (see `jet`).

    Args:
        fun: a function of a scalar that returns numbers, arrays or containers of them.
        argnums: the position of the scalar.
        order: the number n of differentiations, 1 to 170.
        holomorphic: the function is holomorphic, and takes a complex number.

    Returns:
        A function with the arguments of ``fun`` that returns a derivative for each output.

    Raises:
        ArgumentError: the order is not an integer from 1 to 170.
        ShapeError: the argument is not a scalar.
        DtypeError: the argument is complex without ``holomorphic``.

    Example:
        >>> import numpy as np
        >>> derivative(lambda t: np.array([1.0, 2.0]) * t**2)(3.0)
        array([ 6., 12.])
        >>> derivative(lambda t: t**5, order=4)(2.0)
        240.0
    """
    is_integer = isinstance(order, (int, np.integer)) and not isinstance(order, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not is_integer or not 1 <= order <= _MOST_DERIVATIVES:
        requirement = f"the order must be an integer from 1 to {_MOST_DERIVATIVES}"
        raise ArgumentError(message("derivative", requirement, repr(order)))

    def differentiated(*arguments: Any, **options: Any) -> Any:
        inputs = select_inputs("derivative", fun, argnums, arguments, options)
        check_primals("derivative", inputs.leaves, holomorphic)
        if len(inputs.leaves) != 1 or shape_of(inputs.leaves[0]) != ():
            requirement = "the argument must be a scalar"
            raise ShapeError(message("derivative", requirement, show(*inputs.leaves), "use wg.jacobian"))
        unit = dtype_of(inputs.leaves[0]).type(1)
        if order == 1:
            run = Pushed(inputs, [unit])
            derivatives = run.tangents
        else:
            run = Expanded(inputs, [[unit], *([None] for _ in range(order - 1))])
            derivatives = run.derivatives(order)
        return tree.unflatten(run.structure, as_results(derivatives, run.values))

    return named(differentiated, "derivative", fun, argnums)
