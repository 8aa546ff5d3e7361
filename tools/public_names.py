"""Print the public names of the package with their parameters, as JSON: what a version promises to keep.

    python tools/public_names.py > tests/public_names.json

A release records them. `tests/test_public_names.py` compares later trees with the record.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "docs" / "_extensions"))

import reference

Record = dict[str, list[str] | None]
_POSITIONAL = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}


def parameters(value: Any) -> list[str] | None:
    """Return the parameters of a function or class as in its signature, ``x=`` with a default; None without one.

    Example:
        >>> parameters(lambda x, y=0, *rest, key: x)
        ['x', 'y=', '*rest', 'key']
    """
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    names: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and not any(known.startswith("*") for known in names):
            names.append("*")
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        names.append(stars + name + ("=" if parameter.default is not parameter.empty else ""))
    return names


def promised(value: Any) -> list[str] | None:
    """Return the parameters of what a user calls; None for constants, and for classes that only functions construct."""
    is_result = (
        isinstance(value, type)
        and not dataclasses.is_dataclass(value)
        and "Args:" not in (inspect.getdoc(value) or "")
    )
    return None if is_result or not callable(value) else parameters(value)


def public_names() -> Record:
    """Return each public name with its parameters; None for what has no signature of its own."""
    return {f"{entry.module}.{entry.name}": promised(entry.value) for entry in reference.entries()}


def broken(recorded: Record, current: Record) -> Iterator[str]:
    """Yield what a program that keeps to the recorded names would notice.

    Example:
        >>> list(broken({"f": ["x", "y="], "g": None}, {"f": ["x", "z"]}))
        ['f: y= is gone or has moved', 'f: z needs a default', 'g is gone']
    """
    for name, before in recorded.items():
        if name not in current:
            yield f"{name} is gone"
            continue
        now = current[name]
        if before is None or now is None:
            continue
        yield from (f"{name}: {gone} is gone or has moved" for gone in _lost(before, now))
        added = [parameter for parameter in now if parameter.rstrip("=") not in _bare(before)]
        yield from (f"{name}: {new} needs a default" for new in added if new[-1] != "=" and new[0] != "*")


def _bare(names: list[str]) -> set[str]:
    return {name.rstrip("=") for name in names}


def _positional(names: list[str]) -> list[str]:
    end = next((place for place, name in enumerate(names) if name.startswith("*")), len(names))
    return names[:end]


def _collecting(names: list[str]) -> dict[str, str]:
    """Return the parameters that take any number of arguments, by their stars."""
    return {name[: name.rindex("*") + 1]: name for name in names if name[0] == "*" and name != "*"}


def _lost(before: list[str], now: list[str]) -> Iterator[str]:
    kept = _collecting(now)
    yield from (name for stars, name in _collecting(before).items() if stars not in kept)
    places = _positional(now)
    for place, name in enumerate(_positional(before)):
        bare = name.rstrip("=")
        allowed = {name, f"{bare}="}
        if place >= len(places) or places[place] not in allowed:
            yield name
    if not any(name.startswith("**") for name in now):
        keywords = before[len(_positional(before)) :]
        yield from (name for name in keywords if name[0] != "*" and {name, f"{name}="}.isdisjoint(now))


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in sorted(public_names().items())]
    print("{\n" + ",\n".join(lines) + "\n}")
