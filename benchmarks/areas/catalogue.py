"""All workloads."""

from __future__ import annotations

from areas import (  # noqa: F401 (declare their families)
    convolutions,
    indexing,
    linear_algebra,
    networks,
    products,
    recurrences,
    reductions,
    simulations,
)
from areas.families import FAMILIES, Workload


def workloads() -> list[Workload]:
    """Return the workloads of all families."""
    return [workload for family in FAMILIES for workload in family.workloads()]
