"""Exported functions as C source, compiled by gcc, against the object files of the same functions.

Both are functions of one C program and take turns; the object file is for this processor, and so is gcc's code
(`-O3 -march=native`). Times are those that the process has had the processor for; a ratio is the median of the ratios
of neighbouring turns. With `--write` the table in docs/export.md is replaced.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tables import replace_table

import wengert as wg

FLAGS = ["-O3", "-march=native"]
Case = tuple[Callable[..., Any], tuple[Any, ...]]

#: A program that makes calls in turns; each line it prints has the nanoseconds of a call of both.
MAIN = """
#define _POSIX_C_SOURCE 199309L
#include "both.h"
#include <time.h>

static double seconds(void) {{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}}

int main(void) {{
    int calls = 1, turn;
    set_f();
    set_g();
    for (turn = -1; turn < {turns}; turn++) {{
        double start = seconds(), middle, end;
        int n;
        for (n = 0; n < calls; n++) {call_g};
        middle = seconds();
        for (n = 0; n < calls; n++) {call_f};
        end = seconds();
        if (turn < 0) {{
            if (middle - start < {seconds}) {{
                calls *= 2;
                turn--;
            }}
            continue;
        }}
        printf("%.3f %.3f\\n", 1e9 * (middle - start) / calls, 1e9 * (end - middle) / calls);
    }}
    return 0;
}}
"""


def normal(*shape: int, dtype: str = "float64") -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def controller() -> Case:
    """Return a PID controller behind a Kalman filter with two states."""

    def step(state: Any, gains: Any, measured: Any, wanted: Any) -> Any:
        mean, cov, integral, before = state["mean"], state["cov"], state["integral"], state["before"]
        a = np.array([[1.0, 0.01], [0.0, 1.0]], np.float32)
        mean = a @ mean
        cov = a @ cov @ a.T + np.float32(1e-4) * np.eye(2, dtype=np.float32)
        gain = cov[:, 0] / (cov[0, 0] + np.float32(0.1))
        mean = mean + gain * (measured - mean[0])
        cov = cov - np.outer(gain, cov[0])
        error = wanted - mean[0]
        integral = np.clip(integral + np.float32(0.01) * error, -1, 1)
        force = gains[0] * error + gains[1] * integral + gains[2] * (error - before)
        return {"mean": mean, "cov": cov, "integral": integral, "before": error}, np.clip(force, -5, 5)

    one = np.float32(1)
    state = {"mean": normal(2, dtype="f4"), "cov": np.eye(2, dtype="f4"), "integral": one, "before": one}
    return wg.jit(step, donate=0), (state, np.array([2, 0.5, 0.1], "f4"), one, one)


def filter_gradient() -> Case:
    """Return the gradient of the likelihood of a Kalman filter with four states over 50 steps."""

    def likelihood(noise: Any, transition: Any, observed: Any) -> Any:
        h = np.array([1.0, 0.0, 0.0, 0.0])

        def turn(carry: Any, y: Any) -> Any:
            mean, cov, total = carry
            mean = transition @ mean
            cov = transition @ cov @ transition.T + np.exp(noise) * np.eye(4)
            s = h @ cov @ h + 1.0
            gain, off = cov @ h / s, y - h @ mean
            total = total + 0.5 * (np.log(s) + off * off / s)
            return (mean + gain * off, cov - np.outer(gain, h @ cov), total), None

        return wg.scan(turn, (np.zeros(4), np.eye(4), 0.0), observed)[0][2]

    return wg.value_and_grad(likelihood, (0, 1)), (np.float64(-1), np.eye(4) + 0.1 * normal(4, 4), normal(50))


def predictive_control() -> Case:
    """Return the gradient of the cost of twenty inputs to a cart with a pendulum."""

    def cost(forces: Any, start: Any) -> Any:
        def turn(state: Any, force: Any) -> Any:
            _, angle, speed, turning = state
            sine, cosine = np.sin(angle), np.cos(angle)
            mass = 1.1 - 0.1 * cosine * cosine
            push = (force + 0.05 * sine * turning * turning - 0.98 * sine * cosine) / mass
            spin = (10.78 * sine - push * cosine) / 0.5
            after = state + 0.05 * np.stack([speed, turning, push, spin])
            return after, np.sum(after * after) + 0.01 * force * force

        return np.sum(wg.scan(turn, start, forces)[1])

    return wg.value_and_grad(cost), (normal(20), np.array([0.1, 0.2, 0.0, 0.0]))


def weights() -> Any:
    shapes = {"w1": (16, 64), "b1": (64,), "w2": (64, 8), "b2": (8,)}
    return {name: normal(*shape, dtype="f4") for name, shape in shapes.items()}


def network(params: Any, x: Any) -> Any:
    return np.maximum(x @ params["w1"] + params["b1"], 0) @ params["w2"] + params["b2"]


def training() -> Case:
    """Return a step of gradient descent for a network of 16, 64 and 8 units with a batch of 16."""

    def step(params: Any, x: Any, y: Any) -> Any:
        gradient = wg.grad(lambda params: np.mean((network(params, x) - y) ** 2))(params)
        return wg.tree.map_tree(lambda p, g: p - np.float32(0.001) * g, params, gradient)

    return wg.jit(step, donate=0), (weights(), normal(16, 16, dtype="f4"), normal(16, 8, dtype="f4"))


def orbit() -> Case:
    """Return a hundred Runge-Kutta steps of a satellite around a flattened planet."""

    def slope(y: Any) -> Any:
        r2 = np.sum(y[:3] * y[:3])
        pull = -1.0 / (r2 * np.sqrt(r2)) * (1.0 + 1e-3 * (1.0 - 5.0 * y[2] * y[2] / r2) / r2)
        return np.concatenate([y[3:], pull * y[:3]])

    def flight(y: Any) -> Any:
        def turn(_: Any, y: Any) -> Any:
            k1 = slope(y)
            k2 = slope(y + 0.005 * k1)
            k3 = slope(y + 0.005 * k2)
            k4 = slope(y + 0.01 * k3)
            return y + 0.01 / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

        return wg.fori_loop(0, 100, turn, y)

    return flight, (np.array([1.0, 0.1, 0.2, 0.1, 0.9, 0.3]),)


def smoothing() -> Case:
    """Return a filter of 31 coefficients over 1,024 samples."""

    def f(x: Any, h: Any) -> Any:
        return np.convolve(x, h, "valid")

    return f, (normal(1054, dtype="f4"), normal(31, dtype="f4"))


def equations() -> Case:
    """Return the solution of twelve equations."""
    return np.linalg.solve, (normal(12, 12) + 4 * np.eye(12), normal(12))


CASES: dict[str, Callable[[], Case]] = {
    "PID controller behind a Kalman filter, a step, float32": controller,
    "Kalman filter of 4 states, likelihood of 50 steps with gradient": filter_gradient,
    "cost of 20 inputs to a cart-pole with gradient": predictive_control,
    "network of 16, 64 and 8 units, an example, float32": lambda: (
        network,
        (weights(), normal(16, dtype="f4")),
    ),
    "the same, a step of gradient descent, batch of 16": training,
    "100 Runge-Kutta steps of a satellite": orbit,
    "FIR filter of 31 taps over 1,024 samples, float32": smoothing,
    "12 linear equations": equations,
}


class Row(NamedTuple):
    """Microseconds of a call of the object file and of the source, their ratio, and the lines of the source."""

    name: str
    object: float
    source: float
    ratio: float
    lines: int


def measure(name: str, case: Case, turns: int, seconds: float) -> Row:
    """Return the times of a function."""
    function, arguments = case
    with tempfile.TemporaryDirectory() as folder:
        export = wg.export(function, *arguments)
        export.c(Path(folder, "f"), source=True)
        export.c(Path(folder, "g"))
        text = "\n".join(_data(Path(folder, f"{stem}_test.c").read_text(), stem) for stem in "fg")
        head = '#include "f.h"\n#include "g.h"\n#include <stdio.h>\n#include <string.h>\n'
        calls = {f"call_{stem}": _call(Path(folder, f"{stem}_test.c").read_text(), stem) for stem in "fg"}
        Path(folder, "both.h").write_text(head + text)
        main = MAIN.format(turns=turns, seconds=seconds, **calls)
        Path(folder, "main.c").write_text(main)
        files = [str(Path(folder, file)) for file in ("main.c", "f.c", "g.o")]
        program = str(Path(folder, "both"))
        subprocess.run(["gcc", *FLAGS, *files, "-o", program, "-lm"], check=True)
        done = subprocess.run([program], check=True, capture_output=True, text=True)
        times = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
        lines = Path(folder, "f.c").read_text().count("\n")
    one, other = (statistics.median(column) / 1000 for column in zip(*times, strict=True))
    return Row(name, one, other, statistics.median(y / x for x, y in times), lines)


def _data(test: str, stem: str) -> str:
    """Return the part of a test program that has its numbers."""
    start = test.index("static const", test.index("check_error"))
    return test[start : test.index(f"static void check_{stem}(")]


def _call(test: str, stem: str) -> str:
    """Return the last call in the test of a function, which needs no memory of its own."""
    lines = [line.strip() for line in test.splitlines() if line.startswith(f"    check_{stem}({stem}")]
    return lines[-1].removeprefix(f"check_{stem}(").removesuffix(");")


def table(rows: list[Row]) -> str:
    lines = [
        f"| {row.name} | {row.object:.3g} | {row.source:.3g} | {row.ratio:.2f} | {row.lines} |"
        for row in rows
    ]
    mean = statistics.geometric_mean(row.ratio for row in rows)
    head = ["| function | object file, us | source, us | ratio | lines |", "|---|---|---|---|---|"]
    return "\n".join([*head, *lines, f"| geometric mean | | | {mean:.2f} | |"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.02, help="of the processor, in a turn")
    parser.add_argument("--write", action="store_true", help="write docs/export.md")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rows = [measure(name, make(), options.turns, options.seconds) for name, make in CASES.items()]
    print(table(rows))
    if options.write:
        replace_table("export.md", "c source", table(rows))


if __name__ == "__main__":
    main()
