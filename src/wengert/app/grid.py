"""The grid of ``wengert sweep``: values of settings, and their combinations."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from wengert.train.settings import OPTIONS, SettingsError, check_value

_RANGE = re.compile(r"(\d+):(\d+)(?::(\d+))?")
_SWITCHES = {"true": True, "false": False}


def parsed(grids: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values of each setting in options such as ``lr=1e-3,3e-3`` and ``seed=0:8``.

    Args:
        grids: ``NAME=VALUES``, where the values are separated by commas. For integers, ``0:8`` stands for 0 to 7, and
            ``0:100:25`` for every 25th.

    Returns:
        The values by the names of the settings.

    Raises:
        SettingsError: a setting does not exist, is given twice, or cannot have a value.

    Example:
        >>> parsed(["lr=1e-3,3e-3", "seed=0:3", "eager=true"])
        {'lr': [0.001, 0.003], 'seed': [0, 1, 2], 'eager': [True]}
    """
    values: dict[str, list[Any]] = {}
    for grid in grids:
        name, equals, text = grid.partition("=")
        name = name.strip().replace("_", "-")
        if not equals:
            raise SettingsError(f"--grid must be NAME=VALUES, such as lr=1e-3,3e-3 or seed=0:8; got {grid!r}")
        if name in values:
            raise SettingsError(f"--grid {name} is given twice: write all of its values in one option")
        values[name] = []
        for part in text.split(","):
            for value in _values(name, part.strip()):
                check_value(name, value)
                if value in values[name]:
                    raise SettingsError(f"--grid {name} has the value {value} twice")
                values[name].append(value)
        if not values[name]:
            raise SettingsError(f"--grid {name} has no value: {text!r} is an empty range")
    return values


def _values(name: str, text: str) -> Sequence[Any]:
    """Return the values that a part between commas stands for; another text stays a text."""
    kind = OPTIONS[name].rule.kind if name in OPTIONS else str
    if kind is int and (match := _RANGE.fullmatch(text)):
        start, stop, step = (int(part or 1) for part in match.groups())
        if not step:
            raise SettingsError(f"--grid {name}: the step of {text} must be at least 1")
        return range(start, stop, step)
    if kind is bool:
        return [_SWITCHES.get(text, text)]
    if kind is int or (name == "keep" and text.isdecimal()):
        return [int(text) if text.isascii() and text.isdecimal() else text]
    if kind is float:
        try:
            return [float(text)]
        except ValueError:
            return [text]
    return [text]


def points(values: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return all combinations; the last setting varies fastest.

    Example:
        >>> points({"lr": [0.1, 0.2], "seed": [0, 1]})[1]
        {'lr': 0.1, 'seed': 1}
    """
    return [dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]


def name_of(point: dict[str, Any]) -> str:
    """Return the name of a run's folder.

    Example:
        >>> name_of({"lr": 0.001, "model": "nets/mine.py:wide"})
        'lr=0.001,model=nets-mine.py-wide'
    """
    shown = (
        (name, f"{value:g}" if isinstance(value, float) else str(value)) for name, value in point.items()
    )
    return ",".join(f"{name}={re.sub(r'[^A-Za-z0-9._+-]', '-', value)}" for name, value in shown)


def unique_names(grid: Sequence[dict[str, Any]]) -> list[str]:
    """Return a name for each combination; equal ones get numbers."""
    names = [name_of(point) for point in grid]
    return [
        name if names.count(name) == 1 else f"{name}-{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]
