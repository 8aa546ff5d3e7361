"""Exceptions that only a run raises: a number that the program computes, and the exception that it stands for."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

from wengert.engine.boxes import RUNNING, Box, below, caught_error, loss_of
from wengert.engine.core import tree
from wengert.engine.core.errors import (
    StagingError,
    UncountedError,
    is_of_program,
    is_users,
    place,
    split_location,
    user_frame,
)
from wengert.engine.core.raised import enter
from wengert.engine.core.showing import writes
from wengert.engine.ops.comparison import equal, not_equal, require_valid, where
from wengert.engine.staged.contents import Content
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.frozen import Frozen
from wengert.engine.staged.nullable import is_nullable
from wengert.engine.staged.numbers import check_behind, is_narrow
from wengert.engine.staged.regions import FLOW
from wengert.engine.staged.texts import texts
from wengert.engine.transforms.arguments import is_number
from wengert.engine.transforms.builtin_names import LOSSES
from wengert.engine.transforms.staging import FINISHING, GraphTrace, all_hold

#: Ends of what Python says of arguments that stand for lists.
_STANDING = ("not Grown", "not Columns", "not Table", "not Row")
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
    except TypeError as problem:
        raise_lost(problem)
        raise


@contextmanager
def trying() -> Generator[None]:
    """Note that a `try` statement is open: its handlers could not catch what only a run raises."""
    FLOW.trying += 1
    try:
        yield
    except TypeError as problem:
        complaint = RUNNING.complaint
        found = lost(problem)
        if isinstance(found, LOSSES):
            FLOW.caught = found
        RUNNING.complaint = complaint
        raise
    finally:
        FLOW.trying -= 1


def messages(*function: Any) -> texts:
    """Return a context in which a statement may make texts of values that only a run knows.

    Args:
        function: what it calls; nothing for a `raise` statement, whose text a handler could read.
    """
    is_harmless = writes(*function) if function else not FLOW.trying
    return texts(is_harmless and not FLOW.is_strict)


def raise_lost(problem: TypeError) -> None:
    """Raise the error of a value that only a run knows, which an error of Python's hides, if there is one."""
    found = lost(problem)
    if found is not problem:
        raise found from None


def lost(problem: Exception) -> Exception:
    """Return the error of a value that only a run knows, which an error of Python's hides; else that error."""
    found = loss_of(problem)
    if found is problem and type(problem) is TypeError and str(problem).endswith(_STANDING):
        requirement = "a function of Python's takes no list that a loop changes as only a run knows"
        hint = "find the least element of an array with np.argmin, or write the function out"
        return refusal("list", requirement, str(problem).partition(" ")[0], hint)
    if found is problem or not RUNNING.traced:
        return found
    text, location = split_location(str(found))
    if not str(problem).startswith("unhashable"):
        return StagingError(f"{text}{location}")
    hint = "make texts and keys of known values, or write a chain of if statements"
    return StagingError(f"key: only a run knows the number; {hint}.{location}")


def raise_refusal(problem: Exception) -> None:
    """Raise an error that is not the program's own: plain Python would not have raised it."""
    if isinstance(problem, RecursionError):  # of the trace, which goes into each branch
        raise problem
    if not is_of_program(problem):
        raise problem from None


def keep_strict(problem: str, is_unknown: bool = False) -> None:
    """End a run in which only loops of a known number of turns may be staged.

    Args:
        problem: what else would be.
        is_unknown: whether a run that unrolls would end here, too.
    """
    if FLOW.is_strict:
        made = refusal("staging", problem)
        FLOW.spoiled = UncountedError(str(made)) if is_unknown else made
        raise FLOW.spoiled


def number_of(problem: Exception, is_result: bool = False) -> int:
    """Return the number by which the function that is being staged knows an exception.

    Args:
        problem: the exception.
        is_result: whether Python returns a result in its place.
    """
    keep_strict("an exception depends on what only a run knows")
    if FLOW.trying:
        requirement = "a try statement surrounds an exception that only a run raises"
        raise refusal(
            "raise", requirement, type(problem).__name__, "test the condition in the place of the try"
        )
    file, line, name = _origin(problem)
    where_ = f" [{place(file, line)}]" if file else ""
    with texts():
        text = f"{type(problem).__name__}: {problem}{where_}".replace("|", "/")
    enter(text, problem, file, line, name, is_result)
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
    while isinstance(code, Box) and not (code.owner.staging or code.owner.batches):
        code = below(code)
    return code


def note(problem: Exception, happens: Any) -> None:
    """Note an exception that the program raises at the present line where a truth value holds."""
    note_number(where(happens, number_of(problem), 0))


def note_unread(trace: GraphTrace, contents: Iterable[Content]) -> None:
    """Note the exceptions of calls whose results nothing reads behind a block."""
    for holds, text in trace.take_unread([leaf.value for content in contents for leaf in content.leaves]):
        note_number(where(holds, 0, _number(text)))


@contextmanager
def scope(is_strict: bool = False) -> Generator[None]:
    """Collect the exceptions that a function may raise.

    Args:
        is_strict: whether only loops of a known number of turns may be staged.
    """
    before = {**vars(FLOW)}
    FLOW.code, FLOW.texts, FLOW.facts, FLOW.trying, FLOW.outer = 0, [], [], 0, {}
    FLOW.is_strict, FLOW.is_widened, FLOW.has_windows = is_strict, False, False
    FLOW.loops, FLOW.ends, FLOW.limits, FLOW.held, FLOW.plain = 0, [], {}, [], []
    FLOW.frozen, FLOW.spoiled, FLOW.caught, FLOW.memory = Frozen(), None, None, None
    hides, RUNNING.hides_text = RUNNING.hides_text, True
    try:
        yield
    except TypeError as problem:
        if FLOW.caught is not None and FLOW.caught is not problem:
            raise caught_error(FLOW.caught, f"raised {type(problem).__name__}") from None
        raise_lost(problem)
        raise
    finally:
        vars(FLOW).update(before)
        RUNNING.hides_text = hides


def checked(result: Any) -> Any:
    """Return the result of a function; the program that it is part of raises the exceptions of the function."""
    result = _without_none(result)
    code = FLOW.code
    FLOW.frozen.check()
    for problem in (FLOW.spoiled, FLOW.caught):
        if problem is not None:
            raise problem
    if FLOW.is_strict and not FLOW.loops:
        raise refusal("staging", "no loop of the function can be one of the program")
    for trace, count, results in FLOW.ends:
        check_behind(trace.equations[count:], results)
        if FLOW.is_widened and is_narrow(trace.equations):
            raise refusal(
                "staging", "a number of Python's in one branch keeps narrow types, the other's does not"
            )
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


def _without_none(result: Any) -> Any:
    """Return a result with values in the places of those that may be None: a program raises an exception for None."""
    leaves, structure = tree.flatten(result)
    values = iter(leaves)
    kept: list[Any] = []

    def walk(part: tree.Structure) -> tree.Structure:
        if part.kind is None:
            kept.append(next(values))
            return part
        if not is_nullable(part):
            return part._replace(children=tuple(map(walk, part.children)))
        number = number_of(TypeError("the function returns None"), is_result=True)
        note_number(where(next(values), 0, number))
        return walk(part.children[1])

    found = walk(structure)
    return result if found == structure else tree.unflatten(found, kept)


def _noted(holds: Any, text: str) -> bool:
    """Have the graph to which a truth value belongs check it; return whether it belongs to one."""
    while isinstance(holds, Box):
        trace = holds.owner
        if isinstance(trace, GraphTrace):
            trace.checks.append((all_hold(holds), text))
            return True
        holds = below(holds)
    return False
