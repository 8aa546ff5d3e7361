"""Loops whose tiles go to the threads of a team that are running."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.sharing import (
    SHARE,
    SHARED,
    WAKE,
    Code,
    chunks,
    field,
    helped,
    share,
    until,
    wake,
    workers,
)
from wengert.compiler.llvm.host import named
from wengert.compiler.llvm.object_code import assembly
from wengert.compiler.runtime.threads import team as teams
from wengert.compiler.runtime.threads.team import Team, acquire, available
from wengert.compiler.runtime.threads.team_code import team_ir


@pytest.fixture(scope="module")
def code() -> Code:
    return Code()


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    monkeypatch.delenv(teams.VARIABLE, raising=False)
    monkeypatch.setattr(teams, "_threads", None)
    yield
    teams._stop_idle()  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def spinning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers spin for long, on any machine."""
    monkeypatch.setattr(teams, "available", lambda: 8)
    monkeypatch.setattr(teams, "_SPIN_SECONDS", 0.05)


#: Chunks that workers do while it is looked at; on a single core they seldom come to one.
ENOUGH = 100 if teams.available() > 1 else 0


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(("most", "count", "spin"), [(7, 20_000, 0), (50, 2000, 30), (300, 200, 300)])
@pytest.mark.usefixtures("spinning")
def test_every_tile_is_done_once(code: Code, threads: int, most: int, count: int, spin: int) -> None:
    with acquire(threads) as team:

        def workers_do_their_part() -> bool:
            assert code.rounds(team, count, most, spin) == 0
            return field(team, "done") > ENOUGH

        if threads == 1:
            assert not workers_do_their_part()
        else:
            until(workers_do_their_part)


@pytest.mark.parametrize("watch", [0.0, 1e-6, 1e-3])
@pytest.mark.parametrize("wait", [0.0, 1e-3])
def test_workers_and_callers_watch_or_sleep(
    code: Code, monkeypatch: pytest.MonkeyPatch, watch: float, wait: float
) -> None:
    monkeypatch.setattr(teams, "_SPIN_SECONDS", watch)
    monkeypatch.setattr(teams, "_WAIT_SECONDS", wait)
    team = Team(3)
    try:
        assert code.rounds(team, 1000, 100, 100) == 0
    finally:
        team.stop()


@given(st.integers(1, 4), st.integers(0, 1000))
def test_chunks_are_equal_at_first_and_short_at_last(threads: int, tiles: int) -> None:
    team = Team(threads)  # its workers have not claimed a chunk before
    try:
        ranges = chunks(team, tiles)
    finally:
        team.stop()
    assert [t for first, last in ranges for t in range(first, last)] == list(range(tiles))
    if threads == 1:
        assert ranges == [(0, tiles)][:tiles]
    elif available() > 1 and tiles:
        running = min(threads, available())
        grains = min(64 * running, tiles)
        longest = max(1, grains // (8 * running))
        lengths = [last - first for first, last in ranges]
        assert max(lengths) <= longest * -(-tiles // grains)
        assert min(lengths) <= -(-tiles // grains)


@given(st.integers(1, 4), st.integers(0, 1000), st.integers(1, 20))
def test_there_are_no_more_chunks_than_asked_for(threads: int, tiles: int, most: int) -> None:
    with acquire(threads) as team:
        ranges = chunks(team, tiles, most)
    assert len(ranges) <= most
    assert [t for first, last in ranges for t in range(first, last)] == list(range(tiles))


def test_there_may_be_no_team() -> None:
    done: list[tuple[int, int]] = []
    shared = SHARED(lambda _frame, first, last: done.append((first, last)))
    for tiles in (5, 0, 1):
        SHARE(teams.symbols()["wengert_share"])(None, shared, None, tiles, tiles)
    assert done == [(0, 5), (0, 1)]
    WAKE(teams.symbols()["wengert_wake"])(None)


def test_no_one_is_waited_for_who_does_not_come(code: Code) -> None:
    team = Team(4)
    team.stop()  # no worker is left
    assert code.rounds(team, 1000) == 0
    assert field(team, "done") == 0


@pytest.mark.usefixtures("spinning")
@pytest.mark.parametrize("delay", [0.0, 0.05])
def test_what_a_worker_has_begun_is_waited_for(delay: float) -> None:
    finished: list[tuple[int, int]] = []
    caller = threading.get_ident()
    came = threading.Event()

    def function(first: int, last: int) -> None:
        if threading.get_ident() == caller:
            assert came.wait(20)
        else:
            came.set()
            time.sleep(delay)
        finished.append((first, last))

    team = Team(2)
    try:
        for _ in range(2):
            wake(team)
            came.clear()
            finished.clear()
            share(team, 2, function)
            assert sorted(finished) == [(0, 1), (1, 2)]
    finally:
        team.stop()


def test_a_worker_watches_as_long_as_another_is_at_its_last_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teams, "available", lambda: 8)
    monkeypatch.setattr(teams, "_SPIN_SECONDS", 0.001)
    caller = threading.get_ident()
    came = threading.Event()

    def long_for_the_caller(_first: int, _last: int) -> None:
        if threading.get_ident() != caller:
            came.set()
        elif came.wait(0.5):
            time.sleep(0.01)

    def comes_without_being_woken() -> bool:
        wake(team)
        came.clear()
        share(team, 2, long_for_the_caller)
        return helped(team, 0.1)

    team = Team(2)
    try:
        until(comes_without_being_woken)
    finally:
        team.stop()


def comes_to_a_long_region(team: Team) -> bool:
    """Return whether a worker joins a region after the caller's first chunk, without an event at its beginning."""
    caller = threading.get_ident()
    came, begun = threading.Event(), threading.Event()

    def function(_first: int, _last: int) -> None:
        if threading.get_ident() != caller:
            came.set()
        elif begun.is_set():
            came.wait(0.1)
        else:
            begun.set()
            time.sleep(0.02)

    share(team, 8, function)
    return came.is_set()


def test_workers_that_sleep_come_to_a_long_region() -> None:
    team = Team(2)
    try:
        until(lambda: field(team, "sleepers") == 1)
        until(lambda: comes_to_a_long_region(team))
    finally:
        team.stop()


def test_workers_for_whom_there_is_no_processor_are_not_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teams, "available", lambda: 1)
    team = Team(3)
    try:
        until(lambda: field(team, "sleepers") == 2)
        assert not comes_to_a_long_region(team)
        assert field(team, "sleepers") == 2
    finally:
        team.stop()


def test_workers_that_sleep_come_when_they_are_woken() -> None:
    team = Team(3)

    def come() -> bool:
        wake(team)  # again, if they fell asleep before there was work
        return helped(team, 0.01)

    try:
        until(lambda: field(team, "sleepers") == 2)
        assert not helped(team, 0.02)  # nothing is left after the caller's first chunk
        assert field(team, "sleepers") == 2
        for _ in range(20):
            until(lambda: field(team, "sleepers") == 2)
            until(come)
    finally:
        team.stop()


def stays_away_when_late_again() -> bool:
    """Return whether a worker that was late twice came back after its penalty; on a busy machine the caller is late."""
    others = workers()  # of the process's own team
    team = Team(2)
    try:
        for _ in range(2):
            start = time.monotonic() + 0.1  # at the earliest
            wake(team)
            assert helped(team, 20, delay=0.1)  # the first wait has no penalty
        wake(team)
        if not helped(team, 0.005):
            assert field(team, "sleepers") == 0  # it does not sleep on the event count
        elif time.monotonic() - start <= 0.03:
            return False

        def back() -> bool:
            wake(team)
            return helped(team, 0.01)

        until(back)
        if time.monotonic() - start <= 0.03:
            return False
        assert helped(team, 20, delay=0.1)
        start = time.monotonic()
    finally:
        team.stop()
    left_in_time = time.monotonic() - start < 0.5  # for twice as long
    assert workers() <= others
    return left_in_time


@pytest.mark.usefixtures("spinning")
def test_a_worker_that_is_late_again_stays_away_for_a_while() -> None:
    assert any(stays_away_when_late_again() for _ in range(5))


@pytest.mark.usefixtures("spinning")
def test_a_worker_that_is_but_a_little_slower_stays() -> None:
    caller = threading.get_ident()

    def rounds() -> bool:
        done: list[bool] = []

        def function(_first: int, _last: int) -> None:
            mine = threading.get_ident() == caller
            time.sleep(0.01 if mine else 0.015)
            done.append(mine)

        for _ in range(20):
            wake(team)
            share(team, 2, function)
        return done.count(False) >= 15

    team = Team(2)
    try:
        until(rounds)
    finally:
        team.stop()


@pytest.mark.parametrize(
    ("triple", "expected"),
    [
        ("x86_64-unknown-linux-gnu", ("syscall", "pause")),
        ("x86_64-apple-darwin", ("usleep", "pause")),
        ("aarch64-unknown-linux-gnu", ("syscall", "yield", "ldadda", "ldaddal", "stlr")),
        ("arm64-apple-darwin", ("usleep", "yield")),
    ],
)
def test_the_team_compiles_for_every_system(triple: str, expected: tuple[str, ...]) -> None:
    model = named("aarch64" if triple.startswith("a") else "sse2")
    text = assembly(team_ir(triple), model._replace(triple=triple))
    for instruction in expected:
        assert instruction in text


def test_the_team_compiles_without_a_hint_to_wait() -> None:
    assert "llvm.x86" not in team_ir("riscv64-unknown-linux-gnu")
    assert "hint" not in team_ir("riscv64-unknown-linux-gnu")
    assert assembly(team_ir("riscv64-unknown-linux-gnu"), named("sse2"))
