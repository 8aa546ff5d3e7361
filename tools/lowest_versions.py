"""Print the lowest versions that pyproject.toml allows, one requirement a line, for ``pip install -r``.

    python tools/lowest_versions.py test > lowest.txt

The arguments are extras. An extra may name other extras of the package itself, which are included.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(\[(?P<extras>[\w, -]+)\])?\s*((?P<kind>>=|==)\s*(?P<version>[\w.]+))?(?P<marker>\s*;.*)?"
)


def lowest_versions(project: dict[str, Any], extras: list[str]) -> list[str]:
    """Return the packages that a project and some of its extras need, each with its lowest version.

    Args:
        project: the table ``project`` of a ``pyproject.toml``.
        extras: names of optional dependencies.

    Raises:
        ValueError: a requirement has no lowest version.

    Example:
        >>> lowest_versions({"name": "x", "dependencies": ["numpy>=2.0"], "optional-dependencies": {}}, [])
        ['numpy==2.0']
    """
    requirements = [*project["dependencies"], *_requirements(project, extras)]
    return sorted({_lowest(requirement) for requirement in requirements})


def _requirements(project: dict[str, Any], extras: list[str]) -> Iterator[str]:
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            parts = _REQUIREMENT.fullmatch(requirement)
            if parts and parts["name"] == project["name"]:
                yield from _requirements(project, re.split(r"\s*,\s*", parts["extras"]))
            else:
                yield requirement


def _lowest(requirement: str) -> str:
    parts = _REQUIREMENT.fullmatch(requirement)
    if parts is None or parts["version"] is None:
        raise ValueError(f"{requirement}: a requirement must state its lowest version, such as numpy>=2.0")
    extras = f"[{parts['extras']}]" if parts["extras"] else ""
    return f"{parts['name']}{extras}=={parts['version']}{parts['marker'] or ''}"


if __name__ == "__main__":
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    print("\n".join(lowest_versions(project, sys.argv[1:])))
