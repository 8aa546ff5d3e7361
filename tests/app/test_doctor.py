"""``wengert doctor``: what it says about an installation, and that it finds what does not work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import wengert as wg
from wengert.app import doctor
from wengert.app.cli import command


def test_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    ended = CliRunner().invoke(command, ["doctor"], standalone_mode=False)
    lines = dict(line.split(maxsplit=1) for line in ended.output.splitlines())
    assert ended.return_value == 0
    assert lines["wengert"].startswith(wg.__version__)
    assert f"numpy {np.__version__}" in lines["needs"]
    assert "vectors of" in lines["processor"]
    assert str(tmp_path / "cache") in lines["cache"] or lines["cache"].startswith("works")
    assert f"WENGERT_CACHE={tmp_path / 'cache'}" in lines["settings"]
    assert all(lines[name].startswith("works") for name in doctor._TESTS)
    assert not list((tmp_path / "cache").glob("doctor*"))


def test_a_cache_that_is_off_is_no_fault(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WENGERT_CACHE", "off")
    assert "cache       not used: WENGERT_CACHE is off" in [f"{a:<12}{text}" for a, text in doctor.facts()]
    doctor._kept()


def test_a_wrong_number_is_a_failure(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "_GRADIENT", np.array([5.5, 1.7]))
    said: list[str] = []
    assert doctor.run_doctor(said.append) == 1
    failed = [line for line in said if " failed: " in line]
    assert [line.split()[0] for line in failed] == ["derivatives", "compiler"]
    assert all("Not equal to tolerance" in line and "\n" not in line for line in failed)


def test_the_number_of_threads_stays():
    before = wg.get_threads()
    wg.set_threads(3)
    try:
        doctor._on_threads()
        assert wg.get_threads() == 3
    finally:
        wg.set_threads(before)
