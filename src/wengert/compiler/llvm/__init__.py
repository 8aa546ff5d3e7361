"""LLVM: its text, its object code, its threads and locks, and the cache on disk."""
