"""The package as installed: what importing it loads, its types, its version."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import wengert

ROOT = Path(__file__).parents[1]


def test_import_loads_no_optional_dependency() -> None:
    script = "import sys, wengert; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    loaded = set(run.stdout.split())
    assert "wengert" in loaded
    optional = {"click", "rich", "llvmlite", "matplotlib", "PIL", "safetensors", "sklearn", "tensorboardX"}
    assert loaded.isdisjoint(optional)


def test_names_that_load_later_are_listed() -> None:
    assert dir(wengert) == sorted(wengert.__all__)
    assert dir(wengert.special) == sorted(wengert.special.__all__)
    assert all(hasattr(wengert, name) for name in dir(wengert))


def test_types_are_shipped() -> None:
    assert files("wengert").joinpath("py.typed").is_file()


def test_one_version_everywhere() -> None:
    assert f"\nversion: {wengert.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## [{wengert.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
