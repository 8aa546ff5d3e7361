"""The measurements have commands and dates; the overview of the performance page and its picture are theirs."""

from __future__ import annotations

import calendar
import re
from pathlib import Path

import pytest

from tests.benchmarks import benchmark

ROOT = Path(__file__).parents[1]
OVERVIEW, PAGE = (
    (ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("performance", "measurements")
)
SECTIONS = [
    part for part in re.split(r"^(?=##)", PAGE, flags=re.M)[1:] if re.search(r"^\|[-:|]+\|$", part, re.M)
]
MONTHS = "|".join(calendar.month_name[1:])
DATE = re.compile(rf"\b[1-3]?\d (?:{MONTHS}) 20\d\d\b")

overview = benchmark("overview")
tables = benchmark("tables")


@pytest.mark.exhaustive
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0].strip("# "))
def test_each_section_with_a_table_has_a_command_and_a_date(section: str):
    commands = re.findall(r"python (benchmarks/[\w/]+\.py)", section)
    assert commands
    assert all((ROOT / command).is_file() for command in commands)
    assert DATE.search(section)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", re.findall(r"<!-- end of (.+) -->", PAGE))
def test_each_written_table_has_its_date(name: str):
    _, table, _ = tables.block(PAGE, name)
    assert DATE.search(table)


def test_the_page_fits_on_six_screens():
    assert len(OVERVIEW.splitlines()) < 6 * 45


def test_the_overview_is_that_of_the_tables():
    assert tables.block(OVERVIEW, "overview")[1].strip() == overview.summary(PAGE), (
        "run benchmarks/overview.py"
    )


def test_the_picture_is_that_of_the_tables():
    Image = pytest.importorskip("PIL.Image")
    with Image.open(ROOT / "docs" / "performance.png") as picture:
        assert picture.text["Description"] == overview.digest(PAGE), "run: python benchmarks/overview.py"


def test_ratios():
    assert [overview.ratio(text) for text in ("3.53 x", "0.785 x", "over 1,000 x", "1.2", "1.2 ms", "")] == [
        *(3.53, 0.785, 1000.0, 1.2),
        *(None, None),
    ]
    assert overview.time("250.0 µs") == pytest.approx(2.5e-4)


PAGE_OF_SOLVERS = """
<!-- a: made by benchmarks/a.py -->

| problem | solver | Wengert is faster by |
|---|---|---:|
| one | wg.solve | |
| one | wg.solve, again | 0.5 x |
| one | first | 3.0 x |
| one | second | 2.0 x |
| two | first | 5.0 x |

The table is of 3 April 2027.

<!-- end of a -->
"""


def test_the_fastest_other_library_counts():
    area = overview.Area("A", ("a",), "others", overview.faster("Wengert is faster by"))
    assert overview.ratios(PAGE_OF_SOLVERS, area) == [2.0, 5.0]
    assert overview.days(PAGE_OF_SOLVERS, area) == "3 April 2027"


def test_a_new_table_has_a_date_and_leads_to_a_new_overview(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("matplotlib")
    (tmp_path / "measurements.md").write_text(PAGE, "utf-8")
    (tmp_path / "performance.md").write_text(OVERVIEW, "utf-8")
    monkeypatch.setattr(tables, "DOCS", tmp_path)
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    table = "| gradient | Wengert is faster by |\n|---|---:|\n| f | 7.25 x |"
    tables.replace_table("measurements.md", "eager", table)
    text = (tmp_path / "measurements.md").read_text("utf-8")
    assert re.search(r"7\.25 x \|\n\nThe table is of " + DATE.pattern + r"\.\n\n<!-- end of eager -->", text)
    lines = (tmp_path / "performance.md").read_text("utf-8").splitlines()
    line = next(line for line in lines if line.startswith("| [Gradients in eager mode]"))
    assert "| 1 | 7.25 x | 7.25 x | 7.25 x |" in line
    assert (tmp_path / "performance.png").stat().st_size > 10_000
