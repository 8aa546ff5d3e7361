"""Use each part of an installed Wengert once, with each optional package, to check the installed versions.

    python tools/smoke.py [--without-extras]

It takes less than a minute, writes into a temporary folder, and prints the versions at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg

PACKAGES = (
    *("numpy", "llvmlite", "click", "rich", "safetensors"),
    *("pillow", "matplotlib", "scikit-learn", "tensorboardX"),
)


def derivatives() -> None:
    """Compare modes with one another and with a known derivative, eagerly and compiled."""
    x = np.linspace(0.1, 2.0, 7)

    def f(x: Any) -> Any:
        y = np.tanh(x) * x
        y[1:3] += 1.0
        return np.sum(y**2)

    np.testing.assert_allclose(wg.grad(f)(x), wg.jacfwd(f)(x))
    np.testing.assert_allclose(wg.jit(wg.hessian(f))(x), wg.hessian(f)(x))
    np.testing.assert_allclose(wg.jit(wg.vmap(wg.grad(np.sin)))(x), np.cos(x))


def memory() -> None:
    """Gather, scatter and stride over elements of each size: LLVM has special instructions for them."""
    indices, mask = np.array([6, 0, 3, 3, 5]), np.array([True, False, True, True, False, True, True])

    def f(x: Any) -> Any:
        y = np.where(mask, x, -x)[indices] * 2
        y[::2] = x[1:4]
        return y, x[::-3], np.sort(x), np.cumsum(x), x.T @ x

    for dtype in (np.float64, np.float32, np.float16, np.int64, np.int32, np.int8):
        x = np.arange(1, 8).astype(dtype)
        for compiled, expected in zip(wg.jit(f)(x), f(x), strict=True):
            np.testing.assert_array_equal(compiled, expected)


def command() -> None:
    """Train a network, report on its run and go on with it, from the command line."""
    assert "train" in _wengert("--help")
    assert "epoch 2" in _wengert("train", "mlp", "--limit", "600", "--epochs", "2", "--out", "run")
    assert "report.html" in _wengert("report", "run")
    assert "comparison.html" in _wengert("compare", "run")
    assert "epoch 3" in _wengert("train", "--resume", "run", "--epochs", "3")


def files() -> None:
    """Carry a function to C, to WebAssembly's text and to another process, and explore a program on a page."""
    exported = wg.export(wg.grad(lambda x: np.sum(np.tanh(x) ** 2)), np.ones(5))
    exported.c("program")
    assert "double" in Path("program.h").read_text("utf-8")
    np.testing.assert_allclose(
        wg.load(exported.save("program.wg"))(np.ones(5)), 2 * np.tanh(1) / np.cosh(1) ** 2
    )
    Path("explored.py").write_text("def f(x, y, z):\n    return (x + y) * z\n", "utf-8")
    _wengert("explore", "explored.py:f", "1.0", "2.0", "3.0", "--out", "explored.html")
    assert "return (x + y) * z" in Path("explored.html").read_text("utf-8")


def pictures() -> None:
    """Draw learning curves, write TensorBoard's files, and predict from a picture, from the command line."""
    from PIL import Image

    from wengert.data import digits

    _wengert("train", "mlp", "--limit", "600", "--epochs", "1", "--tensorboard", "--out", "drawn")
    assert Path("drawn/learning_curve.png").stat().st_size > 1000
    assert any(Path("drawn/tensorboard").iterdir())
    Image.fromarray(digits(1)[0][0]).save("digit.png")
    assert "%" in _wengert("predict", "drawn", "digit.png")


def estimator() -> None:
    """Fit a classifier with scikit-learn's interface."""
    from sklearn.model_selection import cross_val_score

    from wengert.estimators import Classifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    scores = cross_val_score(Classifier((8,), epochs=20, rate=0.01, random_state=0), X, X[:, 0] > 0, cv=2)
    assert scores.mean() > 0.9


def picture() -> None:
    """Draw a program."""
    wg.trace(lambda x: np.sin(x) * x)(1.0).draw("program.dot")
    assert "digraph" in Path("program.dot").read_text("utf-8")


def _wengert(*arguments: str) -> str:
    """Run the command and return its output."""
    script = Path(sys.executable).with_name("wengert")
    run = subprocess.run([script, *arguments], capture_output=True, text=True, timeout=300)
    if run.returncode:
        raise AssertionError(f"wengert {' '.join(arguments)}: {run.stdout}{run.stderr}")
    return run.stdout


PARTS: tuple[Callable[[], None], ...] = (derivatives, memory, command, files, picture)
PARTS_WITH_EXTRAS: tuple[Callable[[], None], ...] = (pictures, estimator)


def _versions() -> Iterator[str]:
    for name in PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            continue


def main(arguments: list[str]) -> None:
    """Run each part in an empty folder."""
    if arguments not in ([], ["--without-extras"]):
        raise SystemExit(__doc__)
    warnings.simplefilter("error", RuntimeWarning)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WENGERT_CACHE"] = os.path.join(folder, "cache")
        os.chdir(folder)
        for part in PARTS if arguments else (*PARTS, *PARTS_WITH_EXTRAS):
            part()
            print(f"{part.__name__} works", flush=True)
        os.chdir("/")
    print(f"Python {sys.version.split()[0]}", *_versions(), sep=", ")


if __name__ == "__main__":
    main(sys.argv[1:])
