"""The contestants, a module for each library.

Each has ``prepare(workload, variant, threads, folder) -> Runner``. A library is imported in its own module only.
"""
