"""What LLVM must know of buffers to keep their elements in registers: which of them share no memory.

LLVM sees addresses that a block of addresses or the arena holds, and takes a store to one array for a store to all. So
the loads and stores of single elements carry scoped metadata: each buffer has a scope, and an access names the scopes
that it is apart from. Two buffers are apart if

* both lie in the arena, and their places do not overlap: the arena reuses the place of a buffer that is dead, and LLVM
  does not know when; or
* one lies in the arena, and the other is an argument, a constant, a result or a scalar on the stack; or
* one is a result in new memory, which Python has made for this call.

Nothing is said of two arguments, which may overlap. Other languages may pass any addresses, so that programs for them
have no scopes.
"""

from __future__ import annotations

from collections.abc import Collection

from wengert.compiler.schedule.arena import Plan
from wengert.engine.nest.expression import Buffer


class AliasScopes:
    """The scopes of the buffers of a program, in the function that the caller runs.

    Args:
        memory: the arena.
        new: the results in new memory.
    """

    def __init__(self, memory: Plan, new: Collection[Buffer]) -> None:
        self._memory = memory
        self._new = new
        self._numbers: dict[Buffer, int] = {}

    def note(self, buffer: Buffer) -> str:
        """Return the metadata of an access to an element of a buffer."""
        number = self._numbers.setdefault(buffer, len(self._numbers))
        return f", !alias.scope !{3 * number + 2}, !noalias !{3 * number + 3}"

    def definitions(self) -> str:
        """Return the definitions of the metadata, for the module of the function."""
        if not self._numbers:
            return ""
        lines = ["!0 = distinct !{!0}"]
        for buffer, number in self._numbers.items():
            scope, own, others = (3 * number + place for place in (1, 2, 3))
            apart = [
                f"!{3 * other + 1}" for one, other in self._numbers.items() if self._are_apart(buffer, one)
            ]
            lines.append(f"!{scope} = distinct !{{!{scope}, !0}}")
            lines.append(f"!{own} = !{{!{scope}}}")
            lines.append(f"!{others} = !{{{', '.join(apart)}}}")
        return "\n".join([*lines, ""])

    def _are_apart(self, one: Buffer, other: Buffer) -> bool:
        """Return whether two buffers share no memory at any time."""
        if one is other:
            return False
        if one in self._new or other in self._new:
            return True
        places = self._memory.places
        first, second = places.get(one), places.get(other)
        if first is None and second is None:
            return False
        if first is None or second is None:
            return True
        if first.private or second.private:
            return False
        return first.offset + first.size <= second.offset or second.offset + second.size <= first.offset
