"""The scientific programs: derivatives against differences, compiled programs against NumPy, and each program's run."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("scipy")
FOLDER = Path(__file__).parents[2] / "examples" / "science"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


#: Each derivative is compiled: the quick run takes every third program.
QUICK = [pytest.param(name, marks=[pytest.mark.slow] if i % 3 else []) for i, name in enumerate(PROGRAMS)]


@pytest.mark.parametrize("name", QUICK)
def test_derivatives_are_those_of_differences_and_compiled_is_eager(name: str):
    goal, arguments = load(name).case()
    wg.check_grads(goal, arguments, order=1)
    derivative = wg.value_and_grad(goal, argnums=tuple(range(len(arguments))))
    value, gradients = derivative(*arguments)
    assert value == pytest.approx(goal(*arguments), rel=1e-10)
    compiled_value, compiled_gradients = wg.jit(derivative)(*arguments)
    assert compiled_value == pytest.approx(value, rel=1e-9)
    for compiled, gradient in zip(compiled_gradients, gradients, strict=True):
        np.testing.assert_allclose(compiled, gradient, rtol=1e-7, atol=1e-9 * np.max(np.abs(gradient)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_import_numpy_and_scipy_alone(name: str):
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert "wengert." not in text
    assert 40 <= len(text.splitlines()) <= 130


def test_the_readme_names_every_program():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    missing = [name for name in PROGRAMS if f"({name}.py)" not in readme]
    assert not missing


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run_and_draw(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("matplotlib")
    picture = tmp_path / f"{name}.png"
    load(name).main(str(picture))
    assert capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
