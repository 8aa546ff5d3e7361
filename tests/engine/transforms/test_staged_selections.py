"""Parts whose size only a run knows: slices of unknown ends, masks and their positions, in drawn programs."""

from __future__ import annotations

import linecache
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import SHARE
from wengert.errors import ConcreteError, ShapeError

_ENDS = [
    "",
    "",
    "i",
    "i + 1",
    "n - i",
    "i - 1",
    "-i",
    "-1",
    "2",
    "k",
    "i // 2",
    "2 * i",
    "n",
    "i + 2",
    "i - k",
    "-9",
]
_PAIRS = [
    ("", "i"),
    ("i", ""),
    ("i", "n"),
    ("1", "i + 1"),
    ("i", "2 * i"),
    ("k", "k + i"),
    ("i", "i + 2"),
    ("i - k", "i"),
]

_METHODS = [
    "sum",
    "prod",
    "mean",
    "max",
    "min",
    "any",
    "all",
    "var",
    "std",
    "conj",
    "round",
    "cumsum",
    "clip",
    "dot",
]


class _Drawn:
    """A program drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.seed = seed
        self.source = self._source()

    def ends(self) -> str:
        """Draw a slice."""
        if self.draw.random() < 0.5:
            return ":".join(self.draw.choice(_PAIRS))
        return f"{self.draw.choice(_ENDS)}:{self.draw.choice(_ENDS)}"

    def vector(self, ends: str, depth: int = 0) -> str:
        """Draw an array of the length of a slice."""
        inner = self.draw.choice(["x", "x", "y"])
        if depth > 1 or self.draw.random() < 0.4:
            return self.draw.choice(
                [f"{inner}[{ends}]", f"m[i, {ends}]", f"m[{ends}, i]", f"{inner}[{ends}].copy()"]
            )
        a, b = self.vector(ends, depth + 1), self.vector(ends, depth + 1)
        return self.draw.choice(
            [
                f"np.sin({a})",
                f"({a} * {b})",
                f"({a} + {b} * 0.5)",
                f"(0.3 - {a})",
                f"np.where({a} > 0.2, {b}, 0.1)",
                f"({a} * x[i])",
                f"({a} / (1.5 + {b} * {b}))",
                f"{a}[::-1]",
                f"np.cumsum({a})",
            ]
        )

    def number(self) -> str:
        """Draw a number made of a part."""
        ends = self.ends()
        a = self.vector(ends)
        return self.draw.choice(
            [
                f"np.sum({a})",
                f"{a}.sum()",
                f"np.max({a})",
                f"{a}.mean()",
                f"np.linalg.norm({a})",
                f"{a} @ {self.vector(ends)}",
                f"np.dot({a}, {self.vector(ends)})",
                f"float(len({a}))",
                f"{a}.shape[0] * 0.1",
                f"np.argmax({a}) * 0.1",
                f"{a}[0]",
                f"{a}[-1]",
                f"{a}[i // 2]",
                f"np.sum({a}[1:] * {self.vector(ends)}[:-1])",
                f"np.sum({a}[:k])",
                f"np.sum({a}[-2:])",
                f"np.sum({a} @ m[{ends}, {self.ends()}])",
                f"np.sum(m[{ends}, {self.ends()}] * {a}[:, None])",
                f"np.any({a} > 0.5) * 0.2",
                f"np.std({a})",
                "x[:i + 1] @ y[i::-1]",
            ]
        )

    def masked(self) -> str:
        """Draw a number made of what a mask selects."""
        mask = self.draw.choice(["x > s", "y < 0.1", "(x > 0) & (y > -0.5)", "x > 9"])
        return self.draw.choice(
            [
                f"np.sum(x[{mask}] * y[{mask}])",
                f"x[{mask}].max()",
                f"np.mean(np.sin(y[{mask}]))",
                f"np.sum(m[{mask}])",
                f"float(len(x[{mask}]))",
                f"np.sum(x[np.flatnonzero({mask})])",
                f"np.sum(np.where({mask})[0] * 0.1)",
                "np.sum(m[m > 0.3])",
                f"x[{mask}] @ m[{mask}, i]",
            ]
        )

    def statement(self) -> str:
        """Draw a statement."""
        ends = self.ends()
        a = self.vector(ends)
        choices = [
            f"x[{ends}] = {a}",
            f"x[{ends}] += 0.1 * {a}",
            f"x[{ends}] *= 0.5",
            f"m[{ends}, i] = {a}",
            f"m[i, {ends}] -= 0.1 * {a}",
            f"v = x[{ends}]; v[0] = s",
            f"v = x[{ends}].copy(); v[0] += s; s = s + np.sum(v)",
            f"v = x[{ends}]; v += 0.1; s = s + v.sum()",
            f"m[{ends}, {ends}] -= 0.1 * np.outer({a}, {self.vector(ends)})",
            "y[1:i + 1] = y[:i] * 0.5",
            "y[:i] = y[:i][::-1]",
            "x[x > s] = 0.1",
            "x[y > 0] += 0.2 * y[y > 0]",
            "x[x < 0] = np.abs(x[x < 0]) * 0.5",
            "m[m > 1] *= 0.3",
            "m[y > 0.4, i] = 0.2",
            f"s = s * 0.5 + 0.1 * ({self.masked()})",
        ]
        if self.draw.random() < 0.5:
            return f"s = s * 0.7 + 0.1 * ({self.number()})"
        return self.draw.choice(choices)

    def _source(self) -> str:
        lines = [self.statement() for _ in range(self.draw.randint(1, 3))]
        test = self.draw.choice(["i > k", "s > 0.3", ""])
        body = "".join(f"            {line}\n" for line in lines)
        if test:
            body += f"            if {test}:\n                {self.statement()}\n"
        steps = self.draw.choice(
            ["range(n)", "range(1, n)", "range(n - 1, -1, -1)", "range(k, n)", "reversed(range(n))"]
        )
        return (
            "def program(x, y, m, k):\n"
            "    x, y, m, s, n = x.copy(), y.copy(), m.copy(), x[0] * 0.1, len(x)\n"
            "    if m[0, 0] < 100:\n"  # only a run knows: the loop is staged, however short
            f"        for i in {steps}:\n{body}"
            "    return s + np.sum(x * y) + np.sum(m * m)\n"
        )

    def program(self) -> Callable[..., Any]:
        """Return the function."""
        name, source = f"<selections {self.seed}>", self.source
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        scope: dict[str, Any] = {"np": np, "__name__": "drawn"}
        exec(compile(source, name, "exec"), scope)
        return scope["program"]


def _arguments(seed: int) -> tuple[Any, ...]:
    rng, dtype = np.random.default_rng(seed), np.float32 if seed % 4 == 1 else np.float64
    size = 19 if seed % 3 == 2 else 6  # from 16 on, loops leave out what is not selected
    arrays = [rng.normal(size=shape).astype(dtype) for shape in (size, size, (size, size))]
    return *arrays, int(rng.integers(1, 4))


def _outcome(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception as problem:
            return problem


def _is_refusal(problem: Any) -> bool:
    if isinstance(problem, ShapeError) and "also where one is 1" in str(problem):
        return True  # NumPy repeats the single element
    return isinstance(problem, ConcreteError)


def _agree(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        return isinstance(wanted, Exception) and isinstance(
            found, (type(wanted), *type(wanted).__bases__[:1])
        )
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    return all(_is_close(np.asarray(x), np.asarray(y)) for x, y in pairs)


def _is_close(x: Any, y: Any) -> bool:
    tolerance = 1e-4 if y.dtype == np.float32 else 1e-8
    return x.dtype == y.dtype and np.allclose(x, y, rtol=tolerance, atol=tolerance / 100, equal_nan=True)


def _check(seed: int) -> int:
    """Compare a drawn program with NumPy's, and its gradient with the eager one; return whether it is refused."""
    drawn = _Drawn(seed)
    program, arguments = drawn.program(), _arguments(seed)
    wanted = _outcome(lambda: program(*arguments))
    found = _outcome(lambda: wg.jit(program)(*arguments))
    if _is_refusal(found):
        return 1
    assert _agree(found, wanted), f"{drawn.source}\nseed {seed}: {found!r}, and not {wanted!r}"
    if isinstance(wanted, Exception) or not np.isfinite(wanted):
        return 0
    gradient = wg.grad(program, argnums=(0, 1, 2))
    eager = _outcome(lambda: gradient(*arguments))
    compiled = _outcome(lambda: wg.jit(gradient)(*arguments))
    assert _agree(compiled, eager), f"{drawn.source}\nseed {seed}: {compiled!r}, and not {eager!r}"
    return 0


@pytest.mark.parametrize("part", range(4))
def test_drawn_programs(part: int) -> None:
    count = max(3, round(12 * SHARE))
    refused = sum(_check(1000 * part + seed) for seed in range(count))
    assert refused <= count / 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_drawn_programs(part: int) -> None:
    refused = sum(_check(100_000 + 100 * part + seed) for seed in range(100))
    assert refused <= 40


@pytest.mark.parametrize("transform", [wg.jit, wg.vmap])
def test_a_result_of_unknown_size_names_its_line(transform: Any) -> None:
    def program(x: Any) -> Any:
        chosen = x[x > 0] * 2.0
        return chosen

    line = program.__code__.co_firstlineno + 1
    x = np.ones(3) if transform is wg.jit else np.ones((2, 3))
    with pytest.raises(ConcreteError, match=rf"the size of a result.*np\.where.*selections\.py:{line}\]"):
        transform(program)(x)


@pytest.mark.parametrize("name", _METHODS)
def test_methods_are_those_of_arrays(name: str) -> None:
    def program(x: Any) -> Any:
        chosen = x[x > -0.5]
        arguments = {"clip": (0, 1), "dot": (chosen,)}.get(name, ())
        return np.sum(getattr(chosen, name)(*arguments) * 1.0)

    x = np.random.default_rng(0).normal(size=9)
    np.testing.assert_allclose(wg.jit(program)(x), program(x), rtol=1e-12)


_SCALAR_MASKS = ["m", "..., m", ":, m", "m, 0", "0, m", "m, 1:", ":, m, 0", "m, :, 0", "None, m"]


@pytest.mark.parametrize("subscript", _SCALAR_MASKS)
def test_a_mask_without_axes_is_an_axis_of_one_or_none(subscript: str) -> None:
    """NumPy's `x[m]` for a truth value m: of all values, or of none."""
    names: dict[str, Any] = {"np": np}
    exec(f"def read(x, m): return np.sum(np.sin(np.sum(x[{subscript}] * 2.0, axis=0)))", names)
    exec(f"def write(x, m):\n    y = x * 1.0\n    y[{subscript}] = 3.0\n    return y", names)
    read, x = names["read"], np.random.default_rng(0).normal(size=(2, 3, 4))
    for program in (read, wg.grad(read), names["write"]):
        compiled = wg.jit(program)
        for truth in (np.True_, np.array(False)):
            np.testing.assert_allclose(compiled(x, truth), program(x, truth), rtol=1e-12)
    both = np.array([True, False])
    found = wg.vmap(read)(np.stack([x, x]), both)
    np.testing.assert_allclose(found, [read(x, truth) for truth in both], rtol=1e-12)


def test_an_integer_and_a_mask_apart_are_refused() -> None:
    """NumPy brings the mask's axis to the front, which loops over axes in order would not."""
    x, mask = np.ones((2, 3, 4)), np.array([True, False, True, True])
    for program in (lambda x, m: np.sum(x[0, :, m], axis=0), lambda x, m: np.sum(x[:, 0, None, m], axis=0)):
        with pytest.raises(ConcreteError, match=r"front; write x\[i\] first"):
            wg.jit(program)(x, mask)
    same: Any = lambda x, m: np.sum(x[0][:, m], axis=0).sum()  # noqa: E731
    np.testing.assert_allclose(wg.jit(same)(x, mask), same(x, mask))


@pytest.mark.parametrize("dtype", [complex, "c8", float, int])
@pytest.mark.parametrize("name", ["max", "min", "ptp", "argmax", "argmin"])
def test_extrema_of_any_numbers(name: str, dtype: Any) -> None:
    draw, function = np.random.default_rng(0), getattr(np, name)
    by_mask, by_ends = wg.jit(lambda x, m: function(x[m])), wg.jit(lambda x, n: function(x[1:n]))
    for _ in range(3):
        parts = draw.integers(-2, 3, (2, 9))
        x = (parts[0] + (1j * parts[1] if np.dtype(dtype).kind == "c" else 0)).astype(dtype)
        mask, n = draw.random(9) < 0.4, int(draw.integers(2, 9))
        mask[n] = True
        assert by_ends(x, n) == function(x[1:n])
        if not name.startswith("arg"):
            assert by_mask(x, mask) == function(x[mask])
