"""Calls of BLAS and LAPACK on one thread, while OpenBLAS keeps its number of threads for all others."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.runtime.threads.serial_blas import serial
from wengert.engine.core.blas_threads import PACKAGES, ThreadNumber, thread_number
from wengert.engine.machine import costs

packages = pytest.mark.parametrize("package", PACKAGES)


@pytest.fixture
def number(package: str) -> Iterator[ThreadNumber]:
    functions = thread_number(package)
    if functions is None:
        pytest.skip(f"this build of {package} has another BLAS")
    before = functions.get()
    functions.set(3)
    yield functions
    functions.set(before)


@packages
def test_calls_within_calls_end_together(number: ThreadNumber, package: str) -> None:
    other = PACKAGES[1 - PACKAGES.index(package)]
    with serial(package):
        assert number.get() == 1
        with serial(package):
            assert number.get() == 1
        assert number.get() == 1
    assert number.get() == 3
    with serial(other):
        assert number.get() == 3


@packages
def test_the_number_returns_after_an_error(number: ThreadNumber, package: str) -> None:
    with pytest.raises(ZeroDivisionError), serial(package):
        raise ZeroDivisionError
    assert number.get() == 3


@packages
def test_calls_of_several_threads(number: ThreadNumber, package: str) -> None:
    numbers: list[int] = []

    def work() -> None:
        for _ in range(2000):
            with serial(package):
                numbers.append(number.get())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(numbers) == {1}
    assert number.get() == 3


@packages
def test_one_thread_stays_one(number: ThreadNumber, package: str) -> None:
    number.set(1)
    with serial(package):
        assert number.get() == 1
    assert number.get() == 1


@packages
def test_a_number_that_someone_sets_meanwhile_stays(number: ThreadNumber, package: str) -> None:
    with serial(package):
        number.set(2)
    assert number.get() == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@packages
def test_a_forked_child_counts_its_own_calls(number: ThreadNumber, package: str) -> None:
    with serial(package):
        child = os.fork()
    if child == 0:
        outside = number.get()  # the end of the parent's call changes nothing in the child
        with serial(package):
            inside = number.get()
        os._exit(10 * inside + outside)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 13


@pytest.mark.parametrize("package", ["scipy"])
def test_a_compiled_program_leaves_the_number(number: ThreadNumber) -> None:
    pytest.importorskip("scipy")
    a = np.random.default_rng(1).normal(size=(100, 100))
    q, r = wg.jit(np.linalg.qr)(a)
    np.testing.assert_allclose(q @ r, a, atol=1e-12)
    assert number.get() == 3


@pytest.mark.parametrize("package", ["numpy"])
def test_numpy_computes_on_the_calling_thread_in_a_compiled_program(
    number: ThreadNumber, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[int] = []
    usual = np.linalg.eigvals

    def watched(*operands: Any) -> Any:
        inside.append(number.get())
        return usual(*operands)

    monkeypatch.setattr(np.linalg, "eigvals", watched)
    values = wg.jit(lambda a: wg.numpy.linalg.eigvals(a).real)
    for rows, threads in ((100, 1), (300, 3)):
        values(np.eye(rows))
        inside.clear()
        values(np.eye(rows))
        assert inside == [threads]
    assert number.get() == 3


def test_large_matrices_keep_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy")
    a = np.random.default_rng(1).normal(size=(100, 100))

    def text() -> str:
        return wg.jit(lambda a: np.linalg.qr(a)[1]).llvm(a)

    assert "wengert_serial_begin" in text()
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, serial_blas_work=0))
    assert "wengert_serial_begin" not in text()
