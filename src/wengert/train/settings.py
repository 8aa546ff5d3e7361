"""The settings of a run: their names, types and ranges, said once for the command line and for TOML files."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from wengert.core.errors import ArgumentError
from wengert.train.optimisers import OPTIMISERS, SCHEDULES

#: Where images come from; the built-in set is drawn by the package itself.
DATA = ("digits", "mnist", "fashion-mnist")


class Settings(NamedTuple):
    """The settings of a run: what is needed to make it again, and what is done besides."""

    task: str
    data: str
    epochs: int
    batch_size: int
    rate: float
    seed: int
    recipe: str = "paper"
    model: str | None = None
    """``FILE.py:name`` of a network of the user's."""
    data_dir: str | None = None
    eager: bool = False
    threads: int | None = None
    """None: as many as there are processors."""
    deterministic: bool = False
    patience: int | None = None
    """Epochs without a better one after which the run ends."""
    keep: str | int = "last"
    save_every: float = 30.0
    """Seconds between checkpoints inside an epoch."""
    log_every: int = 100
    """Steps between lines of ``metrics.jsonl`` inside an epoch; 0 for none."""
    tensorboard: bool = False
    profile: bool = False
    optimiser: str | None = None
    """None, here and below: the task's own."""
    schedule: str | None = None
    clip: float | None = None
    limit: int | None = None
    """Of the images to train with, so many are learned; None: all."""


class SettingsError(ArgumentError):
    """A setting that is unknown, or has a value that it cannot have."""


class Rule(NamedTuple):
    """What the values of a setting must be."""

    kind: type
    requirement: str
    """In words."""
    holds: Callable[[Any], bool]
    least: int | None = None
    """Of a number."""
    above: bool = False
    """Whether it must be more than that."""
    choices: tuple[str, ...] = ()
    """Of a text, if there are few."""


def _whole(least: int) -> Rule:
    requirement = f"an integer of at least {least}"
    return Rule(int, requirement, lambda value: type(value) is int and value >= least, least)


def _finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _one_of(names: Iterable[str]) -> Rule:
    choices = tuple(names)
    return Rule(str, f"one of {', '.join(choices)}", lambda value: value in choices, choices=choices)


def _is_text(value: Any) -> bool:
    """Tell whether a value is a text that can name a file."""
    try:
        return isinstance(value, str) and bool(value) and "\0" not in value and bool(os.fsencode(value))
    except UnicodeEncodeError:
        return False


_TEXT = Rule(str, "a text that is not empty", _is_text)
_SWITCH = Rule(bool, "true or false", lambda value: type(value) is bool)
_SET = _one_of(DATA)
_RATE = Rule(float, "a positive finite number", lambda value: _finite(value) and value > 0, 0, above=True)
_SECONDS = Rule(float, "a finite number of at least 0", lambda value: _finite(value) and value >= 0, 0)
_KEPT = Rule(
    str,
    "best, last or an integer of at least 1",
    lambda value: value in ("best", "last") or _whole(1).holds(value),
)


class Option(NamedTuple):
    """One setting as the user gives it."""

    name: str
    """In a TOML file, and on the command line after ``--``."""
    field: str
    rule: Rule
    help: str
    fixed: bool = False
    """Whether a run keeps it for good: with another value, it would be another run."""


OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option("network", "task", _TEXT, "The network.", True),
        Option("model", "model", _TEXT, "A network of your own: FILE.py:FUNCTION.", True),
        Option(
            "recipe",
            "recipe",
            _TEXT,
            "How to train it: paper; fast (for cnn): Adam, --lr 0.004, --schedule warm-up-cosine.",
            True,
        ),
        Option("data", "data", _SET, "The images to learn: digits (drawn), mnist or fashion-mnist.", True),
        Option(
            "data-dir",
            "data_dir",
            _TEXT,
            "The folder with the data's IDX files, or with a folder mnist or fashion-mnist of them; by default "
            "$WENGERT_DATA, then the user's cache.",
        ),
        Option("epochs", "epochs", _whole(1), "How often to go through the images."),
        Option("batch-size", "batch_size", _whole(1), "Examples a step.", True),
        Option("lr", "rate", _RATE, "The learning rate.", True),
        Option("optimiser", "optimiser", _one_of(OPTIMISERS), "What makes steps of gradients.", True),
        Option("schedule", "schedule", _one_of(SCHEDULES), "How the rate goes, --lr being its peak.", True),
        Option("clip", "clip", _RATE, "The largest norm of the gradients; larger ones are scaled.", True),
        Option("seed", "seed", _whole(0), "Of the first weights and of the order of the images.", True),
        Option("limit", "limit", _whole(1), "Learn the first so many images only.", True),
        Option("patience", "patience", _whole(0), "End after so many epochs without a better one; 0: never."),
        Option(
            "keep",
            "keep",
            _KEPT,
            "best: end with the best epoch's model; N: keep N epochs' checkpoints.",
            True,
        ),
        Option("save-every", "save_every", _SECONDS, "Seconds between checkpoints inside an epoch."),
        Option("log-every", "log_every", _whole(0), "Steps between lines of metrics.jsonl; 0: epochs only."),
        Option("threads", "threads", _whole(1), "Of the compiled steps; by default, one for each processor."),
        Option("deterministic", "deterministic", _SWITCH, "One thread unless --threads says otherwise."),
        Option("eager", "eager", _SWITCH, "Carry out each operation by NumPy: do not compile.", True),
        Option("tensorboard", "tensorboard", _SWITCH, "Write event files for TensorBoard, too."),
        Option("profile", "profile", _SWITCH, "Tell where the time of an epoch goes."),
    )
}
"""Every setting by its name."""


def check_value(name: str, value: Any) -> None:
    """Raise `SettingsError` where a setting does not exist or cannot have a value."""
    option = OPTIONS.get(name)
    if option is None:
        raise SettingsError(f"there is no setting {name!r}; there are {', '.join(OPTIONS)}")
    if not option.rule.holds(value):
        raise SettingsError(f"{name} must be {option.rule.requirement}; got {value!r:.200}")


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    r"""Return the settings of a TOML file, by the names of the fields of `Settings`.

    Args:
        path: a TOML file.

    Returns:
        The value of each setting in the file.

    Raises:
        SettingsError: the file cannot be read, is no TOML, or holds a setting that is unknown or out of range; with
            the line.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "mine.toml")
        >>> _ = path.write_text('network = "rnn"\nbatch-size = 50\n')
        >>> read_settings(path)
        {'task': 'rnn', 'batch_size': 50}
    """
    try:
        text = Path(path).read_text("utf-8")
        given = tomllib.loads(text)
    except OSError as problem:
        raise SettingsError(f"{path} cannot be read: {problem.strerror or problem}") from None
    except ValueError as problem:  # no UTF-8, or no TOML; the latter names the line
        raise SettingsError(f"{path}: {problem}") from None
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("_", "-")
        try:
            check_value(name, value)
        except SettingsError as problem:
            raise SettingsError(f"{path}{_line(text, key)}: {problem}") from None
        found[OPTIONS[name].field] = value
    return found


def _line(text: str, key: str) -> str:
    """Return where a key stands in a file, as ``:3``."""
    place = re.search(rf"^[ \t]*(\[+[ \t]*)?[\"']?{re.escape(key)}[\"']?[ \t]*[\].=]", text, re.M)
    return f":{text.count(chr(10), 0, place.start()) + 1}" if place else ""
