"""The schedules of all nests of a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wengert.compiler.schedule.collapse import collapse_loops
from wengert.compiler.schedule.layout import Layout
from wengert.compiler.schedule.likeness import Likeness
from wengert.compiler.schedule.prefetch import Prefetches
from wengert.compiler.schedule.schedule import Schedule, choose_schedule
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Buffer
from wengert.engine.nest.nest import Nest, Program, all_steps
from wengert.engine.nest.printer import Names


class Twin(NamedTuple):
    """An earlier nest that one is like."""

    nest: Nest
    """The nest of the program."""
    counterparts: Mapping[Any, Any]
    """The dimensions and buffers in the place of those of the earlier nest."""


class ScheduledNest(NamedTuple):
    """A nest with its loops collapsed, and the schedule by which it runs."""

    nest: Nest
    schedule: Schedule
    twin: Twin | None = None

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
    """Return the schedule of each nest of a program; nests that are alike have one, which is chosen once."""
    scheduled: dict[Nest, ScheduledNest] = {}
    representatives: dict[Any, tuple[Nest, list[Any]]] = {}
    for step in all_steps(program.steps):
        if not isinstance(step, Nest) or step in scheduled:
            continue
        nest = collapse_loops(step, layouts)
        likeness = Likeness(layouts)
        likeness.add_nest(nest)
        first, met = representatives.setdefault(likeness.key, (step, likeness.met))
        if first is step:
            scheduled[step] = ScheduledNest(nest, choose_schedule(nest, layouts, target))
        else:
            counterparts = dict(zip(met, likeness.met, strict=True))
            schedule = _moved(scheduled[first].schedule, counterparts)
            scheduled[step] = ScheduledNest(nest, schedule, Twin(first, counterparts))
    return scheduled


def _moved(schedule: Schedule, counterparts: Mapping[Any, Any]) -> Schedule:
    """Return a schedule with other dimensions and loads in the places of its own."""
    at = counterparts.__getitem__
    prefetches = schedule.prefetches
    runs = {
        at(dim): tuple(run._replace(load=at(run.load)) for run in of) for dim, of in prefetches.runs.items()
    }
    streams = {at(load): ahead for load, ahead in prefetches.streams.items()}
    return replace(
        schedule,
        lanes=schedule.lanes and at(schedule.lanes),
        tile={at(dim): count for dim, count in schedule.tile.items()},
        order=tuple(map(at, schedule.order)),
        unrolled=frozenset(map(at, schedule.unrolled)),
        blocks={at(dim): size for dim, size in schedule.blocks.items()},
        prefetches=Prefetches(runs, streams, tuple(map(at, prefetches.results))),
    )
