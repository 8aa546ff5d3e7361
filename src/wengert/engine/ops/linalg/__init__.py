"""Linear algebra, of matrices stacked along leading axes.

============================================  ==========================================================
operations that programs call
``square``                                    inverse, solution, Cholesky factor
``decompositions``                            eigenvalues, singular values, Q and R, least squares
``determinants``                              determinant, its logarithm and sign, cofactors
``triangular``, ``banded``                    equations with triangular and with banded matrices
``lu``, ``ldl``, ``pivoting``                 factors with exchanges of rows and columns
``matrix_functions``                          exponential, square root, Sylvester's equation
``sparse_products``, ``sparse_solution``      sparse matrices by rows
programs in their place, in compiled code (`passes.expand_linalg`, `passes.native_linalg`)
``unrolled``                                  up to a few rows: operations on the elements
``nests``, ``banded_nests``                   small matrices: loops, with substitution
``blocked``                                   any size: products and steps on a few rows or columns
``lapack_programs``, ``routines``             large matrices: calls of LAPACK, and factors that several operations share
============================================  ==========================================================

NumPy evaluations lie in `wengert.engine.kernels`: ``factorisation``, ``triangular``, ``banded``, ``schur``, ``expm``,
``lapack``.
"""
