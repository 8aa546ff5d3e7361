"""Python files of a user, run as modules."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from types import CodeType, ModuleType

from wengert.engine.core.errors import WengertError

_loaded: set[str] = set()
"""The local modules of the last program; the next one may import other modules of the same names."""


class UnreadableError(WengertError, OSError):
    """A user's file that cannot be read."""


class ProgramError(WengertError, ValueError):
    """A user's file that is not valid Python."""


def compiled(path: Path) -> CodeType:
    """Return the code of a Python file.

    Raises:
        UnreadableError: the file cannot be read.
        ProgramError: the file is not valid Python.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "program.py")
        >>> _ = path.write_text("def double(x): return 2 * x")
        >>> run(compiled(path)).double(3)
        6
    """
    try:
        return compile(path.read_text("utf-8"), str(path), "exec")
    except OSError as problem:
        raise UnreadableError(f"{path} cannot be read: {problem.strerror or problem}") from None
    except (SyntaxError, ValueError) as problem:
        raise ProgramError(f"{path} is not valid Python: {problem}") from None


def run(code: CodeType) -> ModuleType:
    """Run the code of a file, and return its module; an exception of the program comes through."""
    path = Path(code.co_filename)
    module = ModuleType(f"wengert_program_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses resolve annotations there
    exec(code, module.__dict__)
    return module


@contextlib.contextmanager
def importing_from(folders: Sequence[Path]) -> Generator[None, None, None]:
    """Import from some folders first, and forget the local modules of an earlier program."""
    for name in _loaded:
        sys.modules.pop(name, None)
    _loaded.clear()
    places = [str(folder.resolve()) for folder in folders]
    modules, writes = set(sys.modules), sys.dont_write_bytecode
    sys.path[:0] = places
    sys.dont_write_bytecode = True  # the folders hold only files of the user and of the run
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes
        for place in places:
            sys.path.remove(place)
        for name in sys.modules.keys() - modules:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if any(file.startswith(place + os.sep) for place in places):
                _loaded.add(name)
