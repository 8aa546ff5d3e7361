"""Collections of garbage that look only at what a test makes."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.fixture
def young_heap() -> Generator[None]:
    """Freeze what is alive: a collection in a session of thousands of tests takes a second otherwise."""
    gc.freeze()
    yield
    gc.unfreeze()
