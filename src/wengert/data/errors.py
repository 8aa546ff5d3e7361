"""Errors of the data package."""

from __future__ import annotations

from wengert.errors import WengertError


class DataError(WengertError, ValueError):
    """Data that is damaged, inconsistent or unknown."""


class DataNotFoundError(WengertError, FileNotFoundError):
    """Data that is in none of the places searched."""
