"""`scipy.spatial` for values inside transforms: distances, trees of points and rotations.

Example:
    >>> import numpy as np
    >>> distance_matrix(np.zeros((1, 2)), np.array([[3.0, 4.0]]))
    array([[5.]])
"""

from __future__ import annotations

from wengert.scipy.registry import others_of as _others_of
from wengert.scipy.spatial import distance, transform
from wengert.scipy.spatial.distance import distance_matrix
from wengert.scipy.spatial.trees import KDTree

cKDTree = KDTree  # noqa: N816 (SciPy's name)
__all__ = ["KDTree", "cKDTree", "distance", "distance_matrix", "transform"]
__dir__ = __all__.copy
__getattr__ = _others_of(__name__)
