"""Expressions as instructions: the value of an expression at one point of a tile."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from wengert.compiler import scalars
from wengert.compiler.codegen.access import Emitter, Point
from wengert.compiler.llvm.ir_builder import I1, I64, SCALARS, Kind, Value, constant
from wengert.engine.core.dtypes import INT64, Dtype
from wengert.engine.nest.expression import (
    CHECKS,
    CONDITIONS,
    SUMS,
    Apply,
    Const,
    Expression,
    Guard,
    Iota,
    Load,
    Reduce,
    factors,
    is_positive_zero,
    may_lie_outside,
    may_report,
)
from wengert.engine.nest.index import Index


class Evaluator(Emitter):
    """Emits expressions."""

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
        value = self.recall(key)
        return self.remember(key, self._emit(node, point)) if value is None else value

    def _emit(self, node: Expression, point: Point) -> Value:
        match node:
            case Load():
                return self.load(node, point)
            case Iota(index=index, dtype=dtype):
                context = scalars.Context(self.builder, INT64, dtype, 0, self.functions)
                return scalars.emit(context, "cast", [self.index(index, point)])
            case Apply():
                return self._apply(node, point)
            case Guard():
                return self._guard(node, point)
            case _:
                raise AssertionError(node)

    def _apply(self, node: Apply, point: Point) -> Value:
        if node.operation in SUMS and node.param:
            return self._fused(node, point)
        values = [self.value(operand, point) for operand in node.operands]
        if node.operation in CONDITIONS:
            return self._required(values, node, point)
        operands = self.aligned(values)
        if node.operation in CHECKS:
            return self._position(operands[0], node, point)
        dtype = node.operands[0].dtype if node.operation != "where" else node.operands[1].dtype
        # Its logarithm, most of the power of a fixed base, is then computed in front of the loop.
        copies = node.operation == "power" and [*map(self.body.is_fixed, node.operands)] == [True, False]
        context = scalars.Context(self.builder, dtype, node.dtype, node.param, self.functions, copies)
        return scalars.emit(context, node.operation, operands)

    # -- fused multiply-add ------------------------------------------------------------------------------

    def _fused(self, node: Apply, point: Point) -> Value:
        """Return x y + z, x y - z or z - x y, rounded once where the target does that.

        The sum itself says so since it was lowered: wherever it is computed, it has the same bits.
        """
        b, is_first = self.builder, node.param != 2
        product, term = node.operands if is_first else reversed(node.operands)
        pair, value = self.factors(product, point), self.value(term, point)
        assert pair is not None
        x, y = pair
        if node.operation == "subtract":
            x, value = (x, b.fneg(value)) if is_first else (b.fneg(x), value)
        return self.product_plus((x, y), value)

    def factors(self, node: Expression, point: Point) -> tuple[Value, Value] | None:
        """Return the factors of a product of floats to fuse with a sum; of a guarded one, if it is zero outside."""
        if node.dtype.kind != "f":
            return None
        if isinstance(node, Guard):
            return self._guarded_factors(node, point)
        pair = factors(node)
        return None if pair is None else (self.value(pair[0], point), self.value(pair[1], point))

    def _guarded_factors(self, node: Guard, point: Point) -> tuple[Value, Value] | None:
        uniform, varying = self._conditions(node, point)
        if uniform is not None or not (varying is None or self._vanishes_outside(node)):
            return None
        with self._inside_guard(node):
            return self.factors(node.body, self._masked(point, varying))

    def product_plus(self, factors: tuple[Value, Value], term: Value) -> Value:
        """Return x y + z."""
        return self.builder.muladd(*self.aligned([*factors, term]))

    # -- checks ------------------------------------------------------------------------------------------

    def _position(self, index: Value, node: Apply, point: Point) -> Value:
        """Count a negative index from the end where that is allowed; report an index outside, and return 0 for it."""
        b, extent = self.builder, node.param
        (operand,) = node.operands
        if isinstance(operand, Apply) and operand.operation == "position" and operand.param <= extent:
            return index
        size = constant(index.kind, extent)
        zero = constant(index.kind, 0)
        wrapped = index
        if not node.requirement:
            wrapped = b.select(b.compare("slt", index, zero), b.binary("add", index, size), index)
        inside = b.compare("ult", wrapped, size)
        self._report(b.negate(inside), node, point)
        is_certain = self.body.failed and self.reports and index.kind.lanes == 1
        return wrapped if is_certain else b.select(inside, wrapped, zero)

    def _required(self, operands: list[Value], node: Apply, point: Point) -> Value:
        """Report a value for which a condition fails.

        A condition that is the same for all lanes stays one truth value: LLVM 22 tests a vector of four equal ones by
        an instruction that cannot name all registers, and then tests another.
        """
        value, holds = operands
        self._report(self.builder.negate(holds), node, point)
        return value

    def _report(self, wrong: Value, node: Apply, point: Point) -> None:
        """Note the first error in the status word."""
        b = self.builder
        if wrong.kind.lanes > 1:
            if point.mask is not None:
                wrong = b.both(wrong, point.mask)
            wrong = b.call(f"llvm.vector.reduce.or.{wrong.kind.suffix}", wrong, result=I1)
        if not self.reports:
            return
        place = f"{node.operation}|{node.requirement}|{node.location}"
        with b.only_if(wrong, rarely=True):
            status = self.body.status
            before = b.load(status, I64, 8)
            number = constant(I64, self.checks.setdefault(place, len(self.checks) + 1))
            is_first = b.compare("eq", before, constant(I64, 0))
            b.store(b.select(is_first, number, before), status, 8)
            if self.body.failed:
                b.branch(self.body.failed)

    # -- guards ------------------------------------------------------------------------------------------

    def _guard(self, node: Guard, point: Point) -> Value:
        """Read inside only: by a branch where the condition is the same for all lanes, by a mask where it is not."""
        uniform, varying = self._conditions(node, point)
        apart = may_lie_outside(node.otherwise) or may_report(node.otherwise)
        if apart and uniform is not None and varying is not None:
            return self._read_apart(node, point, uniform, varying)
        otherwise = None if apart else self.value(node.otherwise, point)

        def inner() -> Value:
            with self._inside_guard(node):
                value = self.value(node.body, self._masked(point, varying))
                if varying is None or self._vanishes_outside(node):
                    return value
                alternative = otherwise or self.value(
                    node.otherwise, self._masked(point, self.builder.negate(varying))
                )
            yes, no, _ = self.aligned([value, alternative, varying])
            return self.builder.select(varying, yes, no)

        def outer() -> Value:
            with self._inside_guard(node):
                return otherwise or self.value(node.otherwise, point)

        if uniform is None:
            return inner()
        return self._branch(uniform, inner, outer, self.width if self.lanes in self.dims(node) else 1)

    def _read_apart(self, node: Guard, point: Point, uniform: Value, varying: Value) -> Value:
        """Read inside only, and outside only, each in one place: else the code of nested guards would double."""
        b, lanes = self.builder, varying.kind.lanes

        def inner() -> Value:
            with self._inside_guard(node):
                return b.widened(self.value(node.body, self._masked(point, varying)), lanes)

        def outer() -> Value:
            return constant(self.kind(node.dtype, lanes), 0)

        value = self._branch(uniform, inner, outer, lanes)
        inside = b.both(b.widened(uniform, lanes), varying)
        with self._inside_guard(node):
            alternative = self.value(node.otherwise, self._masked(point, b.negate(inside)))
        yes, no, _ = self.aligned([value, alternative, inside])
        return b.select(inside, yes, no)

    def _conditions(self, node: Guard, point: Point) -> tuple[Value | None, Value | None]:
        """Return two conjunctions of a guard's conditions: of those uniform across lanes, and of the others."""
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

    def _masked(self, point: Point, mask: Value | None) -> Point:
        if mask is None:
            return point
        return point._replace(mask=mask if point.mask is None else self._both(point.mask, mask))

    def _inside_guard(self, node: Guard) -> AbstractContextManager[None]:
        return self.using(guarded=self.guarded.union(*(index.dims() for index, _ in node.conditions)))

    def _vanishes_outside(self, node: Guard) -> bool:
        return is_positive_zero(node.otherwise) and self.vanishes(node.body)

    def vanishes(self, node: Expression) -> bool:
        """Return whether a product is zero in masked lanes, as are the elements loaded there."""
        factors = node.operands if isinstance(node, Apply) and node.operation == "multiply" else (node,)
        return all(isinstance(factor, Load) and self.lanes in self.dims(factor) for factor in factors)

    def _both(self, x: Value, y: Value) -> Value:
        test = self.recall(("both", x, y))
        return test or self.remember(("both", x, y), self.builder.both(x, y))

    def _branch(
        self, condition: Value, inner: Callable[[], Value], outer: Callable[[], Value], lanes: int
    ) -> Value:
        b = self.builder
        yes, no, after = b.new_labels("inside", "outside", "guarded")
        b.branch_if(condition, yes, no)
        ways: list[tuple[Value, str]] = []
        for label, compute in ((yes, inner), (no, outer)):
            b.label(label)
            with self.scope():
                ways.append((b.widened(compute(), lanes), b.block))
            b.branch(after)
        b.label(after)
        return b.phi(*ways)

    def _inside(self, index: Index, extent: int, point: Point) -> Value | None:
        low, high = index.bounds
        if low >= 0 and high < extent:
            return None
        value = self.index(index, point)
        key = ("inside", value, extent)
        test = self.recall(key)
        return test or self.remember(key, self.builder.compare("ult", value, constant(value.kind, extent)))
