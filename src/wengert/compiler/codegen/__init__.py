"""LLVM IR for scheduled nests, from an element to the module."""
