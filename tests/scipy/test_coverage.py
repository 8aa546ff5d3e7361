"""The command that counts SciPy's functions tells those that work from those that are refused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("scipy")


@pytest.fixture(scope="module")
def tool() -> Any:
    path = Path(__file__).parents[2] / "tools" / "scipy_coverage.py"
    specification = importlib.util.spec_from_file_location("scipy_coverage", path)
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # for its dataclasses
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("linalg.det", "works"),
        ("special.rgamma", "works"),
        ("linalg.schur", "refused"),
        ("linalg.hilbert", "smooth"),
    ],
)
def test_states(tool: Any, name: str, state: str) -> None:
    module, _, function = name.partition(".")
    assert tool.outcome(module, function, *tool.entries()).state == state
