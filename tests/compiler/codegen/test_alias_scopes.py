"""LLVM is told which buffers share no memory: never of two that do, at any time, and programs compute the same."""

from __future__ import annotations

import linecache
import random
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples, many
from wengert.compiler.codegen.alias_scopes import AliasScopes
from wengert.compiler.schedule.arena import Lifetime, Place, Plan
from wengert.engine.core.dtypes import FLOAT64
from wengert.engine.nest.expression import Buffer

SIZE = 64


def _stated(text: str) -> dict[int, set[int]]:
    """Return the scopes from which accesses are apart, by the number of their own scope."""
    lists = {
        int(n): set(map(int, re.findall(r"!(\d+)", rest)))
        for n, rest in re.findall(r"!(\d+) = !{(.*)}", text)
    }
    return {next(iter(own)): lists[number + 1] for number, own in lists.items() if number % 3 == 2}


@examples(200)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 3), st.booleans()), min_size=2, max_size=6),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_scopes_are_apart_where_no_byte_is_shared(
    drawn: list[tuple[int, int, bool]], arguments: int, results: int
) -> None:
    inside = [Buffer(FLOAT64, (8,)) for _ in drawn]
    places = {
        buffer: Place(SIZE * start, SIZE * count, Lifetime(0, 1), private)
        for buffer, (start, count, private) in zip(inside, drawn, strict=True)
    }
    given_, made = ([Buffer(FLOAT64, (8,)) for _ in range(count)] for count in (arguments, results))
    scopes = AliasScopes(Plan(1000, places), made)
    buffers = [*inside, *given_, *made]
    own = [int(re.findall(r"!alias.scope !(\d+)", scopes.note(buffer))[0]) - 1 for buffer in buffers]
    apart = _stated(scopes.definitions())
    for first, one in zip(own, buffers, strict=True):
        assert first not in apart[first]
        for second, other in zip(own, buffers, strict=True):
            if one in places and other in places:
                a, b = places[one], places[other]
                shares = not set(range(a.offset, a.offset + a.size)).isdisjoint(
                    range(b.offset, b.offset + b.size)
                )
                is_apart = not (shares or a.private or b.private)
            else:
                is_apart = one is not other and not (one in given_ and other in given_)
            assert (second in apart[first]) == is_apart


class _Phases:
    """Writes a program of loops over elements, each of which fills an array of its own from the one before."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def source(self) -> str:
        """Return the source of ``program(x, m)`` of an array and an integer."""
        lines = ["def program(x, m):", "    y = x.copy()", "    for r in range(m):"]
        names = ["x", "y"]
        for number in range(self._random.randint(2, 5)):
            name = f"t{number}"
            start = self._random.choice(["np.zeros(len(x))", "y.copy()", "x * 0.5", f"{names[-1]} + 1.0"])
            lines += [f"        {name} = {start}", "        k = r", "        while k < len(x):"]
            names.append(name)
            for _ in range(self._random.randint(1, 3)):
                target = self._random.choice([name, name, "y"])
                read = self._random.choice(names[-3:])
                other = self._random.choice([*names, name])
                lines.append(
                    f"            {target}[{self._index()}] = 0.5 * {read}[{self._index()}] + {other}[{self._index()}]"
                )
            lines.append(f"            k += {self._random.choice([1, 1, 2])}")
        return "\n".join([*lines, f"        y = {names[-1]} - 0.1 * y", "    return y"]) + "\n"

    def _index(self) -> str:
        return self._random.choice(["k", "k", "k - 1", "k // 2", "-k", "len(x) - 1 - k", "3"])


def compare(seed: int) -> None:
    """Compare a drawn program with Python."""
    source, name = _Phases(seed).source(), f"/random/phases_{seed}.py"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope: dict[str, Any] = {"np": np, "__name__": f"random_phases_{seed}"}
    exec(compile(source, name, "exec"), scope)
    program, compiled = scope["program"], wg.jit(scope["program"])
    for turns in (0, 1, 3):
        x = np.random.default_rng(seed).normal(size=17)
        np.testing.assert_allclose(compiled(x, turns), program(x, turns), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("seed", range(many(60)))
def test_random_programs_that_reuse_memory(seed: int) -> None:
    compare(seed)
