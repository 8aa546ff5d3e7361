"""`scipy.linalg` for values inside transforms: equations, factors, functions of matrices and matrices of vectors.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> wg.grad(lambda b: np.sum(cho_solve(cho_factor(A), b)))(np.ones(2)).round(4)
    array([0.1818, 0.2727])
"""

from __future__ import annotations

from wengert.scipy.linalg.banded import cho_solve_banded, cholesky_banded, solve_banded, solveh_banded
from wengert.scipy.linalg.banded_eigen import (
    eig_banded,
    eigh_tridiagonal,
    eigvals_banded,
    eigvalsh_tridiagonal,
    rq,
)
from wengert.scipy.linalg.equations import (
    det,
    inv,
    lstsq,
    norm,
    pinv,
    solve,
    solve_circulant,
    solve_toeplitz,
    solve_triangular,
)
from wengert.scipy.linalg.factors import (
    cho_factor,
    cho_solve,
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    ldl,
    lu,
    lu_factor,
    lu_solve,
    polar,
    qr,
    svd,
    svdvals,
)
from wengert.scipy.linalg.functions import (
    coshm,
    cosm,
    expm,
    expm_frechet,
    fractional_matrix_power,
    logm,
    sinhm,
    sinm,
    solve_continuous_lyapunov,
    solve_discrete_lyapunov,
    solve_lyapunov,
    solve_sylvester,
    sqrtm,
    tanhm,
    tanm,
)
from wengert.scipy.linalg.reductions import funm, hessenberg, qr_multiply
from wengert.scipy.linalg.riccati import solve_continuous_are, solve_discrete_are
from wengert.scipy.linalg.special_matrices import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    hankel,
    khatri_rao,
    leslie,
    toeplitz,
)
from wengert.scipy.linalg.subspaces import null_space, orth
from wengert.scipy.registry import others_of as _others_of

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cho_solve_banded", "cholesky", "cholesky_banded", "circulant",
    "companion", "convolution_matrix", "coshm", "cosm", "det", "eig", "eig_banded", "eigh", "eigh_tridiagonal",
    "eigvals", "eigvals_banded", "eigvalsh", "eigvalsh_tridiagonal", "expm", "expm_frechet",
    "fractional_matrix_power", "funm", "hankel", "hessenberg", "inv", "khatri_rao", "ldl", "leslie", "logm", "lstsq",
    "lu", "lu_factor", "lu_solve", "norm", "null_space", "orth", "pinv", "polar", "qr", "qr_multiply", "rq",
    "sinhm", "sinm", "solve", "solve_banded", "solve_circulant", "solve_continuous_are", "solve_continuous_lyapunov",
    "solve_discrete_are", "solve_discrete_lyapunov", "solve_lyapunov", "solve_sylvester", "solve_toeplitz",
    "solve_triangular", "solveh_banded", "sqrtm", "svd", "svdvals", "tanhm", "tanm", "toeplitz",
]  # fmt: skip
__dir__ = __all__.copy
__getattr__ = _others_of(__name__)
