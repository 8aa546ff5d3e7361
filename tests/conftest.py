"""Fixtures, the hypothesis profile, and the rule that data may be required instead of optional."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

DATA_REQUIRED = os.environ.get("WENGERT_REQUIRE_DATA") == "1"

# Speed is the benchmarks' business: a loaded machine must not fail a property.
settings.register_profile(
    "wengert",
    max_examples=50,
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("wengert")


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a generator that draws the same numbers in every run."""
    return np.random.default_rng(1964)


@pytest.fixture(scope="session")
def mnist_folder() -> Path:
    """Return the folder that holds the four MNIST files."""
    if "WENGERT_DATA" not in os.environ:
        pytest.skip("WENGERT_DATA is not set")
    return Path(os.environ["WENGERT_DATA"]) / "mnist"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip for missing data into a failure where WENGERT_REQUIRE_DATA is 1."""
    report = yield
    if DATA_REQUIRED and report.skipped and "WENGERT_DATA" in report.longreprtext:
        report.outcome = "failed"
        report.longrepr = f"{report.longreprtext}, which WENGERT_REQUIRE_DATA forbids"
    return report
