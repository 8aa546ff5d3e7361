"""Functions of single elements on arrays: `vectorize`, `ndenumerate`, `apply_over_axes`, `fromfunction`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.engine.core.errors import ArgumentError, ShapeError

RNG = np.random.default_rng(9)
A, B = RNG.normal(size=(2, 3, 4))


def ramp(x: Any, slope: Any = 2.0) -> Any:
    return x * slope + x**2


def calls(vectorize: Any) -> dict[str, Any]:
    return {
        "one": lambda a, b: vectorize(ramp)(a),
        "two": lambda a, b: vectorize(ramp)(a, b),
        "broadcast": lambda a, b: vectorize(ramp)(a, b[0, 0]) + vectorize(ramp)(a[:, :1], b[0]),
        "by name": lambda a, b: vectorize(ramp)(a, slope=b),
        "excluded name": lambda a, b: vectorize(lambda x, w: np.sum(w) * x, excluded=["w"])(a, w=b[0]),
        "excluded place": lambda a, b: vectorize(lambda w, x: w[0] * x, excluded={0})(b[0], a),
        "several results": lambda a, b: vectorize(lambda x, y: (x * y, x + y))(a, b),
        "types": lambda a, b: vectorize(ramp, otypes=[np.float32])(a),
        "letters": lambda a, b: vectorize(lambda x: (x, 2 * x), otypes="df")(a),
        "signature": lambda a, b: vectorize(np.dot, signature="(n),(n)->()")(a, b),
        "signature of rows": lambda a, b: vectorize(lambda x: x[::-1] * 2, signature="(n)->(n)")(a),
        "signature broadcast": lambda a, b: vectorize(np.dot, signature="(n),(n)->()")(a, b[0]),
        "none": lambda a, b: vectorize(ramp, otypes=[float])(a[:0]),
        "decorator": lambda a, b: vectorize(otypes=[float])(ramp)(a),
    }


@pytest.mark.parametrize("name", calls(None))
def test_vectorize(name: str) -> None:
    function, expected = calls(wnp.vectorize)[name], calls(np.vectorize)[name](A, B)
    for actual in (wg.vjp(function, A, B)[0], wg.jit(function)(A, B), function(A, B)):
        pairs = zip(actual, expected, strict=True) if isinstance(expected, tuple) else [(actual, expected)]
        for value, other in pairs:
            np.testing.assert_allclose(value, other, rtol=1e-6)
            assert value.dtype == other.dtype
    if "types" not in name and "letters" not in name:
        wg.check_grads(function, (A, B), order=1)


def test_a_function_of_followed_values_of_its_surroundings() -> None:
    weight = wg.grad(lambda w: np.sum(wnp.vectorize(lambda x: w * x)(np.array([1.0, 2.0]))))
    assert weight(3.0) == 3.0


def test_what_vectorize_refuses() -> None:
    with pytest.raises(ArgumentError, match="there must be at least one element"):
        wg.grad(lambda x: np.sum(wnp.vectorize(ramp)(x[:0])))(A[0])
    with pytest.raises(ArgumentError, match="the signature has 2 arguments"):
        wg.grad(lambda x: np.sum(wnp.vectorize(np.dot, signature="(n),(n)->()")(x)))(A)


def test_ndenumerate() -> None:
    def f(x: Any) -> Any:
        return sum(value * index[0] for index, value in wnp.ndenumerate(x))

    np.testing.assert_array_equal(wg.grad(f)(A), np.arange(3.0)[:, None] * np.ones((3, 4)))


def test_apply_over_axes(check: Any) -> None:
    check(lambda a: np.apply_over_axes(np.sum, a, (0, 1)), A)
    check(lambda a: np.apply_over_axes(np.sum, a, [-1]), A)
    check(lambda a: np.apply_over_axes(np.cumsum, a, 0), A)
    with pytest.raises(ShapeError, match="apply_over_axes: the function must keep the axes"):
        wg.grad(lambda a: np.apply_over_axes(lambda x, axis: np.sum(x), a, 0))(A)


CREATED = {
    "fromfunction": lambda wnp, s: wnp.fromfunction(lambda i, j: i * s + j, (2, 3)),
    "fromfunction int": lambda wnp, s: wnp.fromfunction(lambda i, j: i * s + j, (2, 3), dtype=int),
    "fromiter": lambda wnp, s: wnp.fromiter((s * k for k in range(4)), float),
    "fromiter count": lambda wnp, s: wnp.fromiter((s * k for k in range(4)), np.float32, 2),
    "asanyarray": lambda wnp, s: wnp.asanyarray([s, 2.0]),
    "ascontiguousarray": lambda wnp, s: wnp.ascontiguousarray(s),
    "asfortranarray": lambda wnp, s: wnp.asfortranarray([[s, 2.0], [3.0, s]]),
    "asarray_chkfinite": lambda wnp, s: wnp.asarray_chkfinite([s, s], np.float32),
    "require": lambda wnp, s: wnp.require([s, 1.0], requirements=["C", "W"]),
    "mgrid": lambda wnp, s: wnp.mgrid[0:2, 0:3] * s,
    "ogrid": lambda wnp, s: wnp.ogrid[0:3] * s,
}


REFUSED = {
    "as_strided": (lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (32, 8)), "sliding_window_view"),
    "vectorize": (lambda x: np.vectorize(ramp)(x), r"wengert\.numpy\.vectorize\(f\)"),
    "nditer": (lambda x: [*np.nditer(x)], "whole arrays"),
    "structured": (lambda x: np.array(x, [("a", float)]), r"wengert\.numpy\.array"),
    "structured by astype": (lambda x: x.astype([("a", float)]), "numbers or booleans"),
    "of objects": (lambda x: x.astype(object), "object"),
    "longdouble": (lambda x: x.astype(np.longdouble), "float128"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.usefixtures("without_substitutes")
def test_what_has_no_meaning_names_what_to_write(name: str) -> None:
    call, hint = REFUSED[name]
    for run in (lambda: wg.grad(lambda x: np.sum(call(x)))(A), lambda: wg.jit(call)(A)):
        with pytest.raises(TypeError, match=hint) as caught:
            run()
        assert isinstance(caught.value, wg.WengertError)


@pytest.mark.parametrize("name", CREATED)
def test_arrays_of_followed_values(name: str) -> None:
    create, s = CREATED[name], np.array(1.5)
    expected = create(np, s)
    for actual in (wg.vjp(lambda s: create(wnp, s), s)[0], wg.jit(lambda s: create(wnp, s))(s)):
        np.testing.assert_array_equal(actual, expected)
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    wg.check_grads(lambda s: wnp.sum(create(wnp, s) * 1.0), (s,), rtol=1e-3)


def test_numbers_that_must_be_finite() -> None:
    with pytest.raises(ArgumentError, match="asarray_chkfinite: numbers must be finite"):
        wg.grad(lambda x: np.sum(wnp.asarray_chkfinite(x)))(np.inf)
    with pytest.raises(ArgumentError, match="fromiter: the iterator must have 3 items"):
        wg.grad(lambda x: np.sum(wnp.fromiter([x, x], float, 3)))(1.0)
