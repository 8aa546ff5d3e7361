"""Packages that a file of tests needs, which only the process that runs its tests imports."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import pytest


class Package:
    """A package that is imported where a test uses it; without it, the tests of the file are skipped.

    Each process of a run collects each file, and would import the package at the top of one for nothing.
    """

    def __init__(self, name: str) -> None:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"could not import {name!r}", allow_module_level=True)
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)
