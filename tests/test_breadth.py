"""The smallest workload of each family of the breadth benchmark compiles, and computes what it computes eagerly."""

from __future__ import annotations

from typing import Any

import pytest

from tests.benchmarks import benchmark

BREADTH = benchmark("breadth")
LIBRARY = benchmark("areas.libraries.library")
WENGERT = benchmark("areas.libraries.wengert_library").LIBRARY


@pytest.mark.parametrize("family", BREADTH.FAMILIES, ids=lambda family: family.function.__name__)
def test_the_smallest_workload_of_a_family_compiles(family: Any) -> None:
    workload = family.smallest()
    case = workload.case()
    compiled, eager = WENGERT.function(case), WENGERT.transformed(case)
    summaries = {BREADTH.OWN: compiled(*case.arguments), "eager": eager(*case.arguments)}
    BREADTH.check(workload, {name: LIBRARY.summary(result) for name, result in summaries.items()})


def test_names_are_unique_and_the_halves_are_of_one_size() -> None:
    workloads = BREADTH.workloads()
    names = {(workload.area, workload.name) for workload in workloads}
    held = sum(workload.held_out(0) for workload in workloads)
    assert len(names) == len(workloads)
    assert 0.45 < held / len(workloads) < 0.55


def test_other_numbers_are_noticed() -> None:
    workload = BREADTH.FAMILIES[0].smallest()
    with pytest.raises(BREADTH.Failure, match="torch"):
        BREADTH.check(workload, {BREADTH.OWN: [1.0, 0.5], "torch": [1.0, 0.6]})


def test_the_report_shows_the_lowest_ratios_of_the_open_half_only() -> None:
    options = BREADTH.parse(["--threads", "1"])
    rows = [
        BREADTH.Row(workload, 1, {"wengert": 2.0 + workload.held_out(0), "torch": 1.0}, {"wengert": 0.1})
        for workload in BREADTH.workloads()[:40]
    ]
    text = BREADTH.report(rows, options)
    assert "0.50 x |" in text
    assert sum("| torch 1e+03 | 0.33 x |" in line for line in text.splitlines()) == 0
    assert text.count("torch 1e+03 | 0.50 x") == sum(not row.workload.held_out(0) for row in rows)
