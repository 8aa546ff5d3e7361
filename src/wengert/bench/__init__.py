"""The papers' comparison: their networks trained by every installed library under the same conditions.

`wengert bench` is its command; `docs/bench.md` tells what it measures and how to read it.
"""
