"""LSD radix sort of words: a stable counting sort by each digit, upwards.

All digits are counted in one pass. A digit that all words share needs no pass of its own, and neither do the low digits
where the others, as their counts say, leave few ties: an insertion sort ends what they left undone. If it has to
move more words than there are, the words are sorted by all digits.
"""

from __future__ import annotations

from wengert.compiler.llvm.ir_builder import I64, POINTER, Builder, Kind, Value, constant
from wengert.compiler.schedule.plan_sorts import SortPlan

I32, F64 = Kind("i32"), Kind("double")
_COUNT, _ALL, _COUNTS = Value("%count", I64), Value("%all", I64), Value("%counts", POINTER)
_ZERO, _ONE = constant(I64, 0), constant(I64, 1)
PARAMETERS = "ptr %words0, ptr %words1, ptr %positions0, ptr %positions1, ptr %counts, i64 %count, i64 %all"
_FEW_TIES = 1 / 8
"""Ties of a word, on average, that are left to the insertion sort."""


def radix_name(plan: SortPlan) -> str:
    """Return the name of the function that sorts words of a plan."""
    words = plan.words
    shape = f"{words.scalar}.{words.index_bits}.{words.key_bits}.{plan.digit_bits}"
    return f"sort.digits.{shape}{'.pairs' * words.pairs}"


def radix_body(plan: SortPlan) -> Builder:
    """Return the function that sorts words, and the positions that go with them; by ``all`` digits, if it is not 0.

    The two areas of words take turns. At the end the first of ``counts``, an ``i64``, says which has the result.
    """
    b = Builder()
    _count_digits(b, plan)
    lowest = b.select(b.compare("ne", _ALL, _ZERO), _ZERO, _lowest_digit(b, plan))
    sides = [Value(f"%{name}{side}", POINTER) for name in ("words", "positions") for side in (0, 1)]
    turned = [*sides, _ZERO]
    with b.loop(lowest, constant(I64, plan.digits), carried=turned) as number:
        _pass(b, plan, number, turned)
    words, others, places, other_places, side = turned
    b.store(side, _COUNTS, 8)
    with b.only_if(b.compare("sgt", lowest, _ZERO)):
        moved = _insert(b, plan, words, places)
        with b.only_if(b.compare("sgt", moved, _COUNT)):
            again = (words, others, places, other_places, _COUNTS, _COUNT, _ONE)
            b.call(radix_name(plan), *again, result=None)
            b.store(b.binary("xor", b.load(_COUNTS, I64, 8), side), _COUNTS, 8)
    b.do("ret void")
    return b


def _count_digits(b: Builder, plan: SortPlan) -> None:
    """Count how often each digit has each value."""
    words, area = plan.words, 1 << plan.digit_bits
    with b.loop(_ZERO, constant(I64, plan.digits * area)) as place:
        b.store(constant(I32, 0), b.element(_COUNTS, "i32", place), 4)
    with b.loop(_ZERO, _COUNT) as place:
        word = _unsigned(b, plan, b.element(Value("%words0", POINTER), words.scalar, place))
        for number in range(plan.digits):
            digit = _digit(b, plan, word, constant(I64, words.index_bits + number * plan.digit_bits))
            slot = b.element(_COUNTS, "i32", b.binary("add", digit, constant(I64, number * area)))
            b.store(b.binary("add", b.load(slot, I32, 4), constant(I32, 1)), slot, 4)


def _lowest_digit(b: Builder, plan: SortPlan) -> Value:
    """Return the lowest digit to sort by: with those above it, it leaves few ties, were digits independent.

    Two words have the same value of a digit with the probability ``sum_i (count_i / count)^2``.
    """
    total = b.convert("sitofp", _COUNT, "double")
    best = [constant(I64, plan.digits - 1), total]
    with b.loop(_ZERO, constant(I64, plan.digits), carried=best) as turn:
        lowest, ties = best
        number = b.binary("sub", constant(I64, plan.digits - 1), turn)
        own = b.element(_COUNTS, "i32", b.binary("shl", number, constant(I64, plan.digit_bits)))
        squares = [_ZERO]
        with b.loop(_ZERO, constant(I64, 1 << plan.digit_bits), carried=squares) as place:
            count = b.convert("zext", b.load(b.element(own, "i32", place), I32, 4), "i64")
            squares[0] = b.binary("add", squares[0], b.binary("mul", count, count))
        same = b.convert("sitofp", squares[0], "double")
        best[0] = b.select(b.compare("ogt", ties, constant(F64, _FEW_TIES)), number, lowest)
        best[1] = b.fdiv(b.fmul(ties, same), b.fmul(total, total))
    return best[0]


def _insert(b: Builder, plan: SortPlan, words: Value, places: Value) -> Value:
    """Sort words that are nearly in order; return how many moves that took, more than there are words if too many."""
    scalar, size = plan.words.scalar, plan.words.bits // 8
    kind = Kind(scalar)
    state = [b.load(words, kind, size), _ZERO]
    with b.loop(_ONE, _COUNT, carried=state) as place:
        before, moved = state
        word = b.load(b.element(words, scalar, place), kind, size)
        late = b.both(b.compare("slt", word, before), b.compare("sle", moved, _COUNT))
        outside = b.block
        inside, after = b.new_labels("late", "placed")
        b.branch_if(late, inside, after)
        b.label(inside)
        moves = _insert_one(b, plan, words, places, place, word)
        ended = b.block
        b.branch(after)
        b.label(after)
        state[0] = b.phi((word, outside), (before, ended))
        state[1] = b.binary("add", moved, b.phi((_ZERO, outside), (moves, ended)))
    return state[1]


def _insert_one(b: Builder, plan: SortPlan, words: Value, places: Value, place: Value, word: Value) -> Value:
    """Move a word, and the position that goes with it, before all larger ones; return how many these are."""
    scalar, size = plan.words.scalar, plan.words.bits // 8
    mine = b.load(b.element(places, "i32", place), I32, 4) if plan.words.pairs else None
    with b.repeat(place) as loop:
        (here,) = loop.values
        loop.leave_if(b.compare("sle", here, _ZERO))
        previous = b.binary("sub", here, _ONE)
        neighbour = b.load(b.element(words, scalar, previous), Kind(scalar), size)
        loop.leave_if(b.compare("sle", neighbour, word))
        b.store(neighbour, b.element(words, scalar, here), size)
        if plan.words.pairs:
            b.store(b.load(b.element(places, "i32", previous), I32, 4), b.element(places, "i32", here), 4)
        loop.again(previous)
    b.store(word, b.element(words, scalar, here), size)
    if mine is not None:
        b.store(mine, b.element(places, "i32", here), 4)
    return b.binary("sub", place, here)


def _pass(b: Builder, plan: SortPlan, number: Value, turned: list[Value]) -> None:
    """Sort by one digit, from one area into the other, and exchange the two; leave out a digit that all share."""
    source, target, places, new_places, side = turned
    scalar = plan.words.scalar
    shift = b.binary("mul", number, constant(I64, plan.digit_bits))
    own = b.element(_COUNTS, "i32", b.binary("shl", number, constant(I64, plan.digit_bits)))
    shift = b.binary("add", shift, constant(I64, plan.words.index_bits))
    common = b.element(own, "i32", _digit(b, plan, _unsigned(b, plan, source), shift))
    shared = b.convert("zext", b.load(common, I32, 4), "i64")
    skipped = b.compare("eq", shared, _COUNT)
    total = [constant(I32, 0)]
    with b.loop(_ZERO, b.select(skipped, _ZERO, constant(I64, 1 << plan.digit_bits)), carried=total) as place:
        slot = b.element(own, "i32", place)
        here = b.load(slot, I32, 4)
        b.store(total[0], slot, 4)
        total[0] = b.binary("add", total[0], here)
    with b.loop(_ZERO, b.select(skipped, _ZERO, _COUNT)) as place:
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
        b.binary("xor", side, b.select(skipped, _ZERO, _ONE)),
    ]


def _unsigned(b: Builder, plan: SortPlan, address: Value) -> Value:
    """Return the word at an address as an unsigned integer of the same order."""
    words = plan.words
    word = b.load(address, Kind(words.scalar), words.bits // 8)
    turned = b.binary("xor", word, constant(word.kind, -1 << words.index_bits + words.key_bits - 1))
    return turned if words.bits == 64 else b.convert("zext", turned, "i64")


def _digit(b: Builder, plan: SortPlan, word: Value, shift: Value) -> Value:
    return b.binary("and", b.binary("lshr", word, shift), constant(I64, (1 << plan.digit_bits) - 1))
