"""Carry compiled functions to places without Python: C, and what follows from it."""
