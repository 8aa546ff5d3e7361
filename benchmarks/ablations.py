"""The papers' optimisations and results, measured on this code: the tables and pictures of docs/results.md.

`WENGERT_DATA=... python benchmarks/ablations.py [--only PART,...] [--runs NUMBER] [--write]`; without `--write`, tables
are printed and pictures left out. About ten minutes in all, on one thread, but for the part `dataflow`. Libraries that
are not installed are left out, and Fashion-MNIST where it cannot be had.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before the libraries load
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("WENGERT_THREADS", "1")

from ablation import changes, dataflow, training
from tables import DOCS, replace_table

from wengert.data import DataNotFoundError, Dataset, load

PARTS: dict[str, Callable[[Dataset, int], Any]] = {
    "changes": lambda dataset, runs: changes.changes_table(dataset),
    "libraries": training.libraries,
    "fashion": training.fashion,
    "weights": training.weights,
    "codes": lambda dataset, runs: training.codes(dataset),
    "dataflow": lambda dataset, runs: dataflow.dataflow(dataset),
}
"""By the name of its table, what makes it, and perhaps a picture, from the data and the number of runs."""


def written(name: str, result: Any) -> None:
    """Write the table of a part into docs/results.md, and its picture beside it."""
    text, *pictures = [result] if isinstance(result, str) else result
    for picture in pictures:
        (DOCS / f"results_{name}.png").write_bytes(picture)
    replace_table("results.md", name, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"the parts: {', '.join(PARTS)}")
    parser.add_argument("--runs", type=int, default=5, help="trainings from different seeds")
    parser.add_argument(
        "--write", action="store_true", help="replace the tables and pictures of docs/results.md"
    )
    arguments = parser.parse_args()
    for name in arguments.only.split(","):
        start = time.perf_counter()
        try:
            dataset = load("fashion-mnist" if name == "fashion" else "mnist")
        except DataNotFoundError as error:
            print(f"{name} is left out: {error}")
            continue
        result = PARTS[name](dataset, arguments.runs)
        print(
            f"\n{name}, {time.perf_counter() - start:.0f} s\n\n{result if isinstance(result, str) else result[0]}"
        )
        if arguments.write:
            written(name, result)


if __name__ == "__main__":
    main()
