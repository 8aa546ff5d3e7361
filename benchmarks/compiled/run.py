"""Compiled training steps and calculations against torch, JAX, TensorFlow, Numba, autograd and C, all in one run.

Run `pip install -e . -r benchmarks/requirements-peers.txt`, set WENGERT_DATA to the folder of MNIST, then
`python benchmarks/compiled/run.py [WORKLOAD ...] [--threads 1 2]`. Each contestant is a process of its own, pinned to
as many cores as it has threads; all have the same data and first weights, must compute the same loss, and take turns.
A time is the median over the turns, a ratio the median of the ratios of neighbouring turns. `--limits DIR` adds the
programs written in C; `--write` replaces the tables in docs/measurements.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from contest import Entry, Times
from harness.engine import ContestantError, warn_if_busy
from tables import replace_table
from workloads import NAMES, TRAININGS, save_data, workload

from wengert.data import load

_CELLS = ("torch module", "torch cells", "torch cells compile")
_RECURRENT = (
    "jax scan",
    "jax unrolled",
    "jax unrolled steps",
    "tensorflow function",
    "tensorflow function steps",
)
_DENSE = (
    "torch eager",
    "torch compile",
    "jax jit",
    "jax steps",
    "tensorflow function",
    "tensorflow function steps",
)
_DERIVATIVE = ("jax jit", "autograd", "torch eager")
PEERS: dict[str, tuple[str, ...]] = {
    "cnn": (
        "torch eager",
        "torch channels_last",
        "torch compile",
        "torch compile channels_last",
        "jax jit NCHW",
        "jax jit NHWC",
        "jax steps NHWC",
        "tensorflow function",
        "tensorflow function XLA",
        "tensorflow function steps",
    ),
    "rnn": (*_CELLS, *_RECURRENT),
    "lstm": (*_CELLS, *_RECURRENT),
    "autoencoder-1": _DENSE,
    "autoencoder-100": _DENSE,
    "mlp": _DENSE,
    **{name: ("numpy", "torch eager", "jax jit") for name in NAMES if name.startswith("matmul")},
    "chain": ("numpy", "torch eager", "torch compile", "jax jit", "numba"),
    "loss": ("torch eager", "torch compile", "jax jit"),
    "gradient-ln": ("jax jit floats", *_DERIVATIVE),
    "gradient-rosenbrock": _DERIVATIVE,
    "hessian-rosenbrock": _DERIVATIVE,
    "hvp-rosenbrock": _DERIVATIVE,
    "gaussians": ("torch eager", "torch compile", "jax jit"),
    "kalman": _DERIVATIVE,
}
C_PROGRAMS = ("cnn", "rnn", "autoencoder-1")
YARDSTICKS = {"chain": "numpy dot product"}
"""A contestant that computes something else: shown for comparison, but no peer."""


def ours(name: str, options: argparse.Namespace) -> tuple[str, ...]:
    if options.peers_only:
        return ()
    if options.eager_wengert:
        return ("wengert eager",)
    return ("wengert jit", "wengert scan") if name in TRAININGS else ("wengert jit",)


def entries(name: str, options: argparse.Namespace) -> list[Entry]:
    peers = [peer for peer in PEERS[name] if peer.split()[0] not in options.without]
    contestants = [*ours(name, options), *peers, *([YARDSTICKS[name]] if name in YARDSTICKS else [])]
    chosen = [Entry(contestant, threads) for threads in options.threads for contestant in contestants]
    if options.limits and name in C_PROGRAMS and 1 in options.threads:
        chosen.append(Entry("c", 1))  # these programs have one thread
    return chosen


def milliseconds(contest: Times, entry: Entry | None) -> str:
    return "" if entry is None else f"{1e3 * contest.seconds(entry):.3g}"


def summary(contest: Times, threads: int) -> str:
    """Return the row with our fastest variant, the C program and the fastest peer."""
    known = [entry for entry in contest.times if entry.threads == threads]
    mine = [entry for entry in known if entry.contestant.startswith("wengert")]
    peers = [entry for entry in known if entry.contestant in PEERS[contest.name]]
    c = next((entry for entry in known if entry.contestant == "c"), None)
    own, best = (min(group, key=contest.seconds, default=None) for group in (mine, peers))
    cells = [workload(contest.name).title, str(threads), milliseconds(contest, own), milliseconds(contest, c)]
    cells.append(f"{contest.ratio(own, c):.2f} x" if own and c else "")
    cells += [best.contestant if best else "", milliseconds(contest, best)]
    cells.append(f"{contest.ratio(best, own):.2f} x" if own and best else "")
    return f"| {' | '.join(cells)} |"


def details(contest: Times, threads: int) -> str:
    ranked = sorted((entry for entry in contest.times if entry.threads == threads), key=contest.seconds)
    times = ", ".join(f"{entry.contestant} {milliseconds(contest, entry)}" for entry in ranked)
    return f"| {workload(contest.name).title} | {threads} | {times} |"


def scaling(contest: Times) -> str | None:
    """Return the speedup of our steps by a second thread: in a loop, as in an epoch, and called one by one."""
    if contest.name not in TRAININGS:
        return None
    gains: list[str] = []
    for contestant in ("wengert scan", "wengert jit"):
        single, double = Entry(contestant, 1), Entry(contestant, 2)
        if {single, double} <= contest.times.keys():
            gains.append(f"{contest.ratio(single, double):.2f} x")
    return f"{workload(contest.name).title}: {', '.join(gains)}" if gains else None


def report(contests: list[Times], threads: list[int]) -> str:
    lines = [
        "| workload | threads | Wengert, ms | C, ms | Wengert takes | fastest peer | ms | Wengert is faster by |",
        "|---|---:|---:|---:|---:|---|---:|---:|",
        *(summary(contest, count) for contest in contests for count in threads),
        "",
        "| workload | threads | all contestants, ms a step |",
        "|---|---:|---|",
        *(details(contest, count) for contest in contests for count in threads),
    ]
    gains = [gain for contest in contests if (gain := scaling(contest))]
    text = f"Two threads against one, steps in a loop (an epoch) and called one by one: {'; '.join(gains)}."
    return "\n".join([*lines, *(["", text] if gains else [])])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--turns", type=int, default=9, help="how often the contestants take turns")
    parser.add_argument("--limits", type=Path, help="the folder of the programs written in C")
    parser.add_argument("--without", nargs="+", default=[], metavar="LIBRARY", help="leave a library out")
    parser.add_argument(
        "--interpreter",
        action="append",
        default=[],
        metavar="LIBRARY=PYTHON",
        help="another Python, which needs Wengert too, for a library",
    )
    parser.add_argument("--eager-wengert", action="store_true", help="Wengert without jit")
    parser.add_argument("--peers-only", action="store_true", help="without Wengert")
    parser.add_argument("--write", action="store_true", help="replace the tables in docs/measurements.md")
    options = parser.parse_args()
    if unknown := set(options.workloads) - set(NAMES):
        parser.error(f"unknown workload {', '.join(sorted(unknown))}; choose from {', '.join(NAMES)}")
    if options.write and (
        options.workloads or options.without or options.eager_wengert or options.peers_only
    ):
        parser.error("--write needs all workloads and all contestants")
    options.workloads = options.workloads or list(NAMES)
    return options


def main() -> None:
    options = parse()
    if options.limits:
        os.environ["WENGERT_LIMITS"] = str(options.limits.resolve())
    warn_if_busy(sys.stderr)
    interpreters = dict(choice.split("=", 1) for choice in options.interpreter)
    dataset = load("mnist")
    contests: list[Times] = []
    with tempfile.TemporaryDirectory() as folder:
        save_data(Path(folder), dataset.train_images, dataset.train_labels)
        for name in options.workloads:
            contests.append(Times(name, Path(folder), interpreters))
            try:
                contests[-1].measure(entries(name, options), options.turns)
            except ContestantError as error:
                raise SystemExit(f"{name}: a contestant failed: {error}") from None
            for threads in options.threads:
                print(details(contests[-1], threads), file=sys.stderr, flush=True)
    text = report(contests, options.threads)
    print(text)
    if options.write:
        replace_table("measurements.md", "compiled", text)


if __name__ == "__main__":
    main()
