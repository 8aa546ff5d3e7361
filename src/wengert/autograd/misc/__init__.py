"""autograd's helpers: flat vectors, optimisers, fixed points."""

from functools import partial as const_graph
from functools import partial as full_graph  # noqa: F401

from wengert.autograd.misc.flatten import flatten as flatten

_ = const_graph
