"""The derivatives by Wengert, JAX, PyTorch and autograd at kinks and singular points.

It needs all four libraries: `pip install -e . -r benchmarks/requirements-peers.txt`, then
`python benchmarks/kinks.py`; with `--write` the table in docs/numpy.md is replaced.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tables import replace_table

import wengert as wg


class Library(NamedTuple):
    """A library: its functions under NumPy's names, and its gradient of a scalar function of one array."""

    name: str
    functions: Any
    gradient: Callable[[Callable[[Any], Any], Any], Any]
    tangent: Callable[[Callable[[Any], Any], Any, Any], Any] | None = None


class Functions:
    """A library's functions under NumPy's names, in a module and elsewhere."""

    def __init__(self, module: Any, **more: Any) -> None:
        self.module = module
        self.more = more

    def __getattr__(self, name: str) -> Any:
        return self.more.get(name) or getattr(self.module, name)


WENGERT = Library(
    "Wengert",
    Functions(np, relu=lambda x: wg.nn.relu(x), first_sorted=lambda x: np.sort(x)[0]),
    lambda f, x: wg.grad(f)(x),
    lambda f, x, v: wg.jvp(f, (x,), (v,))[1],
)

Program = Callable[[Any, Any], Any]
#: The functions, and the points.
KINKS: dict[str, tuple[Program, Any]] = {
    "`abs(x)` at 0": (lambda xp, x: xp.abs(x), 0.0),
    "`maximum(x, 0)` at 0": (lambda xp, x: xp.maximum(x, 0.0), 0.0),
    "`relu(x)` at 0": (lambda xp, x: xp.relu(x), 0.0),
    "`clip(x, 0, 1)` at 0": (lambda xp, x: xp.clip(x, 0.0, 1.0), 0.0),
    "`max(x)` at (3, 3, 1)": (lambda xp, x: xp.max(x), [3.0, 3.0, 1.0]),
    "`sort(x)[0]` at (3, 3)": (lambda xp, x: xp.first_sorted(x), [3.0, 3.0]),
    "`norm(x)` at (0, 0)": (lambda xp, x: xp.linalg.norm(x), [0.0, 0.0]),
    "`std(x)` at (1, 1)": (lambda xp, x: xp.std(x), [1.0, 1.0]),
    "`hypot(x, 0 * x)` at 0": (lambda xp, x: xp.hypot(x, 0.0 * x), 0.0),
    "`arctan2(x, 0 * x)` at 0": (lambda xp, x: xp.arctan2(x, 0.0 * x), 0.0),
    "`sqrt(x)` at 0": (lambda xp, x: xp.sqrt(x), 0.0),
    "`log(x)` at 0": (lambda xp, x: xp.log(x), 0.0),
    "`arcsin(x)` at 1": (lambda xp, x: xp.arcsin(x), 1.0),
    "`x ** 0.5` at 0": (lambda xp, x: x**0.5, 0.0),
    "`x ** 0.0` at 0": (lambda xp, x: x**0.0, 0.0),
    "`prod(x)` at (0, 2, 3)": (lambda xp, x: xp.prod(x), [0.0, 2.0, 3.0]),
    "`x % 1` at 1": (lambda xp, x: x % 1.0, 1.0),
    "`sqrt(x * x)` at 0": (lambda xp, x: xp.sqrt(x * x), 0.0),
    "`sqrt(x) * 0` at 0": (lambda xp, x: xp.sqrt(x) * 0.0, 0.0),
    "`sqrt(x) ** 2` at 0": (lambda xp, x: xp.sqrt(x) ** 2, 0.0),
    "`sqrt(abs(x))` at 0": (lambda xp, x: xp.sqrt(xp.abs(x)), 0.0),
    "`sqrt(maximum(x, 0))` at -1": (lambda xp, x: xp.sqrt(xp.maximum(x, 0.0)), -1.0),
    "`where(x > 0, sqrt(x), x)` at 0": (lambda xp, x: xp.where(x > 0, xp.sqrt(x), x), 0.0),
    "`where(x > 0, x log(x), 0 x)` at 0": (lambda xp, x: xp.where(x > 0, x * xp.log(x), 0.0 * x), 0.0),
}


def shown(value: Any) -> str:
    numbers = [f"{0.0 + round(float(number), 3):g}" for number in np.ravel(value)]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"


def slope(library: Library, program: Program, at: Any) -> str:
    """Return the text of the gradient, with that of forward mode where it differs; a dash where the library fails."""

    def f(x: Any) -> Any:
        return program(library.functions, x)

    x = np.array(at) if isinstance(at, list) else np.float64(at)
    try:
        with np.errstate(all="ignore"):
            reverse = library.gradient(f, x)
            if reverse is None:
                return "-"
            if library.tangent is None:
                return shown(reverse)
            directions = np.eye(x.size) if isinstance(x, np.ndarray) else [np.float64(1.0)]
            forward = [library.tangent(f, x, direction) for direction in directions]
    except (AttributeError, NotImplementedError, TypeError, ValueError, RuntimeError):
        return "-"
    texts = shown(reverse), shown(forward)
    return texts[0] if texts[0] == texts[1] else f"{texts[0]}; forward {texts[1]}"


def table() -> str:
    from kink_peers import PEERS  # needed here only

    libraries = (WENGERT, *PEERS)
    lines = [f"| | {' | '.join(library.name for library in libraries)} |", f"|---|{'---|' * len(libraries)}"]
    for name, (program, at) in KINKS.items():
        cells = [slope(library, program, at) for library in libraries]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the table in docs/numpy.md")
    options = parser.parse_args()
    text = table()
    print(text)
    if options.write:
        replace_table("numpy.md", "kinks", text)


if __name__ == "__main__":
    main()
