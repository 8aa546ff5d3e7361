"""Textbook programs of loops and branches: compiled they compute what Python does, and so do their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.programs.loops.cases import Program
from tests.programs.loops.catalogue import KINDS, PROGRAMS
from tests.programs.loops.checking import Checked, same
from tests.programs.loops.refused import GRADIENTS, VALUES

ALL = pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))


def outcome(refused: dict[str, str], program: Program, call: Callable[[], Any]) -> Any:
    """Return the result of a call, or None where it raises what the table of what is refused says."""
    reason = refused.get(program.name)
    if reason is None:
        return call()
    with pytest.raises(Exception, match=reason):  # a program that works must leave the table
        call()
    return None


def test_names_are_unique_and_the_halves_are_of_one_size() -> None:
    held = sum(program.held_out for program in PROGRAMS.values())
    assert len(PROGRAMS) == sum(len(kind.PROGRAMS) for kind in KINDS)
    assert 0.45 < held / len(PROGRAMS) < 0.55


def test_the_tables_name_programs() -> None:
    assert {*VALUES, *GRADIENTS} <= set(PROGRAMS)


@ALL
def test_the_value_is_pythons(program: Program) -> None:
    checked = Checked(program, program.small)
    value = outcome(VALUES, program, lambda: checked.compiled(program.function)(*checked.arguments))
    assert value is None or same(value, checked.value, 1e-10)


@ALL
def test_the_eager_gradient_is_that_of_differences(program: Program) -> None:
    checked = Checked(program, program.small)
    gradients = checked.gradient()(*checked.arguments)
    slope = sum(np.sum(g * d) for g, d in zip(gradients, checked.direction(), strict=True))
    assert math.isclose(slope, checked.slope(), rel_tol=1e-5, abs_tol=1e-7)


@pytest.mark.slow
@ALL
def test_the_compiled_gradient_is_the_eager_one(program: Program) -> None:
    checked = Checked(program, program.small)
    compiled = checked.compiled(checked.gradient())
    gradients = outcome({**VALUES, **GRADIENTS}, program, lambda: compiled(*checked.arguments))
    assert gradients is None or same(gradients, checked.gradient()(*checked.arguments), 1e-8)
