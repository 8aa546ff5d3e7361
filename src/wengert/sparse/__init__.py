"""Sparse Jacobians and Hessians: the pattern from the graph, colours, and one compiled sweep."""
