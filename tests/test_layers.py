"""The import order of docs/architecture.md, and the size of files and functions."""

from __future__ import annotations

import ast
import contextlib
import functools
import graphlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

# Each wing, and the wings below it. An arrow up is nowhere, not even inside a function.
WALLS = {
    "engine": "",
    "compiler": "engine",
    "functions": "engine compiler",
    "science": "engine compiler functions",
    "learning": "engine compiler functions",
    "tools": "engine compiler functions",
    "app": "engine compiler functions science learning tools",
    "facade": "engine compiler functions science learning tools app",
}
# The rooms of each wing and the rooms that each may import, all of them above it; its own files import one another
# without a circle. The folder `engine` is left out of names. A file belongs to the room with the longest matching name.
WINGS = {
    "engine": {
        "_startup": "",
        "_version": "",
        "engine": "",
        "core": "",
        "kernels": "core",
        "ir": "core",
        "nest": "core ir",
        "boxes": "core ir",
        "memory": "core boxes",
        "primitive": "core ir nest boxes memory",
        "ops": "core kernels ir nest boxes memory primitive",
        "array": "core ir boxes memory primitive ops",
        "transforms": "core kernels ir nest boxes memory primitive ops array",
        "machine": "core nest",
        "passes": "core kernels ir nest primitive ops transforms machine",
        "control": "core ir nest boxes primitive ops transforms passes",
        "staged": "core ir boxes ops transforms control",
    },
    "compiler": {
        "compiler.llvm": "_version core machine",
        "compiler.mathlib": "core kernels machine compiler.llvm",
        "compiler.scalars": "core kernels machine compiler.llvm compiler.mathlib",
        "compiler.passes": "core ir nest primitive transforms machine compiler.scalars",
        "compiler.schedule": "core nest machine compiler.passes",
        "compiler.codegen": "core nest machine compiler.llvm compiler.mathlib compiler.scalars compiler.schedule",
        "compiler.runtime": """core ir nest boxes memory primitive array transforms machine compiler.llvm
            compiler.codegen""",
        "compiler": """_version core kernels ir nest boxes memory primitive transforms passes machine control
            compiler.llvm compiler.passes compiler.schedule compiler.codegen compiler.runtime""",
        "compiler.freestanding": "core ir machine compiler.codegen compiler.runtime compiler",
    },
    "functions": {
        "numpy": "core ir nest boxes memory primitive ops array",
        "special": "core ops array numpy",
        "linalg": "core ops control transforms",
        "array_api": "core ir boxes ops array numpy",
        "random": "core ir boxes ops array numpy",
        "scipy": "core kernels ir boxes ops array transforms control numpy special random",
    },
    "science": {
        "implicit": "core ir nest boxes primitive ops transforms control",
        "sparse": "core ir nest boxes primitive ops transforms passes implicit compiler",
        "integrate": """core ir nest boxes primitive ops array transforms control numpy random scipy implicit
            sparse""",
        "optimize": """core ir nest boxes primitive ops array transforms control numpy random implicit compiler
            compiler.llvm sparse compiler.freestanding""",
        "fit": "core boxes control ops random transforms optimize",
    },
    "learning": {
        "nn": "core ir boxes ops array transforms control compiler numpy special random",
        "optim": "core ir boxes ops transforms control",
        "parallel": "_startup _version machine core transforms",
        "data": "core random",
        "train": """_version core ir boxes ops transforms control compiler compiler.llvm machine compiler.runtime
            random nn optim parallel data""",
        "estimators": "core nn optim data train",
        "boost": "core transforms control compiler",
    },
    "tools": {
        "testing": "core ir boxes transforms",
        "autograd": "core ir boxes ops array transforms control numpy special scipy testing",
        "inspect": "core ir boxes primitive ops transforms passes",
        "explorer": "core kernels ir nest boxes primitive ops transforms passes control compiler compiler.llvm inspect",
        "exporting": """_version core kernels ir nest primitive transforms passes compiler machine compiler.llvm
            compiler.mathlib compiler.scalars compiler.passes compiler.schedule compiler.runtime
            compiler.freestanding""",
        "interop": "core ir nest boxes primitive ops transforms control compiler",
    },
    "app": {
        "predict": "core nn data train",
        "report": "core nn inspect data train",
        "app": """_startup _version core transforms compiler compiler.llvm machine compiler.runtime special
            explorer exporting parallel data train predict report""",
        "__main__": "app",
    },
    "facade": {
        "tree": "core",
        "errors": "core",
        "": """_startup _version core tree errors primitive array transforms control compiler compiler.runtime numpy
            special scipy array_api random nn optim optimize fit integrate implicit linalg testing autograd inspect
            explorer exporting data sparse parallel train estimators boost interop predict report""",
    },
}
ROOMS = {room: names for rooms in WINGS.values() for room, names in rooms.items()}
WING = {room: wing for wing, rooms in WINGS.items() for room in rooms}
ORDER = list(ROOMS)
ALLOWED = {room: {room, *names.split()} for room, names in ROOMS.items()}

# The part that may import a dependency as it loads; the other parts do so inside functions.
HOME = {
    "numpy": "wengert",
    "llvmlite": "wengert.compiler.llvm",
    "click": "wengert.app.cli",
    "rich": "wengert.app.cli",
    "matplotlib": "nowhere",
    "PIL": "nowhere",
    "pyarrow": "nowhere",
    "zarr": "nowhere",
    "wandb": "nowhere",
    "mlflow": "nowhere",
    "safetensors": "nowhere",
    "scipy": "nowhere",
    "ipyopt": "nowhere",
    "sklearn": "wengert.estimators",
    "arviz": "nowhere",
    "mpi4py": "nowhere",
    "tensorboardX": "nowhere",
    "onnx": "nowhere",
    "torch": "nowhere",
    "jax": "nowhere",
    "pytensor": "nowhere",
    "tensorflow": "nowhere",
}
ALWAYS_LOADED = {"wengert", "numpy"}
# Modules that functions import: a program from the cache on disk needs no pass, no code generator and no report, and
# few programs need linear algebra, complex numbers or sorts.
LATE = {
    "wengert.compiler.compiled": {
        "wengert.compiler.pipeline",
        "wengert.compiler.codegen.module",
        "wengert.compiler.linear_algebra",
    },
    "wengert.compiler.codegen.program": {"wengert.compiler.codegen.sort"},
    "wengert.compiler.pipeline": {"wengert.compiler.linear_algebra", "wengert.engine.passes.split_complex"},
    "wengert.compiler.specialisation": {"wengert.compiler.pipeline"},
    "wengert.compiler.jit": {"wengert.compiler.report"},
    "wengert.__main__": {"wengert.app.cli"},  # its dependencies may be missing
    "wengert.autograd.scipy.misc": {"wengert.autograd.scipy.special"},  # with SciPy
}
# Other parts may import these inside functions; llvmlite belongs to its room alone.
OPTIONAL = HOME.keys() - {"numpy", "llvmlite"}

MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 50

SOURCE = Path(__file__).parents[1] / "src"


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


FILES = {module_name(path): path.read_text("utf-8") for path in sorted(SOURCE.glob("wengert/**/*.py"))}


class Import(NamedTuple):
    """One module that an import statement names."""

    target: str
    line: int
    in_function: bool
    type_only: bool


@functools.cache
def room_of(module: str) -> str:
    """Return the room of a module: the longest of their names that it begins with."""
    name = module.removeprefix("wengert").removeprefix(".").removeprefix("engine.")
    rooms = [room for room in ROOMS if f"{name}.".startswith(f"{room}.")]
    assert rooms, f"{module}: give it a room in tests/test_layers.py and docs/architecture.md"
    return max(rooms, key=len)


def is_own(module: str) -> bool:
    return module.split(".")[0] == "wengert"


def is_type_guard(node: ast.AST) -> bool:
    names = (
        (getattr(part, "id", getattr(part, "attr", None)) for part in ast.walk(node.test))
        if isinstance(node, ast.If)
        else ()
    )
    return "TYPE_CHECKING" in names


def targets(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the modules that a statement imports; ``from package import name`` may name one of ours."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    assert not statement.level, f"line {statement.lineno}: import by the absolute name"
    package = statement.module or ""
    submodules = [f"{package}.{alias.name}" for alias in statement.names]
    return [name if name in FILES else package for name in submodules]


#: They import by a computed name: the package its rooms, and this one modules of SciPy's.
BY_NAME = ("wengert", "wengert.scipy.registry")


class Contents(NamedTuple):
    """What a file imports, and the names of its functions with the numbers of their lines."""

    imports: list[Import]
    functions: list[tuple[str, int]]


def line_count(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def function_lines(node: ast.FunctionDef) -> int:
    """Return the number of lines of a function, the docstring's not counted."""
    return line_count(node) - (line_count(node.body[0]) if ast.get_docstring(node) else 0)


def collect(holder: ast.AST, found: Contents, in_function: bool, in_guard: bool) -> None:
    """Add what the statements within a statement import and define."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        for node in getattr(holder, field, ()):
            if isinstance(node, ast.Import | ast.ImportFrom):
                found.imports.extend(
                    Import(target, node.lineno, in_function, in_guard) for target in targets(node)
                )
            if isinstance(node, ast.FunctionDef):
                found.functions.append((node.name, function_lines(node)))
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            collect(node, found, in_function or function, in_guard or is_type_guard(node))


@functools.cache
def contents(source: str) -> Contents:
    """Return what a file holds: it is parsed once."""
    found = Contents([], [])
    collect(ast.parse(source), found, False, False)
    return found


def statements(source: str) -> Iterator[str]:
    """Yield what lines that look like imports name: all imports of the package, and perhaps lines of a string."""
    for text in re.findall(r"^[ \t]*((?:from|import) wengert[^(\n]*(?:\([^)]*\))?)", source, re.MULTILINE):
        with contextlib.suppress(SyntaxError):
            (node,) = ast.parse(text).body
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from filter(is_own, targets(node))


def offence(module: str, found: Import) -> str | None:
    """Say what is wrong with an import, if anything is."""
    top = found.target.split(".")[0]
    is_late = any(
        found.target == late or found.target.startswith(f"{late}.") for late in LATE.get(module, ())
    )
    if top in ALWAYS_LOADED and found.in_function and module != "wengert" and not is_late:
        return "imports late what is always loaded"
    if is_own(found.target):
        return None if room_of(found.target) in ALLOWED[room_of(module)] else "imports a room that it may not"
    if top in sys.stdlib_module_names:
        return None
    if top not in HOME:
        return "imports what is no dependency"
    at_home = f"{module}.".startswith(f"{HOME[top]}.")
    deferred = (found.in_function or found.type_only) and top in OPTIONAL
    return None if at_home or deferred else "imports a dependency too early"


def offences(module: str, source: str) -> list[str]:
    found = [(each, offence(module, each)) for each in contents(source).imports]
    wrong = [f"line {each.line}: {module} {what}: {each.target}" for each, what in found if what]
    if module not in BY_NAME and any(call in source for call in ("import_module(", "__import__(")):
        wrong.append(f"{module} imports by a computed name")
    return wrong


def test_rooms_import_only_rooms_above_them() -> None:
    upward = {
        room: [name for name in ALLOWED[room] if ORDER.index(name) > number]
        for number, room in enumerate(ORDER)
    }
    assert not any(upward.values())


def test_walls_hold() -> None:
    above = {
        room: {name for name in names if WING[name] not in (WING[room], *WALLS[WING[room]].split())}
        for room, names in ALLOWED.items()
    }
    assert {room: names for room, names in above.items() if names} == {}


def test_rooms_name_no_import_that_nobody_needs() -> None:
    used = {room: {room} for room in ROOMS}
    for module, source in FILES.items():
        found = used[room_of(module)]
        if not found.issuperset(map(room_of, statements(source))):  # all of a file takes long to parse
            found |= {room_of(each.target) for each in contents(source).imports if is_own(each.target)}
    assert used == ALLOWED


def test_imports_keep_the_order() -> None:
    assert [wrong for module, source in FILES.items() for wrong in offences(module, source)] == []


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("wengert.engine.ir.graph", "from wengert.engine.ops import add", "a room that it may not"),
        ("wengert.engine.ir.graph", "from wengert import Var", "a room that it may not"),
        ("wengert.compiler.passes.fuse", "import wengert.compiler.jit", "a room that it may not"),
        ("wengert.nn.layers", "import wengert.compiler.llvm.host", "a room that it may not"),
        ("wengert.compiler.codegen.nest", "import llvmlite", "a dependency too early"),
        (
            "wengert.compiler.codegen.nest",
            "def f():\n    import llvmlite",
            "a dependency too early",
        ),
        ("wengert.engine.ir.graph", "def f():\n    import wengert.engine.ir", "late what is always loaded"),
        ("wengert.engine.ir.graph", "f = lambda name: __import__(name)", "a computed name"),
        ("wengert.engine.ops.linalg.square", "import torchvision", "no dependency"),
        ("wengert.engine.ops.linalg.square", "import scipy.linalg", "a dependency too early"),
        ("wengert.engine.ops.linalg.square", "def f():\n    import numpy", "late what is always loaded"),
        ("wengert.app.client", "import click", "a dependency too early"),
        ("wengert.report", "from matplotlib import pyplot", "a dependency too early"),
    ],
)
def test_planted_offences_are_found(module: str, source: str, expected: str) -> None:
    (found,) = offences(module, source)
    assert expected in found


def test_imports_have_no_cycle() -> None:
    graph = {module: {each.target for each in contents(source).imports} for module, source in FILES.items()}
    graphlib.TopologicalSorter(graph).prepare()


def test_files_are_short() -> None:
    lengths = {module: len(source.splitlines()) for module, source in FILES.items()}
    assert {module: lines for module, lines in lengths.items() if lines > MAX_FILE_LINES} == {}


def test_functions_are_short() -> None:
    long = {
        (module, name): lines
        for module, source in FILES.items()
        for name, lines in contents(source).functions
        if lines > MAX_FUNCTION_LINES
    }
    assert long == {}
