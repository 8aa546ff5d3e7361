"""Functions of another framework in programs, where that framework is Wengert: no package is needed.

`tests/reach` has the same with PyTorch and JAX.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.engine.transforms.arguments import is_number
from wengert.interop.flat import NATIVE, Crossing, types_of
from wengert.interop.foreign import imported


def foreign(function):
    return imported("from_other", function, NATIVE)


def energy(x):
    return np.sum(np.sin(x) ** 2 * x[0])


MODES = {
    "value": lambda f: f,
    "grad": wg.grad,
    "hessian": wg.hessian,
    "jacrev of jacrev": lambda f: wg.jacrev(wg.jacrev(f)),
    "jacfwd of jacfwd": lambda f: wg.jacfwd(wg.jacfwd(f)),
    "jvp": lambda f: lambda x: wg.jvp(f, (x,), (x + 1,))[1],
    "vmap of grad": lambda f: lambda x: wg.vmap(wg.grad(f))(np.stack([x, 2 * x])),
    "vmap of jvp": lambda f: lambda x: wg.vmap(lambda v: wg.jvp(f, (x,), (v,))[1])(np.eye(3)),
    "nested vmap": lambda f: (
        lambda x: wg.vmap(wg.vmap(lambda a, b: f(a * b), (0, None)), (None, 0))(
            np.stack([x, 2 * x]), np.stack([x, x + 1, x - 1])
        )
    ),
    "scan": lambda f: wg.grad(lambda x: wg.scan(lambda c, _: (c + f(c * x), None), 0.5, length=3)[0]),
    "cond": lambda f: wg.grad(lambda x: wg.cond(x[0] > 0, f, np.sum, x)),
    "closed over": lambda f: wg.grad(lambda x: f(np.ones(3) * x[1])),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", MODES)
def test_modes(name, compiled):
    x = np.array([0.3, -1.2, 0.7])
    got = MODES[name](foreign(energy))
    got = wg.jit(got) if compiled else got
    np.testing.assert_allclose(got(x), MODES[name](energy)(x), rtol=1e-12)


def test_containers_numbers_and_settings():
    seen = []

    def layer(p, x, *, scale, power, kind):
        seen.append((power, kind))
        return {"out": (x @ p["w"]) ** power * scale, "top": np.argmax(x)}

    ours = foreign(layer)
    p, x = {"w": np.ones((3, 2), np.float32)}, np.arange(3, dtype=np.float32)
    result = ours(p, x, scale=0.5, power=2, kind="a")
    assert {name: value.dtype for name, value in result.items()} == {"out": np.float32, "top": np.int64}
    assert seen[-1] == (2, "a")
    slope = wg.grad(lambda p: np.sum(ours(p, x, scale=0.5, power=2, kind="a")["out"]))(p)
    expected = wg.grad(lambda p: np.sum((x @ p["w"]) ** 2 * np.float32(0.5)))(p)
    np.testing.assert_allclose(slope["w"], expected["w"])
    assert slope["w"].dtype == np.float32
    by_scale = wg.grad(lambda s: np.sum(ours(p, x, scale=s, power=2, kind="a")["out"]))(0.5)
    assert by_scale == 18.0
    np.testing.assert_allclose(ours(p, x, scale=2, power=3, kind="b")["out"], [54.0, 54.0])


def test_integer_operands_and_results_have_no_derivative():
    ours = foreign(lambda x, i: (x[i], i + 1, x > 0))
    x, i = np.array([1.0, -2.0, 3.0]), np.array([2, 0])
    for transform in (lambda f: f, wg.jit):
        taken, more, positive = transform(ours)(x, i)
        np.testing.assert_array_equal(taken, [3.0, 1.0])
        assert (more.dtype, positive.dtype) == (np.int64, np.bool_)
        slope = transform(wg.grad(lambda x, i: np.sum(ours(x, i)[0] * ours(x, i)[1])))(x, i)
        np.testing.assert_array_equal(slope, [1.0, 0.0, 3.0])


def test_results_are_the_callers_own():
    kept = np.ones(3)
    ours = foreign(lambda x: (x, kept))
    x = np.arange(3.0)
    same, other = ours(x)
    same[0] = other[0] = 9.0
    assert x[0] == 0.0
    assert kept[0] == 1.0


def test_lists_and_source_name_the_function():
    ours = foreign(energy)
    x = np.ones(3)
    assert "foreign[call=@from_other_energy]" in str(wg.trace(ours)(x))
    assert "from_other(energy)(" in wg.source(ours)(x)
    assert "foreign" in wg.jit(ours).report(x).hosts[0]
    assert ours.__name__ == "from_other(energy)"


def test_errors_of_the_function_are_its_own():
    class OwnError(Exception):
        pass

    def failing(x):
        raise OwnError("from inside")

    for call in (foreign(failing), wg.grad(foreign(failing))):
        with pytest.raises(OwnError, match="from inside"):
            call(np.ones(2))
    with pytest.raises(wg.errors.ArgumentError, match="from_other: it takes a function; got int"):
        foreign(3)
    with pytest.raises(wg.errors.DtypeError, match="Wengert has is needed; got <U1"):
        foreign(lambda x: x)(np.array(["a"]))
    with pytest.raises(wg.errors.DtypeError, match="hashable setting"):
        foreign(lambda x, s: x)(np.ones(2), {1, 2})


def test_a_result_that_changes_its_type_is_refused():
    calls = []

    def changing(x):
        calls.append(0)
        return np.float32(1) * x.astype(np.float32) if len(calls) > 1 else x

    crossing = Crossing("other", changing, NATIVE._replace(jit=lambda f: f), is_number)
    flat, operands = crossing.enter((np.ones(2),), {})
    flat.check(operands, flat.function(*operands))
    with pytest.raises(
        wg.errors.DtypeError, match=r"must return f64\[2\], as for other values; got f32\[2\]"
    ):
        flat.check(operands, flat.function(*operands))


def test_derived_functions_are_made_once_and_transpose():
    crossing = Crossing("to_other", energy, NATIVE, is_number)
    flat, (x,) = crossing.enter((np.array([0.3, -1.2, 0.7]),), {})
    assert crossing.enter((x + 1,), {})[0] is flat
    assert flat.vjp((True,)) is flat.vjp((True,))
    assert flat.jvp((True,)).transpose((False, True), ()) is flat.vjp((True,))
    batched = flat.jvp((True,)).vmap((False, True))
    (moved,) = batched.compiled(x, np.eye(3))
    np.testing.assert_allclose(moved, wg.grad(energy)(x))
    types = types_of([x, np.eye(3)])
    assert [type_.shape for type_ in batched.types(types)] == [(3,)]
    (back,) = batched.transpose((False, True), types[1:]).compiled(x, np.ones(3))
    np.testing.assert_allclose(back, np.tile(wg.grad(energy)(x), (3, 1)))


def test_constants_and_dlpack():
    x = np.arange(6.0).reshape(2, 3)
    constant = wg.Constant(x)
    for options in ({}, {"copy": None}, {"copy": True}, {"max_version": (1, 0), "dl_device": (1, 0)}):
        taken = np.from_dlpack(_Asked(constant, options))
        np.testing.assert_array_equal(taken, x)
        assert not np.shares_memory(taken, x)
    with pytest.raises(BufferError, match="copy=False"):
        constant.__dlpack__(copy=False)
    xp = wg.array_api
    np.testing.assert_array_equal(np.asarray(xp.from_dlpack(x[:, ::-1], device="cpu")), x[:, ::-1])
    np.testing.assert_array_equal(np.asarray(xp.from_dlpack(x.T, copy=True)), x.T)
    for refused in ({"device": "cuda"}, {"copy": False}):
        with pytest.raises(wg.errors.ArgumentError, match=r"device|copy=False"):
            xp.from_dlpack(x, **refused)
    with pytest.raises(wg.errors.LostDerivativeError, match="from_dlpack"):
        wg.grad(lambda x: x.__dlpack__(stream=None, max_version=(1, 0), copy=True))(1.0)


class _Asked:
    """Ask for an export with other options than NumPy asks."""

    def __init__(self, array, options):
        self.array, self.options = array, options

    def __dlpack__(self, **_):
        return self.array.__dlpack__(**self.options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
