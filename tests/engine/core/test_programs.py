"""Python files of a user, run as modules."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from wengert.engine.core.programs import ProgramError, UnreadableError, compiled, importing_from, run


def load(folder: Path) -> object:
    with importing_from([folder]):
        return run(compiled(folder / "program.py"))


def test_programs_of_two_folders_have_their_own_imports(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "helper.py").write_text(f"NAME = {name!r}")
        (tmp_path / name / "program.py").write_text("from helper import NAME")
    before = list(sys.path)
    assert [load(tmp_path / name).NAME for name in ("one", "two", "one")] == ["one", "two", "one"]
    assert sys.path == before
    assert not list(tmp_path.rglob("__pycache__"))


def test_dataclasses_of_a_program_resolve_their_annotations(tmp_path):
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n\n@dataclass\nclass A:\n    x: float"
    (tmp_path / "program.py").write_text(text)
    assert load(tmp_path).A(2.0).x == 2.0


def test_what_is_wrong_with_a_file_is_told(tmp_path):
    with pytest.raises(UnreadableError, match=r"program.py cannot be read: No such file"):
        load(tmp_path)
    (tmp_path / "program.py").write_text("def f(:")
    with pytest.raises(ProgramError, match=r"program.py is not valid Python: "):
        load(tmp_path)
    (tmp_path / "program.py").write_text("raise KeyError('mine')")
    with pytest.raises(KeyError, match="mine"):
        load(tmp_path)
