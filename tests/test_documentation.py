"""`help` of every public function and class says what it takes and returns, and shows it in use."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
import scipy

MODULES = [
    "wengert",
    "wengert.autograd",
    "wengert.autograd.extend",
    "wengert.boost",
    "wengert.data",
    "wengert.errors",
    "wengert.estimators",
    "wengert.fit",
    "wengert.implicit",
    "wengert.inspect",
    "wengert.integrate",
    "wengert.interop",
    "wengert.linalg",
    "wengert.nn",
    "wengert.optim",
    "wengert.optim.schedules",
    "wengert.optimize",
    "wengert.parallel",
    "wengert.predict",
    "wengert.random",
    "wengert.report",
    "wengert.scipy.fft",
    "wengert.scipy.integrate",
    "wengert.scipy.linalg",
    "wengert.scipy.ndimage",
    "wengert.scipy.signal",
    "wengert.scipy.spatial",
    "wengert.scipy.spatial.distance",
    "wengert.scipy.spatial.transform",
    "wengert.scipy.stats",
    "wengert.special",
    "wengert.testing",
    "wengert.train",
    "wengert.tree",
]

# Functions return these classes; users do not construct them. A summary line is enough.
RESULTS = {
    *(
        "Array",
        "Comparison",
        "EpochResult",
        "Fit",
        "Images",
        "Interval",
        "Laplace",
        "LayerSummary",
        "Listing",
        "Minimum",
        "Outcome",
        "Predictor",
    ),
    *("Problem", "Program", "Progress", "Run", "Samples", "Settings", "State", "Summary", "Table"),
}
#: Whether SciPy's signatures lack parameters to which docstrings refer.
OLD_SCIPY = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17)
VARIADIC = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def section(docstring: str, *headings: str) -> str:
    """Return the text of the first of the sections that is there, or an empty string."""
    match = re.search(rf"^(?:{'|'.join(headings)}):\n((?: .*\n|\n)+)", f"{docstring}\n", re.MULTILINE)
    return textwrap.dedent(match[1]) if match else ""


def documented_names(arguments: str) -> set[str]:
    """Return the names that a section documents."""
    return set(re.findall(r"^\**(\w+):", arguments, re.MULTILINE))


def documented_fields(value: type) -> set[str]:
    """Return the fields of a class that are followed by a string."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    assert isinstance(definition, ast.ClassDef)
    return {
        field.target.id
        for field, text in zip(definition.body, definition.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


def shortcomings(value: Any) -> Iterator[str]:
    """Yield what the documentation of a function or a class lacks."""
    docstring = inspect.getdoc(value) or ""
    if not re.match(r".*\.$", docstring.split("\n\n")[0]):
        yield "the docstring must begin with one line that ends in a full stop"
    is_class = isinstance(value, type)
    if is_class and (issubclass(value, BaseException) or value.__name__ in RESULTS):
        return
    if is_class and getattr(value, "_is_protocol", False):
        parameters: list[inspect.Parameter] = []
    else:
        signature = inspect.signature(value)
        parameters = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
        returns = not is_class and signature.return_annotation not in (None, "None")
        refers = "Parameters and results: see `" in docstring
        if returns and not refers and not section(docstring, "Returns", "Yields"):
            yield "Returns is missing"
        theirs = re.search(r"^Parameters and results: see `(.+)\.(\w+)`\.$", docstring, re.MULTILINE)
        if theirs and OLD_SCIPY:
            parameters = []
        elif theirs:
            reference = inspect.signature(getattr(importlib.import_module(theirs[1]), theirs[2]))
            parameters = [parameter for parameter in parameters if parameter.name not in reference.parameters]
            parameters = [parameter for parameter in parameters if f"``{parameter.name}``:" not in docstring]
    if len(parameters) > 1 and all(parameter.kind in VARIADIC for parameter in parameters):
        yield "the signature names no parameter"
    documented = documented_names(section(docstring, "Args", "Attributes"))
    if is_class and dataclass_like(value):
        documented |= documented_fields(value)
    missing = [parameter.name for parameter in parameters if parameter.name not in documented]
    if missing:
        yield f"Args must name {', '.join(missing)}"
    if not re.search(r"^ +>>> |^ *```|::$", docstring, re.MULTILINE):
        yield "an example is missing"


def dataclass_like(value: type) -> bool:
    return hasattr(value, "__dataclass_fields__") or hasattr(value, "_fields")


def is_constant(value: Any) -> bool:
    return not inspect.isroutine(value) and not isinstance(value, type)


@pytest.mark.exhaustive
@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_documented(module: str) -> None:
    if module == "wengert.estimators":
        pytest.importorskip("sklearn")
    public = importlib.import_module(module)
    values = [(name, getattr(public, name)) for name in public.__all__]
    wrong = {name: list(shortcomings(value)) for name, value in values if not is_constant(value)}
    report = "\n".join(f"{name}: {'; '.join(problems)}" for name, problems in wrong.items() if problems)
    assert not report, f"{module}\n{report}"


def complete(x: Any, *others: Any, deep: bool = True) -> int:
    """Return one.

    Args:
        x: any value.
        *others: other values.
        deep: whether the values
            are: deep.

    Returns:
        One.

    Example:
        >>> complete(0)
        1
    """
    return 1


def incomplete(x: Any, y: Any) -> int:  # noqa: D417
    """Return one

    Args:
        x: a value.
    """  # noqa: D415
    return 1


def unnamed(*operands: Any, **parameters: Any) -> None:
    """Return None.

    Args:
        operands: the operands.
        parameters: the parameters.

    Example:
        >>> unnamed()
    """


def test_shortcomings_are_found() -> None:
    assert list(shortcomings(complete)) == []
    assert list(shortcomings(incomplete)) == [
        "the docstring must begin with one line that ends in a full stop",
        "Returns is missing",
        "Args must name y",
        "an example is missing",
    ]
    assert list(shortcomings(unnamed)) == ["the signature names no parameter"]
