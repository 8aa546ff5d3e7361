"""Random programs whose branches and loops depend on values: staged, they do what plain Python does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.staged.reducing import reduced
from tests.programs.staged.running import Raised, compare, traced
from tests.programs.staged.sweeping import examine, is_whole, source_of, sweep
from tests.programs.staged.writing import arguments

FEW = 40
MANY = 2000


@pytest.mark.parametrize("seed", range(FEW))
def test_staged_programs_equal_python(seed: int) -> None:
    report = examine(seed, 1.0, None, set())
    assert not report["says"], source_of(seed)


@pytest.mark.slow
def test_many_staged_programs_equal_python(tmp_path: Path) -> None:
    tally = sweep(range(MANY), 2, ["--out", str(tmp_path)])
    assert tally.programs == MANY
    assert not tally.different, tally.text()
    assert tally.refusals.total() < 0.25 * tally.modes.total(), tally.text()


def test_a_seed_is_one_program() -> None:
    assert source_of(7) == source_of(7)
    assert len(arguments(7)) == 7


def test_a_program_is_made_small() -> None:
    source = source_of(3).replace("    s = 0\n", "    s = 0.125\n")
    small = reduced(source, lambda text: is_whole(text) and "0.125" in text, 3000)
    assert small.count("\n") < 12


def test_differences_are_found() -> None:
    assert compare([1.0], [1.0], "trace", 1e-9) is None
    assert compare([1.0], [1.1], "trace", 1e-9) is not None
    assert compare([1.0], Raised("ValueError", "too large"), "trace", 1e-9) is not None
    assert compare(Raised("ValueError", "a"), Raised("ValueError", "b"), "jit", 1e-9) is not None
    assert traced(lambda x: x + 1)(2.0) == [3.0]
