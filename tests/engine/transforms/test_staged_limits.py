"""What cannot be part of a program says why; nothing of an attempt is left; what could be traced is not touched."""
# ruff: noqa: SIM108 (the statements are what the tests are about)

from __future__ import annotations

import io
import itertools
import random
import sys
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.transforms.random_control import arguments, written
from wengert.engine.transforms.staging import evaluate
from wengert.errors import ArgumentError, ConcreteError, LostDerivativeError, StagingError

X = np.array([0.3, -1.2, 0.7, 2.5])
_calls: list[int] = []
_count = 0


def two_shapes(x):
    if x[0] > 0:
        y = 1.0
    else:
        y = np.zeros(3)
    return np.sum(y)


def two_dtypes(x):
    s = np.float32(0)
    while s < x[3]:
        s = s + x[0]
    return s


def two_containers(x):
    y = x[0]
    for i in range(9):
        if x[i % 4] > 1:
            y = (y, 1.0)
    return y


def growing(x):
    found = {}
    k = 0
    while x[k] < 1:
        found["last", len(found)] = x[k]
        k += 1
    return sum(found.values())


def caught(x):
    try:
        if x[0] > 0:
            raise ValueError("positive")
    except ValueError:
        return x[1]
    return x[0]


def one_array(x):
    y = x.copy()
    z = np.ones(4)
    w = y if x[0] > 0 else z
    y[0] = 5.0
    return np.sum(w)


def type_of_none(x):
    best = None
    if x[0] > 0:
        best = x[0]
    return 1.0 if isinstance(best, float) else 2.0


def global_name(x):
    global _count
    if x[0] > 0:
        _count = 1
    return x[0] + _count


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (two_shapes, r"both branches must give y the same type; got a float and f64\[3\]"),
        (two_dtypes, r"s must keep its type from turn to turn; got f32\[\] and f64\[\]"),
        (two_containers, r"give y the same containers"),
        (growing, r"a dict grows or shrinks"),
        (caught, r"a try statement surrounds an exception that only a run raises; got ValueError"),
        (one_array, r"another variable may show.*copy it"),
        (type_of_none, r"only a run knows whether the value is None"),
        (global_name, r"a global variable is assigned"),
    ],
)
def test_what_cannot_be_staged_says_why(program: Callable[[Any], Any], says: str) -> None:
    with pytest.raises(StagingError, match=says) as problem:
        wg.trace(program)(X)
    assert "[test_staged_limits.py:" in str(problem.value)


def with_numbers(x):
    if x > 3:
        raise ValueError(f"{x:.1f} is more than 3")
    return x * x


def test_the_users_exception_has_its_numbers_and_its_line() -> None:
    compiled = wg.jit(with_numbers)
    assert compiled(2.0) == 4.0
    with pytest.raises(ValueError, match=r"4\.0 is more than 3") as problem:
        compiled(4.0)
    last = traceback.extract_tb(problem.value.__traceback__)[-1]
    assert last.line is not None
    assert last.line.startswith("raise ValueError")
    assert compiled(3.0) == 9.0


def changing(x, held, kept):
    if x[0] > 0:
        held[0] = x[1]
        kept["n"] = kept["n"] + 1
    return held[0] * x[2] + kept["n"]


def test_containers_are_put_back_and_get_results() -> None:
    for sign in (1.0, -1.0):
        held, kept = [2.0, 3.0], {"n": 1}
        expected = changing(sign * X, [*held], {**kept})
        assert wg.jit(lambda x: changing(x, [2.0, 3.0], {"n": 1}))(sign * X) == pytest.approx(expected)
    with pytest.raises(StagingError):
        wg.trace(lambda x: two_shapes(x) + changing(x, held, kept))(X)
    assert (held, kept) == ([2.0, 3.0], {"n": 1})


def summed(x, n):
    s = 0
    for i in range(n):
        s += x[i % 4] if x[i % 4] > 0 else 0
    return s


def test_a_loop_of_any_length_is_one_equation() -> None:
    counts = [len(wg.trace(summed, static_argnums=1)(X, n).equations) for n in (10, 1000, 100_000)]
    assert counts[0] == counts[1] == counts[2] <= 3
    assert wg.jit(summed, static_argnums=1)(X, 1000) == pytest.approx(summed(X, 1000))


def traceable(x):
    for _ in range(3):
        x = np.sin(x)
    return x


def code_that_runs(x):
    _calls.append(id(sys._getframe().f_code))
    return x if x > 0 else -x


def test_what_could_be_traced_is_not_touched() -> None:
    assert len(wg.trace(traceable)(np.float64(1.0)).equations) == 3
    _calls.clear()
    assert wg.jit(code_that_runs)(-2.0) == 2.0
    _calls.clear()
    assert wg.grad(code_that_runs)(-2.0) == -1.0
    assert _calls == [id(code_that_runs.__code__)]


def test_code_without_a_source_is_not_staged() -> None:
    scope: dict[str, Any] = {}
    exec("def program(x):\n    return x if x > 0 else -x\n", scope)
    with pytest.raises(ConcreteError, match="bool"):
        wg.trace(scope["program"])(1.0)


def test_vmap_stages_the_integer_of_an_example() -> None:
    def program(x: Any) -> Any:
        s = 0.0
        for i in range(int(x)):
            s = s + x * i
        return s

    xs = np.array([1.5, 3.9, 0.2])
    np.testing.assert_allclose(wg.vmap(program)(xs), [program(x) for x in xs])
    with pytest.raises(LostDerivativeError, match="derivative would be lost"):
        wg.vmap(wg.grad(program))(xs)


# -- random programs -------------------------------------------------------------------------------------


def _outcome(function: Callable[..., Any], *given: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return function(*given)
    except IndexError:
        return "IndexError"
    except (ValueError, UnboundLocalError) as problem:
        return f"{type(problem).__name__}: {problem}"


def _staged(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: evaluate(wg.trace(function)(*given), *given)[0]


def _compare(transform: Callable[[Any], Any], seed: int) -> None:
    function, given = transform(written(seed)), arguments(seed)
    expected, found = _outcome(function, *given), _outcome(_staged(function), *given)
    if isinstance(expected, str):
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_equal_python(seed: int) -> None:
    _compare(lambda function: function, seed)


@pytest.mark.parametrize("seed", range(12))
def test_random_gradients_equal_eager_ones(seed: int) -> None:
    _compare(wg.grad, seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_random_programs_equal_python(block: int) -> None:
    for seed in range(100 + 50 * block, 150 + 50 * block):
        _compare(lambda function: function, seed)


# -- objects from which a call takes something -----------------------------------------------------------


SOURCES: dict[str, tuple[Callable[[], Any], Callable[[Any], float]]] = {
    "cycle": (lambda: itertools.cycle([1.0, 2.0, 3.0]), next),
    "chain": (lambda: itertools.chain([1.0, 2.0], range(9)), next),
    "reversed": (lambda: reversed([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), next),
    "pairs": (lambda: zip(range(9), itertools.islice(range(9), 8), strict=False), lambda it: sum(next(it))),
    "text": (lambda: io.StringIO("1\n2\n3\n4\n5\n6\n"), lambda file: float(file.readline())),
    "bytes": (lambda: io.BytesIO(bytes(range(9))), lambda file: float(file.read(1)[0])),
    "generator": (lambda: np.random.default_rng(0), lambda rng: rng.random()),
    "state": (lambda: np.random.RandomState(0), lambda rng: rng.random_sample()),
    "random": (lambda: random.Random(0), lambda rng: rng.random()),
    "module": (lambda: None, lambda _: random.random()),
    "numpy": (lambda: None, lambda _: np.random.random_sample()),
}


@pytest.mark.filterwarnings("ignore::wengert.errors.FrozenRandomWarning")
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("branch", [False, True])
def test_what_a_call_takes_out_of_an_object_is_not_staged(name: str, branch: bool) -> None:
    make, take = SOURCES[name]

    def in_a_branch(x, source):
        y = x[0]
        if x[0] > 0:
            y = y + take(source)
        return y + take(source)

    def in_a_loop(x, source):
        y = x[0]
        k = 0
        while y < x[3] + 3 and k < 5:
            y = y + take(source)
            k += 1
        return y

    function = in_a_branch if branch else in_a_loop
    with pytest.raises(StagingError, match="only a run knows"):
        wg.jit(partial(function, source=make()))(X)


def too_large_for_single(x):
    best = 1e300
    for v in x:
        if v < -5:
            best = v
    return best


def too_large_for_32_bits(x):
    found = 3_000_000_000
    if x[0] > 2:
        found = x[1]
    return found


@pytest.mark.parametrize(
    ("program", "dtype"), [(too_large_for_single, np.float32), (too_large_for_32_bits, np.int32)]
)
def test_a_number_that_the_other_type_cannot_hold_is_refused(
    program: Callable[[Any], Any], dtype: Any
) -> None:
    with pytest.raises(StagingError, match=r"has a number that its type .* cannot hold"):
        wg.jit(program)(np.array([1, 2, 3], dtype))
    wide = np.array([1, 2, 3], np.float64 if dtype is np.float32 else np.int64)
    assert wg.jit(program)(wide) == program(wide)


def view_of_what_a_loop_replaces(x):
    y = np.zeros(4)
    z = x.copy()
    h = z[1:3]
    for _ in range(6):
        if x[0] > 1:
            y, z = z.copy(), y.copy()
        else:
            h *= 0.5
    return z


def test_a_view_of_an_array_that_a_loop_replaces_is_not_written() -> None:
    with pytest.raises(StagingError, match="an array is written that, as only a run knows"):
        wg.jit(view_of_what_a_loop_replaces)(X)


def view_behind_two_branching_loops(x):
    z = x.copy()
    h = z[1:3]
    for _ in range(6):
        if x[0] < 0:
            z = z * 0.5
    for _ in range(6):
        if x[1] < 0:
            z = z * 0.5
    h *= 0.5
    return z


def view_behind_a_branch_and_a_loop(x):
    z = x.copy()
    h = z[1:3]
    if x[1] < 0:
        z = z * 0.5
    for _ in range(6):
        if x[0] < 0:
            z = z * 0.5
    h *= 0.5
    return z


def view_behind_loops_in_turns(x):
    z = x.copy()
    h = z[1:3]
    for _ in range(3):
        w = 0
        while True:
            w += 1
            if w > 4 or x[0] > 0:
                break
            z = z * 0.5
    h *= 0.5
    return z


@pytest.mark.parametrize(
    "function", [view_behind_two_branching_loops, view_behind_a_branch_and_a_loop, view_behind_loops_in_turns]
)
def test_what_may_be_one_of_several_arrays_may_be_what_these_may_be(function: Any) -> None:
    with pytest.raises(StagingError, match="an array is written that, as only a run knows"):
        wg.jit(function)(X)


def none_where_there_is_no_turn(x):
    last = None
    for i in range((x[3] * 0).astype(int)):
        last = x[i]
    return 1.0 if last is None else last


def array_where_there_is_no_turn(x):
    h = x[:3] * 2.0
    for i in range((x[3] * 0).astype(int)):
        h = x[i]
    return h


def test_a_variable_keeps_its_value_where_a_loop_takes_no_turn() -> None:
    assert wg.jit(none_where_there_is_no_turn)(X) == 1.0
    with pytest.raises(StagingError, match="may keep its value, as there may be no turn"):
        wg.jit(array_where_there_is_no_turn)(X)


def one_name_for_several_kinds(x):
    s, n = 0.0, (x[3] * 1).astype(int)
    for i in range(n):
        q = x[i : i + 2]
        s = s + q[1]
    for i in range(n):
        q = x[i], i
        s = s + q[0] * q[1]
    if s > 1:
        q = x[0]
        s = s + q
    else:
        q = x[:2]
        s = s + q[1]
    return s


def test_a_name_may_have_values_of_several_kinds_where_nothing_reads_them() -> None:
    for x in (X, -X, 0.5 * X):
        np.testing.assert_allclose(wg.jit(one_name_for_several_kinds)(x), one_name_for_several_kinds(x))


def test_a_function_may_return_none() -> None:
    def found(x: Any) -> Any:
        for v in x:
            if v > 1.0:
                return 2 * v

    x = np.linspace(0.0, 0.9, 8)
    fast = wg.jit(found)
    assert (fast(x), fast(2 * x)) == (None, found(2 * x))
    assert wg.jit(wg.grad(found))(2 * x).tolist() == wg.grad(found)(2 * x).tolist()
    with pytest.raises(ArgumentError, match="must return its result; got None"):
        wg.jit(wg.grad(found))(x)
    with pytest.raises(ArgumentError, match="the same containers; got None and others"):
        wg.vmap(found)(np.stack([x, 2 * x]))
