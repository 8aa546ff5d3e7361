"""A number that only a run knows has no text and is no key: loops are unrolled for it, all else is refused."""

# ruff: noqa: UP031, SIM118 (the expressions are what the tests are about)

from __future__ import annotations

import json
import logging
import string
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ConcreteError, StagingError, WengertError

_X = np.array([0.3, 1.2, 0.7, 2.5, 0.4, 0.9])
_weights = {0: 5.0, 1: 2.0, 2: 0.5, 3: 1.5, 4: 3.0, 5: 7.0}


class _Named:
    def __init__(self, number: Any) -> None:
        self.number = number

    def __str__(self) -> str:
        return f"number {self.number}"


_USES: dict[str, Callable[[Any], Any]] = {
    "str": lambda i: {"3": 5.0}.get(str(i), 1.0),
    "repr": lambda i: len(repr(i)),
    "ascii": lambda i: len(ascii(i)),
    "f-string": lambda i: len(f"{i}"),
    "f-string with a width": lambda i: len(f"{i:03d}"),
    "percent d": lambda i: len("%d" % i),
    "percent s": lambda i: len("%s" % i),
    "format": lambda i: len(format(i, "d")),
    "str.format": lambda i: len("{}".format(i)),  # noqa: UP032
    "int.__format__": lambda i: len(int.__format__(i, "d")),
    "int.__str__": lambda i: len(int.__str__(i)),
    "int.__repr__": lambda i: len(int.__repr__(i)),
    "texts in a loop": lambda i: sum(len(text) for text in map(str, [i, 1])),
    "NumPy's text": lambda i: len(np.array_str(np.array(i))),
    "join": lambda i: len(",".join(map(str, [i, 1]))),
    "template": lambda i: len(string.Template("$a").substitute(a=i)),
    "json": lambda i: len(json.dumps({"a": 1}) + str([i])),
    "an object": lambda i: len(str(_Named(i))),
    "an exception": lambda i: len(str(ValueError(i))),
    "key": lambda i: _weights[i],
    "get": lambda i: _weights.get(i, 1.0),
    "key of text": lambda i: dict(zip("012345", range(6), strict=True))[str(i)],
    "part of a key": lambda i: {(3, 1): 5.0}.get((i, 1), 1.0),
    "in a dict": lambda i: 2.0 if i in {3: 5.0} else 1.0,
    "in its keys": lambda i: 2.0 if i in {3: 5.0}.keys() else 1.0,
    "made dict": lambda i: len({i: 1, 3: 2}),
    "made set": lambda i: len({i, 3}),
    "hash": lambda i: hash(i) % 7,
    "hex": lambda i: len(hex(i)),
}


@pytest.mark.parametrize("use", _USES)
def test_a_loop_is_unrolled_for_a_text(use: str) -> None:
    function = _USES[use]

    def program(x: Any) -> Any:
        s = x[0] * 2 if x[1] > 1 else x[0]
        for i in range(6):
            s = s * 0.5 + x[i] * function(i)
        return s

    np.testing.assert_allclose(wg.jit(program)(_X), program(_X), rtol=1e-14)


@pytest.mark.parametrize("use", _USES)
def test_a_text_of_a_number_that_only_a_run_knows_is_refused(use: str) -> None:
    function = _USES[use]

    def loop(x: Any) -> Any:
        s, i = x[0], 0
        while s < 3:
            s = s * 0.5 + x[i] * function(i) + 1
            i = i + 1
        return s

    def branch(x: Any) -> Any:
        i = int(np.sum(x > 0.8))
        return x[0] * function(i) if x[0] < 1 else x[1]

    kind: Any = StagingError if use != "hex" else wg.errors.ConcreteError
    for program in (loop, branch):
        with pytest.raises(kind, match=r"test_staged_texts.py:\d+"):
            wg.trace(program)(_X)


def test_messages_of_errors_show_types() -> None:
    def program(x: Any) -> Any:
        y = x[0] * 2 if x[1] > 0 else x[1]
        return y * np.zeros(int(x[3]))

    with pytest.raises(ConcreteError, match=r"a size must be known"):
        wg.jit(program)(_X)


def test_the_error_names_the_variable() -> None:
    def program(x: Any) -> Any:
        count = 0
        while x[count] < 2:
            count += len(f"{count}")
        return x[count]

    with pytest.raises(StagingError, match=r"number of count.*test_staged_texts.py"):
        wg.jit(program)(_X)


# -- what only a message can come of ---------------------------------------------------------------------


def test_exceptions_have_python_s_text() -> None:
    def at_once(x: Any) -> Any:
        if x[0] > 1:
            raise ValueError(f"{x[0]} is too large")
        return x[0]

    def before(x: Any) -> Any:
        for i in range(6):
            if x[i] > 1:
                text = f"{x[i]} is too large"
                name = "%s %d" % (text, i)
                raise ValueError(name)
        return x[0]

    for program in (at_once, before):
        with pytest.raises(ValueError, match="is too large") as found:
            wg.jit(program)(_X + 1)
        with pytest.raises(ValueError, match="is too large") as expected:
            program(_X + 1)
        assert str(found.value) == str(expected.value)


def test_texts_for_the_user_show_types(capsys: pytest.CaptureFixture[str]) -> None:
    def program(x: Any) -> Any:
        s = x[0]
        while s < 3:
            s = s + 1
            print("s is", s, f"{s:.3f}")
            logging.debug("s is %s", s)
        return s

    assert wg.jit(program)(_X) == program(_X)
    assert "s is Array(f64" in capsys.readouterr().out


def test_a_text_behind_one_for_the_user_is_refused() -> None:
    def program(x: Any) -> Any:
        k = 0
        while x[k] < 2:
            print(k)
            k += len(str(k))
        return x[k]

    with pytest.raises(StagingError, match="number of k"):
        wg.jit(program)(_X)


def test_a_function_by_the_name_of_print_gets_no_text() -> None:
    def debug(text: str) -> None:
        text.strip()

    def program(x: Any) -> Any:
        k = 0
        while x[k] < 2:
            debug(f"{k}")
            k += 1
        return x[k]

    with pytest.raises(StagingError, match="number of k"):
        wg.jit(program)(_X)


# -- handlers of the program -----------------------------------------------------------------------------


def _caught_text(x: Any) -> Any:
    s = x[0] * 2 if x[1] > 1 else x[0]
    for i in range(6):
        try:
            s = s + x[i] * {"3": 5.0}.get(str(i), 1.0)
        except Exception:
            s = x[5]
    return s


def _caught_key(x: Any) -> Any:
    s = x[0] * 2 if x[1] > 1 else x[0]
    for i in range(6):
        try:
            s = s + x[i] * _weights[i]
        except (KeyError, TypeError):
            s = x[5]
    return s


def _caught_size(x: Any) -> Any:
    s = x[0] * 2 if x[1] > 1 else x[0]
    for i in range(6):
        try:
            s = s + x[i] * len(np.zeros(i))
        except Exception:
            s = x[5]
    return s


def _caught_exception(x: Any) -> Any:
    s = x[0] * 2 if x[1] > 1 else x[0]
    for i in range(6):
        try:
            raise KeyError(f"{i}")
        except KeyError as problem:
            s = s + x[i] * {"3": 5.0}.get(problem.args[0], 1.0)
    return s


@pytest.mark.parametrize("program", [_caught_text, _caught_key, _caught_size, _caught_exception])
def test_a_loop_whose_handler_catches_a_refusal_is_unrolled(program: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(wg.jit(program)(_X), program(_X), rtol=1e-14)


def _caught_branches(x: Any) -> Any:
    try:
        y = 1.0 if x[0] > 0 else np.zeros(3)
    except Exception:
        y = 5.0
    return x[0] * y


def _caught_texts(x: Any) -> Any:
    try:
        y = len(str(x[1])) if x[0] > 0 else 2
    except TypeError:
        y = 5.0
    return x[0] * y


@pytest.mark.parametrize("program", [_caught_branches, _caught_texts])
def test_a_refusal_that_a_handler_catches_is_raised(program: Callable[[Any], Any]) -> None:
    with pytest.raises(StagingError):
        wg.jit(program)(_X)


@pytest.mark.parametrize("use", [name for name in _USES if "key" not in name and "dict" not in name])
@pytest.mark.parametrize("transform", [wg.jit, lambda f: lambda i: wg.vmap(f)(np.array([i]))[0], wg.trace])
def test_a_text_is_refused_where_nothing_else_asks_for_the_number(use: str, transform: Any) -> None:
    """The first run of a program finds a text that does not show the number, and would take another branch."""
    with pytest.raises(WengertError):
        transform(lambda i: _USES[use](i) * 1.0)(3)


def test_values_are_shown_once(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    logger, arguments = logging.getLogger("shown"), (np.ones(2),)

    def program(x: Any) -> Any:
        print(x[0])
        print(
            f"all of {x}",
        )
        logger.warning(f"logged {x}")
        assert x.ndim == 1, f"{x}"
        if x.ndim > 1:
            raise ValueError(f"{x}")
        return np.sum(x)

    wg.jit(program)(*arguments)
    assert capsys.readouterr().out == "Array(f64[], jit)\nall of Array(f64[2], jit)\n"
    assert [record.getMessage() for record in caplog.records if record.name == "shown"] == [
        "logged Array(f64[2], jit)"
    ]
