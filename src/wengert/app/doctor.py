"""``wengert doctor``: the versions, the processor and the caches of this installation, and a test of it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert._version import __version__
from wengert.compiler.jit import jit
from wengert.compiler.llvm import disk_cache
from wengert.compiler.llvm.host import host
from wengert.compiler.runtime.threads.team import get_threads, set_threads
from wengert.engine.core.errors import WengertError
from wengert.engine.machine.target import available
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.jacobians import hessian
from wengert.engine.transforms.reverse_mode import grad

_NEEDED = ("numpy", "llvmlite", "click", "rich", "safetensors")
_USEFUL = (
    *("scipy", "matplotlib", "pillow", "scikit-learn", "onnx", "tensorboardX", "arviz"),
    *("mpi4py", "pyarrow", "zarr"),
)


class Fact(NamedTuple):
    """A line of the report: what it is about, and the text."""

    about: str
    text: str


class Check(NamedTuple):
    """A part of the test: what it tests, the seconds it took, and the problem; "" if there is none."""

    name: str
    seconds: float
    problem: str


def facts() -> Iterator[Fact]:
    """Yield the facts that a report of a fault should state about this installation."""
    yield Fact("wengert", f"{__version__} in {Path(__file__).parents[1]}")
    yield Fact("python", f"{platform.python_version()} in {sys.executable}")
    yield Fact("system", f"{platform.system()} {platform.release()} on {platform.machine()}")
    yield Fact("needs", ", ".join(_versions(_NEEDED)))
    yield Fact("extras", ", ".join(_versions(_USEFUL)) or "none")
    yield Fact("processor", _processor())
    yield Fact("threads", f"{get_threads()}; this process may use {available()} processors")
    yield Fact("cache", _cache())
    settings = [
        f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("WENGERT_")
    ]
    yield Fact("settings", ", ".join(settings) or "no variable WENGERT_... is set")


def _versions(packages: tuple[str, ...]) -> Iterator[str]:
    for package in packages:
        try:
            yield f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            continue


def _processor() -> str:
    target = host()
    caches = f"caches of {target.level1 >> 10} KiB and {target.level2 >> 10} KiB"
    fused = "with" if target.has_fma else "without"
    return f"{target.cpu}, vectors of {8 * target.vector_bytes} bits, {fused} fused multiply-add, {caches}"


def _cache() -> str:
    cache = disk_cache.default()
    if why := cache.why_unused():
        return f"not used: {why}"
    sizes = [size for _, size, _ in cache.entries()]
    return f"{cache.folder}, {len(sizes)} programs, {sum(sizes) / 1e6:.1f} of {cache.bound / 1e6:.0f} MB"


# -- the test --------------------------------------------------------------------------------------------


def _function(x: Any) -> Any:
    return np.log(x[0]) + x[0] * x[1] - np.sin(x[1])


_POINT = np.array([2.0, 5.0])
_GRADIENT = np.array([5.5, 2.0 - np.cos(5.0)])
_HESSIAN = np.array([[-0.25, 1.0], [1.0, np.sin(5.0)]])


def _agree(got: Any, wanted: Any) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def _eager() -> None:
    _agree(grad(_function)(_POINT), _GRADIENT)
    _agree(jvp(_function, (_POINT,), (np.array([0.0, 1.0]),))[1], _GRADIENT[1])
    _agree(hessian(_function)(_POINT), _HESSIAN)
    _agree(vmap(grad(_function))(np.stack([_POINT, _POINT])), [_GRADIENT, _GRADIENT])


def _compiled() -> None:
    _agree(jit(grad(_function))(_POINT), _GRADIENT)
    _agree(jit(hessian(_function))(_POINT), _HESSIAN)


def _on_threads() -> None:
    before = get_threads()
    x = np.linspace(-3.0, 3.0, 1 << 18)
    try:
        for threads in sorted({1, 2, before}):
            set_threads(threads)
            _agree(jit(grad(lambda x: np.sum(np.tanh(x) ** 2)))(x), 2 * np.tanh(x) / np.cosh(x) ** 2)
    finally:
        set_threads(before)


def _kept() -> None:
    cache = disk_cache.default()
    if cache.why_unused():
        return
    name = disk_cache.key("wengert doctor", str(time.time_ns()))
    cache.put(name, b"a program")
    if cache.get(name) != b"a program":
        raise OSError(f"what was written to {cache.folder} cannot be read again: is the disk full?")
    cache.remove(name)


_TESTS: dict[str, Callable[[], None]] = {
    "derivatives": _eager,
    "compiler": _compiled,
    "threads": _on_threads,
    "cache": _kept,
}


def checks() -> Iterator[Check]:
    """Test the installation part by part, and yield the results as they come."""
    for name, test in _TESTS.items():
        start = time.perf_counter()
        problem = ""
        try:
            test()
        except (AssertionError, WengertError, OSError, RuntimeError, ImportError) as error:
            problem = " ".join(str(error).split()) or type(error).__name__
        yield Check(name, time.perf_counter() - start, problem)


def run_doctor(echo: Callable[[str], object]) -> int:
    """Print the report; return 1 if a part of the test failed, else 0."""
    for about, text in facts():
        echo(f"{about:<12}{text}")
    failed = False
    for name, seconds, problem in checks():
        failed |= bool(problem)
        echo(f"{name:<12}{f'failed: {problem}' if problem else 'works'} ({seconds:.2f} s)")
    return int(failed)
