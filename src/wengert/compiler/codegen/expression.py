"""Expressions as instructions: the value of an expression at one point of a tile."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from wengert.compiler import scalars
from wengert.compiler.codegen.access import Access
from wengert.compiler.codegen.emission_state import Point
from wengert.compiler.llvm.ir_builder import I1, SCALARS, Kind, Value, constant
from wengert.core.dtypes import INT64, Dtype
from wengert.nest.expression import (
    CHECKS,
    Apply,
    Const,
    Expression,
    Guard,
    Iota,
    Load,
    Reduce,
    is_positive_zero,
    may_lie_outside,
    may_report,
)
from wengert.nest.index import Index


class Evaluator(Access):
    """Emits expressions, remembering what the code so far has computed."""

    def kind(self, dtype: Dtype, lanes: int) -> Kind:
        """Return the type of values of a dtype."""
        return Kind(SCALARS[dtype], lanes)

    def value(self, node: Expression, point: Point) -> Value:
        """Return the value of an expression: one number, or a vector where it depends on the lanes."""
        if isinstance(node, Const):
            return constant(self.kind(node.dtype, 1), node.value)
        key = self.key(node, point)
        if isinstance(node, Reduce):
            return self.reduced[key]
        known = self.recall(key)
        if known is None:
            known = self.remember(key, self._emit(node, point))
        return known

    def _emit(self, node: Expression, point: Point) -> Value:
        match node:
            case Load():
                return self.load(node, point)
            case Iota(index=index, dtype=dtype):
                number = self.index(index, point)
                return self._converted(number, dtype)
            case Apply():
                return self._apply(node, point)
            case Guard():
                return self._guard(node, point)
            case _:
                raise AssertionError(node)

    def _converted(self, number: Value, dtype: Dtype) -> Value:
        context = scalars.Context(self.builder, INT64, dtype, 0, self.functions)
        return scalars.emit(context, "cast", [number])

    def _apply(self, node: Apply, point: Point) -> Value:
        if node.operation in ("add", "subtract") and (fused := self._fused(node, point)):
            return fused
        values = [self.value(operand, point) for operand in node.operands]
        if node.operation == "required":
            return self._required(values, node, point)
        operands = self.aligned(values)
        if node.operation == "made":
            return self._made(operands, node, point)
        if node.operation in CHECKS:
            return self._position(operands[0], node, point)
        before = node.operands[0].dtype if node.operation != "where" else node.operands[1].dtype
        context = scalars.Context(self.builder, before, node.dtype, node.param, self.functions)
        return scalars.emit(context, node.operation, operands)

    # -- products and a term -----------------------------------------------------------------------------

    def _fused(self, node: Apply, point: Point) -> Value | None:
        """Return x y + z, x y - z or z - x y, rounded once where the target does that.

        The expression alone decides on it, not what surrounds it: what is computed again in another nest, or in the
        last lanes, has the same bits there, and may be compared with what was stored.
        """
        b, (one, other) = self.builder, node.operands
        subtract = node.operation == "subtract"
        if pair := self.factors(one, point):
            term = self.value(other, point)
            return self.product_plus(pair, b.fneg(term) if subtract else term)
        if pair := self.factors(other, point):
            x, y = pair
            return self.product_plus((b.fneg(x) if subtract else x, y), self.value(one, point))
        return None

    def factors(self, node: Expression, point: Point) -> tuple[Value, Value] | None:
        """Return the factors of a product of floats that is to be fused with a sum; guarded, if they vanish outside."""
        if node.dtype.kind != "f" or self.builder.fast:
            return None
        if isinstance(node, Guard):
            return self._guarded_factors(node, point)
        if not isinstance(node, Apply):
            return None
        if node.operation == "multiply":
            return self.value(node.operands[0], point), self.value(node.operands[1], point)
        if node.operation == "square" or (node.operation == "integer_power" and node.param == 2):
            x = self.value(node.operands[0], point)
            return x, x
        return None

    def _guarded_factors(self, node: Guard, point: Point) -> tuple[Value, Value] | None:
        uniform, varying = self._conditions(node, point)
        vanishes = is_positive_zero(node.otherwise) and self.vanishes(node.body)
        if uniform is not None or not (varying is None or vanishes):
            return None
        with self._inside_guard(node):
            return self.factors(node.body, self._masked(point, varying))

    def product_plus(self, factors: tuple[Value, Value], term: Value) -> Value:
        """Return x y + z."""
        return self.builder.muladd(*self.aligned([*factors, term]))

    def _position(self, index: Value, node: Apply, point: Point) -> Value:
        """Count from the end where a negative index may; report it where it lies outside, and read inside instead."""
        b, extent = self.builder, node.param
        (given,) = node.operands
        if isinstance(given, Apply) and given.operation == "position" and given.param <= extent:
            return index
        size = constant(index.kind, extent)
        zero = constant(index.kind, 0)
        wrapped = index
        if not node.requirement:
            wrapped = b.select(b.compare("slt", index, zero), b.binary("add", index, size), index)
        inside = b.compare("ult", wrapped, size)
        self._complain(b.negate(inside), node, point)
        return b.select(inside, wrapped, zero)

    def _made(self, operands: list[Value], node: Apply, point: Point) -> Value:
        """Report a NaN where there was none before."""
        b = self.builder
        value, had = operands
        self._complain(b.both(b.compare("uno", value, value), b.negate(had)), node, point)
        return value

    def _required(self, operands: list[Value], node: Apply, point: Point) -> Value:
        """Report a value of which something does not hold.

        What is the same for all lanes stays one truth value: LLVM 22 tests a vector of four equal ones by an
        instruction that cannot name all registers, and then tests another.
        """
        value, holds = operands
        self._complain(self.builder.negate(holds), node, point)
        return value

    def _complain(self, wrong: Value, node: Apply, point: Point) -> None:
        b = self.builder
        if wrong.kind.lanes > 1:
            if point.mask is not None:
                wrong = b.both(wrong, point.mask)
            wrong = b.call(f"llvm.vector.reduce.or.{wrong.kind.suffix}", wrong, result=I1)
        self.report(wrong, f"{node.operation}|{node.requirement}|{node.location}")

    # -- guards ------------------------------------------------------------------------------------------

    def _guard(self, node: Guard, point: Point) -> Value:
        """Read inside only: by a branch where the condition is the same for all lanes, by a mask where it is not."""
        uniform, varying = self._conditions(node, point)
        apart = may_lie_outside(node.otherwise) or may_report(node.otherwise)
        otherwise = None if apart else self.value(node.otherwise, point)

        def inner() -> Value:
            with self._inside_guard(node):
                value = self.value(node.body, self._masked(point, varying))
                if varying is None or (is_positive_zero(node.otherwise) and self.vanishes(node.body)):
                    return value
                rest = otherwise or self.value(
                    node.otherwise, self._masked(point, self.builder.negate(varying))
                )
            yes, no, _ = self.aligned([value, rest, varying])
            return self.builder.select(varying, yes, no)

        def outer() -> Value:
            with self._inside_guard(node):
                return otherwise or self.value(node.otherwise, point)

        return (
            inner()
            if uniform is None
            else self._branch(uniform, inner, outer, self.width if self.lanes in self.dims(node) else 1)
        )

    def _conditions(self, node: Guard, point: Point) -> tuple[Value | None, Value | None]:
        """Return whether a guard's conditions hold that are the same for all lanes, and those that are not."""
        uniform: Value | None = None
        varying: Value | None = None
        for index, extent in node.conditions:
            inside = self._inside(index, extent, point)
            if inside is None:
                continue
            if inside.kind.lanes == 1:
                uniform = inside if uniform is None else self.builder.both(uniform, inside)
            else:
                varying = inside if varying is None else self._both(varying, inside)
        return uniform, varying

    def _masked(self, point: Point, varying: Value | None) -> Point:
        if varying is None:
            return point
        return point._replace(mask=varying if point.mask is None else self._both(point.mask, varying))

    @contextmanager
    def _inside_guard(self, node: Guard) -> Generator[None]:
        before = self.guarded
        self.guarded = before.union(*(index.dims() for index, _ in node.conditions))
        yield
        self.guarded = before

    def vanishes(self, node: Expression) -> bool:
        """Tell whether a product is zero in lanes that are masked out, as what is loaded there is."""
        factors = node.operands if isinstance(node, Apply) and node.operation == "multiply" else (node,)
        return all(isinstance(factor, Load) and self.lanes in self.dims(factor) for factor in factors)

    def _both(self, one: Value, other: Value) -> Value:
        known = self.recall(("both", one, other))
        return known or self.remember(("both", one, other), self.builder.both(one, other))

    def _branch(
        self, condition: Value, inner: Callable[[], Value], outer: Callable[[], Value], lanes: int
    ) -> Value:
        b = self.builder
        yes, no, after = b.new_label("inside"), b.new_label("outside"), b.new_label("guarded")
        b.branch_if(condition, yes, no)
        b.label(yes)
        with self.scope():
            value = b.splat(found, lanes) if (found := inner()).kind.lanes < lanes else found
        came = b.block
        b.branch(after)
        b.label(no)
        with self.scope():
            otherwise = b.splat(found, lanes) if (found := outer()).kind.lanes < lanes else found
        left = b.block
        b.branch(after)
        b.label(after)
        return b.emit(
            f"phi {value.kind} [ {value.text}, %{came} ], [ {otherwise.text}, %{left} ]", value.kind
        )

    def _inside(self, index: Index, extent: int, point: Point) -> Value | None:
        low, high = index.bounds
        if low >= 0 and high < extent:
            return None
        value = self.index(index, point)
        key = ("inside", value, extent)
        known = self.recall(key)
        return known or self.remember(key, self.builder.compare("ult", value, constant(value.kind, extent)))
