from __future__ import annotations

import itertools
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.draws import examples
from wengert.engine.core.errors import ShapeError
from wengert.engine.kernels import contract as module
from wengert.engine.kernels.affine import (
    Access,
    Affine,
    check_access,
    colliding_dims,
    is_injective,
    show,
    span,
)
from wengert.engine.kernels.contract import contract

Array = np.ndarray[Any, Any]


def oracle(operands, extents, accesses, out, out_shape, dtype):
    """Evaluate the definition, one point at a time."""

    def at(access, point):
        return tuple(offset + sum(step * point[dim] for dim, step in terms) for offset, terms in access)

    result = np.zeros(out_shape, dtype)
    operands = [np.asarray(operand, dtype) for operand in operands]
    for point in itertools.product(*map(range, extents)):
        term = np.ones((), dtype)
        for operand, access in zip(operands, accesses, strict=True):
            term = np.multiply(term, operand[at(access, point)])
        where = (*at(out, point), ...)
        result[where] = np.add(result[where], term)
    return result


def plain(*dims: int) -> Access:
    return tuple((0, ((dim, 1),)) for dim in dims)


# Random problems: every axis is an offset plus any terms, shifted into the array.


@st.composite
def affine(draw, extents) -> tuple[Affine, int]:
    dims = draw(st.sets(st.integers(0, len(extents) - 1), max_size=3)) if extents else set()
    terms = tuple((dim, draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2]))) for dim in sorted(dims))
    low, high = span((0, terms), [max(extent, 1) for extent in extents])
    before, after = draw(st.sampled_from([0, 0, 1])), draw(st.sampled_from([0, 0, 1, 2]))
    return (before - low, terms), before + high - low + 1 + after


@st.composite
def access_maps(draw, extents) -> tuple[Access, tuple[int, ...]]:
    pairs = draw(st.lists(affine(extents), max_size=3))
    return tuple(index for index, _ in pairs), tuple(size for _, size in pairs)


@st.composite
def plain_maps(draw, extents) -> tuple[Access, tuple[int, ...]]:
    dims = draw(st.permutations(range(len(extents))))[: draw(st.integers(0, 4))]
    return plain(*dims), tuple(extents[dim] for dim in dims)


@st.composite
def arrays(draw, shape, dtype) -> Array:
    """Draw integers: in C or Fortran order, stepped, reversed, broadcast, unaligned or read-only."""
    seed = draw(st.integers(0, 2**32 - 1))
    layout = draw(st.sampled_from("CCFSRBUO"))
    values = np.array(np.random.default_rng(seed).integers(-9, 10, shape), dtype)
    if layout == "F":
        values = np.array(values, order="F")
    elif layout == "S":
        values = np.repeat(values, 2, axis=-1)[..., ::2] if shape else values
    elif layout == "R":
        values = values[tuple(slice(None, None, -1) for _ in shape)]
    elif layout == "B":
        values = np.broadcast_to(values[(0,) * len(shape)], shape) if values.size else values
    elif layout == "U":
        record = np.zeros(shape, [("pad", "i1"), ("value", dtype)])
        record["value"] = values
        values = record["value"]
    elif layout == "O":
        values = values.astype(np.dtype(dtype).newbyteorder())
        values.setflags(write=False)
    return values


@st.composite
def problems(draw):
    """Draw operands, extents, accesses, out, out_shape, with at most 1,500 points."""
    extents = tuple(draw(st.lists(st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4, 5]), max_size=6)))
    while math.prod(extents) > 1500:
        extents = extents[:-1]
    maps = st.one_of(access_maps(extents), plain_maps(extents))
    accesses, shapes = zip(*(draw(maps) for _ in range(draw(st.integers(1, 3)))), strict=True)
    out, out_shape = draw(maps)
    return tuple(draw(arrays(shape, np.float64)) for shape in shapes), extents, accesses, out, out_shape


@examples(400)
@given(problems(), st.sampled_from([np.float64, np.float32, np.int64, np.int8, np.uint16, np.bool_]))
def test_equals_the_loop_over_points(problem, dtype):
    operands, *_, out_shape = problem
    kept = [operand.copy() for operand in operands]
    result = contract(*problem, dtype)
    assert type(result) is np.ndarray
    assert (result.dtype, result.shape) == (np.dtype(dtype), out_shape)
    np.testing.assert_array_equal(result, oracle(*problem, dtype))
    assert not any(np.shares_memory(result, operand) for operand in operands)
    result[...] = 0
    for operand, before in zip(operands, kept, strict=True):
        np.testing.assert_array_equal(operand, before)


@examples(150)
@given(problems(), st.integers(1, 40))
def test_pieces_change_nothing(problem, piece):
    whole = contract(*problem, np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PIECE", piece)
        module._plan.cache_clear()
        try:
            cut = contract(*problem, np.int64)
        finally:
            module._plan.cache_clear()
    np.testing.assert_array_equal(cut, whole)


@examples(150)
@given(problems(), st.data())
def test_transpose_exchanges_a_map_with_the_output(problem, data):
    operands, extents, accesses, out, out_shape = problem
    place = data.draw(st.integers(0, len(operands) - 1))
    cotangent = data.draw(arrays(out_shape, np.int64))
    swapped = (*operands[:place], cotangent, *operands[place + 1 :])
    maps = (*accesses[:place], out, *accesses[place + 1 :])
    pulled = contract(swapped, extents, maps, accesses[place], operands[place].shape, np.int64)
    pushed = contract(operands, extents, accesses, out, out_shape, np.int64)
    assert np.sum(pushed * cotangent) == np.sum(pulled * operands[place])


# Named operations against independent references.


SUBSCRIPTS = [
    *("ij,jk->ik", "ij,kj->ki", "ji,jk->ki", "i,i->", "ij,j->i", "i,ij->j", "i,j->ij", "i,j->ji", "ji,jk->"),
    *(
        "bij,bjk->bik",
        "bij,bkj->bik",
        "bqhd,bkhd->bhqk",
        "bhqk,bkhd->bqhd",
        "ij,ij->ij",
        "ij,ij->i",
        "ij,ij->j",
    ),
    *("ii->i", "ii->", "iij->ji", "ijk->ki", "ijk->", "iij,jk->ik", "ij,->ij", "ijkl,klmn->ijmn"),
    *("ij,jk,kl->il", "ij,ik,il->jkl", "ij,jk,ki->", "i,ij,j->", "abc,cd,abd->ab", "ijkl,mjnl->imkn"),
]
LENGTH = dict(zip("abcdhijklmnqo", [3, 4, 5, 6, 2, 7, 1, 5, 4, 3, 8, 6, 2], strict=True))


def einsum(subscripts: str, *operands: Array) -> Array:
    inputs, output = subscripts.split("->")
    letters = sorted(set(inputs) - {","})
    maps = [plain(*map(letters.index, word)) for word in (*inputs.split(","), output)]
    shape = tuple(LENGTH[letter] for letter in output)
    dtype = np.result_type(*operands)
    return contract(
        operands, tuple(LENGTH[letter] for letter in letters), tuple(maps[:-1]), maps[-1], shape, dtype
    )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_einsum(subscripts, dtype, order):
    rng = np.random.default_rng(0)
    words = subscripts.split("->")[0].split(",")
    operands = [rng.normal(size=[LENGTH[one] for one in word]).astype(dtype, order=order) for word in words]
    if dtype is np.complex128:
        operands = [operand * (1 + 2j) for operand in operands]
    expected = np.einsum(subscripts, *(operand.astype(np.complex128) for operand in operands))
    np.testing.assert_allclose(
        einsum(subscripts, *operands), expected, rtol=0, atol=4e-5 if dtype is np.float32 else 1e-12
    )


def convolution(n, c, h, w, o, taps, stride=1, dilation=1, groups=1):
    """Return extents and the maps of input, weight and output: NCHW and OIHW, without padding."""
    (kh, kw), (inner, outer) = taps, (c // groups, o // groups)
    height, width = (h - dilation * (kh - 1) - 1) // stride + 1, (w - dilation * (kw - 1) - 1) // stride + 1
    extents = (n, groups, outer, height, width, inner, kh, kw)
    window = ((0, ((3, stride), (6, dilation))), (0, ((4, stride), (7, dilation))))
    image: Access = ((0, ((0, 1),)), (0, ((1, inner), (5, 1))), *window)
    weight: Access = ((0, ((1, outer), (2, 1))), *plain(5, 6, 7))
    output: Access = ((0, ((0, 1),)), (0, ((1, outer), (2, 1))), *plain(3, 4))
    return extents, image, weight, output, (n, o, height, width)


@pytest.mark.parametrize("lanes", [False, True], ids=["nchw", "chwn"])
@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ((5, 1, 9, 8, 6, (3, 3)), {}),
        ((4, 6, 13, 13, 16, (3, 3)), {}),
        ((1, 3, 7, 6, 2, (2, 3)), {"stride": 2}),
        ((3, 2, 12, 11, 4, (3, 2)), {"stride": 3, "dilation": 2}),
        ((3, 4, 8, 8, 6, (3, 3)), {"groups": 2}),
        ((3, 4, 8, 8, 4, (3, 3)), {"groups": 4, "dilation": 2}),
        ((2, 3, 6, 6, 5, (1, 1)), {}),
        ((2, 3, 8, 8, 4, (4, 4)), {"stride": 4}),
    ],
)
def test_convolution_and_its_transposes(sizes, options, lanes):
    n, c, h, w, o, (kh, kw) = sizes
    stride, dilation, groups = options.get("stride", 1), options.get("dilation", 1), options.get("groups", 1)
    extents, image, weight, output, shape = convolution(*sizes, **options)
    rng = np.random.default_rng(1)
    X, W, D = rng.normal(size=(n, c, h, w)), rng.normal(size=(o, c // groups, kh, kw)), rng.normal(size=shape)
    Y, dX, dW = np.zeros(shape), np.zeros_like(X), np.zeros_like(W)
    reach = (shape[2] - 1) * stride + 1, (shape[3] - 1) * stride + 1
    for filter_, i, j in itertools.product(range(o), range(kh), range(kw)):
        first = filter_ // (o // groups) * (c // groups)
        part = np.s_[:, first : first + c // groups, i * dilation :, j * dilation :]
        window, gradient = (A[part][:, :, : reach[0] : stride, : reach[1] : stride] for A in (X, dX))
        Y[:, filter_] += np.tensordot(window, W[filter_, :, i, j], (1, 0))
        dW[filter_, :, i, j] += np.sum(window * D[:, None, filter_], axis=(0, 2, 3))
        gradient += W[filter_, :, i, j, None, None] * D[:, None, filter_]
    if lanes:
        X, D = (A.transpose(1, 2, 3, 0).copy().transpose(3, 0, 1, 2) for A in (X, D))
    close = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(contract((X, W), extents, (image, weight), output, shape, X.dtype), Y, **close)
    np.testing.assert_allclose(contract((W, X), extents, (weight, image), output, shape, X.dtype), Y, **close)
    np.testing.assert_allclose(
        contract((D, W), extents, (output, weight), image, X.shape, X.dtype), dX, **close
    )
    np.testing.assert_allclose(
        contract((X, D), extents, (image, output), weight, W.shape, X.dtype), dW, **close
    )


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 5), (64, 17)])
def test_numpy_convolve(shape):
    m, n = shape
    x, y = np.random.default_rng(2).normal(size=m), np.random.default_rng(3).normal(size=n)
    full = contract((x, y), (m, n), (plain(0), plain(1)), ((0, ((0, 1), (1, 1))),), (m + n - 1,), np.float64)
    np.testing.assert_allclose(full, np.convolve(x, y), rtol=0, atol=1e-12)
    if m >= n:
        flipped: Access = ((n - 1, ((0, 1), (1, -1))),)
        valid = contract((x, y), (m - n + 1, n), (flipped, plain(1)), plain(0), (m - n + 1,), np.float64)
        np.testing.assert_allclose(valid, np.convolve(x, y, "valid"), rtol=0, atol=1e-12)


def test_scipy_correlate2d():
    signal = pytest.importorskip("scipy.signal")
    x, k = np.random.default_rng(4).normal(size=(40, 31)), np.random.default_rng(5).normal(size=(5, 4))
    window: Access = ((0, ((0, 1), (2, 1))), (0, ((1, 1), (3, 1))))
    result = contract((x, k), (36, 28, 5, 4), (window, plain(2, 3)), plain(0, 1), (36, 28), np.float64)
    np.testing.assert_allclose(result, signal.correlate2d(x, k, "valid"), rtol=0, atol=1e-12)
    full = contract((x, k), (40, 31, 5, 4), (plain(0, 1), plain(2, 3)), window, (44, 34), np.float64)
    np.testing.assert_allclose(full, signal.convolve2d(x, k), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 2), (3, 3), (2, 3)])
def test_sum_pooling_and_its_transpose(size, stride):
    X = np.random.default_rng(6).normal(size=(20, 3, 14, 14)).astype(np.float32)
    count = (14 - size) // stride + 1
    extents, shape = (20, 3, count, count, size, size), (20, 3, count, count)
    window: Access = (*plain(0, 1), (0, ((2, stride), (4, 1))), (0, ((3, stride), (5, 1))))
    views = np.lib.stride_tricks.sliding_window_view(X, (size, size), (2, 3))[:, :, ::stride, ::stride]
    Y = contract((X,), extents, (window,), plain(0, 1, 2, 3), shape, np.float32)
    np.testing.assert_allclose(Y, views.sum((4, 5)), rtol=0, atol=1e-5)
    pulled = contract((Y,), extents, (plain(0, 1, 2, 3),), window, X.shape, np.float32)
    assert math.isclose(float(np.vdot(pulled, X)), float(np.vdot(Y, Y)), rel_tol=1e-4)


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(module, "_PIECE", 1 << 12)
    module._plan.cache_clear()
    yield
    module._plan.cache_clear()


def test_large_problem_stays_small_in_memory(rng, small_pieces):
    extents, image, weight, output, shape = convolution(64, 8, 18, 18, 4, (3, 3))
    X, W = rng.normal(size=(64, 8, 18, 18)), rng.normal(size=(4, 8, 3, 3))
    contract((X, W), extents, (image, weight), output, shape, np.float64)  # the plan is not counted
    tracemalloc.start()
    try:
        contract((X, W), extents, (image, weight), output, shape, np.float64)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    columns = 64 * 8 * 9 * 16 * 16 * X.itemsize
    assert peak < columns / 2


@pytest.mark.parametrize(("offset", "size"), [(0, 300), (1, 301), (0, 302), (2, 305)])
def test_pieces_of_a_padded_output(rng, small_pieces, offset, size):
    X, W = rng.normal(size=(300, 9)), rng.normal(size=4)
    window: Access = ((0, ((0, 1),)), (0, ((1, 1), (2, 1))))
    output: Access = ((offset, ((0, 1),)), (0, ((1, 1),)))
    result = contract((X, W), (300, 6, 4), (window, plain(2)), output, (size, 6), np.float64)
    expected = np.lib.stride_tricks.sliding_window_view(X, 4, 1) @ W
    np.testing.assert_allclose(result[offset : offset + 300], expected, rtol=0, atol=1e-12)
    assert not result[:offset].any()
    assert not result[offset + 300 :].any()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
def test_sums(axes, order):
    X = np.random.default_rng(8).integers(-99, 99, (40, 5, 3)).astype(np.float32, order=order)
    rest = [axis for axis in range(3) if axis not in axes]
    shape = tuple(X.shape[axis] for axis in rest)
    result = contract((X,), X.shape, (plain(0, 1, 2),), plain(*rest), shape, np.float32)
    np.testing.assert_array_equal(result, X.sum(axes))


def test_integers_wrap_around():
    full = np.full((2, 3), 100, np.int8), np.full((3, 2), 100, np.int8)
    product = contract(full, (2, 3, 2), (plain(0, 1), plain(1, 2)), plain(0, 2), (2, 2), np.int8)
    assert (product == np.int64(30_000).astype(np.int8)).all()
    large = np.array([2**62, 2**62, 3]), np.array([2, 3, 5])
    assert contract(large, (3,), (plain(0), plain(0)), (), (), np.int64) == 15 + (5 * 2**62 - 2**64)


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_a_dimension_that_nothing_uses_multiplies(size):
    ones = np.ones(3, np.int8)
    result = contract((ones,), (3, size), (plain(0),), plain(0), (3,), np.int8)
    assert (result == np.int64(size).astype(np.int8)).all()


def test_operands_of_several_dtypes_are_cast_first():
    integers, halves = np.arange(6).reshape(2, 3), np.full((3, 2), 0.5, np.float32)
    result = contract(
        (integers, halves), (2, 3, 2), (plain(0, 1), plain(1, 2)), plain(0, 2), (2, 2), np.float64
    )
    np.testing.assert_array_equal(result, integers @ halves.astype(np.float64))
    assert result.dtype == np.float64


def test_python_scalars_are_operands():
    assert contract((2.0, 3.0), (), ((), ()), (), (), np.float64) == 6.0


def test_not_a_number_stays_where_it_is():
    A = np.zeros((3, 2))
    A[1, 0] = np.nan
    result = contract(
        (A, np.ones((2, 2))), (3, 2, 2), (plain(0, 1), plain(1, 2)), plain(0, 2), (3, 2), np.float64
    )
    np.testing.assert_array_equal(np.isnan(result), [[False] * 2, [True] * 2, [False] * 2])


# The algebra of access maps.


@examples(200)
@given(st.data())
def test_check_access_finds_exactly_the_maps_that_leave_the_array(data):
    extents = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))
    index, size = data.draw(affine(extents))
    moved = (index[0] + data.draw(st.integers(-2, 2)), index[1])
    reached = {
        moved[0] + sum(step * point[dim] for dim, step in moved[1])
        for point in itertools.product(*map(range, extents))
    }
    if reached <= set(range(size)):
        check_access((size,), (moved,), extents)
    else:
        with pytest.raises(ShapeError, match="inside axis 0"):
            check_access((size,), (moved,), extents)


@examples(300)
@given(st.data())
def test_injective_maps_reach_distinct_elements(data):
    extents = tuple(data.draw(st.lists(st.integers(2, 5), min_size=1, max_size=4)))
    access, _ = data.draw(access_maps(extents))
    taps = colliding_dims(access, range(len(extents)), extents)
    rest = [dim for dim in range(len(extents)) if dim not in taps]
    assert is_injective(access, rest, extents)
    points = list(
        itertools.product(*(range(extents[dim]) if dim in rest else [0] for dim in range(len(extents))))
    )
    elements = {
        tuple(sum(step * point[dim] for dim, step in terms) for _, terms in access) for point in points
    }
    assert len(elements) == len(points)


def test_a_window_is_looped_over_by_its_taps():
    window: Access = ((0, ((0, 1),)), (0, ((1, 1), (3, 2))), (0, ((2, 1), (4, 2))))
    assert colliding_dims(window, (0, 3, 4, 1, 2), (10, 26, 26, 3, 3)) == (3, 4)
    assert is_injective(((0, ((0, 3), (1, 1))),), (0, 1), (4, 3))
    assert not is_injective(((0, ((0, 2), (1, 1))),), (0, 1), (4, 3))


def test_errors_say_what_came():
    with pytest.raises(ShapeError, match=r"stay inside axis 0 of \(4,\); got 2\*d0-d1-1 from -2 to 3"):
        check_access((4,), ((-1, ((0, 2), (1, -1))),), (3, 2))
    with pytest.raises(ShapeError, match="one expression for each axis; got 1 for shape"):
        check_access((4, 5), plain(0), (3,))
    with pytest.raises(ShapeError, match="dimensions of its space only; got d3 of 1"):
        check_access((4,), plain(3), (3,))


@pytest.mark.parametrize(
    ("index", "text"), [((0, ()), "0"), ((-2, ()), "-2"), ((1, ((0, -1), (2, 3))), "-d0+3*d2+1")]
)
def test_show(index, text):
    assert show(index) == text
