"""The faults that `tools/mutate.py` plants fit the code, and the tests that it runs exist."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import mutate

FAULTS = mutate.faults()


def test_names_are_unique():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 60


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_fault_fits_the_code(fault):
    fault.changed(mutate.ROOT)
    assert all((mutate.ROOT / "tests" / test).exists() for test in fault.tests)


def test_a_planted_fault_is_taken_back(tmp_path):
    fault = FAULTS[0]
    path = tmp_path / "src/wengert" / fault.file
    path.parent.mkdir(parents=True)
    path.write_text(text := f"# before\n{fault.old}\n", "utf-8")
    with fault.planted(tmp_path):
        assert path.read_text("utf-8") == text.replace(fault.old, fault.new)
    assert path.read_text("utf-8") == text


def test_a_text_that_stands_twice_is_refused(tmp_path):
    fault = FAULTS[0]
    path = tmp_path / "src/wengert" / fault.file
    path.parent.mkdir(parents=True)
    path.write_text(2 * f"{fault.old}\n", "utf-8")
    with pytest.raises(ValueError, match="has it 2 times"):
        fault.changed(tmp_path)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="no fault is called nothing"):
        mutate.faults(["nothing"])
