"""Helper functions of generated programs, in plain NumPy: each is written down only where it is called.

NumPy has no function for some operations that derivatives are made of: to write into zeros, to add where indices
point, to sum products over windows. Their sources are here, by name.
"""

from __future__ import annotations

import re

_SCALE = '''
def multiply_no_nan(x, y):
    """Return x * y, and 0 where either is 0, even if the other one is infinite or NaN."""
    with np.errstate(invalid="ignore"):
        product = x * y
    if not np.isnan(product).any():
        return product
    zero = np.where(np.signbit(x) != np.signbit(y), -0.0, 0.0).astype(product.dtype)
    return np.where(np.isnan(product) & (np.equal(x, 0) | np.equal(y, 0)), zero, product)[()]
'''

_EMBED = '''
def embed(x, shape, index):
    """Return zeros with x where the index points."""
    result = np.zeros(shape, np.result_type(x))
    result[index] = x
    return result
'''

_PLACE = '''
def place(x, y, index):
    """Return x with y written where the index points."""
    result = np.array(x)
    result[index] = y
    return result
'''

_SCATTER_ADD = '''
def scatter_add(y, indices, shape):
    """Return zeros to which y is added where the indices point, each time they do."""
    result = np.zeros(shape, np.result_type(y))
    np.add.at(result, indices, y)
    return result
'''

_SCATTER = '''
def scatter(x, y, indices):
    """Return x with y written where the indices point; of writes to one element the last stays."""
    result = np.array(x)
    result[indices] = y
    return result
'''

_ADD_AT = '''
def add_at(x, y, indices):
    """Return x, to which y is added where the indices point, each time they do."""
    result = np.array(x)
    np.add.at(result, indices, y)
    return result
'''

_LAST_WRITER = '''
def last_writer(indices, shape):
    """Return the number of the last write to each element when the indices point at what is written; -1 for none."""
    taken = np.broadcast_shapes(*map(np.shape, indices))
    result = np.full(shape, -1)
    result[indices] = np.arange(np.prod(taken, dtype=int)).reshape(taken)
    return result
'''

_WITHIN = '''
def check_bounds(x, count, requirement):
    """Return integers, which must lie in [0, count)."""
    if np.size(x) and not 0 <= np.min(x) <= np.max(x) < count:
        raise IndexError(requirement)
    return np.asarray(x, np.int64)[()]
'''

_REQUIRE = '''
def require(x, holds, requirement):
    """Return x, where truth values must hold."""
    if not np.all(holds):
        raise np.linalg.LinAlgError(requirement)
    return np.broadcast_to(x, np.broadcast_shapes(np.shape(x), np.shape(holds)))
'''

_CONTRACT = '''
def contract(operands, places, extents, shape):
    """Sum products over all points i, j, ... below the extents.

    places(i, j, ...) tells where each operand is read for a point, and last where the product is added to the result.
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
'''

_SPARSE_PRODUCT = '''
def sparse_product(x, data, columns, pointers, width, transposed):
    """Return the product of a matrix in CSR format, or of its transpose, and x."""
    rows = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
    read, written = (rows, columns) if transposed else (columns, rows)
    terms = data.reshape(-1, *[1] * (x.ndim - 1)) * x[read]
    result = np.zeros((width if transposed else len(pointers) - 1, *x.shape[1:]), terms.dtype)
    np.add.at(result, written, terms)
    return result
'''

_CHOLESKY_TANGENT = '''
def cholesky_tangent(factor, s):
    """Return the lower triangular t with t @ factor.mT + factor @ t.mT equal to a symmetric s."""
    factor, low = np.tril(factor), np.tri(s.shape[-1], dtype=s.dtype) - np.eye(s.shape[-1], dtype=s.dtype) / 2
    s = np.tril(s) + np.tril(s, -1).mT
    return factor @ (low * np.linalg.solve(factor, np.linalg.solve(factor, s).mT))
'''

_CHOLESKY_COTANGENT = '''
def cholesky_cotangent(factor, g):
    """Return the lower triangular b with (b + b.mT) @ factor equal to g on and below the diagonal."""
    factor, low = np.tril(factor), np.tri(g.shape[-1], dtype=g.dtype) - np.eye(g.shape[-1], dtype=g.dtype) / 2
    w = low * (factor.mT @ np.tril(g))
    return low * np.linalg.solve(factor.mT, np.linalg.solve(factor.mT, w + w.mT).mT)
'''

_EIGH = '''
def stacked_eigh(a, half):
    """Return eigenvalues of symmetric matrices, as a row, above the eigenvectors."""
    values, vectors = np.linalg.eigh(a, half)
    return np.concatenate([values[..., None, :], vectors], -2)
'''

_SVD = '''
def stacked_svd(a):
    """Return U, the singular values as a row, and V above one another, for matrices U diag(s) V.mT."""
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([u, s[..., None, :], vt.mT], -2)
'''

_LSTSQ = '''
def stacked_lstsq(a, b, rcond):
    """Return the x of least norm among those that make the sum of squares of b - a @ x least."""
    solution = np.vectorize(lambda a, b: np.linalg.lstsq(a, b, rcond)[0], signature="(m,n),(m,k)->(n,k)")
    return solution(a, b)
'''

_COND = '''
def cond(predicate, on_true, on_false, *operands):
    """Return the results of one of two functions."""
    return (on_true if predicate else on_false)(*operands)
'''

_SCAN = '''
def scan(body, constants, carries, slices, length, reverse):
    """Carry values through a loop over slices; return them as they are last, and the other results stacked."""
    rows = []
    for step in reversed(range(length)) if reverse else range(length):
        results = body(*constants, *carries, *(x[step] for x in slices))
        carries = results[: len(carries)]
        rows.append(results[len(carries) :])
    if reverse:
        rows.reverse()
    return (*carries, *map(np.stack, zip(*rows)))
'''

_WHILE_LOOP = '''
def while_loop(condition, body, tested, fixed, carries):
    """Carry values through a loop as long as the condition holds; return them as they are last."""
    while condition(*tested, *carries)[0]:
        carries = body(*fixed, *carries)
    return tuple(carries)
'''

HELPERS = {
    "multiply_no_nan": _SCALE,
    "embed": _EMBED,
    "place": _PLACE,
    "scatter_add": _SCATTER_ADD,
    "scatter": _SCATTER,
    "add_at": _ADD_AT,
    "last_writer": _LAST_WRITER,
    "check_bounds": _WITHIN,
    "require": _REQUIRE,
    "contract": _CONTRACT,
    "sparse_product": _SPARSE_PRODUCT,
    "cholesky_tangent": _CHOLESKY_TANGENT,
    "cholesky_cotangent": _CHOLESKY_COTANGENT,
    "stacked_eigh": _EIGH,
    "stacked_svd": _SVD,
    "stacked_lstsq": _LSTSQ,
    "cond": _COND,
    "scan": _SCAN,
    "while_loop": _WHILE_LOOP,
}


def prelude(body: str) -> list[str]:
    """Return the sources of the helper functions that a text calls.

    Example:
        >>> print(prelude("v1 = embed(x, (3,), np.s_[0])")[0].splitlines()[0])
        def embed(x, shape, index):
    """
    return [source.strip() for name, source in HELPERS.items() if re.search(rf"\b{name}\(", body)]
