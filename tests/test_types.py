"""Types: a checker finds wrong arguments of a user's program, and nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wengert as wg

PROGRAM = '''"""A fit of a curve, as a user writes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import wengert as wg

Vector = NDArray[np.float64]


@dataclass
class Curve:
    """The parameters of a decaying curve."""

    height: float
    rate: float


def curve(parameters: Curve, t: Vector) -> Vector:
    """Return the curve at some times."""
    return parameters.height * np.exp(-parameters.rate * t)


def loss(parameters: Curve, t: Vector, y: Vector) -> float:
    """Return the mean square of the residuals."""
    return float(np.mean((curve(parameters, t) - y) ** 2))


def valley(x: Vector) -> float:
    """Return the function of Rosenbrock."""
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


def cube(x: float) -> float:
    """Return the cube of a number."""
    return x**3


@wg.jit
def step(parameters: Curve, t: Vector, y: Vector) -> Curve:
    """Return the parameters after a step of gradient descent."""
    slope = wg.grad(loss)(parameters, t, y)
    return Curve(parameters.height - 0.1 * slope.height, parameters.rate - 0.1 * slope.rate)


times = np.linspace(0.0, 1.0, 20)
values = np.exp(-2.0 * times)
start = Curve(1.0, 1.0)
number: float = wg.grad(cube)(2.0)
second: float = wg.grad(wg.grad(cube))(2.0)
value, slopes = wg.value_and_grad(loss)(start, times, values)
after: Curve = step(start, times, values)
squares: Vector = wg.vmap(np.square)(times)
slopes_of_tanh = wg.vmap(wg.grad(np.tanh))(times)
matrix = wg.jacobian(curve)(start, times)
curvature = wg.hessian(valley)(times)
result = wg.optimize.minimize(valley, times)
print(number, second, value, slopes, after, squares.shape, slopes_of_tanh, matrix, curvature, result.x)
'''
WRONG = """
wg.grad(loss)(start, times)
wg.grad(cube)("2.0")
wg.value_and_grad(loss)(1.0, times, values)
wg.jacobian(curve)(start)
wg.hessian(valley)(1.0, 2.0)
wg.vmap(np.square)()
wg.jit(loss)(start, times, "y")
wg.optimize.minimize(valley, "start")
step(1.0, times, values)
"""


@pytest.mark.slow
def test_a_checker_finds_the_wrong_arguments_alone(tmp_path: Path) -> None:
    pytest.importorskip("pyright")
    (tmp_path / "fit.py").write_text(PROGRAM + WRONG)
    settings = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(Path(wg.__file__).parents[1])],
        "reportMissingTypeStubs": False,
        "reportUnusedCallResult": False,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "-p", ".", "--pythonpath", sys.executable]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ))
    first = PROGRAM.count("\n") + 2
    lines = {int(number) for number in re.findall(r"fit\.py:(\d+):\d+ - error", ended.stdout)}
    assert lines == set(range(first, first + WRONG.strip().count("\n") + 1)), ended.stdout
