"""The import order of docs/architecture.md, and the size of files and functions."""

from __future__ import annotations

import ast
import graphlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

# A file imports lower rows, or its own row without a cycle. `__init__` is the facade.
ROWS = (
    "_starting _version errors dtypes private shapes tree kernels",
    "ir",
    "nest",
    "boxes",
    "primitive",
    "ops",
    "subscripts operators sparse instead flat conversions array passes",
    "transforms draws",
    "control",
    "backend",
    "compiling dispatch progress roles specialisation",
    "numpy special random",
    "nn optim",
    "data train predict estimators bench testing inspect report cli",
    "__init__ __main__",
)
ROW = {name: row for row, names in enumerate(ROWS) for name in names.split()}

# The part that may import a dependency as it loads; the other parts do so inside functions.
HOME = {
    "numpy": "wengert",
    "llvmlite": "wengert.backend",
    "click": "wengert.cli",
    "rich": "wengert.cli",
    "matplotlib": "nowhere",
    "PIL": "nowhere",
    "safetensors": "wengert.train.tensors",
    "sklearn": "wengert.estimators",
    "tensorboardX": "nowhere",
    "torch": "nowhere",
    "jax": "nowhere",
    "tensorflow": "nowhere",
}
ALWAYS_LOADED = {"wengert", "numpy"}

MAX_FILE_LINES = 420
MAX_FUNCTION_LINES = 50

SOURCE = Path(__file__).parents[1] / "src"


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


FILES = {module_name(path): path.read_text("utf-8") for path in sorted(SOURCE.glob("wengert/**/*.py"))}
every_module = pytest.mark.parametrize("module", FILES)


class Import(NamedTuple):
    """One module that an import statement names."""

    target: str
    line: int
    in_function: bool
    type_only: bool


def row(module: str) -> int:
    """Return the row of a module, which is that of its first part inside the package."""
    name = [*module.split("."), "__init__"][1]
    assert name in ROW, f"{module}: give '{name}' a row in tests/test_layers.py and docs/architecture.md"
    return ROW[name]


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def is_type_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def within(tree: ast.AST, holds: Callable[[ast.AST], bool]) -> set[ast.AST]:
    return {node for holder in ast.walk(tree) if holds(holder) for node in ast.walk(holder)}


def targets(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the modules that a statement imports; ``from package import name`` may name one of ours."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    assert not statement.level, f"line {statement.lineno}: import by the absolute name"
    package = statement.module or ""
    submodules = [f"{package}.{alias.name}" for alias in statement.names]
    return [name if name in FILES else package for name in submodules]


def imports(source: str) -> Iterator[Import]:
    tree = ast.parse(source)
    functions, guards = within(tree, is_function), within(tree, is_type_guard)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for target in targets(node):
                yield Import(target, node.lineno, node in functions, node in guards)


def offence(module: str, found: Import) -> str | None:
    """Say what is wrong with an import, if anything is."""
    top = found.target.split(".")[0]
    if top in ALWAYS_LOADED and found.in_function and module != "wengert":
        return "imports late what is always loaded"
    if top == "wengert":
        return "imports a higher row" if row(found.target) > row(module) else None
    if top in sys.stdlib_module_names:
        return None
    if top not in HOME:
        return "imports what is no dependency"
    at_home = f"{module}.".startswith(f"{HOME[top]}.")
    deferred = found.in_function or found.type_only
    return None if at_home or deferred else "imports an optional dependency too early"


def offences(module: str, source: str) -> list[str]:
    found = [(each, offence(module, each)) for each in imports(source)]
    wrong = [f"line {each.line}: {module} {what}: {each.target}" for each, what in found if what]
    if module != "wengert" and any(call in source for call in ("import_module(", "__import__(")):
        wrong.append(f"{module} imports by a computed name")
    return wrong


@every_module
def test_files_have_a_row(module: str) -> None:
    assert row(module) >= 0


@every_module
def test_imports_keep_the_order(module: str) -> None:
    assert offences(module, FILES[module]) == []


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("wengert.ir.graph", "from wengert.ops import add", "a higher row"),
        ("wengert.ir.graph", "from wengert import Var", "a higher row"),
        ("wengert.jit", "def f():\n    import wengert.ir", "late what is always loaded"),
        ("wengert.jit", "f = lambda name: __import__(name)", "a computed name"),
        ("wengert.ops.linalg", "import scipy.linalg", "no dependency"),
        ("wengert.ops.linalg", "def f():\n    import numpy", "late what is always loaded"),
        ("wengert.client", "import click", "an optional dependency too early"),
        ("wengert.report", "from matplotlib import pyplot", "an optional dependency too early"),
    ],
)
def test_planted_offences_are_found(module: str, source: str, expected: str) -> None:
    (found,) = offences(module, source)
    assert expected in found


def test_imports_have_no_cycle() -> None:
    graph = {module: {each.target for each in imports(source)} for module, source in FILES.items()}
    graphlib.TopologicalSorter(graph).prepare()


@every_module
def test_files_are_short(module: str) -> None:
    assert len(FILES[module].splitlines()) <= MAX_FILE_LINES


def line_count(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def function_lengths(source: str) -> Iterator[tuple[str, int]]:
    """Yield the name of every function and the number of its lines, the docstring's not counted."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            docstring = line_count(node.body[0]) if ast.get_docstring(node) else 0
            yield node.name, line_count(node) - docstring


@every_module
def test_functions_are_short(module: str) -> None:
    long = {name: lines for name, lines in function_lengths(FILES[module]) if lines > MAX_FUNCTION_LINES}
    assert long == {}
