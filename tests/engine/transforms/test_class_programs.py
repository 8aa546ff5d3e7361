"""Programs of classes and containers, drawn at random, in a second run: values and slopes are those of Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.transforms.class_programs import module_of

POINT, STEP = 0.3, 1e-6
FOLDERS = ("/drawn", "/drawn", "/drawn/site-packages")


@pytest.fixture(autouse=True)
def loaded() -> Iterator[None]:
    """Forget the modules of the programs."""
    yield
    for name in [name for name in sys.modules if name.startswith("drawn_classes_")]:
        del sys.modules[name]


def check(module: ModuleType, compiled: bool) -> None:
    program: Any = module.program
    value = program(POINT)
    slope = (program(POINT + STEP) - program(POINT - STEP)) / (2 * STEP)
    names = list(module.NAMES), list(module.Meta.made)
    np.testing.assert_allclose(wg.grad(program)(POINT), slope, rtol=1e-5)
    np.testing.assert_allclose(wg.jvp(program, (POINT,), (1.0,)), (value, slope), rtol=1e-5)
    if compiled:
        np.testing.assert_allclose(wg.jit(program)(POINT), value, rtol=1e-12)
        np.testing.assert_allclose(wg.vmap(program)(np.full(2, POINT)), [value, value], rtol=1e-12)
    assert program(POINT) == value  # the state of the program is what it was
    assert (module.NAMES, module.Meta.made) == names  # a copy is no new class of the program
    for instance in (*module.OBJECTS, *module.KEPT):
        kind = getattr(module, type(instance).__name__)
        assert isinstance(instance, kind)
        assert instance.__class__ is kind
    assert all(kind is getattr(module, kind.__name__) for kind in module.REGISTRY)


def check_all(seeds: range, compiled: int) -> int:
    """Check the programs of some seeds, every third as an installed package, and return how many Python accepts."""
    modules = filter(None, (module_of(seed, FOLDERS[seed % 3]) for seed in seeds))
    return sum(check(module, number % compiled == 0) is None for number, module in enumerate(modules))


@pytest.mark.parametrize("start", range(0, 12, 4))
def test_programs_of_classes(start: int) -> None:
    assert check_all(range(start, start + 4), 4) >= 3


@pytest.mark.slow
def test_many_programs_of_classes() -> None:
    assert check_all(range(1000, 2000), 10) >= 900
