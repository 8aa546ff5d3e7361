"""Exceptions that only a run raises: a number that the program computes, and the exception that it stands for."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

from wengert.engine.boxes import Box, below
from wengert.engine.control.values import is_number
from wengert.engine.core import tree
from wengert.engine.core.errors import is_users, place, user_frame
from wengert.engine.core.raised import enter
from wengert.engine.ops.comparison import equal, not_equal, require_valid, where
from wengert.engine.staged.contents import Content
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.frozen import Frozen
from wengert.engine.staged.regions import FLOW
from wengert.engine.transforms.batching import BatchTrace
from wengert.engine.transforms.staging import FINISHING, GraphTrace, all_hold

_FREE = "cannot access free variable "


def run(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a block; a variable that is not bound raises the error that Python has for one of a function."""
    try:
        return function(*arguments)
    except NameError as problem:
        text = str(problem)
        if type(problem) is NameError and text.startswith(_FREE):
            name = text.removeprefix(_FREE).split("'")[1]
            requirement = f"cannot access local variable {name!r} where it is not associated with a value"
            raise UnboundLocalError(requirement).with_traceback(problem.__traceback__) from None
        raise


@contextmanager
def trying() -> Generator[None]:
    """Note that a `try` statement is open: its handlers could not catch what only a run raises."""
    FLOW.trying += 1
    try:
        yield
    finally:
        FLOW.trying -= 1


def number_of(problem: Exception) -> int:
    """Return the number by which the function that is being staged knows an exception."""
    if FLOW.trying:
        requirement = "a try statement surrounds an exception that only a run raises"
        raise refusal(
            "raise", requirement, type(problem).__name__, "test the condition in the place of the try"
        )
    file, line, name = _origin(problem)
    where_ = f" [{place(file, line)}]" if file else ""
    text = f"{type(problem).__name__}: {problem}{where_}".replace("|", "/")
    enter(text, problem, file, line, name)
    return _number(text)


def _number(text: str) -> int:
    if text not in FLOW.texts:
        FLOW.texts.append(text)
    return FLOW.texts.index(text) + 1


def _origin(problem: Exception) -> tuple[str, int, str]:
    """Return the file, the line and the function of the user's that raised an exception."""
    found = "", 0, ""
    traceback = problem.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_users(code):
            found = code.co_filename, traceback.tb_lineno, code.co_name
        traceback = traceback.tb_next
    frame = user_frame()
    if not found[0] and frame is not None:
        return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
    return found


def joined(before: Any, after: Any) -> Any:
    """Return the number of the first of two exceptions."""
    if not isinstance(before, Box):
        return before or _without_derivative(after)
    return _without_derivative(where(equal(before, 0), after, before))


def note_number(number: Any) -> None:
    """Note that the program raises an exception at the present line.

    Args:
        number: of the exception; 0 where it raises none.
    """
    before, FLOW.code = FLOW.code, joined(FLOW.code, number)
    if isinstance(FLOW.code, Box):
        FLOW.outer.setdefault(FLOW.code.owner, before)


def _finish(trace: GraphTrace) -> None:
    """Have a function that `scan`, `cond` or the like has traced check for its own exceptions."""
    code = FLOW.code
    if not (isinstance(code, Box) and code.owner is trace):
        return
    FLOW.code = FLOW.outer.pop(trace, 0)
    for number, text in enumerate(FLOW.texts, 1):
        trace.checks.append((all_hold(not_equal(code, number)), text))


FINISHING.append(_finish)


def _without_derivative(code: Any) -> Any:
    """Return a number without the boxes of transforms that follow derivatives: it outlives them."""
    while isinstance(code, Box) and not (code.owner.staging or isinstance(code.owner, BatchTrace)):
        code = below(code)
    return code


def note(problem: Exception, happens: Any) -> None:
    """Note an exception that the program raises at the present line where a truth value holds."""
    note_number(where(happens, number_of(problem), 0))


def note_unread(trace: GraphTrace, contents: Iterable[Content]) -> None:
    """Note the exceptions of calls whose results nothing reads behind a block.

    Args:
        trace: of the block.
        contents: what it leaves.
    """
    for holds, text in trace.take_unread([leaf.value for content in contents for leaf in content.leaves]):
        note_number(where(holds, 0, _number(text)))


@contextmanager
def scope() -> Generator[None]:
    """Collect the exceptions that a function may raise."""
    before = {**vars(FLOW)}
    FLOW.code, FLOW.texts, FLOW.facts, FLOW.trying, FLOW.outer = 0, [], [], 0, {}
    FLOW.frozen, FLOW.spoiled, FLOW.memory = Frozen(), None, None
    try:
        yield
    finally:
        vars(FLOW).update(before)


def checked(result: Any) -> Any:
    """Return the result of a function; the program that it is part of raises the exceptions of the function.

    Args:
        result: what the function returns.
    """
    code = FLOW.code
    FLOW.frozen.check()
    if FLOW.spoiled is not None:
        raise FLOW.spoiled
    if not isinstance(code, Box):
        return result
    numbers = [leaf for leaf in tree.leaves(result) if is_number(leaf)]
    is_followed = any(isinstance(leaf, Box) for leaf in numbers)
    for number, text in enumerate(FLOW.texts, 1):
        holds = not_equal(code, number)
        if (is_followed or not numbers) and _noted(holds, text):
            continue
        if not numbers:
            requirement = "a function that may raise an exception as only a run knows returns no number"
            hint = "return one: a program raises an exception together with its results"
            raise refusal("raise", requirement, text, hint)
        else:

            def one(leaf: Any, holds: Any = holds, text: str = text) -> Any:
                return (
                    require_valid(leaf, holds, operation="raise", requirement=text)
                    if is_number(leaf)
                    else leaf
                )

            result = tree.map_tree(one, result)
    return result


def _noted(holds: Any, text: str) -> bool:
    """Have the graph to which a truth value belongs check it; return whether it belongs to one."""
    while isinstance(holds, Box):
        trace = holds.owner
        if isinstance(trace, GraphTrace):
            trace.checks.append((all_hold(holds), text))
            return True
        holds = below(holds)
    return False
