"""Names of other libraries: each error names what exists here, and the guide for newcomers has the name."""

from __future__ import annotations

import functools
import importlib
import re
from pathlib import Path

import pytest

import wengert
from wengert.engine.core.other_libraries import INSTEAD

GUIDE = (Path(__file__).parents[3] / "docs" / "coming_from.md").read_text()
NAMES = [(module, name) for module, names in INSTEAD.items() for name in names]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_the_error_names_what_exists_here(module: str, name: str) -> None:
    with pytest.raises(AttributeError) as e:
        getattr(importlib.import_module(module), name)
    instead = INSTEAD[module][name]
    assert (
        str(e.value) == f"module {module!r} has no attribute {name!r}; write {instead} (docs/coming_from.md)"
    )
    paths = re.findall(r"\bwg((?:\.\w+)+)", instead)
    assert paths or "WENGERT_CHECK" in instead
    for path in paths:
        assert callable(functools.reduce(getattr, path[1:].split("."), wengert)) or path == ".integrate"


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_the_guide_has_the_name(module: str, name: str) -> None:
    assert re.search(rf"\b{name}\b", GUIDE)


@pytest.mark.parametrize("module", INSTEAD)
def test_another_name_is_absent_as_in_any_module(module: str) -> None:
    name = "nonesuch"
    with pytest.raises(AttributeError, match=rf"^module '{module}' has no attribute '{name}'$"):
        getattr(importlib.import_module(module), name)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("relu", "wg.nn.relu"),
        ("solve_ivp", "wg.integrate.solve_ivp"),
        ("ShapeError", "wg.errors.ShapeError"),
        ("Adam", "wg.optim.adam"),
        ("Conv2d", "wg.nn.Conv2D"),
    ],
)
def test_a_name_of_a_package_is_found(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(f"write {instead}")):
        getattr(wengert, name)
