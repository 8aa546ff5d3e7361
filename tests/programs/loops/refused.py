"""The programs that do not compile yet, with a part of the error: the tables must shrink."""

from __future__ import annotations

MASK = "a mask needs concrete values"

VALUES: dict[str, str] = {
    "clipped_residuals": MASK,
    "reflect_outside": MASK,
}
"""Of which even the value is refused."""

GRADIENTS: dict[str, str] = {}
"""Of which the gradient is."""
