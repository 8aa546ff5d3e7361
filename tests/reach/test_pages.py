"""The programs of pages that need other packages, which `tests/test_docs.py` leaves out, print what they say."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
DOCS = Path(__file__).parents[2] / "docs"
_OUTPUT = r"(?:\n(?:<!-- no run: what it prints -->\n)?```text\n(.*?)^```)?"
PROGRAM = re.compile(
    rf"(?:<!-- no run: needs ([\w ]+) -->\n)?^```python\n(.*?)^```\n{_OUTPUT}",
    re.M | re.S,
)


@pytest.mark.parametrize("name", ["interop", "boost"])
def test_programs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for packages, program, output in PROGRAM.findall((DOCS / f"{name}.md").read_text("utf-8")):
        for package in packages.split():
            if importlib.util.find_spec(package) is None:
                pytest.skip(f"could not import {package!r}")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(program, f"{name}.md", "exec"), namespace)
        assert doctest.OutputChecker().check_output(output, printed.getvalue(), doctest.ELLIPSIS), (
            printed.getvalue()
        )
