"""The contestants: the libraries, and the variants of each."""

from __future__ import annotations

import importlib.util
from typing import NamedTuple

LIBRARIES = ("wengert", "torch", "jax", "tensorflow")

_VARIANTS: dict[str, tuple[str, ...]] = {
    "wengert": ("jit",),
    "torch": ("eager", "compile"),
    "jax": ("jit", "scan"),
    "tensorflow": ("function",),
}
# XLA runs convolutions inside a loop many times slower.
_OWN_VARIANTS: dict[str, dict[str, tuple[str, ...]]] = {
    "cnn": {"torch": ("eager", "channels_last", "compile"), "jax": ("jit",)},
    "gpt": {"jax": (), "tensorflow": ()},
}
"""By network, those that differ; none where the comparison has no program."""


class Contestant(NamedTuple):
    """A library and the way in which it is used."""

    library: str
    variant: str

    def __str__(self) -> str:
        return f"{self.library} {self.variant}"


def contestants(network: str, library: str) -> list[Contestant]:
    """Return the ways in which a library trains a network.

    Example:
        >>> print(*contestants("rnn", "jax"), sep=", ")
        jax jit, jax scan
    """
    variants = _OWN_VARIANTS.get(network, {}).get(library, _VARIANTS[library])
    return [Contestant(library, variant) for variant in variants]


def is_installed(library: str) -> bool:
    """Return whether a library can be imported, without importing it."""
    return importlib.util.find_spec(library) is not None
