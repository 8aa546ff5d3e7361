"""Read the notebooks at equal distances among the other pages.

Sphinx gives each process a group of pages that follow one another, and notebooks run while they are read: side by
side they would run one after the other in one process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def apart(names: list[str]) -> list[str]:
    """Return names of pages with those of notebooks at equal distances, the first one at the start.

    Example:
        >>> apart(["a", "b", "notebooks/c", "notebooks/d", "e", "f"])
        ['notebooks/c', 'a', 'b', 'notebooks/d', 'e', 'f']
    """
    notebooks = [name for name in names if name.startswith("notebooks/")]
    others = [name for name in names if name not in notebooks]
    ends = [len(others) * (number + 1) // len(notebooks) for number in range(len(notebooks))]
    groups = zip(notebooks, [0, *ends], ends, strict=False)
    return [name for notebook, start, end in groups for name in (notebook, *others[start:end])] or others


def reorder(_app: Sphinx, _environment: object, names: list[str]) -> None:
    names[:] = apart(names)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-before-read-docs", reorder)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
