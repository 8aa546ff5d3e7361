"""Texts as data: the bytes of a file, or of the package's own docstrings, in pieces of one length."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wengert.data.dataset import Array, Dataset
from wengert.data.errors import DataError, DataNotFoundError

CONTEXT = 64
"""The number of bytes that a piece predicts; it holds one more, the first."""
SYMBOLS = 256
_TESTED = 10
"""One of so many pieces is held out, at the end of the text."""
_OWN = ("nn", "optim", "train", "data", "random", "fit", "optimize", "integrate")
"""The folders of the package whose docstrings are the text that needs no file."""


def own_text() -> bytes:
    """Return the docstrings of the package's public parts, a text of 200 kB.

    Raises:
        DataNotFoundError: the package's source files are not there.
    """
    root = Path(__file__).parents[1]
    texts = [
        text for part in _OWN for file in sorted((root / part).rglob("*.py")) for text in _docstrings(file)
    ]
    if not texts:
        raise DataNotFoundError(
            f"{root} holds no source files, whose docstrings are the text: give --text FILE"
        )
    return "\n\n".join(texts).encode()


def _docstrings(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (
            text := ast.get_docstring(node)
        ):
            yield text


def pieces(text: bytes, context: int = CONTEXT) -> Array:
    """Cut a text into pieces of ``context + 1`` bytes, of which the last is the first of the next piece.

    Example:
        >>> [bytes(piece) for piece in pieces(b"abcdefgh", 3)]
        [b'abcd', b'defg']
    """
    count = max(len(text) - 1, 0) // context
    return np.frombuffer(text, np.uint8)[np.arange(count)[:, None] * context + np.arange(context + 1)]


def text_set(path: str | None = None) -> Dataset:
    """Return the pieces of a file, or of the package's docstrings, the last tenth of them for testing.

    Raises:
        DataNotFoundError: the file cannot be read.
        DataError: the text is too short.
    """
    try:
        text = own_text() if path is None else Path(path).read_bytes()
    except OSError as problem:
        raise DataNotFoundError(f"{path} cannot be read: {problem.strerror or problem}") from None
    all_pieces = pieces(text)
    tested = -(-len(all_pieces) // _TESTED)
    if len(all_pieces) - tested < 1:
        raise DataError(f"{path} must hold at least {2 * CONTEXT + 1} bytes; got {len(text)}")
    train, test = all_pieces[:-tested], all_pieces[-tested:]
    none = [np.zeros(len(part), np.uint8) for part in (train, test)]
    return Dataset(train, none[0], test, none[1], "text", ())
