"""Calls of a public function with arguments that it does not have: Python's error gets a note with what to write."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


#: Functions that add notes to an error that leaves an operation of some name; `wengert.engine.array` enters one.
NOTES: list[Callable[[Exception, str], None]] = []


class _Unset:
    """The default of a parameter that stands for nothing else."""

    def __repr__(self) -> str:
        return "unset"


UNSET: Any = _Unset()
_WORDS = """argnum argnums wrt argnums donate_argnums donate dim axis dims axis keepdim keepdims size shape loc mean
    scale deviation std deviation minval low maxval high lr rate learning_rate rate eps epsilon b1 beta1 b2 beta2"""
#: Parameters of other libraries, and those that mean the same in Wengert or NumPy.
_SAME: dict[str, str] = dict(zip(_WORDS.split()[::2], _WORDS.split()[1::2], strict=True))
#: Parameters of other libraries without a counterpart, and why a program does without them.
_NEEDLESS = {
    **dict.fromkeys(("nopython", "forceobj", "fullgraph"), "every program is compiled as a whole"),
    **dict.fromkeys(("parallel", "nogil"), "loops share threads as wg.set_threads says"),
    **dict.fromkeys(("device", "backend"), "programs run on this machine's processor"),
    "cache": "compiled programs are kept on disk",
    "params": "optimiser.init takes the model, and optimiser.update returns the next one",
}
_UNEXPECTED = r"got an unexpected keyword argument '(\w+)'"
_BINDING = r"\(\) (?:got |takes |missing )"


def add_notes(problem: Exception, operation: str) -> None:
    """Add notes to an error that leaves a transform or a solver of some name."""
    for note in NOTES:
        with contextlib.suppress(Exception):  # the user's error comes first
            note(problem, operation)


def advising(usage: str) -> Callable[[FunctionT], FunctionT]:
    """Return a decorator of a public function: the error of a call that does not fit its parameters gets a note.

    Args:
        usage: how a call is written, as ``wg.hvp(f)(x, v)``.
    """

    def decorate(function: FunctionT) -> FunctionT:
        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            try:
                return function(*arguments, **options)
            except Exception as problem:
                own = problem.__traceback__
                if own is not None and own.tb_next is None and re.search(_BINDING, str(problem)):
                    problem.add_note(_misfit(function, usage, str(problem)))
                add_notes(problem, getattr(function, "__name__", ""))
                raise

        return cast("FunctionT", call)

    return decorate


def _misfit(function: Callable[..., Any], usage: str, text: str) -> str:
    """Return the note of a call whose arguments do not fit a function."""
    full = inspect.signature(function)
    parameters = [part.replace(annotation=part.empty) for part in full.parameters.values()]
    shown = full.replace(parameters=parameters, return_annotation=full.empty)
    unexpected = re.search(_UNEXPECTED, text)
    advice = instead_of_option(unexpected[1], full.parameters) if unexpected else ""
    advice = f"{advice}, as in {usage}" if advice else f"write {usage}"
    return f"{getattr(function, '__name__', '')}: {advice}; its parameters are {shown}"


def instead_of_option(name: str, parameters: Iterable[str]) -> str:
    """Return what to write for a parameter that is not among those of a function, or an empty string.

    Example:
        >>> instead_of_option("argnum", ["fun", "argnums"])
        'write argnums= for argnum='
    """
    import difflib

    if name in _NEEDLESS:
        return f"leave out {name}=: {_NEEDLESS[name]}"
    like = [same for same in [_SAME.get(name, "")] if same in parameters]
    like = like or difflib.get_close_matches(name, parameters, 1)
    return f"write {like[0]}= for {name}=" if like else ""
