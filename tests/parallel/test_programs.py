"""Programs on several ranks compute the same bits as on one. They need mpi4py and an MPI."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wengert.parallel.launch import find_mpiexec

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None and os.environ.get("WENGERT_REQUIRE_MPI") != "1",
    reason="mpi4py is not installed",
)
PROGRAM = Path(__file__).parents[2] / "examples" / "ranks.py"


def printed(ranks: int) -> str:
    mpiexec = find_mpiexec()
    program = [sys.executable, str(PROGRAM)]
    command = program if ranks == 1 else mpiexec.command(ranks, program)
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, env=mpiexec.environment())
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.rest
def test_estimates_and_draws_have_the_same_bits_on_every_number_of_ranks():
    one, two, three = map(printed, (1, 2, 3))
    assert one == two == three
    assert "most probable [ 0.555 -1.081  2.002]" in one
    assert "deviations [0.06 0.07 0.1 ]" in one
