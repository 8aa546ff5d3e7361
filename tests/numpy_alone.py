"""``pytest -p tests.numpy_alone``: the tests of what needs NumPy alone, where no other package is installed.

A test, or a file of tests, that asks for another package is skipped.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Generator
from typing import Any

import pytest

OTHERS = ("llvmlite", "click", "rich", "safetensors", "scipy")


def asks_for_more(error: BaseException | None) -> bool:
    """Return whether an error is that of a missing package, has one as its cause, or compares one with NumPy's."""
    while error is not None:
        if isinstance(error, ImportError) or "MissingExtraError" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def pytest_configure() -> None:
    """Refuse an environment that has what Wengert should not need."""
    found = [name for name in OTHERS if importlib.util.find_spec(name)]
    if found:
        raise pytest.UsageError(f"this environment must have NumPy alone; it has {', '.join(found)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    """Skip a test that asks for another package."""
    try:
        return (yield)
    except BaseException as error:  # pytest's own, too
        if asks_for_more(error):
            pytest.skip(f"needs another package: {error}")
        raise


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Skip a file that imports another package."""
    report = yield
    problem = report.longrepr
    if report.failed and any(name in str(problem) for name in ("ModuleNotFoundError", "MissingExtraError")):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, "needs another package")
    return report
