"""The explorer: a page on which a function and its derivatives are followed step by step, for any inputs."""

from __future__ import annotations

from wengert.explorer.page import Page, explore

__all__ = ["Page", "explore"]
