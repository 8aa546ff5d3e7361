"""Fixtures, the hypothesis profile, and the rule that data may be required instead of optional."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections import Counter
from collections.abc import Generator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests import collecting
from tests.commands import Ended
from tests.draws import SHARE
from tests.seconds import name_of, recorded, register
from wengert.compiler import linear_algebra as linear_algebra  # with the operations that the compiler states
from wengert.data import digits, write_idx
from wengert.engine.transforms import substitution

os.environ.setdefault("WENGERT_VERIFY", "1")  # the compiler's passes are verified, in subprocesses, too
DATA_REQUIRED = os.environ.get("WENGERT_REQUIRE_DATA") == "1"

# Speed is the benchmarks' business: a loaded machine must not fail a property.
settings.register_profile(
    "wengert",
    max_examples=max(2, round(50 * SHARE)),  # of a property that names no number
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("wengert")

# Hypothesis would draw the constants of all files of the package, too: each process of a fresh copy would parse them
# for 7 s, and with a change of any number all tests would draw other examples.
with contextlib.suppress(ImportError):  # earlier versions draw none
    from hypothesis.internal.conjecture import providers

    setattr(providers, "is_local_module_file", lambda path: False)  # noqa: B010 (a module's function)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests, which all stay, without the garbage collector: it would go through them again and again.

    Nothing is frozen: with the lowest version, hypothesis's replays differ over a frozen heap.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, object, object]:
    """Begin with the files that take longest: no process waits for another at the end."""
    result = yield  # tests are deselected by their marks
    seconds, files = recorded(), Counter[str]()
    for item in items:
        files[item.nodeid.partition("::")[0]] += seconds.get(name_of(item.nodeid), 0.0)
    items.sort(key=lambda item: -files[item.nodeid.partition("::")[0]])
    return result


def pytest_configure(config: pytest.Config) -> None:
    register(config)
    config.pluginmanager.register(collecting)


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """Go once through what is left, for errors of finalizers, and not again at each step of the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each file to one process: fixtures of a module are made once, and what a file compiles is found again.

    Where there is no more than a file for each process, give the cases out: no process waits for another.
    """
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        @cached_property
        def few_files(self) -> bool:
            return len({name.partition("::")[0] for name in self.collection}) <= self.numnodes

        def _split_scope(self, nodeid: str) -> str:
            return nodeid if self.few_files else super()._split_scope(nodeid)

    config.option.loadscopereorder = False  # as sorted above
    return Scheduling(config, log)


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a generator that draws the same numbers in every run."""
    return np.random.default_rng(1964)


@pytest.fixture
def without_substitutes(monkeypatch):
    """Run programs once, as they are: the errors of names that lose a value are those of the first run."""
    monkeypatch.setattr(substitution, "ENABLED", False)


@pytest.fixture(scope="session")
def mnist_folder() -> Path:
    """Return the folder that holds the four MNIST files."""
    if "WENGERT_DATA" not in os.environ:
        pytest.skip("WENGERT_DATA is not set")
    return Path(os.environ["WENGERT_DATA"]) / "mnist"


@pytest.fixture(scope="session")
def small_mnist(tmp_path_factory):
    """Return a folder with MNIST's files, of 200 and 50 drawn digits."""
    folder = tmp_path_factory.mktemp("mnist")
    for part, name, count in (("train", "train", 200), ("test", "t10k", 50)):
        images, labels = digits(count, seed=len(part))
        write_idx(folder / f"{name}-images-idx3-ubyte", images)
        write_idx(folder / f"{name}-labels-idx1-ubyte", labels)
    return folder


@pytest.fixture(scope="session", autouse=True)
def compiled_programs(tmp_path_factory):
    """Keep compiled programs in a folder that is empty at first: not in the user's, which knows of other runs.

    The processes of a run share it.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "programs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WENGERT_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def trained_with(tmp_path_factory):
    """Keep the record of programs that runs train with in a folder of the tests."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


@pytest.fixture
def wengert(monkeypatch, tmp_path, compiled_programs, capsys):
    """Run the command in this process, in an empty folder."""
    from wengert.app.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WENGERT_DATA", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("WENGERT_CACHE", str(compiled_programs))
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["wengert", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(ended.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def no_pictures(monkeypatch):
    """Make as if matplotlib were not installed."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip for missing data into a failure where WENGERT_REQUIRE_DATA is 1."""
    report = yield
    if DATA_REQUIRED and report.skipped and "WENGERT_DATA" in report.longreprtext:
        report.outcome = "failed"
        report.longrepr = f"{report.longreprtext}, which WENGERT_REQUIRE_DATA forbids"
    return report
