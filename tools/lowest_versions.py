"""Print the lowest versions that pyproject.toml allows, one requirement a line, for ``pip install -r``.

    python tools/lowest_versions.py test > lowest.txt

The arguments are extras. An extra that names extras of the package itself brings theirs along.
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
    r"(?P<name>[\w.-]+)(\[(?P<extras>[\w, -]+)\])?\s*((?P<kind>>=|==)\s*(?P<version>[\w.]+))?"
)


def lowest_versions(project: dict[str, Any], extras: list[str]) -> list[str]:
    """Return the packages that a project and some of its extras need, each with the lowest version that will do.

    Args:
        project: the table ``project`` of a ``pyproject.toml``.
        extras: names of optional dependencies.

    Raises:
        ValueError: a requirement states no lowest version.

    Example:
        >>> lowest_versions({"name": "x", "dependencies": ["numpy>=2.0"], "optional-dependencies": {}}, [])
        ['numpy==2.0']
    """
    wanted = [*project["dependencies"], *_of_extras(project, extras)]
    return sorted({_lowest(requirement) for requirement in wanted})


def _of_extras(project: dict[str, Any], extras: list[str]) -> Iterator[str]:
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            found = _REQUIREMENT.fullmatch(requirement)
            if found and found["name"] == project["name"]:
                yield from _of_extras(project, re.split(r"\s*,\s*", found["extras"]))
            else:
                yield requirement


def _lowest(requirement: str) -> str:
    found = _REQUIREMENT.fullmatch(requirement)
    if found is None or found["version"] is None:
        raise ValueError(f"{requirement}: a requirement must state its lowest version, such as numpy>=2.0")
    extras = f"[{found['extras']}]" if found["extras"] else ""
    return f"{found['name']}{extras}=={found['version']}"


if __name__ == "__main__":
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    print("\n".join(lowest_versions(project, sys.argv[1:])))
