"""Functions as C99 that people can read."""
