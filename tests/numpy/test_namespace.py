"""The module as a namespace: NumPy's names, signatures and protocols."""

from __future__ import annotations

import inspect
import pickle
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import wengert.array_api
import wengert.numpy as wnp
import wengert.numpy.fft
from wengert.compiler.jit import jit
from wengert.engine.array.array import FUNCTIONS
from wengert.engine.boxes import CONSTANT, concrete
from wengert.engine.core.errors import ConcreteError, UnsupportedError, WengertError
from wengert.engine.ops.elementwise import UFUNCS
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.reverse_mode import grad

BOX = CONSTANT.constant(np.array([[1.0, 2.0], [3.0, 4.0]]))


def own_name(function: Any) -> str:
    return f"{function.__module__}.{function.__name__}"


def parameters(function: Any) -> list[str] | None:
    try:
        listed = list(inspect.signature(function).parameters.values())
    except ValueError:  # earlier versions of NumPy do not state the signatures of functions in C
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in listed):
        return None
    return [parameter.name for parameter in listed if parameter.kind is not parameter.VAR_POSITIONAL]


DISPATCHED = [function for function in FUNCTIONS if not isinstance(function, np.ufunc)]


@pytest.mark.parametrize("function", DISPATCHED, ids=own_name)
def test_implementations_take_numpys_parameters(function: Any) -> None:
    implementation, name = FUNCTIONS[function], function.__name__
    theirs, ours = parameters(function), parameters(implementation)
    if theirs is None or ours is None:
        return
    positional_only = {"x", "x1", "x2", "a", "b", "array", "arrays", "condition", "y", "from_", "to"}
    for mine, numpys in zip(ours, theirs, strict=False):
        assert mine == numpys or {mine, numpys} <= positional_only, (
            f"{name}{tuple(ours)}, NumPy's is {tuple(theirs)}"
        )
    assert set(theirs) - set(ours) <= positional_only, f"{name} lacks {set(theirs) - set(ours)}"


@pytest.mark.parametrize(
    "name", ["sum", "where", "matmul", "sin", "einsum", "add", "float32", "concat", "pow"]
)
def test_names_are_numpys_own(name: str) -> None:
    own, numpys = getattr(wnp, name), getattr(np, name)
    assert getattr(own, "__wrapped__", own) in (numpys, getattr(numpys, "__wrapped__", numpys))
    assert getattr(wnp, name) is own
    if not isinstance(own, type) and callable(own):
        assert (own.__name__, own.__doc__) == (numpys.__name__, numpys.__doc__)
        assert pickle.loads(pickle.dumps(own)) is own


def test_every_implemented_function_is_offered() -> None:
    offered = dir(wnp)
    for function in [*DISPATCHED, *UFUNCS]:
        if function.__name__ in vars(np) and vars(np)[function.__name__] is function:
            assert function.__name__ in offered
    for name in offered:
        assert hasattr(wnp, name)
    assert {"pi", "inf", "nan", "newaxis", "float64", "int32", "zeros", "array", "linspace"} <= set(offered)
    assert not {"Any", "registry", "ModuleType", "complex128", "fft", "char"} & set(offered)
    with pytest.raises(AttributeError, match=r"'wengert\.numpy' has no attribute 'fft2d'"):
        _ = wnp.fft2d


AS_IN_NUMPY = """
import sys
import wengert.numpy as np
assert "numpy.random" not in sys.modules and "numpy.fft" not in sys.modules
assert np.random.__name__ == "numpy.random" and np.linalg.norm([3.0, 4.0]) == 5
import wengert.numpy.fft
import wengert.numpy.linalg as la
import wengert.numpy.random as npr
from wengert.numpy.fft import *
from wengert.numpy import fft, linalg, random
from wengert.numpy.linalg import LinAlgError, solve
from wengert.numpy.random import RandomState
import numpy
assert la is linalg is np.linalg and npr is random is np.random
assert solve.__wrapped__ is numpy.linalg.solve and LinAlgError is numpy.linalg.LinAlgError
assert fft.rfft is rfft and rfft.__wrapped__ is numpy.fft.rfft and npr.randn is numpy.random.randn
assert npr.seed(3) is None and npr.RandomState(3).randn() == npr.randn()
for ours, theirs in ((fft, numpy.fft), (linalg, numpy.linalg), (random, numpy.random)):
    assert set(theirs.__all__) <= set(dir(ours)) and ours.__all__ == theirs.__all__
assert np.loadtxt is numpy.loadtxt and np.complex128 is numpy.complex128 and np.mgrid is numpy.mgrid
"""


def test_the_module_takes_numpys_place() -> None:
    subprocess.run([sys.executable, "-c", AS_IN_NUMPY], check=True)


def test_fourier_transforms_take_lists_of_boxes() -> None:
    assert grad(lambda x: np.abs(wengert.numpy.fft.fft([x, 2 * x])[0]))(1.0) == 3.0


def test_a_box_names_its_namespace() -> None:
    def generic(x: Any) -> Any:
        xp = x.__array_namespace__()
        total = xp.zeros(2)
        total[0] = xp.sum(xp.sin(x))
        return xp.max(xp.concat([total, xp.asarray([1.0])]) * xp.pi)

    assert BOX.__array_namespace__() is wengert.array_api
    assert grad(generic)(0.5) == pytest.approx(0.0)
    assert grad(generic)(1.7) == pytest.approx(0.0)
    assert grad(lambda x: generic(x + np.zeros(3)))(1.2) == pytest.approx(3 * np.pi * np.cos(1.2))


def test_questions_about_boxes(capsys: pytest.CaptureFixture[str]) -> None:
    assert np.shape(BOX) == (2, 2)
    assert np.ndim(BOX) == 2
    assert np.size(BOX) == 4
    assert np.size(BOX, 0) == 2
    assert np.result_type(BOX, np.float32) == np.float64
    assert np.can_cast(BOX, np.float32) is False
    assert np.can_cast(BOX, np.float32, "same_kind") is True
    assert np.common_type(BOX) is np.float64
    assert not np.iscomplexobj(BOX)
    assert np.isrealobj(BOX)
    assert np.min_scalar_type(BOX) == np.float64
    assert np.shares_memory(BOX, BOX[0])
    assert not np.shares_memory(BOX, BOX.copy())
    assert np.may_share_memory(BOX.T, BOX.ravel())
    assert np.array_str(BOX) == np.array_str(concrete(BOX))
    assert np.array2string(BOX, precision=1) == np.array2string(concrete(BOX), precision=1)
    assert "1." in np.array_repr(BOX)

    def shown(x: Any) -> Any:
        print(np.array_str(x))
        return x

    vmap(shown)(np.ones((2, 3)))
    assert capsys.readouterr().out == "Array(f64[3], vmap)\n"
    assert grad(lambda x: x * np.min_scalar_type(x).itemsize)(3.0) == 2.0
    with pytest.raises(ConcreteError, match="min_scalar_type: the value of a number must be known"):
        jit(lambda n: np.min_scalar_type(n).itemsize * 1.0)(3)


@pytest.mark.parametrize(
    "function",
    [
        np.diag_indices_from,
        np.tril_indices_from,
        lambda x: np.triu_indices_from(x, k=1),
        lambda x: np.array(np.einsum_path("ij,jk,kl", x, x, x, optimize="greedy")[0][1:]),
    ],
)
def test_functions_of_shapes_take_boxes(function: Any) -> None:
    square = np.ones((3, 3))
    actual: list[Any] = []
    grad(lambda x: (actual.append(function(x)), x[0, 0])[1])(square)
    for result in (*actual, jit(function)(square)):
        for value, other in zip(result, function(square), strict=True):
            np.testing.assert_array_equal(value, other)


#: Values of options that functions refuse or that do not fit a matrix.
OPTIONS = {"out": np.zeros((2, 2)), "where": np.ones((2, 2), bool), "weights": np.ones((2, 2)), "axis": 7}
ALIASES = {"amax": "max", "amin": "min", "around": "round"}
INDICES = np.zeros((2, 2), int)
#: Arguments for parameters other than arrays of floats.
GIVEN = {"q": 0.5, "shift": 1, "repeats": 1, "indices": INDICES, "obj": 0, "indices_or_sections": 1}
GIVEN |= {"func1d": np.sum, "window_shape": 1, "condition": [True, True], "choicelist": [BOX, BOX]}
REFUSING = [
    (function, option)
    for function in DISPATCHED
    for option in OPTIONS
    if option in (parameters(function) or []) and option in (parameters(FUNCTIONS[function]) or [])
]


@pytest.mark.parametrize(
    ("function", "option"), REFUSING, ids=lambda value: getattr(value, "__name__", value)
)
def test_refusals_of_an_option_name_the_function(function: Any, option: str) -> None:
    implementation = inspect.signature(FUNCTIONS[function]).parameters.values()
    required = [parameter.name for parameter in implementation if parameter.default is parameter.empty]
    operands = {name: OPTIONS[option] if name == option else GIVEN.get(name, BOX) for name in required}
    error = ""
    try:
        if option in operands:
            function(*operands.values())
        else:
            function(*operands.values(), **{option: OPTIONS[option]})
    except WengertError as refused:
        error = str(refused)
    name = ALIASES.get(function.__name__, function.__name__)
    assert re.match(rf"$|(np\.)?((linalg|fft)\.)?{name}: ", error)


def test_an_option_that_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"^np\.clip: where= is not supported"):
        np.clip(BOX, 0, 1, where=np.ones((2, 2), bool))


def test_python_scalars_stay_weak() -> None:
    assert grad(lambda x: np.sum(x * np.ones(2, np.float32)).astype(float))(2.0) == 2.0
    single = np.ones(2, np.float32)
    for function in (
        lambda x: np.where(x > 0, x, 0.0),
        lambda x: np.clip(x, 0.0, 1.0),
        lambda x: np.linalg.norm(x),
        lambda x: np.std(x),
        lambda x: np.interp(0.5, x, x),
        lambda x: np.pad(x, 1, constant_values=2.0),
        lambda x: np.select([x > 0], [x], 1.0),
        lambda x: np.quantile(x, 0.5),
        lambda x: np.convolve(x, [1.0, 2.0]),
    ):
        expected = function(single)
        assert function(CONSTANT.constant(single)).dtype == np.asarray(expected).dtype
