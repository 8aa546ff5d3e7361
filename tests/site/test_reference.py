"""Each public name has one page of the reference; links of pages lead to the site or to the repository."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections import Counter
from pathlib import Path

import pytest

import wengert

EXTENSIONS = Path(__file__).parents[2] / "docs" / "_extensions"
sys.path.append(str(EXTENSIONS))

import reference  # noqa: E402
import repository_links  # noqa: E402

pytest.importorskip("sklearn")

#: Modules with the names of other libraries, whose documentation is that of NumPy or SciPy.
ELSEWHERE = {"wengert.numpy", "wengert.scipy"}


def public_modules() -> set[str]:
    """Return the packages below `wengert` that a user may import by name: attributes of it, or parts of those."""
    packages = {f"wengert.{name}" for name in wengert._LATER if wengert._LATER[name][1] is None}
    return {name for name in packages if hasattr(importlib.import_module(name), "__all__")} - ELSEWHERE


def test_every_public_module_is_in_the_reference():
    assert public_modules() <= set(reference.modules())
    scipy = importlib.import_module("wengert.scipy")
    inner = {f"wengert.scipy.{module.name}" for module in pkgutil.iter_modules(scipy.__path__)}
    with_names = {name for name in inner if hasattr(importlib.import_module(name), "__all__")}
    assert with_names <= set(reference.modules())


def test_every_public_name_is_on_one_page():
    entries = reference.entries()
    named = Counter((entry.module, entry.name) for entry in entries)
    assert set(named.values()) == {1}
    owners = {entry.home for entry in entries if entry.home == f"{entry.module}.{entry.name}"}
    assert {entry.home for entry in entries} == owners
    described = Counter(
        reference.identity((entry.module, entry.name), entry.value)
        for entry in entries
        if entry.home in owners
    )
    pages = {reference.identity((entry.module, entry.name), entry.value): entry.home for entry in entries}
    assert set(described) == set(pages)
    assert len(set(pages.values())) == len(pages)


def test_an_absolute_value_is_no_markup():
    assert (
        reference.plain("x: |x| and *args, `a_` and classes_") == r"x: \|x\| and \*args, `a_` and classes\_"
    )
    assert reference.plain("``|x|`` stays") == "``|x|`` stays"


def test_links_lead_to_pages_or_to_the_repository():
    page = repository_links.PAGES / "project" / "security.md"
    text = "[a](docs/export.md#c) [b](src/wengert) [c](CHANGELOG.md) [d](https://e.org) [e](#f) [g](LICENSE)"
    led = repository_links.led(text, repository_links.ROOT / "SECURITY.md", page, "https://r/")
    assert led == (
        "[a](../export.md#c) [b](https://r/tree/main/src/wengert) [c](changelog.md) [d](https://e.org) [e](#f) "
        "[g](https://r/blob/main/LICENSE)"
    )
