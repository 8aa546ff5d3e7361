"""autograd's helpers: flat vectors, optimisers, fixed points."""

from functools import partial as const_graph

from wengert.autograd.misc.flatten import flatten as flatten

__all__ = ["const_graph", "flatten"]
