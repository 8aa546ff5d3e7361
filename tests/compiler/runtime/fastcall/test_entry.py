"""Entries: compiled functions as built-in functions of Python."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import wengert as wg
from tests.compiler import entries
from tests.compiler.entries import (
    POINT,
    PassedOnError,
    assert_same,
    compiled,
    gradient,
    linked,
    rosenbrock,
    staged,
    where_there_are_entries,
)
from wengert.compiler.llvm.host import host
from wengert.compiler.llvm.object_code import optimised
from wengert.compiler.runtime import donation
from wengert.compiler.runtime.fastcall import entry, objects
from wengert.compiler.runtime.fastcall.entry_code import entry_ir
from wengert.compiler.runtime.fastcall.objects import OFFSETS
from wengert.engine.core.dtypes import SHORT_NAMES

pytestmark = where_there_are_entries


# -- results -------------------------------------------------------------------------------------------------


@given(st.floats(0.1, 10), st.floats(-10, 10))
def test_numbers(wengert_entry: Any, x1: float, x2: float) -> None:
    assert_same(wengert_entry(x1, x2), (np.float64(1 / x1 + x2), np.float64(x1 - np.cos(x2))))


@given(hnp.arrays(np.float64, 10, elements=st.floats(-10, 10)))
def test_arrays(rosenbrock_entry: Any, x: Any) -> None:
    assert_same(rosenbrock_entry(x), wg.value_and_grad(rosenbrock)(x))


KNOWN = [dtype for dtype in SHORT_NAMES if dtype != np.float16]


@pytest.mark.parametrize("dtype", KNOWN, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (2, 0), (1, 2, 3)])
def test_dtypes_and_shapes(dtype: Any, shape: tuple[int, ...]) -> None:
    if dtype.kind == "c" and not shape:
        pytest.skip("entries take no complex numbers without axes")

    def function(x: Any) -> Any:
        return x, np.where(x != 0, x, x)

    x = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype)
    served = compiled(function, x)
    assert_same(served(x), function(x) if shape else (x[()], x[()]))
    if not shape:
        assert_same(served(x[()]), (x[()], x[()]))
    for result in served(x):
        assert not shape or (result.flags.owndata and result.flags.carray and not np.shares_memory(result, x))


@given(st.integers(-(2**63), 2**63 - 1), st.booleans(), st.floats(allow_nan=False))
def test_scalars_of_python(scalars: Any, number: int, truth: bool, value: float) -> None:
    assert_same(scalars(number, truth, value), (number, truth, value))


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
def test_integers_of_more_than_64_bits(scalars: Any, number: int) -> None:
    with pytest.raises(PassedOnError):
        scalars(number, True, 1.0)
    assert scalars(-1, True, 1.0) == (-1, True, 1.0)


def test_containers() -> None:
    def function(pair: Any, several: Any, none: Any) -> Any:
        (a, (b,)), (c, d) = pair, several
        return [], (a * b, [c + d, None], ()), none, [c]

    given_arguments = ((2.0, (np.arange(3.0),)), [np.float32(1), np.ones((2, 2))], None)
    served = compiled(function, *given_arguments)
    assert_same(served(*given_arguments), function(*given_arguments))
    (a, b), several, none = given_arguments
    for other in (
        ((a, list(b)), several, none),
        ((a, (*b, 1.0)), several, none),
        ([a, b], several, none),
        ((a, b), tuple(several), none),
        ((a, b), several[:1], none),
        ((a, b), [*several, 1.0], none),
        ((a, b), several, ()),
    ):
        with pytest.raises(PassedOnError):
            served(*other)


def test_dicts() -> None:
    def function(weights: Any, empty: Any) -> Any:
        matrix, vector = weights["layers"][0]["weight"], weights["bias"]
        return {"y": matrix @ vector, "rest": {"bias": vector * 2, "empty": {}}, "a": weights["scale"]}

    layers, bias = [{"weight": np.ones((3, 3))}], np.arange(3.0)
    weights = {"scale": 2.0, "layers": layers, "bias": bias}
    served = compiled(function, weights, {})
    assert_same(served(weights, {}), function(weights, {}))
    assert list(served(weights, {})) == ["y", "rest", "a"]
    again = {**weights, "scale": 3.0}
    assert_same(served(again, {}), function(again, {}))
    for other in (
        {"layers": layers, "bias": bias, "scale": 3.0},
        {**weights, "more": 1.0},
        {"layers": layers, "bias": bias},
        {"layers": layers, "bias": bias, "other": 1.0},
        {"layers": layers, "bias": bias, 1: 1.0},
        {**weights, "bias": 1.0},
        OrderedDict(weights),
    ):
        with pytest.raises(PassedOnError):
            served(other, {})
    with pytest.raises(PassedOnError):
        served(weights, {"a": 1.0})


class Pair(NamedTuple):
    """A named tuple."""

    first: Any
    second: Any = None


class Longer(Pair):
    """A named tuple of another class."""


def test_named_tuples() -> None:
    def function(pair: Any, *, named: Any) -> Any:
        scaled = pair.first * named.second["a"]
        return Pair(Longer(scaled, None), [Pair(pair.second, scaled[1]), 2.0 * pair.second])

    named = Longer(None, {"a": 2.0})
    served = compiled(function, Pair(POINT, 1.0), named=named)
    for first, second in ((POINT, 1.0), (2.0 * POINT, -3.0)):
        pair = Pair(first, second)
        assert_same(served(pair, named=named), function(pair, named=named))
    for other in ((POINT, 1.0), Longer(POINT, 1.0), Pair(POINT), Pair(POINT, 1), [POINT, 1.0], None):
        with pytest.raises(PassedOnError):
            served(other, named=named)
    with pytest.raises(PassedOnError):
        served(Pair(POINT, 1.0), named=Pair(*named))


def test_a_named_tuple_that_refuses_its_fields() -> None:
    class Small(NamedTuple("Small", [("value", Any)])):
        __slots__ = ()

        def __new__(cls, value: Any) -> Any:
            if type(value) is float and value > 2.0:
                raise ValueError("too large")
            return super().__new__(cls, value)

    served = compiled(lambda x: [Small(x), POINT * x], 1.0)
    assert served(2.0)[0] == Small(2.0)
    with pytest.raises(ValueError, match="too large"):
        served(3.0)
    assert served(1.0)[0] == Small(1.0)


def test_a_function_without_arguments() -> None:
    assert_same(compiled(lambda: (1.5, np.arange(3) * 2))(), (1.5, np.arange(3) * 2))


def test_an_array_that_the_function_knows() -> None:
    known = np.arange(100.0) ** 2
    assert_same(compiled(lambda x: known * x, 3.0)(4.0), known * 4.0)


def test_a_branch() -> None:
    def function(x: Any) -> Any:
        return wg.cond(x > 0, lambda: x * 2, lambda: -x)

    served = compiled(function, 1.0)
    assert [served(x) for x in (3.0, -3.0)] == [6.0, 3.0]


# -- calls that are passed on --------------------------------------------------------------------------------


class Subclass(np.ndarray):
    """An array of another class."""


class Number(float):
    """A float of another class."""


def strided() -> Any:
    return np.arange(20.0)[::2]


def misaligned() -> Any:
    return np.frombuffer(b"\0" * 81, np.uint8)[1:].view(np.float64)


@pytest.mark.parametrize(
    "other",
    [
        POINT.view(Subclass),
        POINT.astype(np.float32),
        POINT.astype(np.int64),
        POINT.astype(">f8"),
        POINT[:9],
        POINT[:, None],
        POINT[None],
        strided(),
        POINT[::-1],
        misaligned(),
        np.array(POINT, object),
        np.float64(1.0),
        np.array(1.0),
        POINT.tolist(),
        1.0,
        None,
    ],
)
def test_other_arrays(rosenbrock_entry: Any, other: Any) -> None:
    with pytest.raises(PassedOnError) as passed:
        rosenbrock_entry(other)
    assert passed.value.args[0] is other


@pytest.mark.parametrize(
    "other", [Number(2.0), np.float64(2.0), np.float32(2.0), 2, True, np.array(2.0), "2", None]
)
def test_other_numbers(wengert_entry: Any, other: Any) -> None:
    with pytest.raises(PassedOnError) as passed:
        wengert_entry(2.0, other)
    assert passed.value.args[1] is other


@pytest.mark.parametrize(
    "other", [2.0, np.float32(2.0), np.array([2.0]), np.longdouble(2.0), np.array(2.0, ">f8")]
)
def test_other_scalars(other: Any) -> None:
    served = compiled(np.sin, np.float64(1.0))
    assert_same(
        [served(scalar) for scalar in (np.float64(2.0), np.array(2.0))], [np.sin(np.float64(2.0))] * 2
    )
    with pytest.raises(PassedOnError):
        served(other)


@pytest.mark.parametrize("other", [1, 0, np.True_, 1.0, None])
def test_other_truth_values(scalars: Any, other: Any) -> None:
    with pytest.raises(PassedOnError):
        scalars(1, other, 1.0)


def test_other_ways_to_call(wengert_entry: Any) -> None:
    for args, kwargs in (
        ((), {}),
        ((2.0,), {}),
        ((2.0, 5.0, 1.0), {}),
        ((2.0,), {"x2": 5.0}),
        ((), {"x1": 2.0, "x2": 5.0}),
        ((2.0, 5.0), {"x3": 1.0}),
    ):
        with pytest.raises(PassedOnError) as passed:
            wengert_entry(*args, **kwargs)
        assert (passed.value.args, passed.value.kwargs) == (args, kwargs)


def test_arguments_by_name() -> None:
    def function(x: Any, *, scale: Any, given: Any, shift: Any) -> Any:
        return {"y": x * scale - given["b"] / given["a"], "shift": shift[0]}

    named = {"scale": 3.0, "given": {"b": np.ones(3), "a": 2.0}, "shift": (5, None)}
    served = compiled(function, POINT[:3], **named)
    others = {"scale": -1.0, "given": {"b": POINT[:3], "a": 4.0}, "shift": (7, None)}
    for some in (named, others):
        assert_same(served(POINT[:3], **some), function(POINT[:3], **some))
    reordered = {name: named[name] for name in ("given", "scale", "shift")}
    for args, kwargs in (
        ((POINT[:3],), {}),
        ((POINT[:3], 1.0), named),
        ((), named),
        ((POINT[:3],), reordered),
        ((POINT[:3],), {**named, "more": 1.0}),
        ((POINT[:3],), {"scale": 3.0, "given": named["given"]}),
        ((POINT[:3],), {**named, "scale": 3}),
        ((POINT[:3],), {**named, "given": {"a": 2.0}}),
        ((POINT[:3],), {**named, "given": {"a": 2.0, "b": np.ones(3)}}),
    ):
        with pytest.raises(PassedOnError) as passed:
            served(*args, **kwargs)
        assert list(passed.value.kwargs) == list(kwargs)
    assert entry.identity(staged(function, POINT[:3], **named)[0]) != entry.identity(
        staged(function, POINT[:3], **reordered)[0]
    )


def test_values_of_a_transform(wengert_entry: Any) -> None:
    def function(x: Any) -> Any:
        return compiled(np.sin, 1.0, following=np.sin)(x)

    assert wg.grad(function)(0.5) == np.cos(0.5)


def test_an_array_with_a_dtype_of_its_own(rosenbrock_entry: Any) -> None:
    unpickled = pickle.loads(pickle.dumps(POINT))
    assert unpickled.dtype is not POINT.dtype, "the case that is tested here"
    assert_same(rosenbrock_entry(unpickled), rosenbrock_entry(POINT))


def test_an_array_that_is_read_only(rosenbrock_entry: Any) -> None:
    array = POINT.copy()
    array.flags.writeable = False
    before = int(donation.COUNT[0])
    try:
        donation.COUNT[0] = 0
        assert_same(rosenbrock_entry(array), rosenbrock_entry(POINT))
        given_up = POINT.copy()
        donation.give_up([given_up])
        for passed_on in (given_up, array):
            with pytest.raises(PassedOnError):
                rosenbrock_entry(passed_on)
        assert_same(rosenbrock_entry(POINT), rosenbrock_entry(POINT.copy()))
    finally:
        donation.COUNT[0] = max(before, 1)


def test_entries_in_a_row() -> None:
    first = compiled(lambda x: x + 1, 1.0)
    second = compiled(lambda x: x + 2, 1, following=first)
    third = compiled(lambda x, y: x * y, 1.0, 1.0, following=second)
    assert [third(1.0), third(1), third(2.0, 3.0)] == [2.0, 3, 6.0]
    with pytest.raises(PassedOnError):
        third("1")


def test_an_index_outside_its_array() -> None:
    served = compiled(lambda x, i: (x[i], x * 2), POINT, 1)
    assert_same(served(POINT, 3)[0], POINT[3])
    for _ in range(3):
        with pytest.raises(PassedOnError) as passed:
            served(POINT, 10)
        assert passed.value.args == (POINT, 10)
        assert_same(served(POINT, -1)[0], POINT[-1])


# -- eligible programs, and supported Pythons ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "examples"),
    [
        (lambda x: x @ x, (np.ones((160, 160)),)),
        (lambda x: x * 2, (np.ones(1_200_000),)),  # threads share it
        (lambda *xs: [x * 2 for x in xs], tuple(np.ones(190_000 + n) for n in range(4))),
        (lambda x: wg.fori_loop(0, 2_000_000, lambda i, y: y * 2, x), (1.0,)),
        (lambda x: x[0], ({0: 1.0},)),
        (lambda x: {(): x}, (1.0,)),
        (lambda x: np.linalg.pinv(x), (np.eye(99),)),
    ],
)
def test_programs_that_have_no_entry(function: Any, examples: Any) -> None:
    assert not entry.eligible(*staged(function, *examples))


def counted(x: Any, count: Any) -> Any:
    """Return the sine of the sine of ... x."""
    return wg.while_loop(lambda s: s[0] < count, lambda s: (s[0] + 1, np.sin(s[1])), (0, x))[1]


def test_a_loop_that_ends_by_a_condition_has_an_entry() -> None:
    served = compiled(counted, 0.5, 3)
    for count in (0, 1, 3, 40):
        np.testing.assert_allclose(served(0.5, count), counted(0.5, count), rtol=1e-14)


def test_a_loop_that_takes_longer_is_passed_on_and_at_last_all_calls_are() -> None:
    served, endless = compiled(counted, 0.5, 3), 1 << 62
    for _ in range(3):
        with pytest.raises(PassedOnError) as passed:
            served(0.5, endless)
        assert passed.value.args == (0.5, endless)
    assert served(0.0, 3) == 0.0
    for _ in range(4):
        with pytest.raises(PassedOnError):
            served(0.5, endless)
    with pytest.raises(PassedOnError):
        served(0.0, 3)


def test_an_error_of_a_loop_is_passed_on_and_later_calls_are_served() -> None:
    served = compiled(lambda x: wg.while_loop(lambda y: y < 9, lambda y: y * x, 1.0, most=5), 2.0)
    with pytest.raises(PassedOnError):
        served(1.0)
    assert served(3.0) == 9.0


def test_a_program_with_a_short_loop_has_an_entry() -> None:
    def function(x: Any) -> Any:
        return wg.fori_loop(0, 30, lambda i, y: y + np.sin(i * x), x)

    served = compiled(function, 0.5)
    assert_same(served(0.25), function(0.25))
    assert_same(served(0.5), function(0.5))


def test_a_program_of_very_many_numbers_has_no_entry() -> None:
    assert entry.eligible(*staged(lambda *xs: sum(xs), *range(255)))
    assert not entry.eligible(*staged(lambda *xs: sum(xs), *range(256)))


def test_a_program_that_writes_into_its_arguments_has_no_entry() -> None:
    assert entry.eligible(*staged(lambda x: x * 2, POINT))
    assert not entry.eligible(*staged(lambda x: x * 2, POINT, places={0: 0}))


@pytest.mark.parametrize("field", sorted(set(OFFSETS._fields) - {"list_items"}))
def test_another_layout_of_objects_is_noticed(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = OFFSETS._replace(**{field: getattr(OFFSETS, field) + (-8 if field == "type" else 8)})
    monkeypatch.setattr(objects, "OFFSETS", moved)
    assert not objects.supported.__wrapped__()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("wengert.compiler.runtime.fastcall.objects.platform.python_implementation", lambda: "PyPy"),
        ("sys._is_gil_enabled", lambda: False),
        ("sys.gettotalrefcount", lambda: 0),
        ("sys.abiflags", "t"),
        ("sys.byteorder", "big"),
    ],
)
def test_another_python_is_noticed(place: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, value, raising=False)
    assert not objects.supported.__wrapped__()


def test_code_from_another_process(tmp_path: Path) -> None:
    program = (
        "import pathlib, pickle, runpy, sys; m = runpy.run_path(sys.argv[1]);"
        "pathlib.Path(sys.argv[2]).write_bytes(pickle.dumps(m['object_code'](*m['staged'](m['gradient'], 2.0, 5.0))))"
    )
    file = tmp_path / "code"
    subprocess.run([sys.executable, "-c", program, entries.__file__, str(file)], check=True)
    signature, module = staged(gradient, 2.0, 5.0)
    served = linked(signature, module, pickle.loads(file.read_bytes()))
    assert_same(served(2.0, 5.0), compiled(gradient, 2.0, 5.0)(2.0, 5.0))


def test_the_identity_of_entries() -> None:
    functions = (
        lambda x, y: {"a": x, "b": y},
        lambda x, y: {"b": y, "a": x},
        lambda x, y: (x, y),
        lambda x, y: [x, y],
    )
    signatures = [
        staged(function, *examples)[0] for function in functions for examples in ((1.0, 1.0), (1, POINT))
    ]
    assert len(set(map(entry.identity, signatures))) == len(signatures)
    assert entry.identity(signatures[0]) == entry.identity(staged(functions[0], 2.0, 3.0)[0])


def test_its_size_grows_with_the_number_of_results() -> None:
    sizes: list[int] = []
    for count in (30, 60):
        signature, module = staged(lambda xs: [x * 2 for x in xs], [POINT] * count)
        sizes.append(len(optimised(entry_ir(signature, module.interface), host())))
    assert sizes[1] < 2.2 * sizes[0]


def test_it_looks_like_a_builtin(wengert_entry: Any) -> None:
    assert repr(wengert_entry).startswith("<built-in ")
    assert wengert_entry.__name__ == "compiled"
