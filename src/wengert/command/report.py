"""What ``wengert report`` and ``wengert compare`` do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wengert.report.comparison import Comparison, comparison, comparison_report
from wengert.report.page import is_page
from wengert.report.run import run_report
from wengert.train.files import RunError, write_file, writing
from wengert.train.runs import Run
from wengert.train.settings import SettingsError

REPORT, COMPARISON = "report.html", "comparison.html"
_NARROWEST = 80


def write_report(folder: str, out: str | None, *, trust: bool = False) -> Path:
    """Write the page about the run of a folder, and return where it is: by default, in the folder.

    With ``trust``, the run's own program is run, whoever wrote it: see `Run.open`.

    Raises:
        DataError: the folder holds no run, or a damaged one.
        RunError: the page cannot be written, or would replace a file elsewhere that is no page of this kind.
    """
    path = _page(out, Path(folder) / REPORT)
    if out is not None:
        _spare(path)
    write_file(path, run_report(Run.open(folder, trust=trust)).encode("utf-8", "replace"))
    return path


def write_comparison(folders: Sequence[str], out: str | None, *, trust: bool = False) -> Path:
    """Print a table of runs, write the page about them, and return where it is: by default, in this folder.

    With ``trust``, the runs' own programs are run, whoever wrote them: see `Run.open`.

    Raises:
        DataError: a folder holds no run, or a damaged one.
        RunError: the page cannot be written, or would replace a file that is no page of this kind.
    """
    path = _page(out, Path(COMPARISON))
    _spare(path)
    runs = [Run.open(folder, trust=trust) for folder in folders]
    _print(comparison(runs), [run.left_out for run in runs if run.left_out])
    write_file(path, comparison_report(runs).encode("utf-8", "replace"))
    return path


def _page(out: str | None, default: Path) -> Path:
    path = default if out is None else Path(out)
    if path.suffix != ".html":
        raise SettingsError(f"--out must be named *.html; got {path}")
    return path


def _spare(path: Path) -> None:
    """Raise `RunError` where a file stands that is none of these pages: it may be all that somebody has."""
    with writing(path):
        if path.exists() and not is_page(path):
            raise RunError(f"{path} is there, and no report of wengert's: choose another name with --out")


def _print(found: Comparison, notes: Sequence[str]) -> None:
    """Print runs side by side, as many at a time as the terminal is wide, and notes about them."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    console.width = max(console.width, _NARROWEST)  # better wrapped by a narrow terminal than cut
    names = max(map(len, found.head))
    widest = max(len(cell) for row in found.rows for cell in row)
    at_once = max((console.width - names - 4) // (widest + 3), 1)
    for start in range(0, len(found.rows), at_once):
        part = found.rows[start : start + at_once]
        table = Table(found.head[0])
        for name, *_ in part:
            table.add_column(name, justify="right", overflow="fold")
        for number, title in enumerate(found.head[1:], 1):
            table.add_row(title, *(row[number] for row in part), end_section=number == found.texts - 1)
        console.print(table, crop=False)
    for note in notes:
        console.print(f"note      {note}", soft_wrap=True)
