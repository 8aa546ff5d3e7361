"""Compiled functions as built-in functions of Python, which the interpreter calls without a frame."""
