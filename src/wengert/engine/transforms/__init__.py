"""The transforms: forward and reverse mode, linearisation, batching, staging to a graph."""
