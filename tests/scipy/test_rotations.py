"""`wengert.scipy.spatial.transform` against SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.scipy.spatial.transform import Rotation, Slerp

theirs: Any = pytest.importorskip("scipy.spatial.transform")

SEQUENCES = [a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if a != b != c]
SEQUENCES += [seq.upper() for seq in SEQUENCES]


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


MAKERS: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "quat": (lambda R, x: R.from_quat(x), (4,)),
    "quat first": (lambda R, x: R.from_quat(x[..., [3, 0, 1, 2]]), (4,)),
    "rotvec": (lambda R, x: R.from_rotvec(x), (3,)),
    "rotvec degrees": (lambda R, x: R.from_rotvec(90 * x, degrees=True), (3,)),
    "mrp": (lambda R, x: R.from_mrp(x), (3,)),
    "euler": (lambda R, x: R.from_euler("xyz", x), (3,)),
    "euler of two": (lambda R, x: R.from_euler("ZX", 50 * x, degrees=True), (2,)),
    "euler of one": (lambda R, x: R.from_euler("y", x), (1,)),
    "matrix": (lambda R, x: R.from_matrix(np.eye(3) + 0.2 * x.reshape(*x.shape[:-1], 3, 3)), (9,)),
}
USES: dict[str, Callable[[Any], Any]] = {
    "quat": lambda r: r.as_quat(canonical=True),
    "matrix": lambda r: r.as_matrix(),
    "rotvec": lambda r: r.as_rotvec(),
    "rotvec degrees": lambda r: r.as_rotvec(degrees=True),
    "mrp": lambda r: r.as_mrp(),
    "euler": lambda r: r.as_euler("xyz"),
    "euler intrinsic": lambda r: r.as_euler("ZYX", degrees=True),
    "euler symmetric": lambda r: r.as_euler("zxz"),
    "magnitude": lambda r: r.magnitude(),
    "apply": lambda r: r.apply([1.0, -2.0, 0.5]),
    "apply inverse": lambda r: r.apply([1.0, -2.0, 0.5], inverse=True),
    "inverse": lambda r: (r.inv() * r * r).as_matrix(),
    "power": lambda r: (r**0.3).as_matrix(),
}


@pytest.mark.parametrize(
    ("maker", "use"), [*((maker, "matrix") for maker in MAKERS), *(("rotvec", use) for use in USES)]
)
@pytest.mark.parametrize("rows", [(), (4,)])
def test_values_and_derivatives(maker: str, use: str, rows: tuple[int, ...]) -> None:
    make, extents = MAKERS[maker]
    x = drawn(hash_of(maker, use), *rows, *extents)

    def program(x: Any) -> Any:
        return USES[use](make(theirs.Rotation, x))

    expected = program(x)
    np.testing.assert_allclose(USES[use](make(Rotation, x)), expected, rtol=1e-12, atol=1e-13)
    v = drawn(1, *x.shape)
    step = 1e-5
    value, tangent = wg.jvp(program, (x,), (v,))
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-13)
    difference = (program(x + step * v) - program(x - step * v)) / (2 * step)
    np.testing.assert_allclose(tangent, difference, rtol=1e-5, atol=1e-7 * (1 + np.abs(difference).max()))
    weights = drawn(2, *np.shape(expected))
    slope = wg.jit(wg.grad(lambda x: np.sum(weights * program(x))))(x)
    assert np.sum(slope * v) == pytest.approx(np.sum(weights * tangent), rel=1e-9, abs=1e-9)


def hash_of(*names: str) -> int:
    return sum(map(ord, "".join(names)))


@pytest.mark.parametrize("seq", SEQUENCES)
def test_euler_angles_come_back(seq: str) -> None:
    r = theirs.Rotation.from_quat(drawn(3, 20, 4))
    ours = Rotation.from_quat(r.as_quat())
    np.testing.assert_allclose(ours.as_euler(seq), r.as_euler(seq), rtol=1e-10, atol=1e-12)
    back = Rotation.from_euler(seq, ours.as_euler(seq))
    np.testing.assert_allclose(back.as_matrix(), r.as_matrix(), atol=1e-13)


@pytest.mark.filterwarnings("ignore:Gimbal lock")
@pytest.mark.parametrize("seq", SEQUENCES)
def test_locked_angles_are_scipys(seq: str) -> None:
    locked = (0.0, np.pi) if seq[0] == seq[2] else (-np.pi / 2, np.pi / 2)
    for middle in locked:
        r = theirs.Rotation.from_euler(seq, [0.3, middle, -1.1])
        found = Rotation.from_quat(r.as_quat()).as_euler(seq)
        np.testing.assert_allclose(found, r.as_euler(seq), atol=1e-7)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-12, 1e-4, 0.0999, 0.1001, 1.5, 3.1, np.pi - 1e-9])
def test_vectors_of_all_lengths_come_back_with_their_derivatives(size: float) -> None:
    axis = np.array([2.0, -1.0, 2.0]) / 3.0

    def there_and_back(v: Any) -> Any:
        return Rotation.from_rotvec(v).as_rotvec()

    v = size * axis
    np.testing.assert_allclose(there_and_back(v), v, rtol=1e-12)
    np.testing.assert_allclose(wg.jacobian(there_and_back)(v), np.eye(3), atol=1e-9)
    second = wg.jacobian(wg.jacobian(there_and_back))(v)
    np.testing.assert_allclose(second, np.zeros((3, 3, 3)), atol=1e-6)


def test_second_derivatives_at_the_identity() -> None:
    """The exponential is ``1 + K + K^2 / 2 + ...`` with ``K x = v x``."""
    x = np.array([1.0, -2.0, 0.5])
    second = wg.hessian(lambda v: Rotation.from_rotvec(v).apply(x)[0])(np.zeros(3))
    # (v (v x) - x v^2) / 2 in its first element
    expected = np.array([[0.0, x[1], x[2]], [x[1], -2 * x[0], 0.0], [x[2], 0.0, -2 * x[0]]]) / 2
    np.testing.assert_allclose(second, expected, atol=1e-12)
    assert np.isfinite(wg.grad(lambda v: Rotation.from_rotvec(v).magnitude())(np.zeros(3))).all()


@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e8])
def test_matrices_give_the_nearest_rotation(scale: float) -> None:
    for seed in range(20):
        m = drawn(seed, 3, 3)
        m = m * np.sign(np.linalg.det(m)) @ np.diag([1.0, 1.0, scale])
        u, _, vh = np.linalg.svd(m)
        np.testing.assert_allclose(
            Rotation.from_matrix(m).as_matrix(), u @ vh, atol=1e-15 * np.linalg.cond(m) + 1e-14
        )


def test_interpolation() -> None:
    times, x = np.array([0.0, 1.0, 3.0]), drawn(5, 3, 3)
    points = np.array([0.0, 0.3, 1.0, 2.2, 3.0])

    def program(x: Any, times: Any, points: Any) -> Any:
        return np.sum(np.sin(theirs.Slerp(times, theirs.Rotation.from_rotvec(x))(points).as_matrix()))

    expected = program(x, times, points)
    ours = Slerp(times, Rotation.from_rotvec(x))(points).as_matrix()
    assert np.sum(np.sin(ours)) == pytest.approx(expected, rel=1e-12)
    moved = np.array([0.1, 0.3, 1.1, 2.2, 2.9])
    slopes = wg.jit(wg.grad(program, argnums=(0, 1, 2)))(x, times, moved)
    for place, slope in enumerate(slopes):
        values = [x, times, moved]
        v = drawn(6, *values[place].shape)
        ends: list[float] = []
        for step in (1e-6, -1e-6):
            changed = list(values)
            changed[place] = changed[place] + step * v
            ends.append(program(*changed))
        assert np.sum(slope * v) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-8)


def test_objects_of_scipys_enter_a_followed_program() -> None:
    turns = theirs.Rotation.from_quat(drawn(7, 3, 4))
    between = theirs.Slerp([0.0, 1.0, 2.0], turns)

    def program(v: Any, t: Any) -> Any:
        moved = turns[1:] * theirs.Rotation.from_rotvec(v)
        return np.sum(moved.apply([1.0, 2.0, 3.0])[0]) + between(t).magnitude()

    v, t = drawn(8, 3), 1.3
    value, (slope, in_time) = wg.value_and_grad(program, argnums=(0, 1))(v, t)
    assert value == pytest.approx(program(v, t))
    assert in_time == pytest.approx((program(v, t + 1e-6) - program(v, t - 1e-6)) / 2e-6, rel=1e-6)
    step = np.array([1e-6, 0.0, 0.0])
    assert slope[0] == pytest.approx((program(v + step, t) - program(v - step, t)) / 2e-6, rel=1e-6)


def test_elements_and_arrays() -> None:
    turns = Rotation.from_rotvec(drawn(9, 3, 3))
    assert len(turns) == 3
    assert turns.shape == (3,)
    assert not turns.single
    assert [turn.single for turn in turns] == [True] * 3
    joined = Rotation.concatenate([turns[0], turns[1:]])
    assert np.all(joined.approx_equal(turns))
    np.testing.assert_array_equal(Rotation.identity().apply([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0])
    assert Rotation.identity(2).shape == (2,)
    assert Rotation.random(4).shape == (4,)
    by_vmap = wg.vmap(lambda v: Rotation.from_rotvec(v).as_matrix())(drawn(9, 3, 3))
    np.testing.assert_allclose(by_vmap, turns.as_matrix(), atol=1e-15)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Rotation.from_quat([0.0, 0.0, 0.0, 0.0]), "must not be 0"),
        (lambda: Rotation.from_quat([0.0, 1.0, 0.0]), r"extents \(4,\)"),
        (lambda: Rotation.from_matrix(-np.eye(3)), "positive determinants"),
        (lambda: Rotation.from_euler("xyy", [0.0, 1.0, 2.0]), "neighbouring axes must differ"),
        (lambda: Rotation.from_euler("xYz", [0.0, 1.0, 2.0]), "one to three of xyz"),
        (lambda: Rotation.from_euler("xyz", [0.0, 1.0]), "an angle for each of 3 axes"),
        (lambda: Rotation.identity().as_euler("xy"), "three axes"),
        (lambda: Rotation.identity().mean(), "not followed"),
        (lambda: Slerp([0.0, 1.0], Rotation.identity(3)), "a time for each"),
        (lambda: Slerp([1.0, 0.0], Rotation.identity(2)), "rise strictly"),
        (lambda: Slerp([0.0, 1.0], Rotation.identity(2))(1.5), "between the first and the last"),
    ],
)
def test_errors(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(wg.errors.WengertError, match=words):
        call()
