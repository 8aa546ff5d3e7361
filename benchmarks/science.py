"""Print how long the scientific programs of `examples/science` take to compile, and to run eagerly and compiled.

Each program's `case()` is differentiated in all its arguments. The first call traces and compiles it, without
the cache on disk; the fastest of some tries counts. The command fails if one of them takes longer than the
limit.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wengert as wg

FOLDER = Path(__file__).parents[1] / "examples" / "science"
LIMIT = 1.5
"""Seconds of a first call."""
ADAPTIVE = {"orbit_determination": 6.0, "stiff_kinetics": 4.0}
"""The same through `solve_ivp`, whose step holds all stages and interpolation with their derivatives."""


def load(name: str) -> Any:
    """Return a program as a module."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def duration(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measure(name: str, tries: int) -> tuple[float, float, float]:
    """Return the seconds of a first call, of an eager call and of a compiled call."""
    goal, arguments = load(name).case()
    derivative = wg.value_and_grad(goal, argnums=tuple(range(len(arguments))))
    first = []
    for _ in range(tries):
        compiled = wg.jit(derivative)
        first.append(duration(lambda compiled=compiled: compiled(*arguments)))
    eager = min(duration(lambda: derivative(*arguments)) for _ in range(10))
    return min(first), eager, min(duration(lambda: compiled(*arguments)) for _ in range(10))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs; all by default")
    parser.add_argument("--tries", type=int, default=3, help="how often to compile each program")
    options = parser.parse_args()
    os.environ["WENGERT_CACHE"] = "off"
    wg.jit(abs)(1.0)  # imports the compiler
    slow: list[str] = []
    print(f"{'program':26}{'first call':>12}{'eager':>12}{'compiled':>12}")
    for name in options.names or sorted(path.stem for path in FOLDER.glob("*.py")):
        first, eager, compiled = measure(name, options.tries)
        print(f"{name:26}{first:10.2f} s{1e3 * eager:9.2f} ms{1e3 * compiled:9.3f} ms", flush=True)
        slow += [name] if first > ADAPTIVE.get(name, LIMIT) else []
    if slow:
        sys.exit(f"more than {LIMIT} s, or the limit of adaptive steps: {', '.join(slow)}")


if __name__ == "__main__":
    main()
