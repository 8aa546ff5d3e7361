"""Graph passes, one a file: each takes a graph and returns one that computes the same values."""
