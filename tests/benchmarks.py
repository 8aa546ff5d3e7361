"""Import the programs of `benchmarks/`, for tests of their tables."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any


def benchmark(name: str) -> Any:
    """Return a program as a module."""
    folder = str(Path(__file__).parents[1] / "benchmarks")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)
