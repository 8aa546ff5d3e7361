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

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.arithmetic import smooth_magnitude
from wengert.engine.ops.comparison import equal, where
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import log, power
from wengert.engine.ops.special.error_and_gamma import root, root_of_order
from wengert.numpy.linear_algebra import inv
from wengert.numpy.registry import is_box, rank_of
from wengert.scipy.registry import array, doubles, others_of

__all__ = [
    "braycurtis", "canberra", "cdist", "chebyshev", "cityblock", "correlation", "cosine", "euclidean",
    "jensenshannon", "mahalanobis", "minkowski", "pdist", "seuclidean", "sqeuclidean", "squareform",
]  # fmt: skip
__dir__ = __all__.copy
__getattr__ = others_of(__name__)


# -- metrics on vectors along the last axis, with broadcasting -------------------------------------------


def _sum(x: Any, w: Any) -> Any:
    return np.sum(x if w is None else w * x, -1)


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    difference = u - v
    return _sum(difference * difference, w)


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return root(_sqeuclidean(u, v, w))


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return _sum(np.abs(u - v), w)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    distances = np.abs(u - v)
    if w is not None:
        distances = where(w > 0, distances, 0.0)
    return np.max(distances, -1, initial=0.0)


def _minkowski(u: Any, v: Any, w: Any = None, p: Any = 2) -> Any:
    if not is_box(p):
        if p <= 0:
            raise ArgumentError(message("minkowski", "p must be greater than 0", repr(p)))
        if p in (1, 2, math.inf):
            return {1: _cityblock, 2: _euclidean, math.inf: _chebyshev}[p](u, v, w)
    return root_of_order(_sum(_positive_power(smooth_magnitude(u - v, p), p), w), p)


def _positive_power(x: Any, p: Any) -> Any:
    """Return ``x^p`` for x >= 0, with derivative 0 at 0."""
    zero = equal(x, 0)
    return where(zero, 0.0, power(where(zero, 1.0, x), p * 1.0))


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    product = _sum(u * v, w) / (np.sqrt(_sum(u * u, w)) * np.sqrt(_sum(v * v, w)))
    inside = stop_gradient(np.clip(product, -1.0, 1.0) - product)  # against rounding; the derivative stays
    return 1.0 - (product + inside)


def _centred(x: Any, w: Any) -> Any:
    mean = np.mean(x, -1, keepdims=True) if w is None else np.sum(w * x, -1, keepdims=True) / np.sum(w)
    return x - mean


def _correlation(u: Any, v: Any, w: Any = None) -> Any:
    return _cosine(_centred(u, w), _centred(v, w), w)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    size = np.abs(u) + np.abs(v)
    zero = equal(size, 0)
    return _sum(where(zero, 0.0, np.abs(u - v) / where(zero, 1.0, size)), w)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return _sum(np.abs(u - v), w) / _sum(np.abs(u + v), w)


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    difference = u - v
    return root(np.sum(np.matmul(difference, VI) * difference, -1))


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    difference = u - v
    return root(np.sum(difference * difference / V, -1))


def _relative_entropy(x: Any, y: Any, axis: int, keepdims: bool) -> Any:
    zero = equal(x, 0)
    ratio = where(zero, 1.0, x) / where(zero, 1.0, y)
    return np.sum(where(zero, 0.0, x * log(ratio)), axis, keepdims=keepdims)


def _jensenshannon(u: Any, v: Any, base: Any = None, axis: int = -1, keepdims: bool = False) -> Any:
    u, v = u / np.sum(u, axis, keepdims=True), v / np.sum(v, axis, keepdims=True)
    middle = (u + v) / 2.0
    total = _relative_entropy(u, middle, axis, keepdims) + _relative_entropy(v, middle, axis, keepdims)
    if base is not None:
        total = total / np.log(base)
    total = where(total < 0, 0.0, total)  # of equal vectors, after rounding
    return root(total / 2.0)


_METRICS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "braycurtis": (_braycurtis, ("w",)),
    "canberra": (_canberra, ("w",)),
    "chebyshev": (_chebyshev, ("w",)),
    "cityblock": (_cityblock, ("w",)),
    "correlation": (_correlation, ("w",)),
    "cosine": (_cosine, ("w",)),
    "euclidean": (_euclidean, ("w",)),
    "jensenshannon": (_jensenshannon, ()),
    "mahalanobis": (_mahalanobis, ("VI",)),
    "minkowski": (_minkowski, ("p", "w")),
    "seuclidean": (_seuclidean, ("V",)),
    "sqeuclidean": (_sqeuclidean, ("w",)),
}
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
    function, names = _METRICS[name]
    unknown = [option for option in options if option not in names]
    if unknown:
        requirement = f"{name} takes {' and '.join(names) or 'no options'}"
        raise ArgumentError(message(operation, requirement, f"{unknown[0]}="))
    given = {option: _option(option, value) for option, value in options.items() if value is not None}
    if name == "seuclidean" and "V" not in given:
        given["V"] = np.var(points(), axis=0, ddof=1)
    if name == "mahalanobis" and "VI" not in given:
        given["VI"] = np.swapaxes(inv(np.cov(np.swapaxes(points(), 0, 1))), 0, 1)
    return function(u, v, **given)


def _option(name: str, value: Any) -> Any:
    if name == "p":
        return value
    if name == "w" and (known := concrete(value)) is not None and np.any(np.asarray(known) < 0):
        raise ArgumentError(message("distance", "weights must not be negative", repr(known)))
    return doubles(value)


def _called(metric: Callable[..., Any], u: Any, v: Any, options: dict[str, Any]) -> Any:
    """Call a function of two vectors for each pair."""
    u, v = np.broadcast_arrays(u, v)
    lead = shape_of(u)[:-1]
    found = [metric(u[place], v[place], **options) for place in np.ndindex(lead)]
    return np.reshape(np.stack([doubles(one) for one in found]), lead) if found else np.zeros(lead)


# -- distances of many vectors ---------------------------------------------------------------------------


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


# -- distances of two vectors ----------------------------------------------------------------------------


def _pair(operation: str, u: Any, v: Any, w: Any = None) -> list[Any]:
    """Return two vectors, and weights if they are given."""
    vectors = [doubles(u), doubles(v)]
    if any(rank_of(x) != 1 for x in vectors) or shape_of(vectors[0]) != shape_of(vectors[1]):
        raise ShapeError(message(operation, "two vectors of one length are required", show(*vectors)))
    return vectors if w is None else [*vectors, _option("w", w)]


@substitutes("scipy.spatial.distance.euclidean")
def euclidean(u: Any, v: Any, w: Any = None) -> Any:
    """Return ``sqrt(sum w (u - v)^2)``; its derivative is 0 where u = v.

    Example:
        >>> float(euclidean([0.0, 0.0], [3.0, 4.0]))
        5.0
    """
    return _euclidean(*_pair("euclidean", u, v, w))


@substitutes("scipy.spatial.distance.sqeuclidean")
def sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    """Return ``sum w (u - v)^2``.

    Example:
        >>> float(sqeuclidean([0.0, 0.0], [3.0, 4.0]))
        25.0
    """
    return _sqeuclidean(*_pair("sqeuclidean", u, v, w))


@substitutes("scipy.spatial.distance.cityblock")
def cityblock(u: Any, v: Any, w: Any = None) -> Any:
    """Return ``sum w |u - v|``; the derivative of an element's term is 0 where u = v.

    Example:
        >>> float(cityblock([0.0, 0.0], [3.0, 4.0]))
        7.0
    """
    return _cityblock(*_pair("cityblock", u, v, w))


@substitutes("scipy.spatial.distance.chebyshev")
def chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    """Return the largest ``|u - v|`` among the elements with a positive weight.

    Example:
        >>> float(chebyshev([0.0, 0.0], [3.0, 4.0]))
        4.0
    """
    return _chebyshev(*_pair("chebyshev", u, v, w))


@substitutes("scipy.spatial.distance.minkowski")
def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    """Return ``(sum w |u - v|^p)^(1/p)``; its derivative is 0 where u = v.

    Raises:
        ArgumentError: p is not above 0.

    Example:
        >>> float(minkowski([0.0, 0.0], [3.0, 4.0], 1))
        7.0
    """
    u, v, *weights = _pair("minkowski", u, v, w)
    return _minkowski(u, v, *weights, p=p)


@substitutes("scipy.spatial.distance.cosine")
def cosine(u: Any, v: Any, w: Any = None) -> Any:
    """Return ``1 - u.v / (|u| |v|)``, with weights in each product.

    Example:
        >>> float(cosine([1.0, 0.0], [0.0, 1.0]))
        1.0
    """
    return _cosine(*_pair("cosine", u, v, w))


@substitutes("scipy.spatial.distance.correlation")
def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    """Return the cosine distance of two vectors without their means.

    Example:
        >>> print(f"{correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]):.4f}")
        2.0000
    """
    vectors = _pair("correlation", u, v, w)
    return (_correlation if centered else _cosine)(*vectors)


@substitutes("scipy.spatial.distance.canberra")
def canberra(u: Any, v: Any, w: Any = None) -> Any:
    """Return ``sum w |u - v| / (|u| + |v|)``; the term of two zeros is 0.

    Example:
        >>> float(canberra([1.0, 0.0], [3.0, 0.0]))
        0.5
    """
    return _canberra(*_pair("canberra", u, v, w))


@substitutes("scipy.spatial.distance.braycurtis")
def braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    """Return ``sum w |u - v| / sum w |u + v|``.

    Example:
        >>> float(braycurtis([1.0, 0.0], [3.0, 0.0]))
        0.5
    """
    return _braycurtis(*_pair("braycurtis", u, v, w))


@substitutes("scipy.spatial.distance.mahalanobis")
def mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    """Return ``sqrt((u - v)^T VI (u - v))``; its derivative is 0 where that is 0.

    Example:
        >>> float(mahalanobis([0.0, 0.0], [3.0, 4.0], np.eye(2)))
        5.0
    """
    u, v = _pair("mahalanobis", u, v)
    return _mahalanobis(u, v, doubles(VI))


@substitutes("scipy.spatial.distance.seuclidean")
def seuclidean(u: Any, v: Any, V: Any) -> Any:
    """Return ``sqrt(sum (u - v)^2 / V)``; its derivative is 0 where u = v.

    Example:
        >>> float(seuclidean([0.0, 0.0], [3.0, 4.0], [1.0, 1.0]))
        5.0
    """
    u, v = _pair("seuclidean", u, v)
    return _seuclidean(u, v, doubles(V))


@substitutes("scipy.spatial.distance.jensenshannon")
def jensenshannon(p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False) -> Any:
    """Return the square root of Jensen and Shannon's divergence of two distributions; its derivative at 0 is 0.

    Example:
        >>> float(jensenshannon([1.0, 0.0], [0.0, 1.0], 2.0))
        1.0
    """
    p, q = doubles(p), doubles(q)
    return _jensenshannon(p, q, base, axis, keepdims)


_OF_VECTORS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(braycurtis, canberra, chebyshev, cityblock, correlation, cosine, euclidean),
        *(jensenshannon, mahalanobis, minkowski, seuclidean, sqeuclidean),
    )
}
