"""The papers' comparison: every installed library trains their networks under the same conditions.

The command is `wengert bench`; `docs/bench.md` describes the measurements and how to read them.
"""
