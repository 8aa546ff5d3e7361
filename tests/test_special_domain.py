"""The special functions and distributions over their whole domains, in value and derivative, against mpmath."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("mpmath")
pytest.importorskip("scipy")

from tests.special_domain import MODES, Case, faults
from tests.special_inverses import CASES

SEED = int(os.environ.get("WENGERT_CASES", "1"))

# SciPy takes real counts of trials, and says that it will not.
pytestmark = pytest.mark.filterwarnings("ignore:non-integer arg n:DeprecationWarning")


def _check(case: Case, seed: int, count: int) -> int:
    found, _ = faults(case, seed, max(1, count // case.cost), MODES)
    wrong = [fault for fault in found if not fault.error <= case.limit]
    assert not wrong, max(wrong)
    return len(found)


#: Cases that take little time, of series, quotients, products of exponentials and distributions.
FAST = {"betaln", "poch", "i0e", "k1e", "entr", "kl_div", "stats.nbinom.logpmf", "stats.halfnorm.logsf"}
FAST |= {"yv, of high orders"}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[pytest.mark.exhaustive] * (case.name in FAST), id=case.name)
        for case in CASES
    ],
)
def test_values_and_derivatives_are_those_of_mpmath(case: Case) -> None:
    _check(case, SEED, 4)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_many_values_and_derivatives_are_those_of_mpmath(case: Case) -> None:
    _check(case, 1000 + SEED, 32)
