"""LSD radix sort of words: a stable counting sort by each digit, from the lowest.

All digits are counted in one pass. A digit that all words share needs no pass of its own.
"""

from __future__ import annotations

from wengert.compiler.llvm.ir_builder import I64, POINTER, Builder, Kind, Value, constant
from wengert.compiler.schedule.plan_sorts import SortPlan

I32 = Kind("i32")
_COUNT = Value("%count", I64)
PARAMETERS = "ptr %words0, ptr %words1, ptr %positions0, ptr %positions1, ptr %counts, i64 %count"


def radix_name(plan: SortPlan) -> str:
    """Return the name of the function that sorts words of a plan."""
    words = plan.words
    shape = f"{words.scalar}.{words.index_bits}.{words.key_bits}.{plan.digit_bits}"
    return f"sort.digits.{shape}{'.pairs' * words.pairs}"


def radix_body(plan: SortPlan) -> Builder:
    """Return the function that sorts words, and the positions that go with them.

    The two areas of words take turns. At the end the first of ``counts``, an ``i64``, says which has the result.
    """
    b, words = Builder(), plan.words
    counts = Value("%counts", POINTER)
    area = 1 << plan.digit_bits
    with b.loop(constant(I64, 0), constant(I64, plan.digits * area)) as place:
        b.store(constant(I32, 0), b.element(counts, "i32", place), 4)
    with b.loop(constant(I64, 0), _COUNT) as place:
        word = _unsigned(b, plan, b.element(Value("%words0", POINTER), words.scalar, place))
        for number in range(plan.digits):
            digit = _digit(b, plan, word, constant(I64, words.index_bits + number * plan.digit_bits))
            slot = b.element(counts, "i32", b.binary("add", digit, constant(I64, number * area)))
            b.store(b.binary("add", b.load(slot, I32, 4), constant(I32, 1)), slot, 4)
    sides = [Value(f"%{name}{side}", POINTER) for name in ("words", "positions") for side in (0, 1)]
    turned = [*sides, constant(I64, 0)]
    with b.loop(constant(I64, 0), constant(I64, plan.digits), carried=turned) as number:
        _pass(b, plan, counts, number, turned)
    b.store(turned[-1], counts, 8)
    b.do("ret void")
    return b


def _pass(b: Builder, plan: SortPlan, counts: Value, number: Value, turned: list[Value]) -> None:
    """Sort by one digit, from one area into the other, and exchange the two; leave out a digit that all share."""
    source, target, places, new_places, side = turned
    scalar = plan.words.scalar
    shift = b.binary("mul", number, constant(I64, plan.digit_bits))
    own = b.element(counts, "i32", b.binary("shl", number, constant(I64, plan.digit_bits)))
    shift = b.binary("add", shift, constant(I64, plan.words.index_bits))
    common = b.element(own, "i32", _digit(b, plan, _unsigned(b, plan, source), shift))
    shared = b.convert("zext", b.load(common, I32, 4), "i64")
    skipped = b.compare("eq", shared, _COUNT)
    nothing = constant(I64, 0)
    total = [constant(I32, 0)]
    with b.loop(
        nothing, b.select(skipped, nothing, constant(I64, 1 << plan.digit_bits)), carried=total
    ) as place:
        slot = b.element(own, "i32", place)
        here = b.load(slot, I32, 4)
        b.store(total[0], slot, 4)
        total[0] = b.binary("add", total[0], here)
    with b.loop(nothing, b.select(skipped, nothing, _COUNT)) as place:
        address = b.element(source, scalar, place)
        digit = _digit(b, plan, _unsigned(b, plan, address), shift)
        slot = b.element(own, "i32", digit)
        goal = b.load(slot, I32, 4)
        b.store(b.binary("add", goal, constant(I32, 1)), slot, 4)
        index = b.convert("zext", goal, "i64")
        bytes_ = plan.words.bits // 8
        word = b.load(address, Kind(scalar), bytes_)
        b.store(word, b.element(target, scalar, index), bytes_)
        if plan.words.pairs:
            b.store(b.load(b.element(places, "i32", place), I32, 4), b.element(new_places, "i32", index), 4)
    turned[:] = [
        b.select(skipped, source, target),
        b.select(skipped, target, source),
        b.select(skipped, places, new_places),
        b.select(skipped, new_places, places),
        b.binary("xor", side, b.select(skipped, nothing, constant(I64, 1))),
    ]


def _unsigned(b: Builder, plan: SortPlan, address: Value) -> Value:
    """Return the word at an address as an unsigned integer of the same order."""
    words = plan.words
    word = b.load(address, Kind(words.scalar), words.bits // 8)
    turned = b.binary("xor", word, constant(word.kind, -1 << words.index_bits + words.key_bits - 1))
    return turned if words.bits == 64 else b.convert("zext", turned, "i64")


def _digit(b: Builder, plan: SortPlan, word: Value, shift: Value) -> Value:
    return b.binary("and", b.binary("lshr", word, shift), constant(I64, (1 << plan.digit_bits) - 1))
