"""The primitives, one family a file: each states all that Wengert knows about its operations."""
