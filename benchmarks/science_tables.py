"""Solve public test problems of optimisation, regression and sampling, and write the tables of docs/science_tables.md.

`python benchmarks/science_tables.py --write` needs ipyopt and SciPy, and pip for NIST's data; CasADi for the contest of
optimal control. The command fails if a result differs from the published one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from problems import hock_schittkowski, more_garbow_hillstrom, nist, optimal_control, posteriors
from tables import replace_table

import wengert as wg

PAGE = "science_tables.md"


def best(call: Callable[[], Any], tries: int = 7) -> tuple[float, Any]:
    """Return the shortest processor time of some calls, and the last result."""
    seconds: list[float] = []
    result = None
    for _ in range(tries):
        begin = time.process_time()
        result = call()
        seconds.append(time.process_time() - begin)
    return min(seconds), result


def constrained() -> Iterator[tuple[bool, str]]:
    yield (
        True,
        "| problem | published | found by ipopt | iterations | violation |\n|---:|---:|---:|---:|---:|",
    )
    for number, p in hock_schittkowski.PROBLEMS.items():
        found = wg.optimize.minimize(
            p.fun, np.array(p.start, float), method="ipopt", bounds=p.bounds, constraints=p.constraints
        )
        holds = found.success and abs(found.fun - p.value) <= 1e-6 * max(1.0, abs(p.value))
        row = f"| {number} | {p.value:.9g} | {found.fun:.9g} | {found.nit} | {found.constr_violation:.0e} |"
        yield holds, row


def squares() -> Iterator[tuple[bool, str]]:
    yield True, '| problem | published | found by "lm" | evaluations |\n|---:|---:|---:|---:|'
    tight: dict[str, Any] = {"xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12, "max_nfev": 20_000}
    for number, p in more_garbow_hillstrom.PROBLEMS.items():
        found = wg.optimize.least_squares(p.residuals, np.array(p.start, float), method="lm", **tight)
        total = 2 * found.cost
        nearest = min(p.values, key=lambda value: abs(total - value))
        holds = found.success and abs(total - nearest) <= 1e-5 * max(nearest, 1e-4)
        yield holds, f"| {number} | {nearest:.6g} | {total:.6g} | {found.nfev} |"


def casadi_seconds(p: optimal_control.Control) -> tuple[float, float] | None:
    """Return the seconds of a second solution by CasADi, and its value; None without CasADi."""
    try:
        import casadi
    except ImportError:
        return None
    x = casadi.MX.sym("x", p.size)
    parts = {"x": x, "f": p.objective(x, casadi), "g": casadi.vertcat(*p.defects(x, casadi))}
    solver = casadi.nlpsol("s", "ipopt", parts, {"ipopt.print_level": 0, "print_time": 0, "ipopt.sb": "yes"})
    low, high = p.bounds()
    seconds, found = best(lambda: solver(x0=p.start(), lbx=low, ubx=high, lbg=0, ubg=0))
    return seconds, float(found["f"])


def control() -> Iterator[tuple[bool, str]]:
    yield (
        True,
        "| problem | variables | published | found | first solution | second | CasADi's second |\n"
        "|---|---:|---:|---:|---:|---:|---:|",
    )
    for name, p in optimal_control.PROBLEMS.items():
        low, high = p.bounds()
        objective = wg.jit(lambda x, p=p: p.objective(x))
        defects = wg.jit(lambda x, p=p: np.stack(p.defects(x)))

        def solve(
            p: Any = p, objective: Any = objective, defects: Any = defects, limits: Any = (low, high)
        ) -> Any:
            return wg.optimize.minimize(
                objective, p.start(), method="ipopt", bounds=limits, constraints=[(defects, 0.0, 0.0)]
            )

        first, _ = best(solve, 1)
        seconds, found = best(solve)
        peer = casadi_seconds(p)
        value = p.value if p.value is not None else peer[1] if peer else found.fun
        holds = found.success and abs(found.fun - value) <= 2e-5 * max(1.0, abs(value))
        published = f"{p.value:.7g} ({p.source})" if p.value is not None else f"CasADi: {value:.7g}"
        last = "-" if peer is None else f"{peer[0]:.2f} s"
        row = f"| {name} | {p.size:,} | {published} | {found.fun:.7g} | {first:.1f} s | {seconds:.2f} s | {last} |"
        yield holds and (peer is None or seconds <= 1.5 * peer[0]), row


def regressions(folder: Path) -> Iterator[tuple[bool, str]]:
    yield (
        True,
        "| data | first certified parameter | found | digits of estimates, starts 1 and 2 | of standard errors |\n"
        "|---|---:|---:|---:|---:|",
    )
    for path in sorted(nist.files(folder).glob("*.dat")):
        r, ends = nist.read(path), []
        for start in r.starts:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                popt, pcov = wg.optimize.curve_fit(nist.MODELS[r.name], r.x, r.y, start)
            errors = np.sqrt(np.diag(pcov))
            ends.append((nist.digits(popt, r.parameters), nist.digits(errors, r.errors), popt[0]))
        least = 3.0 if r.name in nist.ROUNDED else 7.0
        holds = all(end[0] >= 9.0 and end[1] >= least for end in ends)
        estimates, errors = (" ".join(f"{end[k]:.1f}" for end in ends) for k in (0, 1))
        yield holds, f"| {r.name} | {r.parameters[0]:.10e} | {ends[0][2]:.10e} | {estimates} | {errors} |"


def sampled() -> Iterator[tuple[bool, str]]:
    yield (
        True,
        "| posterior | reference by | mean of | reference | found | standard error | effective draws | quantities | "
        "largest error | time |\n|---|---|---|---:|---:|---:|---:|---:|---:|---:|",
    )
    for p in posteriors.PROBLEMS.values():
        density = wg.jit(p.logdensity)

        def draw(p: posteriors.Posterior = p, density: Any = density) -> wg.fit.Samples:
            return wg.fit.nuts(density, p.start, wg.random.key(0), draws=p.draws, target=p.target)

        seconds, samples = best(draw, 3)
        found = posteriors.compared(p, samples)
        name, first = next(iter(found.items()))
        worst = max(abs(each.error) for each in found.values())
        row = (
            f"| {p.source} | {p.kind} | {name} | {first.reference:.5g} | {first.mean:.5g} | "
            f"{first.standard_error:.1g} | {first.size:,.0f} | {len(found)} | {worst:.1f} | {seconds:.2f} s |"
        )
        yield worst < 4 and not samples.warnings, row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="constrained, squares, control, regressions, sampled; all by default"
    )
    parser.add_argument("--write", action="store_true", help="write the tables of the page")
    parser.add_argument("--data", type=Path, help="a folder for NIST's data; a temporary one by default")
    options = parser.parse_args()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        tables = {
            "constrained": constrained,
            "squares": squares,
            "control": control,
            "regressions": lambda: regressions(options.data or Path(temporary)),
            "sampled": sampled,
        }
        for name in options.names or tables:
            rows: list[str] = []
            for holds, row in tables[name]():
                print(row if holds else f"{row} !", flush=True)
                rows.append(row)
                wrong += [] if holds else [f"{name}: {row}"]
            if options.write:
                replace_table(PAGE, name.replace("_", " "), "\n".join(rows))
    if wrong:
        sys.exit("not the published result, or too slow:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
