"""The nonlinear regressions of NIST's Statistical Reference Datasets, with their certified values.

The files of the data are part of the source of the package lmfit 1.3.4, which `files` gets from the package index.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Regression(NamedTuple):
    """Data, two starts, and the certified parameters with their standard errors."""

    name: str
    starts: tuple[Any, Any]
    parameters: Any
    errors: Any
    y: Any
    x: Any
    """The predictor; of several ones, a row for each."""


def _exponentials(x: Any, *b: Any) -> Any:
    return sum(b[k] * np.exp(-b[k + 1] * x) for k in range(0, len(b), 2))


def _gauss(x: Any, b1: Any, b2: Any, b3: Any, b4: Any, b5: Any, b6: Any, b7: Any, b8: Any) -> Any:
    bells = b3 * np.exp(-((x - b4) ** 2) / b5**2) + b6 * np.exp(-((x - b7) ** 2) / b8**2)
    return b1 * np.exp(-b2 * x) + bells


def _cubic(x: Any, b1: Any, b2: Any, b3: Any, b4: Any, b5: Any, b6: Any, b7: Any) -> Any:
    return (b1 + b2 * x + b3 * x**2 + b4 * x**3) / (1 + b5 * x + b6 * x**2 + b7 * x**3)


def _enso(x: Any, b1: Any, b2: Any, b3: Any, b4: Any, b5: Any, b6: Any, b7: Any, b8: Any, b9: Any) -> Any:
    year, first, second = (2 * np.pi * x / period for period in (12, b4, b7))
    waves = b5 * np.cos(first) + b6 * np.sin(first) + b8 * np.cos(second) + b9 * np.sin(second)
    return b1 + b2 * np.cos(year) + b3 * np.sin(year) + waves


def _lanczos(x: Any, b1: Any, b2: Any, b3: Any, b4: Any, b5: Any, b6: Any) -> Any:
    return _exponentials(x, b1, b2, b3, b4, b5, b6)


def _saturation(x: Any, b1: Any, b2: Any) -> Any:
    return b1 * (1 - np.exp(-b2 * x))


def _chwirut(x: Any, b1: Any, b2: Any, b3: Any) -> Any:
    return np.exp(-b1 * x) / (b2 + b3 * x)


MODELS: dict[str, Callable[..., Any]] = {
    "Bennett5": lambda x, b1, b2, b3: b1 * (b2 + x) ** (-1 / b3),
    "BoxBOD": _saturation,
    "Chwirut1": _chwirut,
    "Chwirut2": _chwirut,
    "DanWood": lambda x, b1, b2: b1 * x**b2,
    "ENSO": _enso,
    "Eckerle4": lambda x, b1, b2, b3: b1 / b2 * np.exp(-0.5 * ((x - b3) / b2) ** 2),
    "Gauss1": _gauss,
    "Gauss2": _gauss,
    "Gauss3": _gauss,
    "Hahn1": _cubic,
    "Kirby2": lambda x, b1, b2, b3, b4, b5: (b1 + b2 * x + b3 * x**2) / (1 + b4 * x + b5 * x**2),
    "Lanczos1": _lanczos,
    "Lanczos2": _lanczos,
    "Lanczos3": _lanczos,
    "MGH09": lambda x, b1, b2, b3, b4: b1 * (x**2 + x * b2) / (x**2 + x * b3 + b4),
    "MGH10": lambda x, b1, b2, b3: b1 * np.exp(b2 / (x + b3)),
    "MGH17": lambda x, b1, b2, b3, b4, b5: b1 + b2 * np.exp(-x * b4) + b3 * np.exp(-x * b5),
    "Misra1a": _saturation,
    "Misra1b": lambda x, b1, b2: b1 * (1 - (1 + b2 * x / 2) ** -2.0),
    "Misra1c": lambda x, b1, b2: b1 * (1 - (1 + 2 * b2 * x) ** -0.5),
    "Misra1d": lambda x, b1, b2: b1 * b2 * x / (1 + b2 * x),
    "Nelson": lambda x, b1, b2, b3: b1 - b2 * x[0] * np.exp(-b3 * x[1]),
    "Rat42": lambda x, b1, b2, b3: b1 / (1 + np.exp(b2 - b3 * x)),
    "Rat43": lambda x, b1, b2, b3, b4: b1 / (1 + np.exp(b2 - b3 * x)) ** (1 / b4),
    "Roszman1": lambda x, b1, b2, b3, b4: b1 - b2 * x - np.arctan(b3 / (x - b4)) / np.pi,
    "Thurber": _cubic,
}


def files(folder: Path) -> Path:
    """Return the folder of the data, in the source of lmfit, which pip gets from the package index."""
    if not list(folder.glob("lmfit-*.tar.gz")):
        call = [sys.executable, "-m", "pip", "download", "lmfit==1.3.4", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*call, "--no-build-isolation", "-q", "-d", str(folder)], check=True)
    (archive,) = folder.glob("lmfit-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, [m for m in opened.getmembers() if "/NIST_STRD/" in m.name], filter="data")
    return next(folder.glob("lmfit-*/NIST_STRD"))


def read(path: Path) -> Regression:
    """Read one of NIST's files."""
    lines = path.read_text("latin-1").splitlines()
    rows = [re.split(r"\s+", line.split("=")[1].strip()) for line in lines if re.match(r"\s*b\d+\s*=", line)]
    table = np.array(rows, float).T
    begin, end = map(int, re.search(r"Data\s+\(lines (\d+) to\s+(\d+)\)", "\n".join(lines[:10])).groups())  # type: ignore[union-attr]
    data = np.array([line.split() for line in lines[begin - 1 : end]], float).T
    y, x = (np.log(data[0]), data[1:]) if path.stem == "Nelson" else (data[0], data[1])
    return Regression(path.stem, (table[0], table[1]), table[2], table[3], y, x)


def digits(found: Any, certified: Any) -> float:
    """Return how many digits of certified values are found, at most 11: they have no more."""
    shares = np.abs(np.asarray(found) - certified) / np.abs(certified)
    return float(np.clip(-np.log10(np.maximum(np.max(shares), 1e-16)), 0.0, 11.0))


ROUNDED = {"Lanczos1"}
"""Its residuals are 9e-14 of data near 2.5: numbers of double precision leave three digits of the standard errors."""
