"""The archives of a release: what the wheel holds, how they are checked, and the recipe for conda-forge."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import release

from wengert import __version__

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
RECIPE = (ROOT / "recipe" / "recipe.yaml").read_text("utf-8")


def test_the_wheel_holds_the_package_and_nothing_else(tmp_path: Path):
    pytest.importorskip("hatchling")
    pytest.importorskip("hatch_fancy_pypi_readme")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.iterdir()
    assert wheel.name == f"wengert-{__version__}-py3-none-any.whl"
    files = release.files_of_wheel(wheel)
    assert {"wengert/py.typed", "wengert/explorer/page.html", "wengert/explorer/evaluate.js"} <= files.keys()
    assert {"wengert/report/style.css", "wengert/engine/kernels/tables.json"} <= files.keys()
    assert list(release.problems_of_wheel(files, release.package())) == []


METADATA = {
    "w.dist-info/LICENSE": b"",
    "w.dist-info/entry_points.txt": b"",
    "w.dist-info/METADATA": b"[a](https://b/c.md)",
}
GOOD = {"wengert/__init__.py": b"1", **METADATA}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (METADATA, "wengert/__init__.py is missing"),
        (GOOD | {"wengert/__init__.py": b"2"}, "wengert/__init__.py differs from the tree"),
        (GOOD | {"tests/data.npy": b""}, "tests/data.npy does not belong there"),
        ({"wengert/__init__.py": b"1", "w.dist-info/METADATA": b""}, "the metadata lack LICENSE"),
        (GOOD | {"w.dist-info/METADATA": b"[a](docs/b.md)"}, "the readme has the relative link docs/b.md"),
        (
            GOOD | {"w.dist-info/x": bytes(2 << 20)},
            "w.dist-info/x has 2097152 bytes: an archive holds no data",
        ),
    ],
)
def test_problems_of_wheels(files: dict[str, bytes], problem: str):
    expected = {"wengert/__init__.py": b"1"}
    assert list(release.problems_of_wheel(GOOD, expected)) == []
    assert problem in list(release.problems_of_wheel(files, expected))


def test_problems_of_source_archives():
    names = ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "PKG-INFO")
    good = dict.fromkeys((*names, "src/wengert/py.typed", "tests/conftest.py"), b"")
    assert list(release.problems_of_source(good)) == []
    bad = good | {"runs/a/model.safetensors": b"", "docs/big.npy": bytes(2 << 20)}
    del bad["LICENSE"]
    assert list(release.problems_of_source(bad)) == [
        "LICENSE is missing",
        "runs/a/model.safetensors does not belong there",
        "docs/big.npy has 2097152 bytes: an archive holds no data",
    ]


def test_each_python_gets_the_newest_versions_and_the_lowest_python_the_lowest():
    pythons = [Path("python3.11"), Path("python3.14")]
    tried = [
        (str(where.python), bool(where.extras), where.is_lowest) for where in release.environments(pythons)
    ]
    assert tried == [
        ("python3.11", False, False),
        ("python3.11", False, True),
        ("python3.11", True, False),
        ("python3.11", True, True),
        ("python3.14", False, False),
        ("python3.14", True, False),
    ]


def test_versions_of_python_that_are_not_here_are_refused():
    known = list(release.environments([Path("python3.11"), Path("python3.14")]))
    assert release.wanted(None, known) == known
    assert [where.extras for where in release.wanted(["3.14"], known)] == [(), release.EXTRAS]
    with pytest.raises(SystemExit, match=r"no Python 3\.99 here makes environments; found: 3\.11, 3\.14"):
        release.wanted(["3.14", "3.99"], known)
    with pytest.raises(SystemExit, match="no Python of a supported version"):
        release.wanted(None, [])


def test_the_extras_of_the_trial_exist():
    assert set(release.EXTRAS) <= PYPROJECT["project"]["optional-dependencies"].keys()


# -- the recipe ------------------------------------------------------------------------------------------


def requirements(kind: str) -> dict[str, str]:
    """Return the packages of a list of the recipe, with their bounds."""
    lines = re.search(rf"^  {kind}:\n((?:    - .*\n)+)", RECIPE, re.M)
    assert lines
    parts = [line.removeprefix("    - ").partition(" ") for line in lines[1].splitlines()]
    return {name: bound for name, _, bound in parts}


def stated(texts: list[str]) -> dict[str, str]:
    """Return the packages of a list of pyproject.toml, with their bounds."""
    parts = [re.fullmatch(r"([\w-]+)(.*)", text) for text in texts]
    return {part[1]: part[2] for part in parts if part}


def test_the_recipe_has_the_bounds_of_the_project():
    project = PYPROJECT["project"]
    assert requirements("run") == {"python": ">=${{ python_min }}", **stated(project["dependencies"])}
    assert requirements("host") == {
        "python": "${{ python_min }}.*",
        "pip": "",
        **stated(PYPROJECT["build-system"]["requires"]),
    }
    assert f'python_min: "{project["requires-python"].removeprefix(">=")}"' in RECIPE
    (entry,) = project["scripts"].items()
    assert f"- {entry[0]} = {entry[1]}\n" in RECIPE
    assert f"summary: {project['description']}\n" in RECIPE
    assert f"license: {project['license']}\n  license_file: LICENSE\n" in RECIPE


def test_the_recipe_has_the_version():
    assert f'version: "{__version__}"\n' in RECIPE


def test_the_recipe_of_a_release_has_its_archive():
    released = release.released_recipe(RECIPE, "0" * 64)
    assert released.startswith("schema_version: 1\n")
    assert f"source:\n  url: {release.ADDRESS}\n  sha256: {'0' * 64}\n\nbuild:\n" in released
    assert "path:" not in released
    assert released.endswith(RECIPE.partition("path: ..\n")[2])
