"""Foundations: dtypes, shapes, trees, errors, private files."""
