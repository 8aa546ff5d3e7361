"""Packages and programs that import autograd run unedited on `wengert.autograd`, and get autograd's numbers."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PROGRAMS = Path(__file__).parent / "programs"
RUN = """
import json, runpy, sys, warnings
warnings.simplefilter("ignore")
program, whose, path = sys.argv[1:]
if whose == "ours":
    import wengert.autograd
    wengert.autograd.install()
results = runpy.run_path(program)["RESULTS"]
import autograd
assert autograd.grad.__module__.startswith("wengert.") == (whose == "ours")
with open(path, "w") as file:
    json.dump(results, file, default=lambda array: array.tolist())
"""
#: The packages of each program, and how closely the optimisers of the package end at the same point.
PACKAGES = {
    "examples": ((), 1e-7),
    "lifelines": (("lifelines",), 1e-6),
    "pymanopt": (("pymanopt",), 1e-6),
    "reliability": (("reliability",), 1e-3),
    "surpyval": (("surpyval",), 1e-6),
}


def numbers(program: str, whose: str, folder: Path) -> Any:
    path = folder / f"{whose}.json"
    command = [sys.executable, "-c", RUN, str(PROGRAMS / f"{program}_program.py"), whose, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(path.read_text())


@pytest.mark.parametrize("program", PACKAGES)
def test_numbers(program: str, tmp_path: Path) -> None:
    """Derivatives agree to rounding, and estimates as closely as an optimiser ends."""
    packages, tolerance = PACKAGES[program]
    for package in ("autograd", *packages):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    with ThreadPoolExecutor() as pool:
        theirs, ours = pool.map(lambda whose: numbers(program, whose, tmp_path), ["theirs", "ours"])
    assert theirs.keys() == ours.keys()
    assert len(ours) >= 6
    for name, expected in theirs.items():
        exact = 1e-9 if name.startswith("derivatives") else tolerance
        assert len(ours[name]) == len(expected), name
        for got, number in zip(ours[name], expected, strict=True):
            scale = max(1.0, np.max(np.abs(np.asarray(number, float)), initial=0.0))
            np.testing.assert_allclose(got, number, rtol=exact, atol=exact * scale, err_msg=name)
