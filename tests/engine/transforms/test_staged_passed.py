"""Lists that change their length while something goes through them: Python comes to the new end, or it is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.engine.transforms.random_lists import Lists, program_of
from tests.engine.transforms.test_staged_lists import ARGUMENTS, assert_same, outcome
from wengert.errors import StagingError

_X = np.array([3.0, -1.0, 2.0, 5.0, 0.5, -2.0])


def in_a_branch(x: Any) -> Any:
    items = [1.0, 2.0]
    for value in items:
        if value < x[0]:
            items.append(value + 1)
    return len(items)


def numbered(x: Any) -> Any:
    items, total = [1.0, 2.0], 0.0
    for number, value in enumerate(items):
        total += number * value
        if value < x[0]:
            items.append(value + 1)
    return total


def in_pairs(x: Any) -> Any:
    items, total = [1.0, 2.0], 0.0
    for value, other in zip(items, x, strict=False):
        total += value * other
        if value < x[0]:
            items.append(value + 1)
    return total


def backwards(x: Any) -> Any:
    items, total = [1.0, 2.0], 0.0
    for value in reversed(items):
        total += value
        if value < x[0]:
            items.append(value + 1)
            items[0] += x[1]
    return total


def elements_of_a_loop(x: Any) -> Any:
    items: list[Any] = []
    total = 0.0
    for value in x:
        items.append(value * 2)
    for value in items:
        total += value
        if len(items) < 9:
            items.append(value + 1)
    return total


def elements_of_branches(x: Any) -> Any:
    items = [value for value in x if value > 0]
    total = 0.0
    for number, value in enumerate(items):
        total += value * number
        if number < 3:
            items.append(value + 1)
    return total


def in_an_inner_loop(x: Any) -> Any:
    items, total = [1.0, 2.0], 0.0
    for value in items:
        for other in x:
            if other > value and len(items) < 9:
                items.append(other)
        total += value
    return total


def mapped(x: Any) -> Any:
    items, total = [1.0, 2.0], 0.0
    for value in map(abs, items):
        if value < x[0]:
            items.append(value + 1)
        total += value
    return total


def by_an_iterator(x: Any) -> Any:
    items, total = [1.0, 2.0], 0.0
    iterator = iter(items)
    for value in iterator:
        if value < x[0]:
            items.append(value + 1)
        total += value
    return total


def yielded(x: Any) -> Any:
    items, total = [1.0, 2.0], 0.0
    for value in (item * 2 for item in items):
        if value < x[0]:
            items.append(value + 1)
        total += value
    return total


def summed(x: Any) -> Any:
    items = [1.0, 2.0]

    def taken(value: Any) -> Any:
        if value < x[0]:
            items.append(value + 1)
        return value * len(items)

    return sum(taken(value) for value in items)


def shorter(x: Any) -> Any:
    items, total = [1.0, 2.0, 3.0, 4.0], 0.0
    for value in items:
        if value < x[0]:
            items.pop(0)
        total += value
    return total


@pytest.mark.parametrize(
    "program",
    [
        *(in_a_branch, numbered, in_pairs, backwards, elements_of_a_loop, elements_of_branches),
        *(in_an_inner_loop, mapped, by_an_iterator, yielded, summed, shorter),
    ],
)
def test_a_list_that_changes_meanwhile_is_refused_or_pythons(program: Callable[..., Any]) -> None:
    for x in (_X, _X + 4.0):
        try:
            found = wg.jit(program)(x)
        except StagingError:
            continue
        np.testing.assert_allclose(found, program(x), err_msg=program.__name__)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(many(10)))
def test_random_programs_with_parts_of_lists_are_pythons(seed: int) -> None:
    source = Lists(seed, has_parts=True).source()
    program = program_of(source, f"parts {seed}")
    compiled = wg.jit(program)
    for arguments in ARGUMENTS:
        expected, found = outcome(program, *arguments), outcome(compiled, *arguments)
        if found is not None:
            assert_same(found, expected, source)


def test_what_is_known_may_change_meanwhile() -> None:
    def program(x: Any) -> Any:
        items, total = [1, 2], 0.0
        for value in items:
            if len(items) < 7:
                items.append(value + 1)
            total += value * x[value % 6]
        return total

    assert wg.jit(program)(_X) == pytest.approx(program(_X))
