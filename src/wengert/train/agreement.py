"""The facts on which the processes of a run must agree, so that they compute the same bits."""

from __future__ import annotations

import os
import platform
import zlib
from importlib.metadata import version

import numpy as np

from wengert._version import versions
from wengert.compiler.llvm.host import agree_on, common, host
from wengert.data import Dataset
from wengert.engine.core.tree import leaves
from wengert.engine.machine.target import available
from wengert.parallel import Group
from wengert.parallel.identity import digest
from wengert.train.settings import OPTIONS, Settings, SettingsError
from wengert.train.state import State

_COMPARED = 1 << 26
"""Bytes of images that each process reads only to compare them with those of the others."""


def agree_on_target(group: Group) -> None:
    """Let all processes compile for the processor that all of them have: other vectors add in another order.

    One process, or several on equal processors, change nothing.
    """
    targets = group.gather(host())
    if len(set(targets)) > 1:
        agree_on(common(targets))


def threads_of(group: Group) -> int:
    """Return how many threads each process may use: its processors, divided among the processes that share them.

    Example:
        >>> threads_of(Group()) == available()
        True
    """
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    everyone = group.gather((platform.node(), mine))
    sharing = sum(host == platform.node() and bool(mine & theirs) for host, theirs in everyone)
    return max(1, available() // sharing)


def check_ranks(group: Group, settings: Settings) -> None:
    """Raise `SettingsError` if there are fewer micro-batches than processes.

    Example:
        >>> group = Group()
        >>> group.size = 3
        >>> check_ranks(group, Settings("mlp", "digits", 1, 32, 0.1, 0, micro_batches=2))
        Traceback (most recent call last):
        ...
        wengert.train.settings.SettingsError: micro-batches is 2, fewer than the 3 ranks: give --micro-batches 4 or more
    """
    if settings.micro_batches < group.size:
        needed = 1 << (group.size - 1).bit_length()
        raise SettingsError(
            f"micro-batches is {settings.micro_batches}, fewer than the {group.size} ranks: "
            f"give --micro-batches {needed} or more"
        )


def check_same(group: Group, settings: Settings, dataset: Dataset, state: State) -> None:
    """Raise `GroupError` if processes differ in what decides the numbers of a run."""
    if group.size == 1:
        return
    for name, number in (versions() | {"llvmlite": version("llvmlite")}).items():
        group.agree(f"the versions of {name}", number)
    fixed = {name: getattr(settings, option.field) for name, option in OPTIONS.items() if option.fixed}
    for name, value in fixed.items():
        group.agree(f"the settings of {name}", value)
    group.agree("the targets of compiled code", str(tuple(host())))
    group.agree("the images", f"{checksum(dataset):08x}")
    check_parameters(group, state, "at the start")


def check_parameters(group: Group, state: State, when: str) -> None:
    """Raise `GroupError` if processes have different parameters, by their hashes."""
    if group.size > 1:
        arrays = leaves((state.model, state.optimiser, state.layer_state))
        group.agree(f"the hashes of the parameters {when}", digest(arrays))


def checksum(dataset: Dataset) -> int:
    """Return a checksum of the labels and the images; of images beyond `_COMPARED`, some at even distances."""
    total = 0
    for images in leaves((dataset.train_images, dataset.test_images)):
        chosen = images[:: max(1, -(-images.nbytes // _COMPARED))]
        total = zlib.crc32(np.ascontiguousarray(chosen).data, total)
    for labels in leaves((dataset.train_labels, dataset.test_labels)):
        total = zlib.crc32(np.ascontiguousarray(labels).data, total)
    return total
