"""`docs/coverage.md` is true: the calls name every public function, and what the page says works does."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "coverage.md").read_text("utf-8")
STATES = dict(re.findall(r"^\| `?(?:np\.)?([\w.]+)`? \| ([^|]+) \| \d+ of", TEXT, re.M))
#: Earlier versions of NumPy lack functions, and refuse other calls.
ON_THE_PAGE = pytest.mark.skipif(
    f"of NumPy {'.'.join(np.__version__.split('.')[:2])}," not in TEXT,
    reason="the page is about another version",
)


def _tool() -> Any:
    specification = importlib.util.spec_from_file_location(
        "coverage_tool", ROOT / "tools" / "numpy_coverage.py"
    )
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # for its dataclasses
    specification.loader.exec_module(module)
    return module


tool = _tool()
CALLS = {name: calls for area in tool.table().values() for name, calls in area.items()}
WORKING = [
    name for name in CALLS if STATES.get(name, "").startswith("works") and "values" not in STATES[name]
]


@ON_THE_PAGE
def test_every_public_function_has_calls_or_a_reason() -> None:
    without = {name for names in tool.without_meaning().values() for name in names}
    assert tool.public() <= set(CALLS) | without
    assert not set(CALLS) & without
    assert set(STATES) == set(CALLS)


@ON_THE_PAGE
def test_the_counts_are_those_of_the_rows() -> None:
    everywhere, count = map(int, re.search(r"\*\*(\d+) of (\d+)\*\*", TEXT).groups())  # pyright: ignore
    assert (everywhere, count) == (len(WORKING), len(STATES))


@ON_THE_PAGE
@pytest.mark.parametrize("start", range(9))
def test_what_the_page_says_works_does(start: int) -> None:
    for name in WORKING[start::27]:
        outcome = tool.outcome(CALLS[name][0])
        assert outcome.works, f"{outcome.call.text}: {outcome.refusals}"


@ON_THE_PAGE
@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    found = tool.run([call for calls in CALLS.values() for call in calls], 1)
    assert tool.page(found) == TEXT, "run tools/numpy_coverage.py --write"
