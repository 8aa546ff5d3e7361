"""Errors of the data package."""

from __future__ import annotations

import os

from wengert.core.errors import WengertError


class DataError(WengertError, ValueError):
    """Data that is damaged, inconsistent or unknown."""


class DataNotFoundError(WengertError, FileNotFoundError):
    """Data that is in none of the places searched."""


def damaged(path: str | os.PathLike[str], offset: int, expected: str, got: str) -> DataError:
    """Return the error of a file that does not hold, from byte ``offset`` on, what is expected there."""
    return DataError(f"{os.fspath(path)}: at byte {offset}: expected {expected}; got {got}")
