"""Nests to native code: layout, schedule, memory, LLVM IR, threads, cache."""
