"""Helper functions of generated programs, in plain NumPy but for linear programs; a program contains what it calls.

NumPy lacks functions for some operations of derivatives: a write into zeros, a scatter-add, a sum of products over
windows. The text has their sources.
"""

from __future__ import annotations

import re

_SOURCES = '''
def multiply_no_nan(x, y):
    """Return x * y, and 0 where either is 0, even if the other one is infinite or NaN."""
    with np.errstate(invalid="ignore"):
        product = x * y
    if not np.isnan(product).any():
        return product
    zero = np.where(np.signbit(x) != np.signbit(y), -0.0, 0.0).astype(product.dtype)
    return np.where(np.isnan(product) & (np.equal(x, 0) | np.equal(y, 0)), zero, product)[()]


def embed(x, shape, index):
    """Return zeros with x where the index points."""
    result = np.zeros(shape, np.result_type(x))
    result[index] = x
    return result


def place(x, y, index):
    """Return x with y written where the index points."""
    result = np.array(x)
    result[index] = y
    return result


def instance(kind, /, **fields):
    """Return an instance of a class with these fields; its own way to make one is not called."""
    made = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def scatter_add(y, indices, shape):
    """Return zeros to which y is added where the indices point, each time they do."""
    result = np.zeros(shape, np.result_type(y))
    np.add.at(result, indices, y)
    return result


def scatter(x, y, indices):
    """Return x with y written where the indices point; the last write to an element stays."""
    result = np.array(x)
    result[indices] = y
    return result


def add_at(x, y, indices):
    """Return x, to which y is added where the indices point, each time they do."""
    result = np.array(x)
    np.add.at(result, indices, y)
    return result


def last_writer(indices, shape):
    """Return the number of the last write to each element, for writes where the indices point; -1 without a write."""
    taken = np.broadcast_shapes(*map(np.shape, indices))
    result = np.full(shape, -1)
    result[indices] = np.arange(np.prod(taken, dtype=int)).reshape(taken)
    return result


def check_bounds(x, count, requirement):
    """Return integers, which must lie in [0, count)."""
    if np.size(x) and not 0 <= np.min(x) <= np.max(x) < count:
        raise IndexError(requirement)
    return np.asarray(x, np.int64)[()]


def require(x, holds, requirement):
    """Return x, where truth values must hold."""
    if not np.all(holds):
        raise np.linalg.LinAlgError(requirement)
    return np.broadcast_to(x, np.broadcast_shapes(np.shape(x), np.shape(holds)))


def require_end(x, holds, requirement):
    """Return x, where truth values must hold: a loop must have ended."""
    if not np.all(holds):
        raise RuntimeError(requirement)
    return np.broadcast_to(x, np.broadcast_shapes(np.shape(x), np.shape(holds)))


def require_valid(x, holds, requirement):
    """Return x, where truth values must hold: the program raises an exception elsewhere."""
    if not np.all(holds):
        name, _, text = requirement.partition(": ")
        kinds = ValueError, OverflowError, ZeroDivisionError, IndexError
        raise next((kind for kind in kinds if kind.__name__ == name), RuntimeError)(text)
    return np.broadcast_to(x, np.broadcast_shapes(np.shape(x), np.shape(holds)))


def require_smooth(x, holds, requirement):
    """Return x, where truth values must hold: a slope must be no choice."""
    if not np.all(holds):
        raise FloatingPointError(requirement)
    return np.broadcast_to(x, np.broadcast_shapes(np.shape(x), np.shape(holds)))


def require_argument(x, holds, requirement):
    """Return x, where truth values must hold: an argument must fit."""
    if not np.all(holds):
        raise ValueError(requirement)
    return np.broadcast_to(x, np.broadcast_shapes(np.shape(x), np.shape(holds)))


def contract(operands, places, extents, shape):
    """Sum products over all points i, j, ... below the extents.

    places(i, j, ...) returns the element of each operand that a point reads, and last the element of the result.
    """
    indices, point = places(*np.ix_(*map(np.arange, extents))), np.zeros([1] * len(extents), int)
    *reads, target = [np.broadcast_arrays(*index, point)[:-1] for index in indices]
    factors, read = [], set()
    for x, index in zip(operands, reads):
        part = np.asarray(x)[tuple(index)] if index else np.reshape(x, [1] * len(extents))
        dims = [dim for dim, extent in enumerate(part.shape) if extent != 1]
        factors += [part.reshape([extents[dim] for dim in dims]), dims]
        read.update(dims)
    unread = [dim for dim in range(len(extents)) if dim not in read]
    factors += [np.ones([extents[dim] for dim in unread], np.result_type(*operands)), unread]
    dims = [dim for dim in range(len(extents)) if any(axis.shape[dim] != 1 for axis in target)]
    total = np.einsum(*factors, dims, optimize=True)
    result = np.zeros(shape, total.dtype)
    np.add.at(result, tuple(target), total.reshape(target[0].shape) if target else total)
    return result


def sparse_product(x, data, columns, pointers, width, transposed):
    """Return the product of a matrix in CSR format, or of its transpose, and x."""
    rows = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
    read, written = (rows, columns) if transposed else (columns, rows)
    terms = data.reshape(-1, *[1] * (x.ndim - 1)) * x[read]
    result = np.zeros((width if transposed else len(pointers) - 1, *x.shape[1:]), terms.dtype)
    np.add.at(result, written, terms)
    return result


def cholesky_tangent(factor, s):
    """Return the lower triangular t with t @ factor.mT + factor @ t.mT equal to a symmetric s."""
    factor, low = np.tril(factor), np.tri(s.shape[-1], dtype=s.dtype) - np.eye(s.shape[-1], dtype=s.dtype) / 2
    s = np.tril(s) + np.tril(s, -1).mT
    return factor @ (low * np.linalg.solve(factor, np.linalg.solve(factor, s).mT))


def cholesky_cotangent(factor, g):
    """Return the lower triangular b with (b + b.mT) @ factor equal to g on and below the diagonal."""
    factor, low = np.tril(factor), np.tri(g.shape[-1], dtype=g.dtype) - np.eye(g.shape[-1], dtype=g.dtype) / 2
    w = low * (factor.mT @ np.tril(g))
    return low * np.linalg.solve(factor.mT, np.linalg.solve(factor.mT, w + w.mT).mT)


def triangular_solution(a, b, lower, unit):
    """Return x with a @ x equal to b, where one triangle of a is read, and with unit not its diagonal."""
    a = np.tril(a) if lower else np.triu(a)
    if unit:
        a = a + (1 - a) * np.eye(a.shape[-1], dtype=a.dtype)
    return np.linalg.solve(a, b)


def sparse_solution(b, data, columns, pointers, transposed):
    """Return x with A x = b for a sparse matrix, the elements row by row, or for its transpose."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    count, dtype = len(pointers) - 1, np.result_type(b, data)
    if not np.size(b):
        return np.zeros(np.shape(b), dtype)
    working = np.promote_types(dtype, np.float32)
    right = np.reshape(b, (count, -1)).astype(working)
    matrix = csc_array((data.astype(working), columns, pointers), shape=(count, count), copy=True)
    factor = splu(matrix)  # it sorts the columns in place
    return factor.solve(right, trans="N" if transposed else "T").reshape(np.shape(b)).astype(dtype)


def banded_solution(bands, b, lower, upper):
    """Return x with a @ x equal to b, where a[i, j] is bands[upper + i - j, j]."""
    count = bands.shape[-1]
    i, j = np.arange(count)[:, None], np.arange(count)
    inside = (i - j <= lower) & (j - i <= upper)
    return np.linalg.solve(np.where(inside, bands[..., np.where(inside, upper + i - j, 0), j], 0), b)


def of_one_kind(function):
    """Return a function of stacks of matrices, real for real ones, that may write into what it reads."""

    def single(a):
        result = function(a.copy())
        return result if a.dtype.kind == "c" else result.real

    return np.vectorize(single, signature="(i,i)->(i,i)")


def of_matrices(function, a):
    """Return a function of square matrices, computed in double precision."""
    dtype = a.dtype if a.dtype.kind in "fc" else float
    return of_one_kind(function)(a.astype(np.result_type(dtype, float))).astype(dtype)


def derivative_of_matrices(function, a, e):
    """Return the derivative of a function of square matrices at a in the direction e."""
    dtype, (a, e) = np.result_type(a, e), np.broadcast_arrays(a, e)
    blocks = np.block([[a, e], [0 * a, a]])
    result = of_one_kind(function)(blocks.astype(np.result_type(dtype, float)))
    return result[..., : a.shape[-1], a.shape[-1] :].astype(dtype if dtype.kind in "fc" else float)


def cofactors(a):
    """Return det(A) A^-T of square matrices, and of a singular one its limit, by singular values."""
    largest, half = np.abs(a).max((-2, -1), keepdims=True, initial=0.0), a.shape[-1] // 2
    scale = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    a = a / scale  # the determinant may be too large or too small for a number where the cofactors are not
    size = np.linalg.det(a)[..., None, None]
    regular = np.where(size == 0, np.eye(a.shape[-1], dtype=size.dtype), a)
    u, s, vt = np.linalg.svd(a)
    others = np.where(np.eye(a.shape[-1], dtype=bool), 1, s[..., None, :]).prod(-1)
    limit = (np.linalg.det(u) * np.linalg.det(vt))[..., None, None] * (u.conj() * others[..., None, :]) @ vt.conj()
    result = np.where(size == 0, limit, size * np.linalg.inv(regular).mT)
    return result * scale**half * scale ** (a.shape[-1] - 1 - half)


def polar_factor(a):
    """Return the factor with orthonormal columns of the polar decomposition."""
    u, _, vt = np.linalg.svd(a, full_matrices=False)
    return u @ vt


def column_order(a):
    """Return the order of columns in which QR factors are computed with pivoting."""
    result = np.zeros((*a.shape[:-2], a.shape[-1]), np.int64)
    for position in np.ndindex(a.shape[:-2]):
        result[position] = scipy.linalg.qr(a[position], mode="r", pivoting=True)[1]
    return result


def packed_ldl(a, lower, hermitian):
    """Return the factors of P A P^T = L D L^T, the order of the rows, and the block of each row, in one matrix."""
    rows = a.shape[-1]
    result = np.zeros((*a.shape[:-1], 2 * rows + 2), a.dtype)
    for position in np.ndindex(a.shape[:-2]):
        factor, middle, order = scipy.linalg.ldl(a[position], lower, hermitian)
        blocks = np.arange(rows) - np.append(False, np.diagonal(middle, 1) != 0)
        result[position] = np.column_stack([factor[order], middle, order, blocks])
    return result


def packed_lu(a):
    """Return the factors of P A = L U in one matrix, the order of the rows, and the exchanges of rows, as columns."""
    result = np.zeros((*a.shape[:-1], a.shape[-1] + 2), a.dtype)
    for position in np.ndindex(a.shape[:-2]):
        order, (factors, exchanged) = np.arange(a.shape[-2]), scipy.linalg.lu_factor(a[position])
        for row, other in enumerate(exchanged):
            order[[row, other]] = order[[other, row]]
        result[position][:, :-2], result[position][:, -2] = factors, order
        result[position][: len(exchanged), -1] = exchanged
    return result


def lu_by_columns(a):
    """Return the factors of P A = L U in one matrix, and a column with the order of the rows."""
    return packed_lu(a)[..., :-1]


def cholesky_by_rows(a):
    """Return the lower triangular L with L L^T = A."""
    return np.linalg.cholesky(a)


def substitution(t, b, lower, unit):
    """Return x with t @ x equal to b, where one triangle of t is read, and with unit not its diagonal."""
    return triangular_solution(t, b, lower, unit)


def householder_by_columns(a):
    """Return R, the vectors of reflections below its diagonal, and a row with their factors."""
    packed, factors = np.linalg.qr(a, "raw")
    return np.concatenate([packed.mT, factors[..., None, :]], -2)


def eigh_by_rotations(a, sweeps):
    """Return the eigenvalues as a row above the eigenvectors."""
    values, vectors = np.linalg.eigh(a)
    return np.concatenate([values[..., None, :], vectors], -2)


def banded_substitution(factors, exchanges, b, lower, upper):
    """Return x with A x = b from LAPACK's factors of a banded matrix A, by columns; b and x are transposed."""
    lead = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    result = np.array(np.broadcast_to(b, (*lead, *b.shape[-2:])))
    program = scipy.linalg.get_lapack_funcs("gbtrs", (factors,))
    factors = np.broadcast_to(factors, (*lead, *factors.shape[-2:]))
    exchanges = np.broadcast_to(exchanges, (*lead, exchanges.shape[-1])) - 1
    for position in np.ndindex(lead):
        columns, right = factors[position].T, result[position].T
        result[position] = program(columns, lower, upper, right, exchanges[position])[0].T
    return result


def stacked_sylvester(a, b, q):
    """Return x with a @ x + x @ b equal to q."""
    return np.vectorize(scipy.linalg.solve_sylvester, signature="(i,i),(j,j),(i,j)->(i,j)")(a, b, q)


def stacked_eig(a):
    """Return complex eigenvalues, as a row, above the eigenvectors."""
    values, vectors = np.linalg.eig(a)
    return np.concatenate([values[..., None, :], vectors], -2) + 0j


def stacked_eigh(a, half):
    """Return eigenvalues of symmetric matrices, as a row, above the eigenvectors."""
    values, vectors = np.linalg.eigh(a, half)
    return np.concatenate([values[..., None, :], vectors], -2)


def stacked_svd(a):
    """Return U, the singular values as a row, and V above one another, for matrices U diag(s) V.mT."""
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([u, s[..., None, :], vt.mT], -2)


def complement(a, of):
    """Return the orthonormal columns that complete Q, or those of U and V that has more rows than columns."""
    rows, columns = a.shape[-2:]
    if of == "qr":
        return np.linalg.qr(a, "complete")[0][..., columns:]
    u, _, vt = np.linalg.svd(a)
    return u[..., columns:] if rows > columns else np.conj(vt[..., rows:, :]).mT


def linear_program(c, A, low, high, lower, upper, whole):
    """Return the numbers of the constraints that hold at the vertex of a linear program, and the variables."""
    from wengert.optimize.linear_programs import vertex

    return vertex(c, A, low, high, lower, upper, whole=whole)


def stacked_lstsq(a, b, rcond):
    """Return the x of least norm that minimises the sum of squares of b - a @ x."""
    solution = np.vectorize(lambda a, b: np.linalg.lstsq(a, b, rcond)[0], signature="(m,n),(m,k)->(n,k)")
    return solution(a, b)


def cond(predicate, on_true, on_false, *operands):
    """Return the results of one of two functions."""
    return (on_true if predicate else on_false)(*operands)


def scan(body, constants, carries, slices, length, reverse):
    """Carry values through a loop over slices; return their last values, and the other results stacked."""
    rows = []
    for step in reversed(range(length)) if reverse else range(length):
        results = body(*constants, *carries, *(x[step] for x in slices))
        carries = results[: len(carries)]
        rows.append(results[len(carries) :])
    if reverse:
        rows.reverse()
    return (*carries, *map(np.stack, zip(*rows)))


def bounded_scan(body, turns, constants, carries, slices, length, reverse, stops):
    """Carry values through the first turns of a loop over slices, or as long as the first carry holds."""
    rows = [[] for _ in range(length)]
    for step in reversed(range(turns)) if reverse else range(turns):
        if stops and not carries[0]:
            break
        results = body(*constants, *carries, *(x[step] for x in slices))
        carries, rows[step] = results[: len(carries)], results[len(carries) :]
    some = max(rows, key=len)
    return (*carries, *(np.stack([row[n] if row else np.zeros_like(x) for row in rows]) for n, x in enumerate(some)))


def while_loop(condition, body, tested, fixed, carries, most=None):
    """Carry values through a loop while the condition holds; return their last values."""
    turns = 0
    while turns != most and condition(*tested, *carries)[0]:
        carries = body(*fixed, *carries)
        turns += 1
    return tuple(carries)
'''

HELPERS = {source.split("(")[0].removeprefix("def "): source for source in _SOURCES.strip().split("\n\n\n")}


def prelude(body: str) -> list[str]:
    """Return the sources of the helper functions that a text calls, and before them those that they call.

    Example:
        >>> print(prelude("v1 = embed(x, (3,), np.s_[0])")[0].splitlines()[0])
        def embed(x, shape, index):
    """
    sources: list[str] = []
    for name, source in reversed(HELPERS.items()):
        if any(re.search(rf"\b{name}\(", text) for text in [body, *sources]):
            sources.insert(0, source)
    return sources
