"""The programs that do not compile yet, with a part of the error: the tables must shrink."""

from __future__ import annotations

VALUES: dict[str, str] = {}
"""Of which even the value is refused."""

GRADIENTS: dict[str, str] = {}
"""Of which the gradient is."""
