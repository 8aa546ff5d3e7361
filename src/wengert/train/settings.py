"""The settings of a run: their names, types, ranges and help texts, for the command line and for TOML files."""

from __future__ import annotations

import inspect
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from wengert import optim
from wengert.engine.core.errors import ArgumentError, message
from wengert.optim import schedules

#: The origin of the images; the package itself draws the digits; arrays are the user's own. A text is no image.
DATA = ("digits", "mnist", "fashion-mnist", "arrays", "text")


class Settings(NamedTuple):
    """The settings of a run: those that decide its numbers, and those that decide what is shown and kept."""

    task: str
    data: str
    epochs: int
    batch_size: int
    rate: float
    seed: int
    recipe: str = "paper"
    model: str | None = None
    """``FILE.py:name`` of the user's own network."""
    data_dir: str | None = None
    text: str | None = None
    """A file; None: the package's own docstrings."""
    eager: bool = False
    threads: int | None = None
    """None: one for each processor."""
    deterministic: bool = False
    patience: int | None = None
    """The run ends after this number of epochs without improvement."""
    keep: str | int = "last"
    save_every: float = 30.0
    """Seconds between checkpoints within an epoch."""
    log_every: int = 100
    """Steps between lines of ``metrics.jsonl`` within an epoch; 0: no such lines."""
    tensorboard: bool = False
    wandb: bool = False
    mlflow: bool = False
    profile: bool = False
    optimiser: str | None = None
    """None, here and below: as in the task."""
    schedule: str | None = None
    clip: float | None = None
    limit: int | None = None
    """The number of training images to use; None: all."""
    micro_batches: int = 1
    """Parts of a batch whose gradients a fixed tree adds: the numbers depend on neither threads nor ranks."""


class SettingsError(ArgumentError):
    """A setting that does not exist, or a value that is out of its range."""


# -- optimisers and schedules by name --------------------------------------------------------------------

OPTIMISERS: dict[str, Callable[..., optim.Optimiser]] = {
    name: getattr(optim, name)
    for name in ("sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam", "adamw", "lion")
}
"""Functions of the learning rate (a number or a schedule), by name."""


def _warm_up_cosine(rate: float, steps: int) -> schedules.Schedule:
    """Rise linearly for a tenth of the run, then fall along half a cosine to 0."""
    rise = max(steps // 10, 1)
    return schedules.warm_up_cosine(rate, rise, max(steps, rise + 1), start=rate / 25)


SCHEDULES: dict[str, Callable[[float, int], float | schedules.Schedule]] = {
    "constant": lambda rate, steps: rate,
    "linear": lambda rate, steps: schedules.linear(rate, 0.0, steps),
    "cosine": schedules.cosine,
    "warm-up-cosine": _warm_up_cosine,
    "one-cycle": lambda rate, steps: schedules.one_cycle(rate, max(steps, 4)),
}
"""``(peak rate, steps of the whole run) -> rate``, by name."""


def with_steps(make: Callable[..., optim.Optimiser]) -> Callable[[float, int], optim.Optimiser]:
    """Return an optimiser factory as a function of the rate and of the run's steps; it may take the rate alone.

    Example:
        >>> import numpy as np
        >>> parameters = np.ones(2)
        >>> [
        ...     with_steps(make)(0.5, 100).update(parameters, (), parameters)[0][0]
        ...     for make in (optim.sgd, lambda rate, steps: optim.sgd(rate / steps))
        ... ]
        [np.float64(0.5), np.float64(0.995)]
    """
    try:
        parameters = list(inspect.signature(make).parameters.values())
    except (TypeError, ValueError):  # a function written in C may have no signature
        return make
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_more = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    second = positional[1] if len(positional) > 1 else None
    # The second parameter of optim.adam, for example, has another meaning and a default.
    if takes_more or (second is not None and (second.default is second.empty or second.name == "steps")):
        return make
    return lambda rate, steps: make(rate)


class Descent(NamedTuple):
    """An optimiser and the schedule of its rate, both by name.

    A `Task.optimiser` may be a descent; the options of ``wengert train`` choose one.

    Args:
        optimiser: the name of the optimiser.
        schedule: the name of the schedule.
        clip: the largest global norm of the gradients; larger gradients are scaled down to it. None: no limit.

    Raises:
        ArgumentError: on a call: the optimiser or the schedule does not exist.

    Example:
        >>> import numpy as np
        >>> optimiser = Descent("momentum", "cosine", clip=1.0)(0.1, 100)
        >>> parameters, _ = optimiser.update(np.array([30.0, 40.0]), optimiser.init(np.zeros(2)), np.zeros(2))
        >>> parameters.round(3)
        array([-0.06, -0.08])
    """

    optimiser: str = "adam"
    schedule: str = "constant"
    clip: float | None = None
    """The largest global norm of the gradients; larger gradients are scaled down to it."""

    def __call__(self, rate: float, steps: int) -> optim.Optimiser:
        """Return the optimiser for a run of ``steps`` steps with the peak rate ``rate``."""
        for field, choices in (("optimiser", OPTIMISERS), ("schedule", SCHEDULES)):
            if (name := getattr(self, field)) not in choices:
                requirement = f"the {field} must be one of {', '.join(choices)}"
                raise ArgumentError(message("Descent", requirement, repr(name)))
        optimiser = OPTIMISERS[self.optimiser](SCHEDULES[self.schedule](rate, steps))
        return optimiser if self.clip is None else optim.chain(optim.clip_by_norm(self.clip), optimiser)


# -- options ---------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """The values that a setting may have."""

    kind: type
    requirement: str
    """In words."""
    holds: Callable[[Any], bool]
    least: int | None = None
    """The lower bound of a number."""
    above: bool = False
    """Whether the bound itself is excluded."""
    choices: tuple[str, ...] = ()
    """All values of a string, if they are few."""


def _whole(least: int) -> Rule:
    requirement = f"an integer of at least {least}"
    return Rule(int, requirement, lambda value: type(value) is int and value >= least, least)


def _finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _one_of(names: Iterable[str]) -> Rule:
    choices = tuple(names)
    return Rule(str, f"one of {', '.join(choices)}", lambda value: value in choices, choices=choices)


def _is_text(value: Any) -> bool:
    """Return whether a value is a string that can name a file."""
    try:
        return isinstance(value, str) and bool(value) and "\0" not in value and bool(os.fsencode(value))
    except UnicodeEncodeError:
        return False


_TEXT = Rule(str, "a non-empty string", _is_text)
_SWITCH = Rule(bool, "true or false", lambda value: type(value) is bool)
_RATE = Rule(float, "a positive finite number", lambda value: _finite(value) and value > 0, 0, above=True)
_SECONDS = Rule(float, "a finite number of at least 0", lambda value: _finite(value) and value >= 0, 0)
_KEEP = Rule(
    str,
    "best, last or an integer of at least 1",
    lambda value: value in ("best", "last") or _whole(1).holds(value),
)


_PARTS = Rule(
    int,
    "a power of two",
    lambda value: type(value) is int and value > 0 and value & (value - 1) == 0,
    1,
)


class Option(NamedTuple):
    """One setting as the user gives it."""

    name: str
    """In a TOML file, and on the command line after ``--``."""
    rule: Rule
    help: str
    fixed: bool = False
    """Whether a resumed run must keep the value."""

    @property
    def field(self) -> str:
        """The field of `Settings`."""
        return {"network": "task", "lr": "rate"}.get(self.name, self.name.replace("-", "_"))


OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option("network", _TEXT, "The network.", True),
        Option("model", _TEXT, "Your own network, FILE.py:NAME: a function or a Task.", True),
        Option("recipe", _TEXT, "paper, or fast (cnn): adam, --lr 0.004, --schedule warm-up-cosine.", True),
        Option(
            "data",
            _one_of(DATA),
            "The images: digits (drawn), mnist, fashion-mnist, or arrays (.npy files); for gpt: text.",
            True,
        ),
        Option(
            "data-dir",
            _TEXT,
            "The folder with the IDX files, or with a folder mnist or fashion-mnist of them; or with .npy files.  "
            "[default: $WENGERT_DATA, then the user's cache]",
        ),
        Option("text", _TEXT, "The file that gpt learns.  [default: the docstrings of Wengert]", True),
        Option("epochs", _whole(1), "Passes over the training images."),
        Option("batch-size", _whole(1), "Examples per step.", True),
        Option("lr", _RATE, "The learning rate.", True),
        Option("optimiser", _one_of(OPTIMISERS), "The optimiser.", True),
        Option("schedule", _one_of(SCHEDULES), "The schedule of the rate; --lr is its peak.", True),
        Option("clip", _RATE, "The largest global norm of the gradients; larger ones are scaled.", True),
        Option("seed", _whole(0), "The seed of the initial weights and of the order of images.", True),
        Option("limit", _whole(1), "Use only the first N training images.", True),
        Option("micro-batches", _PARTS, "Parts of a batch, added in a fixed order; a power of two.", True),
        Option("patience", _whole(0), "Stop after N epochs without improvement; 0: never."),
        Option("keep", _KEEP, "best: end with the best epoch's model; N: keep N epochs' checkpoints.", True),
        Option("save-every", _SECONDS, "Seconds between checkpoints within an epoch."),
        Option("log-every", _whole(0), "Steps between lines of metrics.jsonl; 0: epochs only."),
        Option("threads", _whole(1), "Threads of the compiled steps.  [default: one per processor]"),
        Option("deterministic", _SWITCH, "Use one thread, unless --threads is given."),
        Option("eager", _SWITCH, "Do not compile; run each operation in NumPy.", True),
        Option("tensorboard", _SWITCH, "Also write event files for TensorBoard."),
        Option("wandb", _SWITCH, "Also log to Weights & Biases."),
        Option("mlflow", _SWITCH, "Also log to MLflow."),
        Option("profile", _SWITCH, "Report where the time of an epoch goes."),
    )
}
"""All settings by name."""


def check_value(name: str, value: Any) -> None:
    """Raise `SettingsError` if a setting does not exist or may not have a value."""
    option = OPTIONS.get(name)
    if option is None:
        raise SettingsError(f"unknown setting {name!r}; the settings are {', '.join(OPTIONS)}")
    if not option.rule.holds(value):
        raise SettingsError(f"{name} must be {option.rule.requirement}; got {value!r:.200}")


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    r"""Return the settings in a TOML file, by the field names of `Settings`.

    Args:
        path: a TOML file.

    Returns:
        The value of each setting in the file.

    Raises:
        SettingsError: the file cannot be read, is not TOML, or has a setting that is unknown or out of range; the
            message names the line.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "mine.toml")
        >>> _ = path.write_text('network = "rnn"\nbatch-size = 50\n')
        >>> read_settings(path)
        {'task': 'rnn', 'batch_size': 50}
    """
    try:
        text = Path(path).read_text("utf-8")
        values = tomllib.loads(text)
    except OSError as problem:
        raise SettingsError(f"{path} cannot be read: {problem.strerror or problem}") from None
    except ValueError as problem:  # the file is not UTF-8, or not TOML; the latter names the line
        raise SettingsError(f"{path}: {problem}") from None
    settings: dict[str, Any] = {}
    for key, value in values.items():
        name = key.replace("_", "-")
        try:
            check_value(name, value)
        except SettingsError as problem:
            raise SettingsError(f"{path}{_line(text, key)}: {problem}") from None
        settings[OPTIONS[name].field] = value
    return settings


def _line(text: str, key: str) -> str:
    """Return the line of a key in a TOML file, as ``:3``."""
    match = re.search(rf"^[ \t]*(\[+[ \t]*)?[\"']?{re.escape(key)}[\"']?[ \t]*[\].=]", text, re.M)
    return f":{text.count(chr(10), 0, match.start()) + 1}" if match else ""
