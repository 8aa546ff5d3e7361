"""The schedules of all nests of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from wengert.compiler.machine.target import Target
from wengert.compiler.schedule.collapse import collapse_loops
from wengert.compiler.schedule.layout import Layout
from wengert.compiler.schedule.schedule import Schedule, choose_schedule
from wengert.nest.expression import Buffer
from wengert.nest.nest import Nest, Program, all_steps
from wengert.nest.printer import Names


class ScheduledNest(NamedTuple):
    """A nest with its loops collapsed, and the schedule by which it runs."""

    nest: Nest
    schedule: Schedule

    def describe(self, names: Names) -> tuple[str, str]:
        """Return the lanes and the tile as text; an empty text stands for neither."""
        lanes, schedule = self.schedule.lanes, self.schedule
        grouped = schedule.vectors > 1
        tile = {dim: count for dim, count in schedule.tile.items() if not (grouped and dim is lanes)}
        points = " ".join(f"{names.dim(dim)} x {count}" for dim, count in tile.items())
        facts = [f"tile {points}"] * bool(tile) + [f"{schedule.vectors} vectors as one"] * grouped
        facts += ["written late"] * schedule.delays_stores
        return f"lanes {names.dim(lanes)} x {schedule.width}" if lanes else "", ", ".join(facts)


def schedule_nests(
    program: Program, layouts: Mapping[Buffer, Layout], target: Target
) -> dict[Nest, ScheduledNest]:
    """Return the schedule of each nest of a program."""
    scheduled: dict[Nest, ScheduledNest] = {}
    for step in all_steps(program.steps):
        if isinstance(step, Nest) and step not in scheduled:
            nest = collapse_loops(step, layouts)
            scheduled[step] = ScheduledNest(nest, choose_schedule(nest, layouts, target))
    return scheduled
