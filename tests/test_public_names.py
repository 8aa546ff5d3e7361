"""The public names of the last release keep their parameters: removing one takes a deprecation (docs/upgrading.md)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import public_names

RECORD = Path(__file__).with_name("public_names.json")


def test_the_names_of_the_last_release_are_kept() -> None:
    pytest.importorskip("sklearn")
    recorded: public_names.Record = json.loads(RECORD.read_text("utf-8"))
    assert {"wengert.grad", "wengert.fit.nuts", "wengert.nn.Dense"} <= recorded.keys()
    assert list(public_names.broken(recorded, public_names.public_names())) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("before", "now"),
    [
        (["x"], ["x"]),
        (["x"], ["x", "y="]),
        (["x"], ["x="]),
        (["x", "*", "key"], ["x", "*", "key=", "new="]),
        (["x", "*", "key="], ["x", "key="]),
        (["x", "y="], ["x", "y=", "*rest", "**options"]),
        (["x", "*", "key="], ["x", "**options"]),
        (["x", "*rest", "key="], ["x", "*more", "key=", "**options"]),
        (None, ["x"]),
        (["x"], None),
    ],
)
def test_changes_that_keep_programs(before: list[str] | None, now: list[str] | None) -> None:
    assert list(public_names.broken({"f": before}, {"f": now})) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("before", "now", "what"),
    [
        (["x", "y="], ["y=", "x"], "x is gone or has moved"),
        (["x"], ["z"], "x is gone or has moved"),
        (["x", "y="], ["x", "y"], "y= is gone or has moved"),
        (["x", "y="], ["x", "*", "y="], "y= is gone or has moved"),
        (["x", "*", "key="], ["x", "*"], "key= is gone or has moved"),
        (["x"], ["x", "y"], "y needs a default"),
        (["x"], ["x", "*", "y"], "y needs a default"),
        (["x", "*rest"], ["x", "y="], "*rest is gone or has moved"),
        (["x", "**options"], ["x", "*", "key="], "**options is gone or has moved"),
    ],
)
def test_changes_that_break_programs(before: list[str], now: list[str], what: str) -> None:
    assert f"f: {what}" in list(public_names.broken({"f": before}, {"f": now}))


def test_a_removed_name_breaks_programs() -> None:
    assert list(public_names.broken({"f": [], "g": None}, {"f": []})) == ["g is gone"]


def test_parameters_are_those_of_the_signature() -> None:
    def f(x: int, y: int = 0, *rest: int, key: int, **options: int) -> None: ...

    def g(x: int, *, key: int = 0) -> None: ...

    assert public_names.parameters(f) == ["x", "y=", "*rest", "key", "**options"]
    assert public_names.parameters(g) == ["x", "*", "key="]
