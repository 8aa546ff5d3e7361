"""What a file of the user's imports from beside it, found in its text: a run keeps copies of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path


def neighbours(file: Path) -> dict[str, Path]:
    """Return the modules beside a file that it imports, those that these import, and so on.

    Imports inside functions count too. What is imported by a computed name is not found, nor are files that are read.

    Args:
        file: a Python file.

    Returns:
        Each file by its place from the folder, such as ``parts/blocks.py``.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "parts").mkdir()
        >>> for name, text in {"mine": "from parts import blocks", "parts/blocks": "import json"}.items():
        ...     _ = (folder / f"{name}.py").write_text(text)
        >>> list(neighbours(folder / "mine.py"))
        ['parts/blocks.py']
    """
    folder, found = file.parent, dict[str, Path]()
    waiting: list[tuple[Path, tuple[str, ...]]] = [(file, ())]
    while waiting:
        path, package = waiting.pop()
        for name in _imported(path, package):
            for place, inside in _files(name):
                key, here = place.as_posix(), folder / place
                if key not in found and here.is_file() and here != file:
                    found[key] = here
                    waiting.append((here, inside))
    return dict(sorted(found.items()))


def _imported(path: Path, package: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names that a file imports; ``from x import y`` may name a module ``x.y``."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return  # running it says so
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = tuple(package[: len(package) - node.level + 1]) if node.level else ()
            start += tuple(node.module.split(".")) if node.module else ()
            yield start
            yield from ((*start, alias.name) for alias in node.names)


def _files(name: tuple[str, ...]) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the files that importing a name may run, each with the package that it is in."""
    for count in range(1, len(name) + 1):
        if name[0] != "wengert" and all(part.isidentifier() for part in name[:count]):
            part = Path(*name[:count])
            yield part.with_suffix(".py"), name[: count - 1]
            yield part / "__init__.py", name[:count]
