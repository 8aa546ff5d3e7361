"""What ``wengert bench`` does, from the settings to the picture."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from wengert._version import versions
from wengert.bench import picture, results
from wengert.bench.contest import Trial, agreement, hold
from wengert.bench.contestants import Contestant, contestants, is_installed
from wengert.bench.process import ContestantError, Round
from wengert.bench.work import NETWORKS
from wengert.core.errors import ArgumentError
from wengert.data import Dataset, digit_set, load
from wengert.train.console import counted
from wengert.train.files import write_file
from wengert.train.folder import RUNS, check_place, make_new
from wengert.train.pictures import NO_PICTURES, available
from wengert.train.runs import DRAWN

_PACKAGES = {"torch": ("torch",), "jax": ("jax",), "tensorflow": ("tensorflow", "tensorflow-cpu")}
"""Under which names the libraries are published."""
_BUSY = 0.5
"""The load of the last minute above which other programs are running: this one has done nothing yet."""


class BenchSettings(NamedTuple):
    """What is compared, and for how long."""

    networks: Sequence[str]
    libraries: Sequence[str]
    epochs: int | None
    """Those of the papers by default."""
    seeds: Sequence[int]
    threads: Sequence[int]
    limit: int | None
    """How many of the training examples are learned; all by default."""
    data: str
    data_dir: str | None


def run_bench(settings: BenchSettings, out: str | None) -> int:
    """Compare, show, and keep everything in a new folder.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        DisagreementError: contestants have not computed the same; what was measured is kept.
        WengertError: what else the user should read in one line.
    """
    check_place(out)
    libraries = _installed(settings.libraries)
    if not libraries:
        raise ArgumentError("bench: none of these libraries is installed: pip install 'wengert[bench]'")
    settings = settings._replace(threads=_possible(settings.threads))
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > _BUSY:
        print("other programs are running: times will be too long, most of all on several threads")
    dataset = _dataset(settings)
    folder = _folder(out)
    found = _Results(settings, folder)
    interrupted = False
    try:
        for network in settings.networks:
            found.compare(network, libraries, dataset)
    except KeyboardInterrupt:
        interrupted = True
    found.show()
    if found.problem is not None:
        raise found.problem
    if interrupted:
        print("stopped by Ctrl-C: the rounds until then are there, the last one is not")
        return 130
    if not found.trials:
        raise ContestantError("bench: nobody could train anything")
    return 0


def _installed(libraries: Sequence[str]) -> list[str]:
    for library in libraries:
        if not is_installed(library):
            print(f"{library} is not installed and left out (pip install 'wengert[bench]')")
    return [library for library in libraries if is_installed(library)]


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


class _Results:
    """What was found so far; it is written after each round."""

    def __init__(self, settings: BenchSettings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.trials: list[Trial] = []
        self.problem: results.DisagreementError | None = None
        self._out: set[tuple[str, Contestant]] = set()

    def compare(self, network: str, libraries: Sequence[str], dataset: Dataset) -> None:
        """Train one network with everyone."""
        if {"wengert", "torch"} <= {*libraries}:
            self._agree(network, dataset)
        epochs = self.settings.epochs or NETWORKS[network].epochs

        def failed(contestant: Contestant, problem: ContestantError) -> None:
            self._out.add((network, contestant))
            print(f"{network}: left out: {problem}", flush=True)

        for threads in self.settings.threads:
            for seed in self.settings.seeds:
                round_ = Round(network, threads, seed)
                everyone = [one for library in libraries for one in contestants(network, library)]
                chosen = [one for one in everyone if (network, one) not in self._out]
                found = hold(round_, chosen, dataset, self.settings.limit, epochs, failed)
                self._note(round_, found)

    def show(self) -> None:
        """Print the table and draw the picture."""
        if not self.trials:
            return
        print(f"\n{results.table(results.lines(self.trials))}\n")
        if available():
            write_file(self.folder / "comparison.png", picture.comparison(self.trials))
        else:
            print(f"pictures: {NO_PICTURES}")
        print(f"kept in {self.folder}")

    def _agree(self, network: str, dataset: Dataset) -> None:
        """Compare with PyTorch's losses, step by step."""
        try:
            found = agreement(network, dataset, self.settings.limit, results.STEPS)
        except ContestantError as problem:
            print(f"{network}: not compared with PyTorch step by step: {problem}", flush=True)
            return
        print(
            f"{network}: in double precision the first losses differ from PyTorch's by {found:.0e}",
            flush=True,
        )
        if not found <= results.TOLERANCE:
            self._disagree(f"{network}: the losses differ from PyTorch's by {found:.1e}, more than rounding")

    def _disagree(self, problem: str) -> None:
        self.problem = self.problem or results.DisagreementError(problem)

    def _note(self, round_: Round, found: Sequence[Trial]) -> None:
        """Show, check and keep what a round measured."""
        for trial in found:
            seconds = min(epoch.seconds for epoch in trial.epochs)
            place = f"{round_.network}, {counted(round_.threads, 'thread')}, seed {round_.seed}"
            print(f"{place}: {trial.contestant} {seconds:.3g} s an epoch at best", flush=True)
        try:
            results.check(found)
        except results.DisagreementError as problem:
            self._disagree(str(problem))
        self.trials += found
        self._write()

    def _write(self) -> None:
        """Keep all that was measured so far."""
        about = {
            "settings": self.settings._asdict(),
            "versions": {**versions(), **_versions(self.settings.libraries)},
            "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
            "runs": results.as_data(self.trials),
        }
        write_file(self.folder / "results.json", (json.dumps(about, indent=1) + "\n").encode())
        text = results.table(results.lines(self.trials)) + "\n"
        write_file(self.folder / "table.md", text.encode())


def _versions(libraries: Sequence[str]) -> dict[str, str]:
    """Return the version of each installed library."""
    found: dict[str, str] = {}
    for library in libraries:
        for package in _PACKAGES.get(library, ()):
            try:
                found[library] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                continue
    return found
