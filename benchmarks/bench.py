"""The papers' comparison: every installed library trains their networks under the same conditions.

`python benchmarks/bench.py --help` lists the options; docs/bench.md describes the measurements and how to read them.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
from harness import measurements, plot
from harness.contest import Round, Trial, agreement, hold
from harness.contestants import LIBRARIES, Contestant, contestants, is_installed
from harness.engine import ContestantError, warn_if_busy
from harness.workloads import NETWORKS

from wengert._version import versions
from wengert.app.cli import AT_LEAST_0, AT_LEAST_1, Integer, check_data_dir, main
from wengert.data import Dataset, digit_set, load
from wengert.data.texts import text_set
from wengert.engine.core.errors import ArgumentError
from wengert.train.plots import NO_PLOTS, available
from wengert.train.reporters import counted
from wengert.train.runs import DRAWN, RUNS, check_place, make_new
from wengert.train.settings import DATA, OPTIONS
from wengert.train.storage import write_file

_PACKAGES = {"torch": ("torch",), "jax": ("jax",), "tensorflow": ("tensorflow", "tensorflow-cpu")}
"""The packages of each library, which may have several names."""


class BenchSettings(NamedTuple):
    """The networks, libraries and data of a comparison, and its length."""

    networks: Sequence[str]
    libraries: Sequence[str]
    epochs: int | None
    """Those of the papers by default."""
    seeds: Sequence[int]
    threads: Sequence[int]
    limit: int | None
    """The number of training examples; all by default."""
    data: str
    data_dir: str | None


def run_bench(settings: BenchSettings, out: str | None) -> int:
    """Compare, show, and keep everything in a new folder.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        DisagreementError: contestants computed different losses; the measurements are kept.
        WengertError: any other error that the user should read in one line.
    """
    check_place(out)
    libraries = _installed(settings.libraries)
    if not libraries:
        raise ArgumentError("bench: none of these libraries is installed: pip install -e '.[bench]'")
    settings = settings._replace(threads=_possible(settings.threads))
    warn_if_busy()
    kinds = {NETWORKS[network].data for network in settings.networks}
    datasets = {kind: text_set() if kind == "text" else _dataset(settings) for kind in sorted(kinds)}
    comparison = _Comparison(settings, _folder(out))
    interrupted = False
    try:
        for network in settings.networks:
            comparison.run(network, libraries, datasets[NETWORKS[network].data])
    except KeyboardInterrupt:
        interrupted = True
    comparison.show()
    if comparison.problem is not None:
        raise comparison.problem
    if interrupted:
        print("stopped by Ctrl-C: the results of all earlier rounds are kept, those of the last are not")
        return 130
    if not comparison.trials:
        raise ContestantError("bench: every contestant failed")
    return 0


def _installed(libraries: Sequence[str]) -> list[str]:
    installed = list(filter(is_installed, libraries))
    for library in libraries:
        if library not in installed:
            print(f"{library} is not installed and left out (pip install -e '.[bench]')")
    return installed


def _possible(threads: Sequence[int]) -> list[int]:
    """Return the numbers of threads for which there are processors."""
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for count in threads:
        if count > most:
            print(f"{count} threads are left out: this process may use {most} processors")
    possible = [count for count in threads if count <= most]
    if not possible:
        raise ArgumentError(
            f"bench: threads must be at most {most}, the processors that this process may use"
        )
    return possible


def _dataset(settings: BenchSettings) -> Dataset:
    if settings.data == "digits":
        return digit_set(**{part: min(settings.limit or count, count) for part, count in DRAWN.items()})
    return load(settings.data, settings.data_dir)


def _folder(out: str | None) -> Path:
    if out is None:
        return make_new(RUNS / f"bench-{time.strftime('%Y%m%d-%H%M%S')}")
    Path(out).mkdir(parents=True, exist_ok=True)
    return Path(out)


class _Comparison:
    """The trials so far; they are written after each round."""

    def __init__(self, settings: BenchSettings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.trials: list[Trial] = []
        self.problem: measurements.DisagreementError | None = None
        self._failed: set[tuple[str, Contestant]] = set()

    def run(self, network: str, libraries: Sequence[str], dataset: Dataset) -> None:
        """Train one network by all libraries."""
        if {"wengert", "torch"} <= {*libraries}:
            self._agree(network, dataset)
        epochs = self.settings.epochs or NETWORKS[network].epochs
        everyone = [contestant for library in libraries for contestant in contestants(network, library)]

        def failed(contestant: Contestant, error: ContestantError) -> None:
            self._failed.add((network, contestant))
            print(f"{network}: left out: {error}", flush=True)

        for threads in self.settings.threads:
            for seed in self.settings.seeds:
                round_ = Round(network, threads, seed)
                chosen = [contestant for contestant in everyone if (network, contestant) not in self._failed]
                self._add(round_, hold(round_, chosen, dataset, self.settings.limit, epochs, failed))

    def show(self) -> None:
        """Print the table and draw the picture."""
        if not self.trials:
            return
        print(f"\n{measurements.table(measurements.lines(self.trials))}\n")
        if available():
            write_file(self.folder / "comparison.png", plot.comparison(self.trials))
        else:
            print(f"pictures: {NO_PLOTS}")
        print(f"kept in {self.folder}")

    def _agree(self, network: str, dataset: Dataset) -> None:
        """Compare with PyTorch's losses, step by step."""
        try:
            error = agreement(network, dataset, self.settings.limit, measurements.STEPS)
        except ContestantError as problem:
            print(f"{network}: not compared with PyTorch step by step: {problem}", flush=True)
            return
        print(
            f"{network}: in double precision the first losses differ from PyTorch's by {error:.0e}",
            flush=True,
        )
        if not error <= measurements.TOLERANCE:
            self._disagree(f"{network}: the losses differ from PyTorch's by {error:.1e}, more than rounding")

    def _disagree(self, problem: str) -> None:
        self.problem = self.problem or measurements.DisagreementError(problem)

    def _add(self, round_: Round, trials: Sequence[Trial]) -> None:
        """Show, check and keep the trials of a round."""
        for trial in trials:
            seconds = min(epoch.seconds for epoch in trial.epochs)
            place = f"{round_.network}, {counted(round_.threads, 'thread')}, seed {round_.seed}"
            print(f"{place}: {trial.contestant} {seconds:.3g} s an epoch at best", flush=True)
        try:
            measurements.check(trials)
        except measurements.DisagreementError as problem:
            self._disagree(str(problem))
        self.trials += trials
        self._write()

    def _write(self) -> None:
        about = {
            "settings": self.settings._asdict(),
            "versions": {**versions(), **_versions(self.settings.libraries)},
            "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
            "runs": measurements.as_data(self.trials),
        }
        write_file(self.folder / "results.json", (json.dumps(about, indent=1) + "\n").encode())
        text = measurements.table(measurements.lines(self.trials)) + "\n"
        write_file(self.folder / "table.md", text.encode())


def _versions(libraries: Sequence[str]) -> dict[str, str]:
    """Return the version of each installed library."""
    installed: dict[str, str] = {}
    for library in libraries:
        for package in _PACKAGES.get(library, ()):
            try:
                installed[library] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                continue
    return installed


# -- the command line ------------------------------------------------------------------------------------


class _List(click.ParamType):
    def __init__(self, item: click.ParamType, name: str) -> None:
        self.item, self.name = item, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Any]:
        if not isinstance(value, str):
            return list(value)
        return [self.item.convert(part.strip(), param, ctx) for part in value.split(",")]


def _list_option(option: str, item: click.ParamType, metavar: str, default: str, text: str) -> Any:
    return click.option(option, type=_List(item, metavar), default=default, show_default=True, help=text)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@_list_option("--networks", click.Choice(tuple(NETWORKS)), "NETWORK,...", ",".join(NETWORKS), "The networks.")
@_list_option("--libraries", click.Choice(LIBRARIES), "LIBRARY,...", ",".join(LIBRARIES), "The libraries.")
@click.option("--epochs", type=AT_LEAST_1, help="Epochs of a run.  [default: the papers']")
@_list_option(
    "--seeds", AT_LEAST_0, "SEED,...", "0,1,2", "Seeds of the weights and the order; a run for each."
)
@_list_option("--threads", AT_LEAST_1, "NUMBER,...", "1,2", "Numbers of threads; a run for each.")
@click.option("--limit", type=Integer(min=100), help="Use only the first N training images.")
@click.option("--data", type=click.Choice(DATA[:3]), default="mnist", show_default=True, help="The images.")
@click.option("--data-dir", type=click.Path(), help=OPTIONS["data-dir"].help)
@click.option(
    "--out", type=click.Path(), help="A new folder for the results.  [default: runs/bench-DATE-TIME]"
)
def command(out: str | None, **options: Any) -> int:
    """Train the papers' networks with every installed library under the same conditions, and compare.

    A table and a picture show time, memory and accuracy. The full comparison takes hours; --limit and --epochs
    shorten it.
    """
    check_data_dir(options["data"], options["data_dir"])
    return run_bench(BenchSettings(**options), out)


if __name__ == "__main__":
    main(command, "bench.py")
