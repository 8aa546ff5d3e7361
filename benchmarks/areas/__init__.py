"""The workloads of `benchmarks/breadth.py`, one file an area, and the libraries that run them."""
