"""Errors of the data package."""

from __future__ import annotations

import os

from wengert.engine.core.errors import WengertError


class DataError(WengertError, ValueError):
    """Data that is damaged, inconsistent or unknown."""


class DataNotFoundError(WengertError, FileNotFoundError):
    """Data that was not found in any of the places searched."""


def damaged(path: str | os.PathLike[str], offset: int, expected: str, got: str) -> DataError:
    """Return the error of a file with unexpected content at byte ``offset``."""
    return DataError(f"{os.fspath(path)}: at byte {offset}: expected {expected}; got {got}")
