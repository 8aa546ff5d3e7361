"""`scipy.spatial` for values inside transforms: distances and rotations.

Example:
    >>> import numpy as np
    >>> distance_matrix(np.zeros((1, 2)), np.array([[3.0, 4.0]]))
    array([[5.]])
"""

from __future__ import annotations

from wengert.scipy.registry import others_of as _others_of
from wengert.scipy.spatial import distance, transform
from wengert.scipy.spatial.distance import distance_matrix

__all__ = ["distance", "distance_matrix", "transform"]
__dir__ = __all__.copy
__getattr__ = _others_of(__name__)
