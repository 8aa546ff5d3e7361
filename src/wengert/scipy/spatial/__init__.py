"""`scipy.spatial` for values inside transforms: distances.

Example:
    >>> import numpy as np
    >>> distance_matrix(np.zeros((1, 2)), np.array([[3.0, 4.0]]))
    array([[5.]])
"""

from __future__ import annotations

from typing import Any

from wengert.scipy.registry import check_public as _check_public
from wengert.scipy.registry import passed_through as _passed_through
from wengert.scipy.spatial import distance
from wengert.scipy.spatial.distance import distance_matrix

__all__ = ["distance", "distance_matrix"]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    """Return an object of SciPy's that Wengert does not follow."""
    _check_public(__name__, name)
    from scipy import spatial as theirs

    return _passed_through(theirs, __name__, name)
