"""Programs on several ranks compute the same bits as on one. They need mpi4py and an MPI."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.draws import CASES
from wengert.parallel.launch import find_mpiexec

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None and os.environ.get("WENGERT_REQUIRE_MPI") != "1",
    reason="mpi4py is not installed",
)
EXAMPLE = Path(__file__).parents[2] / "examples" / "ranks.py"
UNEVEN = """
import hashlib
import numpy as np
from wengert.parallel import Group
from wengert.parallel.layout import Layout
from wengert.parallel.reduction import Reduction
from wengert.parallel.tree import shares

group, rng, bits = Group.from_mpi(), np.random.default_rng(0), hashlib.sha256()
for size in (3, 5000):
    trees = (rng.standard_normal((13, size)) * 10.0 ** rng.integers(-5, 5, (13, 1))).astype(np.float32)
    reduction = Reduction(Layout.of(trees[0]), 13, group.communicator)
    out = reduction.layout.buffer()
    for slower in (1.0, 2.0, 9.0, 0.3):
        reduction.divide(shares(13, [1.0, slower, 1.5][: group.size]))
        for part in reduction.own:
            reduction.add(part, reduction.packed(trees[part]))
        bits.update(reduction.layout.unpack(reduction.finish(out)).tobytes())
if group.rank == 0:
    print(bits.hexdigest())
"""


def printed(ranks: int, *arguments: str) -> str:
    mpiexec = find_mpiexec()
    program = [sys.executable, *arguments]
    command = program if ranks == 1 else mpiexec.command(ranks, program)
    with tempfile.TemporaryDirectory() as folder:
        variables = mpiexec.environment(ranks, Path(folder))
        ran = subprocess.run(command, capture_output=True, text=True, timeout=600, env=variables)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_uneven_shares_change_no_bit():
    assert printed(1, "-c", UNEVEN) == printed(2, "-c", UNEVEN) == printed(3, "-c", UNEVEN)


@pytest.mark.rest
def test_estimates_and_draws_have_the_same_bits_on_every_number_of_ranks():
    one, some = (printed(ranks, str(EXAMPLE)) for ranks in (1, 2 + CASES % 2))
    assert one == some
    assert "most probable [ 0.555 -1.081  2.002]" in one
    assert "deviations [0.06 0.07 0.1 ]" in one
