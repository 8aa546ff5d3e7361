"""All programs."""

from __future__ import annotations

from tests.programs.loops import (
    convergence,
    dense,
    dynamic,
    dynamics,
    finance,
    graphs,
    images,
    ordering,
    recurrences,
    states,
    stencils,
)

KINDS = (
    dense,
    stencils,
    dynamic,
    recurrences,
    convergence,
    dynamics,
    finance,
    ordering,
    images,
    graphs,
    states,
)

PROGRAMS = {program.name: program for kind in KINDS for program in kind.PROGRAMS}
