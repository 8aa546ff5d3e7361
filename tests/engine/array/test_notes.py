"""Notes on errors of a program, which leave its errors as they are."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core import calls

X = np.array([1.0, 2.0, 3.0])


def notes_of(call: Callable[[], Any]) -> list[str]:
    """Return the notes of the error that a call raises."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    return getattr(caught.value, "__notes__", [])


ASSERTING = """
def checked(x):
    assert isinstance(x, int), "an integer is needed"
    return x


def matched(x):
    match x:
        case int() | str():
            return x
        case _:
            raise TypeError("no case")


class Model:
    def __init__(self, x):
        self.x = x

    def value(self):
        if type(self.x) is not tuple:
            raise ValueError("a tuple is needed")
        return self.x
"""


@pytest.mark.parametrize("name", ["checked", "matched", "Model"])
@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
def test_guards_of_each_form(tmp_path: Path, name: str, transform: Any) -> None:
    path = tmp_path / "guards.py"
    path.write_text(ASSERTING)
    found = runpy.run_path(str(path))[name]
    program = (lambda x: found(x).value()) if name == "Model" else found
    (note,) = notes_of(lambda: transform(program)(2.0))
    named = "self.x" if name == "Model" else "x"
    assert note.startswith(f"{named} is a value that {transform.__name__} follows, in the place of a float: ")


def negative(x: Any) -> Any:
    if np.any(x > 1.5):
        raise ValueError("x must be small")
    return np.sum(x)


def rejected(x: Any) -> Any:
    if x[0] > 0.5:
        raise TypeError(f"{x[0]}")
    return np.sum(x)


def is_small(x: Any) -> bool:
    return bool(np.all(x < 0.5))


def checked(x: Any) -> Any:
    if not is_small(x):
        raise ValueError("x must be small")
    return np.sum(x)


def beside(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return int("no") * x
    return x


@pytest.mark.parametrize(
    "program", [negative, rejected, checked, beside, lambda x: {}["a"], lambda x: int("no")]
)
def test_errors_that_explain_themselves_have_no_note(program: Any) -> None:
    assert notes_of(lambda: wg.grad(program)(X)) == []


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def test_a_guard_that_calls_a_function() -> None:
    def program(x: Any) -> Any:
        if not is_text(x):
            raise TypeError("a text is needed")
        return x

    assert notes_of(lambda: wg.grad(program)(X))[0].startswith("x is a value that grad follows")


def test_a_guard_of_plain_data_has_no_note() -> None:
    def program(x: Any, options: Any) -> Any:
        if not isinstance(options, dict):
            raise TypeError("options must be a dict")
        return x

    assert notes_of(lambda: wg.grad(program)(2.0, [1])) == []


def test_an_error_has_one_note_for_all_transforms() -> None:
    def program(x: Any) -> Any:
        if not isinstance(x, list):
            raise TypeError("a list is needed")
        return x

    assert len(notes_of(lambda: wg.jit(wg.grad(wg.grad(program)))(2.0))) == 1


def test_a_note_that_fails_leaves_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(problem: Exception, operation: str) -> None:
        raise KeyError(operation)

    monkeypatch.setattr(calls, "NOTES", [fails])
    with pytest.raises(ZeroDivisionError):
        wg.grad(lambda x: x * (1 // 0))(2.0)


def test_what_an_operand_is() -> None:
    def nothing(x: Any) -> None: ...

    class Model:
        def __init__(self) -> None:
            self.bias: Any = None

        def value(self, x: Any) -> Any:
            return self.bias[0] * x

    (note,) = notes_of(lambda: wg.grad(Model().value)(2.0))
    assert note == "self.bias is None here: a function without return gives None"
    with pytest.raises(wg.WengertError, match="got NoneType; its last line may lack return"):
        wg.grad(lambda x: np.sum(x + nothing(x)))(X)
    (note,) = notes_of(lambda: wg.grad(lambda x: nothing(x) + 1.0)(X))
    assert note == "nothing(x) may have returned None: does nothing lack a return?"
    (note,) = notes_of(lambda: wg.grad(lambda p: p / 2.0)([1.0, 2.0]))
    assert note.startswith("p is a list, whose elements grad follows: write np.array(p)")


def test_a_call_that_does_not_fit() -> None:
    (note,) = notes_of(lambda: wg.fori_loop(0, 3, lambda x: x, 0.0))  # type: ignore[arg-type,misc]
    assert note == "f gets 2 arguments from this call, and must take as many"


@pytest.mark.parametrize(
    "number",
    [
        lambda x: float(f"{x:.2f}"),
        lambda x: float(str(x)),
        lambda x: int(f"{x}"),
        lambda x: complex(f"{x}"),
        lambda x: np.float64(f"{x}"),
    ],
)
def test_a_number_that_is_read_from_a_text(number: Any) -> None:
    (note,) = notes_of(lambda: wg.jit(lambda x: 2 * number(x))(3))
    assert note.startswith("jit knows the type of this value alone")
    assert "np.round(x, 2)" in note
    assert wg.grad(lambda x: x * float(f"{x:.2f}"))(1.234) == 1.23
    assert not notes_of(lambda: wg.jit(lambda x: x * float("Array"))(3.0))
    assert not notes_of(lambda: wg.jit(lambda x: x * complex("Array"))(3.0))
