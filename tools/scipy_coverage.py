"""Try the public functions of SciPy's modules inside `grad`, `jit` and `vmap`, and write ``docs/scipy_coverage.md``.

A call of ``scipy_calls.txt`` stands for a function, or else the first of some general calls that SciPy accepts: of a
number, a vector, a matrix, two of them, and so on; a family of distributions stands for its density. The function works
if value and slope agree with SciPy's and with differences in all three. What raises an error of Wengert's is refused,
for the reason that the page shows. What has no derivative is listed in ``scipy_calls.txt``, or returns no floating
numbers.

Usage: ``python tools/scipy_coverage.py [--write] [--only MODULE ...]``
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import re
import signal as signals
import sys
import types
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import numpy_coverage as numpys
import scipy
from scipy import (
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    special,
    stats,
)

import wengert as wg
from wengert.errors import WengertError

PAGE = Path(__file__).parents[1] / "docs" / "scipy_coverage.md"
CALLS = Path(__file__).with_name("scipy_calls.txt")
MODULES = {
    module.__name__.partition(".")[2]: module
    for module in (
        special,
        stats,
        linalg,
        signal,
        interpolate,
        integrate,
        optimize,
        sparse,
        fft,
        ndimage,
        spatial,
    )
}
#: Arguments that are tried in turn: the samples of numpy_coverage, and a positive number P.
_GENERAL = (
    "s", "v", "S", "s, P", "v, w", "P, s", "S, w[:3]", "A, B", "x", "2, s", "s, 2", "v, 3", "x, 3", "x, 1.5", "A, B, S",
    "P, P + 1, s", "2, 1.5, s", "P, P, P + 1, s", "2, 1.0, 1.0, s", "[v, w]", "v, w, 2 * v", "x, y",
)  # fmt: skip
_STATES = {
    "works": "works in `grad`, `jit` and `vmap`",
    "grad": "works in `grad` alone",
    "refused": "refused with a reason",
    "smooth": "no derivative to have",
    "untried": "no call yet",
    "wrong": "wrong",
}


@dataclass(frozen=True)
class Outcome:
    """What happened to a function: the state, the call, and the words of an error."""

    name: str
    state: str
    text: str = ""
    words: str = ""


def entries() -> tuple[dict[str, str], dict[str, str]]:
    """Return the calls of functions, and the reasons of those without a derivative, by full names."""
    calls: dict[str, str] = {}
    reasons: dict[str, str] = {}
    reason = ""
    for line in CALLS.read_text("utf-8").splitlines():
        if line.startswith("-- "):
            reason = line[3:]
        elif line and line[0] != "#":
            name, separator, call = line.partition(": ")
            if separator:
                calls[name] = call
            else:
                reasons.update(dict.fromkeys(line.split(), reason))
    return calls, reasons


def public(module: Any) -> list[str]:
    """Return the names of the functions, classes and families of a module."""
    return [
        name
        for name in sorted(set(getattr(module, "__all__", dir(module))))
        if name[0] != "_"
        and callable(value := getattr(module, name, None))
        and not isinstance(value, types.ModuleType)
        and not (isinstance(value, type) and issubclass(value, (Exception, Warning)))
    ]


def programs(
    module: str, name: str, given: str | None
) -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:
    """Yield calls of a function as texts and programs of the samples that a transform follows, which are given."""
    found = numpys.samples(0) | {"P": np.array(1.3)}
    value = getattr(MODULES[module], name)
    texts = [given] if given else [f"{module}.{name}({arguments})" for arguments in _GENERAL]
    is_family = isinstance(value, (stats.rv_continuous, stats.rv_discrete))
    if is_family and not given:
        function = "logpdf" if isinstance(value, stats.rv_continuous) else "logpmf"
        shapes, texts = _shapes(name), list[str]()
        with contextlib.suppress(Exception):
            point = float(value.ppf(0.6, *shapes))
            followed = ", ".join(
                f"{shape} + 0 * s" if shape != round(shape) else str(shape) for shape in shapes
            )
            moved = "" if function == "logpmf" else " + 1e-3 * s"
            texts.append(f"stats.{name}.{function}({point!r}{moved}{', ' if followed else ''}{followed})")
    for text in texts:
        names = sorted(
            n for n in found if re.search(rf"(?<![\w.\"']){n}\b(?!\s*=[^=])", text.partition("(")[2])
        )
        if names:
            source = f"lambda {', '.join(names)}: {text}"
            yield text, eval(source, dict(MODULES, np=np, scipy=scipy, wg=wg)), [found[n] for n in names]


def _shapes(name: str) -> list[float]:
    from scipy.stats import _distr_params

    for known, shapes in (*_distr_params.distcont, *_distr_params.distdiscrete):
        if known == name:
            return [float(s) for s in np.ravel(np.array(shapes, object))]
    return []


def _real(result: Any) -> list[Any]:
    """Return the finite floating parts of a result, of complex numbers both."""
    parts: list[Any] = []
    for leaf in numpys.leaves(result):
        kind = getattr(getattr(leaf, "dtype", None), "kind", "f" if isinstance(leaf, float) else "")
        parts += [leaf] if kind == "f" else [leaf.real, leaf.imag] if kind == "c" else []
    return parts


def attempt(text: str, program: Callable[..., Any], arguments: list[Any]) -> Outcome | None:
    """Try a program in each mode; None where SciPy itself refuses the call, or gives no finite number."""
    positions = tuple(range(len(arguments)))

    def loss(*values: Any) -> Any:
        return sum(np.sum(part * (0.7 + 0.1 * place)) for place, part in enumerate(_real(program(*values))))

    rng = np.random.default_rng(0)
    moves = [rng.uniform(-1.0, 1.0, np.shape(value)) for value in arguments]

    def moved(distance: float) -> float:
        return float(loss(*(value + distance * move for value, move in zip(arguments, moves, strict=True))))

    try:
        result = program(*map(np.array, arguments))
        numbers = _real(result)
        if not numbers:
            is_whole = any(
                getattr(leaf, "dtype", np.dtype("O")).kind in "biu" for leaf in numpys.leaves(result)
            )
            return Outcome(text, "smooth", text, "its results are whole numbers") if is_whole else None
        value = moved(0.0)
        # A search with a tolerance shows its rounding in the shorter step.
        differences = [(moved(step) - moved(-step)) / (2 * step) for step in (1e-6, 1e-4)]
        if not np.isfinite([value, *differences]).all():
            return None
    except Exception:
        return None
    try:
        found, slopes = wg.value_and_grad(loss, argnums=positions)(*map(np.array, arguments))
    except WengertError as problem:
        return Outcome(text, "refused", text, numpys._PLACE.sub("", str(problem)).split(": ", 1)[-1])
    except Exception as problem:
        return Outcome(text, "refused", text, f"{type(problem).__name__}: {problem}")
    got = sum(float(np.sum(g * move)) for g, move in zip(slopes, moves, strict=True))
    slope = min(differences, key=lambda difference: abs(got - difference))
    if abs(found - value) > 1e-8 * max(1, abs(value)) or abs(got - slope) > 1e-3 * max(1, abs(slope)):
        words = f"value {float(found):.8g} for {value:.8g}, slope {got:.6g} for {slope:.6g}"
        return Outcome(text, "wrong", text, words)
    try:
        gradient = wg.grad(loss, argnums=positions)
        for other in (
            wg.jit(gradient)(*arguments),
            [g[0] for g in wg.vmap(gradient)(*(x[None] for x in arguments))],
        ):
            if not all(np.allclose(a, b, rtol=1e-6, atol=1e-9) for a, b in zip(other, slopes, strict=True)):
                return Outcome(text, "wrong", text, "the compiled or batched gradient differs")
    except Exception as problem:
        return Outcome(text, "grad", text, numpys._PLACE.sub("", str(problem)).split(": ", 1)[-1])
    return Outcome(text, "works", text)


def outcome(module: str, name: str, calls: dict[str, str], reasons: dict[str, str]) -> Outcome:
    """Return what happens to a function."""
    full = f"{module}.{name}"
    if full in reasons:
        return Outcome(full, "smooth", "", reasons[full])
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            for text, program, arguments in programs(module, name, calls.get(full)):
                signals.alarm(20)
                found = attempt(text, program, arguments)
                signals.alarm(0)
                if found is not None:
                    return Outcome(full, found.state, found.text, found.words)
        except TimeoutError:
            pass
        finally:
            signals.alarm(0)
    return Outcome(full, "untried")


def _stop(*unused: Any) -> None:
    raise TimeoutError


def page(found: list[Outcome]) -> str:
    """Return the text of the page."""
    by_module: defaultdict[str, list[Outcome]] = defaultdict(list)
    for each in found:
        by_module[each.name.partition(".")[0]].append(each)
    version = ".".join(scipy.__version__.split(".")[:2])
    lines = [
        "# SciPy's functions, counted",
        "",
        "`tools/scipy_coverage.py --write` makes this page. It calls the public functions of each module of SciPy",
        f"{version} inside `wg.grad`, `wg.jit` and `wg.vmap`, by a call that it has or finds, and compares with",
        "SciPy's values and with differences. [SciPy's functions](scipy.md) has the rules.",
        "",
        f"| module | {' | '.join(_STATES.values())} | of |",
        f"|---|{'---|' * (len(_STATES) + 1)}",
    ]
    for module, outcomes in by_module.items():
        counts = Counter(each.state for each in outcomes)
        row = " | ".join(str(counts[state]) for state in _STATES)
        lines.append(f"| `{module}` | {row} | {len(outcomes)} |")
    for module, outcomes in by_module.items():
        lines += ["", f"## {module}", ""]
        for state, words in _STATES.items():
            names = [each for each in outcomes if each.state == state]
            if state in ("refused", "wrong", "grad"):
                for reason, group in itertools.groupby(
                    sorted(names, key=lambda e: e.words), lambda e: e.words
                ):
                    shown = ", ".join(f"`{e.name.partition('.')[2]}`" for e in group)
                    lines.append(f"* {words}: {shown}: {numpys._escaped(reason)[:200]}")
            elif names:
                lines.append(f"* {words}: {', '.join(f'`{e.name.partition(chr(46))[2]}`' for e in names)}")
    return "\n".join([*lines, ""])


def main() -> None:
    """Try the functions, print the counts and what is wrong, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write docs/scipy_coverage.md")
    parser.add_argument("--only", nargs="*", default=list(MODULES), help="names of modules")
    options = parser.parse_args()
    signals.signal(signals.SIGALRM, _stop)
    calls, reasons = entries()
    found = [outcome(m, n, calls, reasons) for m in options.only for n in public(MODULES[m])]
    text = page(found)
    if options.write:
        PAGE.write_text(text, "utf-8")
    print(*text.splitlines()[6 : 8 + len(options.only)], sep="\n")
    print(
        *(f"wrong: {each.name} {each.text}: {each.words}" for each in found if each.state == "wrong"),
        sep="\n",
    )


if __name__ == "__main__":
    main()
