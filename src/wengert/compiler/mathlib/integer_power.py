"""Powers of integers, with as many products as the largest exponent of a vector has binary digits."""

from __future__ import annotations

from wengert.compiler.llvm.ir_builder import Kind, constant

NAME = "power"
"""The name of the scalar operation, as of the powers of floating-point numbers."""


def definition(kind: Kind, symbol: str) -> tuple[str, set[str]]:
    """Return the text of the function ``x ** n`` for n >= 0, which wraps as NumPy's, and its declarations."""
    lanes, scalar = kind.lanes, kind.scalar
    one, zero, truth = constant(kind, 1).text, constant(kind, 0).text, kind.of("i1")
    reduce = f"llvm.vector.reduce.or.{kind.suffix}"
    digits = f"call {scalar} @{reduce}({kind} %left)" if lanes > 1 else f"or {kind} %left, 0"
    text = f"""define internal {kind} @{symbol}({kind} %x, {kind} %n) nounwind {{
entry:
  br label %test
test:
  %result = phi {kind} [ {one}, %entry ], [ %next, %turn ]
  %base = phi {kind} [ %x, %entry ], [ %square, %turn ]
  %left = phi {kind} [ %n, %entry ], [ %rest, %turn ]
  %digits = {digits}
  %more = icmp ne {scalar} %digits, 0
  br i1 %more, label %turn, label %end
turn:
  %digit = and {kind} %left, {one}
  %odd = icmp ne {kind} %digit, {zero}
  %product = mul {kind} %result, %base
  %next = select {truth} %odd, {kind} %product, {kind} %result
  %square = mul {kind} %base, %base
  %rest = lshr {kind} %left, {one}
  br label %test
end:
  ret {kind} %result
}}
"""
    return text, {f"declare {scalar} @{reduce}({kind})"} if lanes > 1 else set()
