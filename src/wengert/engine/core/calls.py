"""Calls of a public function with arguments that it does not have: Python's error gets a note with what to write."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class _Unset:
    """The default of a parameter that stands for nothing else."""

    def __repr__(self) -> str:
        return "unset"


UNSET: Any = _Unset()

#: Parameters of other libraries, and those that mean the same in Wengert or NumPy.
_SAME = {
    "argnum": "argnums",
    "wrt": "argnums",
    "donate_argnums": "donate",
    "dim": "axis",
    "dims": "axis",
    "keepdim": "keepdims",
    "size": "shape",
    "loc": "mean",
    "scale": "deviation",
    "std": "deviation",
    "minval": "low",
    "maxval": "high",
    "lr": "rate",
    "learning_rate": "rate",
    "eps": "epsilon",
    "b1": "beta1",
    "b2": "beta2",
    "maxiter": "options={'maxiter': n}",
    "dt0": "first_step",
}
#: Parameters of other libraries without a counterpart, and why a program does without them.
_NEEDLESS = {
    **dict.fromkeys(("nopython", "forceobj", "looplift"), "every program is compiled as a whole"),
    **dict.fromkeys(("parallel", "nogil"), "loops share threads as wg.set_threads says"),
    "cache": "compiled programs are kept on disk",
    "error_model": "divisions are NumPy's",
    **dict.fromkeys(
        ("fullgraph", "dynamic", "mode", "backend"), "there is one compiler, for the whole function"
    ),
    **dict.fromkeys(("static_argnums", "abstracted_axes"), "only wg.jit has it"),
    "requires_grad": "a wg.Variable always has a derivative",
    **dict.fromkeys(("device", "sharding", "inline"), "programs run on this machine's processor"),
    **dict.fromkeys(("create_graph", "retain_graph"), "transforms nest: wg.grad(wg.grad(f))"),
    **dict.fromkeys(("axis_name", "spmd_axis_name", "reduce_axes"), "axes have numbers: in_axes, out_axes"),
    "params": "optimiser.init(model) takes the model, and optimiser.update returns the next one",
}
_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")
_BINDING = re.compile(r"\(\) (?:got |takes |missing )")


def advising(usage: str) -> Callable[[FunctionT], FunctionT]:
    """Return a decorator of a public function: the error of a call that does not fit its parameters gets a note.

    Args:
        usage: how a call is written, as ``wg.hvp(f)(x, v)``.

    Example:
        >>> @advising("wg.twice(f)(x)")
        ... def twice(fun, argnums=0): ...
        >>> try:
        ...     twice(abs, argnum=1)
        ... except TypeError as problem:
        ...     print(problem.__notes__[0])
        twice: write argnums= for argnum=, as in wg.twice(f)(x); its parameters are (fun, argnums=0)
    """

    def decorate(function: FunctionT) -> FunctionT:
        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            try:
                return function(*arguments, **options)
            except TypeError as problem:
                own = problem.__traceback__
                if own is not None and own.tb_next is None and _BINDING.search(str(problem)):
                    problem.add_note(_misfit(function, usage, str(problem)))
                raise

        return cast("FunctionT", call)

    return decorate


def _misfit(function: Callable[..., Any], usage: str, text: str) -> str:
    """Return the note of a call whose arguments do not fit a function."""
    parameters = inspect.signature(function).parameters
    shown = ", ".join(
        ("*" * (part.kind is part.VAR_POSITIONAL) or "**" * (part.kind is part.VAR_KEYWORD))
        + part.name
        + (f"={part.default!r}" if isinstance(part.default, int | float | str | tuple | None) else "=...")
        * (part.default is not part.empty)
        for part in parameters.values()
    )
    unexpected = _UNEXPECTED.search(text)
    advice = instead_of_option(unexpected[1], parameters) if unexpected else ""
    advice = f"{advice}, as in {usage}" if advice else f"write {usage}"
    return f"{getattr(function, '__name__', '')}: {advice}; its parameters are ({shown})"


def instead_of_option(name: str, parameters: Iterable[str]) -> str:
    """Return what to write for a parameter that a function does not have, or an empty string.

    Args:
        name: the parameter.
        parameters: those that it has.
    """
    known = list(parameters)
    same = _SAME.get(name, "")
    if same.partition("=")[0] in known:
        return f"write {same if '=' in same else f'{same}='} for {name}="
    if name in _NEEDLESS:
        return f"leave out {name}=: {_NEEDLESS[name]}"
    like = difflib.get_close_matches(name, known, 1)
    return f"write {like[0]}= for {name}=" if like else ""
