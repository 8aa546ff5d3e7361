"""Work shared among processes and machines.

Nothing of this room loads with ``import wengert``; ``wengert.parallel`` loads it on first use.
"""
