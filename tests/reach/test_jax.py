"""Functions of Wengert in JAX, and JAX's in programs: values, derivatives of any order, dtypes, errors."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import wengert as wg
from wengert.interop import from_jax, to_jax
from wengert.interop import jax as page

jax = pytest.importorskip("jax")
jnp = jax.numpy
pytestmark = pytest.mark.slow


def _set_to(x64):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", x64)
    yield x64
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(autouse=True)
def of_64_bits():
    yield from _set_to(True)


@pytest.fixture(params=[True, False], ids=["x64", "x32"])
def x64(request):
    yield from _set_to(request.param)


def energy(x):
    return np.sum(np.sin(x) ** 2 * x[0])


def energy_of_jax(x):
    return (jnp.sin(x) ** 2 * x[0]).sum()


TRANSFORMS = {
    "grad": jax.grad,
    "hessian": jax.hessian,
    "jacfwd of jacfwd": lambda f: jax.jacfwd(jax.jacfwd(f)),
    "jacrev of jacrev": lambda f: jax.jacrev(jax.jacrev(f)),
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x + 1,))[1],
    "linearize": lambda f: lambda x: jax.linearize(f, x)[1](x + 1),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
    "vmap of grad": lambda f: lambda x: jax.vmap(jax.grad(f))(jnp.stack([x, 2 * x])),
    "vmap along the last axis": lambda f: lambda x: jax.vmap(f, in_axes=1)(jnp.outer(x, x)),
    "grad of scan": lambda f: jax.grad(
        lambda x: jax.lax.scan(lambda c, v: (c + f(c * x + v), c), x[0], x)[0]
    ),
}
OURS = {
    "value": lambda f: f,
    "grad": wg.grad,
    "hessian": wg.hessian,
    "jacrev of jacrev": lambda f: wg.jacrev(wg.jacrev(f)),
    "jvp": lambda f: lambda x: wg.jvp(f, (x,), (x + 1,))[1],
    "vmap of grad": lambda f: lambda x: wg.vmap(wg.grad(f))(np.stack([x, 2 * x])),
    "scan": lambda f: lambda x: wg.scan(lambda c, _: (c + f(c * x), None), 0.5, length=3)[0],
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_jax(name):
    x = jnp.array([0.3, -1.2, 0.7])
    transform, tolerance = TRANSFORMS[name], 1e-12
    expected = transform(energy_of_jax)(x)
    for got in (transform(to_jax(energy))(x), jax.jit(transform(to_jax(energy)))(x)):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", OURS)
def test_transforms_of_wengert(name):
    jax.config.update("jax_enable_x64", False)
    x = np.array([0.3, -1.2, 0.7])
    transform, ours = OURS[name], from_jax(energy_of_jax)
    expected = transform(energy)(x)  # in float64, whatever JAX is set to
    np.testing.assert_allclose(transform(ours)(x), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.jit(transform(ours))(x), expected, rtol=1e-12)


def test_containers_numbers_and_dtypes(x64):
    def layer(p, x, scale):
        return {"out": np.tanh(x @ p["w"]) * scale, "top": np.argmax(x, axis=-1)}

    p, x = {"w": jnp.ones((3, 2), jnp.float32)}, jnp.ones((5, 3), jnp.float32)
    for apply in (to_jax(layer), jax.jit(to_jax(layer))):
        result = apply(p, x, 0.5)
        assert result["out"].dtype == jnp.float32
        assert result["top"].dtype == (jnp.int64 if x64 else jnp.int32)
    slope = jax.grad(lambda p, scale: to_jax(layer)(p, x, scale)["out"].sum(), argnums=(0, 1))(p, 0.5)
    expected = jax.grad(lambda p, scale: (jnp.tanh(x @ p["w"]) * scale).sum(), argnums=(0, 1))(p, 0.5)
    np.testing.assert_allclose(slope[0]["w"], expected[0]["w"], rtol=2e-5)
    np.testing.assert_allclose(slope[1], expected[1], rtol=2e-5)
    doubled = to_jax(lambda x: x * np.arange(3.0))(x)  # the program has float64 data
    assert doubled.dtype == (jnp.float64 if x64 else jnp.float32)
    assert to_jax(lambda x, n: x**n)(x, 2).dtype == jnp.float32
    z = jnp.array([1 + 2j, 0.5 - 1j])
    got = jax.grad(to_jax(lambda z: np.sum(np.abs(z) ** 2)))(z)
    np.testing.assert_allclose(got, jax.grad(lambda z: (jnp.abs(z) ** 2).sum())(z), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool", "complex64"])
def test_shapes_and_dtypes_from_jax(dtype):
    for shape in ((), (0,), (2, 3)):
        x = np.ones(shape, dtype)[..., ::-1] if shape else np.ones(shape, dtype)
        for call in (from_jax(jnp.ravel), wg.jit(from_jax(jnp.ravel))):
            got = call(x)
            assert got.dtype == dtype or (dtype == "float64" and got.dtype == np.float64)
            np.testing.assert_array_equal(got, np.ravel(x))
            assert got.flags.writeable


def test_large_arrays_pass_through_the_callback():
    x = jnp.linspace(0.0, 1.0, 1_000_000)
    double = to_jax(lambda x: np.sin(x) + x)
    got = jax.jit(lambda x: double(2 * x) + 1)(x)
    np.testing.assert_allclose(got, jnp.sin(2 * x) + 2 * x + 1, rtol=1e-6)


def test_a_program_in_jax_in_a_program():
    jax.config.update("jax_enable_x64", False)
    there_and_back = from_jax(to_jax(energy))
    x = np.array([0.3, -1.2, 0.7])
    np.testing.assert_allclose(wg.jit(wg.hessian(there_and_back))(x), wg.hessian(energy)(x), rtol=1e-12)


def test_errors_name_what_is_wrong():
    with pytest.raises(wg.errors.DtypeError, match="must return arrays"):
        to_jax(lambda x: "text")(jnp.ones(2))
    with pytest.raises(wg.errors.DtypeError, match="must return arrays"):
        from_jax(lambda x: "text")(np.ones(2))
    with pytest.raises(wg.errors.DtypeError, match=r"from_jax.*Wengert has is needed; got bfloat16"):
        from_jax(lambda x: x.astype(jnp.bfloat16))(np.ones(2))
    with pytest.raises(wg.errors.DtypeError, match=r"to_jax.*Wengert has is needed; got bfloat16"):
        to_jax(np.sin)(jnp.ones(2, jnp.bfloat16))
    with pytest.raises(jax.errors.TracerBoolConversionError):
        from_jax(lambda x: x if x.sum() > 0 else -x)(np.ones(2))
    with pytest.raises(wg.errors.DtypeError, match="hashable setting"):
        to_jax(lambda x, s: x)(jnp.ones(2), {1, 2})
    with pytest.raises(ValueError, match="broadcast"):
        to_jax(lambda x: x + np.ones(3))(jnp.ones(2))


def test_memory_is_shared_by_dlpack():
    x = jnp.arange(4.0)
    array = np.asarray(wg.array_api.from_dlpack(x))
    np.testing.assert_array_equal(array, x)
    np.testing.assert_array_equal(jnp.from_dlpack(wg.Constant(np.arange(4.0))), x)


def test_examples_of_docstrings():
    jax.config.update("jax_enable_x64", False)
    for name in page.__all__:
        docstring = getattr(page, name).__doc__.replace("# doctest: +SKIP", "")
        examples = doctest.DocTestParser().get_doctest(docstring, vars(page).copy(), name, None, None)
        assert (
            doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            .run(examples)
            .failed
            == 0
        )
