"""`scipy.spatial.transform` for values inside transforms: rotations in three dimensions.

A rotation is a unit quaternion (x, y, z, w). Its derivatives are finite at the identity, where angles and axes alone
have none: a rotation vector enters as a function of the square of its length.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> point = np.array([1.0, 0.0, 0.0])
    >>> wg.jacobian(lambda v: Rotation.from_rotvec(v).apply(point))(np.zeros(3))  # v x point
    array([[ 0.,  0.,  0.],
           [ 0.,  0.,  1.],
           [ 0., -1.,  0.]])
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.errors import ArgumentError, ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.indexing import gather
from wengert.numpy.registry import rank_of
from wengert.scipy.interpolate.piecewise import check_rising, interval, outside
from wengert.scipy.registry import doubles, others_of

__all__ = ["Rotation", "Slerp"]
__dir__ = __all__.copy
__getattr__ = others_of(__name__)

_SMALL = 1e-2
_TERMS = 8
"""So many terms of a power series give all digits of a function and its first derivatives below `_SMALL`."""
_LOCKED = 1e-7
"""SciPy's bound in radians: closer to 0 or pi, the middle one of Euler's angles leaves the sum of the others only."""
_HALF_TURN = 180.0 / math.pi


def _of_square(square: Any, terms: Sequence[float], function: Callable[[Any], Any]) -> Any:
    """Return a function of a root that is analytic in the square: near 0 by its power series."""
    is_small = square < _SMALL
    near = where(is_small, square, 0.0)
    series: Any = terms[-1]
    for term in reversed(terms[:-1]):
        series = term + near * series
    return where(is_small, series, function(np.sqrt(where(is_small, 1.0, square))))


_SINE = [0.5 * (-0.25) ** k / math.factorial(2 * k + 1) for k in range(_TERMS)]
_COSINE = [(-0.25) ** k / math.factorial(2 * k) for k in range(_TERMS)]
_ARCTANGENT = [(-1.0) ** k / (2 * k + 1) for k in range(_TERMS)]


def _with_axis(operation: str, values: Any, *extents: int) -> Any:
    """Return values in double precision whose last axes have the given extents."""
    values = doubles(values)
    if shape_of(values)[-len(extents) :] != extents:
        requirement = f"the last axes must have the extents {extents}"
        raise ShapeError(message(f"Rotation.{operation}", requirement, show(values)))
    return values


def _unit(q: Any) -> Any:
    length = np.sqrt(np.sum(q * q, -1, keepdims=True))
    known = concrete(length)
    if known is not None and not np.all(known):
        raise ArgumentError(message("Rotation.from_quat", "quaternions must not be 0", show(q)))
    return q / length


def _composed(p: Any, q: Any) -> Any:
    """Return Hamilton's product."""
    a, b = p[..., 3:], q[..., 3:]
    u, v = p[..., :3], q[..., :3]
    axis = a * v + b * u + np.cross(u, v)
    return np.concatenate([axis, a * b - np.sum(u * v, -1, keepdims=True)], -1)


def _about(axis: int, angle: Any) -> Any:
    """Return the quaternions of turns about an axis of coordinates."""
    zero = 0.0 * angle
    parts = [zero, zero, zero, np.cos(0.5 * angle)]
    parts[axis] = np.sin(0.5 * angle)
    return np.stack(parts, -1)


def _nearest_orthogonal(m: Any) -> Any:
    """Return the orthogonal factors of matrices, by Newton's iteration with scaling by determinants.

    Source: Higham, "Computing the polar decomposition, with applications" (1986).
    """
    for _ in range(10):
        a, b, c = (m[..., row, :] for row in range(3))
        cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], -2)
        determinant = np.sum(a * cofactors[..., 0, :], -1)
        known = concrete(determinant)
        if known is not None and not np.all(known > 0.0):
            raise ArgumentError(
                message("Rotation.from_matrix", "positive determinants are required", show(m))
            )
        scale = np.cbrt(determinant)[..., None, None]
        m = 0.5 * (m / scale + cofactors * (scale / determinant[..., None, None]))
    return m


def _of_orthogonal(m: Any) -> Any:
    """Return the quaternions of rotation matrices, from the largest of their four elements."""
    diagonal = [m[..., i, i] for i in range(3)]
    trace = diagonal[0] + diagonal[1] + diagonal[2]
    choices: list[Any] = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts: list[Any] = [None, None, None, m[..., k, j] - m[..., j, k]]
        parts[i] = 1.0 - trace + 2.0 * diagonal[i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        choices.append(np.stack(parts, -1))
    axis = [m[..., (i + 2) % 3, (i + 1) % 3] - m[..., (i + 1) % 3, (i + 2) % 3] for i in range(3)]
    q, largest = np.stack([*axis, 1.0 + trace], -1), trace
    for choice, element in zip(choices, diagonal, strict=True):
        is_larger = element > largest
        q = where(is_larger[..., None], choice, q)
        largest = where(is_larger, element, largest)
    return _unit(q)


def _axes(seq: Any) -> tuple[list[int], bool]:
    """Return the numbers of the axes of a sequence, and whether they turn with the body."""
    is_known = isinstance(seq, str) and 1 <= len(seq) <= 3
    if not is_known or not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        requirement = "the axes must be one to three of xyz, or of XYZ for axes that turn with the body"
        raise ArgumentError(message("Rotation", requirement, repr(seq)))
    if any(a == b for a, b in itertools.pairwise(seq)):
        raise ArgumentError(message("Rotation", "neighbouring axes must differ", repr(seq)))
    return ["xyz".index(axis) for axis in seq.lower()], seq.isupper()


def _refused(name: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: Any, **named: Any) -> NoReturn:
        hint = "call it outside of transforms, or write it with as_matrix and from_matrix"
        raise UnsupportedError(message(f"Rotation.{name}", "the method is not followed", hint=hint))

    refuse.__name__ = name
    refuse.__doc__ = "Raise `UnsupportedError`."
    return refuse


@substitutes("scipy.spatial.transform.Rotation")
class Rotation:
    """One rotation, or an array of rotations; all that makes one, and what it acts on, has derivatives.

    The quaternion of a matrix is that of the nearest rotation. Where the middle one of three Euler angles hides a
    degree of freedom (gimbal lock), the third angle is 0, as in SciPy, and has no derivative. `magnitude` has the
    derivative 0 at the identity, the subgradient of least norm.

    Raises:
        ShapeError: a shape does not fit.
        ArgumentError: a quaternion is 0, a determinant is not positive, or axes are unknown.
        UnsupportedError: of `align_vectors`, `mean`, `reduce`, `from_davenport` and `as_davenport`.

    Example:
        >>> Rotation.from_euler("z", 90.0, degrees=True).apply([1.0, 2.0, 3.0]).round(9)
        array([-2.,  1.,  3.])
    """

    def __init__(
        self, quat: Any, normalize: bool = True, copy: bool = True, scalar_first: bool = False
    ) -> None:
        q = _with_axis("from_quat", quat, 4)
        if scalar_first:
            q = np.concatenate([q[..., 1:], q[..., :1]], -1)
        self._q = _unit(q) if normalize else q

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the rotations of an object of SciPy's."""
        return cls(theirs.as_quat(), normalize=False)

    # -- makers ------------------------------------------------------------------------------------------

    @classmethod
    def from_quat(cls, quat: Any, *, scalar_first: bool = False) -> Any:
        """Return rotations by quaternions (x, y, z, w), of any length but 0."""
        return cls(quat, scalar_first=scalar_first)

    @classmethod
    def from_matrix(cls, matrix: Any, *, assume_valid: bool = False) -> Any:
        """Return the rotations nearest to matrices of positive determinant."""
        m = _with_axis("from_matrix", matrix, 3, 3)
        return cls(_of_orthogonal(m if assume_valid else _nearest_orthogonal(m)), normalize=False)

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Any:
        """Return rotations about vectors by their lengths."""
        v = _with_axis("from_rotvec", rotvec, 3)
        v = v / _HALF_TURN if degrees else v
        square = np.sum(v * v, -1, keepdims=True)
        scale = _of_square(square, _SINE, lambda angle: np.sin(0.5 * angle) / angle)
        w = _of_square(square, _COSINE, lambda angle: np.cos(0.5 * angle))
        return cls(np.concatenate([v * scale, w], -1), normalize=False)

    @classmethod
    def from_mrp(cls, mrp: Any) -> Any:
        """Return rotations by modified Rodrigues parameters, ``tan(angle / 4)`` times the axis."""
        m = _with_axis("from_mrp", mrp, 3)
        square = np.sum(m * m, -1, keepdims=True)
        return cls(np.concatenate([2.0 * m, 1.0 - square], -1) / (1.0 + square), normalize=False)

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Any:
        """Return compositions of turns about axes of coordinates, fixed ("xyz") or turned with the body ("XYZ")."""
        axes, is_intrinsic = _axes(seq)
        angles = doubles(angles)
        angles = angles / _HALF_TURN if degrees else angles
        if len(axes) == 1 and shape_of(angles)[-1:] != (1,):
            angles = angles[..., None]
        if shape_of(angles)[-1:] != (len(axes),):
            requirement = f"an angle for each of {len(axes)} axes is required"
            raise ShapeError(message("Rotation.from_euler", requirement, show(angles)))
        q = _about(axes[0], angles[..., 0])
        for place, axis in enumerate(axes[1:], 1):
            turn = _about(axis, angles[..., place])
            q = _composed(q, turn) if is_intrinsic else _composed(turn, q)
        return cls(q, normalize=False)

    @classmethod
    def identity(cls, num: Any = None, *, shape: Any = None) -> Any:
        """Return rotations that leave vectors as they are."""
        extents = shape if shape is not None else () if num is None else num
        extents = (extents,) if isinstance(extents, int) else tuple(extents)
        return cls(np.zeros((*extents, 4)) + np.array([0.0, 0.0, 0.0, 1.0]), normalize=False)

    @classmethod
    def random(cls, *arguments: Any, **named: Any) -> Any:
        """Return rotations that SciPy draws."""
        from scipy.spatial import transform

        return cls.of_scipys(transform.Rotation.random(*arguments, **named))

    @classmethod
    def concatenate(cls, rotations: Any) -> Any:
        """Return an array of rotations, from single ones and arrays."""
        if isinstance(rotations, Rotation):
            return rotations
        rows = [rotation._q[None] if rotation.single else rotation._q for rotation in rotations]
        return cls(np.concatenate(rows), normalize=False)

    # -- descriptions ------------------------------------------------------------------------------------

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        """Return unit quaternions (x, y, z, w); canonical ones have the first of w, x, y, z positive that is not 0."""
        q = self._q
        if canonical:
            sign = 0.0 * q[..., 3]
            for part in (3, 0, 1, 2):
                sign = where(sign == 0.0, np.sign(q[..., part]), sign)
            q = q * sign[..., None]
        return np.concatenate([q[..., 3:], q[..., :3]], -1) if scalar_first else q

    def as_matrix(self) -> Any:
        """Return orthogonal matrices."""
        x, y, z, w = (self._q[..., part] for part in range(4))
        rows = (
            (x * x - y * y - z * z + w * w, 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
            (2.0 * (x * y + z * w), y * y - x * x - z * z + w * w, 2.0 * (y * z - x * w)),
            (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), z * z - x * x - y * y + w * w),
        )
        return np.stack([np.stack(row, -1) for row in rows], -2)

    def _short(self) -> tuple[Any, Any]:
        """Return the axis and the element w >= 0 of the quaternion whose angle is at most pi."""
        u, w = self._q[..., :3], self._q[..., 3:]
        return where(w < 0.0, -u, u), np.abs(w)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Return axes times angles between 0 and pi."""
        u, w = self._short()
        square = np.sum(u * u, -1, keepdims=True)
        positive = where(w > 0.0, w, 1.0)
        ratio = where(w > 0.5, square / (positive * positive), 1.0)
        near = _of_square(ratio, _ARCTANGENT, lambda r: np.arctan(r) / r) / positive
        sine = np.sqrt(where(w > 0.5, 1.0, square))
        scale = 2.0 * where(w > 0.5, near, np.arctan2(sine, w) / sine)
        return u * scale * (_HALF_TURN if degrees else 1.0)

    def as_mrp(self) -> Any:
        """Return modified Rodrigues parameters of length at most 1."""
        u, w = self._short()
        return u / (1.0 + w)

    def as_euler(self, seq: str, degrees: bool = False, *, suppress_warnings: bool = False) -> Any:
        """Return angles of turns about three axes.

        Source: Bernardes and Viollet, "Quaternion to Euler angles conversion: a direct, general and computationally
        efficient method" (2022).
        """
        axes, is_intrinsic = _axes(seq)
        if len(axes) != 3:
            raise ArgumentError(message("Rotation.as_euler", "three axes are required", repr(seq)))
        i, j, k = reversed(axes) if is_intrinsic else axes
        is_symmetric = i == k
        k = 3 - i - j if is_symmetric else k
        sign = (i - j) * (j - k) * (k - i) / 2.0
        q = self._q
        a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
        if not is_symmetric:
            a, b, c, d = a - c, b + d, c + a, d - b
        middle = 2.0 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
        total, difference = np.arctan2(b, a), np.arctan2(d, c)
        first, third = total - difference, total + difference
        angles = [third, middle, first] if is_intrinsic else [first, middle, third]
        is_zero, is_straight = np.abs(middle) <= _LOCKED, np.abs(middle - np.pi) <= _LOCKED
        whole = where(is_zero, 2.0 * total, 2.0 * difference * (1.0 if is_intrinsic else -1.0))
        is_locked = np.logical_or(is_zero, is_straight)
        angles[0] = where(is_locked, whole, angles[0])
        angles[2] = where(is_locked, 0.0, angles[2])
        if not is_symmetric:
            angles[0 if is_intrinsic else 2] = angles[0 if is_intrinsic else 2] * sign
            angles[1] = middle - 0.5 * np.pi
        turned = np.stack(angles, -1)
        turned = where(
            turned < -np.pi, turned + 2.0 * np.pi, where(turned > np.pi, turned - 2.0 * np.pi, turned)
        )
        return turned * (_HALF_TURN if degrees else 1.0)

    def magnitude(self) -> Any:
        """Return angles between 0 and pi."""
        u, w = self._short()
        return 2.0 * np.arctan2(np.linalg.norm(u, axis=-1), w[..., 0])

    def approx_equal(self, other: Any, atol: Any = None, degrees: bool = False) -> Any:
        """Return whether angles between rotations are smaller than ``atol``."""
        limit = 1e-8 if atol is None else atol / _HALF_TURN if degrees else atol
        return (other * self.inv()).magnitude() < limit

    # -- uses --------------------------------------------------------------------------------------------

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Return turned vectors; rotations and vectors are broadcast."""
        m, v = self.as_matrix(), _with_axis("apply", vectors, 3)
        return np.matmul(np.swapaxes(m, -1, -2) if inverse else m, v[..., None])[..., 0]

    def inv(self) -> Any:
        """Return the inverse rotations."""
        return type(self)(self._q * np.array([-1.0, -1.0, -1.0, 1.0]), normalize=False)

    def __mul__(self, other: Any) -> Any:
        return type(self)(_composed(self._q, other._q), normalize=False)

    def __pow__(self, n: Any, modulus: Any = None) -> Any:
        return type(self).from_rotvec(n * self.as_rotvec())

    @property
    def single(self) -> bool:
        """Whether this is one rotation, not an array."""
        return rank_of(self._q) == 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array of rotations."""
        return shape_of(self._q)[:-1]

    def __len__(self) -> int:
        if self.single:
            raise TypeError("a single rotation has no len()")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        if self.single:
            raise TypeError("a single rotation has no elements")
        return type(self)(self._q[index], normalize=False)

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    align_vectors, mean, reduce = _refused("align_vectors"), _refused("mean"), _refused("reduce")
    from_davenport, as_davenport = _refused("from_davenport"), _refused("as_davenport")


@substitutes("scipy.spatial.transform.Slerp")
class Slerp:
    """Interpolation of rotations at a constant angular velocity between neighbours.

    Rotations, times and points have derivatives.

    Raises:
        ShapeError: there are fewer than two rotations, or other times.
        ArgumentError: the times do not rise, or a known point lies outside of them; one that is not known gives NaN.

    Example:
        >>> turns = Rotation.from_rotvec([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        >>> Slerp([0.0, 1.0], turns)(0.25).as_rotvec()
        array([0.  , 0.  , 0.25])
    """

    def __init__(self, times: Any, rotations: Any) -> None:
        self.times = doubles(times)
        count = 0 if rotations.single else len(rotations)
        if count < 2 or shape_of(self.times) != (count,):
            requirement = "at least two rotations and a time for each are required"
            raise ShapeError(message("Slerp", requirement, f"{count} rotations and {show(self.times)}"))
        check_rising("Slerp", self.times)
        self.rotations = rotations
        self._steps = (rotations[:-1].inv() * rotations[1:]).as_rotvec()

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the interpolation of an object of SciPy's."""
        starts = Rotation.of_scipys(theirs.rotations)
        end = starts[-1] * Rotation.from_rotvec(theirs.rotvecs[-1])
        return cls(theirs.times, Rotation.concatenate([starts, end]))

    def __call__(self, times: Any) -> Any:
        """Return the rotations at times."""
        points = doubles(times)
        flat = np.reshape(points, (-1,))
        is_outside = outside(flat, self.times[0], self.times[-1])
        flags = concrete(is_outside)
        if flags is not None and np.any(flags):
            requirement = "the points must lie between the first and the last time"
            raise ArgumentError(message("Slerp", requirement, show(points)))
        number = interval(self.times, flat)
        start = gather(self.times, number)
        share = (flat - start) / (gather(self.times, number + 1) - start)
        share = where(is_outside, np.nan, share)
        turn = Rotation.from_rotvec(gather(self._steps, number) * share[:, None])
        found = Rotation(gather(self.rotations.as_quat(), number), normalize=False) * turn
        return found if rank_of(points) else found[0]
