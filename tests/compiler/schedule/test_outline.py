"""Nests that are alike: which ones one function carries out, and that it is right for all of them."""

from __future__ import annotations

import ctypes
import mmap
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import check
from tests.compiler.programs import Program
from wengert import nn
from wengert.compiler import pipeline
from wengert.compiler.codegen import program
from wengert.engine.machine import costs


def other(x: Any) -> Any:
    """Return an array of its own."""
    return np.sort(x[0, :3])


def assigned(x: Any, k: int) -> Any:
    y = x * 2
    y[2:4, k : k + 5] = x[k % 3, k : k + 5] + 1
    return y


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect as Linux has it")


@contextmanager
def beside_a_wall(x: Any, place: str) -> Generator[Any]:
    """Have a copy of an array that begins, or ends, where pages begin that cannot be read."""
    page = mmap.PAGESIZE
    whole = -(-x.nbytes // page) * page
    memory = mmap.mmap(-1, whole + 2 * page)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    start = page if place == "behind" else page + whole - x.nbytes
    walled = np.frombuffer(memory, x.dtype, x.size, start).reshape(x.shape)
    walled[...] = x
    for wall in (begin, begin + page + whole):
        assert protect(wall, page, 0) == 0
    yield walled
    for wall in (begin, begin + page + whole):
        protect(wall, page, mmap.PROT_READ | mmap.PROT_WRITE)


CASES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: sum(np.tanh(x[k] * 2) for k in range(6)),
    "columns": lambda x: sum(np.exp(-x[:, k]) for k in range(6)),
    "windows": lambda x: sum(np.sin(x[:, k : k + 20]) * x[:, k : k + 1] for k in range(20)),
    "last elements": lambda x: [np.sum(x[:, k:] ** 2, 1) for k in range(34, 40)],
    "reversed": lambda x: sum(x[::-1, k] * x[k % 3, 40 - k :: -1][:9] for k in range(5)),
    "strided": lambda x: sum(np.sqrt(1 + x[:, k : k + 33 : 8] ** 2) for k in range(8)),
    "products": lambda x: sum(x[:, k : k + 9] @ x[:, k : k + 9].T for k in range(0, 27, 9)),
    "sums along": lambda x: [np.sum(x[:, k : k + 8]) for k in range(0, 32, 8)],
    "written into parts": lambda x: np.concatenate(
        [x[:, k : k + 3] * 2 + 1 for k in range(0, 39, 3)], axis=1
    ),
    "padded": lambda x: sum(np.pad(x[:, k : k + 12], ((0, 0), (1, 2))) * 3 for k in range(5)),
    "pooled": lambda x: sum(nn.max_pool(x[None, None, :8, k : k + 8], 2) for k in range(6)),
    "convolved": lambda x: sum(
        nn.convolve(x[None, None, :, k : k + 9], x[None, None, :3, :3]) for k in range(4)
    ),
    "places": lambda x: [np.argmax(x[:, k : k + 9], axis=1) for k in range(6)],
    "gathered": lambda x: sum(x[np.argsort(x[:, k]), k] * 2 for k in range(6)),
    "cumulative": lambda x: [np.cumsum(x[:, k : k + 7], axis=1) for k in range(5)],
    "truth values": lambda x: [(x > 0)[k] & (x < 1)[k] for k in range(5)],
    "small integers": lambda x: [x.astype(np.int8)[:, k : k + 17] * 3 for k in range(5)],
    "loops": lambda x: [
        wg.scan(lambda c, row, k=k: (c + row[k] * row[k + 1], c), 0.0 * x[0, 0], x)[0] for k in range(5)
    ],
    "transposed": lambda x: sum(x.T[k : k + 9] @ x[:, k : k + 5] for k in range(5)),
    "joined": lambda x: [
        np.tanh(np.concatenate([other(x), x[r, k : k + 6]])) for r in (1, 2) for k in (0, 2, 20)
    ],
    "joined before": lambda x: [np.tanh(np.concatenate([x[k, k : k + 6], other(x)])) for k in (1, 3, 8)],
    "joined and turned": lambda x: [
        np.sum(np.tanh(np.flip(np.concatenate([other(x), x[r, k : k + 6]])))) for r in (1, 2) for k in (0, 20)
    ],
    "assigned": lambda x: [assigned(x, k) for k in (0, 1, 4, 30)],
    "rolled": lambda x: sum(np.roll(x[:, k : k + 9], k - 2, axis=1) for k in range(6)),
    "same or another element": lambda x: [x[0, k : k + 5] * x[k // 3, 3:8] for k in range(6)],
    "different numbers": lambda x: [x[0] * k for k in (0.0, -0.0, 1.0, float("nan"))],
}


@pytest.fixture(params=["float32", "float64"])
def x(request: Any) -> Any:
    return np.random.default_rng(0).normal(size=(9, 41)).astype(request.param)


@pytest.mark.parametrize("function", CASES.values(), ids=CASES)
def test_one_function_for_all(function: Callable[[Any], Any], x: Any) -> None:
    check(function, x, ulp=200, scale=1.0)


DIFFERENTIABLE = [name for name in CASES if name not in ("places", "truth values", "small integers")]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name: str, x: Any) -> None:
    def total(x: Any) -> Any:
        found = CASES[name](x)
        return sum(np.sum(np.sin(one)) for one in (found if isinstance(found, list) else [found]))

    if name == "different numbers":
        x = np.ones_like(x)
    check(wg.grad(total), x, ulp=2000, scale=10.0)


def written(function: Callable[..., Any], *arguments: Any) -> int:
    """Return how many functions a program has for its nests."""
    return wg.jit(function).llvm(*arguments).count("define internal void @nest")


def test_turns_of_a_loop_have_one_function(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, rerolled_turns=1000))  # the turns stay apart

    def turns(count: int) -> Callable[[Any], Any]:
        def unrolled(x: Any) -> Any:
            h = np.ones((9, 9), x.dtype)
            for k in range(count):
                h = np.tanh(h @ x[:, k : k + 9] + x[:, k + 3 : k + 4])
            return np.sum(h)

        return wg.grad(unrolled)

    assert written(turns(8), x) <= written(turns(4), x) + 1


@linux_only
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("place", ["behind", "before"])
def test_nothing_is_read_outside_of_an_array(name: str, place: str, x: Any) -> None:
    """The array stands beside a page that cannot be read."""
    with beside_a_wall(x, place) as walled:
        check(CASES[name], walled, ulp=200, scale=1.0)


# -- what is alike has one text --------------------------------------------------------------------------


class Texts:
    """Writes every nest, and remembers the texts by what the nests have in common."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.by_key: dict[Any, set[str]] = defaultdict(set)
        self.nests = 0
        common: Any = None
        outline_key, emit_nest = program.outline_key, program.emit_nest
        schedule_nests = pipeline.schedule_nests

        def remember(*args: Any) -> None:
            nonlocal common
            common = outline_key(*args)

        def emit(name: str, *args: Any, **options: Any) -> Any:
            nonlocal common
            text, tiles = emit_nest(name, *args, **options)
            if common is not None:  # a nest with checks has no key
                self.nests += 1
                self.by_key[common].add(re.sub(rf"@{name}\b", "@", text) + str(tiles))
            common = None
            return text, tiles

        def apart(*args: Any) -> Any:
            return {nest: found._replace(twin=None) for nest, found in schedule_nests(*args).items()}

        patch.setattr(pipeline, "schedule_nests", apart)
        patch.setattr(program, "outline_key", remember)
        patch.setattr(program, "emit_nest", emit)

    def check(self) -> None:
        assert all(len(texts) == 1 for texts in self.by_key.values())


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Texts]:
    found = Texts(monkeypatch)
    yield found
    found.check()


@pytest.mark.parametrize("function", CASES.values(), ids=CASES)
def test_the_texts_of_cases_are_the_same(function: Callable[[Any], Any], x: Any, texts: Texts) -> None:
    wg.jit(function).llvm(x)
    assert texts.nests


def part(x: Any, k: int) -> Any:
    """Return a part of a larger array, from another place on each axis in each turn."""
    large = np.tile(x, [3] * x.ndim)
    return large[tuple(slice(k * (axis + 1) % 3, k * (axis + 1) % 3 + n) for axis, n in enumerate(x.shape))]


@pytest.mark.parametrize("seed", range(12))
def test_the_texts_of_drawn_programs_are_the_same(seed: int, texts: Texts) -> None:
    program = Program(seed, 12)
    integers, floats = program.arguments(np.float64)

    def several(floats: Any) -> Any:
        return [program(integers, [part(one, k) for one in floats]) for k in range(4)]

    wg.jit(several).llvm(floats)
    wg.jit(wg.grad(lambda floats: sum(np.sum(one) for ones in several(floats) for one in ones))).llvm(floats)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(6))
def test_the_texts_where_caches_are_tiny(seed: int, texts: Texts) -> None:
    program = Program(seed, 12)
    integers, floats = program.arguments(np.float32)
    wg.jit(lambda floats: [program(integers, [one * (1 + k) for one in floats]) for k in range(3)]).llvm(
        floats
    )
