"""LLVM: IR as text, object code, locks, and the disk cache."""
