"""Random programs compute the same function in every mode."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.programs.checking import DifferenceError, Runner, check
from tests.programs.grammar import generate
from tests.programs.shrinking import shrink
from tests.programs.sweeping import examine, fails_in, sweep
from tests.programs.syntax import Line, render

FEW = 60
MANY = 5000


@pytest.mark.parametrize("seed", range(FEW))
def test_programs_are_the_same_in_every_mode(seed: int) -> None:
    program = generate(seed)
    try:
        check(program, share=0.4)
    except DifferenceError as difference:
        pytest.fail(f"{difference}\n{program.source(str(difference))}")


@pytest.mark.slow
def test_many_programs_are_the_same_in_every_mode(tmp_path: Path) -> None:
    tally = sweep(0, MANY, 2, ["--out", str(tmp_path)])
    assert tally.programs == MANY
    assert not tally.different, tally.text()
    assert min(tally.features.values()) >= 20, tally.text()


def test_a_program_that_differs_is_found_and_made_small() -> None:
    drawn = generate(3)
    line = Line("wrong = np.sum(x) * (1.5 if hasattr(wg, 'tree') else 1.0)")  # plain NumPy has no such names
    program = replace(drawn, nodes=(*drawn.nodes, line), results=(*drawn.results, "wrong"))
    with pytest.raises(DifferenceError, match="value") as caught:
        check(program)
    small = shrink(program, fails_in("value", str(caught.value)))
    assert render(small.nodes) == [line.text]
    assert small.results == ("wrong",)
    assert list(small.inputs) == ["x"]
    assert np.size(small.inputs["x"]) == 1


def test_a_program_is_written_as_a_file_that_runs() -> None:
    program = generate(5)
    names: dict[str, object] = {"__name__": "file"}
    exec(compile(program.source("as drawn"), "<file>", "exec"), names)
    actual = names["program"](*(names[name] for name in program.inputs))  # type: ignore[operator]
    expected = Runner(program).run(*Runner(program).arguments)
    for leaf, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(leaf, other)


def test_a_seed_is_one_program() -> None:
    assert generate(7).function() == generate(7).function()
    assert examine(7, 0.0, None)["says"] is None
