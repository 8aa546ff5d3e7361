"""SciPy, which sparse derivatives need: imported when they are first asked for."""

from __future__ import annotations

from typing import Any

from wengert.engine.core.errors import MissingExtraError, message


def scipy_sparse(operation: str) -> Any:
    """Return `scipy.sparse`, or raise `MissingExtraError`."""
    try:
        import scipy.sparse
    except ImportError:
        requirement = "sparse derivatives are arrays of SciPy, which is not installed"
        raise MissingExtraError(message(operation, requirement, hint="pip install scipy")) from None
    return scipy.sparse
