"""Each function of NumPy with each option, on dtypes and domains drawn on purpose: NumPy's result, or an error."""

from __future__ import annotations

import pytest

from tests.draws import many
from tests.numpy import strata
from tests.numpy.test_coverage import tool

#: The largest share of programs with a value in NumPy that Wengert may refuse.
MOST_REFUSED = {"boxed": 0.1, "on_tape": 0.1, "batched": 0.2, "staged": 0.2, "compiled": 0.2}
COUNT = len(strata.calls(tool))


def compare(mode: str, seed: int, *, start: int = 0, step: int = 1, per_call: int = 1) -> int:
    """Compare the programs of a mode with NumPy, and return how many there were."""
    differing: list[str] = []
    run, count, refused = strata.MODES[mode], 0, 0
    drawn = strata.programs(tool, seed, start=start, step=step, per_call=per_call, mode=mode)
    for said, program, arguments in drawn:
        expected = strata.outcome(program, *(array.copy() for array in arguments))
        actual = strata.outcome(lambda *x, program=program: run(program, *x), *(a.copy() for a in arguments))
        count += 1
        if problem := strata.difference(mode, actual, expected, narrow=strata.narrow(said, arguments)):
            differing.append(f"{said}: {problem}")
        refused += isinstance(actual, Exception) and not isinstance(expected, Exception)
    assert not differing, "\n".join(differing)
    assert refused <= 5 + MOST_REFUSED[mode] * count
    return count


@pytest.mark.parametrize(
    ("mode", "count"),
    [("boxed", 3000), ("on_tape", 1000), ("batched", 300), ("staged", 300), ("compiled", 60)],
)
def test_dtypes_and_domains(mode: str, count: int) -> None:
    step = max(1, COUNT // many(count))
    compare(mode, 0, step=step)


@pytest.mark.slow
@pytest.mark.parametrize("mode", strata.MODES)
def test_dtypes_and_domains_of_all_calls(mode: str) -> None:
    is_compiled = mode == "compiled"  # which takes seconds for each
    count = compare(mode, 1, per_call=1 if is_compiled else 2, step=4 if is_compiled else 1)
    assert count > {"compiled": 400, "on_tape": 1000}.get(mode, 3000)
