"""Compiled functions as built-in functions of Python."""

from __future__ import annotations

import contextlib
import gc
import pickle
import platform
import subprocess
import sys
import threading
import tracemalloc
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import wengert as wg
from wengert import tree
from wengert.backend import entry, team
from wengert.backend.entry_ir import entry_ir
from wengert.backend.entry_table import OFFSETS, Signature
from wengert.backend.execute import Executable
from wengert.backend.fuse import fuse
from wengert.backend.lowering import lower
from wengert.backend.module import Module, build
from wengert.backend.native import compile_module, load
from wengert.backend.target import host
from wengert.dtypes import SHORT_NAMES
from wengert.ir.types import type_of
from wengert.passes.simplify import simplify
from wengert.transforms.staging import stage

pytestmark = pytest.mark.skipif(
    platform.python_implementation() != "CPython" or "t" in getattr(sys, "abiflags", ""),
    reason="there are no entries on this Python",
)

HERE = Path(__file__)


class PassedOnError(Exception):
    """Raised by the callable that comes next; has what that was called with."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs


def refuse(*args: Any, **kwargs: Any) -> Any:
    raise PassedOnError(args, kwargs)


def staged(
    function: Callable[..., Any], *examples: Any, places: dict[int, int] | None = None
) -> tuple[Signature, Module]:
    leaves, arguments = tree.flatten(examples)
    results: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        found, structure = tree.flatten(function(*tree.unflatten(arguments, values)))
        results.append(structure)
        return found

    types = tuple(map(type_of, leaves))
    graph = simplify(stage(flat, types)[0])
    given_types = tuple(atom.type for atom in graph.outputs)
    module = build(fuse(lower(graph, places)), host())
    return Signature(arguments, types, results[-1], given_types), module


def object_code(signature: Signature, module: Module) -> bytes:
    return compile_module(module.text + entry_ir(signature, module.interface), host(), team.symbols())


def linked(
    signature: Signature, module: Module, code: bytes, following: Callable[..., Any] = refuse
) -> Callable[..., Any]:
    executable = Executable(module.interface, load(code, team.symbols()))
    return entry.make(signature, executable, following)


def compiled(function: Callable[..., Any], *examples: Any, following: Callable[..., Any] = refuse) -> Any:
    signature, module = staged(function, *examples)
    assert entry.eligible(signature, module)
    return linked(signature, module, object_code(signature, module), following)


def wengert(x1: Any, x2: Any) -> Any:
    return np.log(x1) + x1 * x2 - np.sin(x2)


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


gradient = wg.grad(wengert, argnums=(0, 1))
POINT = np.linspace(-1, 1, 10)


@pytest.fixture(scope="module")
def wengert_entry() -> Any:
    return compiled(gradient, 2.0, 5.0)


@pytest.fixture(scope="module")
def rosenbrock_entry() -> Any:
    return compiled(wg.value_and_grad(rosenbrock), POINT)


def assert_same(found: Any, expected: Any) -> None:
    assert tree.flatten(found)[1] == tree.flatten(expected)[1]
    for one, other in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert type(one) is type(other)
        assert type_of(one) == type_of(other)
        np.testing.assert_allclose(one, other, rtol=1e-12)


# -- what it computes ----------------------------------------------------------------------------------------


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


@pytest.fixture(scope="module")
def scalars() -> Any:
    return compiled(lambda number, truth, value: (number, truth, value), 1, True, 1.0)


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
    again = {"layers": layers, "bias": bias, "scale": 3.0}
    assert_same(served(again, {}), function(again, {}))
    for other in (
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


# -- what it passes on ---------------------------------------------------------------------------------------


class Subclass(np.ndarray):
    """An array of another class."""


class Number(float):
    """A float of another class."""


def strided() -> Any:
    return np.arange(20.0)[::2]


def fixed() -> Any:
    """An array that is read-only, as those are that were donated."""
    array = POINT.copy()
    array.flags.writeable = False
    return array


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
        fixed(),
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
    assert_same([served(one) for one in (np.float64(2.0), np.array(2.0))], [np.sin(np.float64(2.0))] * 2)
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


def test_values_of_a_transform(wengert_entry: Any) -> None:
    def function(x: Any) -> Any:
        return compiled(np.sin, 1.0, following=np.sin)(x)

    assert wg.grad(function)(0.5) == np.cos(0.5)


def test_an_array_with_a_dtype_of_its_own(rosenbrock_entry: Any) -> None:
    unpickled = pickle.loads(pickle.dumps(POINT))
    assert unpickled.dtype is not POINT.dtype, "the case that is tested here"
    assert_same(rosenbrock_entry(unpickled), rosenbrock_entry(POINT))


def test_entries_in_a_row() -> None:
    one = compiled(lambda x: x + 1, 1.0)
    two = compiled(lambda x: x + 2, 1, following=one)
    three = compiled(lambda x, y: x * y, 1.0, 1.0, following=two)
    assert [three(1.0), three(1), three(2.0, 3.0)] == [2.0, 3, 6.0]
    with pytest.raises(PassedOnError):
        three("1")


def test_an_index_outside_its_array() -> None:
    served = compiled(lambda x, i: (x[i], x * 2), POINT, 1)
    assert_same(served(POINT, 3)[0], POINT[3])
    for _ in range(3):
        with pytest.raises(PassedOnError) as passed:
            served(POINT, 10)
        assert passed.value.args == (POINT, 10)
        assert_same(served(POINT, -1)[0], POINT[-1])


# -- references and memory -----------------------------------------------------------------------------------


def tracked(work: Callable[[], object]) -> int:
    """Return how much memory is in use after some work that was not before."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_references_and_memory(rosenbrock_entry: Any, wengert_entry: Any, scalars: Any) -> None:
    served = compiled(lambda x, i: ([x[i], None], (x * 2, x.sum())), POINT, 1, following=lambda *_: None)
    everything = compiled(lambda d: [d["x"], None, ({"two": d["x"]},)], {"x": POINT})
    x, number, value = POINT.copy(), 12345678901, 2.5
    objects = (x, number, value, None, np.float64, np.dtype(float), np.ndarray, True, rosenbrock_entry)
    gc.collect()
    counts = list(map(sys.getrefcount, objects))

    def work() -> None:
        for _ in range(25_000):
            rosenbrock_entry(x)
            wengert_entry(value, value)
            scalars(number, True, value)
            served(x, 3)
            served(x, 30)  # reports an error
            everything({"x": x})

    assert tracked(work) < 10_000
    for one, before in zip(objects, counts, strict=True):
        assert abs(sys.getrefcount(one) - before) < 5_000  # where one for each call would be 50,000


def test_the_code_lives_as_long_as_its_function() -> None:
    signature, module = staged(rosenbrock, POINT)
    executable = Executable(module.interface, load(object_code(signature, module), team.symbols()))
    served = entry.make(signature, executable, refuse)
    alive = weakref.ref(executable.library)
    del executable
    gc.collect()
    assert alive() is not None
    assert_same(served(POINT), rosenbrock(POINT))
    del served
    gc.collect()
    assert alive() is None


class Holder:
    """As `Jitted`: holds the entry that may call it."""

    __slots__ = ("__call__", "__weakref__")

    def slow(self, *args: Any) -> str:
        return "slow"


def test_an_entry_that_leads_back_to_its_owner_is_collected() -> None:
    holder: Any = Holder()
    holder.__call__ = compiled(rosenbrock, POINT, following=holder.slow)
    assert_same(holder(POINT), rosenbrock(POINT))
    assert holder(1.0) == "slow"
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


def test_a_function_that_is_dropped_while_it_runs() -> None:
    holder: Any = Holder()
    compiled_pair = [compiled(gradient, 2.0, 5.0, following=holder.slow) for _ in range(2)]
    expected = compiled_pair[0](2.0, 5.0)
    holder.__call__ = compiled_pair[0]
    found: list[Any] = []
    ready, stop = threading.Event(), threading.Event()

    def call() -> None:
        while not stop.is_set():
            found[:] = [holder(2.0, 5.0)]
            ready.set()

    thread = threading.Thread(target=call)
    thread.start()
    ready.wait(10)
    for number in range(1000):
        holder.__call__ = holder.slow if number % 2 else compiled_pair[1]
        compiled_pair[1] = compiled_pair[0]
        holder.__call__ = compiled_pair[0]
    compiled_pair.clear()
    holder.__call__ = lambda *_: expected
    gc.collect()
    stop.set()
    thread.join()
    assert found in ([expected], ["slow"])


def test_a_collection_of_garbage_in_the_middle_of_a_call(wengert_entry: Any) -> None:
    """Making a tuple may begin one, and finalisers may call the same function."""
    inside: list[Any] = []

    class Garbage:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            inside.append(wengert_entry(4.0, 1.0))

    expected, other = wengert_entry(2.0, 5.0), wengert_entry(4.0, 1.0)
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(300):
            Garbage()
            assert wengert_entry(2.0, 5.0) == expected
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert inside == [other] * 300


def test_threads_that_call_at_once(rosenbrock_entry: Any) -> None:
    problems: list[BaseException] = []

    def call(seed: int) -> None:
        try:
            x = np.random.default_rng(seed).standard_normal(10)
            expected = wg.value_and_grad(rosenbrock)(x)
            for _ in range(2000):
                assert_equal(rosenbrock_entry(x), expected)
        except BaseException as problem:
            problems.append(problem)

    def assert_equal(found: Any, expected: Any) -> None:
        assert np.allclose(found[0], expected[0], rtol=1e-12)
        assert np.allclose(found[1], expected[1], rtol=1e-12)

    with switching(1e-6):
        threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert problems == []


@contextlib.contextmanager
def switching(interval: float) -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(interval)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_memory_that_runs_out() -> None:
    """Each allocation of a call fails once, also those of containers too large for Python's free lists."""
    testcapi = pytest.importorskip("_testcapi")
    served = compiled(lambda x: [[None, x * 2], {f"key{n}": (x[n], x.sum()) for n in range(9)}], POINT)
    expected = served(POINT)
    gc.collect()
    count = sys.getrefcount(POINT)

    def call(start: int) -> Any:
        testcapi.set_nomemory(start, start + 1)
        try:
            return served(POINT)
        except MemoryError:
            return None
        finally:
            testcapi.remove_mem_hooks()

    outcomes = list(map(call, range(40)))
    assert None in outcomes
    assert outcomes[-1] is not None
    for found in outcomes:
        if found is not None:
            assert_same(found, expected)
    del outcomes, found
    assert tracked(lambda: deque(map(call, [*range(40)] * 10), 0)) < 10_000
    assert sys.getrefcount(POINT) == count


# -- which programs, and on which Python ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "examples"),
    [
        (lambda x: x @ x, (np.ones((160, 160)),)),
        (lambda x: x * 2, (np.ones(1_200_000),)),  # which several threads would share
        (lambda *xs: [x * 2 for x in xs], tuple(np.ones(190_000 + n) for n in range(4))),
        (lambda x: wg.fori_loop(0, 3, lambda i, y: y * 2, x), (1.0,)),
        (lambda x: x[0], ({0: 1.0},)),
        (lambda x: {(): x}, (1.0,)),
        (lambda x: np.linalg.inv(x), (np.eye(2),)),
    ],
)
def test_programs_that_have_no_entry(function: Any, examples: Any) -> None:
    assert not entry.eligible(*staged(function, *examples))


def test_a_program_that_writes_into_its_arguments_has_no_entry() -> None:
    assert entry.eligible(*staged(lambda x: x * 2, POINT))
    assert not entry.eligible(*staged(lambda x: x * 2, POINT, places={0: 0}))


@pytest.mark.parametrize("field", sorted(set(OFFSETS._fields) - {"list_items"}))
def test_another_layout_of_objects_is_noticed(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = OFFSETS._replace(**{field: getattr(OFFSETS, field) + (-8 if field == "type" else 8)})
    monkeypatch.setattr(entry, "OFFSETS", moved)
    assert not entry.supported.__wrapped__()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("wengert.backend.entry.platform.python_implementation", lambda: "PyPy"),
        ("sys._is_gil_enabled", lambda: False),
        ("sys.gettotalrefcount", lambda: 0),
        ("sys.abiflags", "t"),
        ("sys.byteorder", "big"),
    ],
)
def test_another_python_is_noticed(place: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, value, raising=False)
    assert not entry.supported.__wrapped__()


def test_code_from_another_process(tmp_path: Path) -> None:
    program = (
        "import runpy, sys, pathlib; m = runpy.run_path(sys.argv[1]);"
        "pathlib.Path(sys.argv[2]).write_bytes(m['object_code'](*m['staged'](m['gradient'], 2.0, 5.0)))"
    )
    file = tmp_path / "code"
    subprocess.run([sys.executable, "-c", program, str(HERE), str(file)], check=True)
    signature, module = staged(gradient, 2.0, 5.0)
    served = linked(signature, module, file.read_bytes())
    assert_same(served(2.0, 5.0), compiled(gradient, 2.0, 5.0)(2.0, 5.0))


def test_what_tells_entries_apart() -> None:
    functions = (
        lambda x, y: {"a": x, "b": y},
        lambda x, y: {"b": y, "a": x},
        lambda x, y: (x, y),
        lambda x, y: [x, y],
    )
    signatures = [staged(one, *examples)[0] for one in functions for examples in ((1.0, 1.0), (1, POINT))]
    assert len(set(map(entry.identity, signatures))) == len(signatures)
    assert entry.identity(signatures[0]) == entry.identity(staged(functions[0], 2.0, 3.0)[0])


def test_a_program_without_an_entry() -> None:
    signature, module = staged(rosenbrock, POINT)
    code = compile_module(module.text, host(), team.symbols())
    assert linked(signature, module, code) is refuse


def test_it_looks_like_a_builtin(wengert_entry: Any) -> None:
    assert repr(wengert_entry).startswith("<built-in ")
    assert wengert_entry.__name__ == "compiled"
