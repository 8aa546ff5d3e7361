"""Compiled programs that call LAPACK's routines: the numbers of eager mode, errors, threads, other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from wengert.engine.kernels import lapack
from wengert.engine.machine import costs
from wengert.scipy.linalg import solve_banded, solve_triangular

linalg: Any = np.linalg  # its stubs know arrays only


@pytest.fixture(autouse=True)
def small_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small matrices take routines, too."""
    changed = replace(costs.COSTS, native_matrix_rows=0, expanded_operations=0)
    monkeypatch.setattr(costs, "COSTS", changed)


def positive(rng: Any, *shape: int) -> Any:
    a = rng.normal(size=shape)
    return a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])


#: Functions of a stack of positive definite matrices and of right-hand sides, with a weight for each result.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "solve": lambda a, b: linalg.solve(a + a[..., :1, :], b),
    "solve with the transpose": lambda a, b: linalg.solve(np.swapaxes(a + a[..., :1, :], -1, -2), b),
    "inv": lambda a, b: linalg.inv(a) @ b,
    "det": lambda a, b: linalg.det(a / a.shape[-1] / 4)[..., None, None] * b,
    "slogdet": lambda a, b: linalg.slogdet(a)[1][..., None, None] * b,
    "cholesky": lambda a, b: linalg.cholesky(a) @ b,
    "qr": lambda a, b: linalg.qr(a)[1] @ b,
    "qr, tall": lambda a, b: linalg.qr(np.concatenate([a, a @ a / 8], -2))[0] @ b,
    "lower": lambda a, b: solve_triangular(a, b, lower=True),
    "upper": lambda a, b: solve_triangular(a, b, trans="T"),
    "unit": lambda a, b: solve_triangular(a / (4 * a.shape[-1]), b, lower=True, unit_diagonal=True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@examples(2)
@given(data=st.data())
def test_values_and_derivatives_are_those_of_eager_mode(name: str, data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(3, 7)), data.draw(st.integers(1, 3))
    lead = data.draw(st.sampled_from([(), (3,), (2, 1)]))
    dtype = data.draw(st.sampled_from(["f8", "f4"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    a, b = (
        positive(rng, *lead, rows, rows).astype(dtype),
        rng.normal(size=(*lead, rows, columns)).astype(dtype),
    )
    moved = positive(rng, *lead, rows, rows).astype(dtype)

    def program(a: Any, b: Any) -> Any:
        return np.sum(np.sin(FUNCTIONS[name](a, b)))

    def program_to_second_order(a: Any, b: Any) -> Any:
        slopes = wg.grad(program, (0, 1))
        return wg.jvp(slopes, (a, b), (moved, b))

    compiled = wg.jit(program_to_second_order)
    assert not compiled.report(a, b).hosts
    assert_same(compiled(a, b), program_to_second_order(a, b), 1e-9 if dtype == "f8" else 2e-3)


def assert_same(found: Any, expected: Any, tolerance: float) -> None:
    for result, reference in zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True):
        assert result.dtype == reference.dtype
        scale = max(np.max(np.abs(reference)), 1e-3)
        np.testing.assert_allclose(result, reference, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("windowed", [0, 8])
@examples(4)
@given(data=st.data())
def test_banded_matrices(windowed: int, data: st.DataObject) -> None:
    """LAPACK or nests solve the equations."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    lower, upper, rows = (data.draw(st.integers(1, most)) for most in (3, 3, 9))
    dtype = data.draw(st.sampled_from(["f8", "f4"]))
    place = (np.arange(lower + upper + 1) == upper)[:, None]
    bands = (rng.normal(size=(lower + upper + 1, rows)) + 6 * place).astype(dtype)
    b = rng.normal(size=(rows, data.draw(st.integers(1, 2)))).astype(dtype)

    def both(bands: Any, b: Any) -> Any:
        return wg.value_and_grad(lambda *x: np.sum(np.sin(solve_banded((lower, upper), *x))), (0, 1))(
            bands, b
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "COSTS", replace(costs.COSTS, windowed_diagonals=windowed))
        compiled = wg.jit(both)
        report = compiled.report(bands, b)
        assert not report.hosts
        assert any("gbtrs" in routine for routine in report.routines) == (lower + upper > windowed)
        assert_same(compiled(bands, b), both(bands, b), 1e-10 if dtype == "f8" else 1e-3)


def test_a_batch_by_vmap(rng: Any) -> None:
    a, b = positive(rng, 4, 5, 5), rng.normal(size=(5, 2))
    program = wg.vmap(lambda a: linalg.solve(a, b) + linalg.cholesky(a)[:, :2])
    np.testing.assert_allclose(wg.jit(program)(a), program(a), rtol=1e-12, atol=1e-12)


def test_singular_matrices(rng: Any) -> None:
    flat, b = np.ones((5, 5)), np.ones((5, 1))
    with pytest.raises(linalg.LinAlgError, match=r"solve: Singular matrix; got f64\[5,5\].*test_routine.py"):
        wg.jit(lambda a: linalg.solve(a, b))(flat)
    with pytest.raises(
        linalg.LinAlgError, match=r"inverse: Singular matrix; got f64\[2,5,5\].*test_routine.py"
    ):
        wg.jit(linalg.inv)(np.stack([np.eye(5), flat]))
    with pytest.raises(
        linalg.LinAlgError, match=r"cholesky: Matrix is not positive definite.*test_routine.py"
    ):
        wg.jit(lambda a: linalg.cholesky(a))(-flat)
    with pytest.raises(linalg.LinAlgError, match="solve_triangular: singular matrix"):
        wg.jit(lambda a: solve_triangular(a, b))(np.zeros((5, 5)))
    with pytest.raises(linalg.LinAlgError, match="solve_banded: Singular matrix"):
        wg.jit(lambda a: solve_banded((1, 1), a, b))(np.zeros((3, 5)))
    sign, logarithm = wg.jit(lambda a: tuple(linalg.slogdet(a)))(np.stack([flat, -np.eye(5)]))
    np.testing.assert_array_equal(sign, [0, -1])
    np.testing.assert_array_equal(logarithm, [-np.inf, 0])


def test_one_function_in_several_threads(rng: Any) -> None:
    solve = wg.jit(lambda a, b: linalg.solve(a, b))
    a, b = positive(rng, 8, 40, 40), rng.normal(size=(8, 40, 3))
    expected = linalg.solve(a, b)
    found: list[Any] = [None] * 8

    def run(number: int) -> None:
        for _ in range(20):
            found[number] = solve(a[number], b[number])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


_PROGRAM = """
import sys
if "blocked" in sys.argv:
    sys.modules["scipy"] = None
import numpy as np
import wengert as wg
assert "scipy.linalg" not in sys.modules
a = np.arange(70.0**2).reshape(70, 70) % 17 + 70 * np.eye(70)
function = wg.jit(lambda a: wg.grad(lambda a: np.sum(np.linalg.solve(a, np.ones((70, 1)))))(a))
print(float(np.sum(function(a) ** 2)), len(function.report(a).hosts))
"""


def test_other_processes_load_the_program_and_do_without_scipy(tmp_path: Path) -> None:
    variables = {**os.environ, "WENGERT_CACHE": str(tmp_path), "WENGERT_LOG": "jit"}

    def run(*arguments: str) -> tuple[float, str, str]:
        command = [sys.executable, "-c", _PROGRAM, *arguments]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
        value, hosts = done.stdout.split()
        return float(value), hosts, done.stderr

    first, second, blocked = run(), run(), run("blocked")
    assert first[:2] == second[:2]
    assert "cache" in second[2]
    assert (first[1], blocked[1]) == ("0", "2")
    np.testing.assert_allclose(blocked[0], first[0], rtol=1e-12)


def test_addresses() -> None:
    assert lapack.is_available()
    assert lapack.address("dgetrf") != lapack.address("sgetrf")
    assert {"dgetrf", "dtrsm"} <= lapack.loaded_names()
    with pytest.raises(KeyError):
        lapack.address("no_routine")
    with pytest.raises(KeyError):
        lapack.address("dlange")  # a function with a result
