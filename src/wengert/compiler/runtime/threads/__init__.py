"""The team of threads that share the loops of a program."""
