"""Sparse Jacobians and Hessians: the pattern from the graph, colours, and one compiled sweep; sparse equations."""

from wengert.implicit.sparse import solve
from wengert.sparse.colouring import Colouring
from wengert.sparse.derivatives import SparseDerivative, sparse_hessian, sparse_jacobian

__all__ = ["Colouring", "SparseDerivative", "solve", "sparse_hessian", "sparse_jacobian"]
__dir__ = __all__.copy
