"""Write the overview of the performance page from the tables of the measurements: a summary of each, and a picture.

    python benchmarks/overview.py

Benchmarks with ``--write`` write it, too. It needs matplotlib.
"""

from __future__ import annotations

import hashlib
import re
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tables import DOCS, block

TABLES, OVERVIEW, PICTURE = "measurements.md", "performance.md", "performance.png"
Row = dict[str, str]


class Area(NamedTuple):
    """The tables of a section: its heading, the libraries of the comparison, and the ratios of a row."""

    title: str
    tables: tuple[str, ...]
    against: str
    ratios: Callable[[Row], list[float]]
    heading: str = ""
    """The heading of its section, if it is not the title."""


# -- ratios of rows --------------------------------------------------------------------------------------


def ratio(text: str) -> float | None:
    """Return a ratio such as ``3.53 x``, ``3.53`` or ``over 1,000 x``; None for other texts."""
    match = re.fullmatch(r"(?:over )?([\d.,]+)(?: x)?", text)
    return float(match[1].replace(",", "")) if match else None


def time(text: str) -> float | None:
    """Return a time such as ``8.3 ms`` in seconds."""
    number, _, unit = text.partition(" ")
    scale = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}.get(unit)
    return float(number) * scale if scale else None


def faster(*columns: str) -> Callable[[Row], list[float]]:
    """Return the lowest ratio of some columns; rows of several threads and of Wengert itself have none."""

    def ratios(row: Row) -> list[float]:
        names = [row.get(column, "") for column in ("solver", "by", "sampler", "peer")]
        own = any(name.startswith(("wg.", "Wengert")) for name in names)
        if own or row.get("threads", "1") != "1":
            return []
        found = [ratio(row[column]) for column in columns if column in row]
        return [min(number for number in found if number)] if any(found) else []

    return ratios


def sparse(row: Row) -> list[float]:
    own, *others = (time(row[name]) for name in ("a call", "SciPy's differences by groups", "CasADi"))
    return [min(other for other in others if other) / own] if own and any(others) else []


def operations(row: Row) -> list[float]:
    """Return the ratios for small and for large arrays, which the table has side by side."""
    numbers = [ratio(text) for text in row.values() if text.endswith(" x")]
    return [min(filter(None, pair)) for pair in (numbers[:2], numbers[2:])] if len(numbers) == 4 else []


def breadth(row: Row) -> list[float]:
    workloads = row.get("workloads", "")
    mean = ratio(row.get("geometric mean", ""))
    return [mean] if mean and workloads.endswith("threads: 1") and "half" not in workloads else []


def loops(row: Row) -> list[float]:
    """Return the ratio of a program; the table of means has none."""
    return faster("faster than Numba by")(row) if "program" in row else []


AREAS = (
    Area(
        "Compiled programs",
        ("compiled",),
        "PyTorch, JAX, TensorFlow, Numba, autograd, NumPy",
        faster("Wengert is faster by"),
    ),
    Area("Eight areas of workloads, means", ("breadth",), "NumPy, JAX, PyTorch", breadth, "Breadth"),
    Area("Plain loops", ("loops",), "Numba", loops),
    Area("Sparse derivatives", ("sparse",), "CasADi, SciPy's differences", sparse),
    Area(
        "Fourier transforms",
        ("fourier",),
        "SciPy, JAX",
        faster("faster than scipy.fft by", "faster than JAX by"),
    ),
    Area(
        "High derivatives and Laplacians",
        ("higher order", "laplacians", "higher order loops"),
        "JAX, folx",
        faster("faster by"),
    ),
    Area("Optimisation", ("optimisation",), "SciPy, jaxopt, optimistix", faster("Wengert is faster by")),
    Area(
        "Differential equations",
        ("differential equations",),
        "SciPy, diffrax, CasADi",
        faster("Wengert is faster by"),
    ),
    Area("Sampling", ("sampling",), "NumPyro, BlackJAX", faster("Wengert is faster by")),
    Area("Gradients in eager mode", ("eager",), "autograd", faster("Wengert is faster by")),
    Area(
        "Single operations in eager mode",
        ("operations",),
        "autograd, PyTorch",
        operations,
        "Gradients in eager mode",
    ),
)


# -- the tables of the page ------------------------------------------------------------------------------


def rows(text: str) -> Iterator[Row]:
    """Yield the rows of the Markdown tables of a text, by the names of their columns; equal names get numbers."""
    head: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            head = []
        elif not head:
            head = [
                name if cells.index(name) == place else f"{name} {place}" for place, name in enumerate(cells)
            ]
        elif not set(line) <= set("|:- "):
            yield dict(zip(head, cells, strict=True))


def ratios(page: str, area: Area) -> list[float]:
    """Return how many times as fast as the fastest other library each workload of an area is."""
    found: dict[tuple[str, int], float] = {}
    for table in area.tables:
        for row in rows(block(page, table)[1]):
            workload = f"{table}: {next(iter(row.values()))}"
            if workload.endswith("geometric mean"):
                continue
            for place, number in enumerate(area.ratios(row)):
                found[workload, place] = min(number, found.get((workload, place), number))
    return list(found.values())


def days(page: str, area: Area) -> str:
    """Return the dates of the tables of an area."""
    found = [re.search(r"The table is of (.+)\.", block(page, table)[1]) for table in area.tables]
    return ", ".join(dict.fromkeys(day[1] for day in found if day))


def anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def summary(page: str) -> str:
    """Return the table of the overview."""
    lines = [
        "| | against | workloads | lowest | median | highest | date |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for area in AREAS:
        numbers = ratios(page, area)
        spread = [min(numbers), statistics.median(numbers), max(numbers)]
        figures = " | ".join(f"{number:.3g} x" if number < 1000 else f"{number:,.0f} x" for number in spread)
        link = f"[{area.title}]({TABLES}#{anchor(area.heading or area.title)})"
        lines.append(f"| {link} | {area.against} | {len(numbers)} | {figures} | {days(page, area)} |")
    return "\n".join(lines)


def digest(page: str) -> str:
    """Return a text that tells the ratios of the tables from others; the picture has it in its metadata."""
    text = repr([(area.title, ratios(page, area)) for area in AREAS])
    return hashlib.sha256(text.encode()).hexdigest()


def draw(page: str, picture: Path) -> None:
    """Draw the ratios: a row of dots for each area, with its median."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    for place, area in enumerate(reversed(AREAS)):
        numbers = ratios(page, area)
        axes.plot(
            numbers, [place] * len(numbers), "o", color="#2563eb", alpha=0.45, markersize=6, markeredgewidth=0
        )
        axes.plot(
            [statistics.median(numbers)], [place], "|", color="#111827", markersize=18, markeredgewidth=2
        )
    axes.axvline(1.0, color="#9ca3af", linewidth=1)
    axes.set_xscale("log")
    axes.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    axes.set_yticks(range(len(AREAS)), [area.title for area in reversed(AREAS)])
    axes.set_xlabel("times as fast as the fastest other library (a dot is a workload, a bar the median)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e5e7eb")
    axes.set_axisbelow(True)
    figure.savefig(picture, dpi=110, metadata={"Description": digest(page)})
    plt.close(figure)


def write(folder: Path = DOCS) -> None:
    """Write the overview of the tables in a folder, and its picture."""
    text = (folder / TABLES).read_text("utf-8")
    before, _, after = block((folder / OVERVIEW).read_text("utf-8"), "overview")
    (folder / OVERVIEW).write_text(f"{before}\n\n{summary(text)}\n\n{after}", "utf-8")
    draw(text, folder / PICTURE)


if __name__ == "__main__":
    write()
