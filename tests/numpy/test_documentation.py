"""`help` of a name of `wengert.numpy`: NumPy's own for NumPy's functions, complete docstrings for Wengert's."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

import wengert.numpy as wnp
import wengert.numpy.linalg
from wengert.engine.ops.elementwise import UFUNCS
from wengert.numpy.list_arguments import ListAccepting

FUNCTIONS = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (wnp, wengert.numpy.linalg)
    for name in dir(module)
    if callable(getattr(module, name)) and not isinstance(getattr(module, name), type)
}
NUMPYS = {name: value for name, value in FUNCTIONS.items() if isinstance(value, ListAccepting)}
OWN = {
    name: value
    for name, value in FUNCTIONS.items()
    if value.__module__.startswith("wengert.")
    and name not in NUMPYS  # ufuncs of earlier NumPys have no module
}


def parameters(value: Any) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(value).parameters.items()}


def summary(value: Any) -> str:
    return (inspect.getdoc(value) or "").partition("\n\n")[0]  # SciPy adds to NumPy's docstrings


def test_every_function_is_numpys_or_documented_here() -> None:
    assert {"wengert.numpy.zeros", "wengert.numpy.linspace", "wengert.numpy.take"} <= OWN.keys()
    assert {"wengert.numpy.sum", "wengert.numpy.add", "wengert.numpy.linalg.solve"} <= NUMPYS.keys()
    for name in FUNCTIONS.keys() - OWN.keys() - NUMPYS.keys():
        assert FUNCTIONS[name].__module__.startswith("numpy"), name


@pytest.mark.parametrize("name", OWN)
def test_own_functions_are_documented(name: str) -> None:
    docstring = inspect.getdoc(OWN[name]) or ""
    summary, _, sections = docstring.partition("\n\n")
    assert re.fullmatch(r"[A-Z].*\.", summary)
    for heading in ("Args", "Returns", "Example"):
        assert re.search(rf"^{heading}:\n    ", sections, re.MULTILINE), heading
    arguments = sections[sections.index("Args:") :].partition("\n\n")[0]
    documented = re.findall(r"^    (\w+): .*\.$", arguments, re.MULTILINE)
    assert documented == list(parameters(OWN[name]))
    assert "    >>> " in sections


@pytest.mark.parametrize("name", OWN)
def test_own_functions_have_numpys_signature(name: str) -> None:
    numpys = getattr(np, name.rpartition(".")[2])
    try:
        theirs = parameters(numpys)
    except ValueError:  # earlier versions of NumPy do not state signatures of functions in C
        return
    ours = parameters(OWN[name])
    assert set(theirs) <= {*ours, "ndmax", "start_or_stop"}
    assert not {"args", "kwargs", "operands", "params"} & set(ours)


@pytest.mark.parametrize("name", NUMPYS)
def test_functions_of_numpy_keep_its_signature_and_docstring(name: str) -> None:
    numpys: Any = NUMPYS[name].__wrapped__
    assert summary(NUMPYS[name]) == summary(numpys) != ""
    assert NUMPYS[name].__name__ == numpys.__name__
    try:
        expected = inspect.signature(numpys)
    except ValueError:
        return
    assert inspect.signature(NUMPYS[name]) == expected


def test_joiners_are_documented() -> None:
    for joiner in (wnp.r_, wnp.c_):
        assert "Example:" in (inspect.getdoc(joiner) or "")


def test_ufuncs_are_offered_with_numpys_docstring() -> None:
    for ufunc in UFUNCS:
        assert getattr(wnp, ufunc.__name__).__doc__ == ufunc.__doc__
