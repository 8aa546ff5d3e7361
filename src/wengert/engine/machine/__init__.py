"""The machine: the processor that code is made for, and what operations cost on it."""
