"""The version, stated once: the build reads it from here; and the versions that numbers may depend on."""

from __future__ import annotations

import platform

import numpy as np

__version__ = "0.3.0"


def versions() -> dict[str, str]:
    """Return the versions on which numbers may depend."""
    return {"wengert": __version__, "numpy": np.__version__, "python": platform.python_version()}
