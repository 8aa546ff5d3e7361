"""The programs written by hand in C, built by gcc; they print the time of an epoch or a step."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
from workloads import load_data

from runners.runner import Runner
from wengert.data import write_idx

PROGRAMS = {"cnn": "lenet", "rnn": "rnn", "autoencoder-1": "autoencoder"}
FLAGS = ("-O3", "-march=native", "-ffast-math", "-mprefer-vector-width=512", "-w")
STEPS_AN_EPOCH = 600


class Program(Runner):
    """A program that reports its own time. It draws its own weights, so its losses are not compared."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.command = ("stdbuf", "-oL", str(path), str(folder))  # without buffering

    def values(self) -> None:
        """Nothing to compare."""

    def seconds(self, steps: int) -> float:
        """Start the program and return the time that it reports second; the first is its warm-up."""
        with subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            _, line = process.stdout.readline(), process.stdout.readline()
            process.kill()
        step = re.search(r"us/step ([\d.]+)", line)
        if step:
            return float(step[1]) / 1e6
        epoch = re.search(r"time ([\d.]+)", line)
        if epoch is None:
            raise RuntimeError(f"{self.command[2]}: expected a line with its time, got {line!r}")
        return float(epoch[1]) / STEPS_AN_EPOCH


def prepare(name: str, variant: str, threads: int, folder: Path) -> Runner:
    source = Path(os.environ["WENGERT_LIMITS"]) / f"{PROGRAMS[name]}.c"
    program = folder / PROGRAMS[name]
    subprocess.run(["gcc", *FLAGS, "-o", program, source, "-lmvec", "-lm"], check=True)
    data = load_data(folder)
    labels = data.labels.astype(np.uint8)
    for stem, count in (("train", None), ("t10k", 10_000)):  # its times leave out the test set
        write_idx(folder / f"{stem}-images-idx3-ubyte", data.images[:count])
        write_idx(folder / f"{stem}-labels-idx1-ubyte", labels[:count])
    return Program(program, folder)
