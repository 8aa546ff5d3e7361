"""`scipy.spatial.distance` for values inside transforms.

The derivative of a norm at distance 0 is 0, the subgradient of least norm. Results are double precision, as SciPy's.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> x = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    >>> wg.grad(lambda x: np.sum(pdist(x)))(x)
    array([[-0.6, -0.8],
           [ 1.2,  1.6],
           [-0.6, -0.8]])
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.arithmetic import is_even, smooth_magnitude
from wengert.engine.ops.comparison import equal, where
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import log, power
from wengert.engine.ops.special.error_and_gamma import length, root, root_of_order
from wengert.numpy.linear_algebra import inv
from wengert.numpy.registry import is_box, rank_of
from wengert.scipy.registry import array, doubles, others_of, signatures

__all__ = [
    "braycurtis", "canberra", "cdist", "chebyshev", "cityblock", "correlation", "cosine", "euclidean",
    "jensenshannon", "mahalanobis", "minkowski", "pdist", "seuclidean", "sqeuclidean", "squareform",
]  # fmt: skip
__dir__ = __all__.copy
__getattr__ = others_of(__name__)


# -- metrics ---------------------------------------------------------------------------------------------

_scipys = signatures(
    "scipy.spatial.distance",
    """
    braycurtis canberra chebyshev cityblock cosine euclidean sqeuclidean(u, v, w=None)
    correlation(u, v, w=None, centered=True)
    jensenshannon(p, q, base=None, *, axis=0, keepdims=False)
    mahalanobis(u, v, VI)
    minkowski(u, v, p=2, w=None)
    seuclidean(u, v, V)
    """,
)
#: The metrics on vectors along the last axis, with broadcasting, and SciPy's functions of two vectors.
_METRICS: dict[str, Callable[..., Any]] = {}
_OF_VECTORS: dict[str, Callable[..., Any]] = {}
#: The options of a metric, where they are not weights alone.
_OPTIONS = {"jensenshannon": (), "mahalanobis": ("VI",), "minkowski": ("p", "w"), "seuclidean": ("V",)}


def _metric(metric: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a metric, and return SciPy's function of two vectors."""
    name = metric.__name__

    @_scipys
    @functools.wraps(metric)
    def of_vectors(u: Any, v: Any, **options: Any) -> Any:
        return metric(*_pair(name, u, v), **_options(options))

    _METRICS[name], _OF_VECTORS[name] = metric, of_vectors
    return of_vectors


def _pair(operation: str, u: Any, v: Any) -> list[Any]:
    vectors = [doubles(u), doubles(v)]
    if any(rank_of(x) != 1 for x in vectors) or shape_of(vectors[0]) != shape_of(vectors[1]):
        raise ShapeError(message(operation, "two vectors of one length are required", show(*vectors)))
    return vectors


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a metric that are not None, checked."""
    return {name: _option(name, value) for name, value in options.items() if value is not None}


def _option(name: str, value: Any) -> Any:
    if name in ("p", "centered"):
        return value
    if name == "w" and (weights := concrete(value)) is not None and np.any(np.asarray(weights) < 0):
        raise ArgumentError(message("distance", "weights must not be negative", repr(weights)))
    return doubles(value)


def _sum(x: Any, w: Any) -> Any:
    return np.sum(x if w is None else w * x, -1)


def _length(x: Any, w: Any) -> Any:
    return length(lambda scale: _sum((scale * x) ** 2, w))


@_metric
def sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    """Return ``sum w (u - v)^2``.

    Example:
        >>> float(sqeuclidean([0.0, 0.0], [3.0, 4.0]))
        25.0
    """
    difference = u - v
    return _sum(difference * difference, w)


@_metric
def euclidean(u: Any, v: Any, w: Any = None) -> Any:
    """Return ``sqrt(sum w (u - v)^2)``; its derivative is 0 where u = v.

    Example:
        >>> float(euclidean([0.0, 0.0], [3.0, 4.0]))
        5.0
    """
    return _length(u - v, w)


@_metric
def cityblock(u: Any, v: Any, w: Any = None) -> Any:
    """Return ``sum w |u - v|``; the derivative of an element's term is 0 where u = v.

    Example:
        >>> float(cityblock([0.0, 0.0], [3.0, 4.0]))
        7.0
    """
    return _sum(np.abs(u - v), w)


@_metric
def chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    """Return the largest ``|u - v|`` among the elements with a positive weight.

    Example:
        >>> float(chebyshev([0.0, 0.0], [3.0, 4.0]))
        4.0
    """
    distances = np.abs(u - v)
    if w is not None:
        distances = where(w > 0, distances, 0.0)
    return np.max(distances, -1, initial=0.0)


@_metric
def minkowski(u: Any, v: Any, w: Any = None, p: Any = 2) -> Any:
    """Return ``(sum w |u - v|^p)^(1/p)``; its derivative is 0 where u = v.

    Raises:
        ArgumentError: p is not above 0.

    Example:
        >>> float(minkowski([0.0, 0.0], [3.0, 4.0], 1))
        7.0
    """
    if not is_box(p):
        if p <= 0:
            raise ArgumentError(message("minkowski", "p must be greater than 0", repr(p)))
        if p in (1, 2, math.inf):
            return _METRICS[{1: "cityblock", 2: "euclidean", math.inf: "chebyshev"}[p]](u, v, w)
    return root_of_order(_sum(_positive_power(smooth_magnitude(u - v, p), p), w), p)


def _positive_power(x: Any, p: Any) -> Any:
    """Return ``x^p`` for x >= 0 or an even p, with derivative 0 at 0."""
    if is_even(p):
        return power(x, float(p))
    zero = equal(x, 0)
    return where(zero, 0.0, power(where(zero, 1.0, x), p * 1.0))


def _unit(x: Any, w: Any) -> Any:
    """Return a vector over its length, NaN for zero."""
    size = _length(x, w)[..., np.newaxis]
    return x / where(equal(size, 0), math.nan, size)


@_metric
def cosine(u: Any, v: Any, w: Any = None) -> Any:
    """Return ``1 - u.v / (|u| |v|)``, with weights in each product.

    Example:
        >>> float(cosine([1.0, 0.0], [0.0, 1.0]))
        1.0
    """
    product = _sum(_unit(u, w) * _unit(v, w), w)
    inside = stop_gradient(np.clip(product, -1.0, 1.0) - product)  # against rounding; the derivative stays
    return 1.0 - (product + inside)


def _centred(x: Any, w: Any) -> Any:
    mean = np.mean(x, -1, keepdims=True) if w is None else np.sum(w * x, -1, keepdims=True) / np.sum(w)
    return x - mean


@_metric
def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    """Return the cosine distance of two vectors without their means.

    Example:
        >>> print(f"{correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]):.4f}")
        2.0000
    """
    return _METRICS["cosine"](*((_centred(u, w), _centred(v, w)) if centered else (u, v)), w)


@_metric
def canberra(u: Any, v: Any, w: Any = None) -> Any:
    """Return ``sum w |u - v| / (|u| + |v|)``; the term of two zeros is 0.

    Example:
        >>> float(canberra([1.0, 0.0], [3.0, 0.0]))
        0.5
    """
    size = np.abs(u) + np.abs(v)
    zero = equal(size, 0)
    return _sum(where(zero, 0.0, np.abs(u - v) / where(zero, 1.0, size)), w)


@_metric
def braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    """Return ``sum w |u - v| / sum w |u + v|``.

    Example:
        >>> float(braycurtis([1.0, 0.0], [3.0, 0.0]))
        0.5
    """
    return _sum(np.abs(u - v), w) / _sum(np.abs(u + v), w)


@_metric
def mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    """Return ``sqrt((u - v)^T VI (u - v))``; its derivative is 0 where that is 0.

    Example:
        >>> float(mahalanobis([0.0, 0.0], [3.0, 4.0], np.eye(2)))
        5.0
    """
    difference = u - v
    return root(np.sum(np.matmul(difference, VI) * difference, -1))


@_metric
def seuclidean(u: Any, v: Any, V: Any) -> Any:
    """Return ``sqrt(sum (u - v)^2 / V)``; its derivative is 0 where u = v.

    Example:
        >>> float(seuclidean([0.0, 0.0], [3.0, 4.0], [1.0, 1.0]))
        5.0
    """
    difference = u - v
    return root(np.sum(difference * difference / V, -1))


def _relative_entropy(x: Any, y: Any, axis: int, keepdims: bool) -> Any:
    zero = equal(x, 0)
    ratio = where(zero, 1.0, x) / where(zero, 1.0, y)
    return np.sum(where(zero, 0.0, x * log(ratio)), axis, keepdims=keepdims)


@_scipys
def jensenshannon(p: Any, q: Any, base: Any, axis: Any, keepdims: Any) -> Any:
    """Return the square root of Jensen and Shannon's divergence of two distributions; its derivative at 0 is 0.

    Example:
        >>> float(jensenshannon([1.0, 0.0], [0.0, 1.0], 2.0))
        1.0
    """
    p, q = doubles(p), doubles(q)
    p, q = p / np.sum(p, axis, keepdims=True), q / np.sum(q, axis, keepdims=True)
    middle = (p + q) / 2.0
    total = _relative_entropy(p, middle, axis, keepdims) + _relative_entropy(q, middle, axis, keepdims)
    if base is not None:
        total = total / np.log(base)
    total = where(total < 0, 0.0, total)  # of equal vectors, after rounding
    return root(total / 2.0)


_METRICS["jensenshannon"] = functools.partial(jensenshannon, axis=-1)
_OF_VECTORS["jensenshannon"] = jensenshannon


# -- distances of many vectors ---------------------------------------------------------------------------

_ALIASES = {
    **dict.fromkeys(("cheby", "cheb", "ch", "chebychev"), "chebyshev"),
    **dict.fromkeys(("cblock", "cb", "c", "manhattan"), "cityblock"),
    **dict.fromkeys(("cos",), "cosine"),
    **dict.fromkeys(("co",), "correlation"),
    **dict.fromkeys(("euclid", "eu", "e"), "euclidean"),
    **dict.fromkeys(("js",), "jensenshannon"),
    **dict.fromkeys(("mahal", "mah"), "mahalanobis"),
    **dict.fromkeys(("mi", "m", "pnorm"), "minkowski"),
    **dict.fromkeys(("se", "s"), "seuclidean"),
    **dict.fromkeys(("sqe", "sqeuclid"), "sqeuclidean"),
}


def _between(
    operation: str, metric: Any, u: Any, v: Any, points: Callable[[], Any], options: dict[str, Any]
) -> Any:
    """Return the distances of broadcasting vectors along the last axis.

    ``points`` returns all vectors, from which the scales of a metric are estimated where they are not given.
    """
    if callable(metric):
        name = getattr(metric, "__name__", "")
        if metric is not _OF_VECTORS.get(name) and not str(metric.__module__).startswith("scipy."):
            return _called(metric, u, v, options)
        metric = name
    name = _ALIASES.get(str(metric).lower(), str(metric).lower())
    if name not in _METRICS:
        followed = ", ".join(_METRICS)
        raise ArgumentError(message(operation, f"the metric must be one of {followed}", repr(metric)))
    names = _OPTIONS.get(name, ("w",))
    unknown = [option for option in options if option not in names]
    if unknown:
        requirement = f"{name} takes {' and '.join(names) or 'no options'}"
        raise ArgumentError(message(operation, requirement, f"{unknown[0]}="))
    options = _options(options)
    if name == "seuclidean" and "V" not in options:
        options["V"] = np.var(points(), axis=0, ddof=1)
    if name == "mahalanobis" and "VI" not in options:
        options["VI"] = np.swapaxes(inv(np.cov(np.swapaxes(points(), 0, 1))), 0, 1)
    return _METRICS[name](u, v, **options)


def _called(metric: Callable[..., Any], u: Any, v: Any, options: dict[str, Any]) -> Any:
    """Call a function of two vectors for each pair."""
    u, v = np.broadcast_arrays(u, v)
    lead = shape_of(u)[:-1]
    distances = [doubles(metric(u[place], v[place], **options)) for place in np.ndindex(lead)]
    return np.reshape(np.stack(distances), lead) if distances else np.zeros(lead)


def _vectors(operation: str, name: str, x: Any) -> Any:
    x = doubles(x)
    if rank_of(x) != 2:
        raise ShapeError(message(operation, f"{name} must be a matrix, with a vector in each row", show(x)))
    return x


def _written(result: Any, out: Any) -> Any:
    if out is None:
        return result
    out[...] = result
    return out


@substitutes("scipy.spatial.distance.cdist")
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """Return the distance of each row of one matrix to each row of another.

    Raises:
        ShapeError: the arguments are not matrices with the same number of columns.
        ArgumentError: the metric is unknown, or has no such option.

    Example:
        >>> cdist([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]])
        array([[5., 1.]])
    """
    a, b = _vectors("cdist", "XA", XA), _vectors("cdist", "XB", XB)
    if shape_of(a)[1] != shape_of(b)[1]:
        raise ShapeError(message("cdist", "XA and XB must have as many columns", show(a, b)))
    u, v = a[:, None, :], b[None, :, :]
    return _written(_between("cdist", metric, u, v, lambda: np.concatenate([a, b]), kwargs), out)


@substitutes("scipy.spatial.distance.pdist")
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """Return the distances of the rows of a matrix to each other, as a vector; `squareform` makes a matrix of it.

    Raises:
        ShapeError: the argument is not a matrix.
        ArgumentError: the metric is unknown, or has no such option.

    Example:
        >>> pdist([[0.0], [1.0], [3.0]])
        array([1., 3., 2.])
    """
    x = _vectors("pdist", "X", X)
    first, second = np.triu_indices(shape_of(x)[0], 1)
    return _written(_between("pdist", metric, x[first], x[second], lambda: x, kwargs), out)


@substitutes("scipy.spatial.distance.squareform")
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """Turn the vector of `pdist` into a symmetric matrix with a diagonal of zeros, or such a matrix into the vector.

    ``checks``: raise an error for matrices, if their elements are known, that are not symmetric.

    Raises:
        ArgumentError: the vector does not belong to a matrix, or ``force`` does not fit.
        ShapeError: a matrix is not square or, with ``checks``, not symmetric with a diagonal of zeros.

    Example:
        >>> squareform([1.0, 3.0, 2.0])
        array([[0., 1., 3.],
               [1., 0., 2.],
               [3., 2., 0.]])
    """
    x = array(X)
    rank = rank_of(x)
    forced = {"tomatrix": 1, "tovector": 2}.get(force.lower(), rank)
    if rank not in (1, 2) or forced != rank:
        raise ArgumentError(message("squareform", "a vector or a matrix is required", f"{show(x)}, {force=}"))
    if rank == 2:
        return _to_vector(x, checks)
    count = shape_of(x)[0]
    rows = math.ceil(math.sqrt(2 * count)) if count else 1
    if rows * (rows - 1) != 2 * count:
        raise ArgumentError(
            message("squareform", "the length must be n (n - 1) / 2 for an integer n", show(x))
        )
    if not count:
        return np.zeros((1, 1), x.dtype)
    places = np.full((rows, rows), count)
    first, second = np.triu_indices(rows, 1)
    places[first, second] = places[second, first] = np.arange(count)
    return np.concatenate([x, np.zeros(1, x.dtype)])[places]


def _to_vector(X: Any, checks: bool) -> Any:
    rows, columns = shape_of(X)
    if rows != columns:
        raise ShapeError(message("squareform", "a square matrix is required", show(X)))
    values = concrete(X) if checks else None
    if values is not None and not (np.allclose(values, values.T) and np.all(np.diag(values) == 0)):
        requirement = "the matrix must be symmetric, with a diagonal of zeros"
        raise ShapeError(message("squareform", requirement, show(X)))
    return X[np.triu_indices(rows, 1)]


@substitutes("scipy.spatial.distance_matrix")
def distance_matrix(x: Any, y: Any, p: Any = 2, threshold: int = 1000000) -> Any:
    """Return the Minkowski distance of each row of one matrix to each row of another.

    ``threshold``: without effect.

    Raises:
        ShapeError: the arguments are not matrices with the same number of columns.

    Example:
        >>> distance_matrix([[0.0, 0.0]], [[3.0, 4.0]], p=1)
        array([[7.]])
    """
    return cdist(x, y, "minkowski", p=p)
