"""The namespace has the names and signatures of the standard, and NumPy's results."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.array_api as xp
from tests.array_api import calls
from wengert.engine.array.array import Array
from wengert.engine.boxes import concrete
from wengert.engine.core import tree

#: The names of the standard, by the chapters of its specification.
_NAMES = """
    arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu
    zeros zeros_like astype can_cast finfo iinfo isdtype result_type abs acos acosh add asin asinh atan atan2
    atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip
    conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite
    isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor
    maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder round sign
    signbit sin sinh square sqrt subtract tan tanh trunc take take_along_axis matmul matrix_transpose tensordot
    vecdot broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll
    squeeze stack tile unstack argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts
    unique_inverse unique_values argsort sort cumulative_prod cumulative_sum max mean min prod std sum var all
    any diff __array_namespace_info__ bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64
    complex64 complex128 e inf nan newaxis pi linalg.cholesky linalg.cross linalg.det linalg.diagonal
    linalg.eigh linalg.eigvalsh linalg.inv linalg.matmul linalg.matrix_norm linalg.matrix_power
    linalg.matrix_rank linalg.matrix_transpose linalg.outer linalg.pinv linalg.qr linalg.slogdet linalg.solve
    linalg.svd linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm fft.fft fft.ifft
    fft.fftn fft.ifftn fft.rfft fft.irfft fft.rfftn fft.irfftn fft.hfft fft.ihfft fft.fftfreq fft.rfftfreq
    fft.fftshift fft.ifftshift
"""
NAMES = _NAMES.split()
#: The methods and attributes of arrays.
_MEMBERS = """
    abs add and array_namespace bool complex dlpack dlpack_device eq float floordiv ge getitem gt index int
    invert le lshift lt matmul mod mul ne neg or pos pow rshift setitem sub truediv xor radd rand rfloordiv
    rlshift rmatmul rmod rmul ror rpow rrshift rsub rtruediv rxor iadd iand ifloordiv ilshift imatmul imod imul
    ior ipow irshift isub itruediv ixor
"""
MEMBERS = _MEMBERS.split()
ATTRIBUTES = "dtype device mT ndim shape size T to_device"


def named(path: str) -> Any:
    value: Any = xp
    for part in path.split("."):
        value = getattr(value, part)
    return value


def test_the_namespace_has_every_name() -> None:
    assert not [name for name in NAMES if "." not in name and name not in dir(xp)]
    for name in NAMES:
        assert callable(named(name)) or isinstance(named(name), float) or name == "newaxis"
    assert set(dir(xp.linalg)) == {name[7:] for name in NAMES if name.startswith("linalg.")} | {
        "eig",
        "eigvals",
    }
    assert set(dir(xp.fft)) == {name[4:] for name in NAMES if name.startswith("fft.")}
    with pytest.raises(AttributeError, match="nor has the standard"):
        _ = xp.einsum
    with pytest.raises(AttributeError, match="nor has the standard"):
        _ = xp.linalg.lstsq


def test_arrays_have_every_member() -> None:
    assert not [name for name in MEMBERS if not hasattr(Array, f"__{name}__")]
    box = xp.asarray([[1.0, 2.0]])
    assert not [name for name in ATTRIBUTES.split() if not hasattr(box, name)]
    assert (box.device, box.shape, box.size, box.ndim) == ("cpu", (1, 2), 2, 2)
    assert box.to_device("cpu") is box
    with pytest.raises(ValueError, match=r"^to_device: the one device"):
        box.to_device("gpu")
    box @= xp.asarray([[0.0, 1.0], [1.0, 0.0]])
    assert np.asarray(box).tolist() == [[2.0, 1.0]]
    count = xp.asarray([1, 2])
    count <<= 2
    count >>= 1
    assert np.asarray(count).tolist() == [2, 4]


@pytest.mark.parametrize("version", [None, "2021.12", "2022.12", "2023.12", "2024.12"])
def test_versions(version: str | None) -> None:
    assert xp.asarray(1.0).__array_namespace__(api_version=version) is xp
    assert xp.__array_api_version__ == "2024.12"


def test_a_version_of_the_future() -> None:
    with pytest.raises(ValueError, match=r"^__array_namespace__: the versions"):
        xp.asarray(1.0).__array_namespace__(api_version="2099.12")


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    empty = inspect.Parameter.empty
    listed = inspect.signature(function).parameters.values()
    return [
        (
            each.name,
            each.kind,
            None if isinstance(each.default, type) or each.default is empty else each.default,
        )
        for each in listed
    ]


def test_signatures_are_those_of_another_implementation() -> None:
    strict = pytest.importorskip("array_api_strict")
    differences: list[str] = []
    for name in NAMES:
        theirs: Any = strict
        for part in name.split("."):
            theirs = getattr(theirs, part)
        if not inspect.isfunction(theirs) or name in ("from_dlpack", "astype", "expand_dims"):
            continue
        if parameters(named(name)) != parameters(theirs):
            differences.append(
                f"{name}: {inspect.signature(named(name))}, expected {inspect.signature(theirs)}"
            )
    assert not differences


def test_signatures_are_strict() -> None:
    x = xp.asarray([1.0, 2.0])
    for call in (
        lambda: xp.sum(x, 0),
        lambda: xp.sum(x=x),
        lambda: xp.sum(x, out=None),
        lambda: xp.matmul(x),
    ):
        with pytest.raises(TypeError):
            call()


BY_CALL: dict[str, list[str]] = defaultdict(list)
for _dtype, _call in calls.CASES:
    BY_CALL[_call].append(_dtype)


def compared(text: str, dtype: str) -> None:
    given = calls.samples(dtype)
    with np.errstate(all="ignore"):
        expected = eval(text, calls.scope(np), given)
        boxes = {name: xp.asarray(value) for name, value in given.items()}
        actual = eval(text, calls.scope(xp), boxes)
    if not text.startswith(("x.shape", "unstack", "meshgrid", "broadcast_arrays")):
        assert hasattr(actual, "_fields") == hasattr(expected, "_fields")
    expected, actual = tree.leaves(expected), tree.leaves(actual)
    assert len(expected) == len(actual)
    for one, other in zip(actual, expected, strict=True):
        if isinstance(other, np.ndarray | np.generic):
            assert isinstance(one, Array | type(other)), f"{type(one)} in place of an array"
            assert one.dtype == other.dtype, f"{one.dtype}, NumPy's is {other.dtype}"
            assert one.shape == other.shape
            rtol = 1e-4 if other.dtype in (np.float32, np.complex64) else 1e-10
            np.testing.assert_allclose(np.asarray(concrete(one)), other, rtol=rtol, atol=rtol)
        else:
            assert one == other


@pytest.mark.parametrize("text", BY_CALL)
def test_values_and_dtypes_are_numpys(text: str) -> None:
    if text.partition("(")[0].split(".")[0] in dir(xp) and not hasattr(
        np, text.partition("(")[0].split(".")[0]
    ):
        pytest.skip("this version of NumPy lacks the function")
    for dtype in BY_CALL[text]:
        try:
            compared(text, dtype)
        except Exception as problem:
            raise AssertionError(f"{text} of {dtype}: {problem}") from problem


def test_every_function_is_called() -> None:
    called = " ".join(BY_CALL)
    exempt = {"from_dlpack", "__array_namespace_info__"}
    values = {"e", "inf", "nan", "newaxis", "pi", *(name for name in NAMES if isinstance(named(name), type))}
    assert not [name for name in NAMES if f"{name}(" not in called and name not in exempt | values]


def _differentiable(text: str) -> bool:
    plain = (
        "x.",
        "unique",
        "sort(unique",
        "nonzero",
        "finfo",
        "isdtype",
        "can_cast",
        "result_type",
        "complex(",
        "pow(x, abs",
    )
    return not text.startswith(plain) and not text.endswith(("shape", "dtype", "x[b]"))


@pytest.mark.parametrize("text", [text for text, dtypes in BY_CALL.items() if "float64" in dtypes])
def test_derivatives_in_all_modes(text: str) -> None:
    given = calls.samples("float64")
    names = {name for name in given if name in text and name not in "bi"}
    code = compile(text, "call", "eval")
    if not names & set(code.co_names) or not _differentiable(text):
        return

    def total(values: dict[str, Any]) -> Any:
        leaves = tree.leaves(eval(code, calls.scope(xp), given | values))
        parts = [leaf * (1.0 + 0.5 * leaf) for leaf in leaves if leaf.dtype.kind in "fc"]
        return sum(
            (xp.sum(xp.real(part)) for part in parts), xp.asarray(0.0) + 0.0 * values[first][..., 0].sum()
        )

    first = sorted(names & set(code.co_names))[0]
    values = {first: given[first]}
    gradient = wg.grad(total)(values)[first]
    direction = np.random.default_rng(1).standard_normal(gradient.shape)
    step = 1e-6
    ahead, behind = (total({first: given[first] + sign * step * direction}) for sign in (1, -1))
    expected = (float(ahead) - float(behind)) / (2 * step)
    np.testing.assert_allclose(np.sum(gradient * direction), expected, rtol=1e-5, atol=1e-5)
    batched = wg.vmap(wg.grad(total))({first: np.stack([given[first]] * 2)})[first]
    np.testing.assert_allclose(batched[1], gradient, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "sort(x, descending=True)",
            "argsort(v, descending=True)",
            "clip(x, 0.0, 1.0)",
            "cumulative_sum(x, axis=1)",
        ),
        *("take_along_axis(x, argsort(x), axis=-1)", "linalg.solve(s, v)", "linalg.vector_norm(x, axis=1)"),
        *(
            "where(x > 0, x, asarray(0.0))",
            "std(x, axis=0, correction=1)",
            "linalg.eigvalsh(s)",
            "fft.fft(v)",
        ),
        *(
            "tile(astype(x, float32), (2, 1))",
            "searchsorted(sort(v), w)",
            "unstack(x)[1]",
            "special.gammaln(abs(x) + 1.0)",
        ),
    ],
)
def test_compiled_results(text: str) -> None:
    if "special" in text:
        pytest.importorskip("scipy.special")
    given = calls.samples("float64")
    names = calls.scope(xp) | {"special": xp.special}

    def run(arguments: dict[str, Any]) -> Any:
        return eval(text, names, arguments)

    expected = run(given)
    actual = wg.jit(run)(given)
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, np.asarray(expected), rtol=1e-6)


def test_order_of_equal_elements() -> None:
    x = np.array([1.0, 3.0, 1.0, 3.0, 2.0])
    assert np.asarray(xp.argsort(x, descending=True)).tolist() == [1, 3, 4, 0, 2]
    assert np.asarray(xp.sort(x, descending=True)).tolist() == [3.0, 3.0, 2.0, 1.0, 1.0]
    assert wg.grad(lambda x: xp.sort(x, descending=True)[1])(x).tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]


def test_conversions_of_constants() -> None:
    x = xp.asarray([1.0, 2.0])
    number = xp.sum(x)
    assert (float(number), bool(number), complex(number), int(xp.asarray(3))) == (3.0, True, 3.0, 3)
    assert isinstance(number * 2, Array)
    assert np.asarray(x).tolist() == x.tolist() == np.from_dlpack(x).tolist() == [1.0, 2.0]
    assert np.asarray(xp.from_dlpack(np.arange(3))).tolist() == [0, 1, 2]
    assert xp.from_dlpack(x) is x
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(ValueError, match=r"^asarray: copy=False"):
        xp.asarray(np.ones(2), copy=False)
    assert xp.asarray(x, copy=False) is x


def test_constants_are_pickled() -> None:
    x = pickle.loads(pickle.dumps(xp.asarray([1.0, 2.0])))
    assert x.__array_namespace__() is xp
    assert x.tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match=r"^pickle: the derivative would be lost"):
        wg.grad(lambda x: pickle.dumps(x))(1.0)


def test_a_plain_array_is_copied() -> None:
    weights = np.ones(2)

    def f(x: Any) -> Any:
        held = xp.asarray(weights)
        weights[0] = 5.0
        return xp.sum(held * x)

    assert wg.grad(f)(np.zeros(2)).tolist() == [1.0, 1.0]


def test_arrays_are_written_to() -> None:
    def f(x: Any) -> Any:
        powers = xp.zeros(3)
        for n in range(3):
            powers[n] = x**n
        return xp.sum(powers)

    assert wg.grad(f)(2.0) == 5.0
    assert wg.jit(wg.grad(f))(2.0) == 5.0


def test_results_leave_the_transform_as_plain_arrays() -> None:
    value = wg.vmap(lambda x: xp.sum(x))(np.ones((2, 3)))
    assert type(value) is np.ndarray
    result, aux = wg.grad(lambda x: (xp.sum(x * x), xp.arange(3)), has_aux=True)(np.ones(3))
    assert type(result) is np.ndarray
    assert np.asarray(aux).tolist() == [0, 1, 2]
    assert type(wg.jit(lambda x: (x, xp.ones(2)))(1.0)[1]) is np.ndarray


def test_results_that_no_transform_follows_have_the_namespace() -> None:
    def f(x: Any) -> Any:
        namespace = x.__array_namespace__()
        for result in (x > 0, x == x, np.argmax(x), np.floor(x) > 1, np.sum(x > 0)):
            assert result.__array_namespace__() is namespace
        mask = x > 0
        mask &= x < 3
        assert bool(mask[0])
        plain = np.arange(3)
        assert plain[mask].tolist() == [0, 2]
        assert plain[np.argmax(x)] == 0
        return namespace.sum(x[mask])

    x = np.array([2.0, -1.0, 1.0])
    assert wg.grad(f)(x).tolist() == [1.0, 0.0, 1.0]
    assert wg.jvp(f, (x,), (x,)) == (3.0, 3.0)
    assert wg.grad(lambda x: (x * (x > 0)).sum() if type(x > 0) is np.ndarray else x.sum())(x)[1] == 0.0


def test_the_object_style() -> None:
    x = wg.Variable(np.ones(3))
    namespace = x.__array_namespace__()
    namespace.sum(x * namespace.asarray([1.0, 2.0, 3.0])).backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]


def test_inspection() -> None:
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is True
    assert info.devices() == ["cpu"]
    assert info.default_dtypes()["real floating"] == np.float64
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    assert set(info.dtypes()) == set(info.dtypes(kind="numeric")) | {"bool"}
    with pytest.raises(ValueError, match=r"^isdtype: the kinds are"):
        xp.isdtype(xp.float32, "real")
    with pytest.raises(ValueError, match=r"^dtypes: the one device"):
        info.dtypes(device="gpu")


def test_the_namespace_loads_late() -> None:
    code = "import wengert, sys; assert 'wengert.array_api' not in sys.modules; wengert.array_api.sin(1.0)"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'scipy' not in sys.modules"], check=True)


def test_array_api_compat_accepts_boxes() -> None:
    compat = pytest.importorskip("array_api_compat")

    def f(x: Any) -> Any:
        assert compat.array_namespace(x, 1.0) is xp
        assert compat.is_array_api_obj(x)
        assert compat.device(x) == "cpu"
        assert compat.size(x) == 3
        return xp.sum(compat.to_device(x, "cpu") ** 2)

    x = np.arange(3.0)
    assert wg.grad(f)(x).tolist() == [0.0, 2.0, 4.0]
    assert wg.jit(f)(x) == 5.0
    assert wg.vmap(f)(x[None]).tolist() == [5.0]
