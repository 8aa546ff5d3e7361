"""``wengert report`` and ``wengert compare``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wengert.report.compare import Comparison, comparison, comparison_report
from wengert.report.markup import is_page
from wengert.report.run import run_report
from wengert.train.runs import Run
from wengert.train.settings import SettingsError
from wengert.train.storage import RunError, write_file, writing

REPORT, COMPARISON = "report.html", "comparison.html"
_NARROWEST = 80


def write_report(folder: str, out: str | None, *, trust: bool = False) -> Path:
    """Write the page of a run, by default into its folder, and return its path."""
    path = _page(out, Path(folder) / REPORT)
    if out is not None:
        _protect(path)
    write_file(path, run_report(Run.open(folder, trust=trust)).encode("utf-8", "replace"))
    return path


def write_comparison(folders: Sequence[str], out: str | None, *, trust: bool = False) -> Path:
    """Print a table of runs, write their page, by default into the current folder, and return its path."""
    path = _page(out, Path(COMPARISON))
    _protect(path)
    runs = [Run.open(folder, trust=trust) for folder in folders]
    _print(comparison(runs), [run.left_out for run in runs if run.left_out])
    write_file(path, comparison_report(runs).encode("utf-8", "replace"))
    return path


def _page(out: str | None, default: Path) -> Path:
    path = default if out is None else Path(out)
    if path.suffix != ".html":
        raise SettingsError(f"--out must be named *.html; got {path}")
    return path


def _protect(path: Path) -> None:
    """Raise `RunError` if a file exists that is not a report: the user may need it."""
    with writing(path):
        if path.exists() and not is_page(path):
            raise RunError(f"{path} exists and is not a report of wengert: choose another file with --out")


def _print(results: Comparison, notes: Sequence[str]) -> None:
    """Print runs side by side, as many at a time as fit into the terminal, and notes about them."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    console.width = max(console.width, _NARROWEST)  # a narrow terminal wraps the table instead of cutting it
    names = max(map(len, results.head))
    widest = max(len(cell) for row in results.rows for cell in row)
    at_once = max((console.width - names - 4) // (widest + 3), 1)
    for start in range(0, len(results.rows), at_once):
        part = results.rows[start : start + at_once]
        table = Table(results.head[0])
        for name, *_ in part:
            table.add_column(name, justify="right", overflow="fold")
        for number, title in enumerate(results.head[1:], 1):
            table.add_row(title, *(row[number] for row in part), end_section=number == results.texts - 1)
        console.print(table, crop=False)
    for note in notes:
        console.print(f"note      {note}", soft_wrap=True)
