"""The worked examples of CONTRIBUTING.md apply to the tree, and pass the tests that they name."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECTION = re.compile(r"^## (.+)\n([\s\S]*?)(?=^## |\Z)", re.MULTILINE)
#: What a section does: names a place, exports names, or holds code.
STEP = re.compile(
    r"at the end of `(?P<end>[^`]+)`"
    r"|(?:in|above) `(?P<start>[^`]+)` (?:in|of) `(?P<file>[^`]+)`"
    r"|[Ee]xport\W*(?P<names>(?:`\w+`(?: and )?)+) from `(?P<package>[^`]+)`"
    r"|^```(?P<language>\w+)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Replay:
    """The files that a section changes, and the command at its end."""

    def __init__(self, section: str) -> None:
        self.files: dict[str, str] = {}
        self.command: list[str] = []
        place: tuple[str, str | None] | None = None
        source = ""
        for step in STEP.finditer(section):
            if step["names"]:
                self._export(re.findall(r"`(\w+)`", step["names"]), source, step["package"])
            elif step["language"] == "python":
                assert place, f"no file and place before the block\n{step['code']}"
                self._add(step["code"], *place)
                source, place = place[0], None
            elif step["language"] == "sh":
                self.command = [sys.executable, *shlex.split(step["code"])[1:]]
            else:
                place = (step["end"], None) if step["end"] else (step["file"], step["start"])

    def _text(self, file: str) -> str:
        return self.files.get(file) or (ROOT / file).read_text("utf-8")

    def _add(self, code: str, file: str, start: str | None) -> None:
        """Add code at the end, above the line that begins with a text, or in the table that begins there."""
        lines = self._text(file).splitlines()
        imports = re.findall(r"^from .+$", code, re.MULTILINE)
        added = re.sub(r"^from .+\n", "", code, flags=re.MULTILINE).strip("\n").splitlines()
        if start is None:
            lines += ["", "", *added]
        else:
            found = [number for number, line in enumerate(lines) if line.startswith(start)]
            assert len(found) == 1, f"{file} has {len(found)} lines that begin with {start!r}"
            is_table = lines[found[0]].endswith("{")
            position = found[0] + is_table
            lines[position:position] = added if is_table else [*added, "", ""]
        self.files[file] = _with_imports(lines, imports)

    def _export(self, names: list[str], source: str, package: str) -> None:
        module = source.removeprefix("src/").removesuffix(".py").replace("/", ".")
        before, start, after = self._text(package).partition("__all__ = [")
        assert start, f"{package} has no line '__all__ = ['"
        text = before + start + "".join(f'"{name}", ' for name in names) + after
        self.files[package] = _with_imports(text.splitlines(), [f"from {module} import {', '.join(names)}"])

    def write(self, root: Path) -> None:
        for file, text in self.files.items():
            (root / file).write_text(text, "utf-8")


def _with_imports(lines: list[str], imports: list[str]) -> str:
    """Return the text of a file with more imports, before its own."""
    body = ast.parse("\n".join(lines)).body
    own = (n for n in body if isinstance(n, ast.Import | ast.ImportFrom))
    first = next(n.lineno for n in own if not (isinstance(n, ast.ImportFrom) and n.module == "__future__"))
    text = "\n".join([*lines[: first - 1], *imports, *lines[first - 1 :], ""])
    ast.parse(text)
    return text


SECTIONS = {
    title: text
    for title, text in SECTION.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    if "```python" in text
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("title", SECTIONS)
def test_each_step_applies(title: str) -> None:
    replay = Replay(SECTIONS[title])
    assert replay.command[1:3] == ["-m", "pytest"]
    assert any(file.startswith("tests/") for file in replay.files)


def test_the_doors() -> None:
    assert list(SECTIONS) == [
        *("Add a layer", "Add a loss", "Add an optimiser", "Add a function of SciPy's"),
        *("Add a family of distributions", "Add a solver", "Add an operation"),
    ]


@pytest.mark.parametrize("title", SECTIONS)
def test_the_example_passes_its_tests(title: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "src", copy / "src")
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    replay = Replay(SECTIONS[title])
    replay.write(copy)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    environment["PYTHONPATH"] = str(copy / "src")
    command = [*replay.command, f"--basetemp={tmp_path / 'pytest'}", "-p", "no:cacheprovider"]
    ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\nx = 1\n```\n", "no file and place"),
        ("in `NOTHING` of `tests/nn/layers.py`:\n\n```python\n1\n```\n", "has 0 lines that begin with 'NOTH"),
    ],
)
def test_steps_that_do_not_apply(text: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        Replay(text)
