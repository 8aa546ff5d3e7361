"""Sparse Jacobians and Hessians: the pattern from the graph, colours, and one compiled sweep; sparse equations."""

from typing import TYPE_CHECKING

from wengert.engine.core.other_libraries import absent_from
from wengert.implicit.sparse import solve
from wengert.sparse.colouring import Colouring
from wengert.sparse.derivatives import SparseDerivative, sparse_hessian, sparse_jacobian

__all__ = ["Colouring", "SparseDerivative", "solve", "sparse_hessian", "sparse_jacobian"]
__dir__ = __all__.copy


if not TYPE_CHECKING:  # type checkers report such names themselves
    __getattr__ = absent_from(__name__)
