"""The errors of special functions and distributions over their domains, against mpmath: the table of docs/accuracy.md.

Run `pip install -e '.[dev]'` first, then `python -m benchmarks.special_accuracy [NAME ...]` at the root of the
repository; with `--write` the table in docs/accuracy.md is replaced.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import sys
from collections.abc import Iterable

ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from tables import replace_table  # noqa: E402

from tests.special_domain import Case, faults  # noqa: E402
from tests.special_inverses import CASES  # noqa: E402


def row(name: str, cases: Iterable[Case], seed: int, count: int) -> str:
    """Return the line of a function, or of the functions of a family."""
    values: list[float] = []
    slopes: list[float] = []
    domains: dict[str, None] = {}
    for case in cases:
        domains[" × ".join(draw.domain for draw in case.draws)] = None
        found, _ = faults(case, seed, max(1, count // case.cost), ("reverse",))
        values += [fault.error for fault in found if fault.what == "value"]
        slopes += [fault.error for fault in found if fault.what != "value"]
    cells = (_digits(values) if values else "SciPy's", _digits(slopes))
    return f"| `{name}` | {', '.join(domains)} | {cells[0]} | {cells[1]} |"


def _digits(errors: list[float]) -> str:
    """Return a bound of errors: 1, 3, 10, 30 and so on."""
    largest = max(errors, default=1.0)
    if math.isinf(largest):
        return "infinite"
    power = 10.0 ** math.floor(math.log10(max(largest, 1.0)))
    return f"{next(n * power for n in (1, 3, 10) if n * power >= largest):g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="words in the names of functions; all by default")
    parser.add_argument(
        "--points", type=int, default=8, help="how many numbers of each function to compare at"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="replace the table in docs/accuracy.md")
    options = parser.parse_args()
    groups: dict[str, list[Case]] = {}
    for case in CASES:
        if not options.names or any(word in case.name for word in options.names):
            name, _, rule = case.name.rpartition(".")
            group = f"{name}, quantiles" if rule in ("ppf", "isf") else name or rule
            groups.setdefault(group, []).append(case)
    lines = ["| function | operands | error of the value | of the derivatives |", "|---|---|---:|---:|"]
    for name, cases in groups.items():
        lines.append(row(name, cases, options.seed, options.points))
        print(lines[-1], flush=True)
    if options.write and not options.names:
        replace_table("accuracy.md", "special", "\n".join(lines))


if __name__ == "__main__":
    main()
