"""The table of kinks in the documentation says what Wengert's modes give."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def benchmark() -> Any:
    """Return the program that makes the table."""
    folder = str(ROOT / "benchmarks")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("kinks")
    finally:
        sys.path.remove(folder)


KINKS = benchmark()


def written() -> dict[str, str]:
    """Return Wengert's column of the table."""
    text = (ROOT / "docs" / "numpy.md").read_text("utf-8")
    table = text.split("<!-- kinks:")[1].split("<!-- end of kinks")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    return {row[0].removeprefix("| "): row[1] for row in rows}


@pytest.mark.parametrize("kink", KINKS.KINKS)
def test_reverse_and_forward_mode_give_what_the_table_says(kink: str) -> None:
    program, at = KINKS.KINKS[kink]
    assert KINKS.slope(KINKS.WENGERT, program, at) == written()[kink]
