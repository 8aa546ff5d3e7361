"""The table of kinks in the documentation agrees with Wengert's modes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import benchmark

ROOT = Path(__file__).parents[1]

KINKS = benchmark("kinks")


def written() -> dict[str, str]:
    """Return Wengert's column of the documented table."""
    text = (ROOT / "docs" / "numpy.md").read_text("utf-8")
    table = text.split("<!-- kinks:")[1].split("<!-- end of kinks")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    return {row[0].removeprefix("| "): row[1] for row in rows}


@pytest.mark.parametrize("kink", KINKS.KINKS)
def test_reverse_and_forward_mode_give_what_the_table_says(kink: str) -> None:
    program, at = KINKS.KINKS[kink]
    assert KINKS.slope(KINKS.WENGERT, program, at) == written()[kink]
