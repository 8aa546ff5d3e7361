"""Notes on errors that a program, Python or a package raises inside a transform: what it may lack, what to write."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from types import FrameType
from typing import Any

from wengert.engine.array.suggestions import instead_of_called, value_of
from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.core.calls import NOTES, instead_of_option
from wengert.engine.core.errors import WengertError, frames_of, installed_file, is_raised_by_user, is_users
from wengert.engine.core.parsing import expression_of, statements
from wengert.engine.ir.types import show

#: What a condition has that asks for the class of a value.
_ASKING = r"\b(?:isinstance|issubclass|type|hasattr|isscalar|__class__)\b"
_KEYWORD = r"got an unexpected keyword argument '(\w+)'"
_MISFIT = r"(\w+|<lambda>)\(\) (?:missing \d+ required positional|takes .* (\d+) w(?:as|ere) given)"
_CONTAINERS = r"'(list|tuple|dict)'|multiply sequence"
#: A text that stands for a value of which only the type is known.
_TEXT = r"(?:string to float|literal for int\(\).*): (?:np\.str_\()?'?Array\("


def note(problem: Exception, transform: str) -> None:
    """Add to an error that leaves a transform, such as ``grad``, what explains it, if anything does."""
    if isinstance(problem, WengertError) or getattr(problem, "__notes__", None):
        return
    frames = frames_of(problem)
    users = next((n for n in reversed(range(len(frames))) if is_users(frames[n].f_code)), None)
    text = _of_call(problem, frames) or _of_text(problem, transform, frames)
    if users is not None and not text:
        inner = [one for one in frames[users + 1 :] if installed_file(one.f_code.co_filename)]
        if not inner:
            text = _of_guard(problem, frames[users], transform) or _of_line(problem, frames[users], transform)
        elif any(map(_holds_box, inner[0].f_locals.values())):
            text = f"an argument is a value that {transform} follows, and {instead_of_called(frames[users])}"
    if text:
        problem.add_note(text)


def _of_guard(problem: Exception, frame: FrameType, transform: str) -> str:
    """Return the note of an error behind a condition that asks for the class of a box."""
    is_guard = isinstance(problem, TypeError | ValueError | AssertionError) and is_raised_by_user(problem)
    name = _asked(frame) if is_guard else None
    if name is None:
        return ""
    return (
        f"{ast.unparse(name)} is a value that {transform} follows, in the place of {show(value_of(name, frame))}: "
        "isinstance(x, np.ndarray), isinstance(x, float), type(x) is float and np.isscalar(x) answer for what it "
        f"stands for; ask so, ask for x.dtype or np.ndim(x), or check the argument before {transform}"
    )


def _asked(frame: FrameType) -> ast.expr | None:
    """Return the name of a box about whose class a condition asks that leads to the line of a frame."""
    try:
        lines, first = inspect.getsourcelines(frame.f_code)
        nodes = [node for one in statements(textwrap.dedent("".join(lines))) for node in ast.walk(one)]
    except (OSError, SyntaxError, TypeError):
        return None
    line = frame.f_lineno - first + 1
    for node in reversed(nodes):
        if isinstance(node, ast.If | ast.Assert | ast.Match) and node.lineno <= line <= (
            node.end_lineno or 0
        ):
            condition = node.subject if isinstance(node, ast.Match) else node.test
            calls = [value_of(part.func, frame) for part in ast.walk(condition) if isinstance(part, ast.Call)]
            named = [
                name for call in calls for name in getattr(getattr(call, "__code__", None), "co_names", ())
            ]
            if isinstance(node, ast.Match) or re.search(_ASKING, " ".join([ast.unparse(condition), *named])):
                for name in ast.walk(condition):
                    if isinstance(name, ast.Name | ast.Attribute) and isinstance(value_of(name, frame), Box):
                        return name
    return None


def _of_line(problem: Exception, frame: FrameType, transform: str) -> str:
    """Return the note of an error of an operation of Python's, or of a call."""
    if not isinstance(problem, TypeError | AttributeError):
        return ""
    if found := re.search(_KEYWORD, str(problem)):
        advice = instead_of_option(found[1], ("axis", "keepdims", "shape", "dtype"))
        return advice and f"{advice}: functions and methods have NumPy's parameters"
    for part in ast.iter_child_nodes(expression_of(frame) or ast.Pass()):
        name, value = ast.unparse(part), value_of(part, frame, frame)
        if "NoneType" in str(problem) and isinstance(part, ast.Call):
            return f"{name} may have returned None: does {ast.unparse(part.func)} lack a return?"
        if "NoneType" in str(problem) and value is None:
            return f"{name} is None here: a function without return gives None"
        if (
            isinstance(problem, TypeError)
            and re.search(_CONTAINERS, str(problem))
            and isinstance(value, list | tuple | dict)
        ):
            inside = f", whose elements {transform} follows" if _holds_box(value) else ""
            elements = f"list({name}.values())" if isinstance(value, dict) else name
            hint = f"write np.array({elements}), or pass an array in its place"
            return f"{name} is a {type(value).__name__}{inside}: {hint}"
    return ""


def _of_call(problem: Exception, frames: list[FrameType]) -> str:
    """Return the note of a call of the user's function with too few or too many arguments."""
    found = re.search(_MISFIT, str(problem)) if isinstance(problem, TypeError) else None
    if found is None or not frames or is_users(frames[-1].f_code):
        return ""
    name = "f" if found[1] == "<lambda>" else found[1]
    if found[2]:
        return f"{name} gets {found[2]} arguments from this call, and must take as many"
    return (
        f"pass every argument of {name} in the call, or in args=(...) of a solver; "
        f"where one vector holds them, write lambda x: {name}(*x)"
    )


def _of_text(problem: Exception, transform: str, frames: list[FrameType]) -> str:
    """Return the note of a number that a program reads from the text of a box."""
    if not isinstance(problem, ValueError):
        return ""
    if str(problem) == "complex() arg is a malformed string":  # without the text
        names = ast.walk(expression_of(frames[-1]) or ast.Pass()) if frames else ()
        if not any(_holds_box(value_of(name, frames[-1])) for name in names if isinstance(name, ast.Name)):
            return ""
    elif not re.search(_TEXT, str(problem)):
        return ""
    return (
        f"{transform} knows the type of this value alone, which its text shows: leave float(f'{{x:.2f}}') out, "
        "or write np.round(x, 2)"
    )


def _holds_box(value: Any) -> bool:
    try:
        return any(isinstance(leaf, Box) for leaf in tree.leaves(value))
    except Exception:  # a container of the user's
        return False


NOTES.append(note)
