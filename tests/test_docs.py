"""The documentation tells the truth: its programs run, and print what it says they print."""

from __future__ import annotations

import contextlib
import doctest
import io
import linecache
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from wengert.app.cli import main

ROOT = Path(__file__).parents[1]
PAGES = {
    str(page.relative_to(ROOT)): page
    for page in (ROOT / "README.md", ROOT / "SECURITY.md", *sorted(ROOT.glob("docs/*.md")))
}
FENCE = re.compile(
    r"(?:<!-- no run: (?P<reason>[^\n]+?) -->\n+)?^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.M | re.S
)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(#[^)\s]*)?\)")


class Block(NamedTuple):
    """A program of a page and what it is said to print."""

    line: int
    program: str
    output: str


def blocks(text: str) -> list[Block]:
    """Return the programs of a page that are to be run; every ``text`` block must belong to one."""
    found: list[Block] = []
    waiting = 0  # where a text block would have to start to belong to the program before it
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start("body")) + 1
        directly = bool(waiting) and not text[waiting : fence.start()].strip()
        waiting = 0
        if fence["reason"]:
            continue
        if fence["language"] == "python":
            found.append(Block(line, fence["body"], ""))
            waiting = fence.end()
        elif fence["language"] == "text":
            assert directly, f"line {line}: this output follows no program"
            found[-1] = found[-1]._replace(output=fence["body"])
    return found


def with_programs() -> list[Any]:
    """Return the pages with programs; the quick run takes the README."""
    names = [name for name, page in PAGES.items() if blocks(page.read_text("utf-8"))]
    return [pytest.param(name, marks=[] if name == "README.md" else [pytest.mark.rest]) for name in names]


@pytest.fixture
def commands_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the command line of the pages' programs without a process each, which imports and compiles anew."""
    usual = subprocess.run

    def run(command: Sequence[str], **options: Any) -> Any:
        if [*command[:3]] != [sys.executable, "-m", "wengert"]:
            return usual(command, **options)
        monkeypatch.setattr(sys, "argv", ["wengert", *command[3:]])
        with (
            contextlib.redirect_stdout(io.StringIO()) as out,
            contextlib.redirect_stderr(io.StringIO()) as err,
            pytest.raises(SystemExit) as ended,
        ):
            main()
        code = ended.value.code
        return subprocess.CompletedProcess(command, int(code or 0), out.getvalue(), err.getvalue())

    monkeypatch.setattr(subprocess, "run", run)


@pytest.mark.usefixtures("commands_in_this_process")
@pytest.mark.parametrize("name", with_programs())
def test_programs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    checker = doctest.OutputChecker()
    for block in blocks(PAGES[name].read_text("utf-8")):
        code = compile(block.program, "example.py", "exec")
        # What is said of a reader's line is found in the file.
        lines = block.program.splitlines(keepends=True)
        linecache.cache["example.py"] = (len(block.program), None, lines, "example.py")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
        got = printed.getvalue()
        if not checker.check_output(block.output, got, doctest.ELLIPSIS):
            example = doctest.Example(block.program, block.output)
            difference = checker.output_difference(example, got, doctest.ELLIPSIS)
            pytest.fail(f"{name}, line {block.line}\n{block.program}\n{difference}", pytrace=False)


def anchors(page: Path) -> set[str]:
    """Return what GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text("utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str):
    page = PAGES[name]
    prose = FENCE.sub("", page.read_text("utf-8"))
    for target, anchor in LINK.findall(prose):
        linked = page.parent / target
        assert linked.exists(), target
        assert not anchor or anchor[1:] in anchors(linked), target + anchor


def test_what_is_not_run_is_left_out_and_the_rest_is_not():
    page = "```python\nprint(1)\n```\n\n```text\n1\n```\n<!-- no run: takes hours -->\n```python\nfail\n```\n"
    assert blocks(page) == [Block(2, "print(1)\n", "1\n")]
    with pytest.raises(AssertionError, match="line 6: this output follows no program"):
        blocks("```python\nprint(1)\n```\nWords between.\n```text\n1\n```\n")
