"""The site has a folder of each version, and a menu and a start page that know them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "tools"))

import build_site

import wengert


def pages(site: Path, *names: str) -> None:
    for name in names:
        (site / name).mkdir()
        (site / name / "index.html").touch()


def listed(site: Path) -> list[str]:
    build_site.list_versions(site)
    return json.loads((site / "versions.js").read_text("utf-8").partition(" = ")[2].rstrip(";\n"))


def test_the_newest_release_comes_first_and_the_start_page_leads_to_it(tmp_path: Path):
    pages(tmp_path, "0.9", "dev", "0.10", "1.0")
    (tmp_path / "_other").mkdir()
    assert listed(tmp_path) == ["1.0", "0.10", "0.9", "dev"]
    assert set(re.findall(r"[\w.]+/index\.html", (tmp_path / "index.html").read_text())) == {"1.0/index.html"}


def test_before_the_first_release_the_start_page_leads_to_the_version_in_work(tmp_path: Path):
    pages(tmp_path, "dev")
    assert listed(tmp_path) == ["dev"]
    assert "url=dev/index.html" in (tmp_path / "index.html").read_text()


def test_a_tagged_commit_is_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    git("commit", "--allow-empty", "-m", "A commit")
    monkeypatch.setattr(build_site, "ROOT", tmp_path)
    assert build_site.tag() is None
    git("tag", "v0.0.1")
    assert build_site.tag() is None
    git("tag", f"v{wengert.__version__}")
    assert build_site.tag() == f"v{wengert.__version__}"


def test_links_of_a_release_lead_to_its_tag():
    assert build_site.settings("dev")["html_theme_options.source_branch"] == "main"
    settings = build_site.settings(build_site.folder_of(wengert.__version__))
    assert settings["html_theme_options.source_branch"] == f"v{wengert.__version__}"
