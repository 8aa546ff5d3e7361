"""The installed package: its imports, types and version."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import wengert

ROOT = Path(__file__).parents[1]


def test_import_loads_no_optional_dependency() -> None:
    script = "import sys, wengert; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    loaded = set(run.stdout.split())
    assert "wengert" in loaded
    optional = {"click", "rich", "llvmlite", "matplotlib", "PIL", "safetensors", "sklearn", "tensorboardX"}
    assert loaded.isdisjoint(optional)


def test_import_loads_neither_tables_of_quadrature_nor_processes_and_data() -> None:
    script = "import sys, numpy; before = {*sys.modules}; import wengert; print(*{*sys.modules} - before)"
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    late = ("numpy.polynomial", "wengert.parallel", "wengert.data", "concurrent.futures.process")
    assert not [name for name in run.stdout.split() if name.startswith(late)]


def test_names_that_load_later_are_listed() -> None:
    pytest.importorskip("sklearn")
    assert set(dir(wengert)) == {*wengert.__all__, "estimators", "predict", "report"}
    assert all(hasattr(wengert, name) for name in dir(wengert))


PACKAGES = {
    name.rpartition(".")[0] for name in json.loads((ROOT / "tests" / "public_names.json").read_text())
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("package", sorted(PACKAGES - {"wengert"}))
def test_packages_show_their_public_names_alone(package: str) -> None:
    module = pytest.importorskip(package, exc_type=ImportError)
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in dir(module))


def test_types_are_shipped() -> None:
    assert files("wengert").joinpath("py.typed").is_file()


def test_one_version_everywhere() -> None:
    assert f"\nversion: {wengert.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    changelog = (ROOT / "CHANGELOG.md").read_text()
    released, unreleased = f"\n## [{wengert.__version__}]", f"make version {wengert.__version__}"
    assert released in changelog or unreleased in changelog


def test_the_command_starts_with_versions_of_click_that_have_no_generic_types() -> None:
    script = "import click; click.ParamType.__class_getitem__ = None; import wengert.app.cli"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_the_lowest_versions_are_those_that_pyproject_states() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    command = [sys.executable, ROOT / "tools" / "lowest_versions.py", "test"]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    lowest = dict(line.split("==", 1) for line in run.stdout.splitlines())
    extras = project["optional-dependencies"]
    stated = [
        *project["dependencies"],
        *extras["test"],
        *(extras[name][0] for name in ("images", "plot", "sklearn")),
    ]
    for name, version in (requirement.split(">=") for requirement in stated if ">=" in requirement):
        assert lowest[name] == version
    assert {"llvmlite", "tensorboardX", "hypothesis"} <= lowest.keys()


def test_eager_transforms_need_numpy_alone() -> None:
    program = """
import sys
for name in ("llvmlite", "click", "rich", "safetensors", "scipy", "PIL", "matplotlib"):
    sys.modules[name] = None  # as if it were not installed
import runpy
import numpy as np
import wengert as wg

for name in set(wg.__all__):
    getattr(wg, name)
x = np.arange(3.0)
print(wg.grad(lambda x: np.sum(x**3))(x), wg.hessian(lambda x: np.sum(x**3))(x).sum())
print(wg.nn.tanh(wg.nn.Dense(3, 2, seed=0)(x)).shape)
for needs in (lambda: wg.jit(np.sin)(1.0), lambda: wg.train.save_model("model.safetensors", {"a": x})):
    try:
        needs()
    except wg.errors.MissingExtraError as error:
        print(str(error).partition(";")[0])
runpy.run_module("wengert", run_name="__main__")
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert run.stdout.splitlines() == [
        "[ 0.  3. 12.] 18.0",
        "(2,)",
        "compile: llvmlite is needed to compile, and is not installed",
        "storage: files of arrays need the package safetensors, which is not installed",
    ]
    said = "wengert: the command needs the package click, which is not installed; pip install click\n"
    assert (run.returncode, run.stderr) == (1, said)
