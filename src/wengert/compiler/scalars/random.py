"""Random bits: the rounds of Threefry, on as many counters at once as there are lanes."""

from __future__ import annotations

from wengert.compiler.llvm.ir_builder import Value
from wengert.compiler.scalars.context import Context, like, operation
from wengert.kernels.threefry import INJECTIONS, PARITY, ROTATIONS


def _words(context: Context, block: Value) -> tuple[Value, Value]:
    b = context.builder
    upper = b.binary("lshr", block, like(block, 32))
    return b.convert("trunc", upper, "i32"), b.convert("trunc", block, "i32")


@operation("threefry")
def _threefry(context: Context, key: Value, counter: Value) -> Value:
    b = context.builder
    high, low = _words(context, key)
    keys = (high, low, b.binary("xor", b.binary("xor", high, low), like(low, PARITY)))
    first, second = _words(context, counter)
    first, second = b.binary("add", first, keys[0]), b.binary("add", second, keys[1])
    for injection in range(INJECTIONS):
        for distance in ROTATIONS[injection % 2]:
            first = b.binary("add", first, second)
            rotated = b.intrinsic("fshl", second, second, like(second, distance))
            second = b.binary("xor", rotated, first)
        number = b.binary("add", keys[(injection + 2) % 3], like(second, injection + 1))
        first, second = b.binary("add", first, keys[(injection + 1) % 3]), b.binary("add", second, number)
    upper, lower = (b.convert("zext", word, "i64") for word in (first, second))
    return b.binary("or", b.binary("shl", upper, like(upper, 32)), lower)
