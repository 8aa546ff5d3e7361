"""Tests of the compiler compile: what earlier processes left in the user's cache says nothing about this code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_cache() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WENGERT_CACHE", "off")
        yield
