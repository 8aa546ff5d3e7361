"""Helpers for tests of teams: a program with shared loops, and the state of a team."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

from wengert.compiler.llvm.host import host
from wengert.compiler.llvm.object_code import Library, compile_module, load
from wengert.compiler.runtime.threads import team as teams
from wengert.compiler.runtime.threads.team import Team
from wengert.compiler.runtime.threads.team_code import FIELDS

# Round i adds i to each word of the shared tiles, and then expects i in these and zero in the others. Each round has
# another number of tiles, and every other round uses other words and another frame, so that a chunk that runs twice,
# never, too late or for another round is an error.
PROGRAM = """
declare void @wengert_share(ptr, ptr, ptr, i64, i64)
declare void @wengert_wake(ptr)

define void @add(ptr %frame, i64 %first, i64 %last) nounwind {
entry:
  %words = load ptr, ptr %frame
  %step.at = getelementptr i64, ptr %frame, i64 1
  %step = load i64, ptr %step.at
  %spin.at = getelementptr i64, ptr %frame, i64 2
  %spin = load i64, ptr %spin.at
  br label %tile
tile:
  %t = phi i64 [ %first, %entry ], [ %t.next, %added ]
  br label %delay
delay:
  %k = phi i64 [ 0, %tile ], [ %k.next, %delay ]
  %ignored = load volatile i64, ptr %spin.at
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k, %spin
  br i1 %k.more, label %delay, label %added
added:
  %at = getelementptr i64, ptr %words, i64 %t
  %old = atomicrmw add ptr %at, i64 %step monotonic
  %t.next = add i64 %t, 1
  %t.more = icmp ult i64 %t.next, %last
  br i1 %t.more, label %tile, label %done
done:
  ret void
}

define i64 @rounds(ptr %team, ptr %all, i64 %most, i64 %count, i64 %spin) nounwind {
entry:
  %frames = alloca [6 x i64]
  br label %round
round:
  %i = phi i64 [ 1, %entry ], [ %next, %end ]
  %errors = phi i64 [ 0, %entry ], [ %errors.next, %end ]
  %odd = and i64 %i, 1
  %skip = mul i64 %odd, %most
  %words = getelementptr i64, ptr %all, i64 %skip
  %fields = mul i64 %odd, 3
  %frame = getelementptr i64, ptr %frames, i64 %fields
  store ptr %words, ptr %frame
  %step.at = getelementptr i64, ptr %frame, i64 1
  store i64 %i, ptr %step.at
  %spin.at = getelementptr i64, ptr %frame, i64 2
  store i64 %spin, ptr %spin.at
  %far = mul i64 %i, 7919
  %rest = urem i64 %far, %most
  %tiles = add i64 %rest, 1
  %rare = urem i64 %i, 64
  %now = icmp eq i64 %rare, 1
  br i1 %now, label %wake, label %share
wake:
  call void @wengert_wake(ptr %team)
  br label %share
share:
  call void @wengert_share(ptr %team, ptr @add, ptr %frame, i64 %tiles, i64 %tiles)
  br label %check
check:
  %t = phi i64 [ 0, %share ], [ %t.next, %check ]
  %e = phi i64 [ %errors, %share ], [ %errors.next, %check ]
  %at = getelementptr i64, ptr %words, i64 %t
  %found = load i64, ptr %at
  store i64 0, ptr %at
  %shared = icmp ult i64 %t, %tiles
  %right = select i1 %shared, i64 %i, i64 0
  %wrong = icmp ne i64 %found, %right
  %one = zext i1 %wrong to i64
  %errors.next = add i64 %e, %one
  %t.next = add i64 %t, 1
  %t.more = icmp ult i64 %t.next, %most
  br i1 %t.more, label %check, label %end
end:
  %next = add i64 %i, 1
  %more = icmp ule i64 %next, %count
  br i1 %more, label %round, label %done
done:
  ret i64 %errors.next
}
"""

SHARED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
SHARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, SHARED, ctypes.c_void_p, *[ctypes.c_int64] * 2)
WAKE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_ROUNDS = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3)


class Code:
    """The program in memory."""

    def __init__(self) -> None:
        symbols = teams.symbols()
        self.library: Library = load(compile_module(PROGRAM, host(), symbols), symbols)
        self._rounds: Callable[..., int] = _ROUNDS(self.library.address("rounds"))

    def rounds(self, team: Team, count: int, most: int = 50, spin: int = 10) -> int:
        """Return how many words were wrong."""
        words = (ctypes.c_int64 * (2 * most))()
        return self._rounds(team.address, words, most, count, spin)


def share(team: Team, tiles: int, function: Callable[[int, int], None], most: int | None = None) -> None:
    """Share tiles by calls of a Python function, in ``most`` chunks at most."""
    shared = SHARED(lambda _frame, first, last: function(first, last))
    SHARE(teams.symbols()["wengert_share"])(
        team.address, shared, None, tiles, tiles if most is None else most
    )


def wake(team: Team) -> None:
    WAKE(teams.symbols()["wengert_wake"])(team.address)


def chunks(team: Team, tiles: int, most: int | None = None) -> list[tuple[int, int]]:
    """Return the chunks of tiles, sorted."""
    done: list[tuple[int, int]] = []
    share(team, tiles, lambda first, last: done.append((first, last)), most)
    return sorted(done)


def field(team: Team, name: str) -> int:
    return ctypes.c_int32.from_address(team.address + FIELDS[name]).value


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def helped(team: Team, patience: float, delay: float = 0.0) -> bool:
    """Return whether a worker joins a region in which the caller waits; let its own chunk take a time."""
    caller = threading.get_ident()
    came = threading.Event()

    def function(_first: int, _last: int) -> None:
        if threading.get_ident() == caller:
            came.wait(patience)
        else:
            came.set()
            time.sleep(delay)

    share(team, 2, function)
    return came.is_set()


def workers() -> int:
    return sum(thread.name.startswith("wengert-") for thread in threading.enumerate())
