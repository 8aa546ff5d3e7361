"""Passes from a graph to nests, and from nests to nests, one a file."""
