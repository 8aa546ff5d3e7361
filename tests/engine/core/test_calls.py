"""Calls that do not fit the parameters of a public function."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from typing import Any

import pytest

import wengert as wg
from wengert.engine.core.calls import UNSET, advising, instead_of_option


@advising("wg.twice(f)(x)")
def twice(fun: Any, argnums: int = 0, *, axis: int = 0) -> Any:
    """Call a function."""
    return fun()


@pytest.mark.parametrize(
    ("arguments", "options", "advice"),
    [
        ((abs,), {"argnum": 1}, "write argnums= for argnum=, as in wg.twice(f)(x)"),
        ((abs,), {"dim": 1}, "write axis= for dim="),
        ((abs,), {"nopython": True}, "leave out nopython=: every program is compiled as a whole"),
        ((abs,), {"something": 1}, "write wg.twice(f)(x)"),
        ((abs, 0, 1), {}, "write wg.twice(f)(x)"),
        ((), {}, "write wg.twice(f)(x)"),
    ],
)
def test_a_call_that_does_not_fit_has_a_note(arguments: Any, options: Any, advice: str) -> None:
    with pytest.raises(TypeError) as caught:
        twice(*arguments, **options)
    (note,) = caught.value.__notes__
    assert note.startswith(f"twice: {advice}")
    assert note.endswith("; its parameters are (fun, argnums=0, *, axis=0)")


def test_an_error_inside_has_none() -> None:
    def fails() -> None:
        raise TypeError("f() takes 0 positional arguments but 1 was given")

    with pytest.raises(TypeError) as caught:
        twice(fails)
    assert not hasattr(caught.value, "__notes__")


def test_the_function_stays_what_it_is() -> None:
    assert (twice.__name__, twice.__doc__) == ("twice", "Call a function.")
    assert list(inspect.signature(wg.grad).parameters) == ["fun", "argnums", "has_aux", "holomorphic"]
    assert pickle.loads(pickle.dumps(wg.grad)) is wg.grad


def test_parameters_without_a_likeness_have_no_advice() -> None:
    assert instead_of_option("lr", ["fun"]) == ""
    assert instead_of_option("lr", ["rate"]) == "write rate= for lr="
    assert instead_of_option("argnumz", ["fun", "argnums"]) == "write argnums= for argnumz="


def test_defaults_that_stand_for_nothing_have_a_name() -> None:
    assert repr(UNSET) == "unset"
    for function in (wg.jit, wg.tree.static, wg.numpy.vectorize):
        assert "unset" in str(inspect.signature(function))


@pytest.mark.slow
def test_signatures_show_no_addresses() -> None:
    for module in (wg, wg.numpy, wg.tree, wg.optimize, wg.integrate, wg.random, wg.optim, wg.sparse):
        for name in dir(module):
            value = getattr(module, name)
            if inspect.isfunction(value) or dataclasses.is_dataclass(value):
                shown = str(inspect.signature(value))
                assert "<object" not in shown and "_MISSING_TYPE" not in shown, name  # noqa: PT018
