"""The papers' optimisations, each measured against what it replaced: see `ablations.py`."""
