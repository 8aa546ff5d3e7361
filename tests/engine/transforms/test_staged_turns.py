"""Random loops that may take no turn, and random checks that return nothing, equal Python's."""

from __future__ import annotations

import linecache
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.engine.transforms.staging import evaluate
from wengert.errors import StagingError

AT = [np.array([0.3, -1.2, 0.7, 2.5]), np.array([-0.4, 1.6, 2.2, 0.1]), np.array([1.9, 0.3, -0.7, -2.0])]


def _function(name: str, source: str) -> Any:
    """Return the function ``program`` of a source that is in reach of `linecache`."""
    file = f"/random/{name}.py"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    scope: dict[str, Any] = {"np": np, "__name__": f"random_{name}"}
    exec(compile(source, file, "exec"), scope)
    return scope["program"]


def _staged(function: Any) -> Any:
    return lambda *given: evaluate(wg.trace(function)(*given), *given)[0]


def _outcome(function: Any, x: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return function(x)
    except IndexError:
        return "IndexError"
    except ValueError as problem:
        return str(problem)


def _compare(found: Any, expected: Any, seed: int) -> None:
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected, seed
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=str(seed))


def _with_few_turns(seed: int) -> Any:
    """Return a function of loops that take few turns or none; their bodies use values from outside."""
    rng = random.Random(seed)
    lines = ["def program(x):", "    k = (x[3] * 2).astype(int)", "    s = x[1]", "    r = x[0] - 0.3"]
    values = (
        "x[k]",
        "np.sqrt(x[0] - 0.3)",
        "np.log(r)",
        "x[1] / r",
        "x[2] * x[2]",
        "r ** 0.5",
        "x[k - 2] * r",
    )
    loops = (
        "for i{n} in range((x[{m}] * 1).astype(int)):",
        "for i{n} in range(k):",
        "while i{n} < x[{m}] - 1 and i{n} < 3:",
        "if x[{m}] > 0.5:",
    )

    def block(level: int) -> None:
        for _ in range(rng.randint(1, 2)):
            n, at = len(lines), "    " * level
            if level < 4 and rng.random() < 0.6:
                head = rng.choice(loops).format(n=n, m=rng.randint(0, 3))
                lines.extend([f"{at}i{n} = 0", at + head])
                if head.startswith("while"):
                    lines.append(f"{at}    i{n} += 1")
                block(level + 1)
            lines.append(f"{at}s = np.tanh(s + {rng.choice(values)}) if x[2] > -5 else s")

    lines.append("    if x[1] > 1:")
    block(2)
    lines.append("    if x[1] < -1:")
    block(2)
    lines.append("    for _ in range(((x[2] + 0.4) * 0.5).astype(int)):")
    block(2)
    return _function(f"turns_{seed}", "\n".join([*lines, "    return s", ""]))


def _compare_turns(seed: int, points: Sequence[Any] = AT) -> None:
    program = _with_few_turns(seed)
    for x in points:
        _compare(_outcome(_staged(program), x), _outcome(program, x), seed)
        slope = wg.grad(program)
        _compare(_outcome(_staged(slope), x), _outcome(slope, x), seed)


@pytest.mark.parametrize("point", range(len(AT)))
@pytest.mark.parametrize("seed", range(4))
def test_random_loops_of_few_turns_equal_python(seed: int, point: int) -> None:
    _compare_turns(seed, AT[point : point + 1])


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_many_random_loops_of_few_turns_equal_python(block: int) -> None:
    for seed in range(100 + 30 * block, 130 + 30 * block):
        _compare_turns(seed)


def _with_checks(seed: int) -> Any:
    """Return a function of checks that return nothing, in branches and loops."""
    rng = random.Random(seed)
    lines = ["def program(x):"]
    for name in "pq":
        lines += [f"    def {name}(y):", f"        if y > {rng.uniform(-1, 2):.1f}:"]
        lines += [f'            raise ValueError("{name}")'] if rng.random() < 0.8 else ["            return"]
    for n in range(rng.randint(1, 4)):
        call = f"{rng.choice('pq')}(x[{rng.randint(0, 3)}])"
        head = rng.choice(["if True:", f"if x[{n}] > 0:", f"for i{n} in range(3):", f"for v{n} in x:"])
        lines += [f"    {head}", f"        {call}"]
        if rng.random() < 0.3:
            lines += [f"    if x[{n}] > 1.5:", '        raise ValueError("own")']
    lines += [
        rng.choice(["    return x[0]", "    return 2.0", "    return (1, 3.0)[1]", "    return", ""]),
        "",
    ]
    return _function(f"checks_{seed}", "\n".join(lines))


def _compare_checks(seed: int) -> int:
    """Compare a program with Python; return how many arguments it refuses."""
    program, refused = _with_checks(seed), 0
    for x in AT:
        try:
            found = _outcome(wg.jit(program), x)
        except StagingError:
            refused += 1
        else:
            expected = _outcome(program, x)
            assert found is None if expected is None else True, seed
            if expected is not None:
                _compare(found, expected, seed)
    return refused


@pytest.mark.parametrize("seed", range(3))
def test_random_checks_raise_what_python_raises(seed: int) -> None:
    _compare_checks(seed)


@pytest.mark.slow
def test_many_random_checks_raise_what_python_raises() -> None:
    assert sum(map(_compare_checks, range(100, 200))) < 250


def read_by_a_function(x):
    s, n = 0.0, (x[3] * 2).astype(int)

    def before(r):
        return s + r

    for _ in range(n):
        s = before(x[0]) * 0.5
    return s


def read_by_a_lambda_in_a_while(x):
    s, turns = x[0], 0
    before = lambda: s * 0.5 + x[1]  # noqa: E731
    while turns < x[3]:
        turns += 1
        s = before()
    return s


@pytest.mark.parametrize("function", [read_by_a_function, read_by_a_lambda_in_a_while])
@pytest.mark.parametrize("x", AT)
def test_a_function_reads_a_variable_that_each_turn_binds_anew(function: Any, x: Any) -> None:
    np.testing.assert_allclose(wg.jit(function)(x), function(x))
    np.testing.assert_allclose(wg.jit(wg.grad(function))(x), wg.grad(function)(x))


def two_names_may_be_unbound(x):
    s = 0.0
    for i in range((x[3] * 2).astype(int)):
        s = s + i
    if x[0] > 0:
        s = s + i
    for j in range(0):
        s = s + j
    return s + j


@pytest.mark.parametrize("x", AT)
def test_the_first_of_two_exceptions_is_pythons(x: Any) -> None:
    with pytest.raises(UnboundLocalError) as expected:
        two_names_may_be_unbound(x)
    with pytest.raises(UnboundLocalError) as found:
        wg.jit(two_names_may_be_unbound)(x)
    assert str(found.value) == str(expected.value)


_AROUND = {
    "nothing": "if True:",
    "a known number of turns": "for i in range(2, 5):",
    "turns that Python knows": "i = 1\n    while i < 9:\n        i *= 2",
    "rows": "for i, row in enumerate(np.eye(3)):",
    "turns that a call knows": "i = 0\n    while i < x[2]:\n        i += 1",
}
_FAILING = (
    "s += y[9]",
    "s += y[1:] @ y",
    "s += 1 // 0",
    "s += [1.0][2]",
    "s += {}[1]",
    "s += np.linalg.inv(y)[0]",
)


@pytest.mark.parametrize("a", [1.0, 0.0])
@pytest.mark.parametrize("failing", _FAILING)
@pytest.mark.parametrize("around", [*_AROUND])
def test_a_statement_that_fails_at_each_call_lets_earlier_exceptions_be_raised(
    around: str, failing: str, a: float
) -> None:
    source = f"""def program(x, a):
    y, s = np.zeros(3), x[0]
    if a * x[0] > 0.5:
        raise RuntimeError("too large")
    {_AROUND[around]}
        {failing}
    return s
"""
    program, x = _function(f"{around}_{failing}_{a}", source), np.array([1.0, 0.3, 2.0])
    with pytest.raises(Exception) as expected:  # noqa: PT011
        program(x, a)
    for function in (program, wg.grad(program)):
        with pytest.raises(expected.type) as found:
            wg.jit(function)(x, a)
        assert expected.type is not RuntimeError or str(found.value) == "too large"


@pytest.mark.parametrize("after", ["None", "()", "{}", "[]", "'b'"])
@pytest.mark.parametrize("before", ["1.0", "(x[0], 3.0)", "'a'", "[x]"])
def test_a_variable_that_turns_replace_without_reading_it(before: str, after: str) -> None:
    source = f"""def program(x):
    last, s = {before}, x[0]
    for y in x:
        last = {after}
        s = s + y
    return (s if x[1] > 0 else -s) if last == {after} else 100.0
"""
    program = _function(f"replaced_{before}_{after}", source)
    x = np.arange(1.0, 7.0)
    assert wg.jit(program)(x) == program(x)


_MADE = (
    "np.full(4, 1.5) * x[0]",
    "x * x[1]",
    "np.array([x[0], 1.0, x[2], x[0] * x[1]])",
    "np.zeros(4) + x[2]",
    "x.copy()",
    "np.concatenate([x[:2], np.sin(x[2:])])",
)
_WRITTEN = (
    "w[0] = 0.0",
    "w[1:3] *= 0.5",
    "w[w > 0.5] = 0.25",
    "w -= 0.1 * u",
    "w[-1] = u[0]",
    "w[:] = w[::-1] + u",
)


def _with_arrays_of_each_turn(seed: int) -> str:
    """Return a loop whose turns make arrays of values from outside, and write into them."""
    rng = random.Random(seed)
    lines = ["def program(x):", "    u = x * 0.5", "    for i in range(TURNS):"]
    for _ in range(rng.randint(1, 3)):
        lines.append(f"        w = {rng.choice(_MADE)}")
        lines += [f"        {rng.choice(_WRITTEN)}" for _ in range(rng.randint(1, 3))]
        lines.append(f"        u = {rng.choice(('np.tanh(u + w)', 'np.sin(u) * w', '0.5 * u + 0.3 * w'))}")
    return "\n".join([*lines, "    return np.sum(u * u)"])


def _product(function: Any) -> Any:
    """Return the products of the Hessian with a vector of ones, as a function."""
    return lambda x: wg.hvp(function)(x, np.ones(4))


@pytest.mark.parametrize("transform", [wg.grad, wg.jacobian, _product])
@pytest.mark.parametrize("seed", range(many(4)))
def test_arrays_that_each_turn_makes_and_writes_stay_in_a_loop(seed: int, transform: Any) -> None:
    source, x = _with_arrays_of_each_turn(seed), AT[0]
    few = transform(_function(f"made_{seed}", source.replace("TURNS", "5")))
    np.testing.assert_allclose(_staged(few)(x), few(x), rtol=1e-9, atol=1e-12)
    long = transform(_function(f"made_long_{seed}", source.replace("TURNS", "400")))
    assert len(wg.trace(long)(x).equations) < 250  # 400 turns one by one have more than 1,600


_BASES = (
    "0.9",
    "1.02",
    "np.float64(1.1)",
    "x[0]",
    "-0.5",
    "0.0",
    "2",
    "x",
    "np.array([0.5, 2.0, 1.0, -1.0])",
)
_RANGES = (
    "range(1, {n} + 1)",
    "range({n})",
    "range({n} - 1, -1, -1)",
    "range(-{n}, {n}, 2)",
    "range(3, 3 + 2 * {n}, 2)",
)


@pytest.mark.parametrize("seed", range(many(5)))
def test_powers_of_the_number_of_the_turn_are_pythons(seed: int) -> None:
    rng = random.Random(seed)
    base, turns, made = (
        rng.choice(_BASES),
        rng.choice(_RANGES),
        rng.choice(("1.0 - {}", "{}", "0.5 * {} + x[1]")),
    )
    body = f"        s = np.sin(s + x * ({made.format(f'({base}) ** t')}))"
    source = f"def program(x):\n    s = x * 1.0\n    for t in {turns}:\n{body}\n    return np.sum(s * x)"
    program, x = _function(f"power_{seed}", source.replace("{n}", "75")), np.array([1.1, 0.2, 0.9, 0.7])
    try:
        expected = program(x)
    except (ZeroDivisionError, OverflowError) as problem:
        with pytest.raises(type(problem)):
            wg.jit(program)(x)
        return
    np.testing.assert_allclose(_staged(program)(x), expected, rtol=1e-9)
    np.testing.assert_allclose(_staged(wg.grad(program))(x), wg.grad(program)(x), rtol=1e-8, atol=1e-12)


_ELEMENTS = (
    "np.sin(x[0] * j) * x[1] ** j",
    "max(0.0, x[0] * j - x[1])",
    "x * j",
    "x[j % 4] - j",
    "np.array([x[0], j * x[1]])",
    "(x[0] * j, x[1])",
    "[x[0] * j, 2.0 * j]",
    "{'a': x[0] * j}['a']",
    "float(j)",
    "x[0] if j % 3 else 0",
)
_TAKEN = (
    "np.sum(np.array(made))",
    "sum(map(np.sum, made))",
    "np.sum(np.array(made[3:]) * np.array(made[:-3]))",
    "len(made) * np.sum(np.array(made[-1]))",
)


@pytest.mark.parametrize("seed", range(many(6)))
def test_lists_of_many_elements_equal_pythons(seed: int) -> None:
    rng = random.Random(seed)
    element, taken = rng.choice(_ELEMENTS), rng.choice(_TAKEN)
    items = rng.choice(("range({n})", "range({n}, 0, -1)", "np.arange({n})", "[3 * k for k in range({n})]"))
    lines = ["def program(x):", f"    made = [{element} for j in {items}]"]
    lines.append("    if x[2] > 0.0:\n        x = x * 2.0" if rng.random() < 0.5 else "    x = x * 2.0")
    source = "\n".join([*lines, f"    return {taken} * 1.0 + np.sum(x)"])
    program, x = _function(f"listed_{seed}", source.replace("{n}", "80")), AT[0]
    np.testing.assert_allclose(_staged(program)(x), program(x), rtol=1e-9)
    np.testing.assert_allclose(_staged(wg.grad(program))(x), wg.grad(program)(x), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("element", _ELEMENTS[:4])
def test_lists_of_many_numbers_are_loops_of_the_program(element: str) -> None:
    source = f"def program(x):\n    return np.sum(np.array([{element} for j in range(1000)]))"
    program = _function(f"long_list_{_ELEMENTS.index(element)}", source)
    assert len(wg.trace(wg.grad(program))(AT[0]).equations) < 60
